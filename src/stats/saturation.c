#include "stats/saturation.h"

#include <math.h>

#include "stats/interval.h"
#include "stats/special.h"

/* --- one load --- */

enum { LAGS = 5 };
/* Of a variance by Bartlett's weights over so many lags of 20 parts, for each window: 1.5 * 20 / (LAGS + 1) is 5 (Priestley 1981, 6.2.4), and
 * one less for the mean. */
static const double freedom_of_window = 4;
static const double one_error = 0.6826894921; /* the confidence of a standard error to both sides */

/* The variance of a part in the long run: that of the sum of many, over their number. */
static double long_run_variance(const double *x, size_t n_windows, size_t n_parts, double mean) {
  double sum = 0;
  for (size_t w = 0; w < n_windows; w++, x += n_parts) {
    double own = 0;
    for (size_t lag = 0; lag <= LAGS && lag < n_parts; lag++) {
      double product = 0;
      for (size_t i = 0; i + lag < n_parts; i++) product += (x[i] - mean) * (x[i + lag] - mean);
      own += (lag == 0 ? 1 : 2 * (1 - (double)lag / (LAGS + 1))) * product / (double)n_parts;
    }
    sum += fmax(own, 0);
  }
  return sum / (double)n_windows;
}

struct growth growth_of(const struct load_parts *p, double confidence) {
  size_t n = p->n_windows * p->n_parts;
  struct growth result = {.low = -INFINITY, .high = INFINITY, .n_parts = n};
  if (n == 0 || !(p->n_arrivals > 0) || !(p->expected > 0)) return result;
  struct interval changes = interval_of_mean(p->changes, n, confidence), done = interval_of_mean(p->completions, n, confidence),
                  error = interval_of_mean(p->completions, n, one_error);
  double scale = (double)n / p->n_arrivals;
  result.estimate = changes.estimate * scale;
  result.completed = done.estimate / p->expected;
  if (!changes.bounded || !done.bounded || p->n_arrivals < GROWTH_ARRIVALS_LEAST) return result;
  double t = special_t_quantile(0.5 + confidence / 2, freedom_of_window * (double)p->n_windows);
  double long_run = t * sqrt(long_run_variance(p->changes, p->n_windows, p->n_parts, changes.estimate) / (double)n);
  double half = changes.high - changes.estimate, up = fmin(half, long_run), half_done = (done.high - done.low) / 2 / p->expected;
  result.completed_error = (error.high - error.low) / 2 / p->expected;
  if (half_done < up * scale) result.estimate = 1 - result.completed;
  result.low = fmin(result.estimate, fmax((changes.estimate - half) * scale, 1 - result.completed - half_done));
  result.high = fmax(result.estimate, (changes.estimate + up) * scale);
  return result;
}

enum load_verdict growth_verdict(const struct growth *growth, double resolution, bool final) {
  /* An eighth: what a queue that is still filling, at a load just below the capacity, may seem to grow by. */
  if (growth->low > (growth->estimate > resolution / 2 ? 0 : resolution / 8)) return LOAD_NOT_SUSTAINED;
  if (growth->high < resolution / 2) return LOAD_SUSTAINED;
  if (!final || !isfinite(growth->high)) return LOAD_UNDECIDED;
  return growth->estimate > resolution / 2 ? LOAD_NOT_SUSTAINED : LOAD_SUSTAINED;
}

double saturation_arrivals_needed(double resolution) {
  return ceil(40 / (resolution * resolution));
}

double saturation_resolution(double n_arrivals) {
  return sqrt(40 / n_arrivals);
}

double saturation_windows_needed(double n_arrivals, double resolution, size_t sessions) {
  /* What finds the bracket, the certificate, and what is measured again where arrivals are few. */
  return 3 + 2 * (double)sessions + 40 / (n_arrivals * resolution * resolution);
}

enum { N_RESOLUTIONS = 3 };

/* Ascending: the one that is wanted first. */
static void resolutions_of(double wanted, double ret[N_RESOLUTIONS]) {
  ret[0] = wanted;
  ret[1] = fmax(wanted, 0.1);
  ret[2] = fmax(wanted, 0.2);
}

double saturation_affordable(double wanted, double n_arrivals, size_t sessions, double n_windows) {
  double resolutions[N_RESOLUTIONS];
  static const double unlucky = 1.6; /* nine of ten searches take 1.1 to 1.9 times the median (docs/simulation.txt) */
  size_t i = 0;
  resolutions_of(wanted, resolutions);
  while (i + 1 < N_RESOLUTIONS && unlucky * saturation_windows_needed(n_arrivals, resolutions[i], sessions) > n_windows) i++;
  return resolutions[i];
}

double saturation_reached(double wanted, double apart, double growth) {
  double resolutions[N_RESOLUTIONS];
  resolutions_of(wanted, resolutions);
  for (size_t i = 0; i < N_RESOLUTIONS; i++)
    if (apart <= resolutions[i] * (1 + 1e-9) && growth < resolutions[i]) return resolutions[i];
  return INFINITY;
}

/* --- the loads together --- */

static const double halvings_least = 1.0 / 1024, tiny = 1e-12;
/* A fifth of the resolution: a certificate costs more than what makes the next guess that good (tests/simulate). From farther above than
 * half its capacity again, an executor may complete more or less than what it sustains. */
static const double guess_error = 0.2, guess_from = 1.5;

static const struct load_seen *best_of(const struct saturation_point *p) {
  return p->certificate.n_windows > 0 ? &p->certificate : &p->search;
}

/* The place of that load, or of the one above it. */
static size_t place_of(const struct saturation_search *s, double load) {
  size_t i = 0;
  while (i < s->n_points && s->points[i].load < load * (1 - tiny)) i++;
  return i;
}

static bool is_at(const struct saturation_search *s, size_t i, double load) {
  return i < s->n_points && s->points[i].load <= load * (1 + tiny);
}

/* NULL: there is no room. */
static struct saturation_point *point_at(struct saturation_search *s, double load) {
  size_t i = place_of(s, load);
  if (is_at(s, i, load)) return &s->points[i];
  if (s->n_points == SEARCH_POINTS_MAX) return NULL;
  for (size_t k = s->n_points++; k > i; k--) s->points[k] = s->points[k - 1];
  s->points[i] = (struct saturation_point){.load = load};
  return &s->points[i];
}

/* What a verdict is worth where it contradicts another. */
static double weight_of(const struct load_seen *seen) {
  return seen->n_windows == 0 ? 0 : seen->sure ? 2 : 1;
}

/* How many of the loads, ascending, are believed to be sustained: the split that contradicts the least. Of two alike the lower. */
static size_t split_of(const struct saturation_search *s, double *ret_cost) {
  size_t best = 0;
  double least = INFINITY;
  for (size_t k = 0; k <= s->n_points; k++) {
    double cost = 0;
    for (size_t i = 0; i < s->n_points; i++) {
      const struct load_seen *seen = best_of(&s->points[i]);
      if (seen->sustained != (i < k)) cost += weight_of(seen);
    }
    if (cost >= least) continue;
    least = cost;
    best = k;
  }
  *ret_cost = least;
  return best;
}

/* The capacity by what was completed where the backlog grew; false: no load has shown it. */
static bool guess(const struct saturation_search *s, double *ret_capacity, double *ret_error) {
  double weights = 0, sum = 0, nearest = INFINITY;
  for (size_t i = 0; i < s->n_points; i++)
    if (best_of(&s->points[i])->capacity > 0) nearest = fmin(nearest, s->points[i].load);
  for (size_t i = 0; i < s->n_points; i++) {
    const struct load_seen *seen = best_of(&s->points[i]);
    bool near = s->points[i].load < guess_from * seen->capacity || s->points[i].load <= nearest * (1 + tiny);
    if (!(seen->capacity > 0) || !(seen->error > 0) || !near) continue;
    weights += 1 / (seen->error * seen->error);
    sum += seen->capacity / (seen->error * seen->error);
  }
  *ret_capacity = sum / weights;
  *ret_error = 1 / sqrt(weights);
  return weights > 0;
}

double saturation_capacity(const struct saturation_search *s) {
  double capacity, error;
  return guess(s, &capacity, &error) ? capacity : 0;
}

struct bracket {
  double passing, failing; /* 0: none */
};

static bool is_narrow(const struct saturation_search *s, const struct bracket *b) {
  return b->passing > 0 && b->failing > 0 && b->failing <= b->passing * (1 + s->resolution) * (1 + tiny);
}

/* The next load by the guess, where it lies within what is known: the bracket about it, if it is good enough; else the load that should just
 * fail. 0: it tells nothing new. */
static double next_by_guess(const struct saturation_search *s, const struct bracket *known, struct bracket *ret) {
  double capacity, error, step = sqrt(1 + s->resolution);
  if (!(known->failing > 0) || !guess(s, &capacity, &error) || capacity <= known->passing || capacity >= known->failing) return 0;
  double failing = fmin(capacity * step, known->failing);
  *ret = (struct bracket){failing / (1 + s->resolution), failing};
  if (error < guess_error * capacity * s->resolution && ret->passing > known->passing * (1 - tiny)) return 0;
  *ret = (struct bracket){0, 0};
  return failing > known->passing * (1 + tiny) && failing < known->failing * (1 - s->resolution / 50) ? failing : 0;
}

static double next_between(const struct saturation_search *s, const struct bracket *known) {
  if (!(known->passing > 0)) return known->failing > 0 ? known->failing / 2 : s->from;
  if (!(known->failing > 0)) return fmin(2 * known->passing, s->to);
  double middle = sqrt(known->passing * known->failing), narrow = known->passing * (1 + s->resolution);
  return fmax(middle, narrow); /* the last step is exactly the resolution, not less */
}

/* A load whose verdict the split contradicts, or that leaves something open in the certified bracket: the one with the fewest windows. */
static struct saturation_point *to_repeat(struct saturation_search *s, size_t split) {
  struct saturation_point *found = NULL;
  for (size_t i = 0; i < s->n_points; i++) {
    struct saturation_point *p = &s->points[i];
    const struct load_seen *seen = best_of(p);
    bool passing = fabs(p->load - s->passing) <= tiny * p->load;
    bool open = seen->sustained != (i < split) || (passing && !seen->holds);
    size_t most = SEARCH_LOOKS_AGAIN * (p->certificate.n_windows > 0 ? s->sessions : s->looks);
    if (open && seen->n_windows > 0 && seen->n_windows < most && (found == NULL || seen->n_windows < best_of(found)->n_windows)) found = p;
  }
  return found;
}

/* Pass, fail, fail, pass: a drift meets both alike. */
static enum search_end next_of_certificate(struct saturation_search *s, struct load_asked *ret) {
  bool upper = (s->turn % 2 == 1) != (s->turn / 2 % 2 == 1);
  if (!(s->failing > 0)) upper = false;
  *ret = (struct load_asked){upper ? s->failing : s->passing, true};
  return SEARCH_GOES_ON;
}

static size_t turns_of(const struct saturation_search *s) {
  return s->failing > 0 ? 2 * s->sessions : s->sessions;
}

static enum search_end begin_certificate(struct saturation_search *s, const struct bracket *b, struct load_asked *ret) {
  if (point_at(s, b->passing) == NULL || (b->failing > 0 && point_at(s, b->failing) == NULL)) return SEARCH_TOO_LONG;
  s->passing = point_at(s, b->passing)->load; /* one that differs by rounding is the same */
  s->failing = b->failing > 0 ? point_at(s, b->failing)->load : 0;
  s->turn = 0;
  return next_of_certificate(s, ret);
}

static bool was_measured_again(const struct saturation_search *s, double load) {
  size_t i = place_of(s, load);
  return is_at(s, i, load) && s->points[i].certificate.n_windows >= s->sessions;
}

static bool was_certified(const struct saturation_search *s, const struct bracket *b) {
  return was_measured_again(s, b->passing) && (b->failing <= 0 || was_measured_again(s, b->failing));
}

/* What is known: the believed split's neighbours, of those that were measured and agree with it. */
static struct bracket known_of(const struct saturation_search *s, size_t split) {
  struct bracket known = {0, 0};
  for (size_t i = 0; i < split; i++)
    if (best_of(&s->points[i])->sustained) known.passing = s->points[i].load;
  for (size_t i = s->n_points; i > split; i--)
    if (best_of(&s->points[i - 1])->n_windows > 0 && !best_of(&s->points[i - 1])->sustained) known.failing = s->points[i - 1].load;
  return known;
}

static enum search_end choose(struct saturation_search *s, struct load_asked *ret) {
  double cost;
  size_t split = split_of(s, &cost);
  struct bracket known = known_of(s, split), wanted = {0, 0};
  bool whole = known.passing >= s->to * (1 - tiny) && !(known.failing > 0);
  if (known.passing <= 0 && known.failing > 0 && known.failing < s->from * halvings_least) return SEARCH_NOTHING_SUSTAINED;
  if ((whole || is_narrow(s, &known)) && was_certified(s, &known)) {
    s->passing = known.passing;
    s->failing = known.failing;
    s->turn = turns_of(s);
    struct saturation_point *again = to_repeat(s, split);
    if (again != NULL) {
      s->again = again->load;
      s->again_certify = again->certificate.n_windows > 0;
      s->n_again = s->again_certify ? s->sessions : 1; /* as many as one look of a certificate takes */
      *ret = (struct load_asked){s->again, s->again_certify};
      return SEARCH_GOES_ON;
    }
    s->certified = cost <= 0 && best_of(&s->points[place_of(s, s->passing)])->holds;
    return whole ? SEARCH_NOT_SATURATED : SEARCH_FOUND;
  }
  if (whole || is_narrow(s, &known)) return begin_certificate(s, &known, ret);
  double load = next_by_guess(s, &known, &wanted);
  if (wanted.passing > 0 && !was_certified(s, &wanted)) return begin_certificate(s, &wanted, ret);
  if (!(load > 0)) load = next_between(s, &known);
  if (point_at(s, load) == NULL) return SEARCH_TOO_LONG;
  s->trying = point_at(s, load)->load;
  *ret = (struct load_asked){s->trying, false};
  return SEARCH_GOES_ON;
}

enum search_end saturation_next(struct saturation_search *s, struct load_asked *ret) {
  if (s->n_windows >= SEARCH_WINDOWS_MAX) return SEARCH_TOO_LONG;
  if (s->trying > 0) {
    *ret = (struct load_asked){s->trying, false};
    return SEARCH_GOES_ON;
  }
  if (s->passing > 0 && s->turn < turns_of(s)) return next_of_certificate(s, ret);
  if (s->n_again == 0) return choose(s, ret);
  *ret = (struct load_asked){s->again, s->again_certify};
  return SEARCH_GOES_ON;
}

void saturation_tell(struct saturation_search *s, const struct load_asked *asked, const struct load_seen *seen) {
  struct saturation_point *p = point_at(s, asked->load);
  s->n_windows++;
  if (p == NULL) return; /* it was asked for: it is there */
  *(asked->certify ? &p->certificate : &p->search) = *seen;
  if (s->trying > 0 && (seen->decided || seen->n_windows >= s->looks)) s->trying = 0;
  else if (s->trying <= 0 && asked->certify && s->passing > 0 && s->turn < turns_of(s)) s->turn++;
  else if (s->n_again > 0) s->n_again--;
}

bool saturation_is_last(const struct saturation_search *s, const struct load_asked *asked) {
  return asked->certify && s->turn + 1 >= turns_of(s);
}
