/* Also the proof that schedules are the same bytes from every compiler: `make check` builds this with gcc and clang at -O0 and
 * -O3, and the digests below are in the source. */
#include "load/schedule.h"
#include "tests/check.h"

int main(void) {
  struct schedule s;
  char digest[65];
  struct lynx_error error = {0};
  CHECK_INT(schedule_make(&s, SCHEDULE_CONSTANT, 3000000, 1000000000, 1, &error), LYNX_OK); /* 3 requests/s for 1 s */
  CHECK_INT(s.n_arrivals, 3);
  CHECK_INT(s.at_ns[1], 333333333);
  CHECK_INT(s.at_ns[2], 666666666);
  schedule_release(&s);

  CHECK_INT(schedule_make(&s, SCHEDULE_POISSON, 1000000000, 10000000000, 1, &error), LYNX_OK); /* 1000/s for 10 s */
  CHECK_NEAR((double)s.n_arrivals, 10000, 5 * 100);
  CHECK_INT(s.at_ns[0], 223654);
  CHECK_TEXT(schedule_digest(&s, digest), "bc6e8fb6977b3ff2b7eac6cfc718b41242dbc321d1bfffb13e1d335a08d6f8d0");
  for (size_t i = 1; i < s.n_arrivals; i++) CHECK(s.at_ns[i] >= s.at_ns[i - 1]);
  schedule_release(&s);

  CHECK_INT(schedule_make(&s, SCHEDULE_CONSTANT, 7000000, 100000000000, 99, &error), LYNX_OK);
  CHECK_TEXT(schedule_digest(&s, digest), "982d0ff73b56639f68b43f4a2bb5d4ac2ec7ff69ccfaf867880e0b0c5d019d00");
  schedule_release(&s);

  CHECK_INT(schedule_make(&s, SCHEDULE_POISSON, 0, 1, 1, &error), LYNX_INPUT);
  error = (struct lynx_error){0};
  CHECK_INT(schedule_make(&s, SCHEDULE_CONSTANT, 10000000000000, 3600000000000, 1, &error), LYNX_LIMIT);
  CHECK_INT(schedule_make(&s, SCHEDULE_CLOSED, 0, 1, 1, &error), LYNX_OK);
  CHECK_INT(s.n_arrivals, 0);
  return check_end();
}
