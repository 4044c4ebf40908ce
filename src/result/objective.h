/* result/objective.h: is an objective met? The one judge of runs, of loads of a search, and of what is checked live.
 * Shapes   sessions' values in time order; an unfinished request's value is its age, a lower bound: its places are listed
 * Result   by the share of the values that miss it, with the interval of stats/sessions.h. An age below the bound counts as a miss: the
 *          request may have missed it, and did not show that it did not
 * Source   docs/method.md#intervals */
#ifndef RESULT_OBJECTIVE_H
#define RESULT_OBJECTIVE_H

#include "result/figures.h"
#include "result/values.h"

/* The values of one latency in one session. */
struct objective_values {
  struct values values; /* in time order */
  struct values ages;   /* places among them that are ages of unfinished requests */
  bool whole;           /* the session is complete */
};

void objective_values_release(struct objective_values *values);

/* sessions: those of one latency. The values are changed meanwhile, and put back. */
void objective_judge(const struct contract_slo *slo, struct objective_values *const *sessions, size_t n_sessions, double confidence,
                     struct result_objective *ret);

/* All finite and infinite values together, ascending; the caller frees it. only_whole: of complete sessions. */
double *objective_values_sorted(struct objective_values *const *sessions, size_t n_sessions, bool only_whole, size_t *ret_n);

/* A pooled quantile with its interval; with a session that was cut off among the values there is an estimate, and no interval. */
struct session_quantile objective_quantile(struct objective_values *const *sessions, size_t n_sessions, const double *sorted, size_t n,
                                           double p, double confidence);

#endif
