#include "measure/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/executor_session.h"
#include "result/point.h"

enum { ROWS_MAX = SEARCH_WINDOWS_MAX };

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
                                                   .warm_up_ns = run_warm_up_ns(s->run, &plan),
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
static enum lynx_status judge(struct searching *s, double rate, enum purpose purpose, struct result_point *ret) {
  const struct bundle_session *own[ROWS_MAX];
  size_t n = 0;
  for (size_t i = 0; i < s->n_rows; i++)
    if (s->rows[i].purpose == purpose && s->rows[i].rate_per_s >= rate && s->rows[i].rate_per_s <= rate) own[n++] = &s->rows[i];
  return point_measure(s->run->bundle, &s->run->contract, own, n, true, ret, s->run->error);
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

/* What all windows of that load and purpose say. */
static enum lynx_status look(struct searching *s, const struct load_asked *asked, struct load_seen *ret) {
  struct result_point point;
  enum lynx_status status = judge(s, asked->load, asked->certify ? PURPOSE_CERTIFY : PURPOSE_SEARCH, &point);
  if (status != LYNX_OK) return status;
  double resolution = s->search.resolution;
  enum load_verdict sure = growth_verdict(&point.growth, resolution, false);
  bool grows = sure == LOAD_NOT_SUSTAINED;
  *ret = (struct load_seen){.n_windows = point.n_sessions,
                            .decided = sure != LOAD_UNDECIDED || !point.objectives_met,
                            .sure = grows || point.objectives_missed ||
                                    (sure == LOAD_SUSTAINED && point.sustained && point.objectives_held),
                            .sustained = point.sustained,
                            .holds = point.sustained && point.objectives_held && point.growth.high < resolution,
                            .capacity = grows ? point.growth.completed * asked->load : 0,
                            .error = grows ? point.growth.completed_error * asked->load : 0};
  bool told = asked->certify ? saturation_is_last(&s->search, asked) : ret->decided || ret->n_windows >= s->search.looks;
  if (told) tell(s, &point);
  return LYNX_OK;
}

static enum lynx_status take_window(struct searching *s, const struct load_asked *asked) {
  struct run *run = s->run;
  struct load_seen seen;
  bool last = asked->certify && saturation_is_last(&s->search, asked);
  if (asked->certify && run->running_for_next) service_stop(&run->service); /* each session of the certificate begins afresh */
  if (asked->certify) run->running_for_next = false;
  enum lynx_status status = run_window(s, asked->load, asked->certify ? PURPOSE_CERTIFY : PURPOSE_SEARCH, !asked->certify, last);
  if (status == LYNX_OK && !is_over(s)) status = still_there(s);
  if (status != LYNX_OK || is_over(s)) return status;
  status = look(s, asked, &seen);
  if (status == LYNX_OK) saturation_tell(&s->search, asked, &seen);
  return status;
}

enum lynx_status run_search(struct run *run, size_t precision) {
  const struct contract_regime *r = &run->contract.regime;
  struct searching *s = xalloc(1, sizeof *s);
  *s = (struct searching){.run = run,
                          .precision = precision,
                          .search = {.from = r->rate_per_s,
                                     .to = r->to_per_s,
                                     .resolution = r->search.resolution,
                                     .looks = (size_t)r->search.looks_at_most,
                                     .sessions = (size_t)run->contract.method.sessions}};
  enum lynx_status status = LYNX_OK;
  enum search_end end = SEARCH_GOES_ON;
  struct load_asked asked;
  while (status == LYNX_OK && !is_over(s) && (end = saturation_next(&s->search, &asked)) == SEARCH_GOES_ON) status = take_window(s, &asked);
  if (run->running_for_next) service_stop(&run->service);
  run->running_for_next = false;
  if (status == LYNX_OK && s->gave_up)
    run_put_event(run, EVENT_SEARCH,
                  "the search was given up: the executor did not become idle between two windows. It works on requests whose clients "
                  "have gone; let the contract start it (executor.start), so that each window has a new one");
  if (status == LYNX_OK && end == SEARCH_TOO_LONG)
    run_put_event(
        run, EVENT_SEARCH,
        "the search was given up: its verdicts kept contradicting one another, or it took more loads or windows than are foreseen");
  free(s);
  return status;
}
