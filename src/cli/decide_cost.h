/* cli/decide_cost.h: `decide cost RUN [OTHER]`: what its work costs, and which of two costs less for the same work. */
#ifndef CLI_DECIDE_COST_H
#define CLI_DECIDE_COST_H

#include <stdbool.h>

/* Of the first and of the second; NULL, NAN: not given. */
struct decide_cost {
  const char *paths[2];
  double prices[2], sold[2], error;
  bool json;
};

int decide_cost(const struct decide_cost *asked); /* the exit code */

#endif
