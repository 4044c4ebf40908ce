#include "attribute/attribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/known_file.h"
#include "base/side_by_side.h"
#include "record/bundle.h"

static const double BUSY_SHARE = 0.85, IDLE_SHARE = 0.5;

void attribution_init(struct attribution *attribution, const struct account_options *options, int64_t device) {
  *attribution = (struct attribution){.options = *options, .device = device, .preferred = -1};
}

/* The device whose spans take the most time. */
static int64_t busiest(struct attributed_trace *trace) {
  const struct timeline *t = &trace->timeline;
  size_t n = account_devices(t, trace->devices, DEVICES_MAX), best = 0;
  trace->n_devices = n < DEVICES_MAX ? n : DEVICES_MAX;
  for (size_t i = 0; i < t->n_spans; i++)
    for (size_t d = 0; d < trace->n_devices && kind_on_device((enum trace_kind)t->spans[i].kind); d++)
      if (t->tracks[t->spans[i].track].process == trace->devices[d]) trace->busy_ns[d] = sum_ns(trace->busy_ns[d], t->spans[i].duration_ns);
  for (size_t d = 1; d < trace->n_devices; d++)
    if (trace->busy_ns[d] > trace->busy_ns[best]) best = d;
  return trace->n_devices > 0 ? trace->devices[best] : -1;
}

static int by_time(const void *a, const void *b) {
  const struct name_total *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  return x->name < y->name ? -1 : x->name > y->name;
}

static bool is_about(const struct attributed_trace *trace, const struct span *s) {
  if (trace->account.device < 0) return s->kind == TRACE_OPERATOR || s->kind == TRACE_SYSTEM;
  return kind_on_device((enum trace_kind)s->kind) && !(s->flags & SPAN_ORPHAN) &&
         trace->timeline.tracks[s->track].process == trace->account.device;
}

static bool is_range(const struct attributed_trace *trace, const struct span *s) {
  bool named = s->kind == TRACE_ANNOTATION || s->kind == TRACE_OTHER;
  return named && !trace->timeline.tracks[s->track].on_device && trace->timeline.names[s->name].work != WORK_STEP;
}

static struct name_totals total_names(const struct attributed_trace *trace,
                                      bool (*wanted)(const struct attributed_trace *trace, const struct span *span)) {
  const struct timeline *t = &trace->timeline;
  struct name_totals ret = {.at = xalloc(t->n_names + 1, sizeof *ret.at)};
  int64_t from_ns = trace->account.window == WINDOW_STEPS ? trace->account.from_ns : INT64_MIN; /* not the first steps, that make ready */
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    if (!wanted(trace, s) || s->start_ns < from_ns) continue;
    struct name_total *n = &ret.at[s->name];
    if (n->n == 0 || s->duration_ns < n->least_ns) n->least_ns = s->duration_ns;
    if (s->duration_ns > n->greatest_ns) n->greatest_ns = s->duration_ns;
    n->n++;
    n->ns = sum_ns(n->ns, s->duration_ns);
  }
  for (size_t i = 0; i < t->n_names; i++)
    if (ret.at[i].n > 0) {
      ret.at[ret.n] = ret.at[i];
      ret.at[ret.n++].name = (uint32_t)i;
    }
  qsort(ret.at, ret.n, sizeof *ret.at, by_time);
  return ret;
}

/* Spans go to the timeline, those of requests to the requests, samples to the samples: a trace holds one of the three. */
static void take_span(void *context, const struct trace_span *span) {
  struct attributed_trace *t = context;
  if (span->kind == TRACE_REQUEST) requests_add(&t->requests, span);
  else timeline_add_span(&t->timeline, span);
}

static void take_flow(void *context, const struct trace_flow *flow) {
  timeline_add_flow(&((struct attributed_trace *)context)->timeline, flow);
}

static void take_sample(void *context, const struct trace_sample *sample) {
  samples_add(&((struct attributed_trace *)context)->samples, sample);
}

static void take_fact(void *context, const char *key, struct bytes value) {
  timeline_add_fact(&((struct attributed_trace *)context)->timeline, key, value);
}

static void take_loss(void *context, enum trace_loss what, int64_t n) {
  ((struct attributed_trace *)context)->timeline.lost[what] += n;
}

static void trace_release(struct attributed_trace *t) {
  timeline_release(&t->timeline);
  account_release(&t->account);
  host_names_release(&t->host);
  requests_release(&t->requests);
  samples_release(&t->samples);
  free(t->names.at);
  free(t->ranges.at);
}

/* One sweep: the account, and what the host was in meanwhile. */
static void make_account(const struct attribution *attribution, int64_t device, struct attributed_trace *trace) {
  struct account_options told = attribution->options;
  struct host_naming *naming = host_names_new(&trace->timeline, device);
  told.each = naming != NULL ? host_names_take : NULL;
  told.context = naming;
  account_run(&trace->timeline, device, &told, &trace->account);
  host_names_finish(naming, &trace->host);
}

static enum lynx_status fail_unknown(size_t n_bytes, const char *known, struct lynx_error *error) {
  if (known != NULL && error != NULL) *error = (struct lynx_error){.status = LYNX_OK}; /* it says more than what a reader missed */
  if (known != NULL) return lynx_fail(error, LYNX_INPUT, "it is %s", known);
  return lynx_fail(error, LYNX_INPUT,
                   n_bytes == 0 ? "an empty file" : "no trace that is known: `lynxbench attribute --help` lists the formats");
}

/* The one that was asked for, or is preferred and there; else the busiest. False: the one that was asked for is not there. */
static bool choose_device(const struct attribution *attribution, struct attributed_trace *trace, int64_t *ret) {
  int64_t wanted = attribution->device >= 0 ? attribution->device : attribution->preferred;
  *ret = busiest(trace);
  for (size_t i = 0; i < trace->n_devices && wanted >= 0; i++)
    if (trace->devices[i] == wanted) return *ret = wanted, true;
  return attribution->device < 0;
}

static enum lynx_status read_one(const struct attribution *attribution, const struct attribution_input *input,
                                 struct attributed_trace *trace, struct lynx_error *error) {
  char *head = xalloc(TRACE_HEAD, 1);
  size_t n = 0;
  enum lynx_status status = trace_source_head(input->source, head, &n, error);
  const struct trace_reader *reader = status == LYNX_OK ? trace_sniff(head, n) : NULL;
  const char *known = status == LYNX_OK && !bundle_head(head, n) ? known_file_text(head, n, "attribute") : NULL;
  free(head);
  if (status != LYNX_OK) return status;
  if (reader == NULL) return fail_unknown(n, known, error);
  *trace = (struct attributed_trace){.path = input->path, .reader = reader->name, .bytes = input->bytes};
  timeline_init(&trace->timeline, reader->operators_compute);
  trace->samples.wanted = attribution->event;
  struct trace_sink sink = {.context = trace,
                            .span = take_span,
                            .flow = take_flow,
                            .sample = take_sample,
                            .fact = take_fact,
                            .lost = take_loss,
                            .progress = input->progress,
                            .progress_context = input->context};
  status = reader->read(input->source, &sink, error);
  if (status == LYNX_OK) {
    timeline_finish(&trace->timeline);
    collective_rates_of(&trace->timeline, &trace->rates);
    trace->content = trace->requests.n_spans > 0                    ? CONTENT_REQUESTS
                     : trace->samples.n + trace->samples.n_idle > 0 ? CONTENT_SAMPLES
                                                                    : CONTENT_TIMELINE;
    if (trace->content == CONTENT_TIMELINE && trace->samples.n_other > 0)
      status = lynx_fail(error, LYNX_INPUT, "it holds no sample of the event %.60s; it has %lld of others, such as %s",
                         trace->samples.event, (long long)trace->samples.n_other, trace->samples.other);
    else if (trace->content == CONTENT_TIMELINE && trace->timeline.n_spans == 0)
      status = lynx_fail(error, LYNX_INPUT, "it holds no event with a duration: nothing to account for");
  }
  if (status != LYNX_OK) {
    trace_release(trace);
    return status == LYNX_INPUT && known != NULL ? fail_unknown(n, known, error) : status;
  }
  if (trace->content != CONTENT_TIMELINE) {
    if (trace->content == CONTENT_REQUESTS) requests_finish(&trace->requests);
    else samples_finish(&trace->samples);
    return LYNX_OK;
  }
  int64_t device;
  if (!choose_device(attribution, trace, &device)) {
    trace_release(trace);
    return lynx_fail(error, LYNX_INPUT, "it shows no work of device %lld", (long long)attribution->device);
  }
  make_account(attribution, device, trace);
  enum account_window asked = attribution->options.window;
  if ((asked != WINDOW_AUTO && trace->account.window != asked) || trace->account.wall_ns <= 0) {
    bool empty = trace->account.wall_ns <= 0;
    trace_release(trace);
    if (empty) return lynx_fail(error, LYNX_INPUT, "the window is empty: no event in it has a duration");
    return lynx_fail(error, LYNX_INPUT,
                     asked == WINDOW_STEPS ? "it holds no profiler steps for --window steps" : "it shows no device for --window device");
  }
  trace->names = total_names(trace, is_about);
  trace->ranges = total_names(trace, is_range);
  return LYNX_OK;
}

/* --- several at once --- */

struct work {
  const struct attribution *attribution;
  const struct attribution_input *inputs;
  struct attributed_trace *traces;
  enum lynx_status *status;
  struct lynx_error *errors;
};

static void work_on(void *context, size_t i) {
  const struct work *w = context;
  w->status[i] = read_one(w->attribution, &w->inputs[i], &w->traces[i], &w->errors[i]);
}

enum lynx_status attribution_add(struct attribution *attribution, const struct attribution_input *inputs, size_t n, size_t n_threads,
                                 size_t *ret_failed, struct lynx_error *error) {
  *ret_failed = 0;
  if (attribution->n_traces + n > TRACES_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d traces", TRACES_MAX);
  attribution->traces = xgrow(attribution->traces, attribution->n_traces + n, sizeof *attribution->traces);
  struct work w = {.attribution = attribution,
                   .inputs = inputs,
                   .traces = &attribution->traces[attribution->n_traces],
                   .status = xalloc(n + 1, sizeof *w.status),
                   .errors = xalloc(n + 1, sizeof *w.errors)};
  side_by_side(n, n_threads, work_on, &w);
  enum lynx_status status = LYNX_OK;
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (w.status[i] == LYNX_OK) w.traces[kept++] = w.traces[i];
    else if (status == LYNX_OK) {
      status = w.status[i];
      *ret_failed = i;
      if (error != NULL) *error = w.errors[i];
    }
  }
  attribution->n_traces += kept;
  free(w.status);
  free(w.errors);
  return status;
}

/* Different ranks of one job? */
static bool are_ranks(const struct attribution *a) {
  if (a->n_traces < 2) return false;
  for (size_t i = 0; i < a->n_traces; i++) {
    const char *rank = timeline_fact(&a->traces[i].timeline, "rank");
    if (rank == NULL || a->traces[i].timeline.n_collectives == 0) return false;
    for (size_t k = 0; k < i; k++)
      if (strcmp(rank, timeline_fact(&a->traces[k].timeline, "rank")) == 0) return false;
  }
  return true;
}

void attribution_find(struct attributed_trace *t, const struct collectives *collectives) {
  const struct evidence evidence = {.timeline = &t->timeline, .account = &t->account, .host = &t->host, .collectives = collectives};
  if (t->content == CONTENT_TIMELINE) t->n_findings = rules_run(&evidence, t->findings, FINDINGS_MAX);
}

void attribution_finish(struct attribution *a) {
  a->ranks = are_ranks(a);
  if (a->ranks) {
    struct rank_calls calls[TRACES_MAX] = {{.n = 0}};
    for (size_t i = 0; i < a->n_traces; i++) collectives_list(&a->traces[i].timeline, (int64_t)i, &calls[i]);
    collectives_match(calls, a->n_traces, NULL, NULL, &a->collectives);
    for (size_t i = 0; i < a->n_traces; i++) free(calls[i].at);
  }
  for (size_t i = 0; i < a->n_traces; i++) attribution_find(&a->traces[i], a->ranks ? &a->collectives : NULL);
}

void attribution_release(struct attribution *a) {
  for (size_t i = 0; i < a->n_traces; i++) trace_release(&a->traces[i]);
  free(a->traces);
  collectives_release(&a->collectives);
  *a = (struct attribution){.n_traces = 0};
}

struct attribution_cause host_name_cause(const struct host_name *name) {
  return (struct attribution_cause){name->state, name->layered, name->layer, name->ns};
}

size_t attribution_causes(const struct attributed_trace *trace, struct attribution_cause causes[CAUSES_MAX]) {
  const struct account *a = &trace->account;
  struct attribution_cause found[CAUSES_MAX];
  size_t n_found = 0, n = 0;
  for (int i = 0; i < STATE_COUNT; i++) {
    struct attribution_cause whole = {.state = (enum account_state)i, .ns = a->states[i]};
    whole.layered = account_state_layer(whole.state, a->device < 0, &whole.layer);
    const int64_t *divided = i == STATE_PYTHON ? trace->host.python_ns : i == STATE_RANGE ? trace->host.range_ns : NULL;
    for (int l = 0; divided != NULL && l < LAYER_COUNT; l++) {
      if (divided[l] == 0) continue;
      found[n_found++] = (struct attribution_cause){whole.state, true, (enum layer)l, divided[l]};
      whole.ns -= divided[l];
    }
    if (divided != NULL) whole.layered = false; /* what is left is of no file, and of no words, that are known */
    if ((i == STATE_OPERATOR || i == STATE_LAUNCH || i == STATE_SYNC) && (a->device_unseen || a->device_named))
      whole.layered = false; /* it may wait for the device that was not recorded */
    if (whole.ns > 0) found[n_found++] = whole;
  }
  for (size_t i = 0; i < n_found; i++) {
    size_t k = n++;
    for (; k > 0 && causes[k - 1].ns < found[i].ns; k--) causes[k] = causes[k - 1];
    causes[k] = found[i];
  }
  return n;
}

struct bound_shares attribution_bound_shares(const struct account *a) {
  struct bound_shares s = {.idle = 1};
  if (a->wall_ns <= 0) return s;
  for (int i = 0; i < STATE_COMMUNICATION; i++) s.computing += (double)a->states[i] / (double)a->wall_ns;
  s.communicating = (double)a->states[STATE_COMMUNICATION] / (double)a->wall_ns;
  for (int i = STATE_COPY_TO_DEVICE; i <= STATE_SET; i++) s.copying += (double)a->states[i] / (double)a->wall_ns;
  s.idle = 1 - s.computing - s.communicating - s.copying;
  return s;
}

const char *attribution_bound_text(enum bound_by bound) {
  static const char *const texts[] = {[BOUND_DEVICE] = "hardware",
                                      [BOUND_COMMUNICATION] = "communication",
                                      [BOUND_COPIES] = "copies",
                                      [BOUND_SOFTWARE] = "software",
                                      [BOUND_MIXED] = "mixed",
                                      [BOUND_FEW] = "not established",
                                      [BOUND_UNKNOWN] = "not established"};
  return texts[bound];
}

enum bound_by attribution_bound(const struct account *a) {
  enum { WORK_LEAST = 10 };
  if (a->device < 0 || a->wall_ns <= 0) return BOUND_UNKNOWN;
  const struct bound_shares s = attribution_bound_shares(a);
  int64_t n = 0;
  for (int i = 0; i < WORK_CLASS_COUNT; i++) n += a->class_n[i];
  if (n < WORK_LEAST) return account_unexplained_share(a) > 0.2 ? BOUND_UNKNOWN : BOUND_FEW;
  if (s.computing >= BUSY_SHARE) return BOUND_DEVICE;
  if (s.communicating >= IDLE_SHARE) return BOUND_COMMUNICATION;
  if (s.copying >= IDLE_SHARE) return BOUND_COPIES;
  /* What the device did is known; why it did nothing may not be. */
  double unexplained = account_unexplained_share(a), most = fmax(s.computing, fmax(s.communicating, s.copying));
  bool settled = most >= IDLE_SHARE && most > 2 * unexplained; /* whatever the rest was, this was more */
  if (unexplained > 0.2 && s.idle - unexplained < IDLE_SHARE && !settled) return BOUND_UNKNOWN;
  return 1 - s.idle < IDLE_SHARE ? BOUND_SOFTWARE : BOUND_MIXED;
}

double attribution_host_share(const struct attributed_trace *trace) {
  const struct account *a = &trace->account;
  size_t n_launching = 0;
  for (size_t i = 0; i < trace->timeline.n_tracks; i++) n_launching += track_launches_on(&trace->timeline.tracks[i], a->device);
  if (a->device < 0 || n_launching != 1 || a->wall_ns <= 0) return -1;
  return (double)a->host_own_ns / (double)a->wall_ns;
}
