/* tests/simulate/search.h: whole searches for the saturation point, by the product's own policy, against queues whose capacity is known. */
#ifndef TESTS_SIMULATE_SEARCH_H
#define TESTS_SIMULATE_SEARCH_H

#include <stdbool.h>

/* Prints the tables; returns how many figures are not what docs/method.md promises. */
int study_search(bool quick);

#endif
