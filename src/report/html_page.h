/* report/html_page.h: what every page shares: the head with its style (light, dark, print), escaped text, a key's entry. */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include "base/buffer.h"

/* web/report.css, as the build put it in. */
extern const char report_style[];

/* One file, which asks for no other. */
void html_page_begin(struct buffer *out, const char *title);                                 /* with the title as its h1 */
void html_page_head(struct buffer *out, const char *title);                                  /* without */
void html_text(struct buffer *out, const char *before, const char *text, const char *after); /* text is escaped, the others are markup */
void html_key(struct buffer *out, int color, const char *text);                              /* one entry of a plot's key */

#endif
