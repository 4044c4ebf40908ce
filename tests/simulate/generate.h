/* tests/simulate/generate.h: series and queues whose true figures are known, to hold `stats` against. Shares no code with it: own
 * random numbers (PCG32, O'Neill 2014), libm for everything else. generate_check holds each of them against its closed form. */
#ifndef TESTS_SIMULATE_GENERATE_H
#define TESTS_SIMULATE_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct generator {
  uint64_t state;
};

void generator_seed(struct generator *g, uint64_t seed);
double generate_uniform(struct generator *g); /* in (0, 1) */
double generate_normal(struct generator *g);
double generate_exponential(struct generator *g); /* mean 1 */

/* Stationary series of one session. */
enum series_kind {
  SERIES_NORMAL,
  SERIES_AR50,
  SERIES_AR90,
  SERIES_AR95,
  SERIES_LOGNORMAL,
  SERIES_PARETO25,
  SERIES_BIMODAL,
  SERIES_SESSIONS,
  SERIES_SESSIONS_AR90,
  SERIES_SESSIONS_HALF,
  SERIES_SESSIONS_WIDE,
  SERIES_COUNT
};
const char *series_name(enum series_kind kind);
void generate_series(struct generator *g, enum series_kind kind, double *x, size_t n);
double series_mean(enum series_kind kind);
double series_quantile(enum series_kind kind, double p);

/* Series of 100 bins with a known course: level 1 (at the end), 4 % of autocorrelated noise. */
enum course {
  COURSE_FLAT,
  COURSE_STEP,
  COURSE_DECAY,
  COURSE_RISING,
  COURSE_FALLING,
  COURSE_CYCLIC,
  COURSE_ERRATIC,
  COURSE_LATE_CHANGE,
  COURSE_COUNT
};
const char *course_name(enum course course);
void generate_course(struct generator *g, enum course course, double *x, size_t n);

/* Queues in virtual time, in mean service times. changes[parts]: arrivals minus departures in each equal part of the window. */
struct queue {
  int servers; /* M/M/c */
  int batch;   /* > 0: instead, one server that takes up to so many at once */
  bool fixed;  /* the batch takes exactly 1; else an exponential time of mean 1 */
};
double queue_capacity(const struct queue *queue);
/* Runs n_warm arrivals, then a window in which n are expected; the mean number in the system, and time in it, over the window. */
struct queue_window {
  double n_arrivals, n_departures, mean_in_system, mean_time;
  long left; /* in the system at its end */
};
struct queue_window queue_run(struct generator *g, const struct queue *queue, double rate, size_t n_warm, size_t n, double *changes,
                              size_t parts);

/* The number of closed forms that the generators do not meet within 5 standard errors; each is printed. */
int generate_check(void);

#endif
