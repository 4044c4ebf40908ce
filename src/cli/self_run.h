/* cli/self_run.h: this same program, or one of the system's, run as a child that ends when we do. A SIGTERM is passed on and its end waited
 * for; a terminal's interrupt, which it gets itself, is not heard meanwhile. */
#ifndef CLI_SELF_RUN_H
#define CLI_SELF_RUN_H

#include "base/program.h"

/* words: what stands behind "lynxbench", ends in NULL. What it prints goes to standard error. Its exit code; CONDITIONS where it cannot be
 * started, INTERRUPTED where a signal ended it. command: who says so. */
int self_run(const char *command, const char *const *words);
/* A program of ours; words: what stands behind its name, ends in NULL. CONDITIONS where there is none, which is reported. */
int program_run(const char *command, enum program_id program, const char *const *words);

#endif
