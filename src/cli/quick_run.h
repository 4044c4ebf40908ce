/* cli/quick_run.h: `run URL --for 1min`: a first answer without a contract of one's own; the contract that was used is written. */
#ifndef CLI_QUICK_RUN_H
#define CLI_QUICK_RUN_H

#include <stdbool.h>

struct quick_run {
  const char *url, *duration, *model; /* NULL: a minute; the first model that the server lists */
  bool chat;
};

bool quick_run_is_url(const char *text);

/* Writes the contract to path, for a run whose bundle will be the other. Returns an exit code; what is wrong was told. */
int quick_run_write(const struct quick_run *quick, const char *bundle, const char *path);

#endif
