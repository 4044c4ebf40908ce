/* measure/environment.h: what a program that a contract starts gets of our environment: PATH, HOME, locale, time zone, temporary folder,
 * virtual environments, and the variables that libraries, frameworks, servers and GPUs read (executor/layer_map.h), but none whose name is
 * that of a secret; and what executor.start.environment says. */
#ifndef MEASURE_ENVIRONMENT_H
#define MEASURE_ENVIRONMENT_H

#include "contract/contract.h"

/* What an executor gets of a variable of ours that its contract does not name; NULL: nothing. */
const char *environment_inherited(const char *name);

/* Ends in NULL; lives as long as the arena. contract NULL: for a program that is not the executor. */
const char *const *environment_of_start(const struct contract *contract, struct arena *arena);

#endif
