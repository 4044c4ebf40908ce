#include "measure/run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "drivers/drivers.h"
#include "executor/capture.h"
#include "load/engine.h"
#include "measure/inputs.h"
#include "measure/service.h"
#include "telemetry/sampler.h"

enum { COMMIT_EVERY_NS = 500000000, LOOK_EVERY_NS = 100000000, SAMPLE_EVERY_NS = 1000000000, ABORT_BUCKETS = 3600, ABORT_LEAST = 20 };

/* A finished request on its way from an engine to the record: a stack without locks, which the writer takes whole. */
struct node {
  struct node *next;
  struct request_row row;
};

struct session_run {
  struct run *run;
  int64_t id;
  int64_t start_ns, realtime_offset_ns;
  struct schedule schedule;
  struct engine_progress progress;
  _Atomic(struct node *) finished;
  atomic_int stop;
  atomic_int n_running;
  /* Of the abort SLO: requests and bad ones by second of their end. */
  int n_all[ABORT_BUCKETS], n_bad[ABORT_BUCKETS];
  bool aborted;
};

struct engine_thread {
  pthread_t thread;
  struct session_run *session;
  struct engine_plan plan;
  void *driver_state;
  struct engine_report report;
  enum lynx_status status;
  struct lynx_error error;
};

struct run {
  const struct run_request *request;
  struct arena arena;
  struct contract contract;
  struct bundle *bundle;
  const struct driver *driver;
  struct service service;
  struct inputs inputs;
  const char *bearer;
  bool *skip; /* per precision: unavailable here */
  void *machine;
  bool machine_known;
  double steal_sum;
  int64_t n_steal;
  struct run_outcome *outcome;
  struct lynx_error *error;
};

static void note(const struct run *run, const char *text) {
  if (run->request->note != NULL) run->request->note(run->request->context, text);
}

static int64_t realtime(const struct run *run) {
  return run->request->clock->realtime_ns(run->request->clock->context);
}

static enum lynx_status put_event(struct run *run, const char *kind, const char *text) {
  return bundle_put_event(run->bundle, realtime(run), kind, text, run->error);
}

/* --- from the engines to the record --- */

static void on_row(void *context, struct request_row *row) {
  struct session_run *session = context;
  struct node *node = xalloc(1, sizeof *node);
  node->row = *row;
  node->next = atomic_load_explicit(&session->finished, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&session->finished, &node->next, node, memory_order_release, memory_order_relaxed)) {}
}

static void watch_harm(struct session_run *session, const struct request_row *row) {
  const struct contract *contract = &session->run->contract;
  const struct contract_abort *rule = &contract->where.abort_slo;
  if (!contract_states(contract, "where.abort_slo") || row->outcome == OUTCOME_ABANDONED) return;
  int64_t took = row->end_ns - row->scheduled_ns;
  if (rule->metric == METRIC_TIME_TO_FIRST_TOKEN && row->first_token_ns >= 0) took = row->first_token_ns - row->scheduled_ns;
  int bucket = (int)(row->end_ns / 1000000000 % ABORT_BUCKETS);
  session->n_all[bucket]++;
  session->n_bad[bucket] += row->outcome != OUTCOME_OK || took > rule->over_ns;
}

static bool does_harm(struct session_run *session, int64_t now_ns) {
  const struct contract_abort *rule = &session->run->contract.where.abort_slo;
  if (!contract_states(&session->run->contract, "where.abort_slo")) return false;
  int64_t second = now_ns / 1000000000, length = rule->window_ns / 1000000000;
  int all = 0, bad = 0;
  for (int64_t s = second; s >= 0 && s > second - length && s > second - ABORT_BUCKETS; s--) {
    all += session->n_all[s % ABORT_BUCKETS];
    bad += session->n_bad[s % ABORT_BUCKETS];
  }
  int next = (int)((second + 1) % ABORT_BUCKETS); /* the ring comes round once an hour */
  session->n_all[next] = session->n_bad[next] = 0;
  return all >= ABORT_LEAST && (double)bad > rule->share * (double)all;
}

static enum lynx_status write_row(struct session_run *session, const struct request_row *row) {
  struct bundle_request r = {.session = session->id,
                             .id = row->id,
                             .phase = phase_text(row->phase),
                             .outcome = outcome_text(row->outcome),
                             .reason = row->reason,
                             .http_status = row->http_status,
                             .input = (int64_t)row->input,
                             .scheduled_ns = row->scheduled_ns,
                             .issued_ns = row->issued_ns,
                             .written_ns = row->written_ns,
                             .first_byte_ns = row->first_byte_ns,
                             .first_token_ns = row->first_token_ns,
                             .last_token_ns = row->last_token_ns,
                             .end_ns = row->end_ns,
                             .prompt_tokens = row->prompt_tokens,
                             .output_tokens = row->output_tokens,
                             .n_text_events = row->n_text_events,
                             .read_lag_ns = row->read_lag_ns,
                             .flags = row->flags,
                             .events = row->events.data,
                             .events_length = row->events.length};
  return bundle_put_request(session->run->bundle, &r, session->run->error);
}

static enum lynx_status write_finished(struct session_run *session) {
  struct node *node = atomic_exchange_explicit(&session->finished, NULL, memory_order_acquire);
  enum lynx_status status = LYNX_OK;
  while (node != NULL) {
    struct node *next = node->next;
    watch_harm(session, &node->row);
    if (status == LYNX_OK) status = write_row(session, &node->row);
    buffer_release(&node->row.events);
    free(node);
    node = next;
  }
  return status;
}

/* --- one session of load --- */

static void *engine_main(void *context) {
  struct engine_thread *thread = context;
  thread->status = engine_run(&thread->plan, thread->session->run->driver, thread->driver_state, &thread->report, &thread->error);
  atomic_fetch_sub(&thread->session->n_running, 1);
  return NULL;
}

struct sampling {
  struct run *run;
  struct session_run *session;
  int64_t at_ns;
  bool counted;
  enum lynx_status status;
};

static void keep_sample(void *context, const char *series, double value) {
  struct sampling *sampling = context;
  if (sampling->counted && strcmp(series, "machine.steal_ratio") == 0) {
    sampling->run->steal_sum += value;
    sampling->run->n_steal++;
  }
  if (sampling->status == LYNX_OK)
    sampling->status = bundle_put_sample(sampling->run->bundle, sampling->session->id, sampling->at_ns, series, value,
                                         sampling->run->error);
}

static void show_progress(struct run *run, struct session_run *session, const char *precision, int64_t now_ns) {
  const struct contract_method *m = &run->contract.method;
  if (run->request->progress == NULL) return;
  struct run_progress p = {.step = now_ns < m->warm_up_ns                   ? "warm-up"
                                   : now_ns < m->warm_up_ns + m->counted_ns ? "counted"
                                                                            : "drain",
                           .precision = precision,
                           .session = session->id + 1,
                           .n_sessions = m->sessions * (int64_t)run->contract.precisions.n_items,
                           .elapsed_s = (double)now_ns / 1e9,
                           .total_s = (double)(m->warm_up_ns + m->counted_ns) / 1e9,
                           .n_issued = atomic_load(&session->progress.n_issued),
                           .n_done = atomic_load(&session->progress.n_done),
                           .n_failed = atomic_load(&session->progress.n_failed),
                           .n_tokens = atomic_load(&session->progress.n_tokens),
                           .in_flight = atomic_load(&session->progress.in_flight)};
  run->request->progress(run->request->context, &p);
}

/* The caller's thread while the engines run: takes rows to the record, samples the machine, shows progress, and stops what
 * must be stopped. */
static enum lynx_status attend(struct run *run, struct session_run *session, const char *precision) {
  const struct lynx_clock *clock = run->request->clock;
  const struct contract_method *m = &run->contract.method;
  enum lynx_status status = LYNX_OK;
  int64_t last_commit = 0, last_sample = 0;
  const struct timespec step = {.tv_nsec = LOOK_EVERY_NS};
  while (atomic_load(&session->n_running) > 0) {
    (void)nanosleep(&step, NULL);
    int64_t now_ns = clock_now(clock) - session->start_ns;
    if (status == LYNX_OK) status = write_finished(session);
    if (status == LYNX_OK && run->machine_known && now_ns - last_sample >= SAMPLE_EVERY_NS) {
      struct sampling sampling = {
          .run = run, .session = session, .at_ns = now_ns, .counted = now_ns > m->warm_up_ns && now_ns <= m->warm_up_ns + m->counted_ns};
      sampler_machine.sample(run->machine, keep_sample, &sampling);
      status = sampling.status;
      last_sample = now_ns;
    }
    if (status == LYNX_OK && now_ns - last_commit >= COMMIT_EVERY_NS) {
      status = bundle_commit(run->bundle, run->error);
      last_commit = now_ns;
    }
    show_progress(run, session, precision, now_ns);
    if (!session->aborted && does_harm(session, now_ns)) session->aborted = true;
    bool died = run->service.child.pid > 0 && !child_running(&run->service.child);
    int wanted = status != LYNX_OK || session->aborted || died ? ENGINE_ABORT : atomic_load(run->request->stop);
    if (wanted > atomic_load(&session->stop)) atomic_store(&session->stop, wanted);
  }
  return status;
}

static enum lynx_status start_engines(struct run *run, struct session_run *session, struct engine_thread *threads, uint32_t n) {
  const struct contract *c = &run->contract;
  const struct contract_workload *w = &c->workload;
  enum lynx_status status = LYNX_OK;
  for (uint32_t i = 0; i < n && status == LYNX_OK; i++) {
    uint32_t share = (uint32_t)c->regime.concurrency / n + (i < (uint32_t)c->regime.concurrency % n ? 1 : 0);
    struct driver_options options = {.endpoint = c->executor.endpoint,
                                     .ca_file = c->executor.ca_file,
                                     .bearer = run->bearer,
                                     .chat = w->api == API_CHAT,
                                     .stream = w->stream,
                                     .ignore_eos = w->ignore_eos,
                                     .continuous_usage = w->continuous_usage,
                                     .model = w->model,
                                     .output_tokens = w->output_tokens,
                                     .temperature = w->temperature,
                                     .seed = c->method.seed,
                                     .n_slots = share,
                                     .clock = run->request->clock};
    status = run->driver->open(&options, &threads[i].driver_state, run->error);
    if (status == LYNX_OK) status = run->driver->prepare(threads[i].driver_state, run->inputs.items, run->inputs.n_items, run->error);
  }
  if (status != LYNX_OK) return status;
  int64_t uncertainty;
  session->realtime_offset_ns = clock_offset(run->request->clock, &uncertainty);
  session->start_ns = clock_now(run->request->clock) + 20000000; /* all engines are up before the first arrival is due */
  for (uint32_t i = 0; i < n; i++) {
    threads[i].session = session;
    threads[i].plan = (struct engine_plan){.clock = run->request->clock,
                                           .start_ns = session->start_ns,
                                           .schedule = &session->schedule,
                                           .concurrency = (uint32_t)c->regime.concurrency,
                                           .warm_up_ns = c->method.warm_up_ns,
                                           .counted_ns = c->method.counted_ns,
                                           .drain_ns = c->method.drain_ns,
                                           .timeout_ns = c->method.request_timeout_ns,
                                           .input_order = run->inputs.order,
                                           .n_inputs = run->inputs.n_items,
                                           .index = i,
                                           .n_engines = n,
                                           .stop = &session->stop,
                                           .progress = &session->progress,
                                           .sink = on_row,
                                           .sink_context = session};
    atomic_fetch_add(&session->n_running, 1);
    if (pthread_create(&threads[i].thread, NULL, engine_main, &threads[i]) != 0) {
      atomic_fetch_sub(&session->n_running, 1);
      atomic_store(&session->stop, ENGINE_ABORT);
      threads[i].thread = 0;
      return lynx_fail(run->error, LYNX_MACHINE, "no thread for the load engine");
    }
  }
  return LYNX_OK;
}

static void write_instrument(const struct run *run, const struct session_run *session, const struct engine_thread *threads, uint32_t n,
                             struct buffer *ret) {
  struct engine_report sum = {.drained = true};
  for (uint32_t i = 0; i < n; i++) {
    const struct engine_report *r = &threads[i].report;
    sum.n_loops += r->n_loops;
    sum.n_busy += r->n_busy;
    sum.cpu_ns += r->cpu_ns;
    sum.wall_ns += r->wall_ns;
    sum.event_bytes_lost += r->event_bytes_lost;
    sum.drained = sum.drained && r->drained;
    if (r->longest_away_ns > sum.longest_away_ns) sum.longest_away_ns = r->longest_away_ns;
    if (r->ended_ns > sum.ended_ns) sum.ended_ns = r->ended_ns;
  }
  int64_t uncertainty, moved = clock_offset(run->request->clock, &uncertainty) - session->realtime_offset_ns;
  struct json_writer json;
  json_begin(&json, ret);
  json_open_object(&json);
  json_put_int(&json, "threads", n);
  json_put_int(&json, "loops", sum.n_loops);
  json_put_int(&json, "busy", sum.n_busy);
  json_put_int(&json, "cpu_ns", sum.cpu_ns);
  json_put_int(&json, "wall_ns", sum.wall_ns);
  json_put_int(&json, "longest_away_ns", sum.longest_away_ns);
  json_put_int(&json, "ended_ns", sum.ended_ns);
  json_put_bool(&json, "drained", sum.drained);
  json_put_int(&json, "answers_with_lost_events", sum.event_bytes_lost);
  json_put_int(&json, "zero_monotonic_ns", session->start_ns);
  json_put_int(&json, "wall_clock_moved_ns", moved);
  json_close(&json);
  lynx_assert(json_finish(&json));
}

static enum lynx_status note_clock_step(struct run *run, const struct session_run *session) {
  int64_t uncertainty, moved = clock_offset(run->request->clock, &uncertainty) - session->realtime_offset_ns;
  if (moved > -100000000 && moved < 100000000) return LYNX_OK;
  char text[160];
  (void)snprintf(text, sizeof text,
                 "the wall clock was stepped by %.3f s during session %lld: latencies are not touched (they are monotonic), read lags are "
                 "unknown from then on",
                 (double)moved / 1e9, (long long)session->id);
  note(run, text);
  return put_event(run, "clock step", text);
}

static int64_t find_serving(const struct run *run) {
  struct endpoint endpoint;
  if (run->contract.executor.pid > 0) return run->contract.executor.pid;
  if (endpoint_parse(run->contract.executor.endpoint, &endpoint, NULL) != LYNX_OK) return 0;
  return capture_find_listener(run->request->root, endpoint.port);
}

/* Runs the load and fills in the session's row. */
static enum lynx_status run_load(struct run *run, struct session_run *session, struct bundle_session *row, const char *precision) {
  const struct contract *c = &run->contract;
  static const enum schedule_kind kinds[] = {
      [LOAD_CONSTANT] = SCHEDULE_CONSTANT, [LOAD_POISSON] = SCHEDULE_POISSON, [LOAD_CLOSED] = SCHEDULE_CLOSED};
  uint32_t n = (uint32_t)c->method.threads;
  int64_t length = c->method.warm_up_ns + c->method.counted_ns + c->method.drain_ns;
  char digest[DIGEST_HEX];
  enum lynx_status status = schedule_make(&session->schedule, kinds[c->regime.load], (uint64_t)(c->regime.rate_per_s * 1e6 + 0.5), length,
                                          (uint64_t)row->seed, run->error);
  if (status != LYNX_OK) return status;
  inputs_shuffle(&run->inputs, (uint64_t)row->seed);
  struct engine_thread *threads = xalloc(n, sizeof *threads);
  row->start_realtime_ns = realtime(run);
  row->schedule_digest = schedule_digest(&session->schedule, digest);
  row->status = "running";
  status = bundle_put_session(run->bundle, row, run->error);
  if (status == LYNX_OK) status = bundle_commit(run->bundle, run->error);
  if (status == LYNX_OK) status = start_engines(run, session, threads, n);
  int64_t serving = run->service.child.pid;
  if (serving == 0 && !run->driver->in_process) serving = find_serving(run);
  if (run->machine_known) sampler_machine.watch(run->machine, serving);
  enum lynx_status attended = attend(run, session, precision);
  for (uint32_t i = 0; i < n; i++) {
    if (threads[i].thread != 0) (void)pthread_join(threads[i].thread, NULL);
    if (status == LYNX_OK && threads[i].status != LYNX_OK) {
      status = threads[i].status;
      *run->error = threads[i].error;
    }
  }
  enum lynx_status written = write_finished(session);
  if (status == LYNX_OK) status = attended != LYNX_OK ? attended : written;
  struct buffer instrument;
  buffer_init(&instrument, 65536);
  write_instrument(run, session, threads, n, &instrument);
  row->start_realtime_ns = session->start_ns + session->realtime_offset_ns;
  row->instrument_json = arena_copy(&run->arena, instrument.data);
  row->status = session->aborted                            ? "aborted: the abort SLO was broken"
                : atomic_load(&session->stop) != ENGINE_RUN ? "interrupted"
                                                            : "complete";
  if (status == LYNX_OK) status = note_clock_step(run, session);
  if (status == LYNX_OK) status = bundle_put_session(run->bundle, row, run->error);
  for (uint32_t i = 0; i < n; i++) run->driver->close(threads[i].driver_state);
  buffer_release(&instrument);
  schedule_release(&session->schedule);
  free(threads);
  return status;
}

/* --- around the load --- */

static enum lynx_status capture_now(struct run *run, const char *moment, const char *precision) {
  struct fact_list facts = {0};
  struct capture_request request = {.root = run->request->root,
                                    .clock = run->request->clock,
                                    .endpoint = run->contract.executor.endpoint,
                                    .pid = run->contract.executor.pid,
                                    .behind_proxy = run->contract.executor.behind_proxy,
                                    .in_process = run->driver->in_process};
  if (request.in_process) request.endpoint = NULL;
  request.started_pid = run->service.child.pid;
  capture_run(&request, &facts);
  for (size_t i = 0; i < run->contract.executor.declare.n_items; i++) {
    const char *key = run->contract.executor.declare.keys[i], *dot = strchr(key, '.');
    struct fact fact = {.kind = FACT_IDENTITY,
                        .status = FACT_DECLARED,
                        .key = arena_printf(&run->arena, "declared.%s", dot + 1),
                        .value = run->contract.executor.declare.values[i],
                        .source = "the contract"};
    if (layer_parse(arena_text(&run->arena, key, (size_t)(dot - key)), &fact.layer)) fact_add(&facts, &fact);
  }
  fact_sort(&facts);
  enum lynx_status status = bundle_put_facts(run->bundle, arena_printf(&run->arena, "%s:%s", moment, precision), &facts, run->error);
  fact_list_release(&facts);
  return status;
}

/* Windows are kept until all are there: half an accuracy would be compared with a whole one. */
struct accuracy_target {
  struct arena arena;
  struct accuracy_window {
    double bits;
    int64_t bytes;
  } * windows;
  int64_t n;
};

static enum lynx_status keep_accuracy(void *context, int64_t window, double bits, int64_t bytes) {
  struct accuracy_target *target = context;
  target->windows[window] = (struct accuracy_window){bits, bytes};
  target->n++;
  return LYNX_OK;
}

static enum lynx_status measure_accuracy(struct run *run, int64_t session, const char *precision) {
  if (!contract_states(&run->contract, "accuracy") || run->driver->in_process) return LYNX_OK;
  struct run_progress progress = {.step = "accuracy",
                                  .precision = precision,
                                  .session = session + 1,
                                  .n_sessions = run->contract.method.sessions * (int64_t)run->contract.precisions.n_items};
  if (run->request->progress != NULL) run->request->progress(run->request->context, &progress);
  struct accuracy_target target = {0};
  struct lynx_error why = {0};
  target.windows = arena_alloc(&target.arena, (size_t)run->contract.accuracy.windows, sizeof *target.windows);
  enum lynx_status status = service_accuracy(&run->service, keep_accuracy, &target, &why), written = LYNX_OK;
  for (int64_t i = 0; i < target.n && status == LYNX_OK && written == LYNX_OK; i++)
    written = bundle_put_accuracy(run->bundle, session, i, "bits", target.windows[i].bits, target.windows[i].bytes, run->error);
  arena_release(&target.arena);
  if (status == LYNX_OK) return written;
  char text[700];
  (void)snprintf(text, sizeof text, "accuracy of %s was not measured: %s", precision, why.message);
  note(run, text);
  return put_event(run, "accuracy", text);
}

/* The precision cannot run here: a finding, not a failure. Every session of it says so. */
static enum lynx_status mark_unavailable(struct run *run, struct bundle_session *row, size_t precision, const char *why) {
  row->status = arena_printf(&run->arena, "unavailable: %s", why);
  row->start_realtime_ns = realtime(run);
  if (!run->skip[precision]) note(run, arena_printf(&run->arena, "%s is unavailable: %s", row->precision, why));
  run->skip[precision] = true;
  return bundle_put_session(run->bundle, row, run->error);
}

static enum lynx_status run_session(struct run *run, int64_t number, size_t precision) {
  const struct contract *c = &run->contract;
  const char *name = c->precisions.items[precision];
  struct session_run *session = xalloc(1, sizeof *session);
  session->run = run;
  session->id = number * (int64_t)c->precisions.n_items + (int64_t)precision;
  bool starts = contract_states(c, "executor.start");
  struct bundle_session row = {.id = session->id,
                               .precision = name,
                               .index = number,
                               .seed = c->method.seed + number,
                               .executor_started = run->driver->in_process ? "in process"
                                                   : starts                ? "started for this session"
                                                                           : "already running",
                               .warm_up_ns = c->method.warm_up_ns,
                               .counted_ns = c->method.counted_ns,
                               .drain_ns = c->method.drain_ns,
                               .schedule_digest = "",
                               .executed_json = "",
                               .instrument_json = "{}"};
  struct run_progress progress = {
      .step = "starting", .precision = name, .session = session->id + 1, .n_sessions = c->method.sessions * (int64_t)c->precisions.n_items};
  if (run->request->progress != NULL) run->request->progress(run->request->context, &progress);
  enum lynx_status status = LYNX_OK;
  if (run->skip[precision]) status = mark_unavailable(run, &row, precision, "as in the session before");
  else {
    struct lynx_error why = {0};
    if (!run->driver->in_process)
      status = service_start(&run->service, name, arena_printf(&run->arena, "%s.executor.log", run->request->out_path), &why);
    if (status != LYNX_OK && atomic_load(run->request->stop) != 0) {
      row.status = "interrupted";
      row.start_realtime_ns = realtime(run);
      status = bundle_put_session(run->bundle, &row, run->error);
    } else if (status == LYNX_UNSUPPORTED) status = mark_unavailable(run, &row, precision, why.message);
    else if (status != LYNX_OK) {
      *run->error = why;
      run->outcome->executor_failed = status == LYNX_IO || status == LYNX_NOT_FOUND;
    } else {
      struct buffer executed;
      buffer_init(&executed, 16384);
      if (!run->driver->in_process) service_executed(&run->service, &executed);
      row.executed_json = executed.length > 0 && !executed.overflowed ? arena_copy(&run->arena, executed.data) : "";
      buffer_release(&executed);
      if (number == 0) status = capture_now(run, "start", name);
      if (status == LYNX_OK) status = run_load(run, session, &row, name);
      bool whole = status == LYNX_OK && strcmp(row.status, "complete") == 0;
      if (whole) status = measure_accuracy(run, session->id, name);
      if (whole && status == LYNX_OK && number == c->method.sessions - 1) status = capture_now(run, "end", name);
      if (session->aborted) {
        run->outcome->aborted_by_slo = true;
        (void)snprintf(run->outcome->why, sizeof run->outcome->why, "the abort SLO was broken in session %lld", (long long)session->id);
        if (status == LYNX_OK) status = put_event(run, "condition", run->outcome->why);
      }
      if (starts && run->service.child.pid > 0 && !child_running(&run->service.child)) {
        char tail[500];
        service_log_tail(&run->service, tail, sizeof tail);
        run->outcome->executor_failed = true;
        if (status == LYNX_OK)
          status = lynx_fail(run->error, LYNX_IO, "the executor ended with exit code %d during session %lld; it printed: %s",
                             run->service.child.exit_code, (long long)session->id, tail);
      }
    }
    service_stop(&run->service);
  }
  free(session);
  if (status != LYNX_OK) return status;
  return bundle_commit(run->bundle, run->error);
}

static enum lynx_status put_intent(struct run *run) {
  char digest[DIGEST_HEX], now[40], host[128] = "";
  contract_digest(&run->contract, digest);
  (void)gethostname(host, sizeof host - 1); /* an unnamed host stays unnamed */
  const struct {
    const char *key, *value;
  } meta[] = {{"format", "lynx bundle 1"},
              {"tool", "lynxbench " LYNX_VERSION},
              {"contract", NULL},
              {"contract_digest", digest},
              {"intended_at", clock_text(now, realtime(run))},
              {"host", host}};
  enum lynx_status status = LYNX_OK;
  char *contract = arena_text(&run->arena, run->request->contract_text, run->request->contract_length);
  for (size_t i = 0; i < LYNX_COUNT(meta) && status == LYNX_OK; i++)
    status = bundle_put_meta(run->bundle, meta[i].key, meta[i].value != NULL ? meta[i].value : contract, run->error);
  for (size_t i = 0; i < run->inputs.n_items && status == LYNX_OK; i++)
    status = bundle_put_input(run->bundle, (int64_t)i, run->inputs.items[i].prompt, run->inputs.items[i].length, run->error);
  if (status == LYNX_OK) status = put_event(run, "intent", "the run was started");
  if (status == LYNX_OK) status = bundle_commit(run->bundle, run->error);
  return status;
}

static enum lynx_status prepare(struct run *run) {
  struct problem_list problems;
  if (contract_parse(run->request->contract_text, run->request->contract_length, &run->arena, &run->contract, &problems) != LYNX_OK)
    return lynx_fail(run->error, LYNX_INPUT, "the contract has %zu errors; `lynxbench lint` lists them", problems.n_errors);
  run->driver = drivers_find(run->contract.workload.driver);
  if (run->driver == NULL)
    return lynx_fail(run->error, LYNX_INPUT, "workload.driver: there is no driver '%.60s'; there are http and null",
                     run->contract.workload.driver);
  const char *variable = run->contract.workload.api_key_env;
  if (variable != NULL && (run->bearer = getenv(variable)) == NULL)
    return lynx_fail(run->error, LYNX_INPUT, "workload.api_key_env names %.80s, which is not set in this environment", variable);
  run->service = (struct service){.contract = &run->contract, .bearer = run->bearer, .stop = run->request->stop};
  run->skip = arena_alloc(&run->arena, run->contract.precisions.n_items, sizeof *run->skip);
  if (contract_states(&run->contract, "accuracy") && !run->driver->in_process) {
    struct buffer text;
    enum lynx_status status = inputs_read_text(run->contract.accuracy.text_file, &text, run->error); /* before hours are spent, not after */
    buffer_release(&text);
    if (status != LYNX_OK) return status;
  }
  return inputs_make(&run->contract, &run->inputs, run->error);
}

static enum lynx_status run_sessions(struct run *run) {
  const struct contract *c = &run->contract;
  enum lynx_status status = LYNX_OK;
  for (int64_t number = 0; number < c->method.sessions && status == LYNX_OK; number++)
    for (size_t p = 0; p < c->precisions.n_items && status == LYNX_OK; p++) {
      if (atomic_load(run->request->stop) != 0 || run->outcome->aborted_by_slo) return LYNX_OK;
      status = run_session(run, number, p);
    }
  if (status == LYNX_OK && run->n_steal > 0 && run->steal_sum / (double)run->n_steal > 0.1)
    status = put_event(run, "condition",
                       arena_printf(&run->arena, "the hypervisor took %.0f %% of this machine's processor time in the counted windows",
                                    100 * run->steal_sum / (double)run->n_steal));
  return status;
}

static enum lynx_status seal(struct run *run, enum lynx_status status) {
  struct run_outcome *o = run->outcome;
  bool interrupted = atomic_load(run->request->stop) != 0 || o->aborted_by_slo;
  o->end = status != LYNX_OK ? BUNDLE_FAILED : interrupted ? BUNDLE_INTERRUPTED : BUNDLE_COMPLETE;
  if (o->why[0] == 0 && status != LYNX_OK) lynx_error_text(run->error, o->why, sizeof o->why);
  if (o->why[0] == 0) (void)snprintf(o->why, sizeof o->why, "%s", interrupted ? "stopped by the user" : "all sessions ran");
  struct lynx_error error = {0};
  enum lynx_status sealed = bundle_seal(run->bundle, o->end, o->why, o->root, &error);
  o->sealed = sealed == LYNX_OK;
  if (status == LYNX_OK && sealed != LYNX_OK) *run->error = error;
  if (status != LYNX_OK) return status;
  return sealed;
}

enum lynx_status run_contract(const struct run_request *request, struct run_outcome *ret, struct lynx_error *error) {
  struct lynx_error own = {0};
  struct run run = {.request = request, .outcome = ret, .error = error != NULL ? error : &own};
  *ret = (struct run_outcome){.end = BUNDLE_UNSEALED};
  enum lynx_status status = prepare(&run);
  if (status == LYNX_OK) status = bundle_create(request->out_path, &run.bundle, run.error);
  if (status == LYNX_OK) {
    run.machine_known = sampler_machine.open(request->root, &run.machine);
    status = put_intent(&run);
    if (status == LYNX_OK) status = run_sessions(&run);
    status = seal(&run, status);
    if (run.service.log_path[0] != 0 && !ret->executor_failed) (void)unlink(run.service.log_path); /* kept where it explains a failure */
    sampler_machine.close(run.machine);
  }
  bundle_close(run.bundle);
  inputs_release(&run.inputs);
  arena_release(&run.arena);
  return status;
}
