/* The result as JSON: one form, so that recomputing it gives the same bytes. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "result/question_answer.h"
#include "result/claim.h"
#include "result/machine_figures.h"
#include "result/result.h"

enum { DIGITS = 7 };

static void put(struct json_writer *json, const char *key, double value) {
  json_put_double(json, key, isfinite(value) ? number_round(value, DIGITS) : value);
}

/* An infinite latency is a fact worth saying, and JSON has no infinity. */
static void put_ns(struct json_writer *json, const char *key, double ns) {
  if (isinf(ns)) json_put_text(json, key, ns > 0 ? "infinite" : "-infinite");
  else put(json, key, ns);
}

static void put_interval(struct json_writer *json, const char *key, const char *formula, const struct interval *interval) {
  json_key(json, key);
  json_open_object(json);
  if (formula != NULL) json_put_text(json, "formula", formula);
  put_ns(json, "estimate", interval->estimate);
  if (interval->bounded) {
    put_ns(json, "low", interval->low);
    put_ns(json, "high", interval->high);
    put(json, "deviation", interval->deviation);
  }
  json_put_bool(json, "bounded", interval->bounded);
  json_close(json);
}

/* Not measured is not there. */
static void put_if_known(struct json_writer *json, const char *key, enum formula_index formula, struct interval interval) {
  if (interval.estimate > 0) put_interval(json, key, formulas[formula].id, &interval);
}

static void put_effective(struct json_writer *json, double n_effective) {
  json_put_double(json, "n_effective", number_round(n_effective, 4));
}

static void put_quantile(struct json_writer *json, const struct quantile *q) {
  put_ns(json, "estimate", q->estimate);
  put_ns(json, "low", q->low);
  put_ns(json, "high", q->high);
  json_put_bool(json, "bounded", q->bounded);
}

static void put_latency(struct json_writer *json, enum metric metric, const struct result_latency *latency) {
  json_key(json, metric_text(metric));
  json_open_object(json);
  json_put_text(json, "formula", formulas[metric_formulas[metric]].id);
  json_put_int(json, "n", (int64_t)latency->n);
  json_put_int(json, "n_infinite", (int64_t)latency->n_infinite);
  json_key(json, "quantiles");
  json_open_array(json);
  for (int q = 0; q < RESULT_QUANTILES && latency->n > 0; q++) {
    json_open_object(json);
    json_put_double(json, "p", result_quantiles[q]);
    put_quantile(json, &latency->at[q].quantile);
    put_effective(json, latency->at[q].n_effective);
    put(json, "design_effect", latency->at[q].design_effect);
    put_interval(json, "of_sessions", NULL, &latency->of_sessions[q]);
    put(json, "instrument_share", latency->instrument_share[q]);
    json_close(json);
  }
  json_close(json);
  put_interval(json, "mean", NULL, &latency->mean.interval);
  put_ns(json, "deviation", latency->deviation);
  put_ns(json, "least", latency->least);
  put_ns(json, "greatest", latency->greatest);
  if (latency->mean.why != MEAN_HOLDS) json_put_text(json, "mean_refused", mean_refusal_text(latency->mean.why));
  json_close(json);
}

static void put_steady(struct json_writer *json, const char *key, const struct result_steady *s) {
  json_key(json, key);
  json_open_object(json);
  json_put_text(json, "class", steady_text(s->class));
  json_put_text(json, "series", s->series);
  json_put_int(json, "from_ns", s->from_ns);
  json_put_int(json, "to_ns", s->to_ns);
  if (s->changed_at_ns >= 0) json_put_int(json, "changed_at_ns", s->changed_at_ns);
  put(json, "drift", s->drift);
  json_close(json);
}

static void put_climb(struct json_writer *json, const struct result_precision *p) {
  if (p->n_steps == 0) return;
  json_key(json, "climb");
  json_open_object(json);
  json_put_int(json, "knee", p->knee);
  json_key(json, "steps");
  json_open_array(json);
  for (size_t i = 0; i < p->n_steps; i++) {
    const struct result_step *s = &p->steps[i];
    json_open_object(json);
    json_put_int(json, "in_flight", s->concurrency);
    put(json, "throughput", s->throughput);
    json_put_bool(json, "failing", s->failing);
    json_put_bool(json, "too_short", s->too_short);
    json_put_int(json, "arrivals", s->point.n_arrivals);
    json_put_int(json, "failed", s->point.n_failed);
    put(json, "goodput", s->point.goodput.estimate);
    put_ns(json, "time_to_first_token_p50", s->point.time_to_first_token_p50);
    put_ns(json, "time_to_first_token_p99", s->point.time_to_first_token_p99);
    put_ns(json, "end_to_end_p99", s->point.end_to_end_p99);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

static void put_points(struct json_writer *json, const struct result_precision *p) {
  const struct result_certificate *c = &p->certificate;
  if (!c->searched) return;
  json_key(json, "saturation");
  json_open_object(json);
  json_put_text(json, "text", c->text);
  json_put_bool(json, "certified", c->certified);
  put(json, "passing", c->passing);
  put(json, "failing", c->failing);
  json_put_bool(json, "failing_for_sure", c->failing_for_sure);
  if (c->certified) put(json, "resolution", c->resolution);
  json_put_int(json, "arrivals", c->n_arrivals);
  json_key(json, "points");
  json_open_array(json);
  for (size_t i = 0; i < p->n_points; i++) {
    const struct result_point *x = &p->points[i];
    json_open_object(json);
    put(json, "rate_per_s", x->rate_per_s);
    json_put_bool(json, "sustained", x->sustained);
    json_put_bool(json, "of_certificate", x->certify);
    json_put_bool(json, "alone", x->alone);
    put(json, "lag_p99", x->lag_p99_ns);
    put(json, "lag_share", x->lag_share);
    json_put_bool(json, "instrument_limited", x->instrument_limited);
    json_put_text(json, "why", x->why);
    json_put_int(json, "sessions", (int64_t)x->n_sessions);
    json_put_int(json, "arrivals", x->n_arrivals);
    json_put_int(json, "failed", x->n_failed);
    json_key(json, "backlog_growth");
    json_open_object(json);
    json_put_text(json, "formula", formulas[FORMULA_BACKLOG_GROWTH].id);
    put(json, "estimate", x->growth.estimate);
    put(json, "low", x->growth.low);
    put(json, "high", x->growth.high);
    json_close(json);
    put_interval(json, "output_rate", formulas[FORMULA_OUTPUT_RATE].id, &x->output_rate);
    put_interval(json, "goodput", formulas[FORMULA_GOODPUT].id, &x->goodput);
    put(json, "tokens_per_s_per_user", x->tokens_per_s_per_user);
    put_ns(json, "time_to_first_token_p50", x->time_to_first_token_p50);
    put_ns(json, "time_to_first_token_p99", x->time_to_first_token_p99);
    json_put_bool(json, "time_to_first_token_p99_bounded", x->time_to_first_token_p99_interval.bounded);
    if (x->time_to_first_token_p99_interval.bounded) {
      put_ns(json, "time_to_first_token_p99_low", x->time_to_first_token_p99_interval.low);
      put_ns(json, "time_to_first_token_p99_high", x->time_to_first_token_p99_interval.high);
    }
    put_ns(json, "end_to_end_p50", x->end_to_end_p50);
    put_ns(json, "end_to_end_p99", x->end_to_end_p99);
    put(json, "in_system", x->in_system);
    put(json, "littles_law", x->little);
    json_put_bool(json, "littles_law_holds", x->little_holds);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

static void put_checks(struct json_writer *json, const struct result_precision *p) {
  static const char *const verdicts[] = {[CHECK_PASSED] = "passed", [CHECK_FAILED] = "failed", [CHECK_NOT_DECIDED] = "not decided"};
  json_key(json, "checks");
  json_open_array(json);
  for (size_t i = 0; i < p->n_checks; i++) {
    json_open_object(json);
    json_put_text(json, "name", p->checks[i].name);
    json_put_text(json, "verdict", verdicts[p->checks[i].verdict]);
    json_put_text(json, "text", p->checks[i].text);
    json_close(json);
  }
  json_close(json);
}

static void put_distance(struct json_writer *json, const struct result_precision *p) {
  if (!p->distance_known) return;
  json_key(json, "representativeness");
  json_open_object(json);
  put(json, "prompt_length_distance", p->distance.prompt_length);
  put(json, "output_length_distance", p->distance.output_length);
  put(json, "arrivals_distance", p->distance.arrivals);
  put(json, "concurrency_ratio", p->distance.concurrency_ratio);
  put(json, "prefix_reuse_difference", p->distance.prefix_reuse);
  json_close(json);
}

static void put_lag(struct json_writer *json, const char *key, enum formula_index id, const struct result_lag *lag) {
  json_key(json, key);
  json_open_object(json);
  json_put_text(json, "formula", formulas[id].id);
  json_put_int(json, "n", (int64_t)lag->n);
  json_put_int(json, "n_unknown", (int64_t)lag->n_unknown);
  put(json, "p50", lag->p50);
  put(json, "p99", lag->p99);
  put(json, "greatest", lag->greatest);
  json_close(json);
}

static void put_sessions(struct json_writer *json, const struct result_precision *p) {
  json_key(json, "sessions");
  json_open_array(json);
  for (size_t i = 0; i < p->n_sessions; i++) {
    const struct result_session *s = &p->sessions[i];
    json_open_object(json);
    json_put_int(json, "id", s->id);
    json_put_int(json, "number", s->number);
    json_put_text(json, "status", session_end_text(s->end));
    if (s->why[0] != 0) json_put_text(json, "why", s->why);
    json_put_text(json, "executor", executor_start_text(s->executor));
    json_put_int(json, "counted", s->n_counted);
    json_put_int(json, "failed", s->n_failed);
    put(json, "output_rate", s->output_rate);
    put(json, "request_rate", s->request_rate);
    put(json, "goodput", s->goodput);
    for (int m = 0; m < METRIC_COUNT; m++) {
      json_key(json, metric_text((enum metric)m));
      json_open_array(json);
      for (int q = 0; q < RESULT_QUANTILES; q++) {
        double value = s->at[m][q];
        if (isinf(value)) json_text(json, "infinite");
        else json_double(json, isnan(value) ? value : number_round(value, DIGITS));
      }
      json_close(json);
    }
    put(json, "accuracy", s->accuracy);
    put_steady(json, "steady", &s->steady);
    json_close(json);
  }
  json_close(json);
}

static void put_counts(struct json_writer *json, const struct result_precision *p) {
  json_key(json, "requests");
  json_open_object(json);
  json_put_int(json, "counted", p->n_counted);
  json_put_int(json, "ok", p->n_ok);
  json_put_int(json, "failed", p->n_failed);
  json_put_int(json, "excluded_warm_up", p->n_warm_up);
  json_put_int(json, "excluded_not_steady", p->n_not_steady);
  json_put_int(json, "excluded_tail", p->n_tail);
  json_key(json, "failures");
  json_open_object(json);
  for (int i = 1; i < OUTCOME_COUNT; i++)
    if (p->outcomes[i] > 0) json_put_int(json, outcome_text((enum outcome)i), p->outcomes[i]);
  json_close(json);
  json_key(json, "first_reasons");
  json_open_object(json);
  for (int i = 1; i < OUTCOME_COUNT; i++)
    if (p->reasons[i] != NULL) json_put_text(json, outcome_text((enum outcome)i), p->reasons[i]);
  json_close(json);
  json_key(json, "oddities");
  json_open_object(json);
  for (unsigned i = 0; i < ANSWER_FLAG_COUNT; i++)
    if (p->flags[i] > 0) json_put_int(json, answer_flag_text(i), p->flags[i]);
  json_close(json);
  json_close(json);
}

/* Shares of the time from first byte written to end, of the answers that tell of phases. */
static void put_phases(struct json_writer *json, const struct result_precision *p) {
  if (p->n_phases == 0) return;
  json_key(json, "phases");
  json_open_object(json);
  json_put_text(json, "formula", formulas[FORMULA_PHASE].id);
  for (size_t i = 0; i < p->n_phases; i++) {
    json_key(json, p->phases[i].name);
    json_open_object(json);
    json_put_int(json, "n", p->phases[i].n);
    put(json, "mean_ns", p->phases[i].mean_ns);
    put(json, "share", p->phases[i].share);
    if (p->phases[i].of_server) json_put_bool(json, "by_the_servers_totals_warm_up_included", true);
    json_close(json);
  }
  put(json, "rest_share", p->phases_rest_share);
  json_close(json);
}

static void put_server(struct json_writer *json, const struct result_precision *p) {
  if (p->n_server == 0) return;
  json_key(json, "server_metrics");
  json_open_array(json);
  for (size_t i = 0; i < p->n_server; i++) {
    const struct result_server *f = &p->server[i];
    json_open_object(json);
    json_put_text(json, "figure", formulas[f->formula].name);
    json_put_text(json, "formula", formulas[f->formula].id);
    json_put_text(json, "unit", formulas[f->formula].unit);
    put(json, "value", f->value);
    if (!isnan(f->here)) put_ns(json, "client_mean", f->here);
    json_key(json, "over_time");
    json_open_array(json);
    for (size_t k = 0; k < f->n_points; k++) {
      json_open_array(json);
      json_double(json, f->at_s[k]);
      json_double(json, f->points[k]);
      json_close(json);
    }
    json_close(json);
    json_close(json);
  }
  json_close(json);
}

static void put_objectives(struct json_writer *json, const struct result_precision *p) {
  json_key(json, "objectives");
  json_open_array(json);
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct result_objective *o = &p->objectives[i];
    json_open_object(json);
    json_put_text(json, "metric", metric_text(o->metric));
    json_put_double(json, "quantile", o->quantile);
    json_put_int(json, "at_most_ns", o->at_most_ns);
    put_quantile(json, &o->measured);
    put_effective(json, o->n_effective);
    put(json, "miss_share", o->misses.share);
    put(json, "miss_share_low", o->misses.low);
    put(json, "miss_share_high", o->misses.high);
    json_put_bool(json, "decided_by_distance", o->by_distance);
    json_put_bool(json, "met", o->met);
    json_put_text(json, "verdict", objective_verdict_text(o->verdict));
    json_close(json);
  }
  json_close(json);
}

static void put_precision(struct json_writer *json, const struct contract *contract, const struct result_precision *p) {
  static const enum formula_index accuracy_formulas[] = {[ACCURACY_LIKELIHOOD] = FORMULA_BITS_PER_BYTE,
                                                         [ACCURACY_EXACT_MATCH] = FORMULA_EXACT_MATCH,
                                                         [ACCURACY_TOKEN_AGREEMENT] = FORMULA_AGREEMENT,
                                                         [ACCURACY_SCORER] = FORMULA_SCORE};
  enum formula_index accuracy_formula = accuracy_formulas[contract->accuracy.measure];
  json_open_object(json);
  json_put_text(json, "precision", p->name);
  json_put_bool(json, "unavailable", p->unavailable);
  json_put_text(json, "executed", p->executed);
  json_put_text(json, "status", p->status);
  json_put_text(json, "primitive", p->primitive);
  json_put_text(json, "fingerprint", p->fingerprint[0] != 0 ? p->fingerprint : NULL);
  put_counts(json, p);
  json_put_text(json, "counts", p->has_tokens ? "tokens" : "requests");
  put_interval(json, "output_rate", formulas[FORMULA_OUTPUT_RATE].id, &p->output_rate);
  put_if_known(json, "cost_per_million", FORMULA_COST, result_cost(contract, p));
  put_if_known(json, "energy_joules", FORMULA_ENERGY, result_energy(contract, p));
  put_interval(json, "request_rate", formulas[FORMULA_REQUEST_RATE].id, &p->request_rate);
  put_interval(json, "goodput", formulas[FORMULA_GOODPUT].id, &p->goodput);
  put(json, "failure_share", p->failure_share);
  json_put_text(json, "token_source", p->token_source);
  put(json, "tokens_per_event", p->tokens_per_event);
  put(json, "mean_prompt_tokens", p->mean_prompt_tokens);
  put(json, "mean_output_tokens", p->mean_output_tokens);
  json_key(json, "latency");
  json_open_object(json);
  for (int m = 0; m < METRIC_COUNT; m++) put_latency(json, (enum metric)m, &p->latency[m]);
  json_close(json);
  put_phases(json, p);
  put_server(json, p);
  put_objectives(json, p);
  put_interval(json, "accuracy", formulas[accuracy_formula].id, &p->accuracy);
  put(json, "accuracy_ratio", p->accuracy_ratio);
  if (p->accuracy_known) json_put_bool(json, "accuracy_passed", p->accuracy_passed);
  put_steady(json, "steady", &p->steady);
  json_put_bool(json, "steady_holds", p->steady_holds);
  put_points(json, p);
  put_climb(json, p);
  put_checks(json, p);
  put_distance(json, p);
  put_lag(json, "send_lag", FORMULA_SEND_LAG, &p->send_lag);
  put_lag(json, "read_lag", FORMULA_READ_LAG, &p->read_lag);
  put(json, "rate_instrument_share", p->rate_instrument_share);
  json_put_bool(json, "instrument_limited", p->instrument_limited);
  put(json, "engine_cpu_share", p->engine_cpu_share);
  json_key(json, "conditions");
  json_open_object(json);
  put(json, "others", p->conditions.others);
  put(json, "steal", p->conditions.steal);
  put(json, "throttled", p->conditions.throttled);
  put(json, "pressure", p->conditions.pressure);
  put(json, "lost_s_per_s", p->conditions.lost);
  put(json, "slowed", p->conditions.slowed);
  put(json, "gpus_slowed", p->conditions.gpus_slowed);
  json_close(json);
  put_sessions(json, p);
  json_close(json);
}

static void put_plausibility(struct json_writer *json, const struct result_plausibility *p) {
  struct arena arena = {0};
  json_key(json, "rows");
  json_open_object(json);
  json_put_bool(json, "judged", p->judged);
  json_put_int(json, "requests", p->n_requests);
  json_put_int(json, "events", p->n_events);
  json_put_text(json, "impossible", plausibility_text(p, &arena));
  json_close(json);
  arena_release(&arena);
}

/* Before and after the run, without the executor; nothing where it was not measured. */
static void put_machine(struct json_writer *json, const struct result *result) {
  struct machine_speed speeds[MACHINE_SPEED_FIGURES];
  size_t n = machine_speed_read(result->machine_before, result->machine_after, speeds);
  if (n == 0) return;
  json_key(json, "machine_speed");
  json_open_array(json);
  for (size_t i = 0; i < n; i++) {
    json_open_object(json);
    json_put_text(json, "name", speeds[i].name);
    json_put_text(json, "unit", speeds[i].unit);
    json_put_double(json, "before", speeds[i].before);
    json_put_double(json, "after", speeds[i].after);
    json_close(json);
  }
  json_close(json);
}

bool result_write(struct result *result, struct buffer *ret) {
  struct json_writer json;
  struct answer answer;
  answer_of_result(result, &answer);
  json_begin_object(&json, ret);
  json_put_int(&json, "lynx_result", 1);
  json_put_int(&json, "analysis", ANALYSIS_VERSION);
  json_key(&json, "bundle");
  json_open_object(&json);
  json_put_text(&json, "root", result->seal.root[0] != 0 ? result->seal.root : NULL);
  json_put_text(&json, "ended", bundle_end_text(result->seal.end));
  json_put_text(&json, "why", result->seal.why);
  json_put_text(&json, "withheld", result->seal.withheld);
  json_close(&json);
  put_plausibility(&json, &result->plausibility);
  json_key(&json, "contract");
  json_open_object(&json);
  json_put_text(&json, "name", result->contract.name);
  json_put_text(&json, "digest", result->contract_digest);
  json_put_text(&json, "grade", grade_text(result->grade));
  json_close(&json);
  answer_write(&answer, &json);
  json_key(&json, "executor");
  json_open_object(&json);
  json_key(&json, "accelerators");
  json_open_object(&json);
  if (result->n_accelerators > 0) {
    json_put_text(&json, "formula", formulas[FORMULA_PER_ACCELERATOR].id);
    json_put_text(&json, "what", result->accelerator);
    put(&json, "n", result->n_accelerators);
    json_key(&json, "output_rate_per_accelerator");
    json_open_object(&json);
    for (size_t i = 0; i < result->n_precisions; i++)
      if (result->precisions[i].has_tokens)
        put(&json, result->precisions[i].name, result->precisions[i].output_rate.estimate / result->n_accelerators);
    json_close(&json);
  }
  json_close(&json);
  json_put_texts(&json, "holes", result->holes, result->n_holes);
  json_put_texts(&json, "declared_not_compared", result->not_compared, result->n_not_compared);
  json_put_texts(&json, "departures", result->departures, result->n_departures);
  json_put_texts(&json, "changed_during_the_run", result->changed, result->n_changed);
  json_close(&json);
  if (result->stopped[0] != 0) json_put_text(&json, "stopped", result->stopped);
  json_put_texts(&json, "conditions", result->conditions, result->n_conditions);
  if (result->load_hosts[0] != 0) json_put_text(&json, "load_hosts", result->load_hosts);
  if (result->imported[0] != 0) json_put_text(&json, "imported", result->imported);
  put_machine(&json, result);
  json_key(&json, "precisions");
  json_open_array(&json);
  for (size_t i = 0; i < result->n_precisions; i++) put_precision(&json, &result->contract, &result->precisions[i]);
  json_close(&json);
  return json_end_line(&json);
}
