/* stats/rounds.h: figures of several executors (or mixtures), each measured once in every round.
 * Shapes   y[round * stride + k], k < n
 * Result   the sum of squares that neither the rounds' levels nor the executors' explain; its degrees of freedom are
 *          (n_rounds - 1)(n - 1). Two-way layout without replication (Scheffe 1959, chapter 4) */
#ifndef STATS_ROUNDS_H
#define STATS_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

struct session_figure {
  double ln;    /* finite where it was measured */
  double grain; /* the standard deviation that counting alone gives it: no variance that is seen can be less */
};

/* Measures the executor of a set of facts (bit i: it has fact i of B) once. */
enum measured { MEASURED, MEASURED_CANNOT_RUN, MEASURED_NO_MORE };
typedef enum measured measure_facts(void *context, uint64_t facts, int64_t round, struct session_figure *ret);

double rounds_residual(const double *y, size_t n_rounds, size_t n, size_t stride);

#endif
