/* cli/decide_fleet.h: `decide fleet RUN`: how many executors does a load need? */
#ifndef CLI_DECIDE_FLEET_H
#define CLI_DECIDE_FLEET_H

#include "decide/fleet.h"

struct decide_fleet {
  const char *path;
  double rate, percentile, burstiness; /* NAN: not given */
  int64_t within_ns;                   /* 0: not given */
  size_t spare;
  enum fleet_routing routing;
  bool json;
};

int decide_fleet(const struct decide_fleet *asked); /* the exit code */

#endif
