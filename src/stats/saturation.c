#include "stats/saturation.h"

#include <math.h>

#include "stats/interval.h"

static const double halvings_least = 1.0 / 1024;

struct growth growth_of(const double *changes, size_t n, double n_arrivals, double confidence) {
  struct growth result = {.low = -INFINITY, .high = INFINITY, .n_parts = n};
  if (n == 0 || !(n_arrivals > 0)) return result;
  struct interval mean = interval_of_mean(changes, n, confidence);
  double scale = (double)n / n_arrivals;
  result.estimate = mean.estimate * scale;
  if (!mean.bounded) return result;
  result.low = mean.low * scale;
  result.high = mean.high * scale;
  return result;
}

enum load_verdict growth_verdict(const struct growth *growth, double resolution, bool final) {
  /* An eighth: what a queue that is still filling, at a load just below the capacity, may seem to grow by. */
  if (growth->low > (growth->estimate > resolution / 2 ? 0 : resolution / 8)) return LOAD_NOT_SUSTAINED;
  if (growth->high < resolution / 2) return LOAD_SUSTAINED;
  if (!final) return LOAD_UNDECIDED;
  return growth->estimate > resolution / 2 ? LOAD_NOT_SUSTAINED : LOAD_SUSTAINED;
}

double saturation_arrivals_needed(double resolution) {
  return ceil(40 / (resolution * resolution));
}

double saturation_next(const struct saturation_search *s, enum search_end *ret_end) {
  *ret_end = SEARCH_GOES_ON;
  if (s->passing > 0 && s->failing > 0 && s->failing <= s->passing * (1 + s->resolution) * (1 + 1e-12)) {
    *ret_end = SEARCH_FOUND;
    return 0;
  }
  if (s->passing >= s->to && s->failing == 0) {
    *ret_end = SEARCH_NOT_SATURATED;
    return 0;
  }
  if (s->passing == 0 && s->failing > 0 && s->failing < s->from * halvings_least) {
    *ret_end = SEARCH_NOTHING_SUSTAINED;
    return 0;
  }
  if (s->n_points >= SEARCH_POINTS_MAX) {
    *ret_end = SEARCH_TOO_LONG;
    return 0;
  }
  if (s->passing == 0) return s->failing == 0 ? s->from : s->failing / 2;
  if (s->failing == 0) return s->passing * 2 < s->to ? s->passing * 2 : s->to;
  double middle = sqrt(s->passing * s->failing), narrow = s->passing * (1 + s->resolution);
  return middle < narrow ? narrow : middle; /* the last step is exactly the resolution, not less */
}

void saturation_tell(struct saturation_search *s, double load, bool sustained) {
  s->n_points++;
  if (sustained) {
    if (load > s->passing) s->passing = load;
    if (s->failing > 0 && s->failing <= load) s->failing = 0; /* a later look corrects an earlier one */
  } else {
    if (s->failing == 0 || load < s->failing) s->failing = load;
    if (s->passing >= load) s->passing = 0;
  }
}
