/* stats/draw.h: variates of the distributions that loads and lengths follow, the same bits on every machine (stats/special.h).
 * Source   normal: Marsaglia's polar method (1964); gamma: Marsaglia and Tsang 2000 */
#ifndef STATS_DRAW_H
#define STATS_DRAW_H

#include "base/random.h"

double draw_uniform(struct random_stream *stream); /* in (0, 1) */
double draw_normal(struct random_stream *stream);
double draw_gamma(struct random_stream *stream, double shape); /* scale 1: its mean is the shape */

#endif
