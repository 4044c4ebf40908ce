/* experiment/undo.h: how a machine that is perturbed comes back to what it was, whoever is killed when.
 *
 * Before anything is changed, what changes it back is put down twice: in memory that a watchdog shares, and in a file of the state folder.
 * The watchdog is a process of its own, out of reach of the terminal. It undoes all where lynxbench has ended, and while something is held
 * and lynxbench gives no sign of life for half a second (it is stopped, or the machine stands still). Where both were killed, the file
 * remains: `lynxbench perturb --restore`, or the next run, undoes what it says.
 *
 * Limits   UNDO_MAX steps; a process is known by its number and its start, so that no other one is touched
 * Errors   IO: no watchdog can be started, or nothing can be kept in the state folder: nothing must be perturbed then
 * Threads  undo_open before any thread is started; the others from one thread at a time; undo_beat from any */
#ifndef EXPERIMENT_UNDO_H
#define EXPERIMENT_UNDO_H

#include <sched.h>

#include "base/root.h"

enum { UNDO_MAX = 4096, UNDO_PATH = 256, UNDO_TEXT = 64 };

enum undo_kind {
  UNDO_CONTINUE, /* a process that may be stopped goes on */
  UNDO_AFFINITY, /* a thread may run where it might before */
  UNDO_FILE      /* a setting of a control group gets its text back */
};

struct undo_step {
  enum undo_kind kind;
  int64_t process, thread;
  unsigned long long started_ticks; /* of the process */
  cpu_set_t processors;
  char path[UNDO_PATH], text[UNDO_TEXT]; /* below /sys/fs/cgroup/ */
};

/* Gives the threads of `first`, a step of a process's first thread, and of the processes that it started the sets of the steps back, where
 * they may still run everywhere. */
void undo_affinity(const struct root *root, const struct undo_step *steps, size_t n, const struct undo_step *first);

/* Puts the text of a step into its file, below /sys/fs/cgroup alone; true also where the group is gone. */
bool undo_write_setting(const struct undo_step *step);

struct undo;

/* Also undoes what killed runs of this user left. */
enum lynx_status undo_open(const struct root *root, struct undo **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Steps count from undo_keep on: false where they cannot be kept, or the watchdog is gone. Nothing may be changed then. */
void undo_add(struct undo *undo, const struct undo_step *step);
bool undo_keep(struct undo *undo);
/* Around what is held: between them undo_beat comes ten times a second at least. False: the watchdog is gone. */
bool undo_hold(struct undo *undo);
void undo_beat(struct undo *undo);
void undo_release(struct undo *undo);
/* Undoes all, now, and forgets it. */
void undo_all(struct undo *undo);
void undo_close(struct undo *undo); /* the same, and ends the watchdog; accepts NULL */

/* Undoes what killed runs of this user left behind. How many files of them there were, and what of it could not be undone. */
struct undo_left {
  int n_restored, n_in_use, n_failed;
  char failed[4200]; /* the last file of which something could not be undone, or that is not as we write them */
  bool unread;       /* the state folder is not known, or cannot be read */
};
struct undo_left undo_restore_left(const struct root *root);

#endif
