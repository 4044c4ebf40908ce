/* tests/simulate/history.h: series with known changes of level, and with none; beside them what Otava's method finds. */
#ifndef TESTS_SIMULATE_HISTORY_H
#define TESTS_SIMULATE_HISTORY_H

#include <stdbool.h>

/* Prints false alarms, recall, places and sizes; returns how many figures fall short of what docs/method.md promises. */
int study_history(bool quick);

#endif
