/* page/site_files.h: the files of web/, as the build put them in. */
#ifndef PAGE_SITE_FILES_H
#define PAGE_SITE_FILES_H

extern const char page_style[], site_script[], site_openapi[];

#endif
