/* load/schedule.h: when requests are to be sent, decided before the first one is.
 *
 * load holds the driver interface, arrival schedules, and the engine that paces one driver and measures its own lateness. It
 * knows nothing of contracts, files or formats: what to send and where rows go is handed in.
 *
 * Shapes   at_ns[n], ascending, from 0 (the start of warm-up)
 * Errors   LIMIT: more arrivals than SCHEDULE_MAX
 * Source   constant: the k-th at floor(k * 1e9 / rate) in 128-bit integers; Poisson: sums of exponential gaps (random.h); ramp: a unit
 *          Poisson process in its expected number of arrivals, put back into time (Cinlar 1975); gamma: sums of gaps with that
 *          shape and the rate's mean; given: as it is
 * Bit-exact on every platform: integers only; the digest of the times is part of the record */
#ifndef LOAD_SCHEDULE_H
#define LOAD_SCHEDULE_H

#include "base/status.h"

enum { SCHEDULE_MAX = 20000000 };

enum schedule_kind { SCHEDULE_CLOSED, SCHEDULE_CONSTANT, SCHEDULE_POISSON, SCHEDULE_GAMMA, SCHEDULE_RAMP, SCHEDULE_GIVEN };

struct schedule {
  enum schedule_kind kind;
  int64_t *at_ns;
  size_t n_arrivals;
};

struct schedule_plan {
  enum schedule_kind kind;
  uint64_t rate_micro;    /* requests per second, in millionths (1 request/s = 1000000), so that it is an integer */
  uint64_t to_rate_micro; /* ramp: reached after ramp_ns, and kept */
  int64_t ramp_ns, length_ns;
  double shape; /* gamma */
  uint64_t seed;
  const int64_t *given; /* ascending; those before length_ns are taken */
  size_t n_given;
};

enum lynx_status schedule_make(struct schedule *ret, const struct schedule_plan *plan, struct lynx_error *error) LYNX_MUST_CHECK;
void schedule_release(struct schedule *schedule);

/* SHA-256 in hexadecimal of the times as big-endian 64-bit integers. text holds 65 bytes. */
char *schedule_digest(const struct schedule *schedule, char *text);

#endif
