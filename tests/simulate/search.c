#include "tests/simulate/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/compare.h"
#include "stats/saturation.h"
#include "tests/simulate/generate.h"

enum { PARTS = 20, SLOTS_MAX = 64, REPLICATIONS_MAX = 400, LOOKS = 6, SESSIONS = 5, STAGES = 10, ARRIVALS_MAX = 1 << 17 };

/* Slots that each serve one request, in the order of arrival. A service time is the mean of so many exponential ones: its squared coefficient of
 * variation is 1 / stages. */
struct executor {
  double capacity; /* requests/s */
  int slots, stages;
  bool batches; /* instead all slots begin together, with what is there then, and end together */
  bool cold;    /* services take twice as long while a window warms up */
};

struct windows {
  double *changes, *completions, n_arrivals, high; /* PARTS for each window; high: of the growth, at the last look */
  size_t n;
};

struct world {
  struct generator g;
  struct executor executor;
  double warm_up_s, counted_s, resolution;
  struct windows windows[2][SEARCH_POINTS_MAX]; /* of the search, of certificates; by load */
  double loads[SEARCH_POINTS_MAX];
  size_t n_loads;
  double arrivals, seconds, *at;
};

static double service_time(struct world *w) {
  double sum = 0;
  for (int i = 0; i < w->executor.stages; i++) sum += generate_exponential(&w->g);
  return sum / w->executor.stages * w->executor.slots / w->executor.capacity;
}

static size_t part_of(const struct world *w, double at) {
  size_t part = (size_t)((at - w->warm_up_s) / w->counted_s * PARTS);
  return part < PARTS ? part : PARTS - 1;
}

static void add_request(const struct world *w, struct windows *to, double at, double end) {
  double *changes = to->changes + (to->n - 1) * PARTS, *completions = to->completions + (to->n - 1) * PARTS;
  if (at >= w->warm_up_s) changes[part_of(w, at)]++, to->n_arrivals++;
  if (end < w->warm_up_s || end >= w->warm_up_s + w->counted_s) return;
  changes[part_of(w, end)]--;
  completions[part_of(w, end)]++;
}

static void run_slots(struct world *w, const double *arrivals, size_t n, struct windows *to) {
  double free_at[SLOTS_MAX] = {0};
  for (size_t k = 0; k < n; k++) {
    int first = 0;
    for (int i = 1; i < w->executor.slots; i++)
      if (free_at[i] < free_at[first]) first = i;
    double begin = fmax(free_at[first], arrivals[k]);
    free_at[first] = begin + service_time(w) * (w->executor.cold && begin < w->warm_up_s ? 2 : 1);
    add_request(w, to, arrivals[k], free_at[first]);
  }
}

static void run_batches(struct world *w, const double *arrivals, size_t n, struct windows *to) {
  double free_at = 0;
  for (size_t k = 0; k < n;) {
    double begin = fmax(free_at, arrivals[k]);
    free_at = begin + service_time(w);
    for (int i = 0; i < w->executor.slots && k < n && arrivals[k] <= begin; i++) add_request(w, to, arrivals[k++], free_at);
  }
}

/* One window on an idle executor. */
static void run_window(struct world *w, double load, struct windows *to) {
  double end_s = w->warm_up_s + w->counted_s;
  size_t n = 0;
  to->changes = realloc(to->changes, (to->n + 1) * PARTS * sizeof(double));
  to->completions = realloc(to->completions, (to->n + 1) * PARTS * sizeof(double));
  memset(to->changes + to->n * PARTS, 0, PARTS * sizeof(double));
  memset(to->completions + to->n * PARTS, 0, PARTS * sizeof(double));
  to->n++;
  for (double at = generate_exponential(&w->g) / load; at < end_s && n < ARRIVALS_MAX; at += generate_exponential(&w->g) / load)
    w->at[n++] = at;
  (w->executor.batches ? run_batches : run_slots)(w, w->at, n, to);
  w->arrivals += (double)n;
  w->seconds += end_s;
}

static struct windows *windows_at(struct world *w, const struct load_asked *asked) {
  size_t i = 0;
  while (i < w->n_loads && fabs(w->loads[i] / asked->load - 1) > 1e-9) i++;
  if (i == w->n_loads) w->loads[w->n_loads++] = asked->load;
  return &w->windows[asked->certify][i];
}

/* As result/point.c and measure/search.c do. */
static struct load_seen look(struct world *w, const struct load_asked *asked, double bracket) {
  struct windows *of = windows_at(w, asked);
  run_window(w, asked->load, of);
  const struct load_parts parts = {.changes = of->changes,
                                   .completions = of->completions,
                                   .n_windows = of->n,
                                   .n_parts = PARTS,
                                   .n_arrivals = of->n_arrivals,
                                   .expected = asked->load * w->counted_s / PARTS};
  struct growth g = growth_of(&parts, look_confidence(0.95, LOOKS));
  of->high = g.high;
  enum load_verdict verdict = growth_verdict(&g, w->resolution, false);
  bool sustained = growth_verdict(&g, w->resolution, true) == LOAD_SUSTAINED, grows = verdict == LOAD_NOT_SUSTAINED;
  return (struct load_seen){.n_windows = of->n,
                            .decided = verdict != LOAD_UNDECIDED,
                            .sure = verdict != LOAD_UNDECIDED,
                            .sustained = sustained,
                            .holds = sustained && g.high < bracket,
                            .capacity = grows ? g.completed * asked->load : 0,
                            .error = grows ? g.completed_error * asked->load : 0};
}

static void release(struct world *w) {
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < w->n_loads; i++) {
      free(w->windows[k][i].changes);
      free(w->windows[k][i].completions);
      w->windows[k][i] = (struct windows){.n = 0};
    }
  w->n_loads = 0;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool at_least(double share, double bound, double n) {
  return share >= bound - 3 * sqrt(bound * (1 - bound) / n);
}

struct study {
  struct executor executor;
  double counted_s, resolution, budget_s; /* budget_s: 0: none */
};

/* To which resolution, as result/points.c says; INFINITY: it is not certified. */
static double reached(const struct world *w, const struct saturation_search *s) {
  const struct saturation_point *passing = NULL, *failing = NULL;
  bool below_fails = false, failed = false;
  for (size_t i = 0; i < s->n_points; i++) {
    const struct saturation_point *p = &s->points[i];
    const struct load_seen *seen = p->certificate.n_windows > 0 ? &p->certificate : &p->search;
    if (seen->n_windows > 0 && seen->sustained) passing = p, below_fails = failed;
    if (seen->n_windows > 0 && !seen->sustained) failed = true;
  }
  for (size_t i = s->n_points; i > 0 && passing != NULL && passing < &s->points[i - 1]; i--)
    if (s->points[i - 1].certificate.n_windows + s->points[i - 1].search.n_windows > 0) failing = &s->points[i - 1];
  if (passing == NULL || failing == NULL || below_fails || passing->certificate.n_windows < SESSIONS ||
      failing->certificate.n_windows < SESSIONS)
    return INFINITY;
  size_t i = 0;
  while (i < w->n_loads && fabs(w->loads[i] / passing->load - 1) > 1e-9) i++;
  return saturation_reached(w->resolution, failing->load / passing->load - 1, w->windows[1][i].high);
}

/* As measure/search.c does. */
static void plan(const struct study *of, const struct world *w, struct saturation_search *s, double seconds) {
  double window_s = w->warm_up_s + w->counted_s, load = saturation_capacity(s);
  if (!(of->budget_s > 0) || s->passing > 0 || (s->n_windows > 0 && !(load > 0))) return;
  double n_arrivals = (load > 0 ? load : s->from) * w->counted_s;
  s->resolution = saturation_affordable(of->resolution, n_arrivals, SESSIONS, (double)s->n_windows + (of->budget_s - seconds) / window_s);
}

/* Wald's sequential test at each of the two loads, errors of 5 %, where the capacity is known before, and the variance: the expected number
 * of arrivals. Under overload completions vary by services alone; the growth there is half the resolution. */
static double arrivals_of_sequential_test(const struct executor *e, double resolution) {
  double odds = log(0.95 / 0.05), c2 = e->batches ? 0 : 1.0 / e->stages, growth = resolution / 2;
  return 2 * 2 * (0.95 * odds - 0.05 * odds) * c2 / (growth * growth);
}

/* Right: the capacity is within the resolution of the bracket. */
static int study_one(const struct study *of, int replications) {
  static double at[ARRIVALS_MAX];
  struct world w = {.at = at, .executor = of->executor, .warm_up_s = 1, .counted_s = of->counted_s, .resolution = of->resolution};
  double capacity = of->executor.capacity, seconds[REPLICATIONS_MAX], windows[REPLICATIONS_MAX], sum = 0;
  int n_certified = 0, n_right = 0, n_coarse[2] = {0, 0};
  generator_seed(&w.g, 4800 + (uint64_t)of->executor.slots + (uint64_t)(1000 * of->resolution));
  for (int r = 0; r < replications; r++) {
    struct saturation_search s = {.from = capacity * (0.1 + generate_uniform(&w.g)),
                                  .to = capacity * 50,
                                  .resolution = of->resolution,
                                  .looks = LOOKS,
                                  .sessions = SESSIONS};
    struct load_asked asked;
    double before = w.seconds;
    while (!(of->budget_s > 0) || w.seconds - before < of->budget_s) {
      plan(of, &w, &s, w.seconds - before);
      if (saturation_next(&s, &asked) != SEARCH_GOES_ON) break;
      struct load_seen seen = look(&w, &asked, s.resolution);
      saturation_tell(&s, &asked, &seen);
    }
    seconds[r] = w.seconds - before;
    windows[r] = (double)s.n_windows;
    sum += windows[r];
    double to = reached(&w, &s);
    n_certified += isfinite(to);
    n_right += isfinite(to) && s.passing <= capacity * (1 + to) && s.failing >= capacity / (1 + to);
    n_coarse[0] += isfinite(to) && to > of->resolution && to < 0.15;
    n_coarse[1] += isfinite(to) && to > of->resolution && to > 0.15;
    release(&w);
  }
  qsort(windows, (size_t)replications, sizeof windows[0], ascending);
  qsort(seconds, (size_t)replications, sizeof seconds[0], ascending);
  double certified = (double)n_certified / replications, wrong = (double)(n_certified - n_right) / replications;
  /* With fewer arrivals the contract is warned of (contract/check.c), and the estimate decides. */
  bool enough = of->counted_s * LOOKS * capacity * of->executor.stages >= saturation_arrivals_needed(of->resolution);
  enough = enough && !(of->budget_s > 0);
  bool good = at_least(1 - wrong, 0.95, replications) && at_least(certified, 0.8, replications);
  char coarser[80] = "", budget[40] = "", wald[40] = "";
  if (n_coarse[0] + n_coarse[1] > 0)
    (void)snprintf(coarser, sizeof coarser, " (to 10 %%: %.3f, to 20 %%: %.3f)", (double)n_coarse[0] / replications,
                   (double)n_coarse[1] / replications);
  if (of->budget_s > 0) (void)snprintf(budget, sizeof budget, ", at most %.0f s", of->budget_s);
  double least = arrivals_of_sequential_test(&of->executor, of->resolution);
  if (least > 0) (void)snprintf(wald, sizeof wald, " (%.3g times Wald's)", w.arrivals / replications / least);
  (void)printf("  %4g/s, %2d slots%s, c2 %.1f, windows of %2g s, %2.0f %%%s: certified %.3f%s, wrong %.3f; %5.1f windows (90 %%: "
               "%.0f to %.0f), %6.0f arrivals%s, %4.0f s (median), %4.0f s (p90)  %s\n",
               capacity, of->executor.slots,
               of->executor.batches ? " in batches"
               : of->executor.cold  ? ", cold"
                                    : "",
               1.0 / of->executor.stages, of->counted_s, 100 * of->resolution, budget, certified, coarser, wrong, sum / replications,
               windows[replications / 20], windows[replications - 1 - replications / 20], w.arrivals / replications, wald,
               seconds[replications / 2], seconds[replications * 9 / 10],
               good               ? "ok"
               : enough           ? "BROKEN"
               : of->budget_s > 0 ? ""
                                  : "(fewer arrivals than are needed)");
  return !good && enough;
}

int study_search(bool quick) {
  static const struct executor executors[] = {
      {100, 4, STAGES, false, false}, {100, 16, STAGES, false, true}, {400, 64, STAGES, false, false}, {400, 64, 1, false, false},
      {100, 1, 1, false, false},      {100, 8, 1000, true, false},    {1000, 32, STAGES, false, true}};
  static const double resolutions[] = {0.05, 0.1, 0.2}, counted_s[] = {5, 10};
  static const struct executor live[] = {{200, 8, 1000, false, false}, {200, 8, STAGES, false, false}, {200, 8, 1, false, false}};
  static const double budgets_s[] = {90, 150, 300, 600};
  int n_broken = 0;
  (void)printf("\nSearches and their certificates: %d looks, %d sessions; right: the bracket is within the resolution of the truth\n",
               LOOKS, SESSIONS);
  for (size_t e = 0; e < sizeof executors / sizeof executors[0]; e++)
    for (size_t r = quick ? 1 : 0; r < (quick ? 2 : 3); r++)
      for (size_t c = 0; c < (quick ? 1 : 2); c++)
        n_broken += study_one(&(struct study){executors[e], counted_s[c], resolutions[r], 0}, quick ? 50 : REPLICATIONS_MAX);
  (void)printf("The same, of 5 %% where the time allows it (method.budget); what the time does not allow is certified to 10 or 20 %%\n");
  for (size_t e = 0; e < 4; e += 3)
    for (size_t b = 0; b < sizeof budgets_s / sizeof budgets_s[0]; b++)
      n_broken += study_one(&(struct study){executors[e], counted_s[0], resolutions[0], budgets_s[b]}, quick ? 50 : REPLICATIONS_MAX);
  (void)printf("The servers that bench/searches.py searches live\n");
  for (size_t e = 0; e < sizeof live / sizeof live[0]; e++)
    n_broken += study_one(&(struct study){live[e], 3, resolutions[1], 0}, quick ? 50 : REPLICATIONS_MAX);
  return n_broken;
}
