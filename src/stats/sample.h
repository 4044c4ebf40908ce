/* stats/sample.h: the values of one session, many of them in little memory, of which every order statistic is a search.
 *
 * Shapes   values are added in time order; closing cuts them into batches of consecutive values (20 to a session, of at least 10
 *          values; the last one may be shorter) and sorts each. What follows needs closed samples
 * Units    whatever the values have. Whole numbers from 0 to 4,294,967,294, and infinity, take 4 bytes each (4.29 s in ns); the first
 *          value that is none of these makes the sample take 8 bytes each
 * Result   exact: the same values as from one sorted array of all of them
 * Limits   no NaN */
#ifndef STATS_SAMPLE_H
#define STATS_SAMPLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample {
  uint32_t *whole; /* UINT32_MAX is infinity */
  double *any;     /* in place of them */
  size_t n, room;
  double sum;   /* in time order */
  size_t batch; /* values in a batch, the last one apart; 0 until closed */
  size_t n_batches;
  double *batch_sums; /* each in time order */
};

void sample_add(struct sample *sample, double value);
void sample_close(struct sample *sample);
void sample_release(struct sample *sample);

static inline double sample_at(const struct sample *s, size_t i) {
  if (s->any != NULL) return s->any[i];
  return s->whole[i] == UINT32_MAX ? INFINITY : (double)s->whole[i];
}

size_t sample_batch_length(const struct sample *sample, size_t batch);

/* How many values of a batch are at most `threshold`. */
size_t sample_up_to(const struct sample *sample, size_t batch, double threshold);

/* A value, and where it was added. */
struct sample_place {
  size_t place;
  double value;
};

/* A closed copy in which those of the given values that are at most `at_most` are infinite. */
struct sample sample_raised(const struct sample *sample, const struct sample_place *places, size_t n, double at_most);

size_t samples_count(const struct sample *const *samples, size_t n_samples);

/* How many of all values are at most `threshold`. */
size_t samples_up_to(const struct sample *const *samples, size_t n_samples, double threshold);

/* The value of that rank, from 1 to the count, among all values. */
double samples_ranked(const struct sample *const *samples, size_t n_samples, size_t rank);

/* The greatest k of all values, ascending, in ret[k]. */
void samples_greatest(const struct sample *const *samples, size_t n_samples, size_t k, double *ret);

/* About the mean, with n - 1 in the denominator; NaN for fewer than two values, or where one is infinite. */
double samples_deviation(const struct sample *const *samples, size_t n_samples);

#endif
