#include "measure/executor_session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/secret.h"
#include "measure/idle.h"
#include "measure/run_capture.h"
#include "measure/score.h"
#include "measure/server_trace.h"
#include "measure/session.h"

enum { TRACED_NS = 1000000000 };
static const double warm_up_answers = 2; /* under load they take longer than alone */

/* --- around the load --- */

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

struct score_target {
  struct run *run;
  int64_t session;
};

static void accuracy_missing(struct run *run, const char *precision, const char *why) {
  char text[700];
  (void)snprintf(text, sizeof text, "accuracy of %s was not measured: %s", precision, why);
  run_note(run, text);
  run_put_event(run, EVENT_ACCURACY, text);
}

static enum lynx_status keep_score(void *context, int64_t input, double score) {
  const struct score_target *target = context;
  bundle_put_accuracy(target->run->bundle, target->session, input, "score", score, 1);
  return LYNX_OK;
}

/* Exact matches and agreement are figures of the answers, which are in the record; a scorer is asked now. */
static void measure_answers(struct run *run, int64_t session, const char *precision) {
  if (run->contract.accuracy.measure != ACCURACY_SCORER) return;
  run_show_step(run, "accuracy", precision);
  struct score_target target = {run, session};
  struct lynx_error why = {0};
  if (score_answers(&run->contract, run->bundle, &run->inputs, session, run->request->out_path, run->request->stop, keep_score, &target,
                    &why) != LYNX_OK)
    accuracy_missing(run, precision, why.message);
}

static void measure_accuracy(struct run *run, int64_t session, const char *precision) {
  if (!contract_states(&run->contract, "accuracy") || run->driver->in_process) return;
  if (run->contract.accuracy.measure != ACCURACY_LIKELIHOOD) {
    measure_answers(run, session, precision);
    return;
  }
  run_show_step(run, "accuracy", precision);
  struct accuracy_target target = {0};
  struct lynx_error why = {0};
  target.windows = arena_alloc(&target.arena, (size_t)run->contract.accuracy.windows, sizeof *target.windows);
  if (service_accuracy(&run->service, keep_accuracy, &target, &why) != LYNX_OK) accuracy_missing(run, precision, why.message);
  else
    for (int64_t i = 0; i < target.n; i++)
      bundle_put_accuracy(run->bundle, session, i, "bits", target.windows[i].bits, target.windows[i].bytes);
  arena_release(&target.arena);
}

/* --- one session --- */

/* The precision cannot run here: a finding, not a failure. Every session of it says so. */
static void mark_unavailable(struct run *run, struct bundle_session *row, size_t precision, const char *why) {
  row->end = SESSION_UNAVAILABLE;
  row->why = arena_copy(&run->arena, why);
  row->start_realtime_ns = run_realtime(run);
  if (!run->skip[precision]) run_note(run, arena_printf(&run->arena, "%s is unavailable: %s", row->precision, why));
  run->skip[precision] = true;
  bundle_put_session(run->bundle, row);
}

/* A window's slots, where the contract leaves them to its rate. */
void run_plan_rate(struct run *run, struct session_plan *plan, double rate_per_s) {
  const struct contract *c = &run->contract;
  bool limited;
  double most = plan->load == LOAD_RAMP && c->regime.to_per_s > rate_per_s ? c->regime.to_per_s : rate_per_s;
  size_t at_once = plan->load == LOAD_OFFLINE  ? (size_t)c->regime.batch + (size_t)c->regime.batch / 10 + 1
                   : plan->load == LOAD_REPLAY ? plan->inputs->n_items
                                               : 0;
  plan->rate_per_s = rate_per_s;
  plan->concurrency = setup_in_flight(c, most, at_once, &limited);
  if (limited && !run->told_of_files) {
    run->told_of_files = true;
    run_note(run,
             arena_printf(&run->arena,
                          "this process may open so few files (ulimit -n) that at most %lld requests can be in flight: any that must wait "
                          "for that is late, and counted as late",
                          (long long)plan->concurrency));
  }
}

struct session_plan run_plan(struct run *run, size_t precision, enum purpose purpose, int64_t number) {
  const struct contract *c = &run->contract;
  struct session_plan plan = {.precision = precision,
                              .purpose = purpose,
                              .number = number,
                              .seed = c->method.seed + number,
                              .rate_per_s = c->regime.rate_per_s,
                              .load = (enum load_kind)c->regime.load,
                              .inputs = &run->inputs,
                              .body_seed = c->method.seed,
                              .counted_ns = c->method.counted_ns,
                              .warm_up_ns = c->method.warm_up_ns,
                              .accuracy = true};
  run_plan_rate(run, &plan, c->regime.rate_per_s);
  return plan;
}

static struct bundle_session row_of(const struct run *run, const struct session_plan *plan) {
  const struct contract *c = &run->contract;
  bool starts = contract_states(c, "executor.start");
  return (struct bundle_session){.id = run->next_session - 1,
                                 .precision = c->precisions.items[plan->precision],
                                 .index = plan->number,
                                 .purpose = plan->purpose,
                                 .rate_per_s = load_is_closed(plan->load) || plan->load == LOAD_OFFLINE ? 0 : plan->rate_per_s,
                                 .concurrency = plan->concurrency,
                                 .seed = plan->seed,
                                 .executor = run->driver->runs_command ? EXECUTOR_STARTED
                                             : run->driver->in_process ? EXECUTOR_IN_PROCESS
                                             : !starts                 ? EXECUTOR_ALREADY_RUNNING
                                             : run->running_for_next   ? EXECUTOR_RUNNING_SINCE
                                                                       : EXECUTOR_STARTED,
                                 .why = "",
                                 .warm_up_ns = plan->warm_up_ns,
                                 .counted_ns = plan->counted_ns,
                                 .drain_ns = c->method.drain_ns,
                                 .schedule_digest = "",
                                 .executed_json = "",
                                 .instrument_json = "{}"};
}

static void mark_ended(struct run *run, struct bundle_session *row, enum session_end end, const char *why) {
  row->end = end;
  row->why = why;
  if (row->start_realtime_ns == 0) row->start_realtime_ns = run_realtime(run);
  run_note(run, arena_printf(&run->arena, "session %lld is %s: %s", (long long)row->id, session_end_text(end), why));
  bundle_put_session(run->bundle, row);
}

/* False: the session before left something behind that this one would begin in. */
static bool begin_alone(struct run *run, const struct session_plan *plan, struct bundle_session *row) {
  const char *why = "";
  double waited_s = 0;
  bool fresh = row->executor == EXECUTOR_STARTED || row->executor == EXECUTOR_IN_PROCESS;
  if (fresh || run->n_sent == 0) idle_learn(run, plan->alone);
  if (fresh) row->began = BEGAN_FRESH;
  else if (run->n_sent > 0 && (plan->alone || run->left_behind)) row->began = idle_wait(run, &waited_s, &why);
  if (waited_s > 1) run_note(run, arena_printf(&run->arena, "waited %.1f s until the executor was done with the window before", waited_s));
  if (row->began == BEGAN_IN_BACKLOG) mark_ended(run, row, SESSION_VOID, why); /* it would measure the window before */
  return row->began != BEGAN_IN_BACKLOG;
}

int64_t run_warm_up_ns(struct run *run, const struct session_plan *plan) {
  if (run->contract.regime.load != LOAD_SATURATION || !plan->alone) return plan->warm_up_ns;
  bool asked = run->idle.answer_ns > 0;
  double least_ns = warm_up_answers * idle_answer_ns(run);
  if (!isfinite(least_ns) || least_ns <= (double)plan->warm_up_ns) return plan->warm_up_ns;
  int64_t longer_ns = (int64_t)least_ns / 1000000 * 1000000 + 1000000;
  if (asked) return longer_ns;
  const char *text = arena_printf(
      &run->arena,
      "a request alone takes %.3g s, and method.warm_up is %.3g s: windows warm up for %.3g s, so that what they "
      "answer is not of fewer arrivals than what they are asked",
      run->idle.answer_ns / 1e9, (double)plan->warm_up_ns / 1e9, (double)longer_ns / 1e9);
  run_note(run, text);
  run_put_event(run, EVENT_SEARCH, text);
  return longer_ns;
}

/* The executor is there: captured, loaded, asked for accuracy. */
static enum lynx_status run_on_executor(struct run *run, const struct session_plan *plan, struct bundle_session *row, bool *ret_complete) {
  struct buffer executed;
  bool aborted = false;
  enum lynx_status status = LYNX_OK;
  buffer_init(&executed, 16384);
  const char *told = run->driver->executed != NULL ? run->driver->executed(run->setup.states[0]) : NULL;
  if (told != NULL) (void)buffer_text(&executed, told); /* too long a text is then no statement */
  else if (!run->driver->in_process) service_executed(&run->service, &executed);
  row->executed_json = executed.length > 0 && !executed.overflowed ? arena_copy(&run->arena, executed.data) : "";
  buffer_release(&executed);
  if (!run->captured[plan->precision]) status = run_capture(run, "start", row->precision);
  run->captured[plan->precision] = true;
  if (status != LYNX_OK || !begin_alone(run, plan, row)) return status;
  struct session_plan whole = *plan;
  row->warm_up_ns = whole.warm_up_ns = run_warm_up_ns(run, plan);
  run->n_sent++;
  status = run_load(run, &whole, row, &aborted);
  *ret_complete = status == LYNX_OK && row->end == SESSION_COMPLETE;
  if (*ret_complete && plan->accuracy) measure_accuracy(run, row->id, row->precision);
  if (*ret_complete && plan->last) status = run_capture(run, "end", row->precision);
  if (aborted) {
    run->outcome->aborted_by_slo = true;
    (void)snprintf(run->outcome->why, sizeof run->outcome->why, "the abort SLO was broken in session %lld", (long long)row->id);
    run_put_event(run, EVENT_CONDITION, run->outcome->why);
  }
  if (run->service.child.pid == 0 || child_running(&run->service.child)) return status;
  char tail[500];
  service_log_tail(&run->service, tail, sizeof tail);
  if (status == LYNX_OK && plan->may_fail) {
    *ret_complete = false;
    mark_ended(run, row, SESSION_FAILED,
               arena_printf(&run->arena, "the executor ended with exit code %d: %s", run->service.child.exit_code, tail));
    return status;
  }
  run->outcome->executor_failed = true;
  if (status == LYNX_OK)
    status = lynx_fail(run->error, LYNX_IO, "the executor ended with exit code %d during session %lld; it printed: %s",
                       run->service.child.exit_code, (long long)row->id, tail);
  return status;
}

static void mark_interrupted(struct run *run, struct bundle_session *row) {
  row->end = SESSION_INTERRUPTED;
  row->start_realtime_ns = run_realtime(run);
  bundle_put_session(run->bundle, row);
}

static enum lynx_status open_driver(struct run *run, const struct session_plan *plan, struct lynx_error *error) {
  struct setup_request request = {.contract = &run->contract,
                                  .driver = run->driver,
                                  .bearer = run->bearer,
                                  .precision = run->contract.precisions.items[plan->precision],
                                  .log_path = arena_printf(&run->arena, "%s.executor.log", run->request->out_path),
                                  .through_port = run->request->perturbation != NULL ? run->request->perturbation->through_port : 0,
                                  .seed = plan->body_seed,
                                  .concurrency = plan->concurrency,
                                  .inputs = plan->inputs->items,
                                  .n_inputs = plan->inputs->n_items,
                                  .clock = run->request->clock,
                                  .stop = run->request->stop};
  enum lynx_status status = setup_open(&request, &run->setup, error);
  if (status != LYNX_OK || run->driver->describe == NULL) return status;
  struct fact_list unused = {0}; /* the process is a new one in every session; its facts are captured in the first and the last */
  run->workload_pid = run->driver->describe(run->setup.states[0], &unused);
  fact_list_release(&unused);
  return status;
}

/* The executor did not start, or the driver found no service: what follows for the session. */
static enum lynx_status mark_unbegun(struct run *run, const struct session_plan *plan, struct bundle_session *row, enum lynx_status status,
                                     const struct lynx_error *why) {
  if (atomic_load(run->request->stop) != 0) mark_interrupted(run, row);
  else if (plan->may_fail && (status == LYNX_IO || status == LYNX_NOT_FOUND || status == LYNX_UNSUPPORTED))
    mark_ended(run, row, SESSION_FAILED, arena_copy(&run->arena, why->message));
  else if (status == LYNX_UNSUPPORTED) mark_unavailable(run, row, plan->precision, why->message);
  else {
    *run->error = *why;
    run->outcome->executor_failed = status == LYNX_IO || status == LYNX_NOT_FOUND;
    return status;
  }
  return LYNX_OK;
}

enum lynx_status run_session(struct run *run, const struct session_plan *plan, bool *ret_complete) {
  const char *name = run->contract.precisions.items[plan->precision];
  *ret_complete = false;
  run->next_session++;
  struct bundle_session row = row_of(run, plan);
  run_show_step(run, "starting", name);
  struct lynx_error why = {0};
  enum lynx_status status = LYNX_OK;
  if (run->skip[plan->precision]) {
    mark_unavailable(run, &row, plan->precision, "as in the session before");
    return bundle_commit(run->bundle, run->error);
  }
  if (!run->driver->in_process && !run->running_for_next)
    status = service_start(&run->service, name, arena_printf(&run->arena, "%s.executor.log", run->request->out_path), &why);
  run->running_for_next = false;
  if (status == LYNX_OK) status = open_driver(run, plan, &why);
  status = status == LYNX_OK ? run_on_executor(run, plan, &row, ret_complete) : mark_unbegun(run, plan, &row, status, &why);
  run->workload_pid = 0;
  setup_close(&run->setup);
  run->running_for_next = status == LYNX_OK && *ret_complete && plan->keep_running && !run_is_over(run);
  if (!run->running_for_next) service_stop(&run->service);
  if (status != LYNX_OK) return status;
  return bundle_commit(run->bundle, run->error);
}

/* Once in a run, after the last session in which profilers run, where the server's own profiler can be asked. */
static bool is_traced(const struct run *run, int64_t number) {
  struct server_trace_place place;
  enum load_kind load = (enum load_kind)run->contract.regime.load;
  return run->contract.method.server_profiler == SERVER_PROFILER_ASKED && number + 1 == run->contract.method.attribution_sessions &&
         !run->driver->in_process && load != LOAD_OFFLINE && load != LOAD_REPLAY &&
         server_trace_find(run->request->root, run_serving(run), &place);
}

enum lynx_status run_counted(struct run *run, size_t precision, int64_t knee, int64_t number, bool last) {
  static const enum purpose purposes[] = {PURPOSE_MEASURE, PURPOSE_ATTRIBUTE, PURPOSE_TRACE};
  bool attributes = number < run->contract.method.attribution_sessions, complete = false;
  enum lynx_status status = LYNX_OK;
  size_t n = attributes ? 2 : 1;
  for (size_t k = 0; k < n && status == LYNX_OK && !run_is_over(run); k++) {
    struct session_plan plan = run_plan(run, precision, purposes[k], number);
    if (k == 1 && is_traced(run, number)) n = 3;
    if (knee > 0) {
      plan.load = LOAD_CLOSED;
      plan.concurrency = knee;
    }
    plan.accuracy = k == 0;
    plan.keep_running = k + 1 < n || (knee > 0 && !last);
    plan.last = last && k + 1 == n;
    if (k == 2) {
      plan.warm_up_ns = plan.warm_up_ns < TRACED_NS ? plan.warm_up_ns : TRACED_NS;
      plan.counted_ns = TRACED_NS;
    }
    status = run_session(run, &plan, &complete);
    if (!complete) break;
  }
  return status;
}

enum lynx_status run_each_precision(struct run *run, int64_t number, bool last) {
  enum lynx_status status = LYNX_OK;
  for (size_t p = 0; p < run->contract.precisions.n_items && status == LYNX_OK && !run_is_over(run); p++)
    status = run_counted(run, p, 0, number, last);
  return status;
}
