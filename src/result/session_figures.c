#include "result/session_figures.h"

#include <math.h>

enum { OUTPUT_RATE = -1, REQUEST_RATE = -2, ACCURACY = -3, P50 = 0, P99 = 3 };

static const struct session_figure rates[] = {{"output throughput", FORMULA_OUTPUT_RATE, true, OUTPUT_RATE, 0},
                                              {"request throughput", FORMULA_REQUEST_RATE, true, REQUEST_RATE, 0}};

#define LATENCIES(name, formula, metric)                                                                                                   \
  {name ", p50", formula, false, metric, 0}, {name ", p90", formula, false, metric, 1}, {name ", p95", formula, false, metric, 2},         \
      {name ", p99", formula, false, metric, 3}, {                                                                                         \
    name ", p99.9", formula, false, metric, 4                                                                                              \
  }
/* As result_quantiles has them. */
static const struct session_figure latencies[METRIC_COUNT * RESULT_QUANTILES] = {
    LATENCIES("time to first token", FORMULA_TTFT, METRIC_TIME_TO_FIRST_TOKEN),
    LATENCIES("time to first answer token", FORMULA_TTFAT, METRIC_TIME_TO_FIRST_ANSWER_TOKEN),
    LATENCIES("time to first tool call", FORMULA_TTFTC, METRIC_TIME_TO_FIRST_TOOL_CALL),
    LATENCIES("time per output token", FORMULA_TPOT, METRIC_TIME_PER_OUTPUT_TOKEN),
    LATENCIES("inter-token latency", FORMULA_ITL, METRIC_INTER_TOKEN_LATENCY),
    LATENCIES("end to end", FORMULA_E2E, METRIC_END_TO_END)};

/* What is compared whatever the contract limits. */
static bool is_usual(const struct session_figure *f) {
  if (f->metric == METRIC_TIME_TO_FIRST_ANSWER_TOKEN || f->metric == METRIC_TIME_TO_FIRST_TOOL_CALL) return false; /* of few models */
  return (f->quantile == P50 && f->metric != METRIC_INTER_TOKEN_LATENCY) ||
         (f->quantile == P99 && (f->metric == METRIC_TIME_TO_FIRST_TOKEN || f->metric == METRIC_END_TO_END));
}

bool session_figure_is_limited(const struct contract *contract, const struct session_figure *f) {
  const struct contract_slo *slo = contract->slo.items;
  for (size_t i = 0; i < contract->slo.n_items && f->metric >= 0; i++)
    if ((int)slo[i].metric == f->metric && fabs(slo[i].quantile - result_quantiles[f->quantile]) < 1e-9) return true;
  return false;
}

/* Accuracy is what the contract measures it by: of bits per byte less is better. */
static struct session_figure accuracy_figure(const struct contract *contract) {
  static const enum formula_index ids[] = {[ACCURACY_LIKELIHOOD] = FORMULA_BITS_PER_BYTE,
                                           [ACCURACY_EXACT_MATCH] = FORMULA_EXACT_MATCH,
                                           [ACCURACY_TOKEN_AGREEMENT] = FORMULA_AGREEMENT,
                                           [ACCURACY_SCORER] = FORMULA_SCORE};
  return (struct session_figure){"accuracy", ids[contract->accuracy.measure], contract->accuracy.measure != ACCURACY_LIKELIHOOD, ACCURACY,
                                 0};
}

size_t session_figures(const struct contract *contract, bool tokens, bool accuracy, struct session_figure ret[SESSION_FIGURES_MAX]) {
  size_t n = 0;
  for (size_t i = 0; i < LYNX_COUNT(rates); i++)
    if (rates[i].metric != OUTPUT_RATE || tokens) ret[n++] = rates[i];
  for (size_t i = 0; i < LYNX_COUNT(latencies); i++)
    if (is_usual(&latencies[i]) || session_figure_is_limited(contract, &latencies[i])) ret[n++] = latencies[i];
  if (accuracy) ret[n++] = accuracy_figure(contract);
  return n;
}

double session_figure_of(const struct result_session *s, const struct session_figure *f) {
  if (!s->complete) return NAN;
  return f->metric == OUTPUT_RATE    ? s->output_rate
         : f->metric == REQUEST_RATE ? s->request_rate
         : f->metric == ACCURACY     ? s->accuracy
                                     : s->at[f->metric][f->quantile];
}

struct interval session_figure_interval(const struct contract *contract, const struct session_figure *f, const struct result_precision *p,
                                        const double *x, size_t n) {
  return f->metric == OUTPUT_RATE    ? p->output_rate
         : f->metric == REQUEST_RATE ? p->request_rate
                                     : result_interval(x, n, contract->method.confidence);
}

const char *session_figure_why_not(const struct contract *contract, const struct session_figure *f, const struct result_precision *p,
                                   const char *whose, struct arena *arena) {
  if (contract->regime.load == LOAD_OBSERVED && f->metric < 0) return "others set the load: it is demand";
  if (contract->regime.load == LOAD_OBSERVED)
    return "demand was not held alike: `lynxbench attribute AFTER --against BEFORE` divides the change";
  if (f->metric < 0) return NULL;
  const struct result_latency *latency = &p->latency[f->metric];
  if (!latency->at[f->quantile].quantile.bounded) return arena_printf(arena, "%s's sample cannot bound it", whose);
  if (!result_states(contract, latency, f->quantile))
    return arena_printf(arena, "the instrument's own lateness can have raised %s's by %.2g %%", whose,
                        100 * latency->instrument_share[f->quantile]);
  return NULL;
}
