#include "measure/run_perturb.h"

#include <stdio.h>
#include <string.h>

#include "measure/executor_session.h"

/* The load is the contract's own; of a climb, a closed loop at the knee that it found. */
static struct session_plan plan_of(struct run *run, size_t precision, int64_t number) {
  const struct run_perturbation *p = run->request->perturbation;
  struct session_plan plan = run_plan(run, precision, PURPOSE_PERTURB, number);
  if (p->concurrency > 0) {
    plan.load = LOAD_CLOSED;
    plan.concurrency = p->concurrency;
  }
  plan.warm_up_ns = p->warm_up_ns;
  plan.counted_ns = p->counted_ns;
  plan.accuracy = false;
  plan.keep_running = p->variant == NULL && number + 1 < p->sessions_at_most;
  plan.last = number + 1 == p->sessions_at_most;
  return plan;
}

enum lynx_status run_variant(struct run *run, const struct text_list *command, const struct text_list *environment, int64_t number,
                             bool captures, bool *ret_complete) {
  struct contract_start *start = &run->contract.executor.start;
  const struct contract_start agreed = *start;
  struct session_plan plan = plan_of(run, 0, number);
  plan.keep_running = false;
  plan.may_fail = true;
  run->captured[0] = run->captured[0] || !captures;
  start->command = *command;
  start->environment = *environment;
  enum lynx_status status = run_session(run, &plan, ret_complete);
  *start = agreed;
  return status;
}

static void set_variant(struct run *run, const char *const *settings) {
  const char *one[2] = {NULL, NULL};
  for (size_t i = 0; settings[i] != NULL; i++) {
    one[0] = settings[i];
    if (strncmp(settings[i], "--", 2) == 0) run_set_argument(run, settings[i]);
    else run_add_environment(run, one);
  }
}

enum lynx_status run_resume(struct run *run, struct bundle *earlier, const char *root, int64_t n) {
  char text[200];
  enum lynx_status status = bundle_copy_sessions(earlier, run->bundle, n - 1, run->error);
  if (status != LYNX_OK) return status;
  (void)snprintf(text, sizeof text, "the first %lld sessions are those of the run %.64s, which ended before its plan did", (long long)n,
                 root[0] != 0 ? root : "without a seal");
  run_put_event(run, EVENT_RESUMED, text);
  run->next_session = n;
  return LYNX_OK;
}

enum lynx_status run_perturb(struct run *run) {
  const struct run_perturbation *p = run->request->perturbation;
  enum lynx_status status = LYNX_OK;
  bool complete = true, enough = false;
  for (int64_t number = 0; number < p->sessions_at_most && complete && !enough && status == LYNX_OK && !run_is_over(run); number++) {
    struct session_plan plan = plan_of(run, 0, number);
    const struct contract_start agreed = run->contract.executor.start;
    if (p->variant != NULL) set_variant(run, p->variant(p->context, number));
    status = run_session(run, &plan, &complete);
    run->contract.executor.start = agreed;
    if (status == LYNX_OK && complete && p->enough != NULL) enough = p->enough(p->context, run->bundle, number + 1);
  }
  return status;
}
