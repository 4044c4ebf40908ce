#include <math.h>

#include "base/random.h"
#include "tests/check.h"

int main(void) {
  /* xoshiro256** from the state {1, 2, 3, 4}: the reference implementation's first outputs. */
  static const uint64_t wanted[] = {11520u,
                                    0u,
                                    1509978240u,
                                    1215971899390074240u,
                                    1216172134540287360u,
                                    607988272756665600u,
                                    16172922978634559625u,
                                    8476171486693032832u};
  struct random_stream s = {{1, 2, 3, 4}};
  for (size_t i = 0; i < LYNX_COUNT(wanted); i++) CHECK(random_next(&s) == wanted[i]);

  /* -ln u in fixed point against the C library's logarithm, over the whole range. */
  double worst = 0;
  struct random_stream r;
  random_init(&r, 7, "test");
  for (int i = 0; i < 20000; i++) {
    uint64_t u = i < 53 ? (uint64_t)1 << i : (random_next(&r) >> 11) + 1;
    double exact = -log((double)u / 9007199254740992.0), ours = (double)random_minus_ln_q40(u) / 1099511627776.0;
    worst = fmax(worst, fabs(exact - ours));
  }
  CHECK(worst < 4e-12);
  CHECK_INT(random_minus_ln_q40((uint64_t)1 << 53), 0);

  /* Mean and variance of 200,000 exponential gaps: 5 standard errors around 1 and 1. */
  double sum = 0, squares = 0;
  for (int i = 0; i < 200000; i++) {
    double gap = (double)random_exponential_ns(&r, 1000000) / 1e6;
    sum += gap;
    squares += gap * gap;
  }
  double mean = sum / 200000;
  CHECK_NEAR(mean, 1, 5 / sqrt(200000.0));
  CHECK_NEAR(squares / 200000 - mean * mean, 1, 5 * sqrt(8 / 200000.0));

  /* Streams of different purposes differ; the same purpose repeats. */
  struct random_stream a, b, c;
  random_init(&a, 1, "arrivals");
  random_init(&b, 1, "prompts");
  random_init(&c, 1, "arrivals");
  CHECK(random_next(&a) != random_next(&b));
  random_next(&c);
  CHECK(random_next(&a) == random_next(&c));
  for (int i = 0; i < 1000; i++) CHECK(random_below(&a, 7) < 7);
  return check_end();
}
