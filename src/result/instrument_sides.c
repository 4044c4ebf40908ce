#include <math.h>
#include <string.h>

#include "result/instruments.h"
#include "result/rows.h"
#include "telemetry/metrics.h"

/* Of the tools' own documents and sources; `lynxbench import --formats` lists what can be read. */
static const struct instrument_habits habits[] = {
    {"lynx", "the scheduled time, or the first byte written, as the contract says", "the first event with text",
     "the server's usage, else events with text", "the counted windows; warm-up and drain are left out", "its delay is part of its latency",
     false},
    {"vllm", "sending", "the first event with choices, an empty text, too", "the server's usage, else its own tokenizer",
     "the first send to the last end, ramp and tail included", "its delay is left out", false},
    {"aiperf", "sending", "the first event with text, reasoning included", "its own tokenizer, or the server's usage where asked",
     "its whole phase", "its delay is left out", false},
    {"guidellm", "sending", "the first event with text", "the server's usage, else one each event",
     "the first send to the last end, but for the share that it is told to cut off", "its delay is left out", false},
    {"inference_perf", "sending", "the first event with text", "its own tokenizer", "the first start to the last end",
     "its delay is a figure of its own", false},
    {"mlperf", "the scheduled time", "the program's own call", "the program's word", "the first query to the last answer",
     "its delay is part of its latency", false},
    {"perf_analyzer", "sending", NULL, NULL, "the last three windows that agree", "its delay is left out", false},
    {"llama_bench", "the batch itself: there is no request", NULL, "all of the batch; nothing is tokenised or sampled", "each test",
     "there is no arrival", false},
    {"server", "arrival at the server's front", "the first token that is handed on", "the server", "between the two pages",
     "it does not see it", false},
    {"wrk", "sending", NULL, NULL, "the whole run", "its delay is left out", true},
    {"hey", "sending", NULL, NULL, "the whole run", "its delay is left out", true},
    {"ghz", "sending", NULL, NULL, "the whole run", "its delay is left out", true},
    {"k6", "sending", NULL, NULL, "the whole run", "its delay is left out", true},
    {"locust", "sending", NULL, NULL, "the whole run", "its delay is left out", true},
    {"", "not known", NULL, NULL, "not known", "not known", false}};

static const struct instrument_habits *habits_of(const struct imported *m) {
  const char *id = m->n_figures > 0 ? m->figures[0].formula : "";
  size_t i = 0;
  for (; i + 1 < LYNX_COUNT(habits); i++) {
    size_t n = strlen(habits[i].tool);
    if (strncmp(id, habits[i].tool, n) == 0 && id[n] == '.') break;
  }
  return &habits[i];
}

/* Answers that were not streamed come all at once: their first token is the whole answer. Of one token nobody can tell. */
static int streamed_by_requests(const struct imported *m) {
  size_t n = 0, whole = 0;
  for (size_t i = 0; i < m->n_requests; i++) {
    const struct import_request *r = &m->requests[i];
    if (!r->ok || r->output_tokens < 2 || isnan(r->first_token_s)) continue;
    n++;
    whole += r->end_s - r->first_token_s <= 1e-3 * (r->end_s - r->start_s);
  }
  return n == 0 ? -1 : 2 * whole < n;
}

static int streamed_by_figures(const struct imported *m) {
  static const char *const statistics[] = {"mean", "median", "p50"}, *const wholes[] = {"end to end", "request latency"},
                           *const gaps[] = {"time per output token", "inter-token latency"};
  double tokens = import_figure_stated(m, "output tokens") / import_figure_stated(m, "requests that went well");
  if (tokens < 1.5) return -1;
  for (size_t i = 0; i < LYNX_COUNT(statistics); i++) {
    char name[80];
    (void)snprintf(name, sizeof name, "time to first token %s", statistics[i]);
    double first = import_figure_stated(m, name), whole = NAN, gap = NAN;
    for (size_t k = 0; k < LYNX_COUNT(wholes); k++) {
      (void)snprintf(name, sizeof name, "%s %s", wholes[k], statistics[i]);
      whole = isnan(whole) ? import_figure_stated(m, name) : whole;
      (void)snprintf(name, sizeof name, "%s %s", gaps[k], statistics[i]);
      gap = isnan(gap) ? import_figure_stated(m, name) : gap;
    }
    if (first > 0 && whole > 0) return fabs(first - whole) > 1e-3 * whole;
    if (first > 0 && gap > 0) return 1;
  }
  return -1;
}

static int streamed_of(const struct imported *m) {
  if (m->streamed != 0) return m->streamed > 0;
  int by_requests = streamed_by_requests(m);
  return by_requests >= 0 ? by_requests : streamed_by_figures(m);
}

void instrument_of_import(const struct imported *imported, struct instrument *ret) {
  *ret = (struct instrument){.m = *imported, .lateness = "not recorded"};
  ret->habits = habits_of(&ret->m);
  ret->name = ret->m.tool;
  ret->streamed = streamed_of(&ret->m);
}

/* --- a bundle --- */

struct taking {
  struct imported *m;
  const struct row_terms *terms;
  int64_t from_ns;
  double n_ok, n_failed, prompt_tokens, output_tokens, late_s;
};

static enum lynx_status take_row(void *context, const struct row *row) {
  struct taking *t = context;
  const struct bundle_request *q = row->request;
  if (!row->counted || q->scheduled_ns < t->from_ns) return LYNX_OK;
  if (!row->ok || q->written_ns < 0) return t->n_failed++, LYNX_OK;
  bool from_sent = t->terms->contract->counting.latency_from == LATENCY_FROM_SENT;
  int64_t tokens = q->output_tokens >= 0 ? q->output_tokens : q->n_text_events, before = -1;
  struct lynx_error error = {0};
  const struct import_request r = {.start_s = (double)q->written_ns / 1e9,
                                   .first_token_s = q->first_token_ns >= 0 ? (double)q->first_token_ns / 1e9 : NAN,
                                   .last_token_s = q->last_token_ns >= 0 ? (double)q->last_token_ns / 1e9 : NAN,
                                   .end_s = (double)q->end_ns / 1e9,
                                   .late_s = from_sent ? 0 : (double)(q->written_ns - q->scheduled_ns) / 1e9,
                                   .prompt_tokens = q->prompt_tokens,
                                   .output_tokens = tokens,
                                   .ok = true,
                                   .reason = ""};
  for (size_t i = 0; i < row->n_tokens; i++) {
    double ns;
    if (row_gap(row, i, &before, &ns)) import_gap_add(t->m, ns / 1e9);
  }
  t->n_ok++;
  t->prompt_tokens += q->prompt_tokens > 0 ? (double)q->prompt_tokens : 0;
  t->output_tokens += (double)tokens;
  t->late_s += row_lag(t->terms, row) / 1e9;
  return import_request_add(t->m, &r, &error); /* times that no request has were refused before */
}

static void add_latency(struct imported *m, const struct result_precision *p, enum metric metric, const char *name) {
  const struct result_latency *l = &p->latency[metric];
  const char *id = formulas[metric_formulas[metric]].id;
  static const char *const statistics[RESULT_QUANTILES] = {"p50", "p90", "p95", "p99", "p99.9"};
  if (l->n == 0) return;
  import_figure_add(m, arena_printf(&m->arena, "%s mean", name), id, "ns", l->mean.interval.estimate);
  for (size_t i = 0; i < RESULT_QUANTILES; i++)
    import_figure_add(m, arena_printf(&m->arena, "%s %s", name, statistics[i]), id, "ns", l->at[i].quantile.estimate);
}

static void add_figures(struct imported *m, const struct result *result, const struct result_precision *p, const struct taking *t) {
  import_figure_add(m, "requests that went well", "lynx.count.1", "1", t->n_ok);
  import_figure_add(m, "requests that failed", "lynx.count.1", "1", t->n_failed);
  if (t->prompt_tokens > 0) import_figure_add(m, "input tokens", "lynx.count.1", "1", t->prompt_tokens);
  if (result->holds_tokens) import_figure_add(m, "output tokens", "lynx.count.1", "1", t->output_tokens);
  import_figure_add(m, "requests per second", formulas[FORMULA_REQUEST_RATE].id, "1/s", p->request_rate.estimate);
  if (result->holds_tokens)
    import_figure_add(m, "output tokens per second", formulas[FORMULA_OUTPUT_RATE].id, "1/s", p->output_rate.estimate);
  add_latency(m, p, METRIC_TIME_TO_FIRST_TOKEN, "time to first token");
  add_latency(m, p, METRIC_TIME_PER_OUTPUT_TOKEN, "time per output token");
  add_latency(m, p, METRIC_INTER_TOKEN_LATENCY, "inter-token latency");
  add_latency(m, p, METRIC_END_TO_END, "end to end");
}

static void take_load(struct imported *m, const struct contract *c) {
  m->concurrency = contract_in_flight(c);
  m->poisson = c->regime.load == LOAD_POISSON;
  if (m->poisson || c->regime.load == LOAD_CONSTANT) m->rate_per_s = c->regime.rate_per_s;
}

enum lynx_status instrument_of_bundle(struct bundle *bundle, const struct result *result, const char *path, struct instrument *ret,
                                      struct lynx_error *error) {
  const struct result_precision *p = NULL;
  const struct contract *c = &result->contract;
  const struct row_terms terms = row_terms_of(bundle, c);
  enum lynx_status status = LYNX_OK;
  *ret = (struct instrument){.m = {.reader = "lynxbench", .version = "", .endpoint = "", .begun = "", .starts_unknown = true}};
  struct imported *m = &ret->m;
  struct taking taken = {.m = m, .terms = &terms};
  for (size_t i = 0; i < result->n_precisions && p == NULL; i++)
    if (result->precisions[i].n_complete > 0) p = &result->precisions[i];
  if (p == NULL) return lynx_fail(error, LYNX_INPUT, "%s: no session of it is complete", path);
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    if (!p->sessions[i].complete) continue;
    taken.from_ns = p->sessions[i].steady.from_ns;
    m->seconds += (double)(p->sessions[i].steady.to_ns - p->sessions[i].steady.from_ns) / 1e9;
    status = rows_each(bundle, p->sessions[i].id, take_row, &taken, error);
  }
  if (status == LYNX_OK && taken.n_ok < 1) status = lynx_fail(error, LYNX_INPUT, "%s: no counted request went well", path);
  if (status != LYNX_OK) return import_release(m), status;
  m->tool = result->n_precisions > 1 ? arena_printf(&m->arena, "lynxbench, %s", p->name) : "lynxbench";
  m->model = import_words(m, c->workload.model);
  m->files = arena_alloc(&m->arena, 1, sizeof *m->files);
  m->files[0].name = import_words(m, path);
  m->n_files = 1;
  take_load(m, c);
  add_figures(m, result, p, &taken);
  ret->habits = &habits[0];
  ret->name = m->tool;
  ret->streamed = !result->holds_tokens ? -1 : c->workload.stream != 0;
  ret->lateness = arena_printf(&m->arena, "%.3g ms in a latency, on average", 1e3 * taken.late_s / taken.n_ok);
  return LYNX_OK;
}

/* --- a server's own metrics --- */

static double increase(struct bytes before, struct bytes after, enum metrics_series series) {
  return metrics_value(after, series) - metrics_value(before, series);
}

enum lynx_status instrument_of_server(struct bytes before, struct bytes after, const char *path, struct instrument *ret,
                                      struct lynx_error *error) {
  static const struct {
    enum metrics_series of;
    const char *name;
  } counts[] = {
      {METRICS_FINISHED, "requests that went well"}, {METRICS_PROMPT_TOKENS, "input tokens"}, {METRICS_OUTPUT_TOKENS, "output tokens"}};
  static const struct {
    enum metrics_series sum, count;
    const char *name, *formula;
  } times[] = {{METRICS_FIRST_TOKEN_SUM, METRICS_FIRST_TOKEN_COUNT, "time to first token mean", "server.ttft.1"},
               {METRICS_WHOLE_SUM, METRICS_WHOLE_COUNT, "end to end mean", "server.e2e.1"},
               {METRICS_GAP_SUM, METRICS_GAP_COUNT, "inter-token latency mean", "server.itl.1"}};
  static const enum metrics_series told[] = {METRICS_RUNNING,       METRICS_FINISHED,          METRICS_PROMPT_TOKENS,
                                             METRICS_OUTPUT_TOKENS, METRICS_FIRST_TOKEN_COUNT, METRICS_WHOLE_COUNT};
  for (size_t i = 0; i < LYNX_COUNT(told); i++) {
    const char *a = metrics_name(before, told[i]), *b = metrics_name(after, told[i]);
    if (a != NULL && b != NULL && strcmp(a, b) != 0)
      return lynx_fail(error, LYNX_INPUT, "%s: a page with %s, behind one with %s; accepted: two pages of one server", path, b, a);
  }
  *ret = (struct instrument){
      .m = {.reader = "server", .tool = "the server's own metrics", .version = "", .model = "", .endpoint = "", .begun = ""},
      .of_server = true,
      .streamed = -1,
      .lateness = "none: it is the server"};
  struct imported *m = &ret->m;
  for (size_t i = 0; i < LYNX_COUNT(counts); i++) {
    double more = increase(before, after, counts[i].of);
    if (more < 0)
      return import_release(m), lynx_fail(error, LYNX_INPUT,
                                          "%s: %s went back by %g: the server was started again in between, or the pages "
                                          "are in the wrong order; accepted: before, then after",
                                          path, metrics_series_text(counts[i].of), -more);
    import_figure_add(m, counts[i].name, "server.count.1", "1", more);
  }
  double ended = increase(before, after, METRICS_WHOLE_COUNT); /* of servers that count no requests by themselves */
  if (isnan(import_figure_stated(m, counts[0].name)) && ended > 0) import_figure_add(m, counts[0].name, "server.count.1", "1", ended);
  for (size_t i = 0; i < LYNX_COUNT(times); i++) {
    double n = increase(before, after, times[i].count), sum = increase(before, after, times[i].sum);
    if (n > 0 && sum >= 0) import_figure_add(m, times[i].name, times[i].formula, "s", sum / n);
  }
  if (m->n_figures == 0)
    return lynx_fail(error, LYNX_INPUT,
                     "%s: found no counter of a server that is known; accepted: the metrics pages of vLLM, SGLang, TGI, "
                     "llama.cpp, Triton, TensorRT-LLM",
                     path);
  m->files = arena_alloc(&m->arena, 1, sizeof *m->files);
  m->files[0].name = import_words(m, path);
  m->n_files = 1;
  ret->habits = habits_of(m);
  ret->name = m->tool;
  return LYNX_OK;
}

void instrument_release(struct instrument *instrument) {
  import_release(&instrument->m);
}
