/* tests/simulate/bisection.h: executors that differ in facts of which it is known which carry the difference. */
#ifndef TESTS_SIMULATE_BISECTION_H
#define TESTS_SIMULATE_BISECTION_H

#include <stdbool.h>

/* Prints how often `bisection_run` is right, and what it took; returns how many plants fall short of what docs/method.md promises. */
int study_bisection(bool quick);

#endif
