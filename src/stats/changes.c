#include "stats/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "stats/compare.h"
#include "stats/quantile.h"
#include "stats/special.h"

enum {
  ORDERS_MOST = 999,      /* drawn for one test */
  ORDERS_WORK = 2000000,  /* values put in order for one test: longer segments get fewer orders, */
  ORDERS_LEAST = 199,     /* but never fewer */
  BLOCKS_LEAST = 8,       /* in a segment */
  SHIFT_MOST = 200,       /* values on each side of which a shift is taken */
  CORRELATION_LEAST = 10, /* values */
  REFINEMENTS_MOST = 20,
  STRETCH = 16,
  LENGTHS_MOST = 40, /* from CHANGES_VALUES_MAX on, each 1 / sqrt(2) of the one before */
  ROOT_HALF = 46341,
  ROOT_ONE = 65536 /* 1 / sqrt(2), as a fraction */
};
static const double exponent_most = 690;
static const double clip = 4, score_steps = 256; /* of the noise's standard deviations: what lies further off counts as much */
static const double great_change = 3;            /* of the noise's standard deviations */
static const double level_least = 0.2, huber = 2;
static const double rounding = 1 + 1e-9;    /* more than what sums and products of them lose */
static const double normal_median = 1.4826; /* a normal variable's standard deviation, over the median of its distances */
static const double settled_place = 3.676;  /* -ln(1 - √0.95): what a place that fits as well may lack in log-likelihood */

const struct change_plan change_plan_usual = {.false_alarms = 0.05, .least = 4, .settled = 8, .seed = 1};

/* Everything that one search needs; arrays of the series' length. */
struct search {
  const double *x;
  size_t n, block;
  double smallest_p;             /* that the last test could have given */
  bool rough;                    /* few orders are enough */
  size_t orders, orders_for_all; /* as many at least, in the next test; in every test */
  double noise;                  /* standard deviation of the values about their levels; 0: most do not vary */
  const struct change_plan *plan;
  struct random_stream random;
  double *inverse;      /* of 1 ... n */
  double *score;        /* how far from the segment's median, in the order of time: see score_values */
  double *order;        /* the same in another order */
  double *sum;          /* of what was summed last; one more than values */
  double *least, *most; /* of each STRETCH of sums */
  double *sorted;
  size_t *blocks;
  double penalty[LENGTHS_MOST]; /* of intervals of each length, from the segment's on, as they follow one another */
};

struct split {
  size_t at;
  double score;
};

/* --- one scan --- */

static double median_of(struct search *s, const double *x, size_t n) {
  memcpy(s->sorted, x, n * sizeof *x);
  quantile_sort(s->sorted, n);
  return n % 2 == 1 ? s->sorted[n / 2] : (s->sorted[n / 2 - 1] + s->sorted[n / 2]) / 2;
}

/* Whole numbers, so that every order's sums are exact and what is alike stays so. */
static void score_values(struct search *s, size_t begin, size_t end) {
  double median = median_of(s, s->x + begin, end - begin);
  for (size_t i = 0; i < end - begin; i++) {
    double away = s->x[begin + i] - median, z = away == 0 ? 0 : s->noise > 0 ? away / s->noise : away > 0 ? clip : -clip;
    z = z > clip ? clip : z < -clip ? -clip : z;
    s->score[i] = (double)(int64_t)(z * score_steps + (z < 0 ? -0.5 : 0.5));
  }
}

static void sum_up(struct search *s, const double *value, size_t n) {
  s->sum[0] = 0;
  for (size_t i = 0; i < n; i++) s->sum[i + 1] = s->sum[i] + value[i];
  for (size_t b = 0; b * STRETCH <= n; b++) {
    double least = s->sum[b * STRETCH], most = least;
    for (size_t i = b * STRETCH + 1; i < (b + 1) * STRETCH && i <= n; i++) {
      least = s->sum[i] < least ? s->sum[i] : least;
      most = s->sum[i] > most ? s->sum[i] : most;
    }
    s->least[b] = least;
    s->most[b] = most;
  }
}

/* The square of the standardised difference between the two sides of a split, up to the segment's variance. */
static double square_at(const struct search *s, size_t begin, size_t end, size_t at) {
  size_t n = end - begin, left = at - begin;
  double part = s->sum[at] - s->sum[begin] - (double)left * ((s->sum[end] - s->sum[begin]) * s->inverse[n]);
  return part * part * (double)n * (s->inverse[left] * s->inverse[n - left]);
}

/* Nearly all of a search's time is spent here. LANES of them side by side: a processor need not wait for one comparison before the next. */
static double greatest_between(const struct search *s, size_t begin, size_t end, size_t left, size_t last) {
  enum { LANES = 4 };
  double greatest[LANES] = {-1, -1, -1, -1}, slope = (s->sum[end] - s->sum[begin]) * s->inverse[end - begin];
  const double *sum = s->sum + begin, *forth = s->inverse, *back = s->inverse + (end - begin);
  for (; left + LANES - 1 <= last; left += LANES)
    for (size_t k = 0; k < LANES; k++) {
      double part = sum[left + k] - sum[0] - (double)(int64_t)(left + k) * slope,
             square = part * part * (forth[left + k] * *(back - left - k));
      greatest[k] = square > greatest[k] ? square : greatest[k];
    }
  for (; left <= last; left++) {
    double part = sum[left] - sum[0] - (double)(int64_t)left * slope, square = part * part * (forth[left] * *(back - left));
    greatest[0] = square > greatest[0] ? square : greatest[0];
  }
  for (size_t k = 1; k < LANES; k++) greatest[0] = greatest[k] > greatest[0] ? greatest[k] : greatest[0];
  return greatest[0] * (double)(end - begin);
}

/* Between which sums the segment's lie, or somewhat beyond. */
static double range_of(const struct search *s, size_t begin, size_t end) {
  double least = s->least[begin / STRETCH], most = s->most[begin / STRETCH];
  for (size_t b = begin / STRETCH + 1; b * STRETCH <= end; b++) {
    least = s->least[b] < least ? s->least[b] : least;
    most = s->most[b] > most ? s->most[b] : most;
  }
  return most - least;
}

/* How near to an end of the segment a split must be for a square beyond the bound: elsewhere even a difference as great as the sums' whole
 * range is too little. Half of the segment: anywhere. 0: there is none. */
static size_t nearest_of(const struct search *s, size_t begin, size_t end, size_t least, double bound) {
  double n = (double)(end - begin), range = range_of(s, begin, end) * rounding, most = range * range * n;
  if (most < bound * ((double)least * (n - (double)least))) return 0; /* seen without a division for nearly all short ones */
  double apart = n * n - 4 * most / bound;
  return bound > 0 && apart > 0 ? (size_t)((n - sqrt(apart)) / 2) + 1 : (end - begin) / 2;
}

/* The greatest one of all splits, if it is beyond the bound; else something that is not. */
static double greatest_square(const struct search *s, size_t begin, size_t end, size_t least, double bound) {
  size_t n = end - begin, near = nearest_of(s, begin, end, least, bound), last = n - least;
  if (near == 0) return -1;
  if (near >= n / 2) return greatest_between(s, begin, end, least, last);
  double first = near >= least ? greatest_between(s, begin, end, least, near) : -1,
         second = n - near <= last ? greatest_between(s, begin, end, n - near, last) : -1;
  return first > second ? first : second;
}

static size_t place_of(const struct search *s, size_t begin, size_t end, size_t least) {
  size_t best = begin + least;
  double greatest = -1;
  for (size_t at = begin + least; at <= end - least; at++) {
    double square = square_at(s, begin, end, at);
    if (square > greatest) greatest = square, best = at;
  }
  return best;
}

/* The same of an interval against all else, where both its ends are far enough from the segment's. */
static double bump_square(const struct search *s, size_t n, size_t begin, size_t length) {
  double part = s->sum[begin + length] - s->sum[begin] - (double)length * s->sum[n] * s->inverse[n];
  return part * part * (double)n * (s->inverse[length] * s->inverse[n - length]);
}

/* The greatest one of intervals of that length which begin a step apart, from least on; -1: there are none. */
static double greatest_bump(const struct search *s, size_t n, size_t length, size_t step, size_t least) {
  enum { LANES = 4 };
  double low[LANES] = {0}, high[LANES] = {0}, part, mean = (double)length * s->sum[n] * s->inverse[n];
  if (n - length < 2 * least) return -1;
  size_t begin = least, last = n - length - least;
  for (size_t k = 0; k < LANES; k++) low[k] = high[k] = s->sum[least + length] - s->sum[least];
  for (; begin + (LANES - 1) * step <= last; begin += LANES * step)
    for (size_t k = 0; k < LANES; k++) {
      part = s->sum[begin + k * step + length] - s->sum[begin + k * step];
      low[k] = part < low[k] ? part : low[k];
      high[k] = part > high[k] ? part : high[k];
    }
  for (; begin <= last; begin += step) {
    part = s->sum[begin + length] - s->sum[begin];
    low[0] = part < low[0] ? part : low[0];
    high[0] = part > high[0] ? part : high[0];
  }
  for (size_t k = 1; k < LANES; k++) low[0] = low[k] < low[0] ? low[k] : low[0], high[0] = high[k] > high[0] ? high[k] : high[0];
  low[0] -= mean, high[0] -= mean;
  double far = -low[0] > high[0] ? low[0] : high[0];
  return far * far * (double)n * (s->inverse[length] * s->inverse[n - length]);
}

/* What a square must pass for a score beyond that: nearly all are told apart without their root. */
static double bound_of(double variance, double score) {
  static const double slack = 1 - 1e-9; /* the score itself decides what comes near */
  return score > 0 ? variance * score * score * slack : -1;
}

static size_t shorter(size_t length) {
  return length * ROOT_HALF / ROOT_ONE;
}

/* They are the same in every order of n values. */
static void penalise_lengths(struct search *s, size_t n) {
  size_t k = 0;
  for (size_t l = n; l >= s->plan->least && k < LENGTHS_MOST; l = shorter(l))
    s->penalty[k++] = sqrt(special_log((double)n / (double)l) / 2);
}

/* Over n summed values of that variance: splits of the whole, of intervals in it (each half over the next), and intervals that differ from
 * all else (each an eighth further). Those of a score beyond that; whole: of the whole alone; place: the best one's, too. */
static struct split scan(const struct search *s, size_t n, double variance, bool whole, bool place, double beyond) {
  size_t least = s->plan->least, begin_best = 0, end_best = n;
  struct split best = {0, beyond};
  const double *next_penalty = s->penalty;
  for (size_t l = n; l >= least; l = shorter(l)) {
    size_t step = l / 2, bump_step = l / 8 > 0 ? l / 8 : 1;
    double penalty = *next_penalty++, bound = bound_of(variance, best.score + penalty);
    for (size_t begin = 0; l >= 2 * least; begin = begin + step < n - l ? begin + step : n - l) {
      double square = greatest_square(s, begin, begin + l, least, bound);
      double score = square > bound ? sqrt(square / variance) - penalty : -INFINITY;
      if (score > best.score) {
        best = (struct split){0, score}, begin_best = begin, end_best = begin + l;
        bound = bound_of(variance, score + penalty);
      }
      if (begin == n - l) break;
    }
    if (whole) break;
    if (greatest_bump(s, n, l, bump_step, least) <= bound) continue;
    for (size_t begin = least; n - l >= least && begin <= n - l - least; begin += bump_step) {
      double square = bump_square(s, n, begin, l);
      double score = square > bound ? sqrt(square / variance) - penalty : -INFINITY;
      if (score > best.score) {
        best = (struct split){begin, score};
        bound = bound_of(variance, score + penalty);
      }
    }
  }
  if (place && best.at == 0) best.at = place_of(s, begin_best, end_best, least);
  return best;
}

/* --- is it more than chance? --- */

static void draw_order(struct search *s, size_t n) {
  size_t block = s->block < n / BLOCKS_LEAST ? s->block : n / BLOCKS_LEAST;
  if (block < 1) block = 1;
  size_t n_blocks = (n + block - 1) / block, turned = block > 1 ? (size_t)random_below(&s->random, n) : 0, k = 0;
  random_order(&s->random, s->blocks, n_blocks);
  for (size_t b = 0; b < n_blocks; b++)
    for (size_t i = s->blocks[b] * block; i < (s->blocks[b] + 1) * block && i < n; i++)
      s->order[k++] = s->score[i + turned < n ? i + turned : i + turned - n];
}

/* What a test of n values may err by: the parts of a series share the error of all of it, but for the least. */
static double level_of(const struct search *s, size_t n) {
  double share = (double)n / (double)s->n;
  return s->plan->false_alarms * (share > level_least ? share : level_least);
}

/* The share of random orders that show as much; no more are drawn once it is certain that these are too many. */
static double chance(struct search *s, size_t n, double variance, double score, bool whole) {
  lynx_assert(n > 0);
  size_t orders = ORDERS_WORK / n, more = 0, drawn = 0, wanted = s->orders > s->orders_for_all ? s->orders : s->orders_for_all;
  double level = level_of(s, n), just_below = nextafter(score, -INFINITY);
  if (orders > ORDERS_MOST) orders = ORDERS_MOST;
  if (orders < ORDERS_LEAST) orders = ORDERS_LEAST;
  if (orders < wanted || s->rough) orders = s->rough ? ORDERS_LEAST : wanted;
  while (drawn < orders && (double)(more + 1) <= level * (double)(orders + 1)) {
    draw_order(s, n);
    sum_up(s, s->order, n);
    more += scan(s, n, variance, whole, false, just_below).score >= score;
    drawn++;
  }
  s->smallest_p = 1 / (double)(drawn + 1);
  return (double)(more + 1) / (double)(drawn + 1);
}

/* Searches x[begin ... end); true if there is a change. */
static bool find_split(struct search *s, size_t begin, size_t end, bool whole, size_t *ret_at, double *ret_p) {
  size_t n = end - begin;
  double variance = 0;
  *ret_p = 1;
  *ret_at = begin;
  if (n < 2 * s->plan->least) return false;
  score_values(s, begin, end);
  sum_up(s, s->score, n);
  double mean = s->sum[n] / (double)n;
  for (size_t i = 0; i < n; i++) variance += (s->score[i] - mean) * (s->score[i] - mean) / (double)n;
  if (variance <= 0) return false; /* all are alike */
  penalise_lengths(s, n);
  struct split best = scan(s, n, variance, whole, true, -INFINITY);
  *ret_at = begin + best.at;
  *ret_p = chance(s, n, variance, best.score, whole);
  return *ret_p <= level_of(s, n);
}

/* --- the way through a series --- */

static int by_place(const void *a, const void *b) {
  size_t x = ((const struct change *)a)->at, y = ((const struct change *)b)->at;
  return (x > y) - (x < y);
}

static void divide(struct search *s, struct changes *ret) {
  struct {
    size_t begin, end;
  } open[CHANGES_MAX + 1] = {{0, s->n}};
  for (size_t n_open = 1; n_open > 0 && ret->n_items < CHANGES_MAX;) {
    size_t begin = open[n_open - 1].begin, end = open[n_open - 1].end, at;
    double p;
    bool whole_series = end - begin == s->n, found = find_split(s, begin, end, false, &at, &p);
    s->orders = 0; /* more of them are for the first test alone */
    n_open--;
    if (whole_series) ret->p = p, ret->none_showed_it = found && p <= s->smallest_p;
    if (!found) continue;
    ret->items[ret->n_items++] = (struct change){.at = at};
    open[n_open].begin = begin, open[n_open++].end = at; /* at most one more is open than changes are found */
    open[n_open].begin = at, open[n_open++].end = end;
  }
  qsort(ret->items, ret->n_items, sizeof *ret->items, by_place);
}

static size_t left_of(const struct changes *c, size_t i) {
  return i > 0 ? c->items[i - 1].at : 0;
}

static size_t right_of(const struct search *s, const struct changes *c, size_t i) {
  return i + 1 < c->n_items ? c->items[i + 1].at : s->n;
}

/* Tests and moves every change whose neighbours moved. p < 0: to be tested. */
static void refine(struct search *s, struct changes *c) {
  for (int round = 0; round < REFINEMENTS_MOST; round++) {
    bool moved = false;
    for (size_t i = 0; i < c->n_items; i++) {
      struct change *change = &c->items[i];
      size_t at;
      if (change->p >= 0) continue;
      bool holds = find_split(s, left_of(c, i), right_of(s, c, i), true, &at, &change->p);
      if (at == change->at || !holds) continue;
      change->at = at;
      moved = true;
      if (i > 0) c->items[i - 1].p = -1;
      if (i + 1 < c->n_items) c->items[i + 1].p = -1;
    }
    if (!moved) return;
  }
  for (size_t i = 0; i < c->n_items; i++)
    if (c->items[i].p < 0) c->items[i].p = level_of(s, right_of(s, c, i) - left_of(c, i)); /* two places in turn: both were found */
}

/* By how much its test fails, as a factor of what it may err by; at most 1: it holds. */
static double weakness(const struct search *s, const struct changes *c, size_t i) {
  return c->items[i].p / level_of(s, right_of(s, c, i) - left_of(c, i));
}

static void drop_weak(struct search *s, struct changes *c) {
  for (size_t i = 0; i < c->n_items; i++) c->items[i].p = -1;
  for (refine(s, c); c->n_items > 0; refine(s, c)) {
    size_t weakest = 0;
    for (size_t i = 1; i < c->n_items; i++)
      if (weakness(s, c, i) > weakness(s, c, weakest)) weakest = i;
    if (weakness(s, c, weakest) <= 1) return;
    memmove(&c->items[weakest], &c->items[weakest + 1], (c->n_items - weakest - 1) * sizeof *c->items);
    c->n_items--;
    if (weakest > 0) c->items[weakest - 1].p = -1;
    if (weakest < c->n_items) c->items[weakest].p = -1;
  }
}

/* --- what each one is --- */

/* Of a normal variable's squares, the mean of the smaller four fifths: 1 - 2 z φ(z) / 0.8 at z = 1.2816, times its variance. */
static const double smaller_share = 0.4377;

static double mean_square_of_smaller(double *d, size_t n) {
  double sum = 0;
  size_t kept = n - n / 5;
  quantile_sort(d, n);
  for (size_t i = 0; i < kept; i++) sum += d[i] * d[i] / (double)kept;
  return sum;
}

/* Does a change lie between two values? */
static bool is_crossed(const struct changes *c, size_t *hint, size_t from, size_t to) {
  while (*hint < c->n_items && c->items[*hint].at <= from) (*hint)++;
  return *hint < c->n_items && c->items[*hint].at <= to;
}

/* Differences at lag 2 are greater than those at lag 1 by the factor 1 + correlation, in the mean of squares; those at lag 1 are twice the
 * noise's variance, less the correlation. Those across a change that was seen are left out, and so is the greatest fifth of the others,
 * in which further steps lie. */
static void judge_noise(struct search *s, const struct changes *seen, double *ret_correlation) {
  double square[2] = {0};
  *ret_correlation = 0;
  for (size_t lag = 1; lag <= 2; lag++) {
    size_t n = 0, hint = 0;
    for (size_t i = 0; i + lag < s->n; i++)
      if (!is_crossed(seen, &hint, i, i + lag)) s->order[n++] = fabs(s->x[i + lag] - s->x[i]);
    if (n > 0) square[lag - 1] = mean_square_of_smaller(s->order, n);
  }
  if (s->n >= CORRELATION_LEAST && square[0] > 0)
    *ret_correlation = (square[1] / square[0] - 1) * (double)s->n / (double)(s->n + CORRELATION_LEAST); /* few values show little */
  if (*ret_correlation < 0) *ret_correlation = 0;
  if (*ret_correlation > 0.95) *ret_correlation = 0.95;
  s->noise = sqrt(square[0] / smaller_share / 2 / (1 - *ret_correlation));
  if (!isfinite(s->noise)) s->noise = 0;
}

/* Of changes those that no correlation of the noise makes. */
static void keep_great(struct search *s, struct changes *c) {
  size_t n = 0, begin = 0;
  for (size_t i = 0; i < c->n_items; i++) {
    size_t at = c->items[i].at, end = i + 1 < c->n_items ? c->items[i + 1].at : s->n;
    double before = median_of(s, s->x + begin, at - begin), after = median_of(s, s->x + at, end - at);
    begin = at;
    if (fabs(after - before) > great_change * s->noise) c->items[n++] = c->items[i];
  }
  c->n_items = n;
}

/* The length that is best for the variance of a mean (Carlstein 1986). */
static size_t block_length(double correlation, size_t n) {
  if (correlation <= 0) return 1;
  double ratio = 2 * correlation / (1 - correlation * correlation);
  double length = special_exp((2 * special_log(ratio) + special_log((double)n)) / 3) + 0.5;
  return length < 1 ? 1 : (size_t)length;
}

/* Huber's: what lies far off counts, but not by its square. */
static double distance(double z) {
  double size = fabs(z);
  return size <= huber ? size * size : huber * (2 * size - huber);
}

/* Places that explain the values nearly as well, with both levels and the noise about them as they are. */
static void bound_place(struct search *s, size_t begin, size_t end, double inflation, struct change *change) {
  size_t n = end - begin, least = s->plan->least;
  const double *x = s->x + begin;
  double before = median_of(s, x, change->at - begin), after = median_of(s, s->x + change->at, end - change->at), lacks = 0, mean = 0,
         square = 0;
  for (size_t i = 0; i < n; i++) {
    s->order[i] = fabs(x[i] - (begin + i < change->at ? before : after));
    mean += s->order[i] / (double)n;
  }
  for (size_t i = 0; i < n; i++) {
    double size = s->order[i] < 2 * huber * mean ? s->order[i] : 2 * huber * mean; /* what lies further off says no more */
    square += size * size / (double)n;
  }
  double median = normal_median * median_of(s, s->order, n), spread = sqrt(square) > median ? sqrt(square) : median;
  change->first = change->last = change->at;
  if (spread <= 0) return;
  for (size_t i = change->at; i-- > begin + least;) { /* x[i] is of the new level, too */
    lacks += distance((s->x[i] - after) / spread) - distance((s->x[i] - before) / spread);
    if (lacks <= 2 * settled_place * inflation) change->first = i;
  }
  lacks = 0;
  for (size_t i = change->at; i + least < end; i++) { /* x[i] is of the old one, too */
    lacks += distance((s->x[i] - before) / spread) - distance((s->x[i] - after) / spread);
    if (lacks <= 2 * settled_place * inflation) change->last = i + 1;
  }
}

static double ratio_of(double ln) {
  return special_exp(ln > exponent_most ? exponent_most : ln < -exponent_most ? -exponent_most : ln);
}

/* Of values that are surely of one side: where the change lies was chosen because it shows most there. */
static void measure_size(struct search *s, size_t begin, size_t end, double inflation, struct change *change) {
  size_t least = s->plan->least, last = change->first - begin >= least ? change->first : change->at,
         first = end - change->last >= least ? change->last : change->at, n_before = last - begin < SHIFT_MOST ? last - begin : SHIFT_MOST,
         n_after = end - first < SHIFT_MOST ? end - first : SHIFT_MOST;
  const double *before = s->x + last - n_before, *after = s->x + first;
  double *b = s->order, *a = s->score, wider = sqrt(inflation); /* which are free by now */
  change->before = median_of(s, before, n_before);
  change->after = median_of(s, after, n_after);
  change->ratio = true;
  for (size_t i = 0; i < n_before; i++) change->ratio = change->ratio && before[i] > 0;
  for (size_t i = 0; i < n_after; i++) change->ratio = change->ratio && after[i] > 0;
  for (size_t i = 0; i < n_before; i++) b[i] = change->ratio ? special_log(before[i]) : before[i];
  for (size_t i = 0; i < n_after; i++) a[i] = change->ratio ? special_log(after[i]) : after[i];
  struct shift shift = compare_shift(a, n_after, b, n_before, 0.95);
  double low = shift.estimate - (shift.estimate - shift.low) * wider, high = shift.estimate + (shift.high - shift.estimate) * wider;
  change->size = change->ratio ? ratio_of(shift.estimate) : shift.estimate;
  change->low = change->ratio ? ratio_of(low) : low;
  change->high = change->ratio ? ratio_of(high) : high;
  change->bounded = shift.bounded;
}

void changes_find(const double *x, size_t n, const struct change_plan *plan, struct arena *arena, struct changes *ret) {
  struct change items[CHANGES_MAX] = {{.at = 0}};
  lynx_assert(plan->least >= 2 && n <= CHANGES_VALUES_MAX);
  *ret = (struct changes){.p = 1, .block = 1};
  if (n < 2 * plan->least) return;
  ret->items = items;
  double *room = xalloc(5 * n + 2 + 2 * (n / STRETCH + 1), sizeof *room);
  struct search s = {.x = x,
                     .n = n,
                     .plan = plan,
                     .inverse = room,
                     .score = room + n + 1,
                     .order = room + 2 * n + 1,
                     .sorted = room + 3 * n + 1,
                     .sum = room + 4 * n + 1,
                     .least = room + 5 * n + 2,
                     .most = room + 5 * n + 2 + n / STRETCH + 1};
  s.blocks = xalloc(n, sizeof *s.blocks);
  for (size_t i = 1; i <= n; i++) s.inverse[i] = 1 / (double)i;
  random_init(&s.random, plan->seed, "changes");
  judge_noise(&s, ret, &ret->correlation);
  s.block = 1;
  s.rough = true;
  divide(&s, ret); /* as if the values were independent: steps must not be taken for correlation */
  keep_great(&s, ret);
  judge_noise(&s, ret, &ret->correlation);
  const double correlation = plan->independent ? 0 : ret->correlation;
  ret->block = s.block = block_length(correlation, n);
  s.rough = false;
  s.orders = plan->orders;
  s.orders_for_all = (size_t)(2 / (plan->false_alarms * level_least));
  ret->n_items = 0;
  divide(&s, ret);
  drop_weak(&s, ret);
  double inflation = (1 + correlation) / (1 - correlation);
  for (size_t i = 0; i < ret->n_items; i++) {
    size_t begin = left_of(ret, i), end = right_of(&s, ret, i);
    bound_place(&s, begin, end, inflation, &ret->items[i]);
    measure_size(&s, begin, end, inflation, &ret->items[i]);
    ret->items[i].provisional = n - ret->items[i].at < plan->settled;
  }
  ret->items = arena_alloc(arena, ret->n_items + 1, sizeof *ret->items);
  memcpy(ret->items, items, ret->n_items * sizeof *items);
  free(s.blocks);
  free(room);
}

double changes_discovery(const double *p, size_t m, double rate) {
  double threshold = 0, *sorted = xalloc(m + 1, sizeof *sorted);
  if (m > 0) memcpy(sorted, p, m * sizeof *p);
  quantile_sort(sorted, m);
  for (size_t i = 0; i < m; i++)
    if (sorted[i] <= rate * (double)(i + 1) / (double)m) threshold = sorted[i];
  free(sorted);
  return threshold;
}
