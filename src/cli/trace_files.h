/* cli/trace_files.h: traces by their names, read side by side, with progress. */
#ifndef CLI_TRACE_FILES_H
#define CLI_TRACE_FILES_H

#include "attribute/attribution.h"

/* At most TRACES_MAX. Several are read at once, one on each processor. False: what is wrong was reported. */
bool trace_files_add(struct attribution *attribution, const char *const *paths, size_t n, bool quiet);

#endif
