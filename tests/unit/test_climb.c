#include "result/climb.h"
#include "tests/check.h"

static struct result_step step(int64_t concurrency, double throughput) {
  return (struct result_step){.concurrency = concurrency, .throughput = throughput};
}

int main(void) {
  struct result_step s[8] = {step(1, 100), step(2, 190), step(4, 350), step(8, 355), step(16, 352)};
  CHECK_INT(climb_next(s, 0, 64), 1);
  CHECK_INT(climb_next(s, 1, 64), 2);
  CHECK_INT(climb_next(s, 3, 64), 8);
  CHECK_INT(climb_next(s, 4, 64), 16); /* one step without growth may be noise */
  CHECK_INT(climb_next(s, 5, 64), 0);
  CHECK_INT(climb_next(s, 3, 6), 6); /* the cap is a step of its own */
  CHECK_INT(climb_next(s, 3, 4), 0);
  CHECK_INT(climb_knee(s, 5), 4); /* 350 is within 5 % of 355 */
  CHECK_INT(climb_knee(s, 1), 1);
  CHECK_INT(climb_knee(s, 0), 0);
  struct result_step flat[] = {step(1, 100), step(2, 98), step(4, 97)};
  CHECK_INT(climb_next(flat, 3, 64), 0);
  CHECK_INT(climb_knee(flat, 3), 2); /* one request by itself waits for nobody: where 2 were tried, it is 2 at least */
  struct result_step falls[] = {step(1, 100), step(2, 50), step(4, 80), step(8, 40)};
  CHECK_INT(climb_knee(falls, 4), 4);
  struct result_step fails[] = {step(1, 100), step(2, 200), step(4, 400)};
  fails[2].failing = true;
  CHECK_INT(climb_next(fails, 3, 64), 0); /* no more load on a server that fails */
  CHECK_INT(climb_knee(fails, 3), 2);
  struct result_step slow[] = {step(1, 100), step(2, 200), step(4, 400)};
  slow[2].too_short = true; /* a burst of first tokens is no throughput */
  CHECK_INT(climb_next(slow, 3, 64), 0);
  CHECK_INT(climb_knee(slow, 3), 2);
  slow[0].too_short = slow[1].too_short = true;
  CHECK_INT(climb_knee(slow, 3), 1); /* all that there is */
  struct result_step nothing[] = {step(1, 0)};
  CHECK_INT(climb_knee(nothing, 1), 0);
  return check_end();
}
