#include "measure/check_sessions.h"

#include <string.h>

#include "measure/executor_session.h"
#include "result/check_plan.h"

enum { OTHER_SEED = 104729 }; /* far from any seed + session number */

/* The contract's inputs with another seed; what else the contract says stays. */
static enum lynx_status make_other_inputs(struct run *run, bool caching, struct inputs *ret) {
  struct contract other = run->contract;
  other.method.seed += OTHER_SEED;
  other.accuracy.references = NULL;
  if (caching) other.regime.load = LOAD_CLOSED; /* drawn prompts, each by itself */
  if (caching) other.workload.prompts.count = (int64_t)2 * CHECK_PROMPTS;
  if (caching) other.workload.output_distribution = LENGTH_FIXED;
  if (caching) other.workload.prompts.distribution = LENGTH_FIXED;
  if (caching && other.workload.prompts.format != PROMPTS_TEXT) { /* words will do: what counts is that they are new */
    other.workload.prompts.format = PROMPTS_TEXT;
    other.workload.prompts.file = NULL;
  }
  enum lynx_status status = inputs_make(&other, run->bearer, ret, run->error);
  if (status != LYNX_OK || !caching) return status;
  ret->n_order = (size_t)3 * CHECK_PROMPTS;
  ret->order = arena_alloc(&ret->arena, ret->n_order, sizeof *ret->order);
  ret->fixed_order = true;
  for (size_t i = 0; i < ret->n_order; i++) ret->order[i] = (uint32_t)(i < (size_t)2 * CHECK_PROMPTS ? i : i - CHECK_PROMPTS);
  return status;
}

enum lynx_status run_checks(struct run *run, size_t precision) {
  const struct contract *c = &run->contract;
  enum lynx_status status = LYNX_OK;
  bool complete,
      caching = contract_wants_check(c, "caching") ||
                contract_wants_check(c, "prefix"), /* a search and a trace have no other prompts at the same load */
      seed = contract_wants_check(c, "seed") && c->regime.load != LOAD_SATURATION && c->regime.load != LOAD_CLIMB &&
             c->regime.load != LOAD_REPLAY &&
             c->workload.prompts.format == PROMPTS_TEXT; /* another seed takes the same prompts of a file again */
  if (run->skip[precision] || run->driver->in_process) return LYNX_OK;
  for (int k = 0; k < 2 && status == LYNX_OK && !run_is_over(run); k++) {
    if (!(k == 0 ? caching : seed)) continue;
    struct inputs inputs;
    status = make_other_inputs(run, k == 0, &inputs);
    struct session_plan plan = run_plan(run, precision, k == 0 ? PURPOSE_CHECK_CACHING : PURPOSE_CHECK_SEED, 0);
    plan.inputs = &inputs;
    plan.seed = c->method.seed + OTHER_SEED;
    plan.body_seed = plan.seed;
    plan.accuracy = false;
    if (k == 0) {
      plan.load = LOAD_SINGLE_STREAM;
      plan.concurrency = 1;
      plan.warm_up_ns = 0;
    }
    if (status == LYNX_OK) status = run_session(run, &plan, &complete);
    inputs_release(&inputs);
  }
  return status;
}
