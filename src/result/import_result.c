#include "result/import_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "result/values.h"
#include "stats/quantile.h"

enum { FIGURES_MAX = 4096, TEXTS_MAX = 1000, TEXT_BYTES = 400, STATISTICS_MAX = 16, BURSTS = 4 };

/* --- what readers call --- */

const char *import_words(struct imported *imported, const char *text) {
  char safe[TEXT_BYTES];
  return text != NULL ? arena_copy(&imported->arena, text_sanitise(safe, sizeof safe, text, strlen(text))) : "";
}

static void append(struct imported *m, const char ***list, size_t *n, const char *text) {
  if (*n == TEXTS_MAX) return;                                     /* who reads that many reads no more */
  *list = arena_room(&m->arena, (void *)*list, *n, sizeof **list); /* pointers are what is meant */
  (*list)[(*n)++] = import_words(m, text);
}

void import_lacks(struct imported *imported, const char *text) {
  append(imported, &imported->lacks, &imported->n_lacks, text);
}

void import_against(struct imported *imported, const char *text) {
  append(imported, &imported->against, &imported->n_against, text);
}

void import_figure_add(struct imported *imported, const char *name, const char *formula, const char *unit, double stated) {
  if (!isfinite(stated) || imported->n_figures == FIGURES_MAX) return;
  size_t n = imported->n_figures++;
  imported->figures = arena_room(&imported->arena, imported->figures, n, sizeof *imported->figures);
  imported->figures[n] = (struct import_figure){import_words(imported, name), formula, unit, stated, NAN};
}

void import_figure_count(struct imported *imported, const char *name, const char *formula, double more) {
  for (size_t i = 0; i < imported->n_figures; i++)
    if (strcmp(imported->figures[i].name, name) == 0) {
      imported->figures[i].stated += more;
      return;
    }
  import_figure_add(imported, name, formula, "1", more);
}

double import_figure_stated(const struct imported *imported, const char *name) {
  for (size_t i = 0; i < imported->n_figures; i++)
    if (strcmp(imported->figures[i].name, name) == 0) return imported->figures[i].stated;
  return NAN;
}

double import_failed_share(const struct imported *m) {
  double bad = import_figure_stated(m, "requests that failed"), good = import_figure_stated(m, "requests that went well"),
         all = import_figure_stated(m, "requests");
  if (isnan(all)) all = !isnan(good) ? good + bad : import_figure_stated(m, "requests per second") * m->seconds;
  if (bad > 0 && !(all > 0)) return 1;
  return all > 0 ? bad / all : NAN;
}

void import_agree(struct imported *imported, const char *what, double stated, const char *from, double derived, double tolerance) {
  char text[TEXT_BYTES];
  double greater = fmax(fabs(stated), fabs(derived));
  if (isnan(stated) || isnan(derived) || fabs(stated - derived) <= tolerance * greater) return;
  (void)snprintf(text, sizeof text, "%.160s is stated as %.7g, and %.160s gives %.7g", what, stated, from, derived);
  import_against(imported, text);
}

enum lynx_status import_each_line(const struct import_file *file, import_line *visit, void *context, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  int number = 1;
  for (const char *at = file->text; *at != 0 && status == LYNX_OK; number++) {
    size_t length = strcspn(at, "\n");
    if (length > 0) status = visit(context, at, length, error);
    if (status != LYNX_OK) {
      error->line = 0; /* of the line's own text */
      lynx_error_at(error, file->path, number, NULL);
    }
    at += length + (at[length] != 0);
  }
  return status;
}

bool import_tokens(double value, int64_t *ret) {
  *ret = -1;
  if (isnan(value)) return true;
  if (!(value >= 0) || value > INT32_MAX || value > floor(value)) return false;
  *ret = (int64_t)value;
  return true;
}

enum lynx_status import_request_add(struct imported *imported, const struct import_request *request, struct lynx_error *error) {
  const struct import_request *r = request;
  if (imported->n_requests == IMPORT_REQUESTS_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d requests", IMPORT_REQUESTS_MAX);
  if (!isfinite(r->start_s) || !isfinite(r->end_s) || r->end_s < r->start_s)
    return lynx_fail(error, LYNX_INPUT, "request %zu has no start, no end, or ends before it begins", imported->n_requests);
  if (imported->n_requests > 0 &&
      !(fabs(r->end_s - imported->requests[0].start_s) < TIME_MAX_S && fabs(r->start_s - imported->requests[0].start_s) < TIME_MAX_S))
    return lynx_fail(error, LYNX_INPUT, "request %zu is years away from the first", imported->n_requests);
  if (r->end_s - r->start_s > TIME_MAX_S) return lynx_fail(error, LYNX_INPUT, "request %zu takes years", imported->n_requests);
  imported->requests = xroom(imported->requests, imported->n_requests, &imported->room_requests, sizeof *imported->requests);
  struct import_request *copy = &imported->requests[imported->n_requests++];
  *copy = *r;
  copy->reason = import_words(imported, r->reason);
  /* A token before the request or after its end: no time of a token is then believed, and it is reported. */
  bool outside = copy->first_token_s < r->start_s || copy->first_token_s > r->end_s || copy->last_token_s > r->end_s ||
                 copy->last_token_s < copy->first_token_s;
  if (outside) copy->first_token_s = copy->last_token_s = NAN;
  imported->n_outside += outside;
  return LYNX_OK;
}

void import_gap_add(struct imported *imported, double gap_s) {
  imported->gaps_s = xroom(imported->gaps_s, imported->n_gaps, &imported->room_gaps, sizeof *imported->gaps_s);
  imported->gaps_s[imported->n_gaps++] = gap_s;
}

void import_release(struct imported *imported) {
  free(imported->requests);
  free(imported->gaps_s);
  arena_release(&imported->arena);
  *imported = (struct imported){.reader = ""};
}

/* --- recomputing --- */

/* One value of one request by a tool's formula, in seconds; NaN: it has none. */
static double value_of(const char *formula, const struct import_request *r) {
  double tokens = (double)r->output_tokens, first = r->first_token_s - r->start_s, whole = r->end_s - r->start_s;
  if (!r->ok) return NAN;
  if (strcmp(formula, "lynx.ttft.1") == 0) return first + r->late_s;
  if (strcmp(formula, "lynx.e2e.1") == 0) return whole + r->late_s;
  if (strstr(formula, ".ttft.") != NULL) return first;
  if (strstr(formula, "latency.1") != NULL && strstr(formula, "inter_token") == NULL) return whole;
  if (strcmp(formula, "vllm.e2el.1") == 0 || strcmp(formula, "server.e2e.1") == 0) return whole;
  if (strcmp(formula, "vllm.tpot.1") == 0 || strcmp(formula, "aiperf.inter_token_latency.1") == 0)
    return r->output_tokens > 1 ? (whole - first) / (tokens - 1) : NAN;
  if (strcmp(formula, "guidellm.itl.1") == 0 || strcmp(formula, "lynx.tpot.1") == 0)
    return r->output_tokens > 1 ? (r->last_token_s - r->first_token_s) / (tokens - 1) : NAN;
  if (strcmp(formula, "guidellm.tpot.1") == 0) return r->output_tokens > 0 ? (r->last_token_s - r->start_s) / tokens : NAN;
  return NAN;
}

/* The statistic that a figure's name ends in, as a place from 0 (the least) to 1; NaN: the mean, or none. */
static double place_of(const char *name, bool *ret_mean) {
  const char *end = strrchr(name, ' ');
  *ret_mean = end != NULL && strcmp(end, " mean") == 0;
  if (end == NULL || *ret_mean) return NAN;
  if (strcmp(end, " min") == 0) return 0;
  if (strcmp(end, " max") == 0) return 1;
  if (strcmp(end, " median") == 0) return 0.5;
  double p = NAN;
  return end[1] == 'p' && number_double(end + 2, strlen(end + 2), &p) && p >= 0 && p <= 100 ? p / 100 : NAN;
}

/* GuideLLM counts each request's time per token as often as it has tokens. */
static double weight_of(const char *formula, const struct import_request *r) {
  if (strcmp(formula, "guidellm.tpot.1") == 0) return (double)r->output_tokens;
  return strcmp(formula, "guidellm.itl.1") == 0 ? (double)(r->output_tokens - 1) : 1;
}

double import_per_second(const char *unit) {
  return strcmp(unit, "ms") == 0 ? 1e3 : strcmp(unit, "ns") == 0 ? 1e9 : strcmp(unit, "us") == 0 ? 1e6 : 1;
}

struct totals {
  double from_s, to_s, n_ok, n_failed, prompt_tokens, output_tokens, in_flight_s, longest_s;
};

static struct totals total(const struct imported *imported) {
  struct totals t = {.from_s = INFINITY, .to_s = -INFINITY};
  for (size_t i = 0; i < imported->n_requests; i++) {
    const struct import_request *r = &imported->requests[i];
    t.from_s = fmin(t.from_s, r->start_s);
    t.to_s = fmax(t.to_s, r->end_s);
    t.n_ok += r->ok;
    t.n_failed += !r->ok;
    t.in_flight_s += r->end_s - r->start_s;
    t.longest_s = fmax(t.longest_s, r->end_s - r->start_s);
    t.prompt_tokens += r->ok && r->prompt_tokens > 0 ? (double)r->prompt_tokens : 0;
    t.output_tokens += r->ok && r->output_tokens > 0 ? (double)r->output_tokens : 0;
  }
  return t;
}

/* A rate is over the time that the tool says it measured, or from the first send to the last end. */
static double rate_of(const char *name, const struct totals *t, double seconds) {
  if (!(seconds > 0)) return NAN;
  if (strcmp(name, "requests per second") == 0) return t->n_ok / seconds;
  if (strcmp(name, "output tokens per second") == 0 && t->output_tokens > 0) return t->output_tokens / seconds;
  if (strcmp(name, "input tokens per second") == 0 && t->prompt_tokens > 0) return t->prompt_tokens / seconds;
  if (strcmp(name, "tokens per second") == 0 && t->prompt_tokens > 0) return (t->prompt_tokens + t->output_tokens) / seconds;
  return NAN;
}

static double count_of(const char *name, const struct totals *t) {
  if (strcmp(name, "requests that went well") == 0) return t->n_ok;
  if (strcmp(name, "requests that failed") == 0) return t->n_failed;
  if (strcmp(name, "output tokens") == 0 && t->output_tokens > 0) return t->output_tokens;
  if (strcmp(name, "input tokens") == 0 && t->prompt_tokens > 0) return t->prompt_tokens;
  return NAN;
}

/* The most of its requests that were in flight at one time. */
static double peak_in_flight(const struct imported *m) {
  struct values starts = {0}, ends = {0};
  size_t peak = 0;
  for (size_t i = 0; i < m->n_requests; i++) values_add(&starts, m->requests[i].start_s), values_add(&ends, m->requests[i].end_s);
  quantile_sort(starts.at, starts.n);
  quantile_sort(ends.at, ends.n);
  for (size_t i = 0, over = 0; i < starts.n; i++) {
    while (over < i && ends.at[over] <= starts.at[i]) over++; /* one that takes no time overlaps itself */
    peak = i + 1 - over > peak ? i + 1 - over : peak;
  }
  values_release(&starts);
  values_release(&ends);
  return (double)peak;
}

/* The time that a tool says it measured must have room for what it measured in it. */
static void check_duration(struct imported *m, const struct totals *t) {
  double span = m->starts_unknown ? t->longest_s : t->to_s - t->from_s, room = m->seconds > 0 ? m->seconds : span;
  if (m->seconds > 0 && m->seconds < 0.98 * span)
    import_agree(m, "the time that was measured, in seconds,", m->seconds,
                 m->starts_unknown ? "its longest request" : "the first send to the last end", span, 0);
  double peak = m->concurrency > 0 && !m->starts_unknown ? peak_in_flight(m) : 0;
  if (peak > 1.1 * (double)m->concurrency + 1) /* the next may be sent before the last one's end is written down */
    import_agree(m, "the most requests at once", (double)m->concurrency, "the count of those that overlap", peak, 0);
  else if (m->concurrency > 0 && room > 0 && t->in_flight_s / room > 1.02 * (double)m->concurrency)
    import_agree(m, "the most requests at once", (double)m->concurrency, "the time that its requests were in flight, over the whole,",
                 t->in_flight_s / room, 0);
}

/* Of one formula over the requests: each value with how often it counts. */
struct weighed {
  struct weighed_value {
    double value, weight;
  } * at; /* ascending */
  size_t n, room;
  double weight;
};

static int by_value(const void *a, const void *b) {
  const struct weighed_value *x = a, *y = b;
  return (x->value > y->value) - (x->value < y->value);
}

static void weighed_add(struct weighed *w, double value, double weight) {
  if (!isfinite(value) || !(weight > 0)) return;
  w->at = xroom(w->at, w->n, &w->room, sizeof *w->at);
  w->at[w->n++] = (struct weighed_value){value, weight};
  w->weight += weight;
}

static void values_by(const struct imported *m, const char *formula, struct weighed *ret) {
  bool pooled = strcmp(formula, "vllm.itl.1") == 0 || strcmp(formula, "lynx.itl.1") == 0;
  ret->n = 0;
  ret->weight = 0;
  for (size_t i = 0; i < m->n_requests; i++) weighed_add(ret, value_of(formula, &m->requests[i]), weight_of(formula, &m->requests[i]));
  for (size_t i = 0; pooled && i < m->n_gaps; i++) weighed_add(ret, m->gaps_s[i], 1);
  if (ret->n > 0) qsort(ret->at, ret->n, sizeof *ret->at, by_value);
}

static double weighed_mean(const struct weighed *w) {
  double sum = 0;
  for (size_t i = 0; i < w->n; i++) sum += w->at[i].value * w->at[i].weight;
  return sum / w->weight;
}

/* The value at that place of a list in which each value is repeated as often as it weighs. */
static double weighed_at(const struct weighed *w, double place) {
  double before = 0;
  for (size_t i = 0; i < w->n; i++) {
    before += w->at[i].weight;
    if (place < before) return w->at[i].value;
  }
  return w->at[w->n - 1].value;
}

/* Tools take a quantile by different ranks: what lies between the ranks that any of them takes is as good as the linear one. */
static double quantile_like(const struct weighed *w, double p, double stated) {
  double last = w->weight - 1, at = p * last, above = p * w->weight, slack = 1e-3 * fabs(stated);
  double low = weighed_at(w, floor(fmin(at, fmax(above - 1, 0)))), high = weighed_at(w, fmin(ceil(fmax(at, above)), last));
  if (stated >= low - slack && stated <= high + slack) return stated;
  double x = weighed_at(w, floor(at)), y = weighed_at(w, fmin(floor(at) + 1, last));
  return x + (at - floor(at)) * (y - x);
}

double import_recomputed(const struct imported *imported, const char *formula, const char *name) {
  struct weighed v = {.n = 0};
  bool mean;
  double p = place_of(name, &mean), value = NAN;
  values_by(imported, formula, &v);
  if (v.n > 0 && (mean || !isnan(p))) value = mean ? weighed_mean(&v) : quantile_like(&v, p, NAN);
  free(v.at);
  return value;
}

void import_recompute(struct imported *m) {
  const struct totals t = total(m);
  double seconds = m->seconds > 0 ? m->seconds : t.to_s - t.from_s;
  struct weighed v = {.n = 0};
  const char *formula = "";
  if (m->n_requests == 0) return;
  check_duration(m, &t);
  for (size_t i = 0; i < m->n_figures; i++) {
    struct import_figure *f = &m->figures[i];
    bool counts = strstr(f->formula, ".count.") != NULL, mean;
    double p = place_of(f->name, &mean), rate = rate_of(f->name, &t, seconds), count = count_of(f->name, &t),
           scale = import_per_second(f->unit);
    if (strcmp(formula, f->formula) != 0) { /* figures of one formula follow one another */
      formula = f->formula;
      values_by(m, formula, &v);
    }
    if (!isnan(rate) || !isnan(count)) f->recomputed = !isnan(rate) ? rate : count;
    else if (mean && v.n > 0) f->recomputed = weighed_mean(&v) * scale;
    else if (!isnan(p) && v.n > 0) f->recomputed = quantile_like(&v, p, f->stated / scale) * scale;
    import_agree(m, arena_printf(&m->arena, "'%s'", f->name), f->stated, "its own requests", f->recomputed, counts ? 0 : 0.02);
  }
  free(v.at);
}

/* --- figures against one another --- */

/* Quantiles of the same values do not fall, and the mean lies between the least and the greatest. */
static void check_pair(struct imported *m, const struct import_figure *a, const struct import_figure *b) {
  bool mean_a, mean_b;
  double p = place_of(a->name, &mean_a), q = place_of(b->name, &mean_b), slack = 1e-6 * fmax(fabs(a->stated), fabs(b->stated));
  bool less = (p < q || (p <= 0 && mean_b) || (mean_a && q >= 1)) && a->stated > b->stated + slack,
       more = (q < p || (q <= 0 && mean_a) || (mean_b && p >= 1)) && b->stated > a->stated + slack;
  if (less) import_against(m, arena_printf(&m->arena, "'%s' is more than '%s' of the same requests", a->name, b->name));
  if (more) import_against(m, arena_printf(&m->arena, "'%s' is more than '%s' of the same requests", b->name, a->name));
}

static bool same_values(const struct import_figure *a, const struct import_figure *b) {
  const char *x = strrchr(a->name, ' '), *y = strrchr(b->name, ' ');
  return x != NULL && y != NULL && x - a->name == y - b->name && strncmp(a->name, b->name, (size_t)(x - a->name)) == 0 &&
         strcmp(a->unit, b->unit) == 0 && strcmp(a->formula, b->formula) == 0;
}

void import_check_order(struct imported *m) {
  for (size_t i = 0; i < m->n_figures; i++)
    for (size_t k = i + 1; k < m->n_figures && k < i + STATISTICS_MAX && same_values(&m->figures[i], &m->figures[k]); k++)
      check_pair(m, &m->figures[i], &m->figures[k]);
}

/* The same statistic of the whole answer, as tools call it; NaN: not stated. */
static double whole_answer(const struct imported *m, const char *statistic) {
  char name[80];
  (void)snprintf(name, sizeof name, "end to end %s", statistic);
  double value = import_figure_stated(m, name);
  if (!isnan(value)) return value;
  (void)snprintf(name, sizeof name, "request latency %s", statistic);
  return import_figure_stated(m, name);
}

void import_check_possible(struct imported *m) {
  static const char *const statistics[] = {"mean", "median", "p50", "p90", "p95", "p99", "max"};
  for (size_t i = 0; i < LYNX_COUNT(statistics); i++) {
    char name[80];
    (void)snprintf(name, sizeof name, "time to first token %s", statistics[i]);
    double first = import_figure_stated(m, name), whole = whole_answer(m, statistics[i]);
    if (first > 1.001 * whole)
      import_against(
          m, arena_printf(&m->arena, "'%s', %.6g ms, is more than the %s of the whole answer, %.6g ms", name, first, statistics[i], whole));
  }
  double peak = import_figure_stated(m, "peak output tokens per second"), mean = import_figure_stated(m, "output tokens per second"),
         most = import_figure_stated(m, "most requests in flight"), allowed = m->concurrency > 0 ? (double)m->concurrency : INFINITY,
         in_flight = import_figure_stated(m, "requests per second") * whole_answer(m, "mean") / 1000;
  if (peak > 0 && peak < 0.99 * mean)
    import_against(m, arena_printf(&m->arena, "its peak of output tokens per second, %.6g, lies below their mean, %.6g", peak, mean));
  /* vLLM's benchmark counts whoever was in flight in one whole second: what ended in it, and what came in its place. */
  double in_a_second = import_figure_stated(m, "requests per second");
  const char *counted = arena_printf(&m->arena, "%g requests were in flight at once, where %g are allowed", most, allowed);
  /* Where all end at once, each of them and who took its place are counted. */
  double replaced = fmax(allowed, BURSTS * (isnan(in_a_second) ? 0 : in_a_second + 1));
  if (most > allowed + replaced) import_against(m, counted);
  else if (most > allowed) import_lacks(m, arena_printf(&m->arena, "%s: its tool counts those of a whole second", counted));
  if (in_flight > 1.05 * allowed + 0.5)
    import_against(m, arena_printf(&m->arena,
                                   "its requests per second times their mean latency are %.6g in flight (Little's law), where %g are "
                                   "allowed",
                                   in_flight, allowed));
}

void import_check_rates(struct imported *m) {
  static const struct {
    const char *rate, *counts[2];
  } rates[] = {{"requests per second", {"requests that went well", NULL}},
               {"output tokens per second", {"output tokens", NULL}},
               {"input tokens per second", {"input tokens", NULL}},
               {"tokens per second", {"input tokens", "output tokens"}}};
  for (size_t i = 0; i < LYNX_COUNT(rates) && m->seconds > 0; i++) {
    double stated = import_figure_stated(m, rates[i].rate), count = import_figure_stated(m, rates[i].counts[0]);
    if (rates[i].counts[1] != NULL) count += import_figure_stated(m, rates[i].counts[1]);
    double room = 0.005 + 0.005 / fmax(fabs(stated), 0.005) + 0.005 / m->seconds;
    import_agree(m, arena_printf(&m->arena, "'%s'", rates[i].rate), stated, "its count over its seconds", count / m->seconds, room);
  }
}
