/* Also the proof that schedules are the same bytes from every compiler: `make check` builds this with gcc and clang at -O0 and
 * -O3, and the digests below are in the source. */
#include "load/schedule.h"
#include "tests/check.h"

int main(void) {
  struct schedule s;
  char digest[65];
  struct lynx_error error = {0};
  CHECK_INT(schedule_make(&s, &(struct schedule_plan){.kind = SCHEDULE_CONSTANT, .rate_micro = 3000000, .length_ns = 1000000000, .seed = 1},
                          &error),
            LYNX_OK); /* 3 requests/s for 1 s */
  CHECK_INT(s.n_arrivals, 3);
  CHECK_INT(s.at_ns[1], 333333333);
  CHECK_INT(s.at_ns[2], 666666666);
  schedule_release(&s);

  CHECK_INT(schedule_make(&s,
                          &(struct schedule_plan){.kind = SCHEDULE_POISSON, .rate_micro = 1000000000, .length_ns = 10000000000, .seed = 1},
                          &error),
            LYNX_OK); /* 1000/s for 10 s */
  CHECK_NEAR((double)s.n_arrivals, 10000, 5 * 100);
  CHECK_INT(s.at_ns[0], 223654);
  CHECK_TEXT(schedule_digest(&s, digest), "bc6e8fb6977b3ff2b7eac6cfc718b41242dbc321d1bfffb13e1d335a08d6f8d0");
  for (size_t i = 1; i < s.n_arrivals; i++) CHECK(s.at_ns[i] >= s.at_ns[i - 1]);
  schedule_release(&s);

  CHECK_INT(schedule_make(&s,
                          &(struct schedule_plan){.kind = SCHEDULE_CONSTANT, .rate_micro = 7000000, .length_ns = 100000000000, .seed = 99},
                          &error),
            LYNX_OK);
  CHECK_TEXT(schedule_digest(&s, digest), "982d0ff73b56639f68b43f4a2bb5d4ac2ec7ff69ccfaf867880e0b0c5d019d00");
  schedule_release(&s);

  CHECK_INT(schedule_make(&s, &(struct schedule_plan){.kind = SCHEDULE_POISSON, .rate_micro = 0, .length_ns = 1, .seed = 1}, &error),
            LYNX_INPUT);
  error = (struct lynx_error){0};
  CHECK_INT(schedule_make(
                &s, &(struct schedule_plan){.kind = SCHEDULE_CONSTANT, .rate_micro = 10000000000000, .length_ns = 3600000000000, .seed = 1},
                &error),
            LYNX_LIMIT);
  CHECK_INT(schedule_make(&s, &(struct schedule_plan){.kind = SCHEDULE_CLOSED, .rate_micro = 0, .length_ns = 1, .seed = 1}, &error),
            LYNX_OK);
  CHECK_INT(s.n_arrivals, 0);

  /* Gamma gaps: the rate stays, the squared coefficient of variation of the gaps is 1 / shape. */
  for (int k = 0; k < 2; k++) {
    double shape = k == 0 ? 0.25 : 4, sum = 0, squares = 0;
    CHECK_INT(schedule_make(&s,
                            &(struct schedule_plan){
                                .kind = SCHEDULE_GAMMA, .rate_micro = 1000000000, .length_ns = 20000000000, .shape = shape, .seed = 3},
                            &error),
              LYNX_OK);
    double n = (double)s.n_arrivals;
    CHECK_NEAR(n, 20000, 5 * sqrt(20000 / shape));
    for (size_t i = 1; i < s.n_arrivals; i++) sum += (double)(s.at_ns[i] - s.at_ns[i - 1]);
    for (size_t i = 1; i < s.n_arrivals; i++) squares += pow((double)(s.at_ns[i] - s.at_ns[i - 1]) - sum / n, 2);
    CHECK_NEAR(squares / n / pow(sum / n, 2), 1 / shape, 0.1 / shape);
    CHECK_TEXT(schedule_digest(&s, digest), k == 0 ? "8d40973d381f86f6afdd660b2b2eac88da949a5315d119c95ab14618ae685306"
                                                   : "56d8768e322175712dd6e055da4988a58681fe868b7da49395df827f3bf29e33");
    schedule_release(&s);
  }
  /* From 100/s to 300/s in 10 s, then 300/s: 2000 and 600 expected; the middle third of the ramp has a third of its arrivals. */
  CHECK_INT(schedule_make(&s,
                          &(struct schedule_plan){.kind = SCHEDULE_RAMP,
                                                  .rate_micro = 100000000,
                                                  .to_rate_micro = 300000000,
                                                  .ramp_ns = 10000000000,
                                                  .length_ns = 12000000000,
                                                  .seed = 4},
                          &error),
            LYNX_OK);
  CHECK_NEAR((double)s.n_arrivals, 2600, 5 * sqrt(2600));
  double early = 0, late = 0;
  for (size_t i = 0; i < s.n_arrivals; i++) early += s.at_ns[i] < 5000000000, late += s.at_ns[i] >= 10000000000;
  CHECK_NEAR(early, 750, 5 * sqrt(750));
  CHECK_NEAR(late, 600, 5 * sqrt(600));
  CHECK_TEXT(schedule_digest(&s, digest), "82b3c98fc9c46439ae28b4706a8156ef0e1a5a0121b97e84c15ac5e03bc337a2");
  for (size_t i = 1; i < s.n_arrivals; i++) CHECK(s.at_ns[i] >= s.at_ns[i - 1]);
  schedule_release(&s);
  /* Down as well as up, and times as they are given. */
  CHECK_INT(schedule_make(&s,
                          &(struct schedule_plan){.kind = SCHEDULE_RAMP,
                                                  .rate_micro = 300000000,
                                                  .to_rate_micro = 1000000,
                                                  .ramp_ns = 10000000000,
                                                  .length_ns = 10000000000,
                                                  .seed = 4},
                          &error),
            LYNX_OK);
  CHECK_NEAR((double)s.n_arrivals, 1505, 5 * sqrt(1505));
  schedule_release(&s);
  const int64_t times[] = {0, 0, 5, 1000, 2000};
  CHECK_INT(schedule_make(&s, &(struct schedule_plan){.kind = SCHEDULE_GIVEN, .given = times, .n_given = 5, .length_ns = 1500}, &error),
            LYNX_OK);
  CHECK_INT(s.n_arrivals, 4);
  CHECK_INT(s.at_ns[3], 1000);
  schedule_release(&s);
  return check_end();
}
