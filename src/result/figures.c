#include "result/figures.h"

#include <math.h>
#include <string.h>

const double result_quantiles[RESULT_QUANTILES] = {0.5, 0.9, 0.95, 0.99, 0.999};
const enum formula_index metric_formulas[METRIC_COUNT] = {FORMULA_TTFT, FORMULA_TTFAT, FORMULA_TTFTC,
                                                          FORMULA_TPOT, FORMULA_ITL,   FORMULA_E2E};

const char *steady_text(enum steady_class class) {
  static const char *const texts[] = {
      [STEADY_YES] = "steady",    [STEADY_RISING] = "rising",        [STEADY_FALLING] = "falling",
      [STEADY_CYCLIC] = "cyclic", [STEADY_NONE] = "no steady state", [STEADY_SHORT] = "too short or too noisy to tell"};
  return texts[class];
}

const struct interval *result_throughput(const struct result_precision *p) {
  return p->has_tokens ? &p->output_rate : &p->request_rate;
}

double result_throughput_of(const struct result_precision *p, const struct result_session *session) {
  return p->has_tokens ? session->output_rate : session->request_rate;
}

const char *result_throughput_unit(const struct result_precision *p) {
  return p->has_tokens ? "tokens/s" : "requests/s";
}

const char *result_climb_unit(const struct result_precision *p) {
  bool tokens = p->has_tokens; /* a window in which no request was counted has none, and its steps may */
  for (size_t i = 0; i < p->n_steps; i++) tokens = tokens || p->steps[i].point.tokens_per_s_per_user > 0;
  return tokens ? "tokens/s" : "requests/s";
}

static struct interval per_unit(const struct result_precision *p, double amount_per_s) {
  const struct interval *rate = result_throughput(p);
  if (!(amount_per_s > 0) || !(rate->estimate > 0)) return (struct interval){.estimate = NAN, .low = NAN, .high = NAN};
  return (struct interval){.estimate = amount_per_s / rate->estimate,
                           .low = rate->high > 0 ? amount_per_s / rate->high : NAN,
                           .high = rate->low > 0 ? amount_per_s / rate->low : INFINITY,
                           .bounded = rate->bounded && rate->low > 0};
}

struct interval result_cost(const struct contract *contract, const struct result_precision *p) {
  return per_unit(p, contract->cost.price_per_hour * 1e6 / 3600);
}

struct interval result_energy(const struct contract *contract, const struct result_precision *p) {
  return per_unit(p, contract->cost.power_watts);
}

struct interval result_not_negative(struct interval figure) {
  if (figure.low < 0) figure.low = 0;
  return figure;
}

struct interval result_interval(const double *x, size_t n, double confidence) {
  bool infinite = false;
  for (size_t i = 0; i < n; i++) infinite = infinite || isinf(x[i]);
  struct interval result = infinite ? (struct interval){.estimate = INFINITY, .low = -INFINITY, .high = INFINITY}
                                    : interval_of_mean(x, n, confidence);
  if (n == 0) result.estimate = result.low = result.high = NAN;
  return result;
}

void result_add_text(struct arena *arena, const char ***list, size_t *n, const char *text) {
  *list = arena_room(arena, (void *)*list, *n, sizeof **list); /* pointers are what is meant */
  (*list)[(*n)++] = text;
}

static bool matches(const char *pattern, const char *key) {
  size_t n = strlen(pattern);
  return n > 0 && pattern[n - 1] == '*' ? strncmp(pattern, key, n - 1) == 0 : strcmp(pattern, key) == 0;
}

const struct result_precision *result_precision_named(const struct result *result, const char *name) {
  for (size_t i = 0; result != NULL && i < result->n_precisions; i++)
    if (strcmp(result->precisions[i].name, name) == 0) return &result->precisions[i];
  return NULL;
}

bool result_may_change(const struct contract *contract, enum layer layer, const char *key) {
  const struct contract_change *never = contract->optimisation.must_not_change.items, *may = contract->optimisation.may_change.items;
  for (size_t i = 0; i < contract->optimisation.must_not_change.n_items; i++)
    if (strcmp(never[i].layer, layer_text(layer)) == 0 && matches(never[i].what, key)) return false;
  for (size_t i = 0; i < contract->optimisation.may_change.n_items; i++)
    if (strcmp(may[i].layer, layer_text(layer)) == 0 && matches(may[i].what, key)) return true;
  return false;
}

const char *objective_verdict_text(enum objective_verdict verdict) {
  static const char *const texts[] = {[OBJECTIVE_NO_VALUES] = "no value to judge",
                                      [OBJECTIVE_HOLDS] = "holds",
                                      [OBJECTIVE_FAILS] = "fails",
                                      [OBJECTIVE_UNBOUNDED] = "cannot be decided",
                                      [OBJECTIVE_MET] = "met, not with confidence",
                                      [OBJECTIVE_NOT_MET] = "fails, not with confidence",
                                      [OBJECTIVE_DOUBTED] = "not decided"};
  return texts[verdict];
}

bool objective_is_decided(enum objective_verdict verdict) {
  return verdict != OBJECTIVE_UNBOUNDED && verdict != OBJECTIVE_NO_VALUES && verdict != OBJECTIVE_DOUBTED;
}

bool result_states(const struct contract *contract, const struct result_latency *latency, int quantile) {
  return latency->instrument_share[quantile] <= contract->method.instrument_error_at_most;
}
