#include "measure/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"
#include "executor/capture.h"
#include "executor/disclose.h"
#include "executor/import.h"
#include "measure/run_private.h"
#include "measure/score.h"
#include "result/result.h"
#include "stats/compare.h"
#include "telemetry/metrics.h"
#include "telemetry/sampler.h"

void run_note(const struct run *run, const char *text) {
  if (run->request->note != NULL) run->request->note(run->request->context, text);
}

int64_t run_realtime(const struct run *run) {
  return run->request->clock->realtime_ns(run->request->clock->context);
}

enum lynx_status run_put_event(struct run *run, const char *kind, const char *text) {
  return bundle_put_event(run->bundle, run_realtime(run), kind, text, run->error);
}

void run_show_step(const struct run *run, const char *step, const char *precision) {
  struct run_progress progress = {
      .step = step, .precision = precision, .session = run->next_session, .n_sessions = run->n_sessions_planned};
  if (run->request->progress != NULL) run->request->progress(run->request->context, &progress);
}

bool run_is_over(const struct run *run) {
  if (atomic_load(run->request->stop) != 0 || run->outcome->aborted_by_slo) return true;
  int64_t budget = run->contract.method.budget_ns;
  return contract_states(&run->contract, "method.budget") && clock_now(run->request->clock) - run->begun_ns > budget;
}

/* --- around the load --- */

/* What was captured on the executor's other hosts, and handed in by the contract. */
static enum lynx_status join_hosts(struct run *run, struct fact_list *facts) {
  const struct text_map *hosts = &run->contract.executor.hosts;
  const struct root root = {""};
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < hosts->n_items && status == LYNX_OK; i++) {
    struct buffer text;
    struct fact_list one = {0};
    if (strcmp(hosts->values[i], "none") == 0) {
      capture_join(facts, hosts->keys[i], NULL);
      continue;
    }
    buffer_init(&text, 64 << 20);
    status = root_read(&root, hosts->values[i], &text, run->error);
    if (status == LYNX_OK) status = capture_import(text.data, text.length, &one, run->error);
    if (status == LYNX_OK) capture_join(facts, hosts->keys[i], &one);
    else lynx_error_at(run->error, hosts->values[i], 0, "executor.hosts");
    buffer_release(&text);
    fact_list_release(&one);
  }
  capture_join_clocks(facts, hosts->keys, hosts->n_items);
  return status;
}

static enum lynx_status capture_now(struct run *run, const char *moment, const char *precision) {
  struct fact_list facts = {0};
  struct capture_request request = {.root = run->request->root,
                                    .clock = run->request->clock,
                                    .endpoint = run->contract.executor.endpoint,
                                    .pid = run->contract.executor.pid,
                                    .behind_proxy = run->contract.executor.behind_proxy,
                                    .in_process = run->driver->in_process};
  if (request.in_process) request.endpoint = NULL;
  if (run->driver->describe != NULL) run->workload_pid = run->driver->describe(run->setup.states[0], &facts);
  if (request.in_process) request.pid = run->workload_pid;
  request.hosts_known = run->contract.executor.hosts.n_items > 0;
  request.ask_routes = !run->request->observe; /* who only observes sends nothing at all */
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
  /* What is asked of it: context, since the same executor may be asked for something else. */
  const char *loads = load_text(run->contract.regime.load);
  fact_add(&facts, &(struct fact){.layer = LAYER_DEMAND,
                                  .kind = FACT_CONTEXT,
                                  .status = FACT_DECLARED,
                                  .key = "demand.load",
                                  .value = loads,
                                  .unit = "",
                                  .source = "the contract"});
  if (run->contract.workload.profile_file != NULL)
    fact_add(&facts, &(struct fact){.layer = LAYER_DEMAND,
                                    .kind = FACT_CONTEXT,
                                    .status = FACT_DECLARED,
                                    .key = "demand.profile",
                                    .value = run->contract.workload.profile_file,
                                    .unit = "",
                                    .source = "the contract"});
  enum lynx_status status = join_hosts(run, &facts);
  fact_sort(&facts);
  if (status == LYNX_OK) status = bundle_put_facts(run->bundle, arena_printf(&run->arena, "%s:%s", moment, precision), &facts, run->error);
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

struct score_target {
  struct run *run;
  int64_t session;
};

static enum lynx_status accuracy_missing(struct run *run, const char *precision, const char *why) {
  char text[700];
  (void)snprintf(text, sizeof text, "accuracy of %s was not measured: %s", precision, why);
  run_note(run, text);
  return run_put_event(run, "accuracy", text);
}

static enum lynx_status keep_score(void *context, int64_t input, double score) {
  const struct score_target *target = context;
  return bundle_put_accuracy(target->run->bundle, target->session, input, "score", score, 1, target->run->error);
}

/* Exact matches and agreement are figures of the answers, which are in the record; a scorer is asked now. */
static enum lynx_status measure_answers(struct run *run, int64_t session, const char *precision) {
  if (run->contract.accuracy.measure != ACCURACY_SCORER) return LYNX_OK;
  run_show_step(run, "accuracy", precision);
  struct score_target target = {run, session};
  struct lynx_error why = {0};
  enum lynx_status status = score_answers(&run->contract, run->bundle, &run->inputs, session, run->request->out_path, run->request->stop,
                                          keep_score, &target, &why);
  if (status == LYNX_OK || run->error->status != LYNX_OK) return status;
  return accuracy_missing(run, precision, why.message);
}

static enum lynx_status measure_accuracy(struct run *run, int64_t session, const char *precision) {
  if (!contract_states(&run->contract, "accuracy") || run->driver->in_process) return LYNX_OK;
  if (run->contract.accuracy.measure != ACCURACY_LIKELIHOOD) return measure_answers(run, session, precision);
  run_show_step(run, "accuracy", precision);
  struct accuracy_target target = {0};
  struct lynx_error why = {0};
  target.windows = arena_alloc(&target.arena, (size_t)run->contract.accuracy.windows, sizeof *target.windows);
  enum lynx_status status = service_accuracy(&run->service, keep_accuracy, &target, &why), written = LYNX_OK;
  for (int64_t i = 0; i < target.n && status == LYNX_OK && written == LYNX_OK; i++)
    written = bundle_put_accuracy(run->bundle, session, i, "bits", target.windows[i].bits, target.windows[i].bytes, run->error);
  arena_release(&target.arena);
  return status == LYNX_OK ? written : accuracy_missing(run, precision, why.message);
}

/* --- one session --- */

/* The precision cannot run here: a finding, not a failure. Every session of it says so. */
static enum lynx_status mark_unavailable(struct run *run, struct bundle_session *row, size_t precision, const char *why) {
  row->end = SESSION_UNAVAILABLE;
  row->why = arena_copy(&run->arena, why);
  row->start_realtime_ns = run_realtime(run);
  if (!run->skip[precision]) run_note(run, arena_printf(&run->arena, "%s is unavailable: %s", row->precision, why));
  run->skip[precision] = true;
  return bundle_put_session(run->bundle, row, run->error);
}

struct session_plan run_plan(struct run *run, size_t precision, enum purpose purpose, int64_t number) {
  const struct contract *c = &run->contract;
  return (struct session_plan){.precision = precision,
                               .purpose = purpose,
                               .number = number,
                               .seed = c->method.seed + number,
                               .rate_per_s = c->regime.rate_per_s,
                               .load = (enum load_kind)c->regime.load,
                               .concurrency = contract_in_flight(c),
                               .inputs = &run->inputs,
                               .body_seed = c->method.seed,
                               .counted_ns = c->method.counted_ns,
                               .warm_up_ns = c->method.warm_up_ns,
                               .accuracy = true};
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
  if (!run->captured[plan->precision]) status = capture_now(run, "start", row->precision);
  run->captured[plan->precision] = true;
  if (status == LYNX_OK) status = run_load(run, plan, row, &aborted);
  *ret_complete = status == LYNX_OK && row->end == SESSION_COMPLETE;
  if (*ret_complete && plan->accuracy) status = measure_accuracy(run, row->id, row->precision);
  if (*ret_complete && status == LYNX_OK && plan->last) status = capture_now(run, "end", row->precision);
  if (aborted) {
    run->outcome->aborted_by_slo = true;
    (void)snprintf(run->outcome->why, sizeof run->outcome->why, "the abort SLO was broken in session %lld", (long long)row->id);
    if (status == LYNX_OK) status = run_put_event(run, "condition", run->outcome->why);
  }
  if (run->service.child.pid == 0 || child_running(&run->service.child)) return status;
  char tail[500];
  service_log_tail(&run->service, tail, sizeof tail);
  run->outcome->executor_failed = true;
  if (status == LYNX_OK)
    status = lynx_fail(run->error, LYNX_IO, "the executor ended with exit code %d during session %lld; it printed: %s",
                       run->service.child.exit_code, (long long)row->id, tail);
  return status;
}

static enum lynx_status mark_interrupted(struct run *run, struct bundle_session *row) {
  row->end = SESSION_INTERRUPTED;
  row->start_realtime_ns = run_realtime(run);
  return bundle_put_session(run->bundle, row, run->error);
}

static enum lynx_status open_driver(struct run *run, const struct session_plan *plan, struct lynx_error *error) {
  struct setup_request request = {.contract = &run->contract,
                                  .driver = run->driver,
                                  .bearer = run->bearer,
                                  .precision = run->contract.precisions.items[plan->precision],
                                  .log_path = arena_printf(&run->arena, "%s.executor.log", run->request->out_path),
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

enum lynx_status run_session(struct run *run, const struct session_plan *plan, bool *ret_complete) {
  const char *name = run->contract.precisions.items[plan->precision];
  *ret_complete = false;
  run->next_session++;
  struct bundle_session row = row_of(run, plan);
  run_show_step(run, "starting", name);
  struct lynx_error why = {0};
  enum lynx_status status = LYNX_OK;
  if (run->skip[plan->precision]) return mark_unavailable(run, &row, plan->precision, "as in the session before");
  if (!run->driver->in_process && !run->running_for_next)
    status = service_start(&run->service, name, arena_printf(&run->arena, "%s.executor.log", run->request->out_path), &why);
  run->running_for_next = false;
  if (status != LYNX_OK && atomic_load(run->request->stop) != 0) status = mark_interrupted(run, &row);
  else if (status == LYNX_UNSUPPORTED) status = mark_unavailable(run, &row, plan->precision, why.message);
  else if (status != LYNX_OK) {
    *run->error = why;
    run->outcome->executor_failed = status == LYNX_IO || status == LYNX_NOT_FOUND;
  } else {
    status = open_driver(run, plan, &why);
    if (status != LYNX_OK && atomic_load(run->request->stop) != 0) status = mark_interrupted(run, &row);
    else if (status == LYNX_UNSUPPORTED) status = mark_unavailable(run, &row, plan->precision, why.message);
    else if (status != LYNX_OK) {
      *run->error = why;
      run->outcome->executor_failed = status == LYNX_IO || status == LYNX_NOT_FOUND;
    } else status = run_on_executor(run, plan, &row, ret_complete);
  }
  run->workload_pid = 0;
  setup_close(&run->setup);
  run->running_for_next = status == LYNX_OK && *ret_complete && plan->keep_running && !run_is_over(run);
  if (!run->running_for_next) service_stop(&run->service);
  if (status != LYNX_OK) return status;
  return bundle_commit(run->bundle, run->error);
}

/* --- intent, sessions, seal --- */

static enum lynx_status put_references(struct run *run) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < run->inputs.n_items && run->inputs.references != NULL && status == LYNX_OK; i++)
    status = bundle_put_answer(run->bundle, BUNDLE_REFERENCES, (int64_t)i, run->inputs.references[i], strlen(run->inputs.references[i]),
                               run->error);
  return status;
}

/* A file that the figures depend on goes into the record whole. */
static enum lynx_status put_file(struct run *run, const char *key, const char *path) {
  if (path == NULL) return LYNX_OK;
  struct buffer text;
  enum lynx_status status = inputs_read_text(path, &text, run->error);
  if (status == LYNX_OK) status = bundle_put_meta(run->bundle, key, text.data, run->error);
  buffer_release(&text);
  return status;
}

/* A prompt as it was sent, with the digest of its picture; or, withheld, a salted digest of both: who has them can show that they match. */
static enum lynx_status put_input(struct run *run, size_t index) {
  const struct driver_input *input = &run->inputs.items[index];
  char hex[DIGEST_HEX], salt_hex[33];
  uint8_t salt[16], sum[DIGEST_BYTES];
  struct digest digest = {{0}};
  size_t n_image = input->image != NULL ? strlen(input->image) : 0;
  if (!run->contract.workload.prompts.withhold && input->image == NULL)
    return bundle_put_input(run->bundle, (int64_t)index, input->prompt, input->length, run->error);
  digest_init(&digest);
  const char *text;
  if (run->contract.workload.prompts.withhold) {
    if (!random_salt(salt, sizeof salt)) return lynx_fail(run->error, LYNX_MACHINE, "no random bytes to withhold prompts with");
    digest_update(&digest, salt, sizeof salt);
    digest_update(&digest, input->prompt, input->length);
    digest_update(&digest, input->image != NULL ? input->image : "", n_image);
    digest_final(&digest, sum);
    text = arena_printf(&run->arena, "withheld: %zu bytes of text, %zu of a picture; salt %s, SHA-256 of salt, text and picture %s",
                        input->length, n_image, hex_encode(salt, sizeof salt, salt_hex), digest_hex(sum, hex));
    return bundle_put_input(run->bundle, (int64_t)index, text, strlen(text), run->error);
  }
  digest_update(&digest, input->image, n_image);
  digest_final(&digest, sum);
  struct buffer whole;
  buffer_init(&whole, input->length + 256);
  enum lynx_status status = lynx_fail(NULL, LYNX_LIMIT, "too long");
  if (buffer_append(&whole, input->prompt, input->length) &&
      buffer_printf(&whole, "\n[and a picture: a data URL of %zu bytes, SHA-256 %s]", n_image, digest_hex(sum, hex)))
    status = bundle_put_input(run->bundle, (int64_t)index, whole.data, whole.length, run->error);
  buffer_release(&whole);
  return status;
}

/* By itself a part shows a part of the load: nothing can be claimed from it. */
static enum lynx_status put_part(struct run *run) {
  const struct run_part *part = &run->request->part;
  struct buffer text;
  buffer_init(&text, 4096);
  part_write(part, &text);
  enum lynx_status status = bundle_put_meta(run->bundle, "part", text.data, run->error);
  buffer_release(&text);
  return status == LYNX_OK ? run_put_event(run, "condition",
                                           arena_printf(&run->arena, "part %lld of %lld: `lynxbench merge` makes the whole of all of them",
                                                        (long long)part->number, (long long)part->count))
                           : status;
}

static enum lynx_status put_intent(struct run *run) {
  char now[40], host[128] = "";
  (void)gethostname(host, sizeof host - 1); /* an unnamed host stays unnamed */
  const struct {
    const char *key, *value;
  } meta[] = {{"format", "lynx bundle 2"},
              {"tool", "lynxbench " LYNX_VERSION},
              {"contract", NULL},
              {"contract_digest", run->contract_digest},
              {"intended_at", clock_text(now, run_realtime(run))},
              {"host", host},
              {"answers", driver_answers_text(run->driver->answers)}};
  enum lynx_status status = LYNX_OK;
  char *contract = arena_text(&run->arena, run->request->contract_text, run->request->contract_length);
  for (size_t i = 0; i < LYNX_COUNT(meta) && status == LYNX_OK; i++)
    status = bundle_put_meta(run->bundle, meta[i].key, meta[i].value != NULL ? meta[i].value : contract, run->error);
  if (status == LYNX_OK && run->request->endpoint != NULL)
    status = bundle_put_meta(run->bundle, "endpoint", run->request->endpoint, run->error);
  for (size_t i = 0; i < run->request->n_meta && status == LYNX_OK; i++)
    status = bundle_put_meta(run->bundle, run->request->meta[i].key, run->request->meta[i].value, run->error);
  for (size_t i = 0; i < run->inputs.n_items && status == LYNX_OK; i++) status = put_input(run, i);
  if (status == LYNX_OK) status = put_references(run);
  if (status == LYNX_OK) status = put_file(run, "profile", run->contract.workload.profile_file);
  if (status == LYNX_OK && run->request->calibration != NULL)
    status = bundle_put_meta(run->bundle, "calibration", run->request->calibration, run->error);
  if (status == LYNX_OK && run->request->interleaved != NULL)
    status = bundle_put_meta(run->bundle, "interleaved", run->request->interleaved, run->error);
  if (status == LYNX_OK && run->inputs.note != NULL) {
    run_note(run, run->inputs.note);
    status = run_put_event(run, "inputs", run->inputs.note);
  }
  if (status == LYNX_OK && run->request->part.count > 0) status = put_part(run);
  if (status == LYNX_OK) status = run_put_event(run, "intent", "the run was started");
  if (status == LYNX_OK) status = bundle_commit(run->bundle, run->error);
  return status;
}

static enum lynx_status prepare(struct run *run) {
  struct problem_list problems;
  if (contract_parse(run->request->contract_text, run->request->contract_length, &run->arena, &run->contract, &problems) != LYNX_OK)
    return lynx_fail(run->error, LYNX_INPUT, "the contract has %zu errors; `lynxbench lint` lists them", problems.n_errors);
  contract_digest(&run->contract, run->contract_digest);
  if (run->request->sessions > run->contract.method.sessions) run->contract.method.sessions = run->request->sessions;
  if (run->request->endpoint != NULL) run->contract.executor.endpoint = run->request->endpoint;
  setup_check(&run->contract, &problems);
  if (problems.n_errors > 0)
    return lynx_fail(run->error, LYNX_INPUT, "%s: found %s; accepted: %s", problems.items[problems.n_items - 1].field,
                     problems.items[problems.n_items - 1].found, problems.items[problems.n_items - 1].accepted);
  run->driver = drivers_find(run->contract.workload.driver);
  enum lynx_status status = setup_key(&run->contract, &run->arena, &run->bearer, run->error);
  if (status != LYNX_OK) return status;
  if (run->request->part.count > 0 && run->request->observe)
    return lynx_fail(run->error, LYNX_INPUT, "a part of a load that sends nothing; accepted: --observe without --part");
  if (run->request->part.count > 0) status = part_check(&run->request->part, &run->contract, run->driver, run->error);
  if (status != LYNX_OK) return status;
  run->service = (struct service){.contract = &run->contract, .bearer = run->bearer, .stop = run->request->stop};
  if (run->request->observe && (run->driver->in_process || contract_states(&run->contract, "executor.start")))
    return lynx_fail(run->error, LYNX_INPUT,
                     "an observation watches a service that runs already: the contract must not start one (executor.start), nor use a "
                     "driver that reaches no server");
  run->skip = arena_alloc(&run->arena, run->contract.precisions.n_items, sizeof *run->skip);
  run->captured = arena_alloc(&run->arena, run->contract.precisions.n_items, sizeof *run->captured);
  if (contract_states(&run->contract, "accuracy") && run->contract.accuracy.text_file != NULL && !run->driver->in_process) {
    struct buffer text;
    status = inputs_read_text(run->contract.accuracy.text_file, &text, run->error); /* before hours are spent, not after */
    buffer_release(&text);
    if (status != LYNX_OK) return status;
  }
  if (run->request->observe) return status; /* nothing is asked */
  status = inputs_make(&run->contract, run->bearer, &run->inputs, run->error);
  if (status == LYNX_IO && run->contract.workload.prompts.tokenizer != NULL &&
      strcmp(run->contract.workload.prompts.tokenizer, "server") == 0)
    run->outcome->executor_failed = true;
  bool searches = run->contract.regime.load == LOAD_SATURATION, looks = contract_states(&run->contract, "method.precision_target");
  if (!searches && !looks) run->n_sessions_planned = run->contract.method.sessions * (int64_t)run->contract.precisions.n_items;
  return status;
}

enum lynx_status run_begin(const struct run_request *request, struct run **ret, struct run_outcome *ret_outcome, struct lynx_error *error) {
  struct run *run = xalloc(1, sizeof *run);
  run->request = request;
  run->outcome = ret_outcome;
  run->error = error;
  run->begun_ns = clock_now(request->clock);
  buffer_init(&run->metrics, METRICS_PAGE_MAX);
  *ret_outcome = (struct run_outcome){.end = BUNDLE_UNSEALED};
  *ret = run;
  enum lynx_status status = prepare(run);
  if (status == LYNX_OK) status = bundle_create(request->out_path, &run->bundle, run->error);
  if (status != LYNX_OK) return status;
  run->machine_known = sampler_machine.open(request->root, &run->machine);
  return put_intent(run);
}

const struct contract *run_contract_of(const struct run *run) {
  return &run->contract;
}

enum lynx_status run_round(struct run *run, int64_t number, bool last) {
  enum lynx_status status = LYNX_OK;
  bool complete;
  for (size_t p = 0; p < run->contract.precisions.n_items && status == LYNX_OK && !run_is_over(run); p++) {
    struct session_plan plan = run_plan(run, p, PURPOSE_MEASURE, number);
    plan.last = last;
    status = run_session(run, &plan, &complete);
  }
  return status;
}

/* One look at what there is: has the contract's precision been reached? It is paid for: a result of such a contract computes every
 * interval at the confidence of one of all the looks. */
static enum lynx_status look(struct run *run, int64_t n_sessions, bool *ret_reached) {
  const struct contract_method *m = &run->contract.method;
  const struct bundle_seal_info as_if = {.end = BUNDLE_COMPLETE};
  struct result result;
  double widest = 0;
  bool bounded = true;
  enum lynx_status status = result_compute(run->bundle, &as_if, &result, run->error);
  if (status != LYNX_OK) return status;
  for (size_t p = 0; p < result.n_precisions; p++) {
    const struct result_precision *r = &result.precisions[p];
    if (r->unavailable) continue;
    const struct interval *rate = result_throughput(r);
    double half = rate->bounded && rate->estimate > 0 ? (rate->high - rate->low) / 2 / rate->estimate : INFINITY;
    /* Sessions that agree to the last request are no surer than one request in so many. */
    double counted = r->n_complete > 0 ? (double)r->n_counted / (double)r->n_complete : 0, one = counted > 0 ? 1 / counted : INFINITY;
    half = half > one ? half : one;
    widest = half > widest ? half : widest;
    for (size_t i = 0; i < r->n_objectives; i++) bounded = bounded && objective_is_decided(r->objectives[i].verdict);
  }
  *ret_reached = widest <= m->precision_target && bounded;
  const char *text = arena_printf(&run->arena, "look after %lld sessions: the widest interval is +-%.3g %% (wanted: %.3g %%)%s",
                                  (long long)n_sessions, 100 * widest, 100 * m->precision_target,
                                  bounded ? "" : "; not every objective's quantile is bounded yet");
  result_release(&result);
  run_note(run, text);
  return run_put_event(run, "look", text);
}

static enum lynx_status run_to_precision(struct run *run) {
  const struct contract_method *m = &run->contract.method;
  enum lynx_status status = LYNX_OK;
  bool reached = false;
  int64_t number = 0;
  for (int64_t next = m->sessions; status == LYNX_OK && !reached;) {
    for (; number < next && status == LYNX_OK && !run_is_over(run); number++) status = run_round(run, number, number + 1 == next);
    if (status == LYNX_OK && !run_is_over(run)) status = look(run, number, &reached);
    if (number >= m->sessions_at_most || run_is_over(run)) break;
    next = next + m->look_every < m->sessions_at_most ? next + m->look_every : m->sessions_at_most;
  }
  if (status != LYNX_OK || atomic_load(run->request->stop) != 0 || run->outcome->aborted_by_slo) return status;
  int64_t seconds = (clock_now(run->request->clock) - run->begun_ns) / 1000000000;
  const char *text = arena_printf(&run->arena, "%s after %lld sessions and %lld s",
                                  reached                         ? "the precision was reached"
                                  : number >= m->sessions_at_most ? "the precision was not reached: method.sessions_at_most ended first"
                                                                  : "the precision was not reached: method.budget ended first",
                                  (long long)number, (long long)seconds);
  run_note(run, text);
  return run_put_event(run, "precision", text);
}

static enum lynx_status note_budget(struct run *run) {
  const struct contract_method *m = &run->contract.method;
  if (!contract_states(&run->contract, "method.budget") || contract_states(&run->contract, "method.precision_target") ||
      clock_now(run->request->clock) - run->begun_ns <= m->budget_ns)
    return LYNX_OK;
  return run_put_event(run, "budget", "method.budget ended before all that the contract asks for was run");
}

static enum lynx_status run_all(struct run *run) {
  const struct contract *c = &run->contract;
  enum lynx_status status = LYNX_OK;
  if (run->request->observe) return run_observe(run);
  if (c->regime.load == LOAD_SATURATION)
    for (size_t p = 0; p < c->precisions.n_items && status == LYNX_OK && !run_is_over(run); p++) status = run_search(run, p);
  else if (contract_states(c, "method.precision_target")) status = run_to_precision(run);
  else
    for (int64_t number = 0; number < c->method.sessions && status == LYNX_OK && !run_is_over(run); number++)
      status = run_round(run, number, number == c->method.sessions - 1);
  for (size_t p = 0; p < c->precisions.n_items && status == LYNX_OK && !run_is_over(run); p++) status = run_checks(run, p);
  return status == LYNX_OK ? note_budget(run) : status;
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

enum lynx_status run_end(struct run *run, enum lynx_status status) {
  struct run_outcome *o = run->outcome;
  if (run->bundle != NULL) {
    service_stop(&run->service);
    if (status == LYNX_OK && run->n_steal > 0 && run->steal_sum / (double)run->n_steal > run->contract.method.stolen_at_most)
      status = run_put_event(
          run, "condition",
          arena_printf(&run->arena,
                       "the hypervisor took %.0f %% of this machine's processor time in the counted windows; at most %g %% is agreed "
                       "(method.stolen_at_most)",
                       100 * run->steal_sum / (double)run->n_steal, 100 * run->contract.method.stolen_at_most));
    status = seal(run, status);
    if (run->service.log_path[0] != 0 && !o->executor_failed) (void)unlink(run->service.log_path); /* kept where it explains a failure */
    sampler_machine.close(run->machine);
  }
  bundle_close(run->bundle);
  buffer_release(&run->metrics);
  inputs_release(&run->inputs);
  arena_release(&run->arena);
  free(run);
  return status;
}

enum lynx_status run_contract(const struct run_request *request, struct run_outcome *ret, struct lynx_error *error) {
  struct lynx_error own = {0};
  struct run *run;
  enum lynx_status status = run_begin(request, &run, ret, error != NULL ? error : &own);
  if (status == LYNX_OK) status = run_all(run);
  return run_end(run, status);
}
