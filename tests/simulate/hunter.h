/* tests/simulate/hunter.h: change points as Otava finds them (e-divisive in windows, t test, merge), to compare ours with.
 * Source   Fleming et al. 2023 (Hunter); what apache/otava does, with its merge, which after taking out change i tests i and i + 1 of what
 *          is left again, not its left neighbour, and its standard deviations with n in the denominator */
#ifndef TESTS_SIMULATE_HUNTER_H
#define TESTS_SIMULATE_HUNTER_H

#include <stddef.h>

enum { HUNTER_MAX = 400 };

/* The first index of each new level; returns how many. x[n], window at most 200. */
size_t hunter_changes(const double *x, size_t n, size_t window, double p, double least, size_t ret[HUNTER_MAX]);
/* The greatest Q of x[0 ... n) and where: x[0 ... at) against x[at ... end). */
double hunter_greatest(const double *x, size_t n, size_t *ret_at, size_t *ret_end);

#endif
