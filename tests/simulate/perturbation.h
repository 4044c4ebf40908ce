/* tests/simulate/perturbation.h: blocks on closed queueing networks whose elasticities are known exactly. */
#ifndef TESTS_SIMULATE_PERTURBATION_H
#define TESTS_SIMULATE_PERTURBATION_H

#include <stdbool.h>

/* Prints coverage of intervals, and of sums; returns how many are below what docs/method.md promises. */
int study_perturbation(bool quick);

#endif
