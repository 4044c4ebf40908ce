/* experiment/built_environments.h: Python environments that differ in the versions of a few packages, built with pip before an experiment.
 *
 * Design   one virtual environment for every combination of the packages' two versions. Each sees what the interpreter that it is made
 *          of has installed, behind its own, so that only what differs is installed; then the versions that the program would
 *          import are asked for
 * Kept     in the folder, to be used again by the next run with the same interpreter, versions and requirements
 * Safety   pip and what it builds are given its own variables and the usual ones, none of ours. Only a folder
 *          that it made is emptied
 * Errors   INPUT: no interpreter, no such version, a folder that is something else; IO: pip or the disk; the log is named */
#ifndef EXPERIMENT_BUILT_ENVIRONMENTS_H
#define EXPERIMENT_BUILT_ENVIRONMENTS_H

#include <stdatomic.h>

#include "base/digest.h"
#include "experiment/experiment_plan.h"

struct built_package {
  const char *name, *version[2];
  size_t fact; /* its number */
};

struct built_environments {
  const char *folder, *python, *requirements; /* requirements: NULL, or a file */
  char requirements_digest[DIGEST_HEX];       /* of what it holds; "" */
  struct built_package packages[PACKAGES_MAX];
  size_t n;
  const char *pythons[1 << PACKAGES_MAX]; /* of each combination: its interpreter */
};

/* note: what is being built; stop: not 0 ends it. Texts live in the arena. */
enum lynx_status built_environments_make(struct built_environments *environments, struct arena *arena,
                                         void (*note)(void *context, const char *text), void *context, const atomic_int *stop,
                                         struct lynx_error *error) LYNX_MUST_CHECK;

/* The command with that combination's interpreter in the first place where the plain one stands; as it is, where there are no packages. */
struct text_list built_environments_command(const struct built_environments *environments, uint64_t facts, const struct text_list *command,
                                            struct arena *arena);

#endif
