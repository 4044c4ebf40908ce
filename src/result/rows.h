/* result/rows.h: the requests of a session as every figure sees them: read once, decoded, and judged by rules that stand here alone.
 *
 * Shapes   rows in the order of their ids, each with the tokens of its answer in the order of time
 * Units    ns after the session's zero
 * Rules    an answer has as many tokens as its last usage says. They came with its events: as many with each as the server told, in
 *          proportion, or evenly with those that carry text where it told nothing of them; without usage an event that carries text is
 *          one token. Tokens count of answers that ended well, and of those that we cut off ourselves: what failed gave nothing
 *          the first token is the first event that carries text, the last one the last event that carries text or told tokens
 *          a request counts as done at its end, if it ended well
 * Errors   INPUT: a row that no figure can be computed of (which request, and why). A row that can be computed of, but that no run
 *          can have written, is handed on with its problem
 * Source   docs/method.md#tokens, docs/bundle.md */
#ifndef RESULT_ROWS_H
#define RESULT_ROWS_H

#include "contract/contract.h"
#include "record/bundle.h"

/* By what rows are read: the contract, and what the bundle says of its driver's answers. */
struct row_terms {
  const struct contract *contract;
  bool holds_tokens; /* answers are text in tokens; false of tensors and embeddings */
  bool tells_answer; /* its rows say when reasoning ended; false of bundles of format 5 */
};

struct row_terms row_terms_of(struct bundle *bundle, const struct contract *contract);

enum row_problem {
  ROW_POSSIBLE,
  ROW_OUT_OF_ORDER,    /* scheduled, issued, written, first byte, first token, last token, end */
  ROW_NEVER_HAPPENED,  /* it ended well and was not sent; or it has no end */
  ROW_LAG_TOO_LONG,    /* it was read later than it lasted */
  ROW_INPUT_UNKNOWN,   /* told by plausibility, which knows the inputs */
  ROW_EVENTS_OUTSIDE,  /* of the request's own time */
  ROW_NOT_AN_ANSWER,   /* it ended well with a status that is no success, or with counts below zero */
  ROW_PHASE_ELSEWHERE, /* than its scheduled time says; told by plausibility, which knows the session's window */
  ROW_TOKENS_ELSEWHERE /* token times or counts of events that are not those of its events */
};
const char *row_problem_text(enum row_problem problem);

struct row_token {
  int64_t at_ns;
  double n; /* tokens that the event holds */
  uint32_t n_bytes;
  bool carries_text;
};

struct row {
  const struct bundle_request *request;
  bool ok, counted, warm_up;
  bool cut_off;                   /* by us, since the session was over: unfinished or abandoned */
  bool tokens_count;              /* in throughputs */
  bool contradicts;               /* the tokens that were told of its events are not as many as its last usage says */
  const struct row_token *tokens; /* until the visit returns */
  size_t n_tokens;
  enum row_problem problem;
};

typedef enum lynx_status row_visit(void *context, const struct row *row);

enum lynx_status rows_each(struct bundle *bundle, int64_t session, row_visit *visit, void *context,
                           struct lynx_error *error) LYNX_MUST_CHECK;

/* For who needs the problem and how many tokens there are, but not the tokens. */
enum lynx_status rows_each_judged(struct bundle *bundle, int64_t session, row_visit *visit, void *context,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* For who needs neither the tokens nor the problem: both are then none. */
enum lynx_status rows_each_brief(struct bundle *bundle, int64_t session, row_visit *visit, void *context,
                                 struct lynx_error *error) LYNX_MUST_CHECK;

/* The value of one latency; false if the request has none. Infinite for a failure, and for the first token of a stream that ended well
 * without one: whoever waits for it never gets it. Of an unfinished one its age, a lower bound. An answer whose tokens all came in one
 * event shows no time between them.
 * Inter-token latencies are many per request: row_gap. */
bool row_latency(const struct row_terms *terms, enum metric metric, const struct row *row, double *ret_ns);

/* Did it meet every objective that it could meet by itself? A failure meets none. */
bool row_meets_objectives(const struct row_terms *terms, const struct row *row);

/* How late we were with it: in sending it, waits for a slot included, and in reading its answer. What lag the contract's latencies can
 * hold: those from the first byte written hold none of the sending. */
double row_lag(const struct row_terms *terms, const struct row *row);

/* The gap between token i and the event with text before it; false where there is none. *before is the caller's, at first -1. */
bool row_gap(const struct row *row, size_t i, int64_t *before, double *ret_ns);

/* Tokens whose own time lies in [from, to); 0 of a request whose tokens do not count. */
double row_tokens_within(const struct row *row, int64_t from_ns, int64_t to_ns);

/* Did it end well in [from, to)? */
bool row_done_within(const struct row *row, int64_t from_ns, int64_t to_ns);

#endif
