#include "result/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/driver.h"
#include "load/events.h"

static const int64_t clocks_apart_ns = 1000000000;   /* of the kernel's stamps and ours, at most: where one was set meanwhile */
static const int64_t time_max_ns = (int64_t)1 << 60; /* 36 years: sums of two such times cannot overflow */

struct row_terms row_terms_of(struct bundle *bundle, const struct contract *contract) {
  const char *answers = bundle_meta(bundle, "answers");
  bool tensors = answers != NULL && strcmp(answers, driver_answers_text(ANSWERS_TENSORS)) == 0;
  return (struct row_terms){.contract = contract,
                            .holds_tokens = !tensors && contract->workload.api != API_EMBEDDINGS,
                            .tells_answer = bundle_format(bundle) > 5};
}

const char *row_problem_text(enum row_problem problem) {
  static const char *const texts[] = {
      [ROW_POSSIBLE] = "possible",
      [ROW_OUT_OF_ORDER] = "its times are out of order (scheduled, issued, written, first byte, first token, last token, end)",
      [ROW_NEVER_HAPPENED] = "it ended well and was never sent, or has no end",
      [ROW_LAG_TOO_LONG] = "it was read later than it lasted",
      [ROW_INPUT_UNKNOWN] = "it asks a prompt that the record does not hold",
      [ROW_EVENTS_OUTSIDE] = "its answer has events before its first byte or after its end",
      [ROW_NOT_AN_ANSWER] = "it ended well, with an HTTP status that is no success or a count below zero",
      [ROW_PHASE_ELSEWHERE] = "its phase (warm-up, counted, tail) is not that of its scheduled time",
      [ROW_TOKENS_ELSEWHERE] = "its token times or its count of events are not those of its events",
  };
  return texts[problem];
}

/* --- one row --- */

struct reading {
  row_visit *visit;
  void *context;
  enum { WHOLE, JUDGED, BRIEF } depth;
  struct row_token *tokens; /* of the present row */
  size_t room;
  struct lynx_error *error;
};

static enum lynx_status refuse(const struct reading *r, const struct bundle_request *q, const char *field, const char *what) {
  lynx_error_at(r->error, "", 0, field);
  return lynx_fail(r->error, LYNX_INPUT, "request %lld of session %lld: %s", (long long)q->id, (long long)q->session, what);
}

/* What no figure can be computed of. */
static enum lynx_status check_range(const struct reading *r, const struct bundle_request *q) {
  const struct {
    const char *field;
    int64_t ns;
  } times[] = {{"scheduled_ns", q->scheduled_ns},
               {"issued_ns", q->issued_ns},
               {"written_ns", q->written_ns},
               {"first_byte_ns", q->first_byte_ns},
               {"first_token_ns", q->first_token_ns},
               {"last_token_ns", q->last_token_ns},
               {"first_answer_ns", q->first_answer_ns},
               {"first_tool_call_ns", q->first_tool_call_ns},
               {"end_ns", q->end_ns},
               {"read_lag_ns", q->read_lag_ns}};
  for (size_t i = 0; i < LYNX_COUNT(times); i++)
    if (times[i].ns < -1 || times[i].ns > time_max_ns)
      return refuse(r, q, times[i].field,
                    "found a time before its session, or centuries after; accepted: nanoseconds from the session's zero");
  if (q->output_tokens > UINT32_MAX) return refuse(r, q, "output_tokens", "found more than 4294967295");
  if (q->prompt_tokens > UINT32_MAX) return refuse(r, q, "prompt_tokens", "found more than 4294967295");
  return LYNX_OK;
}

/* Of a request that was never sent, "issued" is no time of its own. */
static bool in_order(const struct bundle_request *q) {
  const int64_t times[] = {
      q->scheduled_ns, q->written_ns >= 0 ? q->issued_ns : -1, q->written_ns, q->first_byte_ns, q->first_token_ns, q->last_token_ns,
      q->end_ns};
  int64_t before = INT64_MIN;
  for (size_t i = 0; i < LYNX_COUNT(times); i++) {
    if (times[i] < 0) continue; /* it did not come about */
    if (times[i] < before) return false;
    before = times[i];
  }
  return true;
}

/* When its events came, and those that carry text; -1: none did. */
struct events_seen {
  int64_t first_ns, last_ns, first_text_ns, last_text_ns, n_texts;
  bool answer, tool_call; /* there are events with text at the times that the row gives of these */
  double n_tokens;        /* by their own counts */
};

/* Its tokens are what its usage says: the counts of its events, told or not, say only when they came. */
static void spread_tokens(struct reading *r, const struct row *row, double n_counted) {
  double n = (double)row->request->output_tokens, scale = n >= 0 && n_counted > 0 ? n / n_counted : 1;
  for (size_t i = 0; i < row->n_tokens; i++) r->tokens[i].n *= scale;
}

static enum lynx_status read_events(struct reading *r, const struct bundle_request *q, struct row *row, struct events_seen *seen) {
  struct events_reader reader;
  struct answer_event event;
  *seen = (struct events_seen){.first_ns = -1,
                               .last_ns = -1,
                               .first_text_ns = -1,
                               .last_text_ns = -1,
                               .answer = q->first_answer_ns < 0,
                               .tool_call = q->first_tool_call_ns < 0};
  events_begin(&reader, q->events, q->events_length);
  for (int more; (more = events_next(&reader, &event)) != 0;) {
    if (more < 0 || event.at_ns > time_max_ns) return refuse(r, q, "events", "found a blob that is cut, or a time of centuries");
    int64_t at_ns = q->written_ns + event.at_ns;
    if (r->depth == WHOLE) {
      r->tokens = xroom(r->tokens, row->n_tokens, &r->room, sizeof *r->tokens);
      r->tokens[row->n_tokens] = (struct row_token){
          .at_ns = at_ns, .n = event.n_tokens, .n_bytes = event.n_bytes, .carries_text = event.carries_text};
    }
    seen->n_tokens += event.n_tokens;
    if (row->n_tokens++ == 0) seen->first_ns = at_ns;
    seen->last_ns = at_ns;
    if (!event.carries_text) continue;
    seen->last_text_ns = at_ns;
    seen->answer = seen->answer || at_ns == q->first_answer_ns;
    seen->tool_call = seen->tool_call || at_ns == q->first_tool_call_ns;
    if (seen->n_texts++ == 0) seen->first_text_ns = at_ns;
  }
  if (r->depth == WHOLE) spread_tokens(r, row, seen->n_tokens);
  row->tokens = r->tokens;
  row->contradicts = row->ok && (q->flags & ANSWER_TOKENS_TOLD) != 0 && q->output_tokens >= 0 && seen->n_tokens > 0 &&
                     fabs(seen->n_tokens - (double)q->output_tokens) > 0.5;
  return LYNX_OK;
}

/* Bundles of before 0.2 took an event with tokens and no text for a first token too: that is let stand. */
static enum row_problem problem_of(const struct row *row, const struct events_seen *seen) {
  const struct bundle_request *q = row->request;
  if (q->end_ns < 0 || (row->ok && (q->issued_ns < 0 || q->written_ns < 0))) return ROW_NEVER_HAPPENED;
  bool unsent = q->written_ns < 0 && (q->first_byte_ns >= 0 || q->first_token_ns >= 0 || q->last_token_ns >= 0);
  if (!in_order(q) || unsent) return ROW_OUT_OF_ORDER;
  if (q->read_lag_ns > q->end_ns - (q->written_ns >= 0 ? q->written_ns : q->scheduled_ns) + clocks_apart_ns) return ROW_LAG_TOO_LONG;
  if (row->ok && ((q->http_status != 0 && q->http_status != 200) || q->output_tokens < -1 || q->prompt_tokens < -1))
    return ROW_NOT_AN_ANSWER;
  if (row->n_tokens == 0)
    return row->ok && q->output_tokens > 0 && q->n_text_events == 0 && q->first_token_ns >= 0 ? ROW_TOKENS_ELSEWHERE : ROW_POSSIBLE;
  int64_t first = seen->first_ns, last = seen->last_ns, first_text = seen->first_text_ns;
  if (q->written_ns < 0 || (q->first_byte_ns >= 0 && first < q->first_byte_ns) || (q->end_ns >= 0 && last > q->end_ns))
    return ROW_EVENTS_OUTSIDE;
  bool first_known = q->first_token_ns < 0 ? first_text < 0 : q->first_token_ns == first_text || q->first_token_ns == first;
  bool last_known = q->last_token_ns < 0 ? first_text < 0 : q->last_token_ns == last || q->last_token_ns == seen->last_text_ns;
  return first_known && last_known && seen->answer && seen->tool_call && q->n_text_events == seen->n_texts ? ROW_POSSIBLE
                                                                                                           : ROW_TOKENS_ELSEWHERE;
}

static enum lynx_status read_row(void *context, const struct bundle_request *q) {
  struct reading *r = context;
  struct row row = {.request = q,
                    .ok = q->outcome == OUTCOME_OK,
                    .counted = q->phase == PHASE_COUNTED,
                    .warm_up = q->phase == PHASE_WARM_UP,
                    .cut_off = q->outcome == OUTCOME_UNFINISHED || q->outcome == OUTCOME_ABANDONED};
  struct events_seen seen;
  row.tokens_count = row.ok || row.cut_off;
  enum lynx_status status = check_range(r, q);
  if (status == LYNX_OK && r->depth != BRIEF) status = read_events(r, q, &row, &seen);
  if (status != LYNX_OK) return status;
  if (r->depth != BRIEF) row.problem = problem_of(&row, &seen);
  return r->visit(r->context, &row);
}

static enum lynx_status each(struct bundle *bundle, int64_t session, struct reading r) {
  enum lynx_status status = bundle_each_request(bundle, session, read_row, &r, r.error);
  free(r.tokens);
  return status;
}

enum lynx_status rows_each(struct bundle *bundle, int64_t session, row_visit *visit, void *context, struct lynx_error *error) {
  return each(bundle, session, (struct reading){.visit = visit, .context = context, .error = error});
}

enum lynx_status rows_each_brief(struct bundle *bundle, int64_t session, row_visit *visit, void *context, struct lynx_error *error) {
  return each(bundle, session, (struct reading){.visit = visit, .context = context, .error = error, .depth = BRIEF});
}

enum lynx_status rows_each_judged(struct bundle *bundle, int64_t session, row_visit *visit, void *context, struct lynx_error *error) {
  return each(bundle, session, (struct reading){.visit = visit, .context = context, .error = error, .depth = JUDGED});
}

/* --- what follows from it --- */

/* Where no reasoning came before it, the answer begins with the first token; whoever waits for an answer that reasoning left no room for
 * never gets it. */
static bool answer_latency(const struct row_terms *terms, const struct row *row, int64_t origin, double *ret_ns) {
  const struct bundle_request *q = row->request;
  bool reasoned = (q->flags & ANSWER_REASONING) != 0, calls = (q->flags & ANSWER_TOOL_CALL) != 0;
  bool unfinished = q->outcome == OUTCOME_UNFINISHED;
  int64_t first = q->first_answer_ns < 0 && !reasoned && !calls ? q->first_token_ns : q->first_answer_ns;
  if (first < 0 && row->ok && (calls || !terms->tells_answer)) return false;
  *ret_ns = first >= 0 && (row->ok || unfinished) ? (double)(first - origin) : unfinished ? (double)(q->end_ns - origin) : INFINITY;
  return true;
}

bool row_latency(const struct row_terms *terms, enum metric metric, const struct row *row, double *ret_ns) {
  const struct contract *contract = terms->contract;
  const struct bundle_request *q = row->request;
  bool unfinished = q->outcome == OUTCOME_UNFINISHED;
  if (metric != METRIC_END_TO_END && (!terms->holds_tokens || !contract->workload.stream)) return false; /* no tokens to wait for */
  int64_t origin = contract->counting.latency_from == LATENCY_FROM_SENT && q->written_ns >= 0 ? q->written_ns : q->scheduled_ns;
  switch (metric) {
    case METRIC_TIME_TO_FIRST_TOKEN:
      *ret_ns = (row->ok || unfinished) && q->first_token_ns >= 0 ? (double)(q->first_token_ns - origin)
                : unfinished                                      ? (double)(q->end_ns - origin)
                                                                  : INFINITY;
      return true;
    case METRIC_TIME_TO_FIRST_ANSWER_TOKEN: return answer_latency(terms, row, origin, ret_ns);
    case METRIC_TIME_TO_FIRST_TOOL_CALL: {
      if (row->ok && q->first_tool_call_ns < 0) return false;
      *ret_ns = q->first_tool_call_ns >= 0 && (row->ok || unfinished) ? (double)(q->first_tool_call_ns - origin)
                : unfinished                                          ? (double)(q->end_ns - origin)
                                                                      : INFINITY;
      return true;
    }
    case METRIC_TIME_PER_OUTPUT_TOKEN: {
      int64_t tokens = q->output_tokens >= 0 ? q->output_tokens : q->n_text_events;
      if (row->ok && (tokens < 2 || q->first_token_ns < 0 || q->last_token_ns <= q->first_token_ns)) return false;
      *ret_ns = row->ok ? (double)(q->last_token_ns - q->first_token_ns) / (double)(tokens - 1) : INFINITY;
      return true;
    }
    case METRIC_END_TO_END: *ret_ns = row->ok || unfinished ? (double)(q->end_ns - origin) : INFINITY; return true;
    default: return false;
  }
}

bool row_meets_objectives(const struct row_terms *terms, const struct row *row) {
  const struct contract_slo *slo = terms->contract->slo.items;
  for (size_t i = 0; i < terms->contract->slo.n_items; i++) {
    double ns;
    if (row_latency(terms, (enum metric)slo[i].metric, row, &ns) && !(ns <= (double)slo[i].at_most_ns)) return false;
  }
  return row->ok;
}

double row_lag(const struct row_terms *terms, const struct row *row) {
  const struct bundle_request *q = row->request;
  bool from_sent = terms->contract->counting.latency_from == LATENCY_FROM_SENT && q->written_ns >= 0;
  int64_t sent = q->issued_ns >= 0 ? q->issued_ns : q->end_ns; /* never: it waited for us until the end */
  double sending = from_sent || sent < q->scheduled_ns ? 0 : (double)(sent - q->scheduled_ns);
  return sending + (q->read_lag_ns > 0 ? (double)q->read_lag_ns : 0);
}

bool row_gap(const struct row *row, size_t i, int64_t *before, double *ret_ns) {
  if (!row->tokens[i].carries_text) return false;
  bool gap = *before >= 0;
  *ret_ns = (double)(row->tokens[i].at_ns - *before);
  *before = row->tokens[i].at_ns;
  return gap;
}

double row_tokens_within(const struct row *row, int64_t from_ns, int64_t to_ns) {
  double n = 0;
  for (size_t i = 0; i < row->n_tokens && row->tokens_count; i++)
    if (row->tokens[i].at_ns >= from_ns && row->tokens[i].at_ns < to_ns) n += row->tokens[i].n;
  return n;
}

bool row_done_within(const struct row *row, int64_t from_ns, int64_t to_ns) {
  return row->ok && row->request->end_ns >= from_ns && row->request->end_ns < to_ns;
}
