/* result/result.h: the figures of a run, as a pure function of its bundle and the analysis version.
 * Shapes   one entry per precision, each with its sessions
 * Units    ns, tokens/s, requests/s, shares
 * Result   result_write gives the same bytes on any machine: sums in row order, no libm, figures rounded to 7 digits
 * Errors   INPUT: the bundle's rows are not what its format says */
#ifndef RESULT_RESULT_H
#define RESULT_RESULT_H

#include "contract/contract.h"
#include "load/driver.h"
#include "record/bundle.h"
#include "result/formula.h"
#include "stats/interval.h"
#include "stats/quantile.h"

enum { RESULT_QUANTILES = 5 };
extern const double result_quantiles[RESULT_QUANTILES]; /* 0.5 0.9 0.95 0.99 0.999 */

/* One latency: its pooled quantiles with order-statistic intervals, and the spread of the sessions' own. */
struct result_latency {
  size_t n; /* values, infinite ones included */
  size_t n_infinite;
  struct quantile at[RESULT_QUANTILES];
  struct interval of_sessions[RESULT_QUANTILES]; /* mean of the sessions' quantiles */
};

struct result_objective {
  enum metric metric;
  double quantile;
  int64_t at_most_ns;
  struct quantile measured;
  bool met, bounded; /* met: the estimate is within; bounded: the sample can bound the quantile */
  bool held;         /* the whole interval is within */
};

struct result_session {
  int64_t id, number, n_counted, n_ok, n_failed;
  bool complete;
  const char *status, *executor_started;
  double output_rate, request_rate, goodput;
  double at[METRIC_COUNT][RESULT_QUANTILES]; /* this session's own quantiles; NaN without values */
  double bits_per_byte;                      /* NaN if not measured */
};

struct result_lag {
  size_t n, n_unknown;
  double p50, p99, greatest;
};

struct result_precision {
  const char *name, *executed_json; /* as the executor said */
  const char *executed, *status, *primitive;
  char fingerprint[DIGEST_HEX]; /* of the executor at the start; "" if it was not captured */
  bool unavailable;
  struct result_session *sessions;
  size_t n_sessions, n_complete;
  int64_t n_counted, n_ok, n_failed, n_warm_up, n_tail;
  int64_t outcomes[OUTCOME_COUNT];  /* of counted requests */
  int64_t flags[ANSWER_FLAG_COUNT]; /* of counted requests */
  int64_t n_without_usage;
  double tokens_per_event; /* of answers whose usage is known; 1 where each event held one token */
  double mean_prompt_tokens, mean_output_tokens;
  struct result_latency latency[METRIC_COUNT];
  struct result_objective *objectives;
  size_t n_objectives;
  struct interval output_rate, request_rate, goodput;
  double failure_share;
  struct result_lag send_lag, read_lag;
  bool instrument_limited;
  struct interval bits_per_byte;
  double accuracy_ratio; /* reference / this; NaN if not known */
  bool accuracy_known, accuracy_passed;
  double engine_cpu_share; /* of one core, in counted sessions */
};

struct result {
  struct arena arena;
  struct contract contract;
  struct problem_list problems;
  enum grade grade;
  char contract_digest[DIGEST_HEX];
  struct bundle_seal_info seal;
  struct result_precision *precisions;
  size_t n_precisions;
  const char **holes; /* what of the executor was not seen */
  size_t n_holes;
  const char **departures; /* expected facts that did not hold, with owner */
  size_t n_departures;
  const char **changed; /* identity facts that changed between start and end, with owner */
  size_t n_changed;
  const char **conditions; /* events of the run that bear on its validity */
  size_t n_conditions;
};

enum lynx_status result_compute(struct bundle *bundle, const struct bundle_seal_info *seal, struct result *ret,
                                struct lynx_error *error) LYNX_MUST_CHECK;
bool result_write(const struct result *result, struct buffer *ret);
void result_release(struct result *result);

/* The value of one latency of one counted request; false if it has none. Infinite for a failure. */
bool result_latency_of(const struct contract *contract, enum metric metric, const struct bundle_request *request, double *ret_ns);

#endif
