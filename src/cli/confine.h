/* cli/confine.h: commands that parse what others wrote run in a cage (base/cage.h).
 *
 * The caged one makes no files but where it must: a file that the user named is handed to its keeper, this process, which alone can write,
 * and writes only under the names that the user gave. So no parser that was taken over chooses where something is written.
 *
 * Order    the command's `confines` says what it needs; confine_run does the rest
 * Limits   what is read is not confined: whatever the user may read */
#ifndef CLI_CONFINE_H
#define CLI_CONFINE_H

#include "cli/command.h"

enum { CONFINE_OUTPUTS_MAX = 4 };

struct confinement {
  const char *outputs[CONFINE_OUTPUTS_MAX]; /* files that it has its keeper write */
  size_t n_outputs;
  const char *beside; /* a file that it works on itself: all of that file's folder may be written; NULL */
  const char *ledger; /* whose checkpoint is remembered, and that is asked if it is a URL; NULL */
  bool network;
  bool scratch;   /* a folder of its own, in which it may make files */
  bool makes_new; /* what it has written must not be there yet */
};

void confine_output(struct confinement *confinement, const char *path); /* NULL, "-": standard output, which needs nobody */
/* False: one of its files is one that is read. It was reported. */
bool confine_sound(const struct command *command, const struct arguments *arguments, const struct confinement *confinement);
int confine_run(const struct command *command, const struct arguments *arguments, const struct confinement *confinement);

/* Where the caged one may make files that it hands on; NULL: it is not in such a cage. */
const char *confine_scratch(void);

#endif
