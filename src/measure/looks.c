#include "measure/looks.h"

#include <math.h>

#include "measure/executor_session.h"
#include "result/result.h"
#include "stats/compare.h"

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
  run_put_event(run, EVENT_LOOK, text);
  return LYNX_OK;
}

enum lynx_status run_to_precision(struct run *run) {
  const struct contract_method *m = &run->contract.method;
  enum lynx_status status = LYNX_OK;
  bool reached = false;
  int64_t number = 0;
  for (int64_t next = m->sessions; status == LYNX_OK && !reached;) {
    for (; number < next && status == LYNX_OK && !run_is_over(run); number++) status = run_each_precision(run, number, number + 1 == next);
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
  run_put_event(run, EVENT_PRECISION, text);
  return bundle_commit(run->bundle, run->error);
}
