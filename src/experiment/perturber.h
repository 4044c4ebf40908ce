/* experiment/perturber.h: what slows one resource of a serving process tree, or takes one suspected cause away, for a stretch of time.
 *
 * experiment holds what changes an executor to see what follows: perturbers (one file each), the blocks that they are tried in, the
 * watchdog that brings the machine back, and what the blocks say. It plans runs and reads results; it measures through src/measure.
 *
 * Order    open; hold as often as wanted, each ends with nothing perturbed; close
 * Units    slowness: the time that the resource takes for its work, as a multiple of the undisturbed; 1 is none
 * Errors   what cannot be perturbed here is said in open: which right or setting would allow it
 * Threads  all of it on the one thread of the blocks
 * Safety   before the first hold every step back is in `undo` (experiment/undo.h) */
#ifndef EXPERIMENT_PERTURBER_H
#define EXPERIMENT_PERTURBER_H

#include <stdatomic.h>

#include "base/layer.h"
#include "base/random.h"
#include "experiment/undo.h"

enum { TARGET_NAME = 96, PROCESSES_MAX = 256, TARGETS_MAX = 12, LEVELS_MAX = 3, FUNCTIONS_MAX = 3 };

/* A function or a library that can be slowed: its name, and the folder in which it is set by how much (experiment/slowed_code.h). */
struct slowed_place {
  const char *folder, *name;
};

/* Words of why nothing was slowed that say of the executor what no experiment needs to: the function takes no time there. */
#define PERTURBER_NOT_CALLED "is there, and was not called"
#define PERTURBER_GONE "is not there: its file is loaded, and holds no function of that name"

/* One process of the tree. */
struct tree_process {
  int64_t pid;
  unsigned long long started_ticks;
  char name[64];     /* "python3", the second of that name "python3 #2": the same in the next session */
  double processors; /* that it used while the load warmed up */
  bool terminal;     /* it has one: a stop would be a shell's matter */
  bool stopped;      /* by somebody else */
};

struct perturbing {
  const struct root *root;
  const struct tree_process *processes; /* the serving process first */
  size_t n_processes;
  struct undo *undo;
  struct random_stream *random;
  int64_t period_ns; /* within which a resource is slowed for a part of the time */
  const atomic_bool *stop;
  const struct slowed_place *functions; /* that can be slowed */
  size_t n_functions;
  struct slowed_place library; /* folder NULL: none is */
  struct wire *wire;           /* experiment/delaying_proxy.h; NULL: there is none that could be lengthened, and why */
  const char *no_wire;
  int64_t neighbour;           /* that the operator allows to stop; 0: none */
  int64_t concurrency;         /* requests in flight */
  atomic_uint *in_flight_most; /* no more of them than that, while it is not 0; NULL: the load is no closed loop */
};

struct target {
  char name[TARGET_NAME]; /* after the perturber's name and ": " */
};

struct perturber {
  const char *name, *summary;
  const char *does;          /* to the executor while it is held; how it is undone */
  double levels[LEVELS_MAX]; /* slowness that is asked for; 0: no more of them. Of a cause that is taken away: 2, for «taken away» */
  bool takes_away;           /* a cause, rather than slow a resource: the answer is a ratio, no elasticity */
  bool of_load;              /* the demand and no resource: slower stands for fewer requests in flight */
  bool of_share;             /* it slows what a finding's share of the time is about */
  double most;               /* slowness that may be asked of it where it has a small share; 0: its levels are all */
  bool beside;               /* it needs no process of the server: it may be anywhere */
  const char *device;        /* of the machine: where there is none, there is nothing to slow; NULL: any machine has it */
  bool by_waiting;           /* its slowness is how much longer the tree's threads wait for a processor than they run, in every block */
  /* How many targets; 0: none, and why. */
  size_t (*open)(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size);
  /* Waits a block out in which nothing is perturbed, and watches it to compare with; NULL: it needs no such comparison. */
  void (*plain)(void *state, int64_t until_ns);
  /* Returns the slowness that was given, as it was measured; 1: nothing could be done. */
  double (*hold)(void *state, size_t target, double slowness, int64_t until_ns);
  void (*close)(void *state);
  /* Whose the resource is; what: the target's name without the perturber's. NULL, or false: not one layer's, or not known. */
  bool (*whose)(const char *what, enum layer *ret);
};

/* What perturbers share, by clock_system's steady clock: a plain wait, and one in short steps, with signs of life, that a stop ends. */
void perturber_sleep(int64_t until_ns);
bool perturber_wait(const struct perturbing *request, int64_t until_ns); /* false: stopped, or nobody watches any more */

/* A line that comes through fd, without its end; with signs of life. False: none came in time, it is too long, or the run is stopped. */
bool perturber_hear(const struct perturbing *request, int fd, int64_t until_ns, char *line, size_t size);

/* For a perturber that needs no more than what was asked: its state, to be freed. */
void perturber_keep(const struct perturbing *request, void **ret_state);
/* Of a thread that was begun for it: on that processor alone, by that policy of the scheduler. False: it may not run there. */
bool perturber_bind(int processor, int policy);

/* Of resources that the operating system gives out. */
bool perturber_of_system(const char *what, enum layer *ret);

/* Names a target. */
void target_name(struct target *ret, const char *perturber, const char *what);

#endif
