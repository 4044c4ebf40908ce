/* The rules that span several fields. */
#include <stdio.h>
#include <string.h>

#include "base/endpoint.h"
#include "base/number.h"
#include "base/processors.h"
#include "contract/fields_private.h"
#include "stats/quantile.h"
#include "stats/saturation.h"
#include "stats/sessions.h"

/* A field that is wrong in itself is not also wrong in company. */
static void error_at(struct problem_list *problems, const char *field, const char *found, const char *accepted) {
  for (size_t i = 0; i < problems->n_items; i++)
    if (problems->items[i].kind == PROBLEM_ERROR && strcmp(problems->items[i].field, field) == 0) return;
  problem_add(problems, PROBLEM_ERROR, 0, field, found, accepted);
}

struct needs {
  bool rate, to, concurrency, batch, trace; /* must be stated */
};

static const struct needs needs_of[] = {
    [LOAD_CONSTANT] = {.rate = true},
    [LOAD_POISSON] = {.rate = true},
    [LOAD_BURSTY] = {.rate = true},
    [LOAD_RAMP] = {.rate = true, .to = true},
    [LOAD_OFFLINE] = {.batch = true},
    [LOAD_REPLAY] = {.trace = true},
    [LOAD_SINGLE_STREAM] = {0},
    [LOAD_MULTI_STREAM] = {.batch = true},
    [LOAD_CLOSED] = {.concurrency = true},
    [LOAD_CONVERSATIONS] = {.concurrency = true},
    [LOAD_SATURATION] = {.rate = true, .to = true},
    [LOAD_CLIMB] = {.concurrency = true},
    [LOAD_OBSERVED] = {0},
};

static void check_need(const struct contract *c, struct problem_list *problems, bool needed, bool allowed, const char *field) {
  bool stated = contract_states(c, field);
  const char *load = load_text((enum load_kind)c->regime.load);
  if (needed && !stated) error_at(problems, field, "nothing", arena_printf(problems->arena, "load: %s needs it", load));
  if (stated && !needed && !allowed)
    error_at(problems, field, arena_printf(problems->arena, "a value with load: %s", load),
             "nothing: this load has no use for it; leave it out");
}

static void check_caps(const struct contract *c, struct problem_list *problems, bool open) {
  const struct contract_regime *r = &c->regime;
  double greatest = contract_states(c, "regime.to_per_s") && r->to_per_s > r->rate_per_s ? r->to_per_s : r->rate_per_s;
  if (open && contract_states(c, "where.load_cap_per_s") && greatest > c->where.load_cap_per_s)
    error_at(problems, contract_states(c, "regime.to_per_s") ? "regime.to_per_s" : "regime.rate_per_s", "a rate above where.load_cap_per_s",
             "a rate within the cap");
  if (contract_states(c, "where.load_cap_in_flight") && contract_in_flight(c) > c->where.load_cap_in_flight)
    error_at(problems, r->load == LOAD_MULTI_STREAM ? "regime.batch" : "regime.concurrency", "more than where.load_cap_in_flight",
             "a concurrency within the cap");
}

static void check_regime(const struct contract *c, struct problem_list *problems) {
  const struct contract_regime *r = &c->regime;
  const struct needs *n = &needs_of[r->load];
  bool open = !load_is_closed((enum load_kind)r->load);
  check_need(c, problems, n->rate, false, "regime.rate_per_s");
  check_need(c, problems, n->to, false, "regime.to_per_s");
  check_need(c, problems, n->concurrency, open && r->load != LOAD_OBSERVED, "regime.concurrency");
  check_need(c, problems, n->batch, false, "regime.batch");
  check_need(c, problems, n->trace, false, "regime.trace");
  check_need(c, problems, false, r->load == LOAD_BURSTY, "regime.burst_shape");
  check_need(c, problems, false, r->load == LOAD_CONVERSATIONS, "regime.turns");
  check_need(c, problems, false, r->load == LOAD_CONVERSATIONS, "regime.think_time");
  check_need(c, problems, false, r->load == LOAD_SATURATION, "regime.search");
  if (r->load == LOAD_SATURATION && r->to_per_s < r->rate_per_s)
    error_at(problems, "regime.to_per_s", "less than regime.rate_per_s", "the greatest load that may be tried");
  if (r->load == LOAD_MULTI_STREAM && r->batch > 20000) error_at(problems, "regime.batch", "more than 20000 in flight", "at most 20000");
  if (r->load == LOAD_CONVERSATIONS && c->workload.prompts.count % r->turns != 0)
    error_at(
        problems, "workload.prompts.count",
        arena_printf(problems->arena, "%lld, and regime.turns is %lld", (long long)c->workload.prompts.count, (long long)r->turns),
        arena_printf(problems->arena, "a multiple of it, such as %lld", ((long long)c->workload.prompts.count / r->turns + 1) * r->turns));
  bool looks = contract_states(c, "method.precision_target");
  if (looks && r->load == LOAD_SATURATION)
    error_at(problems, "method.precision_target", "a target with load: saturation", "nothing: a search has its own looks (regime.search)");
  if (!looks && contract_states(c, "method.sessions_at_most"))
    error_at(problems, "method.sessions_at_most", "a value without method.precision_target", "nothing, or a target");
  if (!looks && contract_states(c, "method.look_every"))
    error_at(problems, "method.look_every", "a value without method.precision_target", "nothing, or a target");
  check_caps(c, problems, open);
  if (c->where.environment == WHERE_PRODUCTION && r->load != LOAD_OBSERVED &&
      !(contract_states(c, "where.abort_slo") &&
        (contract_states(c, "where.load_cap_per_s") || contract_states(c, "where.load_cap_in_flight"))))
    error_at(problems, "where", "production without both a load cap and an abort_slo", "both: a measurement must not harm a live service");
  if (contract_in_flight(c) > 0 && c->method.threads > contract_in_flight(c))
    error_at(problems, "method.threads", "more threads than requests in flight", "at most as many as requests in flight");
  if (c->method.threads > 1 && (r->load == LOAD_MULTI_STREAM || r->load == LOAD_CONVERSATIONS))
    error_at(problems, "method.threads", "several threads", "1: a batch or a conversation belongs to one of them");
}

static void check_environment(const struct contract *c, struct problem_list *problems) {
  for (size_t i = 0; i < c->executor.start.environment.n_items; i++) {
    const char *text = c->executor.start.environment.items[i];
    size_t name = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    if (name > 0 && (text[name] == 0 || text[name] == '=') && !(text[0] >= '0' && text[0] <= '9')) continue;
    error_at(problems, arena_printf(problems->arena, "executor.start.environment[%zu]", i), text, "NAME or NAME=VALUE");
  }
}

static void check_workload(const struct contract *c, struct problem_list *problems) {
  const struct contract_workload *w = &c->workload;
  if (contract_states(c, "workload.api_key_env") && contract_states(c, "workload.api_key_file"))
    error_at(problems, "workload.api_key_file", "a file beside workload.api_key_env", "one of the two");
  const struct contract_slo *slo = c->slo.items;
  for (size_t i = 0; i < c->slo.n_items; i++) {
    const char *field = arena_printf(problems->arena, "slo[%zu].metric", i);
    if ((!w->stream || w->api == API_EMBEDDINGS) && slo[i].metric != METRIC_END_TO_END)
      error_at(problems, field, metric_text((enum metric)slo[i].metric),
               w->stream ? "end_to_end: an embedding has no tokens to wait for"
                         : "end_to_end: without a stream no token has a time (workload.stream is false)");
    if (w->output_tokens < 2 && (slo[i].metric == METRIC_TIME_PER_OUTPUT_TOKEN || slo[i].metric == METRIC_INTER_TOKEN_LATENCY))
      error_at(problems, field, metric_text((enum metric)slo[i].metric), "a metric that one output token has");
    if (slo[i].at_most_ns > c->method.request_timeout_ns)
      error_at(problems, arena_printf(problems->arena, "slo[%zu].at_most", i), "an objective beyond method.request_timeout",
               "a time-out above the objective");
  }
}

static void check_prompts(const struct contract *c, struct problem_list *problems) {
  const struct contract_prompts *p = &c->workload.prompts;
  bool list = p->format != PROMPTS_TEXT, exact = contract_states(c, "workload.prompts.tokens"),
       server = p->tokenizer != NULL && strcmp(p->tokenizer, "server") == 0;
  int width = 0, height = 0, used = 0;
  if (list && p->file == NULL) error_at(problems, "workload.prompts.file", "nothing", "a file of that format");
  if (list && c->regime.load == LOAD_CONVERSATIONS)
    error_at(problems, "workload.prompts.format", "a list of prompts with load: conversations", "text, or no file: turns are made");
  static const char *const other[] = {"bytes", "distribution", "spread", "shared_prefix_bytes"};
  for (size_t i = 0; i < LYNX_COUNT(other); i++) {
    const char *field = arena_printf(problems->arena, "workload.prompts.%s", other[i]);
    if ((list || exact) && contract_states(c, field))
      error_at(problems, field, list ? "a length beside a file of prompts" : "a length beside workload.prompts.tokens", "nothing");
  }
  if (exact && p->tokenizer == NULL) error_at(problems, "workload.prompts.tokenizer", "nothing", "what counts workload.prompts.tokens");
  if (server && !exact)
    error_at(problems, "workload.prompts.tokens", "nothing",
             "tokens beside tokenizer: server; or a tokenizer.json, which also counts answers");
  if (exact && p->file != NULL) error_at(problems, "workload.prompts.file", "a file beside workload.prompts.tokens", "one of the two");
  if (exact && c->regime.load == LOAD_CONVERSATIONS)
    error_at(problems, "workload.prompts.tokens", "a value with load: conversations", "bytes");
  if (server && !contract_states(c, "executor.endpoint"))
    error_at(problems, "workload.prompts.tokenizer", "server, without executor.endpoint", "a tokenizer.json, or an endpoint that counts");
  bool given = c->accuracy.references != NULL || c->regime.load == LOAD_REPLAY;
  static const char *const unused[] = {"format", "tokens", "image"};
  for (size_t i = 0; i < LYNX_COUNT(unused) && given; i++) {
    const char *field = arena_printf(problems->arena, "workload.prompts.%s", unused[i]);
    if (contract_states(c, field))
      error_at(problems, field, "a value where accuracy.references or a trace bring the prompts", "nothing: they are asked as they are");
  }
  if (p->withhold && contract_states(c, "accuracy") && c->accuracy.measure != ACCURACY_LIKELIHOOD)
    error_at(problems, "workload.prompts.withhold", "true, with an accuracy that keeps answers", "false, or measure: likelihood");
  if (server && contract_states(c, "executor.start"))
    error_at(problems, "workload.prompts.tokenizer", "server, with executor.start",
             "a tokenizer.json: prompts are made before the executor is started");
  if (c->workload.output_distribution == LENGTH_GIVEN && p->format != PROMPTS_JSONL && p->format != PROMPTS_SHAREGPT)
    error_at(problems, "workload.output_distribution", "given", "a format that gives lengths: jsonl or sharegpt");
  if (p->image == NULL) return;
  if (sscanf(p->image, "%4dx%4d%n", &width, &height, &used) != 2 || p->image[used] != 0 || width < 1 || height < 1 || width > 4096 ||
      height > 4096)
    error_at(problems, "workload.prompts.image", p->image, "WIDTHxHEIGHT, each from 1 to 4096, such as 64x64");
  if (c->workload.api != API_CHAT && c->workload.api != API_NATIVE && c->workload.api != API_NATIVE_CHAT)
    error_at(problems, "workload.prompts.image", "a picture with a route that takes none", "api: chat, or Ollama's own");
}

static void check_processors(const struct contract *c, struct problem_list *problems) {
  cpu_set_t set;
  struct lynx_error why = {0};
  if (c->method.processors != NULL && processors_parse(c->method.processors, &set, &why) != LYNX_OK)
    error_at(problems, "method.processors", arena_copy(problems->arena, why.message), "");
}

static void check_samples(const struct contract *c, struct problem_list *problems) {
  if (c->method.sessions < 2)
    problem_add(problems, PROBLEM_WARNING, 0, "method.sessions", "1 session",
                "at least 2: one session has no interval; 5 or more for a claim that others must reproduce");
  if (contract_states(c, "method.precision_target") && c->method.sessions_at_most < c->method.sessions)
    error_at(problems, "method.sessions_at_most", "less than method.sessions", "at least as many: the first look is at method.sessions");
  double arrivals = c->regime.rate_per_s * (double)c->method.counted_ns / 1e9;
  if (c->regime.load == LOAD_SATURATION) {
    double needed = saturation_arrivals_needed(c->regime.search.resolution), given = arrivals * (double)c->regime.search.looks_at_most;
    if (given < needed)
      problem_add(
          problems, PROBLEM_WARNING, 0, "regime.search.resolution",
          arena_printf(problems->arena,
                       "%.3g, and about %.0f arrivals in all looks at the first load, which separate loads that are %.3g %% apart",
                       c->regime.search.resolution, given, 100 * saturation_resolution(given)),
          arena_printf(problems->arena,
                       "about %.0f where gaps and service times are exponential: a longer window, more looks or a coarser resolution; "
                       "with fewer a load near the capacity is decided by its estimate",
                       needed));
    /* Two searches that find the same executor's point may still name loads that far apart. */
    if (c->regime.search.resolution >= c->decision.margin)
      problem_add(problems, PROBLEM_WARNING, 0, "decision.margin",
                  arena_printf(problems->arena, "%.3g with a search of resolution %.3g", c->decision.margin, c->regime.search.resolution),
                  "a margin above regime.search.resolution, better twice it: else no re-run can reproduce or refute the saturation point");
  }
  if (load_is_closed((enum load_kind)c->regime.load) || c->regime.load == LOAD_REPLAY || c->regime.load == LOAD_OFFLINE ||
      c->regime.load == LOAD_OBSERVED)
    return;
  const struct contract_slo *slo = c->slo.items;
  double sessions = (double)(contract_states(c, "method.precision_target") ? c->method.sessions_at_most : c->method.sessions);
  double left = sessions_freedom_factor((size_t)sessions, c->method.confidence), expected = arrivals * sessions * left;
  for (size_t i = 0; i < c->slo.n_items; i++) {
    size_t needed = quantile_least_sample(slo[i].quantile, c->method.confidence);
    if (expected >= (double)needed) continue;
    problem_add(
        problems, PROBLEM_WARNING, 0, arena_printf(problems->arena, "slo[%zu].quantile", i),
        arena_printf(problems->arena, "about %.0f counted requests in %.0f sessions, worth at most %.0f independent ones",
                     arrivals * sessions, sessions, expected),
        arena_printf(problems->arena,
                     "at least %zu independent ones, to bound this quantile at this confidence: more sessions, a longer window or a "
                     "higher rate",
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
  if (contract_states(c, "accuracy") && !has_reference && c->accuracy.references == NULL)
    error_at(problems, "accuracy.reference", c->accuracy.reference,
             "one of the contract's precisions, which is then measured too; or give references");
}

bool contract_split_key(const char *key, enum layer *ret_layer, const char **ret_name) {
  const char *dot = strchr(key, '.');
  char name[32] = "";
  if (dot == NULL || (size_t)(dot - key) >= sizeof name || dot[1] == 0) return false;
  memcpy(name, key, (size_t)(dot - key));
  *ret_name = dot + 1;
  return layer_parse(name, ret_layer);
}

static void check_names(const struct contract *c, struct problem_list *problems) {
  static const char layers[] = "one of: application, serving, runtime, framework, system, accelerator, procurement, facility, demand";
  enum layer layer;
  for (size_t i = 0; i < c->owners.n_items; i++)
    if (!layer_parse(c->owners.keys[i], &layer)) error_at(problems, "owners", c->owners.keys[i], layers);
  for (size_t i = 0; i < c->executor.hosts.n_items; i++)
    if (strpbrk(c->executor.hosts.keys[i], "/.") != NULL || strlen(c->executor.hosts.keys[i]) > 80)
      error_at(problems, "executor.hosts", c->executor.hosts.keys[i],
               "a role of at most 80 characters without '/' and '.', such as server-1");
  const struct text_map *facts[] = {&c->executor.declare, &c->executor.expect};
  for (size_t k = 0; k < LYNX_COUNT(facts); k++)
    for (size_t i = 0; i < facts[k]->n_items; i++) {
      const char *name;
      if (!contract_split_key(facts[k]->keys[i], &layer, &name))
        error_at(problems, k == 0 ? "executor.declare" : "executor.expect", facts[k]->keys[i],
                 "a layer, a dot and the fact's key, such as accelerator.cpu.model or facility.cooling");
    }
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

static void check_accuracy(const struct contract *c, struct problem_list *problems) {
  const struct contract_accuracy *a = &c->accuracy;
  if (!contract_states(c, "accuracy")) return;
  bool likelihood = a->measure == ACCURACY_LIKELIHOOD, scorer = a->measure == ACCURACY_SCORER;
  if (likelihood && a->text_file == NULL) error_at(problems, "accuracy.text_file", "nothing", "measure: likelihood needs held-out text");
  if (a->references != NULL && c->regime.load == LOAD_CONVERSATIONS)
    error_at(problems, "accuracy.references", "a file with load: conversations", "nothing: references are single prompts, not turns");
  if (likelihood && a->references != NULL)
    error_at(problems, "accuracy.references", "a file with measure: likelihood", "nothing: leave it out, or set another measure");
  if (!likelihood && a->text_file != NULL)
    error_at(problems, "accuracy.text_file", "a file with a measure of answers", "nothing: only measure: likelihood reads it");
  if (a->references != NULL && c->workload.prompts.file != NULL)
    error_at(problems, "workload.prompts.file", "a file beside accuracy.references", "one of them: the references bring their prompts");
  if (scorer != (a->command.n_items > 0))
    error_at(problems, "accuracy.command", scorer ? "nothing" : "a command without measure: scorer",
             "a program and its arguments, with measure: scorer and only with it");
  if (!likelihood && c->workload.temperature > 0)
    problem_add(problems, PROBLEM_WARNING, 0, "workload.temperature", "above 0",
                "0, where answers are compared: sampled answers differ from run to run");
}

const char *const contract_checks[CONTRACT_CHECKS] = {"length", "usage", "first_token", "failures", "caching", "prefix", "seed"};

bool contract_wants_check(const struct contract *contract, const char *name) {
  for (size_t i = 0; i < contract->checks.n_items; i++)
    if (strcmp(contract->checks.items[i], name) == 0) return true;
  return false;
}

static void check_lengths(const struct contract *c, struct problem_list *problems) {
  const struct contract_workload *w = &c->workload;
  bool drawn = w->output_distribution == LENGTH_PROFILE || w->prompts.distribution == LENGTH_PROFILE;
  if (drawn && w->profile_file == NULL)
    error_at(problems, "workload.profile_file", "nothing", "a distribution: profile draws from it; `lynxbench profile` makes one");
  for (const char *p = w->user_agent; *p != 0; p++)
    if (*p < ' ' || *p > '~' || p - w->user_agent >= 200) {
      error_at(problems, "workload.user_agent", "other than printable ASCII, or more than 200 characters",
               "what may stand in a header of HTTP, such as my-client/1.0");
      break;
    }
  for (size_t i = 0; i < c->checks.n_items; i++) {
    bool good = false;
    for (size_t k = 0; k < CONTRACT_CHECKS; k++) good = good || strcmp(contract_checks[k], c->checks.items[i]) == 0;
    if (!good)
      error_at(problems, arena_printf(problems->arena, "checks[%zu]", i), c->checks.items[i],
               "length, usage, first_token, failures, caching, prefix or seed");
  }
}

static void check_forms(const struct contract *c, struct problem_list *problems) {
  struct endpoint endpoint;
  struct lynx_error error = {0};
  if (c->executor.endpoint != NULL && endpoint_parse(c->executor.endpoint, &endpoint, &error) != LYNX_OK)
    error_at(problems, "executor.endpoint", arena_copy(problems->arena, error.message),
             "http://HOST:PORT, https://HOST:PORT or http://unix:/PATH/TO/SOCKET");
  const char *currency = c->cost.currency;
  if (currency != NULL && (strlen(currency) != 3 || strspn(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3))
    error_at(problems, "cost.currency", currency, "three capital letters, such as EUR");
}

/* What is asked is stated where references or a trace bring it. */
static void drop_stated(const struct contract *c, struct problem_list *problems) {
  size_t n = 0;
  bool given = c->accuracy.references != NULL || c->regime.load == LOAD_REPLAY;
  for (size_t i = 0; i < problems->n_items; i++) {
    const struct problem *p = &problems->items[i];
    if (!given || p->kind != PROBLEM_UNSTATED || strcmp(p->field, "workload.prompts") != 0) problems->items[n++] = *p;
  }
  problems->n_items = n;
}

void contract_check(const struct contract *contract, struct problem_list *problems) {
  drop_stated(contract, problems);
  check_forms(contract, problems);
  check_regime(contract, problems);
  check_workload(contract, problems);
  check_environment(contract, problems);
  check_prompts(contract, problems);
  check_processors(contract, problems);
  check_samples(contract, problems);
  check_precisions(contract, problems);
  check_accuracy(contract, problems);
  check_lengths(contract, problems);
  check_names(contract, problems);
  question_check(contract, problems);
}
