/* load/schedule.h: when requests are to be sent, decided before the first one is.
 *
 * load holds the driver interface, arrival schedules, and the engine that paces one driver and measures its own lateness. It
 * knows nothing of contracts, files or formats: what to send and where rows go is handed in.
 *
 * Shapes   at_ns[n], ascending, from 0 (the start of warm-up)
 * Errors   LIMIT: more arrivals than SCHEDULE_MAX
 * Source   constant: the k-th at floor(k * 1e9 / rate) in 128-bit integers; Poisson: sums of exponential gaps (random.h)
 * Bit-exact on every platform: integers only; the digest of the times is part of the record */
#ifndef LOAD_SCHEDULE_H
#define LOAD_SCHEDULE_H

#include "base/status.h"

enum { SCHEDULE_MAX = 20000000 };

enum schedule_kind { SCHEDULE_CLOSED, SCHEDULE_CONSTANT, SCHEDULE_POISSON };

struct schedule {
  enum schedule_kind kind;
  int64_t *at_ns;
  size_t n_arrivals;
};

/* rate in requests per second, in millionths (1 request/s = 1000000), so that it is an integer. */
enum lynx_status schedule_make(struct schedule *ret, enum schedule_kind kind, uint64_t rate_micro, int64_t length_ns, uint64_t seed,
                               struct lynx_error *error) LYNX_MUST_CHECK;
void schedule_release(struct schedule *schedule);

/* SHA-256 in hexadecimal of the times as big-endian 64-bit integers. text holds 65 bytes. */
char *schedule_digest(const struct schedule *schedule, char *text);

#endif
