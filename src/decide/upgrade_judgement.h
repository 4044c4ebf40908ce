/* decide/upgrade_judgement.h: would this upgrade help, by what a perturbed run measured?
 *
 * Figure     throughput at the same number in flight; where the load is open, the median end-to-end latency of the same load. The capacity
 *            under an objective is another figure, and may gain more
 * Wanted     the gain from which it pays: the ratio of prices, or 1 and a margin
 * Upper      no more than: the concave bound at the upper ends of the elasticities (of several processes or devices, added up), and of a
 *            throughput the greatest factor (decide/bound.h). A latency that waits in queues may gain more than any factor
 * Decision   it does not help where the upper end is below what is wanted. Elasticities are measured on the slow side, so that they refute
 *            and never promise: else it cannot be decided, for each of `doubts`, each with its next step
 * Result     a pure function of what is given */
#ifndef DECIDE_UPGRADE_JUDGEMENT_H
#define DECIDE_UPGRADE_JUDGEMENT_H

#include "decide/bound.h"
#include "decide/device.h"
#include "experiment/sensitivity.h"

enum decision { DECISION_DOES_NOT_HELP, DECISION_CANNOT_DECIDE };

/* The first four let no bound hold. */
enum doubt_kind {
  DOUBT_OTHER_DEVICE, /* the run was not on what the upgrade begins from */
  DOUBT_OTHER_CODE,   /* another architecture, or another type than was executed: other code runs, of which nothing was measured */
  DOUBT_CAPACITY,     /* memory: what fits then and did not before is seen by no elasticity */
  DOUBT_STEPS,        /* more of it may gain more than its factor, and nothing here can slow it */
  DOUBT_NO_PERTURBER, /* nothing here can slow that resource */
  DOUBT_UNPROBED,     /* it can be slowed, and was not */
  DOUBT_UNBOUNDED,    /* too few blocks for an interval */
  DOUBT_IMPOSSIBLE,   /* what was slowed waits in a loop: its elasticity is none */
  DOUBT_WIDE,         /* the interval holds elasticities on both sides of what is wanted */
  DOUBT_ONLY_A_TRIAL, /* it may gain enough: that only a trial can show */
  DOUBT_KINDS
};
enum { DOUBTS_MAX = UPGRADE_PARTS_MAX + 4 };

struct doubt {
  enum doubt_kind kind;
  const struct upgrade_part *part; /* that it is about; NULL: all */
  double times;                    /* of a wide interval: about so many times the blocks would do; else NAN */
};

enum { TARGETS_OF_PART = 12 };

struct judged_part {
  const struct upgrade_part *part;
  const struct sensitivity *measured[TARGETS_OF_PART]; /* all that it is: of several processes or devices each; 0: nothing was measured */
  struct slope elasticity[TARGETS_OF_PART];
  double slowness[TARGETS_OF_PART]; /* up to which each was measured */
  size_t n;
  bool falls, ignored; /* falls: it costs less the slower it is, for certain. Ignored: no part of the bound (slower, or not executed) */
};

/* What is given. */
struct upgrade_question {
  const struct upgrade *upgrade;
  const struct device *from, *to; /* NULL: no devices were named */
  const char *accelerator;        /* that the run was on, as its machine names it; "": not known */
  bool on_processor;              /* that is a processor of the host */
  const char *executed;           /* the type that was executed (upgrade_type): "bf16"; "": not known */
  double wanted;                  /* above 1 */
};

struct upgrade_judgement {
  enum decision decision;
  enum response figure;
  double upper;                     /* INFINITY: nothing bounds it */
  double concave, serial, estimate; /* estimate: the serial form at the estimates themselves. NAN where something was not measured */
  double factor;                    /* the greatest that counts */
  struct judged_part parts[UPGRADE_PARTS_MAX];
  size_t n_parts;
  struct doubt doubts[DOUBTS_MAX];
  size_t n_doubts;
  const struct sensitivity *next;            /* what limits afterwards, of what was slowed and stays as it is; NULL: not known */
  const struct sensitivity *alternatives[3]; /* what else would gain, the most first */
  size_t n_alternatives;
};

void upgrade_judge(const struct upgrade_question *question, const struct sensitivities *measured, struct upgrade_judgement *ret);
const char *doubt_text(enum doubt_kind kind);
/* What software could gain in its place: twice as fast, at most; of what was taken away, as measured (its upper end). */
double alternative_gain(const struct sensitivity *sensitivity, enum response figure);

#endif
