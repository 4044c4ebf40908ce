/* base/random.h: our own pseudo-random numbers, the same on every machine and compiler.
 * Source   xoshiro256** 1.0 seeded by splitmix64 (Blackman and Vigna 2018, public-domain reference); one independent stream
 *          per purpose, derived from (seed, purpose), so that adding a purpose changes no other stream
 * Limits   not for keys */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include "base/status.h"

struct random_stream {
  uint64_t state[4];
};

void random_init(struct random_stream *stream, uint64_t seed, const char *purpose);
uint64_t random_next(struct random_stream *stream);
uint64_t random_below(struct random_stream *stream, uint64_t bound); /* uniform in [0, bound); bound >= 1; without bias */

/* The numbers from 0 to n - 1, every order alike (Fisher and Yates). */
void random_order(struct random_stream *stream, size_t *ret, size_t n);

/* An exponential variate with that mean, in integer arithmetic alone: -ln(u), u in (0,1] with 53 bits, at 2^-40 resolution. */
int64_t random_exponential_ns(struct random_stream *stream, int64_t mean_ns);

/* -ln(u / 2^53) * 2^40 for u in [1, 2^53]: shown for its tests. */
uint64_t random_minus_ln_q40(uint64_t u53);

/* From the operating system; for salts. False if it has none to give. */
bool random_salt(uint8_t *salt, size_t length);

#endif
