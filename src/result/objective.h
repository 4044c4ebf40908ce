/* result/objective.h: is an objective met? The one judge of runs, of loads of a search, and of what is checked live.
 * Shapes   sessions' values in time order; an unfinished request's value is its age, a lower bound: its places are listed
 * Result   by the share of the values that miss it, with the interval of stats/sessions.h. An age below the bound counts as a miss: the
 *          request may have missed it, and did not show that it did not
 * Source   docs/method.md#intervals */
#ifndef RESULT_OBJECTIVE_H
#define RESULT_OBJECTIVE_H

#include "result/figures.h"
#include "stats/sample.h"

/* The values of one latency in one session. */
struct objective_values {
  struct sample values;
  struct sample_place *ages; /* those among them that are ages of unfinished requests */
  size_t n_ages, room;
  bool whole; /* the session is complete */
};

void objective_values_add(struct objective_values *values, double ns, bool is_age);
void objective_values_release(struct objective_values *values);

/* sessions: those of one latency, their samples closed. */
void objective_judge(const struct contract_slo *slo, struct objective_values *const *sessions, size_t n_sessions, double confidence,
                     struct result_objective *ret);

/* The samples of all sessions, or only of complete ones; the caller frees the list, not what it points at. */
const struct sample **objective_samples(struct objective_values *const *sessions, size_t n_sessions, bool only_whole, size_t *ret_n);

/* A pooled quantile with its interval; with a session that was cut off among the values there is an estimate, and no interval. */
struct session_quantile objective_quantile(struct objective_values *const *sessions, size_t n_sessions, double p, double confidence);

#endif
