#include "decide/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "stats/quantile.h"
#include "stats/special.h"

enum { BATCHES = 10, WAITING_MOST = 1 << 16 };

const char *fleet_routing_text(enum fleet_routing routing) {
  static const char *const texts[FLEET_ROUTINGS] = {"random", "in-turn", "two-choices", "least"};
  return texts[routing];
}

double fleet_rate(const struct fleet_curve *c, double n) {
  if (c->n == 0 || !(n > 0)) return 0;
  if (n <= c->in_flight[0]) return c->rate[0] * n / c->in_flight[0];
  for (size_t i = 1; i < c->n; i++)
    if (n <= c->in_flight[i])
      return c->rate[i - 1] + (c->rate[i] - c->rate[i - 1]) * (n - c->in_flight[i - 1]) / (c->in_flight[i] - c->in_flight[i - 1]);
  return c->rate[c->n - 1];
}

double fleet_capacity(const struct fleet_curve *c) {
  double most = 0;
  for (size_t i = 0; i < c->n; i++) most = fmax(most, c->rate[i]);
  return most;
}

/* Of a curve that falls the end counts: who was filled by a burst stays there, unless that is enough. */
static double rate_when_full(const struct fleet_curve *c) {
  return c->n > 0 ? c->rate[c->n - 1] : 0;
}

static size_t served_most(const struct fleet_curve *c) {
  return c->n > 0 ? (size_t)c->in_flight[c->n - 1] : 0;
}

struct fleet_exact fleet_exact(const struct fleet_curve *c, double load) {
  const size_t most = served_most(c);
  const double last = most > 0 ? load / fleet_rate(c, (double)most) : 1;
  double p = 1, sum = 1, in_system = 0, queued = 0, full = 0;
  if (!(last < 1)) return (struct fleet_exact){NAN, NAN, NAN};
  for (size_t n = 1; n < most; n++) {
    p *= load / fleet_rate(c, (double)n);
    sum += p;
    in_system += (double)n * p;
  }
  /* From `most` on the states fall by the same ratio r: sums of r^k and of k r^k. */
  p *= last;
  full = p / (1 - last);
  queued = p * last / ((1 - last) * (1 - last));
  sum += full;
  in_system += (double)most * full + queued;
  return (struct fleet_exact){in_system / sum / load, queued / sum / load, full / sum};
}

/* --- the simulation --- */

struct job {
  double arrived, done_at; /* done_at: of its executor's own clock, which counts work that each of those served has got */
  bool counts;
};

struct executor {
  struct job *served; /* most */
  size_t n;
  struct job *waiting; /* a ring */
  size_t first, n_waiting, room;
  double clock, since; /* work, and when it was so */
};

struct simulation {
  const struct fleet_curve *curve;
  const struct fleet_load *load;
  struct random_stream random;
  struct executor *executors;
  size_t n_executors, most, turn, n_in_flight;
  double *rates; /* rates[n]: work that each of n gets in a second */
  double now, work_mean, p_fast, rate_fast, rate_slow;
  double *times; /* of those that count, in the order in which they ended */
  size_t n_times, n_found_full, n_arrived;
  double in_flight_time, counted_time;
};

static double uniform(struct simulation *s) {
  return ((double)(random_next(&s->random) >> 11) + 0.5) * 0x1p-53;
}

static double exponential(struct simulation *s, double rate) {
  return -special_log(uniform(s)) / rate;
}

/* Balanced means: each of the two phases brings half of the time. */
static void begin_arrivals(struct simulation *s) {
  double c2 = s->load->burstiness * s->load->burstiness;
  s->p_fast = (1 + sqrt(fmax(0, (c2 - 1) / (c2 + 1)))) / 2;
  s->rate_fast = 2 * s->p_fast * s->load->rate_per_s;
  s->rate_slow = 2 * (1 - s->p_fast) * s->load->rate_per_s;
}

static double next_gap(struct simulation *s) {
  return exponential(s, uniform(s) < s->p_fast ? s->rate_fast : s->rate_slow);
}

static size_t in_flight(const struct executor *e) {
  return e->n + e->n_waiting;
}

static size_t choose(struct simulation *s) {
  if (s->load->routing == FLEET_IN_TURN) return s->turn++ % s->n_executors;
  size_t a = (size_t)random_below(&s->random, s->n_executors);
  if (s->load->routing == FLEET_TWO_CHOICES && s->n_executors > 1) {
    size_t b = (a + 1 + (size_t)random_below(&s->random, s->n_executors - 1)) % s->n_executors;
    return in_flight(&s->executors[b]) < in_flight(&s->executors[a]) ? b : a;
  }
  if (s->load->routing == FLEET_LEAST)
    for (size_t k = 1, from = a; k < s->n_executors; k++) { /* from a random one on: ties by lot */
      size_t b = (from + k) % s->n_executors;
      if (in_flight(&s->executors[b]) < in_flight(&s->executors[a])) a = b;
    }
  return a;
}

static void advance(struct simulation *s, struct executor *e) {
  e->clock += (s->now - e->since) * s->rates[e->n];
  e->since = s->now;
}

static void serve(struct simulation *s, struct executor *e, struct job job) {
  double work = s->load->work[random_below(&s->random, s->load->n_work)] / s->work_mean;
  job.done_at = e->clock + work;
  e->served[e->n++] = job;
}

static void arrive(struct simulation *s, bool counts) {
  struct executor *e = &s->executors[choose(s)];
  struct job job = {.arrived = s->now, .counts = counts};
  advance(s, e);
  s->n_in_flight++;
  s->n_arrived += counts;
  if (e->n < s->most) {
    serve(s, e, job);
    return;
  }
  s->n_found_full += counts;
  if (e->n_waiting == e->room) { /* the ring is straightened while it grows */
    size_t room = e->room > 0 ? 2 * e->room : 64;
    struct job *more = xalloc(room, sizeof *more);
    for (size_t i = 0; i < e->n_waiting; i++) more[i] = e->waiting[(e->first + i) % e->room];
    free(e->waiting);
    e->waiting = more;
    e->room = room;
    e->first = 0;
  }
  e->waiting[(e->first + e->n_waiting++) % e->room] = job;
}

static size_t first_done(const struct executor *e) {
  size_t first = 0;
  for (size_t i = 1; i < e->n; i++)
    if (e->served[i].done_at < e->served[first].done_at) first = i;
  return first;
}

/* When the next one of this executor ends; INFINITY: it is idle. */
static double next_end(const struct simulation *s, const struct executor *e) {
  if (e->n == 0) return INFINITY;
  double left = e->served[first_done(e)].done_at - e->clock;
  return e->since + fmax(0, left) / s->rates[e->n];
}

static void finish(struct simulation *s, struct executor *e) {
  advance(s, e);
  size_t i = first_done(e);
  if (e->served[i].counts && s->n_times < s->load->n_arrivals) s->times[s->n_times++] = s->now - e->served[i].arrived;
  e->served[i] = e->served[--e->n];
  s->n_in_flight--;
  if (e->n_waiting == 0) return;
  struct job next = e->waiting[e->first];
  e->first = (e->first + 1) % e->room;
  e->n_waiting--;
  serve(s, e, next);
}

/* False: more and more wait. */
static bool simulate(struct simulation *s, double *ends) {
  const size_t before = s->load->n_arrivals / 10, all = before + s->load->n_arrivals;
  const double waiting_most = (double)s->most * (double)s->n_executors + WAITING_MOST;
  double next_arrival = next_gap(s);
  for (size_t n = 0; n < all || s->n_times < s->n_arrived;) {
    size_t soonest = 0;
    for (size_t i = 1; i < s->n_executors; i++)
      if (ends[i] < ends[soonest]) soonest = i;
    bool arrives = n < all && next_arrival <= ends[soonest];
    double at = arrives ? next_arrival : ends[soonest];
    if (n > before && n < all) {
      s->in_flight_time += (double)s->n_in_flight * (at - s->now);
      s->counted_time += at - s->now;
    }
    s->now = at;
    if (arrives) {
      arrive(s, n >= before);
      n++;
      next_arrival = s->now + next_gap(s);
      for (size_t i = 0; i < s->n_executors; i++)
        if (s->executors[i].since == s->now) ends[i] = next_end(s, &s->executors[i]);
    } else {
      finish(s, &s->executors[soonest]);
      ends[soonest] = next_end(s, &s->executors[soonest]);
    }
    if ((double)s->n_in_flight > waiting_most) return false;
  }
  return true;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The mean over batches of what is asked of each, and Student's interval at 95 %. p NAN: of means. */
static struct fleet_figure by_batches(const double *times, size_t n, double p) {
  double of[BATCHES], sum = 0, squares = 0;
  size_t each = n / BATCHES;
  double *copy = xalloc(each + 1, sizeof *copy);
  for (size_t b = 0; b < BATCHES; b++) {
    memcpy(copy, times + b * each, each * sizeof *copy);
    qsort(copy, each, sizeof *copy, ascending);
    of[b] = isnan(p) ? quantile_plain_mean(copy, each) : quantile_of(copy, each, p);
    sum += of[b];
  }
  free(copy);
  double mean = sum / BATCHES;
  for (size_t b = 0; b < BATCHES; b++) squares += (of[b] - mean) * (of[b] - mean);
  double half = special_t_quantile(0.975, BATCHES - 1) * sqrt(squares / (BATCHES - 1) / BATCHES);
  return (struct fleet_figure){mean, mean - half, mean + half};
}

struct fleet_times fleet_simulate(const struct fleet_curve *curve, const struct fleet_load *load, size_t n_executors) {
  struct fleet_times ret = {.steady = false};
  if (!(load->rate_per_s <= FLEET_BUSY_MOST * rate_when_full(curve) * (double)n_executors)) return ret;
  struct simulation s = {.curve = curve, .load = load, .n_executors = n_executors, .most = served_most(curve)};
  random_init(&s.random, load->seed, "fleet");
  begin_arrivals(&s);
  s.work_mean = quantile_plain_mean(load->work, load->n_work);
  s.executors = xalloc(n_executors, sizeof *s.executors);
  s.rates = xalloc(s.most + 1, sizeof *s.rates);
  s.times = xalloc(load->n_arrivals, sizeof *s.times);
  double *ends = xalloc(n_executors, sizeof *ends);
  for (size_t n = 1; n <= s.most; n++) s.rates[n] = fleet_rate(curve, (double)n) / (double)n;
  for (size_t i = 0; i < n_executors; i++) {
    s.executors[i].served = xalloc(s.most, sizeof *s.executors[i].served);
    ends[i] = INFINITY;
  }
  ret.steady = simulate(&s, ends);
  if (ret.steady) {
    ret.mean = by_batches(s.times, s.n_times, NAN);
    ret.quantile = by_batches(s.times, s.n_times, load->percentile);
    ret.in_flight = s.counted_time > 0 ? s.in_flight_time / s.counted_time / (double)n_executors : NAN;
    ret.waiting = s.n_arrived > 0 ? (double)s.n_found_full / (double)s.n_arrived : NAN;
  }
  for (size_t i = 0; i < n_executors; i++) {
    free(s.executors[i].served);
    free(s.executors[i].waiting);
  }
  free(ends);
  free(s.times);
  free(s.rates);
  free(s.executors);
  return ret;
}

static bool meets(const struct fleet_curve *curve, const struct fleet_load *load, size_t n, double limit_s, struct fleet_times *ret) {
  *ret = fleet_simulate(curve, load, n);
  return ret->steady && ret->quantile.high <= limit_s;
}

/* More executors answer no later: the fewest by halving, once some number does. */
size_t fleet_least(const struct fleet_curve *curve, const struct fleet_load *load, double limit_s, struct fleet_times *ret) {
  struct fleet_times times;
  double needed = load->rate_per_s / (FLEET_BUSY_MOST * rate_when_full(curve));
  if (!(needed < FLEET_MOST)) return 0;
  size_t low = (size_t)needed, high = low + 1; /* low: too few */
  while (!meets(curve, load, high, limit_s, ret)) {
    if (high == FLEET_MOST) return 0;
    low = high;
    high = 2 * high < FLEET_MOST ? 2 * high : FLEET_MOST;
  }
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (meets(curve, load, middle, limit_s, &times)) {
      high = middle;
      *ret = times;
    } else low = middle;
  }
  return high;
}
