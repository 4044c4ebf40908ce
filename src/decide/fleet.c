#include "decide/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "stats/quantile.h"
#include "stats/special.h"

enum { BATCHES = 10 };
#define BUSY_MUCH 0.9 /* above it, and of bursts, times depend on one another for long: more arrivals */
#define BURSTY_MUCH 1.5
#define ARRIVALS_MORE 10

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
  struct job *served; /* most; a heap: whose turn to end is next comes first */
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
  size_t n_wanted, n_times, n_found_full, n_arrived;
  double in_flight_time, counted_time;
  double *ends;    /* when the next request of each executor ends; INFINITY: it is idle. So many as there are leaves */
  size_t *soonest; /* a tournament of those: soonest[1] wins; leaves begin at n_leaves */
  size_t n_leaves;
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
  size_t i = e->n++;
  for (; i > 0 && e->served[(i - 1) / 2].done_at > job.done_at; i = (i - 1) / 2) e->served[i] = e->served[(i - 1) / 2];
  e->served[i] = job;
}

static struct job take_first(struct executor *e) {
  struct job first = e->served[0], last = e->served[--e->n];
  size_t i = 0;
  for (size_t child = 1; child < e->n; child = 2 * i + 1) {
    if (child + 1 < e->n && e->served[child + 1].done_at < e->served[child].done_at) child++;
    if (e->served[child].done_at >= last.done_at) break;
    e->served[i] = e->served[child];
    i = child;
  }
  if (e->n > 0) e->served[i] = last;
  return first;
}

/* Returns whose it became. */
static size_t arrive(struct simulation *s, bool counts) {
  size_t chosen = choose(s);
  struct executor *e = &s->executors[chosen];
  struct job job = {.arrived = s->now, .counts = counts};
  advance(s, e);
  s->n_in_flight++;
  s->n_arrived += counts;
  if (e->n < s->most) {
    serve(s, e, job);
    return chosen;
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
  return chosen;
}

/* When the next one of this executor ends; INFINITY: it is idle. */
static double next_end(const struct simulation *s, const struct executor *e) {
  if (e->n == 0) return INFINITY;
  double left = e->served[0].done_at - e->clock;
  return e->since + fmax(0, left) / s->rates[e->n];
}

static void finish(struct simulation *s, struct executor *e) {
  advance(s, e);
  struct job done = take_first(e);
  if (done.counts && s->n_times < s->n_wanted) s->times[s->n_times++] = s->now - done.arrived;
  s->n_in_flight--;
  if (e->n_waiting == 0) return;
  struct job next = e->waiting[e->first];
  e->first = (e->first + 1) % e->room;
  e->n_waiting--;
  serve(s, e, next);
}

static void begin_tournament(struct simulation *s) {
  s->n_leaves = 1;
  while (s->n_leaves < s->n_executors) s->n_leaves *= 2;
  s->ends = xalloc(s->n_leaves, sizeof *s->ends);
  s->soonest = xalloc(2 * s->n_leaves, sizeof *s->soonest);
  for (size_t i = 0; i < s->n_leaves; i++) {
    s->ends[i] = INFINITY;
    s->soonest[s->n_leaves + i] = i;
  }
  for (size_t k = s->n_leaves - 1; k > 0; k--) s->soonest[k] = s->soonest[2 * k];
}

static void end_changed(struct simulation *s, size_t i) {
  s->ends[i] = next_end(s, &s->executors[i]);
  for (size_t k = (s->n_leaves + i) / 2; k > 0; k /= 2) {
    size_t left = s->soonest[2 * k], right = s->soonest[2 * k + 1];
    s->soonest[k] = s->ends[right] < s->ends[left] ? right : left;
  }
}

static void simulate(struct simulation *s) {
  const size_t before = s->n_wanted / 10, all = before + s->n_wanted;
  double next_arrival = next_gap(s);
  for (size_t n = 0; n < all || s->n_times < s->n_arrived;) {
    const size_t soonest = s->soonest[1];
    bool arrives = n < all && next_arrival <= s->ends[soonest];
    double at = arrives ? next_arrival : s->ends[soonest];
    if (n > before && n < all) {
      s->in_flight_time += (double)s->n_in_flight * (at - s->now);
      s->counted_time += at - s->now;
    }
    s->now = at;
    if (arrives) {
      end_changed(s, arrive(s, n >= before));
      n++;
      next_arrival = s->now + next_gap(s);
    } else {
      finish(s, &s->executors[soonest]);
      end_changed(s, soonest);
    }
  }
}

/* Student's half width at 95 % of a mean over batches. */
static double half_width(const double of[BATCHES], double *ret_mean) {
  double sum = 0, squares = 0;
  for (size_t b = 0; b < BATCHES; b++) sum += of[b];
  *ret_mean = sum / BATCHES;
  for (size_t b = 0; b < BATCHES; b++) squares += (of[b] - *ret_mean) * (of[b] - *ret_mean);
  return special_t_quantile(0.975, BATCHES - 1) * sqrt(squares / (BATCHES - 1) / BATCHES);
}

static struct fleet_figure mean_of(const double *times, size_t n) {
  double of[BATCHES], mean;
  for (size_t b = 0; b < BATCHES; b++) of[b] = quantile_plain_mean(times + b * (n / BATCHES), n / BATCHES);
  double half = half_width(of, &mean);
  return (struct fleet_figure){mean, mean - half, mean + half};
}

/* The quantile of all. A batch's own quantile is too low, as its worst moments are in few batches: the interval is of the share of times at
 * or below it, which differs from batch to batch, and its ends are the quantiles at the ends of that. */
static struct fleet_figure quantile_by_batches(const double *times, size_t n, double p) {
  double of[BATCHES], share, *sorted = xalloc(n + 1, sizeof *sorted);
  memcpy(sorted, times, n * sizeof *sorted);
  quantile_sort(sorted, n);
  struct fleet_figure ret = {.estimate = quantile_of(sorted, n, p)};
  for (size_t b = 0; b < BATCHES; b++) {
    size_t each = n / BATCHES, below = 0;
    for (size_t i = b * each; i < (b + 1) * each; i++) below += times[i] <= ret.estimate;
    of[b] = (double)below / (double)each;
  }
  double half = half_width(of, &share);
  ret.low = p - half > 0 ? quantile_of(sorted, n, p - half) : 0;
  ret.high = p + half < 1 ? quantile_of(sorted, n, p + half) : INFINITY;
  free(sorted);
  return ret;
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
  const bool slow = load->rate_per_s > BUSY_MUCH * rate_when_full(curve) * (double)n_executors || load->burstiness > BURSTY_MUCH;
  s.n_wanted = load->n_arrivals * (slow ? ARRIVALS_MORE : 1);
  s.times = xalloc(s.n_wanted, sizeof *s.times);
  for (size_t n = 1; n <= s.most; n++) s.rates[n] = fleet_rate(curve, (double)n) / (double)n;
  for (size_t i = 0; i < n_executors; i++) s.executors[i].served = xalloc(s.most, sizeof *s.executors[i].served);
  begin_tournament(&s);
  simulate(&s);
  ret.steady = true;
  ret.mean = mean_of(s.times, s.n_times);
  ret.quantile = quantile_by_batches(s.times, s.n_times, load->percentile);
  ret.in_flight = s.counted_time > 0 ? s.in_flight_time / s.counted_time / (double)n_executors : NAN;
  ret.waiting = s.n_arrived > 0 ? (double)s.n_found_full / (double)s.n_arrived : NAN;
  for (size_t i = 0; i < n_executors; i++) {
    free(s.executors[i].served);
    free(s.executors[i].waiting);
  }
  free(s.ends);
  free(s.soonest);
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
  size_t low = (size_t)ceil(needed) - (needed > 0), high = low + 1; /* low: too few */
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
