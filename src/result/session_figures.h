/* result/session_figures.h: the figures by which runs are compared and followed over time: one value per session of a precision.
 * Shapes   ret[n_sessions]
 * Units    the formula's */
#ifndef RESULT_SESSION_FIGURES_H
#define RESULT_SESSION_FIGURES_H

#include "result/result.h"

enum { SESSION_FIGURES_MAX = 2 + METRIC_COUNT * RESULT_QUANTILES + 1 };

struct session_figure {
  const char *name;
  enum formula_index formula;
  bool more_is_better;
  int metric, quantile; /* metric < 0: no latency */
};

/* The throughputs, usual latencies, and those that the contract limits; tokens: where answers hold some; accuracy: that too. Returns how
 * many. */
size_t session_figures(const struct contract *contract, bool tokens, bool accuracy, struct session_figure ret[SESSION_FIGURES_MAX]);
/* Does the contract limit this quantile of this latency? */
bool session_figure_is_limited(const struct contract *contract, const struct session_figure *figure);
/* NaN: it has none, or is not complete. */
double session_figure_of(const struct result_session *session, const struct session_figure *figure);
/* Of the mean of x[n], its values over sessions: as the result states it, where it does. */
struct interval session_figure_interval(const struct contract *contract, const struct session_figure *figure,
                                        const struct result_precision *precision, const double *x, size_t n);
/* Why nothing may rest on it, of a latency that the sample cannot bound, or that the instrument's own lateness can have raised by more than
 * is agreed; NULL: it may. whose: "A" */
const char *session_figure_why_not(const struct contract *contract, const struct session_figure *figure,
                                   const struct result_precision *precision, const char *whose, struct arena *arena);

#endif
