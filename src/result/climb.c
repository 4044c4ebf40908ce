#include "result/climb.h"

#include <math.h>
#include <string.h>

#include "result/point.h"
#include "result/rows.h"

enum { STEPS_WITHOUT_GROWTH = 2 };

enum lynx_status climb_measure(struct bundle *bundle, const struct contract *contract, const struct bundle_session *session,
                               struct result_step *ret, struct lynx_error *error) {
  *ret = (struct result_step){.concurrency = session->concurrency};
  enum lynx_status status = point_measure(bundle, contract, &session, 1, true, &ret->point, error);
  bool tokens = row_terms_of(bundle, contract).holds_tokens;
  ret->throughput = tokens ? ret->point.output_rate.estimate : ret->point.goodput.estimate;
  if (!isfinite(ret->throughput)) ret->throughput = 0;
  double arrivals = (double)ret->point.n_arrivals;
  ret->failing = arrivals > 0 && (double)ret->point.n_failed / arrivals > contract->method.failures_at_most;
  ret->too_short = ret->point.n_ended < session->concurrency;
  return status;
}

static bool tells(const struct result_step *step) {
  return !step->failing && !step->too_short;
}

double climb_best(const struct result_step *steps, size_t n, int64_t least) {
  double best = 0;
  for (size_t i = 0; i < n; i++)
    if (tells(&steps[i]) && steps[i].concurrency >= least && steps[i].throughput > best) best = steps[i].throughput;
  return best;
}

int64_t climb_next(const struct result_step *steps, size_t n, int64_t most) {
  size_t without = 0;
  if (n == 0) return 1;
  if (!tells(&steps[n - 1])) return 0;
  for (size_t i = n; i-- > 1 && !(steps[i].throughput >= CLIMB_GROWS * climb_best(steps, i, 1));) without++;
  int64_t last = steps[n - 1].concurrency;
  if (without >= STEPS_WITHOUT_GROWTH || last >= most) return 0;
  return 2 * last < most ? 2 * last : most;
}

static int64_t knee_from(const struct result_step *steps, size_t n, int64_t least) {
  double best = climb_best(steps, n, least);
  int64_t knee = 0;
  for (size_t i = 0; i < n && best > 0; i++)
    if (tells(&steps[i]) && steps[i].concurrency >= least && steps[i].throughput >= CLIMB_KNEE * best &&
        (knee == 0 || steps[i].concurrency < knee))
      knee = steps[i].concurrency;
  return knee;
}

int64_t climb_knee(const struct result_step *steps, size_t n) {
  int64_t knee = knee_from(steps, n, 2);
  if (knee == 0) knee = knee_from(steps, n, 1);
  return knee > 0 || n == 0 || steps[0].failing || !(steps[0].throughput > 0) ? knee : 1; /* every window is too short */
}

enum lynx_status climb_judge(struct bundle *bundle, struct result *result, struct result_precision *p, const struct session_list *sessions,
                             struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  if (result->contract.regime.load != LOAD_CLIMB) return LYNX_OK;
  p->steps = arena_alloc(&result->arena, sessions->n_items + 1, sizeof *p->steps);
  for (size_t i = 0; i < sessions->n_items && status == LYNX_OK; i++) {
    const struct bundle_session *s = &sessions->items[i];
    if (s->purpose != PURPOSE_SEARCH || s->end != SESSION_COMPLETE || strcmp(s->precision, p->name) != 0) continue;
    status = climb_measure(bundle, &result->contract, s, &p->steps[p->n_steps], error);
    if (status == LYNX_OK) p->n_steps++;
  }
  p->knee = climb_knee(p->steps, p->n_steps);
  for (size_t i = 0; i < sessions->n_items; i++) { /* where was counted, that is it: another version may have chosen another */
    const struct bundle_session *s = &sessions->items[i];
    if (s->purpose == PURPOSE_MEASURE && s->concurrency > 0 && strcmp(s->precision, p->name) == 0) p->knee = s->concurrency;
  }
  return status;
}
