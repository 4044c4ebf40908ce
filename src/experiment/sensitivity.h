/* experiment/sensitivity.h: what the blocks of a perturbed run say: how throughput and latencies follow each resource.
 *
 * Elasticity  of throughput, slow side (stats/elasticity.h): 1 means that 1 % slower costs 1 % of the throughput. The time for each answer
 *             is 1 / throughput; of a latency it is the latency. Of a cause that is taken away, in its place, ln of the ratio; of the
 *             demand, which is no time, d ln(throughput) / d ln(in flight)
 * Blocks      throughput (fitted as a rate): tokens by their own times (answers, where there are none) in the block, those of an answer
 *             without any text spread from its first byte to its end; latencies: medians of the requests whose first token, or end, lies
 *             in it (of the latter, those that also began in it); of the gaps between its tokens the mean
 * Interval    stats/elasticity.h, by cycles
 * Control     in every second cycle the first, the third ... of the undisturbed blocks are taken for slowed ones, in the others the second,
 *             the fourth ...: a drift within cycles cancels out
 * Sum         over processes that were slowed one by one. Near 1 where every rate that matters was slowed and throughput is smooth; less
 *             with timers and resources that were not probed; more with ties (docs/method.md#perturbation). A diagnostic, no share
 * Result      a pure function of the bundle */
#ifndef EXPERIMENT_SENSITIVITY_H
#define EXPERIMENT_SENSITIVITY_H

#include "contract/contract.h"
#include "experiment/perturber.h"
#include "record/bundle.h"
#include "stats/elasticity.h"

enum response { RESPONSE_THROUGHPUT, RESPONSE_TIME_TO_FIRST_TOKEN, RESPONSE_INTER_TOKEN, RESPONSE_END_TO_END, RESPONSE_COUNT };
const char *response_text(enum response response); /* "TTFT p50" */

enum { SENSITIVITIES_MAX = 32 };

struct sensitivity_level {
  double asked, given; /* given: the mean of its blocks */
  struct slope effect; /* ln of throughput, against the undisturbed */
};

struct sensitivity {
  char target[TARGET_NAME];
  const struct perturber *perturber; /* NULL: of another version */
  size_t n_blocks;
  bool stalls;                     /* in none of its blocks anything was answered: how much that costs is not known */
  struct slope of[RESPONSE_COUNT]; /* elasticities, or ln of a ratio */
  struct sensitivity_level levels[LEVELS_MAX];
  size_t n_levels;
  struct slope smaller, curvature; /* the elasticity by the smaller level alone; that by the greater one less it */
};

struct sensitivities {
  struct sensitivity items[SENSITIVITIES_MAX];
  size_t n;
  size_t n_blocks, n_cycles, n_empty; /* empty: nothing was answered in them */
  double block_s, throughput;         /* of the undisturbed blocks: tokens (or answers) each second */
  double spread;                      /* of ln throughput of undisturbed blocks: standard deviation */
  bool tokens, open_load;             /* open: what is sent does not depend on what is answered, so that latencies answer */
  double rate_per_s;                  /* of an open load; else 0 */
  int64_t in_flight;                  /* the most at once */
  double answers;                     /* of an undisturbed block: events with tokens, or whole answers */
  bool too_few;                       /* fewer than 8: no interval is given */
  struct slope sum;                   /* of processes one by one, throughput; n 0: fewer than two */
  struct slope control; /* ln of the ratio of sensitivities_response between undisturbed blocks, every second as if it were one
                                         that was slowed: what the method finds where nothing was done */
};

/* By what it is known that something is slower: an open load sends as much as before. */
enum response sensitivities_response(const struct sensitivities *all);

/* What it is of: a cause that was taken away; the demand, which is no resource; all processes at once; one process of the tree. */
bool sensitivity_takes_away(const struct sensitivity *sensitivity);
bool sensitivity_is_of_load(const struct sensitivity *sensitivity);
bool sensitivity_is_of_all(const struct sensitivity *sensitivity);
bool sensitivity_is_of_one_process(const struct sensitivity *sensitivity);
/* Processor time as a whole, of a process or of all: it holds every function and library. */
bool sensitivity_is_of_processors(const struct sensitivity *sensitivity);
/* No function has more than all of the time. What certainly costs more than 4 % for each percent (in one level, where the smaller does not
 * say otherwise) is likely a loop that waits for who waits for it. Its elasticity is none. */
bool sensitivity_is_impossible(const struct sensitivity *sensitivity);
bool sensitivity_all_impossible(const struct sensitivities *sensitivities); /* false of none */
/* The time does not grow in proportion to its slowness, for certain: what bounds the throughput changes, or others take over. */
bool sensitivity_bends(const struct sensitivity *sensitivity);
/* Throughput that is concave in the resource's speed gains at most that factor less 1 where it is a tenth faster, by the chord from the
 * smaller level; of an elasticity of at most that. */
double sensitivity_gain_at_most(const struct sensitivity *sensitivity, double elasticity);

/* Whose resource it is; false: of several layers, or not known. */
bool sensitivity_layer(const struct sensitivity *sensitivity, enum layer *ret);

/* A session, and what its row says of its load. */
struct session_load {
  int64_t id;
  double rate_per_s; /* 0: a closed loop */
  int64_t concurrency;
};

/* What the first block of one session answered: ln of each; NaN where nothing did. */
struct session_response {
  char target[TARGET_NAME];
  double y[RESPONSE_COUNT];
  double answers;   /* that a throughput is counted from */
  double in_flight; /* requests at once, at most */
  bool open_load, found;
};
enum lynx_status session_response_read(struct bundle *bundle, const struct contract *contract, const struct session_load *load,
                                       struct session_response *ret, struct lynx_error *error) LYNX_MUST_CHECK;

enum lynx_status sensitivities_read(struct bundle *bundle, const struct contract *contract, double confidence, struct sensitivities *ret,
                                    struct lynx_error *error) LYNX_MUST_CHECK;

#endif
