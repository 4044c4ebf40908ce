#include "measure/session.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "base/processors.h"
#include "executor/capture.h"
#include "load/engine.h"
#include "measure/profiling.h"
#include "measure/recount.h"
#include "measure/sampling.h"
#include "measure/server_trace.h"
#include "result/arrivals.h"
#include "telemetry/metrics.h"
#include "telemetry/process_tree.h"

enum {
  COMMIT_EVERY_NS = 500000000,
  LOOK_EVERY_NS = 100000000,
  SAMPLE_EVERY_NS = 500000000,
  ABORT_BUCKETS = 3600,
  ABORT_LEAST = 20,
  NOTHING_LEAST = 200
};

/* A finished request on its way from an engine to the record: a stack without locks, which the writer takes whole. */
struct node {
  struct node *next;
  struct engine_thread *home;
  struct request_row row;
};

struct session_run {
  struct run *run;
  const struct session_plan *plan;
  int64_t id;
  int64_t start_ns, realtime_offset_ns;
  struct schedule schedule;
  struct engine_progress progress;
  _Atomic(struct node *) finished;
  atomic_int stop;
  atomic_uint in_flight_most; /* struct engine_plan */
  atomic_int n_running;
  /* Of the abort SLO: requests and bad ones by second of their end. */
  int n_all[ABORT_BUCKETS], n_bad[ABORT_BUCKETS];
  bool aborted;
  int64_t n_ended, n_answered; /* of a server that refuses all, the first NOTHING_LEAST requests are enough */
  const char *refusal;
  int64_t refused_by; /* an HTTP status; 0 */
  char refused_for[160];
  size_t n_answers;  /* of inputs below it the answers go into the record, for the accuracy */
  bool counts_again; /* some are kept meanwhile for the check of usage */
  struct recount recount;
  int64_t n_left; /* requests that the executor may still be at: cut off at the end, or given up for taking too long */
};

struct engine_thread {
  pthread_t thread;
  struct session_run *session;
  struct engine_plan plan;
  void *state;                    /* the driver's */
  struct node *spare;             /* the engine's own */
  _Atomic(struct node *) emptied; /* given back by the record */
  struct engine_report report;
  enum lynx_status status;
  struct lynx_error error;
};

/* --- from the engines to the record --- */

static void push(_Atomic(struct node *) *stack, struct node *first, struct node *last) {
  last->next = atomic_load_explicit(stack, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(stack, &last->next, first, memory_order_release, memory_order_relaxed)) {}
}

/* Nodes go round: from an engine to the record, emptied, and back. Only while more are under way than ever before is one made. */
static void on_row(void *context, struct request_row *row) {
  struct engine_thread *thread = context;
  if (thread->spare == NULL) thread->spare = atomic_exchange_explicit(&thread->emptied, NULL, memory_order_acquire);
  struct node *node = thread->spare;
  if (node != NULL) thread->spare = node->next;
  else {
    node = xalloc(1, sizeof *node);
    node->home = thread;
  }
  struct buffer events = node->row.events, phases = node->row.phases, answer = node->row.answer;
  node->row = *row;
  row->events = events;
  row->phases = phases;
  row->answer = answer;
  push(&thread->session->finished, node, node);
}

static void empty_node(struct node *node) {
  buffer_clear(&node->row.events);
  buffer_clear(&node->row.phases);
  buffer_clear(&node->row.answer);
  push(&node->home->emptied, node, node);
}

static void free_nodes(struct node *node) {
  while (node != NULL) {
    struct node *next = node->next;
    buffer_release(&node->row.events);
    buffer_release(&node->row.phases);
    buffer_release(&node->row.answer);
    free(node);
    node = next;
  }
}

static void watch_harm(struct session_run *session, const struct request_row *row) {
  const struct contract *contract = &session->run->contract;
  const struct contract_abort *rule = &contract->where.abort_slo;
  if (!contract_states(contract, "where.abort_slo") || row->outcome == OUTCOME_ABANDONED) return;
  int64_t took = row->end_ns - row->scheduled_ns;
  int64_t first = rule->metric == METRIC_TIME_TO_FIRST_TOKEN          ? row->first_token_ns
                  : rule->metric == METRIC_TIME_TO_FIRST_ANSWER_TOKEN ? row->first_answer_ns
                  : rule->metric == METRIC_TIME_TO_FIRST_TOOL_CALL    ? row->first_tool_call_ns
                                                                      : -1;
  if (first >= 0) took = first - row->scheduled_ns;
  int bucket = (int)(row->end_ns / 1000000000 % ABORT_BUCKETS);
  session->n_all[bucket]++;
  session->n_bad[bucket] += row->outcome != OUTCOME_OK || took > rule->over_ns;
}

/* Answers that cost nothing come thousands of times a second: nothing is measured by them, and somebody's server may be harmed. */
static void watch_refusals(struct session_run *session, const struct request_row *row) {
  static const enum outcome refusals[] = {OUTCOME_HTTP_STATUS, OUTCOME_REFUSED, OUTCOME_TLS, OUTCOME_PROTOCOL};
  bool refused = false;
  for (size_t i = 0; i < LYNX_COUNT(refusals); i++) refused = refused || row->outcome == refusals[i];
  session->n_ended++;
  session->n_answered += !refused;
  if (!refused) return;
  session->refusal = outcome_text(row->outcome);
  session->refused_by = row->http_status;
  (void)snprintf(session->refused_for, sizeof session->refused_for, "%s", row->reason);
}

/* The field of the contract that helps most often against it. */
static const char *help_against(int64_t http_status) {
  if (http_status == 401 || http_status == 403) return "workload.api_key_env names the variable that holds the server's key";
  if (http_status == 404) return "workload.api (chat?) and workload.model say what is asked, and of whom";
  return "`lynxbench run` with one request in flight shows what the server says";
}

static enum lynx_status refuses_all(const struct session_run *session) {
  char status[32] = "";
  if (session->plan->may_fail || session->n_ended < NOTHING_LEAST || session->n_answered > 0) return LYNX_OK;
  if (session->refused_by > 0 && session->refused_by != 200) (void)snprintf(status, sizeof status, " %lld", (long long)session->refused_by);
  bool told = session->refused_for[0] != 0;
  return lynx_fail(session->run->error, LYNX_IO,
                   "all of the first %d requests failed, the last of them by: %s%s%s%s%s; nothing is measured. next: %s", NOTHING_LEAST,
                   session->refusal, status, told ? ": '" : "", session->refused_for, told ? "'" : "", help_against(session->refused_by));
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

/* Kept as it stood in the JSON; unescaped here, away from the clock. */
static void keep_answer(struct session_run *session, const struct request_row *row) {
  struct buffer quoted;
  buffer_init(&quoted, row->answer.length + 2);
  bool whole = buffer_text(&quoted, "\"") && buffer_append(&quoted, row->answer.data, row->answer.length) && buffer_text(&quoted, "\"");
  json_t *text = whole ? json_loadb(quoted.data, quoted.length, JSON_DECODE_ANY, NULL) : NULL;
  if (json_is_string(text) && row->input < session->n_answers)
    bundle_put_answer(session->run->bundle, session->id, (int64_t)row->input, json_string_value(text), json_string_length(text));
  if (json_is_string(text) && session->counts_again)
    recount_keep(&session->recount, row, json_string_value(text), json_string_length(text));
  json_decref(text);
  buffer_release(&quoted);
}

/* A server may repeat what it was asked in what it says of a failure. */
static const char *reason_of(const struct run *run, const struct request_row *row) {
  bool own_words = row->outcome == OUTCOME_OK || row->outcome == OUTCOME_REFUSED || row->outcome == OUTCOME_TLS ||
                   row->outcome == OUTCOME_CLOSED || row->outcome == OUTCOME_UNFINISHED || row->outcome == OUTCOME_ABANDONED ||
                   row->reason[0] == 0;
  return own_words || !run->contract.workload.prompts.withhold ? row->reason : "withheld, as it may repeat a prompt";
}

static void write_row(struct session_run *session, const struct request_row *row) {
  struct bundle_request r = {.session = session->id,
                             .id = row->id,
                             .phase = row->phase,
                             .outcome = row->outcome,
                             .reason = reason_of(session->run, row),
                             .http_status = row->http_status,
                             .input = (int64_t)row->input,
                             .scheduled_ns = row->scheduled_ns,
                             .issued_ns = row->issued_ns,
                             .written_ns = row->written_ns,
                             .first_byte_ns = row->first_byte_ns,
                             .first_token_ns = row->first_token_ns,
                             .last_token_ns = row->last_token_ns,
                             .first_answer_ns = row->first_answer_ns,
                             .first_tool_call_ns = row->first_tool_call_ns,
                             .end_ns = row->end_ns,
                             .prompt_tokens = row->prompt_tokens,
                             .output_tokens = row->output_tokens,
                             .n_text_events = row->n_text_events,
                             .read_lag_ns = row->read_lag_ns,
                             .flags = row->flags,
                             .events = row->events.data,
                             .events_length = row->events.length};
  bundle_put_request(session->run->bundle, &r);
  const struct answer_phase *phases = (const struct answer_phase *)(const void *)row->phases.data; /* realloc's memory: aligned */
  for (size_t i = 0; i < row->phases.length / sizeof *phases; i++) {
    const struct bundle_phase phase = {.session = session->id,
                                       .request = row->id,
                                       .place = (int64_t)i,
                                       .name = phases[i].name,
                                       .from_ns = phases[i].from_ns,
                                       .took_ns = phases[i].took_ns};
    bundle_put_phase(session->run->bundle, &phase);
  }
  bool kept = row->input < session->n_answers || session->counts_again;
  if (kept && row->answer.length > 0 && row->outcome == OUTCOME_OK) keep_answer(session, row);
}

static void write_finished(struct session_run *session) {
  struct node *newest = atomic_exchange_explicit(&session->finished, NULL, memory_order_acquire), *node = NULL;
  while (newest != NULL) { /* the stack has the last one on top; the record wants the first one first */
    struct node *older = newest->next;
    newest->next = node;
    node = newest;
    newest = older;
  }
  while (node != NULL) {
    struct node *next = node->next;
    watch_harm(session, &node->row);
    watch_refusals(session, &node->row);
    session->n_left += node->row.outcome == OUTCOME_UNFINISHED || node->row.outcome == OUTCOME_TIMEOUT;
    write_row(session, &node->row);
    empty_node(node);
    node = next;
  }
}

/* --- one session of load --- */

/* The kernel takes of a list what there is; a thread that runs on fewer than was agreed is another load. */
static bool pin(const struct run *run, struct lynx_error *error, enum lynx_status *ret) {
  const char *processors = run->contract.method.processors;
  cpu_set_t set, got;
  if (processors == NULL) return true;
  *ret = processors_parse(processors, &set, error);
  if (*ret != LYNX_OK) return false;
  bool all = pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0 && pthread_getaffinity_np(pthread_self(), sizeof got, &got) == 0;
  for (size_t i = 0; i < CPU_SETSIZE && *ret == LYNX_OK; i++)
    if (CPU_ISSET(i, &set) && (!all || !CPU_ISSET(i, &got)))
      *ret = lynx_fail(error, LYNX_INPUT, "method.processors: %.60s: %zu is not there, or may not be used by this process", processors, i);
  return *ret == LYNX_OK;
}

static void *engine_main(void *context) {
  struct engine_thread *thread = context;
  if (!pin(thread->session->run, &thread->error, &thread->status)) {
    atomic_fetch_sub(&thread->session->n_running, 1);
    return NULL;
  }
  thread->status = engine_run(&thread->plan, thread->session->run->driver, thread->state, &thread->report, &thread->error);
  atomic_fetch_sub(&thread->session->n_running, 1);
  return NULL;
}

static void put_value(void *context, int64_t at_ns, const char *series, double value) {
  const struct session_run *session = context;
  const struct session_plan *m = session->plan;
  bundle_put_sample(session->run->bundle, session->id, at_ns, series, value);
  if (at_ns <= m->warm_up_ns || at_ns > m->warm_up_ns + m->counted_ns || strcmp(series, "machine.steal_ratio") != 0) return;
  session->run->steal_sum += value;
  session->run->n_steal++;
}

static void put_name(void *context, const struct thread_name *name) {
  const struct session_run *session = context;
  bundle_put_thread(session->run->bundle, session->id, name);
}

static void put_activity(void *context, const struct thread_activity *activity) {
  const struct session_run *session = context;
  bundle_put_activity(session->run->bundle, session->id, activity);
}

static void put_samples(struct session_run *session) {
  const struct sampling_taker taker = {session, put_value, put_name, put_activity};
  sampling_take(session->run->sampling, &taker);
}

static void show_progress(struct run *run, struct session_run *session, const char *precision, int64_t now_ns) {
  const struct session_plan *m = session->plan;
  if (run->request->progress == NULL) return;
  struct run_progress p = {.step = now_ns < 0                               ? "waiting for the common start"
                                   : now_ns < m->warm_up_ns                 ? "warm-up"
                                   : now_ns < m->warm_up_ns + m->counted_ns ? "counted"
                                                                            : "drain",
                           .precision = precision,
                           .session = session->id + 1,
                           .n_sessions = run->n_sessions_planned,
                           .purpose = m->purpose,
                           .rate_per_s = m->rate_per_s,
                           .elapsed_s = now_ns > 0 ? (double)now_ns / 1e9 : 0,
                           .total_s = (double)(m->warm_up_ns + m->counted_ns) / 1e9,
                           .n_issued = atomic_load(&session->progress.n_issued),
                           .n_done = atomic_load(&session->progress.n_done),
                           .n_failed = atomic_load(&session->progress.n_failed),
                           .n_tokens = atomic_load(&session->progress.n_tokens),
                           .n_ok = atomic_load(&session->progress.n_ok),
                           .time_to_first_token_ns = atomic_load(&session->progress.time_to_first_token_ns),
                           .end_to_end_ns = atomic_load(&session->progress.end_to_end_ns),
                           .in_flight = atomic_load(&session->progress.in_flight)};
  run->request->progress(run->request->context, &p);
}

/* The caller's thread while the engines run: takes rows to the record, samples the machine, shows progress, and stops what
 * must be stopped. */
static enum lynx_status attend(struct run *run, struct session_run *session, const char *precision) {
  const struct lynx_clock *clock = run->request->clock;
  enum lynx_status status = LYNX_OK;
  int64_t last_commit = 0, last_sample = 0;
  const struct timespec step = {.tv_nsec = LOOK_EVERY_NS};
  while (atomic_load(&session->n_running) > 0) {
    (void)nanosleep(&step, NULL);
    int64_t now_ns = clock_now(clock) - session->start_ns;
    write_finished(session);
    put_samples(session);
    if (run->has_metrics && now_ns - last_sample >= SAMPLE_EVERY_NS) {
      if (service_metrics(&run->service, &run->metrics)) run_put_metrics(run, session->id, now_ns);
      last_sample = now_ns;
    }
    if (now_ns - last_commit >= COMMIT_EVERY_NS) {
      status = bundle_commit(run->bundle, run->error);
      last_commit = now_ns;
    } else status = bundle_written(run->bundle, run->error);
    if (status == LYNX_OK) status = refuses_all(session);
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
  const struct session_plan *plan = session->plan;
  bool conversations = plan->load == LOAD_CONVERSATIONS;
  bool accuracy = contract_states(c, "accuracy") && plan->accuracy && c->accuracy.measure != ACCURACY_LIKELIHOOD;
  session->n_answers = accuracy ? (size_t)c->accuracy.samples : 0;
  session->counts_again = recount_wanted(run, plan);
  size_t least = session->counts_again ? RECOUNT_ANSWERS : 0;
  int64_t uncertainty;
  session->realtime_offset_ns = clock_offset(run->request->clock, &uncertainty);
  session->start_ns = clock_now(run->request->clock) + 20000000; /* all engines are up before the first arrival is due */
  const struct run_part *part = &run->request->part;
  uint32_t hosts = part->count > 0 ? (uint32_t)part->count : 1, host = part->count > 0 ? (uint32_t)part->number - 1 : 0;
  if (part->count > 0) {
    int64_t common = part->start_realtime_ns + session->id * part_period_ns(c) - session->realtime_offset_ns;
    if (common < session->start_ns)
      return lynx_fail(run->error, LYNX_MACHINE,
                       "session %lld was to begin on all load hosts %.3f s ago: this one was not ready; give --start more time",
                       (long long)session->id, (double)(session->start_ns - common) / 1e9);
    session->start_ns = common;
    /* The tail goes on until the drain ends: other hosts' counted requests are to meet the same load. */
    atomic_store(&session->progress.n_counted_left, 1);
  }
  for (uint32_t i = 0; i < n; i++) {
    threads[i].session = session;
    threads[i].state = run->setup.states[i];
    threads[i].plan = (struct engine_plan){.clock = run->request->clock,
                                           .start_ns = session->start_ns,
                                           .schedule = &session->schedule,
                                           .batch = plan->load == LOAD_MULTI_STREAM ? (uint32_t)plan->concurrency : 0,
                                           .turns = conversations ? plan->inputs->turns : 1,
                                           .think_mean_ns = conversations ? c->regime.think_time_ns : 0,
                                           .seed = (uint64_t)plan->seed,
                                           .concurrency = (uint32_t)plan->concurrency,
                                           .warm_up_ns = plan->warm_up_ns,
                                           .counted_ns = plan->counted_ns,
                                           .drain_ns = c->method.drain_ns,
                                           .timeout_ns = c->method.request_timeout_ns,
                                           .input_order = plan->inputs->order,
                                           .n_inputs = plan->inputs->n_order,
                                           .keep_answers = session->n_answers > least ? session->n_answers : least,
                                           .index = host + hosts * i,
                                           .n_engines = n * hosts,
                                           .stop = &session->stop,
                                           .in_flight_most = &session->in_flight_most,
                                           .progress = &session->progress,
                                           .sink = on_row,
                                           .sink_context = &threads[i]};
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
  json_begin_object(&json, ret);
  json_put_int(&json, "threads", n);
  if (run->contract.method.processors != NULL) json_put_text(&json, "processors", run->contract.method.processors);
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

static void note_clock_step(struct run *run, const struct session_run *session) {
  int64_t uncertainty, moved = clock_offset(run->request->clock, &uncertainty) - session->realtime_offset_ns;
  if (moved > -100000000 && moved < 100000000) return;
  char text[160];
  (void)snprintf(text, sizeof text,
                 "the wall clock was stepped by %.3f s during session %lld: latencies are not touched (they are monotonic), read lags are "
                 "unknown from then on",
                 (double)moved / 1e9, (long long)session->id);
  run_note(run, text);
  run_put_event(run, EVENT_CLOCK_STEP, text);
}

static int64_t find_serving(const struct run *run) {
  struct endpoint endpoint;
  if (run->contract.executor.pid > 0) return run->contract.executor.pid;
  if (endpoint_parse(run->contract.executor.endpoint, &endpoint, NULL) != LYNX_OK) return 0;
  return capture_is_local(&endpoint) ? capture_find_listener(run->request->root, &endpoint) : 0;
}

int64_t run_serving(const struct run *run) {
  if (run->workload_pid > 0) return run->workload_pid;
  if (run->service.child.pid > 0) return run->service.child.pid;
  return run->driver->in_process ? 0 : find_serving(run);
}

/* A tenth of the batch warms up, if there is a warm-up; the batch is due when the counted window begins. */
static int64_t *offline_times(struct run *run, const struct session_plan *plan, size_t *ret_n) {
  size_t batch = (size_t)run->contract.regime.batch, warm = plan->warm_up_ns > 0 ? batch / 10 + 1 : 0;
  int64_t *at = arena_alloc(&run->arena, warm + batch, sizeof *at);
  for (size_t i = 0; i < batch; i++) at[warm + i] = plan->warm_up_ns;
  *ret_n = warm + batch;
  return at;
}

static enum lynx_status make_schedule(struct run *run, const struct session_plan *plan, struct schedule *ret) {
  const struct arrivals_session session = {plan->load, plan->rate_per_s, plan->warm_up_ns, plan->counted_ns, plan->seed};
  struct schedule_plan p;
  if (!arrivals_plan(&run->contract, &session, &p) && plan->load == LOAD_OFFLINE) {
    p.kind = SCHEDULE_GIVEN;
    p.given = offline_times(run, plan, &p.n_given);
  } else if (plan->load == LOAD_REPLAY) {
    p.kind = SCHEDULE_GIVEN;
    p.given = plan->inputs->given_at_ns;
    p.n_given = plan->inputs->n_items;
  }
  return schedule_make(ret, &p, run->error);
}

/* Requests that the server has finished, by its own count; NaN: it does not say. */
static double server_count(struct run *run) {
  if (run->driver->in_process || !service_metrics(&run->service, &run->metrics)) return NAN;
  return metrics_value((struct bytes){run->metrics.data, run->metrics.length}, METRICS_FINISHED);
}

/* Does the page that was just read hold anything that is kept? Then it is read again and again. */
static bool page_tells(const struct run *run) {
  bool any = false;
  for (int i = 0; i < METRICS_COUNT && !run->driver->in_process; i++)
    any = any || !isnan(metrics_value((struct bytes){run->metrics.data, run->metrics.length}, (enum metrics_series)i));
  return any;
}

/* More than we sent, and a little for what is counted late: somebody else is there. */
static void note_other_tenants(struct run *run, const struct session_run *session, double before) {
  if (run->request->part.count > 0) return; /* the others are */
  double after = isnan(before) ? NAN : server_count(run), sent = (double)atomic_load(&session->progress.n_issued),
         others = after - before - sent;
  if (!(others > 2 + 0.01 * sent)) return;
  const char *text = arena_printf(&run->arena, "another tenant: during session %lld the server finished %.0f requests, and %.0f were ours",
                                  (long long)session->id, after - before, sent);
  run_note(run, text);
  run_put_event(run, EVENT_CONDITION, text);
}

enum { COUNTERS_MAX = 16 };

/* By the driver's own route, else by the metrics page as last read. */
static size_t read_counters(struct run *run, struct driver_counter *ret) {
  size_t n = run->driver->counters != NULL ? run->driver->counters(run->setup.states[0], ret, COUNTERS_MAX) : 0;
  if (n > 0 || !run->has_metrics) return n;
  const struct bytes page = {run->metrics.data, run->metrics.length};
  for (int i = 0; i < METRICS_PHASE_COUNT && n < COUNTERS_MAX; i++) {
    double sum_s, count;
    if (!metrics_phase_total(page, (enum metrics_phase)i, &sum_s, &count) || !(sum_s < 1e9) || !(count < 1e15)) continue;
    ret[n] = (struct driver_counter){.n = (int64_t)count, .sum_ns = (int64_t)(sum_s * 1e9)};
    (void)snprintf(ret[n++].name, sizeof ret[0].name, "%s", metrics_phase_text((enum metrics_phase)i));
  }
  return n;
}

/* What the server's own totals grew by, as the mean of each phase over the session: series account.NAME (ns) and account.NAME.n. */
static void put_accounts(struct run *run, const struct session_run *session, const struct driver_counter *before, size_t n_before) {
  struct driver_counter after[COUNTERS_MAX];
  size_t n = n_before > 0 ? read_counters(run, after) : 0;
  int64_t at_ns = clock_now(run->request->clock) - session->start_ns;
  for (size_t i = 0; i < n && i < n_before; i++) {
    int64_t grown = after[i].n - before[i].n, sum_ns = after[i].sum_ns - before[i].sum_ns;
    char series[64];
    if (grown <= 0 || sum_ns < 0) continue; /* nothing, or the server was started anew */
    (void)snprintf(series, sizeof series, "account.%.31s", after[i].name);
    bundle_put_sample(run->bundle, session->id, at_ns, series, (double)sum_ns / (double)grown);
    (void)snprintf(series, sizeof series, "account.%.31s.n", after[i].name);
    bundle_put_sample(run->bundle, session->id, at_ns, series, (double)grown);
  }
}

/* The first failure of an engine, where nothing failed before. */
static enum lynx_status join_engines(struct run *run, struct engine_thread *threads, uint32_t n, enum lynx_status status) {
  for (uint32_t i = 0; i < n; i++) {
    if (threads[i].thread != 0) (void)pthread_join(threads[i].thread, NULL);
    if (status != LYNX_OK || threads[i].status == LYNX_OK) continue;
    status = threads[i].status;
    *run->error = threads[i].error;
  }
  return status;
}

/* What the session's row says of it now that it is over. */
static void end_row(struct run *run, const struct session_run *session, const struct engine_thread *threads, uint32_t n,
                    struct bundle_session *row) {
  struct buffer instrument;
  buffer_init(&instrument, 65536);
  write_instrument(run, session, threads, n, &instrument);
  row->start_realtime_ns = session->start_ns + session->realtime_offset_ns;
  row->instrument_json = arena_copy(&run->arena, instrument.data);
  row->end = session->aborted ? SESSION_ABORTED : atomic_load(&session->stop) != ENGINE_RUN ? SESSION_INTERRUPTED : SESSION_COMPLETE;
  if (session->aborted) row->why = "the abort SLO was broken";
  buffer_release(&instrument);
}

/* Whom stops and limits are given to must be the server: where the contract names a process, one of it, or of those that it started,
 * listens at the endpoint. */
static bool is_the_server(const struct run *run, int64_t pid) {
  struct endpoint endpoint;
  struct process_tree tree;
  if (pid <= 1) return false;
  if (run->contract.executor.pid <= 0) return true; /* found by its socket, or started */
  if (endpoint_parse(run->contract.executor.endpoint, &endpoint, NULL) != LYNX_OK || !capture_is_local(&endpoint)) return false;
  int64_t listener = capture_find_listener(run->request->root, &endpoint);
  process_tree_read(run->request->root, pid, &tree);
  if (listener > 0 && process_tree_holds(&tree, listener)) return true;
  process_tree_read(run->request->root, listener, &tree);
  return listener > 1 && process_tree_holds(&tree, pid);
}

/* NULL: it is no session that is perturbed. */
static const struct run_perturbation *begin_perturbation(const struct run *run, struct session_run *session,
                                                         const struct bundle_session *row, int64_t serving) {
  const struct run_perturbation *perturbation = run->request->perturbation;
  const struct session_plan *plan = session->plan;
  if (plan->purpose != PURPOSE_PERTURB) return NULL;
  const struct perturbed_session where = {.id = session->id,
                                          .zero_ns = session->start_ns,
                                          .from_ns = plan->warm_up_ns,
                                          .to_ns = plan->warm_up_ns + plan->counted_ns,
                                          .realtime_ns = session->start_ns + session->realtime_offset_ns,
                                          .pid = is_the_server(run, serving) ? serving : 0,
                                          .rate_per_s = row->rate_per_s,
                                          .concurrency = row->concurrency,
                                          .in_flight_most = plan->load == LOAD_CLOSED && run->setup.n == 1 ? &session->in_flight_most
                                                                                                           : NULL};
  perturbation->begin(perturbation->context, &where);
  return perturbation;
}

static void free_engines(struct engine_thread *threads, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    free_nodes(threads[i].spare);
    free_nodes(atomic_load(&threads[i].emptied));
  }
  free(threads);
}

enum lynx_status run_load(struct run *run, const struct session_plan *plan, struct bundle_session *row, bool *ret_aborted) {
  struct session_run *session = xalloc(1, sizeof *session);
  session->run = run;
  session->plan = plan;
  session->id = row->id;
  uint32_t n = run->setup.n;
  char digest[DIGEST_HEX];
  enum lynx_status status = make_schedule(run, plan, &session->schedule);
  if (status != LYNX_OK) {
    free(session);
    return status;
  }
  inputs_shuffle(plan->inputs, (uint64_t)plan->seed);
  struct engine_thread *threads = xalloc(n, sizeof *threads);
  row->start_realtime_ns = run_realtime(run);
  row->schedule_digest = arena_copy(&run->arena, schedule_digest(&session->schedule, digest));
  row->end = SESSION_RUNNING;
  bundle_put_session(run->bundle, row);
  status = bundle_commit(run->bundle, run->error);
  double finished_before = server_count(run);
  run->has_metrics = page_tells(run);
  struct driver_counter counters[COUNTERS_MAX];
  size_t n_counters = read_counters(run, counters);
  if (status == LYNX_OK) status = start_engines(run, session, threads, n);
  int64_t serving = run_serving(run);
  sampling_begin(run->sampling, session->start_ns, serving);
  struct profiling *profiling = NULL;
  if (status == LYNX_OK && plan->purpose == PURPOSE_ATTRIBUTE)
    profiling = profiling_begin(run, session->id, serving, plan->warm_up_ns + plan->counted_ns);
  struct server_trace_place place;
  struct server_trace *traced = NULL;
  if (status == LYNX_OK && plan->purpose == PURPOSE_TRACE && server_trace_find(run->request->root, serving, &place))
    traced = server_trace_begin(run, session->id, &place, plan->warm_up_ns);
  const struct run_perturbation *perturbation = status == LYNX_OK ? begin_perturbation(run, session, row, serving) : NULL;
  enum lynx_status attended = attend(run, session, row->precision);
  status = join_engines(run, threads, n, status);
  if (perturbation != NULL) perturbation->end(perturbation->context, run->bundle);
  sampling_end(run->sampling);
  profiling_end(profiling);
  server_trace_end(traced);
  put_samples(session);
  write_finished(session);
  if (status == LYNX_OK) status = attended;
  end_row(run, session, threads, n, row);
  run->left_behind = session->n_left > 0;
  if (status == LYNX_OK) {
    note_other_tenants(run, session, finished_before); /* it reads the server's metrics again */
    put_accounts(run, session, counters, n_counters);
    note_clock_step(run, session);
    recount_ask(&session->recount, run, session->id);
    bundle_put_session(run->bundle, row);
    status = bundle_written(run->bundle, run->error);
  }
  schedule_release(&session->schedule);
  free_engines(threads, n);
  *ret_aborted = session->aborted;
  recount_release(&session->recount);
  free(session);
  return status;
}
