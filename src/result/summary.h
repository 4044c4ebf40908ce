/* result/summary.h: a run in a few hundred bytes: when, of which contract, and by precision its figures, for what follows runs over time.
 * Shapes   one entry per precision; figures as the mean of the sessions' own, with its interval. A latency that one run's sample cannot
 *          bound is among them: over many runs its own variation bounds it; one that the instrument's lateness can have raised is not
 * Result   the same bytes from the same bundle: a ledger's entry may carry it, and `audit` recomputes it
 * Errors   summary_read gives false for what is no summary; texts in it are whatever was written */
#ifndef RESULT_SUMMARY_H
#define RESULT_SUMMARY_H

#include "base/json.h"
#include "base/text_set.h"
#include "result/session_figures.h"

#define SUMMARY_VALUE_MAX 1e100
enum {
  SUMMARY_PRECISIONS_MAX = 16,
  SUMMARY_FIGURES_MAX = 64,
  SUMMARY_OBJECTIVES_MAX = 16,
  SUMMARY_DEPARTURES_MAX = 8,
  SUMMARY_TEXT_MAX = 400,
  SUMMARY_ANALYSIS_LEAST = 2 /* the figures of this version on are those of ours; what answers a question came with version 3 */
};

enum better { BETTER_UNKNOWN, BETTER_MORE, BETTER_LESS };

struct summary_figure {
  const char *name, *formula, *unit;
  enum better better;
  double value, low, high; /* low, high: NaN where one session gives no interval */
  int64_t n;               /* sessions */
};

struct summary_objective {
  enum metric metric;
  enum objective_verdict verdict;
  double quantile, at_most_ns;
  double value, low, high; /* ns; NaN: not known, not bounded */
};

enum accuracy_gate { ACCURACY_NOT_GATED, ACCURACY_PASSES, ACCURACY_FAILS };

struct summary_precision {
  const char *name, *fingerprint; /* fingerprint "": the executor was not captured */
  const char *left_out;           /* why none of its figures counts; NULL */
  const char *no_claim;           /* why no claim can be made of it: it can be followed, and is no baseline; NULL */
  struct result_conditions conditions;
  struct summary_figure *figures;
  size_t n_figures;
  struct summary_objective *objectives;
  size_t n_objectives;
  double passing, failing; /* requests/s that a search found sustained, and not; NaN: none */
  bool certified;          /* they are */
  int64_t knee;            /* requests in flight at a climb's knee; 0: no climb */
  enum accuracy_gate gate; /* of the contract, and what came of it */
  double accuracy_ratio;   /* to the reference's; NaN */
};

struct summary {
  int64_t analysis;            /* the version by which its figures were computed */
  int64_t started_ns;          /* by the wall clock */
  const char *contract, *name; /* its digest, its name */
  struct summary_precision *precisions;
  size_t n_precisions;
  int64_t n_expected;      /* facts that the contract expects */
  const char **departures; /* those that were found otherwise, in words; the first SUMMARY_DEPARTURES_MAX */
  size_t n_departures;
};

/* Lives in the result's arena. */
void summary_make(struct result *result, struct summary *ret);
/* NULL: it has none of that name; where precision or summary is NULL. */
const struct summary_figure *summary_figure_named(const struct summary_precision *precision, const char *name);
const struct summary_precision *summary_precision_named(const struct summary *summary, const char *name);
/* Are its figures those that this version computes? */
bool summary_counts(const struct summary *summary);
/* The members of an object that is open. */
void summary_write(const struct summary *summary, struct json_writer *json);
/* texts: of that arena, for who keeps many summaries; NULL: none. */
bool summary_read(const json_t *object, struct arena *arena, struct text_set *texts, struct summary *ret);

/* What a ledger keeps of a bundle's entry beside its contract (src/ledger/run_index.c). */
struct summary_said {
  const char *name, *bundle, *file; /* of the bundle; its root and its file's digest, in hexadecimal. "": not there */
  bool has_summary;
  struct summary summary;
};

/* From its text, without a tree of it: there may be ten thousand. False: it is no whole JSON. */
bool summary_said_read(struct bytes text, struct arena *arena, struct summary_said *ret);

#endif
