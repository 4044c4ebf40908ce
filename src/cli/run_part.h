/* cli/run_part.h: --part and --start: which of several load hosts this one is, by its own word or its launcher's. */
#ifndef CLI_RUN_PART_H
#define CLI_RUN_PART_H

#include "measure/part.h"

/* part: "K/N", "auto" or NULL (the only host). False: reported. */
bool run_part_read(const char *part, const char *start, struct run_part *ret);
/* "c.lynx" becomes "c.part2.lynx": hosts may share a file system. Returns text. */
const char *run_part_path(const char *out, const struct run_part *part, char *text, size_t size);

#endif
