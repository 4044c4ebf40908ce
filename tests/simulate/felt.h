/* tests/simulate/felt.h: two sides under unlike conditions, of which their sessions tell what was felt. */
#ifndef TESTS_SIMULATE_FELT_H
#define TESTS_SIMULATE_FELT_H

#include <stdbool.h>

/* Prints how often a comparison decides, and wrongly; returns how many figures are more than docs/method.md promises. */
int study_felt(bool quick);

#endif
