#include "stats/sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "stats/quantile.h"

enum { BATCHES = 20, BATCH_LEAST = 10 };

/* --- values --- */

static void widen(struct sample *s) {
  double *any = xalloc(s->room > 0 ? s->room : 1, sizeof *any);
  for (size_t i = 0; i < s->n; i++) any[i] = sample_at(s, i);
  free(s->whole);
  s->whole = NULL;
  s->any = any;
}

void sample_add(struct sample *s, double value) {
  uint32_t whole = value >= 0 && value < (double)UINT32_MAX ? (uint32_t)value : UINT32_MAX;
  bool fits = whole == UINT32_MAX ? isinf(value) : (double)whole >= value;
  s->sum += value;
  if (s->any == NULL && !fits) widen(s);
  if (s->any != NULL) {
    s->any = xroom(s->any, s->n, &s->room, sizeof *s->any);
    s->any[s->n++] = value;
    return;
  }
  s->whole = xroom(s->whole, s->n, &s->room, sizeof *s->whole);
  s->whole[s->n++] = whole;
}

void sample_release(struct sample *s) {
  free(s->whole);
  free(s->any);
  free(s->batch_sums);
  *s = (struct sample){0};
}

/* --- batches --- */

static int compare_whole(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* By digits of 11 bits, the lowest first; a digit in which all agree costs nothing. */
static void sort_whole(uint32_t *x, size_t n, uint32_t *spare) {
  enum { DIGIT = 11, VALUES = 1 << DIGIT, DIGITS = 3, FEW = 512 };
  if (n < FEW) {
    qsort(x, n, sizeof *x, compare_whole);
    return;
  }
  static const uint32_t mask = VALUES - 1;
  size_t counts[DIGITS][VALUES] = {{0}};
  uint32_t *from = x, *to = spare;
  for (size_t i = 0; i < n; i++)
    for (int d = 0; d < DIGITS; d++) counts[d][x[i] >> (d * DIGIT) & mask]++;
  for (int d = 0; d < DIGITS; d++) {
    size_t at = 0;
    if (counts[d][x[0] >> (d * DIGIT) & mask] == n) continue;
    for (int v = 0; v < VALUES; v++) {
      size_t count = counts[d][v];
      counts[d][v] = at;
      at += count;
    }
    for (size_t i = 0; i < n; i++) to[counts[d][from[i] >> (d * DIGIT) & mask]++] = from[i];
    uint32_t *before = from;
    from = to;
    to = before;
  }
  if (from != x) memcpy(x, from, n * sizeof *x);
}

static size_t batch_begin(const struct sample *s, size_t batch) {
  return batch * s->batch;
}

static size_t batch_end(const struct sample *s, size_t batch) {
  return batch + 1 < s->n_batches ? (batch + 1) * s->batch : s->n;
}

size_t sample_batch_length(const struct sample *s, size_t batch) {
  return batch_end(s, batch) - batch_begin(s, batch);
}

void sample_close(struct sample *s) {
  if (s->batch > 0) return;
  s->batch = s->n / BATCHES > BATCH_LEAST ? s->n / BATCHES : BATCH_LEAST;
  s->n_batches = (s->n + s->batch - 1) / s->batch;
  s->batch_sums = xalloc(s->n_batches + 1, sizeof *s->batch_sums);
  uint32_t *spare = s->any == NULL ? xalloc(s->batch, sizeof *spare) : NULL;
  for (size_t b = 0; b < s->n_batches; b++) {
    size_t begin = batch_begin(s, b), end = batch_end(s, b);
    for (size_t i = begin; i < end; i++) s->batch_sums[b] += sample_at(s, i);
    if (s->any != NULL) quantile_sort(s->any + begin, end - begin);
    else sort_whole(s->whole + begin, end - begin, spare);
  }
  free(spare);
}

/* Of an ascending stretch, how many from its beginning are at most the threshold. */
static size_t up_to(const struct sample *s, size_t begin, size_t end, double threshold) {
  size_t low = begin, high = end;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sample_at(s, middle) <= threshold) low = middle + 1;
    else high = middle;
  }
  return low - begin;
}

size_t sample_up_to(const struct sample *s, size_t batch, double threshold) {
  return up_to(s, batch_begin(s, batch), batch_end(s, batch), threshold);
}

struct sample sample_raised(const struct sample *s, const struct sample_place *places, size_t n, double at_most) {
  struct sample copy = {.n = s->n, .room = s->n, .batch = s->batch, .n_batches = s->n_batches, .sum = s->sum};
  copy.any = xalloc(s->n + 1, sizeof *copy.any);
  copy.batch_sums = xalloc(s->n_batches + 1, sizeof *copy.batch_sums);
  for (size_t i = 0; i < s->n; i++) copy.any[i] = sample_at(s, i);
  memcpy(copy.batch_sums, s->batch_sums, s->n_batches * sizeof *copy.batch_sums);
  for (size_t k = 0; k < n; k++) {
    if (!(places[k].value <= at_most)) continue;
    size_t batch = places[k].place / s->batch, begin = batch_begin(s, batch), end = batch_end(s, batch),
           after = begin + up_to(&copy, begin, end, places[k].value);
    memmove(copy.any + after - 1, copy.any + after, (end - after) * sizeof *copy.any); /* the last of those alike is left out */
    copy.any[end - 1] = INFINITY;
    copy.sum = copy.batch_sums[batch] = INFINITY;
  }
  return copy;
}

/* --- many samples --- */

size_t samples_count(const struct sample *const *samples, size_t n_samples) {
  size_t n = 0;
  for (size_t i = 0; i < n_samples; i++) n += samples[i]->n;
  return n;
}

size_t samples_up_to(const struct sample *const *samples, size_t n_samples, double threshold) {
  size_t n = 0;
  for (size_t i = 0; i < n_samples; i++)
    for (size_t b = 0; b < samples[i]->n_batches; b++) n += sample_up_to(samples[i], b, threshold);
  return n;
}

/* The ascending stretches of all samples, and between which places of each the wanted value still can lie. */
struct run {
  const struct sample *sample;
  size_t begin, low, high, middle;
};

static struct run *runs_of(const struct sample *const *samples, size_t n_samples, size_t *ret_n) {
  size_t n = 0, at = 0;
  for (size_t i = 0; i < n_samples; i++) n += samples[i]->n_batches;
  struct run *runs = xalloc(n + 1, sizeof *runs);
  for (size_t i = 0; i < n_samples; i++)
    for (size_t b = 0; b < samples[i]->n_batches; b++) {
      size_t begin = batch_begin(samples[i], b);
      runs[at++] = (struct run){samples[i], begin, begin, batch_end(samples[i], b), 0};
    }
  *ret_n = n;
  return runs;
}

/* The least key up to which `rank` values lie is that of a value: bisect the keys, and with them the places. */
double samples_ranked(const struct sample *const *samples, size_t n_samples, size_t rank) {
  size_t n_runs;
  struct run *runs = runs_of(samples, n_samples, &n_runs);
  uint64_t low = UINT64_MAX, high = 0;
  for (size_t r = 0; r < n_runs; r++) {
    uint64_t first = quantile_key(sample_at(runs[r].sample, runs[r].low)), last = quantile_key(sample_at(runs[r].sample, runs[r].high - 1));
    low = first < low ? first : low;
    high = last > high ? last : high;
  }
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    double value = quantile_of_key(middle);
    size_t count = 0;
    for (size_t r = 0; r < n_runs; r++) {
      runs[r].middle = runs[r].low + up_to(runs[r].sample, runs[r].low, runs[r].high, value);
      count += runs[r].middle - runs[r].begin;
    }
    for (size_t r = 0; r < n_runs; r++) {
      if (count >= rank) runs[r].high = runs[r].middle;
      else runs[r].low = runs[r].middle;
    }
    if (count >= rank) high = middle;
    else low = middle + 1;
  }
  free(runs);
  return quantile_of_key(low) + 0.0; /* no negative zero */
}

void samples_greatest(const struct sample *const *samples, size_t n_samples, size_t k, double *ret) {
  size_t n = samples_count(samples, n_samples), at = 0, n_runs;
  if (k == 0) return;
  double least = samples_ranked(samples, n_samples, n - k + 1);
  struct run *runs = runs_of(samples, n_samples, &n_runs);
  for (size_t r = 0; r < n_runs; r++)
    for (size_t i = runs[r].high; i > runs[r].low && sample_at(runs[r].sample, i - 1) > least; i--)
      ret[at++] = sample_at(runs[r].sample, i - 1);
  while (at < k) ret[at++] = least; /* as many of those alike as are wanted */
  quantile_sort(ret, k);
  free(runs);
}

double samples_deviation(const struct sample *const *samples, size_t n_samples) {
  size_t n = samples_count(samples, n_samples);
  double sum = 0, squares = 0;
  for (size_t s = 0; s < n_samples; s++) sum += samples[s]->sum;
  if (n < 2 || !isfinite(sum)) return NAN;
  double mean = sum / (double)n;
  for (size_t s = 0; s < n_samples; s++)
    for (size_t i = 0; i < samples[s]->n; i++) {
      double d = sample_at(samples[s], i) - mean;
      squares += d * d;
    }
  return sqrt(squares / (double)(n - 1));
}
