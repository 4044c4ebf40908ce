#include "stats/draw.h"

#include <math.h>

#include "stats/special.h"

double draw_uniform(struct random_stream *stream) {
  return ((double)(random_next(stream) >> 11) + 0.5) * 0x1p-53;
}

double draw_normal(struct random_stream *stream) {
  double u, v, square;
  do {
    u = 2 * draw_uniform(stream) - 1;
    v = 2 * draw_uniform(stream) - 1;
    square = u * u + v * v;
  } while (square >= 1 || square == 0);
  return u * sqrt(-2 * special_log(square) / square);
}

double draw_gamma(struct random_stream *stream, double shape) {
  if (shape < 1) { /* one with shape + 1, and a uniform to the power of 1 / shape */
    double more = draw_gamma(stream, shape + 1), log = special_log(draw_uniform(stream)) / shape;
    return log < -690 ? 0 : more * special_exp(log);
  }
  double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    double x = draw_normal(stream), v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (special_log(draw_uniform(stream)) < x * x / 2 + d - d * v + d * special_log(v)) return d * v;
  }
}
