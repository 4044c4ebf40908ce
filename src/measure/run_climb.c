#include "measure/run_climb.h"

#include <math.h>
#include <stdio.h>

#include "measure/executor_session.h"
#include "result/climb.h"

enum { STEPS_MAX = 32 }; /* doubling from 1 ends long before */

struct climbing {
  struct run *run;
  size_t precision;
  struct result_step steps[STEPS_MAX];
  size_t n;
};

static void tell(const struct climbing *c, const struct result_step *step) {
  char text[300], latency[80] = "";
  const struct result_point *p = &step->point;
  if (p->time_to_first_token_p50 > 0 && isfinite(p->time_to_first_token_p99))
    (void)snprintf(latency, sizeof latency, ", TTFT p50 %.4g ms, p99 %.4g ms", p->time_to_first_token_p50 / 1e6,
                   p->time_to_first_token_p99 / 1e6);
  (void)snprintf(text, sizeof text, "%s, %lld in flight: %.5g tokens/s, %.4g requests/s%s%s",
                 c->run->contract.precisions.items[c->precision], (long long)step->concurrency, p->output_rate.estimate,
                 p->goodput.estimate, latency,
                 step->failing     ? "; too many requests fail"
                 : step->too_short ? "; the window is too short for so many"
                                   : "");
  run_note(c->run, text);
  run_put_event(c->run, EVENT_SEARCH, text);
}

static enum lynx_status take_step(struct climbing *c, int64_t concurrency, bool *ret_complete) {
  struct run *run = c->run;
  struct session_plan plan = run_plan(run, c->precision, PURPOSE_SEARCH, (int64_t)c->n);
  plan.load = LOAD_CLOSED;
  plan.concurrency = concurrency;
  plan.accuracy = false;
  plan.keep_running = true;
  enum lynx_status status = run_session(run, &plan, ret_complete);
  if (status != LYNX_OK || !*ret_complete) return status;
  const struct bundle_session session = {.id = run->next_session - 1,
                                         .precision = run->contract.precisions.items[c->precision],
                                         .purpose = PURPOSE_SEARCH,
                                         .end = SESSION_COMPLETE,
                                         .why = "",
                                         .concurrency = concurrency,
                                         .warm_up_ns = plan.warm_up_ns,
                                         .counted_ns = plan.counted_ns};
  status = climb_measure(run->bundle, &run->contract, &session, &c->steps[c->n], run->error);
  if (status == LYNX_OK) tell(c, &c->steps[c->n++]);
  return status;
}

enum lynx_status run_climb(struct run *run, size_t precision) {
  struct climbing c = {.run = run, .precision = precision};
  enum lynx_status status = LYNX_OK;
  bool complete = true;
  while (status == LYNX_OK && complete && !run_is_over(run) && !run->skip[precision] && c.n < STEPS_MAX) {
    int64_t concurrency = climb_next(c.steps, c.n, run->contract.regime.concurrency);
    if (concurrency == 0) break;
    status = take_step(&c, concurrency, &complete);
  }
  int64_t knee = climb_knee(c.steps, c.n);
  if (knee == 0 && status == LYNX_OK && !run_is_over(run) && !run->skip[precision])
    run_put_event(run, EVENT_SEARCH, "the climb found no knee: no step was answered");
  for (int64_t k = 0; k < run->contract.method.sessions && knee > 0 && status == LYNX_OK && !run_is_over(run); k++)
    status = run_counted(run, precision, knee, k, k + 1 == run->contract.method.sessions);
  return status;
}
