/* cli/decide_fleet.h: `decide fleet RUN`: how many executors does a load need? */
#ifndef CLI_DECIDE_FLEET_H
#define CLI_DECIDE_FLEET_H

#include <stdbool.h>

struct decide_fleet {
  const char *path;
  const char *rate, *within, *percentile, *spare, *route, *burstiness; /* as they were typed; NULL: not given */
  bool json;
};

int decide_fleet(const struct decide_fleet *asked); /* the exit code */

#endif
