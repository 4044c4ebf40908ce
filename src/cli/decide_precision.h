/* cli/decide_precision.h: `decide precision BEFORE AFTER`: may the precision be lowered, by the answers to the same questions? */
#ifndef CLI_DECIDE_PRECISION_H
#define CLI_DECIDE_PRECISION_H

#include <stdbool.h>

struct decide_precision {
  const char *before, *after; /* files of samples, or folders of them */
  const char *metric;         /* NULL: the first that the files name */
  double margin;              /* as a share */
  bool json;
};

int decide_precision(const struct decide_precision *asked); /* the exit code */

#endif
