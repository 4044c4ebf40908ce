#include "result/server_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "result/formula.h"
#include "telemetry/metrics.h"

enum { READINGS_MAX = 100000 }; /* of a session: a day of one each second */

/* METRICS_COUNT: none. Of counters: plus + increase of `kept` / increase of `of`, or the increase alone; else `given`, as the server says it. */
static const struct wanted {
  int formula;
  enum metrics_series kept, of, given;
  double plus, most; /* beyond the most no server can have been */
  double scale;
  int here; /* the client's own metric of the same; METRIC_COUNT: it has none */
} wanted[] = {
    {FORMULA_ACCEPTANCE_LENGTH, METRICS_ACCEPTED_TOKENS, METRICS_DRAFTS, METRICS_ACCEPTANCE_LENGTH, 1, 1e6, 1, METRIC_COUNT},
    {FORMULA_ACCEPTANCE_RATE, METRICS_ACCEPTED_TOKENS, METRICS_DRAFT_TOKENS, METRICS_ACCEPTANCE_RATE, 0, 1.0001, 1, METRIC_COUNT},
    {FORMULA_CACHE_HIT_RATE, METRICS_CACHE_HITS, METRICS_CACHE_QUERIES, METRICS_CACHE_HIT_RATE, 0, 1.0001, 1, METRIC_COUNT},
    {FORMULA_PREEMPTIONS, METRICS_PREEMPTIONS, METRICS_COUNT, METRICS_COUNT, 0, 1e15, 1, METRIC_COUNT},
    {FORMULA_SERVER_TTFT, METRICS_FIRST_TOKEN_SUM, METRICS_FIRST_TOKEN_COUNT, METRICS_COUNT, 0, 1e6, 1e9, METRIC_TIME_TO_FIRST_TOKEN},
    {FORMULA_SERVER_E2E, METRICS_WHOLE_SUM, METRICS_WHOLE_COUNT, METRICS_COUNT, 0, 1e6, 1e9, METRIC_END_TO_END},
    {FORMULA_SERVER_ITL, METRICS_GAP_SUM, METRICS_GAP_COUNT, METRICS_COUNT, 0, 1e6, 1e9, METRIC_INTER_TOKEN_LATENCY},
};

/* One series of a session, by time. */
struct column {
  int64_t *at_ns;
  double *value;
  size_t n, room_at, room_value;
};

struct figure {
  double kept, of; /* increases over all windows */
  double sum, n;   /* of what the server gives itself */
  double at[2 * SERVER_POINTS_MAX], points[2 * SERVER_POINTS_MAX];
  size_t n_points, each; /* steps that make one point, and of them in the last one */
  size_t n_of_last;
};

struct gathering {
  struct column columns[METRICS_COUNT];
  int64_t from_ns, to_ns;
  double from_s; /* counted time before this window */
  struct figure figures[LYNX_COUNT(wanted)];
};

/* A long run's points become means of neighbours; of a count their sum. */
static void add_point(struct figure *f, double at_s, double value, bool counts) {
  if (f->each == 0) f->each = 1;
  if (f->n_points > 0 && f->n_of_last < f->each) {
    double *last = &f->points[f->n_points - 1];
    *last = counts ? *last + value : *last + (value - *last) / (double)(f->n_of_last + 1);
    f->n_of_last++;
    return;
  }
  if (f->n_points == LYNX_COUNT(f->points)) {
    for (size_t i = 0; i < f->n_points / 2; i++) {
      double sum = f->points[2 * i] + f->points[2 * i + 1];
      f->at[i] = f->at[2 * i];
      f->points[i] = counts ? sum : sum / 2;
    }
    f->n_points /= 2;
    f->each *= 2;
  }
  f->at[f->n_points] = at_s;
  f->points[f->n_points++] = value;
  f->n_of_last = 1;
}

static enum lynx_status take_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct gathering *g = context;
  (void)session;
  if (strncmp(series, "server.", 7) != 0 || at_ns < g->from_ns || at_ns > g->to_ns || !isfinite(value)) return LYNX_OK;
  for (int i = 0; i < METRICS_COUNT; i++) {
    struct column *c = &g->columns[i];
    if (c->n == READINGS_MAX || strcmp(series, metrics_series_text((enum metrics_series)i)) != 0) continue;
    c->at_ns = xroom(c->at_ns, c->n, &c->room_at, sizeof *c->at_ns);
    c->value = xroom(c->value, c->n, &c->room_value, sizeof *c->value);
    c->at_ns[c->n] = at_ns;
    c->value[c->n++] = value;
  }
  return LYNX_OK;
}

static void take_given(struct gathering *g, const struct wanted *w, struct figure *f) {
  const struct column *c = &g->columns[w->given];
  for (size_t i = 0; i < c->n; i++) {
    if (!(c->value[i] >= 0) || !(c->value[i] <= w->most)) continue;
    f->sum += c->value[i];
    f->n++;
    add_point(f, g->from_s + (double)(c->at_ns[i] - g->from_ns) / 1e9, c->value[i], false);
  }
}

/* What each reading adds to the one before. Both counters are of one page: of one moment. */
static void take_counters(struct gathering *g, const struct wanted *w, struct figure *f) {
  const struct column *kept = &g->columns[w->kept], *of = w->of != METRICS_COUNT ? &g->columns[w->of] : NULL;
  size_t k = 0, before = SIZE_MAX, of_before = 0;
  for (size_t i = 0; i < kept->n; i++) {
    while (of != NULL && k < of->n && of->at_ns[k] < kept->at_ns[i]) k++;
    if (of != NULL && (k == of->n || of->at_ns[k] != kept->at_ns[i])) continue;
    if (before != SIZE_MAX) {
      double more = kept->value[i] - kept->value[before], whole = of != NULL ? of->value[k] - of->value[of_before] : 1;
      double value = of != NULL ? w->plus + more / whole : more;
      if (more >= 0 && whole > 0 && value <= w->most) { /* a counter that went back is of a server that was restarted */
        f->kept += more;
        f->of += whole;
        add_point(f, g->from_s + (double)(kept->at_ns[i] - g->from_ns) / 1e9, value, of == NULL);
      }
    }
    before = i;
    of_before = k;
  }
}

static void put_figure(struct arena *arena, struct result_precision *p, const struct wanted *w, const struct figure *f) {
  double value = w->of == METRICS_COUNT ? f->kept : f->of > 0 ? w->plus + f->kept / f->of : f->sum / f->n;
  bool speaks = w->of == METRICS_COUNT ? f->kept > 0 : f->of > 0 || f->n > 0;
  if (!speaks || f->n_points == 0 || !isfinite(value)) return;
  struct result_server *r = &p->server[p->n_server++];
  *r = (struct result_server){.formula = w->formula,
                              .value = number_round(w->scale * value, 7),
                              .here = w->here != METRIC_COUNT && p->latency[w->here].n > 0 ? p->latency[w->here].mean.interval.estimate
                                                                                           : NAN,
                              .n_points = f->n_points,
                              .least = INFINITY,
                              .greatest = -INFINITY};
  r->at_s = arena_alloc(arena, f->n_points, sizeof *r->at_s);
  r->points = arena_alloc(arena, f->n_points, sizeof *r->points);
  for (size_t i = 0; i < f->n_points; i++) {
    r->at_s[i] = number_round(f->at[i], 7);
    r->points[i] = number_round(w->scale * f->points[i], 7);
    r->least = fmin(r->least, r->points[i]);
    r->greatest = fmax(r->greatest, r->points[i]);
  }
}

enum lynx_status server_figures_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                                      const struct bundle_session *const *rows, struct lynx_error *error) {
  struct gathering *g = xalloc(1, sizeof *g);
  enum lynx_status status = LYNX_OK;
  p->server = arena_alloc(&result->arena, LYNX_COUNT(wanted), sizeof *p->server);
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    if (!p->sessions[i].complete) continue;
    for (int k = 0; k < METRICS_COUNT; k++) g->columns[k].n = 0;
    g->from_ns = rows[i]->warm_up_ns;
    g->to_ns = rows[i]->warm_up_ns + rows[i]->counted_ns;
    status = bundle_each_sample(bundle, p->sessions[i].id, take_sample, g, error);
    for (size_t w = 0; w < LYNX_COUNT(wanted); w++) {
      bool counted = g->columns[wanted[w].kept].n > 0 && (wanted[w].of == METRICS_COUNT || g->columns[wanted[w].of].n > 0);
      if (counted) take_counters(g, &wanted[w], &g->figures[w]);
      else if (wanted[w].given != METRICS_COUNT) take_given(g, &wanted[w], &g->figures[w]);
    }
    g->from_s += (double)rows[i]->counted_ns / 1e9;
  }
  for (size_t w = 0; w < LYNX_COUNT(wanted) && status == LYNX_OK; w++) put_figure(&result->arena, p, &wanted[w], &g->figures[w]);
  for (int k = 0; k < METRICS_COUNT; k++) {
    free(g->columns[k].at_ns);
    free(g->columns[k].value);
  }
  free(g);
  return status;
}

/* By the server, here, and what lies between. */
static char *latency_text(const struct result_server *f, char *text, size_t size) {
  char own[32], here[32], between[32];
  (void)number_duration_text(own, sizeof own, f->value);
  if (isnan(f->here) || isinf(f->here)) (void)snprintf(text, size, "%s on average", own);
  else if (f->here < f->value)
    (void)snprintf(text, size, "%s on average, %s here: it counts other requests, too, or from an earlier moment", own,
                   number_duration_text(here, sizeof here, f->here));
  else
    (void)snprintf(text, size, "%s on average, %s here: %s lie before its clock and behind it", own,
                   number_duration_text(here, sizeof here, f->here), number_duration_text(between, sizeof between, f->here - f->value));
  return text;
}

char *server_figure_text(const struct result_server *figure, char *text, size_t size) {
  if (strcmp(formulas[figure->formula].unit, "ns") == 0) return latency_text(figure, text, size);
  const char *unit = formulas[figure->formula].unit;
  bool share = strcmp(unit, "share") == 0;
  double scale = share ? 100 : 1;
  int n = snprintf(text, size, "%.4g %s", scale * figure->value, share ? "%" : unit);
  if (figure->formula != FORMULA_PREEMPTIONS && figure->n_points > 1 && n > 0 && (size_t)n < size)
    (void)snprintf(text + n, size - (size_t)n, " (%.3g to %.3g over time)", scale * figure->least, scale * figure->greatest);
  return text;
}
