/* base/program.h: every program that lynxbench starts by itself, and from where: one table. PATH is never asked.
 * Trust    whoever may write the program, or a folder on its path, may do with it what its runner may: they are root's, or the runner's
 *          own. A folder that all may write is no such folder, but where only owners may rename what is in it (/tmp)
 * Limits   what the user names (executor.start, a driver's command, a scorer, a hook, an environment's Python) is the user's: it is found as
 *          the user's shell finds it, and is not in this table (base/child.h) */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <limits.h>

#include "base/root.h"

enum program_id { PROGRAM_PY_SPY, PROGRAM_NVIDIA_SMI, PROGRAM_SYSTEMCTL, PROGRAM_REFERENCE, PROGRAMS };

struct program {
  const char *name, *what_for;
  bool beside_ours;   /* the folder of our own program is looked at first */
  const char *option; /* the user may name it; NULL */
};

extern const struct program programs[PROGRAMS];

/* Where programs are looked for, in this order; ends in NULL. */
extern const char *const program_folders[];

/* The program, its links resolved: what is checked is what is run. named: by the user, instead of our folders; NULL. False: why says what
 * was found, and what would do. */
bool program_find(enum program_id id, const struct root *root, const char *named, char ret[PATH_MAX], char *why, size_t size);

#endif
