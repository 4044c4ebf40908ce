/* How much of a function holds the interpreter's lock, on an account that is made here. */
#include "attribute/live_shape.h"

#include <stdlib.h>

#include "base/arena.h"
#include "tests/check.h"

int main(void) {
  struct live *live = xalloc(1, sizeof *live);
  struct live_part parts[] = {{.kind = LIVE_PYTHON, .what = "forward", .where = "/srv/app.py:80", .share = 0.1},
                              {.kind = LIVE_LIBRARY, .what = "forward", .where = "/srv/app.py:80", .share = 0.5},
                              {.kind = LIVE_PYTHON, .what = "count", .where = "/srv/app.py:8", .share = 0.2}};
  live->at.n_lanes = 2;
  live->at.lanes[0] = (struct live_lane){.parts = parts, .n_parts = 3, .n_callers = 1, .callers[0] = {"forward", "/srv/app.py:80", 0.2, 9}};
  live->at.lanes[1] = (struct live_lane){.n_callers = 1, .callers[0] = {"forward", "/srv/app.py:80", 0.1, 9}};
  CHECK_NEAR(live_locked_share(live, "forward (/srv/app.py:80)"), 0.25, 1e-12); /* of all threads that run it */
  CHECK_NEAR(live_locked_share(live, "count (/srv/app.py:8)"), 1, 1e-12);
  CHECK_NEAR(live_locked_share(live, "forward (/srv/app.py:8)"), 1, 1e-12); /* another function */
  CHECK_NEAR(live_locked_share(live, "time.sleep"), 1, 1e-12);
  free(live);
  return check_end();
}
