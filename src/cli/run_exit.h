/* cli/run_exit.h: how a run ended, as an exit code; what went wrong is reported. */
#ifndef CLI_RUN_EXIT_H
#define CLI_RUN_EXIT_H

#include "cli/output.h"
#include "measure/run.h"

/* EXIT_HOLDS: all of it was run; what it is worth is another question. path: of the bundle. */
int run_exit_code(enum lynx_status status, const struct run_outcome *outcome, const struct lynx_error *error, const char *path);

#endif
