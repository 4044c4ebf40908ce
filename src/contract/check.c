/* The rules that span several fields. */
#include <stdio.h>
#include <string.h>

#include "base/endpoint.h"
#include "base/number.h"
#include "contract/fields_private.h"
#include "stats/quantile.h"

/* A field that is wrong in itself is not also wrong in company. */
static void error_at(struct problem_list *problems, const char *field, const char *found, const char *accepted) {
  for (size_t i = 0; i < problems->n_items; i++)
    if (problems->items[i].kind == PROBLEM_ERROR && strcmp(problems->items[i].field, field) == 0) return;
  problem_add(problems, PROBLEM_ERROR, 0, field, found, accepted);
}

static void check_regime(const struct contract *c, struct problem_list *problems) {
  bool open = c->regime.load != LOAD_CLOSED, rated = contract_states(c, "regime.rate_per_s");
  if (open && !rated)
    error_at(problems, "regime.rate_per_s", "nothing", "open-loop load needs a rate; or set load: closed and concurrency");
  if (!open && rated)
    error_at(problems, "regime.rate_per_s", "a rate with load: closed", "leave it out: a closed loop sends when an answer has come");
  if (!open && !contract_states(c, "regime.concurrency"))
    error_at(problems, "regime.concurrency", "nothing", "a closed loop needs its concurrency");
  if (open && contract_states(c, "where.load_cap_per_s") && c->regime.rate_per_s > c->where.load_cap_per_s)
    error_at(problems, "regime.rate_per_s", "a rate above where.load_cap_per_s", "a rate within the cap");
  if (contract_states(c, "where.load_cap_in_flight") && c->regime.concurrency > c->where.load_cap_in_flight)
    error_at(problems, "regime.concurrency",
             contract_states(c, "regime.concurrency") ? "more than where.load_cap_in_flight"
                                                      : "the default, which is more than where.load_cap_in_flight",
             "a concurrency within the cap");
  if (c->where.environment == WHERE_PRODUCTION &&
      !(contract_states(c, "where.abort_slo") &&
        (contract_states(c, "where.load_cap_per_s") || contract_states(c, "where.load_cap_in_flight"))))
    error_at(problems, "where", "production without both a load cap and an abort_slo", "both: a measurement must not harm a live service");
  if (c->method.threads > c->regime.concurrency)
    error_at(problems, "method.threads", "more threads than requests in flight", "at most regime.concurrency");
}

static void check_workload(const struct contract *c, struct problem_list *problems) {
  const struct contract_workload *w = &c->workload;
  if (w->driver != NULL && strcmp(w->driver, "http") == 0 && !contract_states(c, "executor.endpoint"))
    error_at(problems, "executor.endpoint", "nothing", "the http driver needs one, such as http://127.0.0.1:8000");
  const struct contract_slo *slo = c->slo.items;
  for (size_t i = 0; i < c->slo.n_items; i++) {
    const char *field = arena_printf(problems->arena, "slo[%zu].metric", i);
    if (!w->stream && slo[i].metric != METRIC_END_TO_END)
      error_at(problems, field, metric_text((enum metric)slo[i].metric),
               "end_to_end: without a stream no token has a time (workload.stream is false)");
    if (w->output_tokens < 2 && (slo[i].metric == METRIC_TIME_PER_OUTPUT_TOKEN || slo[i].metric == METRIC_INTER_TOKEN_LATENCY))
      error_at(problems, field, metric_text((enum metric)slo[i].metric), "a metric that one output token has");
    if (slo[i].at_most_ns > c->method.request_timeout_ns)
      error_at(problems, arena_printf(problems->arena, "slo[%zu].at_most", i), "an objective beyond method.request_timeout",
               "a time-out above the objective");
  }
}

static void check_samples(const struct contract *c, struct problem_list *problems) {
  if (c->method.sessions < 2)
    problem_add(problems, PROBLEM_WARNING, 0, "method.sessions", "1 session",
                "at least 2: one session has no interval; 5 or more for a claim that others must reproduce");
  if (c->regime.load == LOAD_CLOSED) return;
  const struct contract_slo *slo = c->slo.items;
  double expected = c->regime.rate_per_s * (double)c->method.counted_ns / 1e9 * (double)c->method.sessions;
  for (size_t i = 0; i < c->slo.n_items; i++) {
    size_t needed = quantile_least_sample(slo[i].quantile, c->method.confidence);
    if (expected >= (double)needed) continue;
    problem_add(problems, PROBLEM_WARNING, 0, arena_printf(problems->arena, "slo[%zu].quantile", i),
                arena_printf(problems->arena, "about %.0f counted requests in all sessions", expected),
                arena_printf(problems->arena,
                             "at least %zu, to bound this quantile at this confidence: a longer window, more sessions or a higher rate",
                             needed));
  }
}

static void check_precisions(const struct contract *c, struct problem_list *problems) {
  static const char *const known[] = {"as-served", "f32", "tf32", "f16", "bf16", "fp8", "int8", "int4"};
  bool has_reference = false, placeholder = false;
  for (size_t i = 0; i < c->precisions.n_items; i++) {
    const char *name = c->precisions.items[i];
    bool good = false;
    for (size_t k = 0; k < LYNX_COUNT(known); k++) good = good || strcmp(known[k], name) == 0;
    const char *field = arena_printf(problems->arena, "precisions[%zu]", i);
    if (!good) error_at(problems, field, name, "as-served, f32, tf32, f16, bf16, fp8, int8 or int4");
    for (size_t k = 0; k < i; k++)
      if (strcmp(c->precisions.items[k], name) == 0)
        error_at(problems, field, arena_printf(problems->arena, "%s a second time", name), "each precision once");
    has_reference = has_reference || strcmp(name, c->accuracy.reference != NULL ? c->accuracy.reference : "") == 0;
  }
  if (c->precisions.n_items == 0) error_at(problems, "precisions", "an empty list", "at least one, such as [as-served]");
  if (contract_states(c, "executor.start"))
    for (size_t i = 0; i < c->executor.start.command.n_items; i++)
      placeholder = placeholder || strstr(c->executor.start.command.items[i], "{precision}") != NULL;
  if (c->precisions.n_items > 1 && !placeholder)
    error_at(problems, "precisions", "several precisions",
             "an executor.start.command with {precision} in it: otherwise nothing would differ between them");
  if (contract_states(c, "accuracy") && !has_reference && c->precisions.n_items > 1)
    error_at(problems, "accuracy.reference", c->accuracy.reference, "one of the contract's precisions");
}

static bool begins_with_layer(const char *key) {
  const char *dot = strchr(key, '.');
  enum layer layer;
  char name[32] = "";
  if (dot == NULL || (size_t)(dot - key) >= sizeof name) return false;
  memcpy(name, key, (size_t)(dot - key));
  return layer_parse(name, &layer) && dot[1] != 0;
}

static void check_names(const struct contract *c, struct problem_list *problems) {
  static const char layers[] = "one of: application, serving, runtime, framework, system, accelerator, procurement, facility, demand";
  enum layer layer;
  for (size_t i = 0; i < c->owners.n_items; i++)
    if (!layer_parse(c->owners.keys[i], &layer)) error_at(problems, "owners", c->owners.keys[i], layers);
  for (size_t i = 0; i < c->executor.declare.n_items; i++)
    if (!begins_with_layer(c->executor.declare.keys[i]))
      error_at(problems, "executor.declare", c->executor.declare.keys[i], "a layer, a dot and a name, such as facility.cooling");
  const struct item_list *lists[] = {&c->optimisation.may_change, &c->optimisation.must_not_change};
  for (size_t k = 0; k < LYNX_COUNT(lists); k++) {
    const struct contract_change *change = lists[k]->items;
    for (size_t i = 0; i < lists[k]->n_items; i++)
      if (change[i].layer != NULL && !layer_parse(change[i].layer, &layer))
        error_at(problems, arena_printf(problems->arena, "optimisation.%s[%zu].layer", k == 0 ? "may_change" : "must_not_change", i),
                 change[i].layer, layers);
  }
  for (size_t i = 0; i < c->counting.excluded.n_items; i++)
    if (strcmp(c->counting.excluded.items[i], "warm-up") != 0 && strcmp(c->counting.excluded.items[i], "tail") != 0)
      error_at(problems, "counting.excluded", c->counting.excluded.items[i], "warm-up or tail");
  if (c->counting.excluded.n_items != 2)
    error_at(problems, "counting.excluded", "other than both phases",
             "[warm-up, tail]: only requests scheduled in the counted window count");
}

static void check_forms(const struct contract *c, struct problem_list *problems) {
  struct endpoint endpoint;
  struct lynx_error error = {0};
  if (c->executor.endpoint != NULL && endpoint_parse(c->executor.endpoint, &endpoint, &error) != LYNX_OK)
    error_at(problems, "executor.endpoint", arena_copy(problems->arena, error.message), "http://HOST:PORT or https://HOST:PORT");
  const char *currency = c->cost.currency;
  if (currency != NULL && (strlen(currency) != 3 || strspn(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3))
    error_at(problems, "cost.currency", currency, "three capital letters, such as EUR");
}

void contract_check(const struct contract *contract, struct problem_list *problems) {
  check_forms(contract, problems);
  check_regime(contract, problems);
  check_workload(contract, problems);
  check_samples(contract, problems);
  check_precisions(contract, problems);
  check_names(contract, problems);
}
