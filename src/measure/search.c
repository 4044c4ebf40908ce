#include "measure/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
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
  int64_t begun_ns;
  double first_s; /* what the first window took; 0: it was not run */
  double told;    /* requests/s that the last forecast was made for; 0: none */
  bool gave_up;   /* the executor would not become idle */
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
  (void)snprintf(text, sizeof text, "%s, %.6g requests/s: %s (%s; backlog growth %.3g %% [%.3g, %.3g], %lld arrivals)",
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
  double resolution = s->run->contract.regime.search.resolution;
  enum load_verdict sure = growth_verdict(&point.growth, resolution, false);
  bool grows = sure == LOAD_NOT_SUSTAINED;
  *ret = (struct load_seen){.n_windows = point.n_sessions,
                            .decided = sure != LOAD_UNDECIDED || !point.objectives_met,
                            .sure = grows || point.objectives_missed ||
                                    (sure == LOAD_SUSTAINED && point.sustained && point.objectives_held),
                            .sustained = point.sustained,
                            .holds = point.sustained && point.objectives_held && point.growth.high < s->search.resolution,
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

/* --- what the time allows --- */

static double seconds_since(const struct run *run, int64_t from_ns) {
  return (double)(clock_now(run->request->clock) - from_ns) / 1e9;
}

/* What a window takes with all that is about it: of those that were run but the first, which may have started the executor; else of the next. */
static double seconds_of_window(const struct searching *s) {
  const struct contract_method *m = &s->run->contract.method;
  size_t n = s->search.n_windows;
  return n > 1 ? (seconds_since(s->run, s->begun_ns) - s->first_s) / (double)(n - 1) : (double)(m->warm_up_ns + m->counted_ns) / 1e9;
}

/* What the certificate takes beside its windows: each of them starts the executor, where the contract says how. */
static double seconds_of_starts(const struct searching *s) {
  bool starts = contract_states(&s->run->contract, "executor.start");
  return starts ? fmax(0, s->first_s - seconds_of_window(s)) * 2 * (double)s->search.sessions : 0;
}

static double seconds_left(const struct run *run) {
  const struct contract_method *m = &run->contract.method;
  return contract_states(&run->contract, "method.budget") ? (double)m->budget_ns / 1e9 - seconds_since(run, run->begun_ns) : INFINITY;
}

static void tell_forecast(struct searching *s, double load, double n_windows) {
  const struct run *run = s->run;
  double wanted = run->contract.regime.search.resolution, resolution = s->search.resolution;
  double seconds = n_windows * seconds_of_window(s) + seconds_of_starts(s);
  char took[40], text[320];
  number_duration_text(took, sizeof took, seconds * 1e9);
  (void)snprintf(text, sizeof text, "%s %.3g requests/s, a certificate to %.3g %% takes about %s more (some %.0f windows)%s",
                 s->search.n_windows > 0 ? "the capacity being about" : "if the capacity is near", load, 100 * resolution, took, n_windows,
                 seconds > seconds_left(run) ? "; method.budget will end it before that"
                 : resolution > wanted       ? "; for what the contract asks for, regime.search.resolution, method.budget is too short"
                                             : "");
  run_note(run, text);
  run_put_event(s->run, EVENT_SEARCH, text);
}

/* Before the first window, by the load that the contract begins with; and when the capacity is known, about. */
static void plan_by_time(struct searching *s) {
  const struct run *run = s->run;
  const struct contract_method *m = &run->contract.method;
  double capacity = saturation_capacity(&s->search), load = capacity > 0 ? capacity : s->search.from, used = (double)s->search.n_windows;
  if (s->search.n_windows == 1 && !(s->first_s > 0)) s->first_s = seconds_since(run, s->begun_ns);
  if (s->search.passing > 0 || (used > 0 && !(capacity > 0)) || fabs(s->told / load - 1) < 0.2) return;
  double arrivals = load * (double)m->counted_ns / 1e9, wanted = run->contract.regime.search.resolution;
  if (contract_states(&run->contract, "method.budget")) {
    double left = seconds_left(run) - seconds_of_starts(s);
    s->search.resolution = saturation_affordable(wanted, arrivals, s->search.sessions, used + left / seconds_of_window(s));
  }
  double needed = saturation_windows_needed(arrivals, s->search.resolution, s->search.sessions);
  tell_forecast(s, load, fmax(needed - used, 2 * (double)s->search.sessions));
  s->told = load;
}

/* Why no window can tell anything of that load; NULL: it can. */
static const char *is_too_short(struct searching *s, double load) {
  const struct run *run = s->run;
  double counted_s = (double)run->contract.method.counted_ns / 1e9, answer_s = run->idle.answer_ns / 1e9;
  double arrivals = load * counted_s * (double)s->search.looks;
  if (isfinite(answer_s) && WINDOW_ANSWERS_LEAST * answer_s > counted_s)
    return arena_printf(&s->run->arena,
                        "the search was given up: a request alone takes %.3g s, and a window counts %.3g s, which shows nothing of what is "
                        "sustained. next: method.counted: %.0fs, at least",
                        answer_s, counted_s, ceil(2 * WINDOW_ANSWERS_LEAST * answer_s));
  if (arrivals < GROWTH_ARRIVALS_LEAST)
    return arena_printf(
        &s->run->arena,
        "the search was given up: at %.3g requests/s all %zu looks of %.3g s hold %.2g arrivals, and fewer than %d say nothing "
        "of a load. next: method.counted: %.0fs, at least, if loads as small as that are to be tried",
        load, s->search.looks, counted_s, arrivals, GROWTH_ARRIVALS_LEAST, ceil(GROWTH_ARRIVALS_LEAST / (load * (double)s->search.looks)));
  return NULL;
}

enum lynx_status run_search(struct run *run, size_t precision) {
  const struct contract_regime *r = &run->contract.regime;
  struct searching *s = xalloc(1, sizeof *s);
  *s = (struct searching){.run = run,
                          .precision = precision,
                          .begun_ns = clock_now(run->request->clock),
                          .search = {.from = r->rate_per_s,
                                     .to = r->to_per_s,
                                     .resolution = r->search.resolution,
                                     .looks = (size_t)r->search.looks_at_most,
                                     .sessions = (size_t)run->contract.method.sessions}};
  enum lynx_status status = LYNX_OK;
  enum search_end end = SEARCH_GOES_ON;
  struct load_asked asked;
  const char *too_short = NULL;
  while (status == LYNX_OK && !is_over(s)) {
    if ((end = saturation_next(&s->search, &asked)) != SEARCH_GOES_ON || (too_short = is_too_short(s, asked.load)) != NULL) break;
    plan_by_time(s);
    status = take_window(s, &asked);
  }
  if (run->running_for_next) service_stop(&run->service);
  run->running_for_next = false;
  const char *given_up =
      too_short != NULL ? too_short
      : s->gave_up
          ? "the search was given up: the executor did not become idle between two windows. It works on requests whose clients have gone; "
            "let the contract start it (executor.start), so that each window has a new one"
      : end == SEARCH_TOO_LONG
          ? "the search was given up: its verdicts kept contradicting one another, or it took more loads or windows than are foreseen"
      : end == SEARCH_NOTHING_SUSTAINED ? "the search was given up: no load was sustained, down to a thousandth of the first"
                                        : NULL;
  if (status == LYNX_OK && given_up != NULL) {
    run_note(run, given_up);
    run_put_event(run, EVENT_SEARCH, given_up);
    if (run->outcome->why[0] == 0) (void)snprintf(run->outcome->why, sizeof run->outcome->why, "the search was given up");
  }
  free(s);
  return status;
}
