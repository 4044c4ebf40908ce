/* cli/swapping.h: mixtures of two start commands, started and measured one after the other in one run, as `bisect` and `experiment` do. */
#ifndef CLI_SWAPPING_H
#define CLI_SWAPPING_H

#include "cli/command.h"
#include "cli/perturbation.h"
#include "cli/plan_file.h"
#include "experiment/mixtures.h"
#include "experiment/swap.h"
#include "stats/rounds.h"

struct swapping {
  /* Given. */
  const char *tool, *path_a, *path_b, *duration, *window, *out;
  struct plan_file *plan;     /* path_a is its contract, and there is no B; NULL: A and B are two contracts */
  const char *usual_duration; /* where none is given */
  const char *resume;         /* a bundle of the same plan that ended too early; NULL */
  bool quiet;
  /* Found. */
  struct perturbation p; /* A's contract, and its load */
  struct contract_file b;
  struct arena arena;
  struct swap_list swaps;
  struct bundle_file earlier; /* what is resumed */
  struct mixtures again;      /* its sessions */
  int64_t n_earlier;          /* up to the last one that is whole; 0: nothing is resumed */
  int64_t whole_ns, end_ns;   /* how long it may take, and when that is over */
  /* The run. */
  struct run *run;
  struct bundle *bundle;
  struct perturbed_session session;
  uint64_t facts;
  int64_t round, number, longest_ns;
  const char *by_hand; /* what the operator changed before this session; NULL: nothing */
  enum lynx_status status;
};

/* Reads both contracts, which are to be alike but for executor.start, or the plan's one. Exit code; what is wrong was reported. swapping_close follows in every
 * case. */
int swapping_open(struct swapping *swapping);
/* How long a session is, for so many of them. Exit code. */
int swapping_plan(struct swapping *swapping, int64_t n_sessions);
/* The most that the time allows. */
int64_t swapping_sessions(const struct swapping *swapping);

/* Runs what `drive` asks for by swapping_measure, and seals it with the plan under that key. What is resumed must have the same plan, but
 * for its number of "rounds"; its sessions are asked for first, and are the new bundle's, too. Exit code. */
int swapping_run(struct swapping *swapping, const char *key, const char *plan, void (*drive)(void *context), void *context);

/* Shows what is known where a run ended, or was interrupted, with that code; returns the exit code. */
int swapping_show(const struct swapping *swapping, int code, int (*show)(const char *path, const struct arguments *arguments),
                  const struct arguments *arguments);

/* A measure_facts of struct swapping: one session of a mixture; more is better. */
enum measured swapping_measure(void *swapping, uint64_t facts, int64_t round, struct session_figure *ret);

void swapping_close(struct swapping *swapping);

#endif
