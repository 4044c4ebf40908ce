#include "result/plausibility.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "load/schedule.h"
#include "result/arrivals.h"
#include "result/conditions.h"
#include "result/rows.h"

/* A clock that is set right by NTP meanwhile may step back by so much without anybody's doing. */
static const int64_t step_ns = 2000000000;

enum { THREADS_KNOWN = 256 };

struct judging {
  struct result *result;
  struct result_plausibility *p;
  struct fixed_arrivals { /* of the session that is looked at, where contract and seed fix them */
    struct schedule schedule;
    int64_t from_ns, to_ns; /* the counted window */
    size_t n_there;         /* rows in it */
    bool known, same;
    bool windowed; /* a complete session that counts: phases follow from the window */
  } arrivals;
  int64_t n_rows, greatest_id;                                             /* of this session */
  int64_t n_threads, n_rows_of[THREADS_KNOWN], greatest_of[THREADS_KNOWN]; /* of each load thread: its requests are every n_threads-th */
  int64_t n_inputs;                                                        /* -1: withheld */
  bool asks_them;                                                          /* in this session; checks make prompts of their own */
};

static void take_arrival(struct fixed_arrivals *a, const struct bundle_request *r) {
  if (!a->known) return;
  a->same = a->same && r->id >= 0 && (size_t)r->id < a->schedule.n_arrivals && a->schedule.at_ns[r->id] == r->scheduled_ns;
  a->n_there += r->scheduled_ns >= a->from_ns && r->scheduled_ns < a->to_ns;
}

static bool phase_fits(const struct fixed_arrivals *a, const struct bundle_request *r) {
  return !a->windowed || r->phase == phase_at(r->scheduled_ns, a->from_ns, a->to_ns - a->from_ns);
}

static enum row_problem problem_of(const struct judging *j, const struct row *row) {
  if (row->problem != ROW_POSSIBLE) return row->problem;
  if (j->n_inputs >= 0 && j->asks_them && (row->request->input < 0 || row->request->input >= j->n_inputs)) return ROW_INPUT_UNKNOWN;
  return phase_fits(&j->arrivals, row->request) ? ROW_POSSIBLE : ROW_PHASE_ELSEWHERE;
}

static enum lynx_status take_row(void *context, const struct row *row) {
  struct judging *j = context;
  const struct bundle_request *r = row->request;
  j->p->n_requests++;
  j->p->n_events += (int64_t)row->n_tokens;
  j->p->n_tokens += r->output_tokens > 0 ? (double)r->output_tokens : 0;
  enum row_problem problem = problem_of(j, row);
  if (problem != ROW_POSSIBLE && j->p->n_impossible++ == 0)
    j->p->first = arena_printf(&j->result->arena, "request %" PRId64 " of session %" PRId64 ": %s", r->id, r->session,
                               row_problem_text(problem));
  j->n_rows++;
  if (r->id > j->greatest_id) j->greatest_id = r->id;
  if (r->id >= 0) {
    int64_t thread = r->id % j->n_threads;
    j->n_rows_of[thread]++;
    if (r->id > j->greatest_of[thread]) j->greatest_of[thread] = r->id;
  }
  take_arrival(&j->arrivals, r);
  return LYNX_OK;
}

static void begin_rows(struct judging *j, int64_t n_threads) {
  j->n_rows = 0;
  j->greatest_id = -1;
  j->n_threads = n_threads > 0 && n_threads <= THREADS_KNOWN ? n_threads : 1;
  for (size_t i = 0; i < THREADS_KNOWN; i++) {
    j->n_rows_of[i] = 0;
    j->greatest_of[i] = -1;
  }
}

/* Each load thread numbers its requests without a gap, as fast as they are answered: one may be far ahead of another. Of several hosts,
 * whose threads are more, all together say it, or nothing. */
static bool has_gaps(const struct judging *j, int64_t concurrency) {
  bool any = false;
  for (int64_t i = 0; i < j->n_threads; i++)
    any = any || (j->greatest_of[i] >= 0 && (j->greatest_of[i] - i) / j->n_threads + 1 - j->n_rows_of[i] > concurrency);
  return any && j->greatest_id + 1 - j->n_rows > j->n_threads * concurrency;
}

/* In an open loop, what was to be sent when was fixed before the first request: it is made again from the contract and the session's
 * seed, and the session's own numbers must be the contract's. */
static void begin_arrivals(struct judging *j, const struct bundle_session *s) {
  const struct contract *c = &j->result->contract;
  const struct arrivals_session session = {(enum load_kind)c->regime.load, s->rate_per_s, s->warm_up_ns, s->counted_ns, s->seed};
  struct fixed_arrivals *a = &j->arrivals;
  struct schedule_plan plan;
  char digest[DIGEST_HEX];
  bool measures = s->purpose == PURPOSE_MEASURE, searches = s->purpose == PURPOSE_SEARCH || s->purpose == PURPOSE_CERTIFY;
  *a = (struct fixed_arrivals){.from_ns = s->warm_up_ns, .to_ns = s->warm_up_ns + s->counted_ns};
  if (s->end != SESSION_COMPLETE || !(measures || searches)) return;
  a->windowed = c->regime.load != LOAD_OFFLINE;      /* whose window ends with its last answer */
  bool sane = s->index >= 0 && s->index < INT32_MAX; /* more sessions are of no schedule */
  j->p->n_schedules_other += !sane;
  a->known = sane && arrivals_plan(c, &session, &plan) && schedule_make(&a->schedule, &plan, NULL) == LYNX_OK;
  if (!a->known) return;
  bool of_contract = (uint64_t)s->seed == (uint64_t)c->method.seed + (uint64_t)s->index && s->warm_up_ns == c->method.warm_up_ns &&
                     s->counted_ns == c->method.counted_ns && fabs(s->rate_per_s - c->regime.rate_per_s) <= 1e-9 * c->regime.rate_per_s;
  bool in_range = s->rate_per_s <= c->regime.to_per_s * (1 + 1e-9) || c->regime.to_per_s <= 0;
  a->same = strcmp(schedule_digest(&a->schedule, digest), s->schedule_digest) == 0 && (measures ? of_contract : in_range);
}

/* The rows are those arrivals, every one of the counted window at its time. */
static void end_arrivals(struct judging *j) {
  struct fixed_arrivals *a = &j->arrivals;
  size_t n_counted = 0;
  if (!a->known) return;
  for (size_t i = 0; i < a->schedule.n_arrivals; i++) n_counted += a->schedule.at_ns[i] >= a->from_ns && a->schedule.at_ns[i] < a->to_ns;
  *(a->same && a->n_there == n_counted ? &j->p->n_schedules_same : &j->p->n_schedules_other) += 1;
  schedule_release(&a->schedule);
}

/* "2026-11-22T11:40:00.123Z", as a run writes it; -1: not so. */
static int64_t intended_ns(struct bundle *bundle) {
  const char *text = bundle_meta(bundle, "intended_at");
  struct tm t = {0};
  const char *end = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &t) : NULL;
  return end != NULL ? (int64_t)timegm(&t) * 1000000000 : -1;
}

struct happened {
  bool stepped, intended, resumed;
};

static enum lynx_status take_event(void *context, int64_t realtime_ns, enum event_kind kind, const char *text) {
  (void)realtime_ns, (void)text;
  struct happened *happened = context;
  happened->stepped = happened->stepped || kind == EVENT_CLOCK_STEP;
  happened->intended = happened->intended || kind == EVENT_INTENT;
  happened->resumed = happened->resumed || kind == EVENT_RESUMED;
  return LYNX_OK;
}

/* What every run writes before it measures: its intent, the contract's digest, the executor's facts. */
static const char *what_is_missing(struct bundle *bundle, const struct result *result, const struct happened *happened) {
  const char *digest = bundle_meta(bundle, "contract_digest");
  if (!happened->intended || intended_ns(bundle) < 0) return "it holds no intent with its time, which is the first thing that a run writes";
  if (digest != NULL && strcmp(digest, result->contract_digest) != 0) return "the digest that it names is not that of its contract";
  for (size_t i = 0; i < result->n_precisions; i++)
    if (result->precisions[i].n_complete > 0 && result->precisions[i].fingerprint[0] == 0)
      return "it holds no facts of the executor, which are captured before anything is sent";
  return NULL;
}

static enum lynx_status take_input(void *context, int64_t id, const char *text, size_t length) {
  int64_t *n = context;
  (void)text, (void)length;
  *n += id == *n; /* they are numbered from 0 without a gap */
  return LYNX_OK;
}

static enum lynx_status take_share(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct judging *j = context;
  (void)at_ns;
  if (!conditions_share_is_possible(series, value) && j->p->n_shares++ == 0)
    j->p->first_share = arena_printf(&j->result->arena, "%s %g in session %" PRId64, series, value, session);
  return LYNX_OK;
}

/* What every session ends with: how many threads brought the load, and that they ran as long as it lasted. */
static bool has_account(const struct result *result, const struct bundle_session *s) {
  json_t *instrument = json_parse(s->instrument_json, strlen(s->instrument_json), 65536, NULL);
  double least_ns = result->contract.regime.load == LOAD_OFFLINE ? 1 : 0.9 * (double)(s->warm_up_ns + s->counted_ns);
  bool good = json_get_double(instrument, "threads", 0) >= 1 && json_get_double(instrument, "wall_ns", 0) >= least_ns &&
              json_get_double(instrument, "wall_ns", 0) > 0;
  json_decref(instrument);
  return good;
}

enum lynx_status plausibility_judge(struct bundle *bundle, struct result *result, const struct session_list *sessions,
                                    struct lynx_error *error) {
  struct result_plausibility *p = &result->plausibility;
  struct judging j = {.result = result, .p = p};
  int64_t intended = intended_ns(bundle), before_end_ns = 0;
  bool closed = load_is_closed((enum load_kind)result->contract.regime.load);
  enum lynx_status status = LYNX_OK;
  *p = (struct result_plausibility){.judged = result->imported[0] == 0 && !seal_withholds(&result->seal, "request") &&
                                              !seal_withholds(&result->seal, "session"),
                                    .first = ""};
  if (p->judged && !seal_withholds(&result->seal, "input")) status = bundle_each_input(bundle, take_input, &j.n_inputs, error);
  else j.n_inputs = -1;
  for (size_t i = 0; i < sessions->n_items && status == LYNX_OK && p->judged; i++) {
    const struct bundle_session *s = &sessions->items[i];
    if (s->start_realtime_ns < 0 || s->start_realtime_ns > INT64_MAX / 2)
      return lynx_fail(error, LYNX_INPUT, "session %" PRId64 ": found a start of centuries", s->id);
    begin_rows(&j, result->contract.method.threads);
    j.asks_them = s->purpose == PURPOSE_MEASURE || s->purpose == PURPOSE_SEARCH || s->purpose == PURPOSE_CERTIFY ||
                  s->purpose == PURPOSE_ATTRIBUTE || s->purpose == PURPOSE_TRACE || s->purpose == PURPOSE_PERTURB;
    p->n_sessions++;
    p->n_overlapping += s->start_realtime_ns < before_end_ns;
    p->n_unaccounted += s->end == SESSION_COMPLETE && s->purpose == PURPOSE_MEASURE && !has_account(result, s);
    p->n_before_intent += intended >= 0 && s->start_realtime_ns < intended - step_ns;
    /* It lasted that long at least; a batch that is run offline ends when it is done. */
    if (s->end == SESSION_COMPLETE && result->contract.regime.load != LOAD_OFFLINE)
      before_end_ns = s->start_realtime_ns + s->warm_up_ns + s->counted_ns;
    begin_arrivals(&j, s);
    status = rows_each_judged(bundle, s->id, take_row, &j, error);
    if (status == LYNX_OK) status = bundle_each_sample(bundle, s->id, take_share, &j, error);
    end_arrivals(&j);
    p->n_gaps += closed && s->end == SESSION_COMPLETE && has_gaps(&j, s->concurrency);
  }
  struct happened happened = {.stepped = false};
  if (status == LYNX_OK && p->judged) status = bundle_each_event(bundle, take_event, &happened, error);
  /* The run noticed that its wall clock was set back: then the sessions' starts say little, and the record says why. */
  if (happened.stepped) p->n_before_intent = 0;
  if (happened.resumed && result->perturbed) p->n_before_intent = 0; /* its first sessions are an earlier run's; it supports no claim */
  bool shown = !seal_withholds(&result->seal, "event") && !seal_withholds(&result->seal, "fact") && !seal_withholds(&result->seal, "meta");
  if (status == LYNX_OK && p->judged && shown && result->seal.end == BUNDLE_COMPLETE)
    p->missing = what_is_missing(bundle, result, &happened);
  return status;
}

const char *plausibility_text(const struct result_plausibility *p, struct arena *arena) {
  if (p->missing != NULL) return p->missing;
  if (p->n_impossible > 0)
    return arena_printf(arena, "%" PRId64 " of %" PRId64 " requests cannot have happened as they are recorded; the first: %s",
                        p->n_impossible, p->n_requests, p->first);
  if (p->n_shares > 0)
    return arena_printf(arena, "%" PRId64 " samples are shares of this machine that there cannot be; the first: %s", p->n_shares,
                        p->first_share);
  if (p->n_unaccounted > 0)
    return arena_printf(arena, "in %" PRId64 " sessions the instrument does not account for the time that they lasted", p->n_unaccounted);
  if (p->n_schedules_other > 0)
    return arena_printf(arena,
                        "in %zu session%s the requests are not those of the schedule that the contract and the seed fix: rows are missing, "
                        "were added or moved",
                        p->n_schedules_other, LYNX_S(p->n_schedules_other));
  if (p->n_gaps > 0)
    return arena_printf(arena, "in %zu session%s of a closed loop requests are missing: their numbers have gaps", p->n_gaps,
                        LYNX_S(p->n_gaps));
  if (p->n_before_intent > 0)
    return arena_printf(arena, "%" PRId64 " of %" PRId64 " sessions begin before the run's own intent was recorded", p->n_before_intent,
                        p->n_sessions);
  return NULL;
}
