#include "load/schedule.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"

static int64_t constant_at(size_t k, uint64_t rate_micro) {
  return (int64_t)((unsigned __int128)k * 1000000000u * 1000000u / rate_micro);
}

enum lynx_status schedule_make(struct schedule *ret, enum schedule_kind kind, uint64_t rate_micro, int64_t length_ns, uint64_t seed,
                               struct lynx_error *error) {
  *ret = (struct schedule){.kind = kind};
  if (kind == SCHEDULE_CLOSED) return LYNX_OK;
  if (rate_micro == 0) return lynx_fail(error, LYNX_INPUT, "a rate of 0 requests/s; give a rate above 0");
  struct random_stream random;
  random_init(&random, seed, "arrivals");
  int64_t mean_ns = (int64_t)(((unsigned __int128)1000000000u * 1000000u + rate_micro / 2) / rate_micro);
  size_t room = 0;
  int64_t at = kind == SCHEDULE_POISSON ? random_exponential_ns(&random, mean_ns) : 0;
  while (at < length_ns) {
    if (ret->n_arrivals == SCHEDULE_MAX) {
      schedule_release(ret);
      return lynx_fail(error, LYNX_LIMIT, "more than %d arrivals in one session; shorten the windows or lower the rate", SCHEDULE_MAX);
    }
    if (ret->n_arrivals == room) {
      room = room == 0 ? 1024 : 2 * room;
      ret->at_ns = xgrow(ret->at_ns, room, sizeof *ret->at_ns);
    }
    ret->at_ns[ret->n_arrivals++] = at;
    at = kind == SCHEDULE_POISSON ? at + random_exponential_ns(&random, mean_ns) : constant_at(ret->n_arrivals, rate_micro);
  }
  return LYNX_OK;
}

void schedule_release(struct schedule *schedule) {
  free(schedule->at_ns);
  *schedule = (struct schedule){0};
}

char *schedule_digest(const struct schedule *schedule, char *text) {
  struct digest digest = {{0}};
  uint8_t bytes[8], result[DIGEST_BYTES];
  digest_init(&digest);
  for (size_t i = 0; i < schedule->n_arrivals; i++) {
    for (int k = 0; k < 8; k++) bytes[k] = (uint8_t)((uint64_t)schedule->at_ns[i] >> (56 - 8 * k));
    digest_update(&digest, bytes, sizeof bytes);
  }
  digest_final(&digest, result);
  return digest_hex(result, text);
}
