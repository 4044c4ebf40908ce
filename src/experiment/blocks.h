/* experiment/blocks.h: the blocks of a perturbed session: which resource is slowed when, and the rows that say so.
 *
 * Design   cycles: in each every level of every target has one block, and the undisturbed has two or a third as many, in random order by
 *          the run's seed. Only whole cycles are begun
 * Weight   a target may have more blocks than others, or none, in the sessions that follow: twice as many where its interval is wide
 * Block    its first part settles and does not count: the queue takes its new shape in it
 * Setting  of a variable that is taken out of the executor's environment, which takes a restart: a session is one block, two sessions, in
 *          random order, are a cycle
 * Knob     the same of a variable or an argument of the start command that is set
 * Choice   of processes: by what they used while the load warmed up
 */
#ifndef EXPERIMENT_BLOCKS_H
#define EXPERIMENT_BLOCKS_H

#include "experiment/perturber.h"
#include "measure/run_request.h"
#include "record/bundle.h"

struct blocks_plan {
  const char *const *perturbers; /* names; ends in NULL */
  int64_t block_ns, settle_ns;   /* settle: of the block */
  int64_t period_ns;
  uint64_t seed;
  struct slowed_place functions[FUNCTIONS_MAX]; /* that can be slowed */
  size_t n_functions;
  struct slowed_place library; /* folder NULL: none is */
  struct wire *wire;           /* and why there is none */
  const char *no_wire;
  double stretch;       /* of levels beyond 1, as 3 of 1.5 to 2.5; 0: as they are */
  int64_t neighbour;    /* that may be stopped; 0: none */
  const char *setting;  /* variables that are taken out, with commas between; NULL: none. Then nothing else is perturbed */
  const char *endpoint; /* where the server listens: whose process must have what is set; NULL: not known */
  const char *knob;     /* "NAME=VALUE", "--name=value", "--name": what is set; NULL: none. The same */
};

struct blocks;

struct blocks *blocks_new(const struct blocks_plan *plan, const struct root *root, struct undo *undo);
void blocks_free(struct blocks *blocks);

/* Between two sessions: that many blocks of each level; others have one. At most TARGETS_MAX of them. */
struct block_weight {
  const char *target;
  int times;
};
void blocks_weigh(struct blocks *blocks, const struct block_weight *weights, size_t n);

/* As run_perturbation wants them; context: the blocks. */
void blocks_begin(void *context, const struct perturbed_session *session);
void blocks_end(void *context, struct bundle *bundle);
const char *const *blocks_variant(void *context, int64_t number);

#endif
