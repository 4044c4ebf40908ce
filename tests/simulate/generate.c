#include "tests/simulate/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void generator_seed(struct generator *g, uint64_t seed) {
  g->state = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
  for (int i = 0; i < 4; i++) (void)generate_uniform(g);
}

static uint32_t next(struct generator *g) {
  uint64_t old = g->state;
  g->state = old * 6364136223846793005u + 1442695040888963407u;
  uint32_t mixed = (uint32_t)(((old >> 18) ^ old) >> 27), turn = (uint32_t)(old >> 59);
  return mixed >> turn | mixed << (-turn & 31);
}

double generate_uniform(struct generator *g) {
  uint64_t high = next(g), low = next(g);
  return ((double)(high << 21 | low >> 11) + 0.5) * 0x1p-53;
}

double generate_normal(struct generator *g) { /* Box and Muller */
  return sqrt(-2 * log(generate_uniform(g))) * cos(6.283185307179586 * generate_uniform(g));
}

double generate_exponential(struct generator *g) {
  return -log(generate_uniform(g));
}

/* --- stationary series --- */

static const struct {
  const char *name;
  double rho, between; /* between: the standard deviation of sessions, in that within them */
} kinds[SERIES_COUNT] = {[SERIES_NORMAL] = {"independent normal", 0, 0},
                         [SERIES_AR50] = {"AR(1) 0.50", 0.5, 0},
                         [SERIES_AR90] = {"AR(1) 0.90", 0.9, 0},
                         [SERIES_AR95] = {"AR(1) 0.95", 0.95, 0},
                         [SERIES_LOGNORMAL] = {"lognormal, sigma 1", 0, 0},
                         [SERIES_PARETO25] = {"Pareto, index 2.5", 0, 0},
                         [SERIES_BIMODAL] = {"bimodal", 0, 0},
                         [SERIES_SESSIONS] = {"sessions differ by 0.2", 0, 0.2},
                         [SERIES_SESSIONS_AR90] = {"AR(1) 0.90 and sessions by 0.2", 0.9, 0.2},
                         [SERIES_SESSIONS_HALF] = {"sessions differ by 0.5", 0, 0.5},
                         [SERIES_SESSIONS_WIDE] = {"sessions differ by 1", 0, 1}};

const char *series_name(enum series_kind kind) {
  return kinds[kind].name;
}

static double normal_cdf(double z) {
  return erfc(-z / sqrt(2)) / 2;
}

static double bimodal_cdf(double x) {
  return 0.7 * normal_cdf((x - 1) / 0.05) + 0.3 * normal_cdf((x - 3) / 0.2);
}

static double inverse(double (*cdf)(double), double p, double low, double high) {
  for (int i = 0; i < 200; i++) {
    double middle = (low + high) / 2;
    if (cdf(middle) < p) low = middle;
    else high = middle;
  }
  return low;
}

void generate_series(struct generator *g, enum series_kind kind, double *x, size_t n) {
  double rho = kinds[kind].rho, level = 10 + kinds[kind].between * generate_normal(g), now = generate_normal(g);
  for (size_t i = 0; i < n; i++) switch (kind) {
      case SERIES_LOGNORMAL: x[i] = exp(generate_normal(g)); break;
      case SERIES_PARETO25: x[i] = pow(generate_uniform(g), -1 / 2.5); break;
      case SERIES_BIMODAL: x[i] = generate_uniform(g) < 0.7 ? 1 + 0.05 * generate_normal(g) : 3 + 0.2 * generate_normal(g); break;
      default: x[i] = level + now; now = rho * now + sqrt(1 - rho * rho) * generate_normal(g);
    }
}

double series_mean(enum series_kind kind) {
  return kind == SERIES_LOGNORMAL ? exp(0.5) : kind == SERIES_PARETO25 ? 2.5 / 1.5 : kind == SERIES_BIMODAL ? 0.7 * 1 + 0.3 * 3 : 10;
}

double series_quantile(enum series_kind kind, double p) {
  double z = inverse(normal_cdf, p, -40, 40);
  if (kind == SERIES_LOGNORMAL) return exp(z);
  if (kind == SERIES_PARETO25) return pow(1 - p, -1 / 2.5);
  if (kind == SERIES_BIMODAL) return inverse(bimodal_cdf, p, 0, 10);
  return 10 + z * sqrt(1 + kinds[kind].between * kinds[kind].between);
}

/* --- courses --- */

const char *course_name(enum course course) {
  static const char *const names[] = {"flat",   "a step, then flat", "a decay, then flat",   "rising to the end", "falling to the end",
                                      "cyclic", "erratic",           "a change near the end"};
  return names[course];
}

void generate_course(struct generator *g, enum course course, double *x, size_t n) {
  double noise = generate_normal(g), size = 0.3 + 0.7 * generate_uniform(g), length = (double)n;
  double change = length * (0.1 + 0.25 * generate_uniform(g)), period = 8 + 14 * generate_uniform(g), phase = 6.28 * generate_uniform(g);
  double level = 1, left = 0;
  bool up = generate_uniform(g) < 0.5;
  for (size_t i = 0; i < n; i++) {
    double t = (double)i, y = 1;
    switch (course) {
      case COURSE_STEP: y = t < change ? 1 + size : 1; break;
      case COURSE_DECAY: y = 1 + size * exp(-t / (change / 4)); break;
      case COURSE_RISING: y = 1 - size * 0.6 * (length - t) / length; break;
      case COURSE_FALLING: y = 1 + size * (length - t) / length; break;
      case COURSE_CYCLIC: y = 1 + (0.15 + size / 4) * sin(6.283185307 * t / period + phase); break;
      case COURSE_ERRATIC:
        if (left-- <= 0) {
          double before = level;
          while (fabs(level - before) < 0.25) level = 0.6 + 1.1 * generate_uniform(g);
          left = 5 + 25 * generate_uniform(g);
        }
        y = level;
        break;
      case COURSE_LATE_CHANGE: y = t > length - change ? (up ? 1 + size : 1 / (1 + size)) : 1; break;
      default: break;
    }
    noise = 0.3 * noise + sqrt(1 - 0.09) * generate_normal(g);
    x[i] = y * (1 + 0.04 * noise);
  }
}

/* --- queues --- */

double queue_capacity(const struct queue *queue) {
  return queue->batch > 0 ? queue->batch : queue->servers;
}

struct queue_window queue_run(struct generator *g, const struct queue *queue, double rate, size_t n_warm, size_t n, double *changes,
                              size_t parts) {
  struct queue_window w = {0};
  double now = 0, next_arrival = generate_exponential(g) / rate, next_service = INFINITY, from = (double)n_warm / rate,
         length = (double)n / rate, area = 0;
  long in_system = 0, in_batch = 0;
  for (size_t i = 0; i < parts; i++) changes[i] = 0;
  for (;;) {
    bool arrives = next_arrival <= next_service;
    double at = arrives ? next_arrival : next_service;
    if (at >= from) {
      double begin = now > from ? now : from, end = at < from + length ? at : from + length;
      if (end > begin) area += (double)in_system * (end - begin);
    }
    now = at;
    if (now >= from + length) break;
    size_t part = now >= from ? (size_t)((now - from) / length * (double)parts) : 0;
    long gone = 0;
    if (arrives) {
      in_system++;
      next_arrival = now + generate_exponential(g) / rate;
    } else gone = queue->batch > 0 ? in_batch : 1;
    in_system -= gone;
    if (now >= from) {
      changes[part] += arrives ? 1 : -(double)gone;
      w.n_arrivals += arrives;
      w.n_departures += (double)gone;
    }
    if (queue->batch > 0) { /* the next batch begins when the last has ended, with what is there */
      if (!arrives) in_batch = 0, next_service = INFINITY;
      if (in_batch == 0 && in_system > 0) {
        in_batch = in_system < queue->batch ? in_system : queue->batch;
        next_service = now + (queue->fixed ? 1 : generate_exponential(g));
      }
    } else { /* exponential services: without memory, so the next end may be drawn anew */
      long busy = in_system < queue->servers ? in_system : queue->servers;
      next_service = busy > 0 ? now + generate_exponential(g) / (double)busy : INFINITY;
    }
  }
  w.left = in_system;
  w.mean_in_system = area / length;
  w.mean_time = w.n_arrivals > 0 ? area / w.n_arrivals : 0;
  return w;
}

/* --- the generators against closed forms --- */

static int n_wrong;

static void hold(const char *what, double found, double wanted, double error) {
  bool good = fabs(found - wanted) <= 5 * error;
  (void)printf("  %-58s %12.6g  closed form %12.6g  %s\n", what, found, wanted, good ? "ok" : "WRONG");
  n_wrong += !good;
}

int generate_check(void) {
  enum { SESSIONS = 400, EACH = 2000, N = SESSIONS * EACH };
  struct generator g;
  static double x[EACH];
  char what[120];
  n_wrong = 0;
  (void)printf("The generators against closed forms\n");
  for (int kind = 0; kind < SERIES_COUNT; kind++) {
    double q90 = series_quantile((enum series_kind)kind, 0.9), q999 = series_quantile((enum series_kind)kind, 0.999), s[3] = {0},
           s2[3] = {0}, lag = 0, square = 0;
    generator_seed(&g, 1000 + (uint64_t)kind);
    for (int k = 0; k < SESSIONS; k++) {
      double y[3] = {0};
      generate_series(&g, (enum series_kind)kind, x, EACH);
      for (int i = 0; i < EACH; i++) {
        y[0] += x[i] / EACH, y[1] += (x[i] <= q90) / (double)EACH, y[2] += (x[i] <= q999) / (double)EACH;
        square += (x[i] - 10) * (x[i] - 10) / N;
        if (i > 0) lag += (x[i] - 10) * (x[i - 1] - 10) / N;
      }
      for (int j = 0; j < 3; j++) s[j] += y[j] / SESSIONS, s2[j] += y[j] * y[j] / SESSIONS;
    }
    const double wanted[] = {series_mean((enum series_kind)kind), 0.9, 0.999};
    const char *const names[] = {"mean", "P(X <= p90)", "P(X <= p99.9)"};
    for (int j = 0; j < 3; j++) {
      (void)snprintf(what, sizeof what, "%s: %s", kinds[kind].name, names[j]);
      hold(what, s[j], wanted[j], sqrt((s2[j] - s[j] * s[j]) / SESSIONS));
    }
    if (kinds[kind].rho > 0 && kinds[kind].between == 0) {
      (void)snprintf(what, sizeof what, "%s: lag-1 autocorrelation", kinds[kind].name);
      hold(what, lag / square, kinds[kind].rho, sqrt((1 - kinds[kind].rho * kinds[kind].rho) / N) + 1.0 / EACH);
    }
  }
  double changes[20], mean[40], sum = 0, squares = 0;
  generator_seed(&g, 5);
  for (int k = 0; k < 40; k++) { /* M/M/1 at 0.7: L = rho / (1 - rho) */
    mean[k] = queue_run(&g, &(struct queue){.servers = 1}, 0.7, 2000, 20000, changes, 20).mean_in_system;
    sum += mean[k] / 40;
  }
  for (int k = 0; k < 40; k++) squares += (mean[k] - sum) * (mean[k] - sum) / 39;
  hold("M/M/1 at 0.7: number in the system", sum, 0.7 / 0.3, sqrt(squares / 40));
  sum = squares = 0;
  double a = 3.2, c4 = 4, top = pow(a, 4) / 24 * c4 / (c4 - a), bottom = 1 + a + a * a / 2 + a * a * a / 6 + top; /* Erlang C */
  for (int k = 0; k < 40; k++) {
    mean[k] = queue_run(&g, &(struct queue){.servers = 4}, a, 2000, 20000, changes, 20).mean_in_system;
    sum += mean[k] / 40;
  }
  for (int k = 0; k < 40; k++) squares += (mean[k] - sum) * (mean[k] - sum) / 39;
  hold("M/M/4 at 0.8: number in the system (Erlang C)", sum, a + top / bottom * a / (c4 - a), sqrt(squares / 40));
  sum = squares = 0;
  for (int k = 0; k < 40; k++) { /* overloaded by a quarter, a batch server completes 8 per service time */
    mean[k] = queue_run(&g, &(struct queue){.batch = 8, .fixed = false}, 10, 2000, 20000, changes, 20).n_departures / (20000 / 10.0);
    sum += mean[k] / 40;
  }
  for (int k = 0; k < 40; k++) squares += (mean[k] - sum) * (mean[k] - sum) / 39;
  hold("batches of 8, overloaded: departures per service time", sum, 8, sqrt(squares / 40));
  return n_wrong;
}
