#include "base/random.h"

#include <string.h>
#include <sys/random.h>

static uint64_t splitmix(uint64_t *x) {
  uint64_t z = (*x += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void random_init(struct random_stream *stream, uint64_t seed, const char *purpose) {
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a of the purpose's name keeps the streams apart */
  for (const char *p = purpose; *p != 0; p++) hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
  uint64_t x = seed ^ hash;
  for (int i = 0; i < 4; i++) stream->state[i] = splitmix(&x);
}

static uint64_t rotate_left(uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

uint64_t random_next(struct random_stream *stream) {
  uint64_t *s = stream->state;
  uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

uint64_t random_below(struct random_stream *stream, uint64_t bound) {
  lynx_assert(bound >= 1);
  uint64_t x = random_next(stream);
  if (x < bound) /* seldom: only then it can be below 2^64 mod bound, which takes a division to know */
    for (uint64_t reject = (0 - bound) % bound; x < reject;) x = random_next(stream);
  return x % bound;
}

void random_order(struct random_stream *stream, size_t *ret, size_t n) {
  for (size_t i = 0; i < n; i++) ret[i] = i;
  for (size_t i = n; i > 1; i--) {
    size_t k = (size_t)random_below(stream, i), kept = ret[i - 1];
    ret[i - 1] = ret[k];
    ret[k] = kept;
  }
}

uint64_t random_minus_ln_q40(uint64_t u53) {
  lynx_assert(u53 >= 1 && u53 <= (uint64_t)1 << 53);
  /* log2 by repeated squaring: u = m * 2^e with m in [1,2), held with 62 fraction bits; each squaring yields one bit. */
  int top = 63 - __builtin_clzll(u53);
  uint64_t m = u53 << (62 - top);
  uint64_t fraction = 0;
  for (int i = 0; i < 44; i++) {
    unsigned __int128 square = (unsigned __int128)m * m;
    m = (uint64_t)(square >> 62);
    fraction <<= 1;
    if (m >> 63 != 0) {
      fraction |= 1;
      m >>= 1;
    }
  }
  /* -log2(u / 2^53) = 53 - top - fraction, with 44 fraction bits; times ln 2 (0.64 fixed point) gives -ln. */
  uint64_t log2_q44 = ((uint64_t)(53 - top) << 44) - fraction;
  const uint64_t ln2_q64 = 0xb17217f7d1cf79abu;
  return (uint64_t)(((unsigned __int128)log2_q44 * ln2_q64) >> 68);
}

int64_t random_exponential_ns(struct random_stream *stream, int64_t mean_ns) {
  lynx_assert(mean_ns >= 0);
  uint64_t u = (random_next(stream) >> 11) + 1;
  unsigned __int128 product = (unsigned __int128)random_minus_ln_q40(u) * (uint64_t)mean_ns;
  product = (product + ((unsigned __int128)1 << 39)) >> 40;
  return product > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)product;
}

bool random_salt(uint8_t *salt, size_t length) {
  return getrandom(salt, length, 0) == (ssize_t)length;
}
