#include "result/claim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

struct building {
  struct arena *arena;
  struct claim *claim;
  struct buffer text;
};

static void append(struct arena *arena, const char ***list, size_t *n, const char *text) {
  const char **grown = arena_alloc(arena, *n + 1, sizeof *grown);
  if (*n > 0) memcpy(grown, *list, *n * sizeof *grown);
  grown[(*n)++] = text;
  *list = grown;
}

static void refuse(struct building *b, const char *reason) {
  append(b->arena, &b->claim->reasons, &b->claim->n_reasons, reason);
}

static void caveat(struct building *b, const char *text) {
  append(b->arena, &b->claim->caveats, &b->claim->n_caveats, text);
}

/* --- the bar --- */

static void judge_record(struct building *b, const struct result *r) {
  if (r->seal.end != BUNDLE_COMPLETE)
    refuse(b, arena_printf(b->arena, "the run is %s: %s. Run the contract again to its end", bundle_end_text(r->seal.end), r->seal.why));
  if (r->grade > (enum grade)r->contract.least_grade)
    refuse(b, arena_printf(b->arena, "the contract's grade is %s and its own bar is %s: `lynxbench lint` lists what it leaves unstated",
                           grade_text(r->grade), grade_text((enum grade)r->contract.least_grade)));
  static const char *const needed[] = {"fact", "session", "request", "event"};
  for (size_t i = 0; i < LYNX_COUNT(needed); i++)
    if (strstr(r->seal.withheld, needed[i]) != NULL)
      refuse(b, arena_printf(b->arena, "the section '%s' is withheld from this copy, and what it holds decides whether a claim can be made",
                             needed[i]));
  for (size_t i = 0; i < r->n_departures; i++) refuse(b, arena_printf(b->arena, "out of contract: %s", r->departures[i]));
  for (size_t i = 0; i < r->n_changed; i++) refuse(b, arena_printf(b->arena, "the executor changed during the run: %s", r->changed[i]));
  for (size_t i = 0; i < r->n_conditions; i++) refuse(b, arena_printf(b->arena, "the conditions were not met: %s", r->conditions[i]));
}

static void judge_measurement(struct building *b, const struct result *r, const struct result_precision *p) {
  const struct contract_method *method = &r->contract.method;
  char a[40], c[40], d[40];
  if (p->unavailable) {
    refuse(b, arena_printf(b->arena, "%s is unavailable on this executor: %s", p->name, p->n_sessions > 0 ? p->sessions[0].status : ""));
    return;
  }
  if (p->n_complete < (size_t)method->sessions)
    refuse(b, arena_printf(b->arena, "%zu of %lld sessions are complete", p->n_complete, (long long)method->sessions));
  if (p->n_complete < 2) refuse(b, "fewer than 2 complete sessions have no interval: raise method.sessions");
  if (p->n_counted == 0) refuse(b, "no request was counted");
  else if (p->failure_share > method->failures_at_most)
    refuse(b, arena_printf(b->arena, "%.3g %% of the counted requests failed; the contract allows %.3g %% (method.failures_at_most)",
                           100 * p->failure_share, 100 * method->failures_at_most));
  if (p->instrument_limited)
    refuse(b, arena_printf(b->arena,
                           "instrument-limited: send lag p99 %s, read lag p99 %s, and the contract allows %s. Give lynxbench a core of its "
                           "own, or lower the load",
                           number_duration_text(a, sizeof a, p->send_lag.p99), number_duration_text(c, sizeof c, p->read_lag.p99),
                           number_duration_text(d, sizeof d, (double)method->lag_p99_at_most_ns)));
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct result_objective *o = &p->objectives[i];
    if (o->bounded || p->n_counted == 0) continue;
    refuse(b, arena_printf(b->arena, "%zu values cannot bound the %g quantile of %s at %g %% confidence: at least %zu are needed",
                           p->latency[o->metric].n, o->quantile, metric_text(o->metric), 100 * method->confidence,
                           quantile_least_sample(o->quantile, method->confidence)));
  }
  if (contract_states(&r->contract, "accuracy")) {
    if (!p->accuracy_known) refuse(b, "the contract gates on accuracy, and none was measured");
    else if (!p->accuracy_passed)
      refuse(b, arena_printf(b->arena, "accuracy is %.2f %% of %s; the contract's gate is %.2f %%", 100 * p->accuracy_ratio,
                             r->contract.accuracy.reference, 100 * r->contract.accuracy.at_least_ratio));
  }
}

/* --- the sentence --- */

static void say_where(struct building *b, const struct result *r, const struct result_precision *p) {
  (void)buffer_printf(&b->text, "Under contract %s (digest %.12s, grade %s), on executor %.12s", r->contract.name, r->contract_digest,
                      grade_text(r->grade), p->fingerprint);
  if (r->n_holes == 0) (void)buffer_text(&b->text, " (captured whole, as far as its probes reach)");
  for (size_t i = 0; i < r->n_holes; i++)
    (void)buffer_printf(&b->text, "%s%s%s", i == 0 ? " (not captured: " : "; ", r->holes[i], i + 1 == r->n_holes ? ")" : "");
  (void)buffer_printf(
      &b->text, ", at %s (executed: %s%s%s%s)", p->name, p->status, p->primitive[0] != 0 ? ", " : "", p->primitive,
      strcmp(p->executed, p->name) == 0 || strcmp(p->status, p->executed) == 0 ? "" : arena_printf(b->arena, ", as %s", p->executed));
}

static void say_workload(struct building *b, const struct result *r, const struct result_precision *p) {
  const struct contract_workload *w = &r->contract.workload;
  const struct contract_regime *regime = &r->contract.regime;
  if (isfinite(p->mean_prompt_tokens))
    (void)buffer_printf(&b->text, ", prompts of %.4g tokens (mean, by the server's count)", p->mean_prompt_tokens);
  else (void)buffer_printf(&b->text, ", prompts of %lld bytes", (long long)w->prompts.bytes);
  (void)buffer_printf(&b->text, ", %lld tokens out at most", (long long)w->output_tokens);
  if (regime->load == LOAD_CLOSED) (void)buffer_printf(&b->text, ", %lld requests in flight (closed loop)", (long long)regime->concurrency);
  else
    (void)buffer_printf(&b->text, ", %.6g requests/s offered (%s)", regime->rate_per_s,
                        regime->load == LOAD_POISSON ? "Poisson" : "constant gaps");
}

static void say_figure(struct building *b, const struct result *r, const struct result_precision *p) {
  char value[40], low[40], high[40];
  const struct contract_method *m = &r->contract.method;
  double confidence = 100 * m->confidence;
  bool fresh = p->n_sessions > 0 && strncmp(p->sessions[0].executor_started, "started", 7) == 0;
  (void)buffer_printf(&b->text, ", over %zu sessions of %.4g s (%s): ", p->n_complete, (double)m->counted_ns / 1e9,
                      fresh ? "each a fresh process" : "the executor was not restarted between them");
  int decimals = p->output_rate.estimate < 100 ? 2 : p->output_rate.estimate < 1000 ? 1 : 0;
  (void)buffer_printf(&b->text, "%s tokens/s, %.4g %% CI [%s, %s]", number_grouped(value, sizeof value, p->output_rate.estimate, decimals),
                      confidence, number_grouped(low, sizeof low, p->output_rate.low, decimals),
                      number_grouped(high, sizeof high, p->output_rate.high, decimals));
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct result_objective *o = &p->objectives[i];
    char bound[40];
    const char *verdict = o->held ? "holds" : o->met ? "met, but its interval passes the objective" : "FAILS";
    (void)buffer_printf(&b->text, "; %s p%g %s [%s, %s] against %s: %s", metric_text(o->metric), 100 * o->quantile,
                        isinf(o->measured.estimate) ? "infinite" : number_duration_text(value, sizeof value, o->measured.estimate),
                        isinf(o->measured.low) ? "infinite" : number_duration_text(low, sizeof low, o->measured.low),
                        isinf(o->measured.high) ? "infinite" : number_duration_text(high, sizeof high, o->measured.high),
                        number_duration_text(bound, sizeof bound, (double)o->at_most_ns), verdict);
  }
}

static void say_rest(struct building *b, const struct result *r, const struct result_precision *p) {
  char text[40];
  if (p->accuracy_known)
    (void)buffer_printf(&b->text, "; accuracy %.2f %% of %s (%.4f bits per byte)", 100 * p->accuracy_ratio, r->contract.accuracy.reference,
                        p->bits_per_byte.estimate);
  else (void)buffer_text(&b->text, "; accuracy not measured");
  (void)buffer_printf(&b->text, "; %.3g %% of %lld counted requests failed and count as misses", 100 * p->failure_share,
                      (long long)p->n_counted);
  (void)buffer_printf(&b->text, "; %s of warm-up declared and excluded (%lld requests)",
                      number_duration_text(text, sizeof text, (double)r->contract.method.warm_up_ns), (long long)p->n_warm_up);
  (void)buffer_printf(&b->text, "; the instrument was late by %s at p99", number_duration_text(text, sizeof text, p->send_lag.p99));
  if (contract_states(&r->contract, "workload.profile"))
    (void)buffer_printf(&b->text, "; representativeness: meant to stand for %s, its distance is not measured",
                        r->contract.workload.profile);
  else (void)buffer_text(&b->text, "; representativeness unknown");
  (void)buffer_printf(&b->text, "; unsigned; analysis %d.", ANALYSIS_VERSION);
}

static void add_caveats(struct building *b, const struct result *r, const struct result_precision *p) {
  caveat(b, "steady state was not tested: the warm-up was declared, not detected");
  caveat(b, "saturation was not certified: the load is the one that the contract offers");
  caveat(b, "the quantiles' intervals take requests as independent, which within one session they are not: see the spread of the sessions' "
            "own quantiles");
  if (strstr(p->status, "not stated") != NULL)
    caveat(b, "the precision that executed is not established: the executor does not say, and the flag that asked for it is no evidence");
  if (p->n_without_usage > 0)
    caveat(b,
           arena_printf(b->arena, "%lld answers gave no usage: their tokens were counted as events, and an event may hold several tokens",
                        (long long)p->n_without_usage));
  for (unsigned i = 0; i < ANSWER_FLAG_COUNT; i++)
    if (p->flags[i] > 0 && (1u << i) != ANSWER_NO_USAGE)
      caveat(b, arena_printf(b->arena, "%lld answers: %s", (long long)p->flags[i], answer_flag_text(i)));
  if (p->read_lag.n_unknown > 0)
    caveat(b, arena_printf(b->arena, "the read lag of %zu requests is unknown: the socket does not tell", p->read_lag.n_unknown));
  if (r->seal.n_withheld > 0) caveat(b, arena_printf(b->arena, "withheld from this copy of the record: %s", r->seal.withheld));
}

void claim_build(struct result *result, size_t precision, struct claim *ret) {
  const struct result_precision *p = &result->precisions[precision];
  *ret = (struct claim){.precision = p->name};
  struct building b = {.arena = &result->arena, .claim = ret};
  judge_record(&b, result);
  judge_measurement(&b, result, p);
  add_caveats(&b, result, p);
  if (ret->n_reasons > 0) return;
  buffer_init(&b.text, 1 << 20);
  say_where(&b, result, p);
  say_workload(&b, result, p);
  say_figure(&b, result, p);
  say_rest(&b, result, p);
  ret->sentence = arena_copy(&result->arena, b.text.data);
  buffer_release(&b.text);
}
