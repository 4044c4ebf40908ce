/* experiment/confirm.h: the experiment that a finding names for itself, and what its blocks say of it.
 *
 * Verdict   confirmed: the effect's interval lies wholly above the threshold; refuted: wholly below; else inconclusive. The threshold
 *           stands before the first block: of what the account gives a share of the time, a third of that; of a process, a quarter of a
 *           percent for each percent; of what is taken away, 5 % more throughput
 * Of what   nothing is confirmed but what was slowed itself. Where a process is slowed in place of code in it, that it bounds
 *           the throughput is said of the process, and the finding stays inconclusive; that it does not refutes what is in it, too
 * Absent    a function that the executor has loaded no more, or never calls, is refuted: it takes no time there
 * Bent      where the greater level certainly has another elasticity than the smaller, the smaller decides: what was off the critical path
 *           may bound the throughput when it is slowed by much
 * Spinning  a function that costs far more than all of the time likely waits in a loop for who waits for it: inconclusive
 * Levels    of a small share are so great that throughput would fall by a quarter if all of it mattered: a false one shows in the same
 *           time as of a great share
 * Remedy    of a finding without an experiment of its own the operator names one: a variable or an argument of the start command. Sessions
 *           with and without it alternate. That it gains 5 % says that it helps: remedied; the finding itself was not tried, and is neither
 *           confirmed nor refuted by it
 * By        a fact that was swapped among others (experiment/swapped_effect.h) may be the finding's cause: what its other level gains
 *           against the run's is judged as what is taken away
 * Control   undisturbed blocks against one another, as if every second had been slowed. Where that alone would decide, nothing is decided
 * Rung      perturbed; where a cause was taken away and put back, swapped back
 */
#ifndef EXPERIMENT_CONFIRM_H
#define EXPERIMENT_CONFIRM_H

#include "experiment/sensitivity.h"
#include "result/finding.h"

enum confirm_verdict {
  CONFIRM_INCONCLUSIVE,
  CONFIRM_CONFIRMED,
  CONFIRM_REFUTED,
  CONFIRM_REMEDIED,    /* of a remedy that the operator named: it helps. Whether by what the finding names, it does not say */
  CONFIRM_NOT_REMEDIED /* it does not; the finding stays as it was */
};
const char *confirm_verdict_text(enum confirm_verdict verdict);

struct confirm_plan {
  const struct finding *finding;
  const char *perturbers[3]; /* the first is the finding's; further ones for comparison; ends in NULL */
  double threshold;          /* of an elasticity, or ln of a ratio */
  double stretch;            /* of the perturber's levels beyond 1 */
  bool takes_away, by_process;
  bool by_whole;        /* by_process, in place of the code that the finding names */
  const char *function; /* that is slowed; NULL: none */
  char sleeps[400];     /* the same where it is what a function sleeps */
  char library[200];    /* the same of a library; "": none */
  char setting[160];    /* the variables that are taken out, with commas between; "": none */
  const char *knob;     /* "NAME=VALUE", "--name=value": what the operator sets as the remedy; NULL: none */
  const char *instead;  /* why another experiment than the finding's own is made; NULL */
};

/* starts: lynxbench starts the executor, in Python. knob: the remedy that the operator names, for any finding; NULL: the finding's own
 * experiment. False: there is none that could be made here; why. */
bool confirm_plan_make(const struct finding *finding, bool starts, const char *knob, struct confirm_plan *ret, char *why, size_t size);

/* Is there one, with what confirm_by says, too? */
bool confirm_is_possible(const struct finding *finding, bool starts);

struct confirmation {
  enum confirm_verdict verdict;
  bool by_smaller;              /* by the smaller level alone: the time does not grow in proportion to slowness */
  bool impossible;              /* it costs far more than all of the time (sensitivity_is_impossible) */
  bool of_process;              /* plan->by_whole: of its process it is confirmed */
  bool saturated;               /* no effect, and none to be expected: what was slowed holds its lock all the time already */
  bool absent;                  /* the function is not there, or is not called */
  bool ambiguous;               /* several processes have the name of the finding's */
  bool control_moved;           /* so that what was seen may be no answer to what was done */
  const struct sensitivity *of; /* NULL: it was not probed */
  struct slope effect;          /* of throughput; in an open load of the end-to-end latency */
  enum response response;
  enum rung rung;
};

/* unprobed: why what was to be slowed was not, as the run kept it. */
struct confirmation confirm_judge(const struct confirm_plan *plan, const struct sensitivities *all, const char *const *unprobed,
                                  size_t n_unprobed);

/* Of a finding whose cause was swapped by another experiment. */
struct confirm_plan confirm_plan_by_swap(const struct finding *finding);
enum confirm_verdict confirm_decide(const struct confirm_plan *plan, const struct slope *effect);

#endif
