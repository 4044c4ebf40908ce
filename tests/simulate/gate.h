/* tests/simulate/gate.h: runs whose true levels are known, gated against the runs before them. */
#ifndef TESTS_SIMULATE_GATE_H
#define TESTS_SIMULATE_GATE_H

#include <stdbool.h>

/* Prints how often a gate is wrong; returns how many figures are more than docs/method.md promises. */
int study_gate(bool quick);

#endif
