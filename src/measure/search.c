#include "measure/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/executor_session.h"
#include "result/point.h"

enum { ROWS_MAX = 4096 };

struct searching {
  struct run *run;
  size_t precision;
  struct saturation_search search;
  struct bundle_session rows[ROWS_MAX]; /* what the analysis needs of every complete session so far */
  size_t n_rows;
  int64_t number;
  bool gave_up; /* the executor would not become idle */
};

static enum lynx_status run_one_window(struct searching *s, double rate, enum purpose purpose, bool keep_running, bool last,
                                       bool *ret_complete) {
  struct session_plan plan = run_plan(s->run, s->precision, purpose, s->number++);
  run_plan_rate(s->run, &plan, rate);
  plan.accuracy = purpose == PURPOSE_CERTIFY;
  plan.keep_running = keep_running;
  plan.last = last;
  plan.alone = true;
  enum lynx_status status = run_session(s->run, &plan, ret_complete);
  if (status == LYNX_OK && *ret_complete && s->n_rows < ROWS_MAX)
    s->rows[s->n_rows++] = (struct bundle_session){.id = s->run->next_session - 1,
                                                   .precision = s->run->contract.precisions.items[s->precision],
                                                   .purpose = purpose,
                                                   .end = SESSION_COMPLETE,
                                                   .why = "",
                                                   .rate_per_s = rate,
                                                   .warm_up_ns = plan.warm_up_ns,
                                                   .counted_ns = plan.counted_ns};
  return status;
}

/* A window that would begin in another's backlog is tried once more where the contract starts the executor: it is a new one then. */
static enum lynx_status run_window(struct searching *s, double rate, enum purpose purpose, bool keep_running, bool last) {
  bool complete = false, starts = contract_states(&s->run->contract, "executor.start");
  enum lynx_status status = LYNX_OK;
  for (int tries = starts ? 2 : 1; tries > 0 && !complete && status == LYNX_OK && !run_is_over(s->run) && !s->run->skip[s->precision];
       tries--)
    status = run_one_window(s, rate, purpose, keep_running, last, &complete);
  s->gave_up = status == LYNX_OK && !complete && !run_is_over(s->run) && !s->run->skip[s->precision];
  return status;
}

/* By the windows of one purpose: a certificate by its own, never by those of the search that found its loads. */
static enum lynx_status judge(struct searching *s, double rate, enum purpose purpose, bool final, struct result_point *ret) {
  const struct bundle_session *own[ROWS_MAX];
  size_t n = 0;
  for (size_t i = 0; i < s->n_rows; i++)
    if (s->rows[i].purpose == purpose && s->rows[i].rate_per_s >= rate && s->rows[i].rate_per_s <= rate) own[n++] = &s->rows[i];
  return point_measure(s->run->bundle, &s->run->contract, own, n, final, ret, s->run->error);
}

static void tell(const struct searching *s, const struct result_point *p) {
  char text[300];
  (void)snprintf(text, sizeof text, "%s, %.6g requests/s: %s (%s; backlog growth %.2g %% [%.2g, %.2g], %lld arrivals)",
                 s->run->contract.precisions.items[s->precision], p->rate_per_s, p->sustained ? "sustained" : "not sustained", p->why,
                 100 * p->growth.estimate, 100 * p->growth.low, 100 * p->growth.high, (long long)p->n_arrivals);
  run_note(s->run, text);
  run_put_event(s->run, EVENT_SEARCH, text);
}

static bool is_over(const struct searching *s) {
  return run_is_over(s->run) || s->run->skip[s->precision] || s->gave_up;
}

/* A load fails for a dead executor too, and says nothing about its capacity then. */
static enum lynx_status still_there(struct searching *s) {
  if (s->run->driver->in_process || (contract_states(&s->run->contract, "executor.start") && !s->run->running_for_next)) return LYNX_OK;
  enum lynx_status status = service_alive(&s->run->service, s->run->error);
  if (status != LYNX_OK) s->run->outcome->executor_failed = true;
  return status;
}

/* Windows at one load until it is decided. */
static enum lynx_status try_load(struct searching *s, double rate) {
  int64_t most = s->run->contract.regime.search.looks_at_most;
  struct result_point point = {0};
  enum lynx_status status = LYNX_OK;
  for (int64_t look = 0; look < most && status == LYNX_OK && !is_over(s); look++) {
    status = run_window(s, rate, PURPOSE_SEARCH, true, false);
    if (status == LYNX_OK && !is_over(s)) status = judge(s, rate, PURPOSE_SEARCH, look + 1 == most, &point);
    if (status == LYNX_OK && !is_over(s) && !point.sustained) status = still_there(s);
    bool decided = point.backlog != LOAD_UNDECIDED || !point.objectives_met;
    if (decided) break;
  }
  if (status != LYNX_OK || is_over(s)) return status;
  saturation_tell(&s->search, rate, point.sustained);
  tell(s, &point);
  return LYNX_OK;
}

/* Both loads again, as often as the contract has sessions, in turn; each session a fresh process where the contract starts it. */
static enum lynx_status certify(struct searching *s, bool *ret_holds) {
  const double loads[] = {s->search.passing, s->search.failing};
  int64_t sessions = s->run->contract.method.sessions;
  enum lynx_status status = LYNX_OK;
  *ret_holds = true;
  for (int64_t k = 0; k < sessions && status == LYNX_OK; k++)
    for (int turn = 0; turn < 2 && status == LYNX_OK && !is_over(s); turn++) {
      int which = (turn + (int)(k % 2)) % 2; /* pass, fail, fail, pass: a drift meets both alike */
      if (loads[which] > 0) status = run_window(s, loads[which], PURPOSE_CERTIFY, false, k + 1 == sessions);
      if (status == LYNX_OK && !is_over(s)) status = still_there(s);
    }
  for (int which = 0; which < 2 && status == LYNX_OK && !is_over(s); which++) {
    struct result_point point;
    if (!(loads[which] > 0)) continue;
    status = judge(s, loads[which], PURPOSE_CERTIFY, true, &point);
    if (status == LYNX_OK) tell(s, &point);
    if (status != LYNX_OK || point.sustained == (which == 0)) continue;
    *ret_holds = false;
    saturation_tell(&s->search, loads[which], point.sustained);
  }
  return status;
}

enum lynx_status run_search(struct run *run, size_t precision) {
  const struct contract_regime *r = &run->contract.regime;
  struct searching *s = xalloc(1, sizeof *s);
  *s = (struct searching){
      .run = run, .precision = precision, .search = {.from = r->rate_per_s, .to = r->to_per_s, .resolution = r->search.resolution}};
  enum lynx_status status = LYNX_OK;
  enum search_end end = SEARCH_GOES_ON;
  for (bool holds = false; status == LYNX_OK && !holds && !is_over(s);) {
    double rate = saturation_next(&s->search, &end);
    if (end == SEARCH_GOES_ON) status = try_load(s, rate);
    else if (end == SEARCH_NOTHING_SUSTAINED || end == SEARCH_TOO_LONG) break;
    else {
      if (run->running_for_next) service_stop(&run->service); /* each session of the certificate begins afresh */
      run->running_for_next = false;
      status = certify(s, &holds);
    }
  }
  if (run->running_for_next) service_stop(&run->service);
  run->running_for_next = false;
  if (status == LYNX_OK && s->gave_up)
    run_put_event(run, EVENT_SEARCH,
                  "the search was given up: the executor did not become idle between two windows. It works on requests whose clients "
                  "have gone; let the contract start it (executor.start), so that each window has a new one");
  if (status == LYNX_OK && end == SEARCH_TOO_LONG)
    run_put_event(run, EVENT_SEARCH, "the search was given up: its verdicts kept contradicting one another");
  free(s);
  return status;
}
