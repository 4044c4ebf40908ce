#include "measure/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "measure/check_sessions.h"
#include "measure/executor_session.h"
#include "measure/looks.h"
#include "measure/machine_speed.h"
#include "measure/observe.h"
#include "measure/run_climb.h"
#include "measure/run_perturb.h"
#include "measure/sampling.h"
#include "measure/search.h"
#include "measure/tokenizer_file.h"
#include "telemetry/metrics.h"
#include "watch/watcher.h"

/* Of a contract that is somebody else's, what would take something of ours: keys, and variables by their names alone. */
static void forget_sources(struct run *run) {
  struct contract *c = &run->contract;
  struct text_list *environment = &c->executor.start.environment;
  size_t n = 0;
  c->workload.api_key_env = run->request->api_key_env;
  c->workload.api_key_file = run->request->api_key_file;
  c->executor.pid = 0; /* a number of another machine, or of any process of this one */
  for (size_t i = 0; i < environment->n_items; i++)
    if (strchr(environment->items[i], '=') != NULL) environment->items[n++] = environment->items[i];
  environment->n_items = n;
}

static enum lynx_status prepare(struct run *run) {
  struct problem_list problems;
  if (contract_parse(run->request->contract_text, run->request->contract_length, &run->arena, &run->contract, &problems) != LYNX_OK)
    return lynx_fail(run->error, LYNX_INPUT, "the contract has %zu error%s; `lynxbench lint` lists them", problems.n_errors,
                     LYNX_S(problems.n_errors));
  contract_digest(&run->contract, run->contract_digest);
  if (run->request->sessions > run->contract.method.sessions) run->contract.method.sessions = run->request->sessions;
  if (run->request->endpoint != NULL) run->contract.executor.endpoint = run->request->endpoint;
  if (run->request->foreign) forget_sources(run);
  run_add_environment(run, run->request->environment);
  setup_check(&run->contract, &problems);
  if (problems.n_errors > 0)
    return lynx_fail(run->error, LYNX_INPUT, "%s: found %s; accepted: %s", problems.items[problems.n_items - 1].field,
                     problems.items[problems.n_items - 1].found, problems.items[problems.n_items - 1].accepted);
  run->driver = drivers_find(run->contract.workload.driver);
  enum lynx_status status = setup_key(&run->contract, run->request->key_variable, &run->arena, &run->bearer, run->error);
  if (status != LYNX_OK) return status;
  if (run->request->part.count > 0 && run_only_observes(run))
    return lynx_fail(run->error, LYNX_INPUT, "a part of a load that sends nothing; accepted: --observe without --part");
  if (run->request->part.count > 0) status = part_check(&run->request->part, &run->contract, run->driver, run->error);
  if (status != LYNX_OK) return status;
  run->service = (struct service){.contract = &run->contract, .bearer = run->bearer, .stop = run->request->stop};
  if (run_only_observes(run) && (run->driver->in_process || contract_states(&run->contract, "executor.start")))
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
  if (run_only_observes(run)) return observe_open(run); /* nothing is asked */
  status = inputs_make(&run->contract, run->bearer, &run->inputs, run->error);
  if (status == LYNX_IO && run->contract.workload.prompts.tokenizer != NULL &&
      strcmp(run->contract.workload.prompts.tokenizer, "server") == 0)
    run->outcome->executor_failed = true;
  bool searches = run->contract.regime.load == LOAD_SATURATION || run->contract.regime.load == LOAD_CLIMB,
       looks = contract_states(&run->contract, "method.precision_target");
  if (!searches && !looks && run->request->perturbation == NULL)
    run->n_sessions_planned = run->contract.method.sessions * (int64_t)run->contract.precisions.n_items;
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
  run->sampling = sampling_open(request->root, request->clock, run->contract.method.sampling_at_most);
  return run_put_intent(run);
}

const struct contract *run_contract_of(const struct run *run) {
  return &run->contract;
}

enum lynx_status run_round(struct run *run, int64_t number, bool last) {
  return run_each_precision(run, number, last);
}

static void note_budget(struct run *run) {
  const struct contract_method *m = &run->contract.method;
  if (!contract_states(&run->contract, "method.budget") || contract_states(&run->contract, "method.precision_target") ||
      clock_now(run->request->clock) - run->begun_ns <= m->budget_ns)
    return;
  static const char text[] = "method.budget ended before all that the contract asks for was run";
  run_put_event(run, EVENT_BUDGET, text);
  run_note(run, text);
  if (run->outcome->why[0] == 0)
    (void)snprintf(run->outcome->why, sizeof run->outcome->why, "%s", text); /* the first reason is the reason */
}

static enum lynx_status run_all(struct run *run) {
  const struct contract *c = &run->contract;
  enum lynx_status status = LYNX_OK;
  if (run_only_observes(run)) return run_observe(run);
  if (run->request->perturbation != NULL) return run_perturb(run);
  if (c->regime.load == LOAD_SATURATION)
    for (size_t p = 0; p < c->precisions.n_items && status == LYNX_OK && !run_is_over(run); p++) status = run_search(run, p);
  else if (c->regime.load == LOAD_CLIMB)
    for (size_t p = 0; p < c->precisions.n_items && status == LYNX_OK && !run_is_over(run); p++) status = run_climb(run, p);
  else if (contract_states(c, "method.precision_target")) status = run_to_precision(run);
  else
    for (int64_t number = 0; number < c->method.sessions && status == LYNX_OK && !run_is_over(run); number++)
      status = run_each_precision(run, number, number == c->method.sessions - 1);
  for (size_t p = 0; p < c->precisions.n_items && status == LYNX_OK && !run_is_over(run); p++) status = run_checks(run, p);
  if (status == LYNX_OK) note_budget(run);
  return status;
}

static enum lynx_status seal(struct run *run, enum lynx_status status) {
  struct run_outcome *o = run->outcome;
  bool interrupted = atomic_load(run->request->stop) != 0 || o->aborted_by_slo;
  o->end = status != LYNX_OK ? BUNDLE_FAILED : interrupted ? BUNDLE_INTERRUPTED : BUNDLE_COMPLETE;
  if (o->why[0] == 0 && status != LYNX_OK) lynx_error_text(run->error, o->why, sizeof o->why);
  if (o->why[0] == 0) (void)snprintf(o->why, sizeof o->why, "%s", interrupted ? "stopped by the user" : BUNDLE_ALL_RAN);
  (void)secret_mask(o->why); /* a server's words may be in it */
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
    if (status == LYNX_OK && !run_only_observes(run)) machine_speed_put(run, true);
    if (status == LYNX_OK && run->n_steal > 0 && run->steal_sum / (double)run->n_steal > run->contract.method.stolen_at_most)
      run_put_event(
          run, EVENT_CONDITION,
          arena_printf(&run->arena,
                       "the hypervisor took %.0f %% of this machine's processor time in the counted windows; at most %g %% is agreed "
                       "(method.stolen_at_most)",
                       100 * run->steal_sum / (double)run->n_steal, 100 * run->contract.method.stolen_at_most));
    status = seal(run, status);
    secret_mask_file(arena_printf(&run->arena, "%s.executor.log", run->request->out_path), run->bearer);
    if (run->service.log_path[0] != 0 && !o->executor_failed) (void)unlink(run->service.log_path); /* kept where it explains a failure */
    sampling_close(run->sampling);
  }
  bundle_close(run->bundle);
  buffer_release(&run->metrics);
  inputs_release(&run->inputs);
  tokenizer_close(run->tokenizer);
  watcher_close(run->watcher);
  arena_release(&run->arena);
  free(run);
  return status;
}

enum lynx_status run_contract(const struct run_request *request, struct run_outcome *ret, struct lynx_error *error) {
  struct lynx_error own = {0};
  struct run *run;
  enum lynx_status status = run_begin(request, &run, ret, error != NULL ? error : &own);
  if (status == LYNX_OK && !run_only_observes(run)) machine_speed_put(run, false); /* it takes a processor for a moment */
  if (status == LYNX_OK) status = run_all(run);
  return run_end(run, status);
}
