#include "result/claim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "result/conditions.h"
#include "stats/resample.h"

struct building {
  struct arena *arena;
  struct claim *claim;
  struct buffer text;
};

static void refuse(struct building *b, const char *reason) {
  result_add_text(b->arena, &b->claim->reasons, &b->claim->n_reasons, reason);
}

static void caveat(struct building *b, const char *text) {
  result_add_text(b->arena, &b->claim->caveats, &b->claim->n_caveats, text);
}

/* --- the bar --- */

static void judge_record(struct building *b, const struct result *r) {
  if (r->seal.end != BUNDLE_COMPLETE)
    refuse(b, arena_printf(b->arena, "the run is %s: %s. Run the contract again to its end", bundle_end_text(r->seal.end), r->seal.why));
  if (r->grade > (enum grade)r->contract.least_grade)
    refuse(b, arena_printf(b->arena, "the contract's grade is %s and its own bar is %s: `lynxbench lint` lists what it leaves unstated",
                           grade_text(r->grade), grade_text((enum grade)r->contract.least_grade)));
  for (size_t i = 0; i < r->contract.workload.options.n_items; i++)
    if (strcmp(r->contract.workload.options.keys[i], "profile") == 0)
      refuse(b, "the run was profiled (workload.options.profile), which costs time: it is for `lynxbench attribute`, not for figures");
  static const char *const needed[] = {"fact", "session", "request", "event"};
  for (size_t i = 0; i < LYNX_COUNT(needed); i++)
    if (strstr(r->seal.withheld, needed[i]) != NULL)
      refuse(b, arena_printf(b->arena, "the section '%s' is withheld from this copy, and what it holds decides whether a claim can be made",
                             needed[i]));
  const char *impossible = plausibility_text(&r->plausibility, b->arena);
  if (impossible != NULL) refuse(b, arena_printf(b->arena, "no run can have written these rows: %s. Get the original bundle", impossible));
  for (size_t i = 0; i < r->n_departures; i++) refuse(b, arena_printf(b->arena, "out of contract: %s", r->departures[i]));
  for (size_t i = 0; i < r->n_changed; i++) refuse(b, arena_printf(b->arena, "the executor changed during the run: %s", r->changed[i]));
  if (r->part[0] != 0) refuse(b, r->part);
  for (size_t i = 0; i < r->n_conditions; i++) refuse(b, arena_printf(b->arena, "the conditions were not met: %s", r->conditions[i]));
}

static void judge_steady(struct building *b, const struct result *r, const struct result_precision *p) {
  char at[40];
  if (r->contract.method.steady == STEADY_REPORTED || p->steady_holds) return;
  for (size_t i = 0; i < p->n_sessions; i++) {
    const struct result_steady *s = &p->sessions[i].steady;
    if (!p->sessions[i].complete || s->class == STEADY_YES) continue;
    const char *changed = s->changed_at_ns >= 0 ? arena_printf(b->arena, ", last changed at %s",
                                                               number_duration_text(at, sizeof at, (double)s->changed_at_ns))
                                                : "";
    refuse(b, arena_printf(b->arena, "no steady state: session %lld is %s (%s%s). %s", (long long)p->sessions[i].id, steady_text(s->class),
                           s->series, changed,
                           s->class == STEADY_SHORT
                               ? "Raise method.counted or method.sessions, or method.steady_tolerance if so much drift may be"
                           : s->class == STEADY_CYCLIC ? "Look for what comes and goes with that period (batching, another tenant)"
                                                       : "Raise method.warm_up and method.counted, or find what changes"));
    return; /* one reason is enough: the report shows every session */
  }
  refuse(b, "no steady state in any session");
}

/* More than one in a hundred is no accident. */
static void judge_tokens(struct building *b, const struct result_precision *p) {
  static const double odd_share = 0.01;
  if ((double)p->n_without_tokens > odd_share * (double)p->n_ok)
    refuse(b, arena_printf(b->arena,
                           "%lld of %lld good answers hold no token: no text came, and usage reports none. Look at what "
                           "the server answers to the contract's prompts",
                           (long long)p->n_without_tokens, (long long)p->n_ok));
  if ((double)p->n_textless > odd_share * (double)p->n_ok)
    refuse(b, arena_printf(b->arena,
                           "%lld of %lld good answers hold no text, though their usage reports tokens: when these came is not known, and "
                           "they are in no rate. Look at what the server answers",
                           (long long)p->n_textless, (long long)p->n_ok));
  if ((double)p->n_told_none > odd_share * (double)p->n_ok)
    refuse(b, arena_printf(b->arena,
                           "the usage of %lld of %lld answers reports no token, and they hold text: how many there were is not known",
                           (long long)p->n_told_none, (long long)p->n_ok));
  if ((double)p->n_without_usage > odd_share * (double)p->n_ok && p->tokens_per_event > EVENT_OF_SEVERAL)
    refuse(b,
           arena_printf(b->arena,
                        "%lld of %lld answers gave no usage, so that their events were counted as tokens; an event of the others held %.3g "
                        "tokens",
                        (long long)p->n_without_usage, (long long)p->n_ok, p->tokens_per_event));
  if ((double)p->n_contradicting > odd_share * (double)p->n_ok)
    refuse(b, arena_printf(b->arena,
                           "of %lld of %lld answers the server told other tokens with their events than in their last usage: how "
                           "many there were is not known. Leave workload.continuous_usage out, or mend the server",
                           (long long)p->n_contradicting, (long long)p->n_ok));
}

/* What was sent in the warm-up counts in no latency: a server that keeps such requests waiting serves the others at a smaller load. */
static void judge_slots(struct building *b, const struct result_precision *p) {
  static const double much = 0.1, most = 0.5;
  if (p->held_share > most)
    refuse(b, arena_printf(b->arena,
                           "requests that were sent in the warm-up held %.0f %% of the slots of the counted windows, and are in no "
                           "latency: what was counted had a smaller load. Raise method.counted to several times the longest answer",
                           100 * p->held_share));
  else if (p->held_share > much)
    caveat(b, arena_printf(b->arena,
                           "requests that were sent in the warm-up held %.0f %% of the slots of the counted windows, and are in no "
                           "latency",
                           100 * p->held_share));
}

static void refuse_near(struct building *b, double rate, double ceiling, const char *unit) {
  if (!(ceiling > 0) || !(rate > ceiling / 2)) return;
  refuse(b, arena_printf(
                b->arena,
                "instrument-limited: %.4g %s, and this machine's calibration found a ceiling of %.4g; more than half of it is too near",
                rate, unit, ceiling));
}

/* A load that the instrument itself could hardly bring: measured beforehand, on this machine, by `lynxbench calibrate`. */
static void judge_ceiling(struct building *b, const struct result *r, const struct result_precision *p) {
  json_t *calibration = r->calibration[0] != 0 ? json_parse(r->calibration, strlen(r->calibration), 65536, NULL) : NULL;
  double ceiling = json_get_double(calibration, "ceiling_requests_per_s", 0),
         tokens = json_get_double(calibration, "ceiling_tokens_per_s", 0);
  refuse_near(b, p->request_rate.estimate, ceiling, "requests/s");
  refuse_near(b, p->output_rate.estimate, tokens, "tokens/s");
  json_decref(calibration);
}

/* What lynxbench's own lateness can have done. */
static const char *instrument_words(struct building *b, const struct result *r, const struct result_precision *p) {
  if (p->rate_instrument_share > r->contract.method.instrument_error_at_most)
    return arena_printf(b->arena,
                        "that can have lowered the throughput by %.2g %%; the contract allows %.3g %% (method.instrument_error_at_most)",
                        100 * p->rate_instrument_share, 100 * r->contract.method.instrument_error_at_most);
  for (size_t i = 0; i < p->n_objectives; i++)
    if (p->objectives[i].by_instrument)
      return arena_printf(b->arena, "without it the objective on %s p%g would be met", metric_text(p->objectives[i].metric),
                          100 * p->objectives[i].quantile);
  return "too much";
}

/* What no request told is not 0. */
static const char *lag_text(char *text, size_t size, double ns) {
  return isnan(ns) ? "unknown" : number_duration_text(text, size, ns);
}

static void judge_measurement(struct building *b, const struct result *r, const struct result_precision *p) {
  const struct contract_method *method = &r->contract.method;
  char a[40], c[40];
  if (p->unavailable) {
    refuse(b, arena_printf(b->arena, "%s is unavailable on this executor: %s", p->name, p->n_sessions > 0 ? p->sessions[0].why : ""));
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
                           "instrument-limited: send lag p99 %s, read lag p99 %s: %s. Give lynxbench a core of its own, or lower the load",
                           lag_text(a, sizeof a, p->send_lag.p99), lag_text(c, sizeof c, p->read_lag.p99), instrument_words(b, r, p)));
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct result_objective *o = &p->objectives[i];
    if (objective_is_decided(o->verdict) || o->verdict == OBJECTIVE_DOUBTED || p->n_counted == 0) continue;
    refuse(b,
           arena_printf(
               b->arena,
               "%zu values of %zu sessions, worth %.0f independent ones, cannot decide the %g quantile of %s at %.4g %% confidence%s: at "
               "least %zu are needed. More sessions help most, then a longer window",
               p->latency[o->metric].n, p->n_complete, floor(o->n_effective), o->quantile, metric_text(o->metric),
               100 * r->interval_confidence, r->interval_confidence > method->confidence ? " (each look is paid for)" : "",
               quantile_least_sample(o->quantile, r->interval_confidence)));
  }
  judge_steady(b, r, p);
  judge_tokens(b, p);
  judge_slots(b, p);
  const char *slowed = conditions_slowed_text(&p->conditions, b->arena);
  if (slowed != NULL)
    refuse(b, arena_printf(b->arena,
                           "not sustained: %s in the counted windows (layer accelerator, %s; facility, %s). Look at cooling and power, and "
                           "run it again",
                           slowed, contract_owner(&r->contract, LAYER_ACCELERATOR), contract_owner(&r->contract, LAYER_FACILITY)));
  for (size_t i = 0; i < p->n_checks; i++)
    if (p->checks[i].verdict == CHECK_FAILED)
      refuse(b, arena_printf(b->arena, "the check '%s' failed: %s", p->checks[i].name, p->checks[i].text));
  if (p->certificate.searched && !p->certificate.certified && !p->certificate.range_ended)
    refuse(b, arena_printf(b->arena, "no saturation point is certified: %s", p->certificate.text));
  if (r->budget_ended) refuse(b, arena_printf(b->arena, "%s", r->stopped));
  judge_ceiling(b, r, p);
  if (contract_states(&r->contract, "accuracy")) {
    if (!p->accuracy_known && isfinite(p->accuracy.estimate))
      refuse(b, arena_printf(b->arena, "accuracy is %s, and cannot be compared with the gate: %s was not measured in every session",
                             accuracy_text(&r->contract, p->accuracy.estimate, b->arena), r->contract.accuracy.reference));
    else if (!p->accuracy_known) refuse(b, "the contract gates on accuracy, and none was measured in every session");
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

static void say_load(struct building *b, const struct contract_regime *r, const struct result_precision *p) {
  const struct result_certificate *c = &p->certificate;
  char think[40];
  switch (r->load) {
    case LOAD_SINGLE_STREAM: (void)buffer_text(&b->text, ", one request at a time (single stream)"); break;
    case LOAD_MULTI_STREAM:
      (void)buffer_printf(&b->text, ", batches of %lld, one after the other (multi-stream)", (long long)r->batch);
      break;
    case LOAD_CLOSED:
      (void)buffer_printf(&b->text, ", %lld request%s in flight (closed loop)", (long long)r->concurrency, LYNX_S(r->concurrency));
      break;
    case LOAD_CLIMB:
      (void)buffer_printf(&b->text, ", at the knee of a climb to at most %lld: %lld request%s in flight (closed loop)",
                          (long long)r->concurrency, (long long)p->knee, LYNX_S(p->knee));
      break;
    case LOAD_CONVERSATIONS:
      (void)buffer_printf(&b->text, ", %lld users in conversations of %lld turns with %s between them (closed loop)",
                          (long long)r->concurrency, (long long)r->turns,
                          number_duration_text(think, sizeof think, (double)r->think_time_ns));
      break;
    case LOAD_OFFLINE: (void)buffer_printf(&b->text, ", %lld request%s at once (offline)", (long long)r->batch, LYNX_S(r->batch)); break;
    case LOAD_REPLAY: (void)buffer_printf(&b->text, ", replayed from %s at %.4g times its speed", r->trace, r->trace_speed); break;
    case LOAD_OBSERVED: (void)buffer_text(&b->text, ", under the traffic of others, as it came (nothing was sent)"); break;
    case LOAD_RAMP: (void)buffer_printf(&b->text, ", from %.6g to %.6g requests/s (ramp)", r->rate_per_s, r->to_per_s); break;
    case LOAD_SATURATION:
      if (c->failing > 0) (void)buffer_printf(&b->text, ", at the saturation point (%s)", c->text);
      else (void)buffer_printf(&b->text, ", %s", c->text);
      break;
    default:
      (void)buffer_printf(&b->text, ", %.6g requests/s offered (%s)", r->rate_per_s,
                          r->load == LOAD_POISSON    ? "Poisson"
                          : r->load == LOAD_CONSTANT ? "constant gaps"
                                                     : arena_printf(b->arena, "bursty, shape %.4g", r->burst_shape));
  }
}

/* For how long it was steady, in how many sessions: the least of them. */
static void say_steady(struct building *b, const struct result *r, const struct result_precision *p) {
  double least = INFINITY;
  for (size_t i = 0; i < p->n_sessions; i++)
    if (p->sessions[i].complete) least = fmin(least, (double)(p->sessions[i].steady.to_ns - p->sessions[i].steady.from_ns) / 1e9);
  if (p->steady.class == STEADY_YES && p->steady_holds)
    (void)buffer_printf(&b->text, ", steady within %.3g %% for %.4g s or more of each session", 100 * r->contract.method.steady_tolerance,
                        least);
  else (void)buffer_printf(&b->text, ", steady state not established (%s: %s)", steady_text(p->steady.class), p->steady.series);
}

static void say_workload(struct building *b, const struct result *r, const struct result_precision *p) {
  const struct contract_workload *w = &r->contract.workload;
  const struct contract_regime *regime = &r->contract.regime;
  if (isfinite(p->mean_prompt_tokens))
    (void)buffer_printf(&b->text, ", prompts of %.4g tokens (mean, by the server's count)", p->mean_prompt_tokens);
  else if (w->prompts.tokens > 0)
    (void)buffer_printf(&b->text, ", prompts of %lld token%s (by %.100s)", (long long)w->prompts.tokens, LYNX_S(w->prompts.tokens),
                        w->prompts.tokenizer);
  else if (r->contract.accuracy.references != NULL || w->prompts.format != PROMPTS_TEXT)
    (void)buffer_printf(&b->text, ", prompts of a file");
  else if (r->holds_tokens) (void)buffer_printf(&b->text, ", prompts of %lld bytes", (long long)w->prompts.bytes);
  else (void)buffer_printf(&b->text, ", %lld different inputs", (long long)w->prompts.count);
  bool given = r->contract.accuracy.references != NULL || w->prompts.format != PROMPTS_TEXT || regime->load == LOAD_REPLAY;
  if (r->holds_tokens && !given) (void)buffer_printf(&b->text, w->prompts.file != NULL ? " cut from a text" : " made of seeded words");
  if (isfinite(p->mean_output_tokens)) (void)buffer_printf(&b->text, ", %.4g tokens out (mean)", p->mean_output_tokens);
  else if (p->has_tokens)
    (void)buffer_printf(&b->text, ", %lld token%s out at most", (long long)w->output_tokens, LYNX_S(w->output_tokens));
  say_load(b, regime, p);
}

static char *text_or_infinite(char *text, size_t size, double ns) {
  if (isinf(ns)) (void)snprintf(text, size, "infinite");
  else (void)number_duration_text(text, size, ns);
  return text;
}

/* Of the quantile that stands nearest. */
static double objective_instrument_share(const struct result_precision *p, const struct result_objective *o) {
  int best = 0;
  for (int q = 1; q < RESULT_QUANTILES; q++)
    if (fabs(result_quantiles[q] - o->quantile) < fabs(result_quantiles[best] - o->quantile)) best = q;
  return p->latency[o->metric].instrument_share[best];
}

static void say_figure(struct building *b, const struct result *r, const struct result_precision *p) {
  char value[40], low[40], high[40];
  const struct contract_method *m = &r->contract.method;
  double confidence = 100 * m->confidence;
  bool fresh = p->n_sessions > 0 && p->sessions[0].executor == EXECUTOR_STARTED;
  (void)buffer_printf(&b->text, ", over %zu sessions of %.4g s (%s): ", p->n_complete, (double)m->counted_ns / 1e9,
                      fresh        ? "each a fresh process"
                      : p->watched ? "the executor was not restarted between them"
                                   : "lynxbench did not restart the executor between them, and cannot see whether others did");
  if (b->text.length >= 3) b->text.length -= 3; /* the "): " goes behind what is steady */
  say_steady(b, r, p);
  (void)buffer_text(&b->text, "): ");
  const struct interval *rate = result_throughput(p);
  const char *unit = result_throughput_unit(p);
  int decimals = rate->estimate < 100 ? 2 : rate->estimate < 1000 ? 1 : 0;
  (void)buffer_printf(&b->text, "%s %s, %.4g %% CI [%s, %s]", number_grouped(value, sizeof value, rate->estimate, decimals), unit,
                      confidence, number_grouped(low, sizeof low, rate->low, decimals),
                      number_grouped(high, sizeof high, rate->high, decimals));
  if (r->n_accelerators > 1)
    (void)buffer_printf(&b->text, " (%s %s for each of %.0f accelerators, %s)",
                        number_grouped(value, sizeof value, rate->estimate / r->n_accelerators, decimals), unit, r->n_accelerators,
                        r->accelerator);
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct result_objective *o = &p->objectives[i];
    char bound[40];
    (void)buffer_printf(&b->text, "; %s p%g", metric_text(o->metric), 100 * o->quantile);
    if (o->verdict == OBJECTIVE_DOUBTED) {
      (void)buffer_printf(&b->text, " not decided: on average %s until the first text, and %s until what follows the first long gap",
                          number_duration_text(value, sizeof value, p->first_text_ns),
                          number_duration_text(low, sizeof low, p->behind_gap_ns));
      continue;
    }
    double share = objective_instrument_share(p, o);
    if (share > m->instrument_error_at_most)
      (void)buffer_printf(&b->text, " (not stated: the instrument can have raised it by %.2g %%)", 100 * share);
    else if (o->measured.bounded)
      (void)buffer_printf(&b->text, " %s [%s, %s]", text_or_infinite(value, sizeof value, o->measured.estimate),
                          text_or_infinite(low, sizeof low, o->measured.low), text_or_infinite(high, sizeof high, o->measured.high));
    (void)buffer_printf(&b->text, " against %s: %s (%zu of %zu miss it; ", number_duration_text(bound, sizeof bound, (double)o->at_most_ns),
                        objective_verdict_text(o->verdict), o->misses.n_above, o->misses.n);
    if (o->by_distance) (void)buffer_text(&b->text, "so far off that one more session's quantile would be on that side too)");
    else (void)buffer_printf(&b->text, "of all that such sessions give [%.3g, %.3g] %%)", 100 * o->misses.low, 100 * o->misses.high);
  }
}

const char *accuracy_text(const struct contract *contract, double accuracy, struct arena *arena) {
  switch (contract->accuracy.measure) {
    case ACCURACY_EXACT_MATCH: return arena_printf(arena, "%.4g %% of answers equal", 100 * accuracy);
    case ACCURACY_TOKEN_AGREEMENT: return arena_printf(arena, "%.4g %% of the words before the answers part", 100 * accuracy);
    case ACCURACY_SCORER: return arena_printf(arena, "%.4f by the scorer", accuracy);
    default: return arena_printf(arena, "%.4f bits per byte", accuracy);
  }
}

static void say_one(struct building *b, const char *what, double value, const char *form) {
  if (isnan(value)) (void)buffer_printf(&b->text, ", %s unknown", what);
  else (void)buffer_printf(&b->text, ", %s %s%.2g", what, form, value);
}

static void say_distance(struct building *b, const struct result *r, const struct result_precision *p) {
  const struct profile_distance *d = &p->distance;
  (void)buffer_printf(&b->text, "; representativeness: profile of %s (%s%.16s)", r->profile_taken,
                      r->profile_signed_by[0] != 0 ? "signed, key " : "unsigned", r->profile_signed_by);
  say_one(b, "prompt length distance", d->prompt_length, "");
  say_one(b, "output length distance", d->output_length, "");
  say_one(b, "arrivals distance", d->arrivals, "");
  say_one(b, "concurrency", d->concurrency_ratio, "x");
  say_one(b, "prefix reuse differs by", d->prefix_reuse, "");
}

/* Which checks of the kinds that there are did what: one clause. */
static void say_checks(struct building *b, const struct result_precision *p) {
  static const char *const words[] = {"passed", "not decided", "not run"};
  (void)buffer_text(&b->text, "; checks");
  for (int k = 0; k < 3; k++) {
    size_t n = 0;
    for (size_t i = 0; i < CONTRACT_CHECKS; i++) {
      int did = 2;
      for (size_t c = 0; c < p->n_checks; c++)
        if (strcmp(p->checks[c].name, contract_checks[i]) == 0) did = p->checks[c].verdict == CHECK_PASSED ? 0 : 1;
      if (did == k) (void)buffer_printf(&b->text, "%s%s", n++ == 0 ? arena_printf(b->arena, " %s: ", words[k]) : ", ", contract_checks[i]);
    }
    if (n > 0) (void)buffer_text(&b->text, k < 2 ? "," : "");
  }
  if (b->text.data[b->text.length - 1] == ',') b->text.data[--b->text.length] = 0;
}

/* An interval that cannot decide anything at the contract's margin is the first thing to know. */
static void say_width(struct building *b, const struct result *r, const struct result_precision *p) {
  const struct interval *rate = result_throughput(p);
  double half = rate->estimate > 0 ? (rate->high - rate->low) / 2 / rate->estimate : 0;
  if (half > r->contract.decision.margin)
    (void)buffer_printf(&b->text,
                        "Wide: %s are known to within \302\261%.2g %% only, more than the margin of %.3g %% that decides "
                        "(decision.margin); more sessions narrow it. ",
                        result_throughput_unit(p), 100 * half, 100 * r->contract.decision.margin);
}

static void say_cost(struct building *b, const struct result *r, const struct result_precision *p) {
  const struct contract_cost *cost = &r->contract.cost;
  const char *unit = p->has_tokens ? "token" : "request";
  struct interval money = result_cost(&r->contract, p), energy = result_energy(&r->contract, p);
  if (money.estimate > 0) {
    (void)buffer_printf(&b->text, "; %s %.4g per million %ss", cost->currency, money.estimate, unit);
    if (money.bounded) (void)buffer_printf(&b->text, " [%.4g, %.4g]", money.low, money.high);
    (void)buffer_printf(&b->text, ", at %s %.6g an hour (%s)", cost->currency, cost->price_per_hour,
                        cost->source != NULL ? cost->source : "the contract's word");
  }
  if (energy.estimate > 0)
    (void)buffer_printf(&b->text, "; %.4g J per %s, if it draws the %.6g W that the contract says", energy.estimate, unit,
                        cost->power_watts);
}

static void say_rest(struct building *b, const struct result *r, const struct result_precision *p) {
  char text[40];
  if (p->accuracy_known)
    (void)buffer_printf(&b->text, "; accuracy %.2f %% of %s (%s), which passes the gate of %.4g %%", 100 * p->accuracy_ratio,
                        r->contract.accuracy.references != NULL ? "the references" : r->contract.accuracy.reference,
                        accuracy_text(&r->contract, p->accuracy.estimate, b->arena), 100 * r->contract.accuracy.at_least_ratio);
  else (void)buffer_text(&b->text, "; accuracy not measured");
  say_checks(b, p);
  if (p->has_tokens) (void)buffer_printf(&b->text, "; tokens counted by %s", p->token_source);
  (void)buffer_printf(&b->text, "; %.3g %% of %lld counted requests failed and count as misses", 100 * p->failure_share,
                      (long long)p->n_counted);
  (void)buffer_printf(&b->text, "; %s of warm-up excluded (%lld requests)",
                      number_duration_text(text, sizeof text, (double)r->contract.method.warm_up_ns), (long long)p->n_warm_up);
  if (p->n_not_steady > 0)
    (void)buffer_printf(&b->text, " and %lld request%s after it that came before the steady part", (long long)p->n_not_steady,
                        LYNX_S(p->n_not_steady));
  if (r->stopped[0] != 0) (void)buffer_printf(&b->text, "; %s", r->stopped);
  (void)buffer_printf(&b->text, "; beside it: %s", conditions_text(&p->conditions, b->arena));
  (void)buffer_printf(&b->text, "; the instrument was late by %s at p99", number_duration_text(text, sizeof text, p->send_lag.p99));
  if (p->read_lag.n == 0 && p->send_lag.n > 0) (void)buffer_text(&b->text, " in sending, and in reading by what is not known");
  if (p->distance_known) say_distance(b, r, p);
  else if (contract_states(&r->contract, "workload.profile"))
    (void)buffer_printf(&b->text, "; representativeness: meant to stand for %s, its distance is not measured",
                        r->contract.workload.profile);
  else (void)buffer_text(&b->text, "; representativeness unknown");
  if (r->ledger[0] != 0) {
    char safe[160];
    (void)buffer_printf(&b->text, "; it says itself that its intent is in the ledger %s (--ledger checks that)",
                        text_sanitise(safe, sizeof safe, r->ledger, strlen(r->ledger)));
  } else (void)buffer_text(&b->text, "; recorded in no ledger");
  (void)buffer_printf(&b->text, "; analysis %d.", ANALYSIS_VERSION);
}

static void add_caveats(struct building *b, const struct result *r, const struct result_precision *p) {
  char first[40], behind[40];
  if (r->contract.method.steady == STEADY_REPORTED)
    caveat(b, "steady state is reported, not required: the contract says so (method.steady)");
  if (!p->certificate.searched) caveat(b, "saturation was not searched: the load is the one that the contract offers");
  if (p->distance_known && (p->distance.prompt_length > 0.1 || p->distance.output_length > 0.1 || p->distance.arrivals > 0.1))
    caveat(b, "the workload is not the profile's: a distance above 0.1 can be seen by eye in the two distributions");
  for (size_t i = 0; i < p->n_checks; i++)
    if (p->checks[i].verdict == CHECK_NOT_DECIDED)
      caveat(b, arena_printf(b->arena, "the check '%s' decided nothing: %s", p->checks[i].name, p->checks[i].text));
  if (r->n_not_compared > 0) {
    struct buffer list;
    buffer_init(&list, 4000);
    for (size_t i = 0; i < r->n_not_compared; i++) (void)buffer_printf(&list, "%s%s", i > 0 ? ", " : "", r->not_compared[i]);
    caveat(b, arena_printf(b->arena, "declared, compared with nothing: %s", list.data));
    buffer_release(&list);
  }
  if (r->calibration[0] == 0) caveat(b, "the instrument was not calibrated on this machine: `lynxbench calibrate` finds its ceiling");
  for (size_t i = 0; i < p->n_points; i++)
    if (!p->points[i].little_holds)
      caveat(b, arena_printf(b->arena,
                             "Little's law does not hold at %.6g requests/s: %.4g in the system, %.4g by arrivals and time: the load had "
                             "no long run there",
                             p->points[i].rate_per_s, p->points[i].in_system, p->points[i].little));
  if (strstr(p->status, "not stated") != NULL)
    caveat(b, "the precision that executed is not established: the executor does not say, and the flag that asked for it is no evidence");
  if (p->behind_gap_ns > 0)
    caveat(b,
           arena_printf(b->arena,
                        "when the model's first token came is not decided: most answers begin with a text after %s on average, followed by "
                        "a gap like no other until %s: a handover makes one, and so does a text that is sent before the model has run",
                        number_duration_text(first, sizeof first, p->first_text_ns),
                        number_duration_text(behind, sizeof behind, p->behind_gap_ns)));
  if (p->n_without_usage > 0 && p->has_tokens)
    caveat(b, arena_printf(b->arena, "%lld answer%s gave no usage: tokens were counted as events, and an event may hold several tokens",
                           (long long)p->n_without_usage, LYNX_S(p->n_without_usage)));
  for (unsigned i = 0; i < ANSWER_FLAG_COUNT; i++)
    if (p->flags[i] > 0 && (1u << i) != ANSWER_NO_USAGE)
      caveat(b, arena_printf(b->arena, "%lld answer%s: %s", (long long)p->flags[i], LYNX_S(p->flags[i]), answer_flag_text(i)));
  if (p->read_lag.n_unknown > 0)
    caveat(b, arena_printf(b->arena, "the read lag of %zu request%s is unknown: the socket does not tell", p->read_lag.n_unknown,
                           LYNX_S(p->read_lag.n_unknown)));
  if (r->load_hosts[0] != 0) caveat(b, arena_printf(b->arena, "the load came from %s", r->load_hosts));
  if (r->seal.n_withheld > 0) caveat(b, arena_printf(b->arena, "withheld from this copy of the record: %s", r->seal.withheld));
}

/* --- the twelve rules --- */

const char *rule_verdict_text(enum rule_verdict verdict) {
  static const char *const texts[] = {
      [RULE_HOLDS] = "holds", [RULE_BROKEN] = "broken", [RULE_PARTLY] = "partly", [RULE_NOT_APPLICABLE] = "not applicable"};
  return texts[verdict];
}

/* Rule 6: the interval over sessions takes them as near normal; a bootstrap that does not is held against it. */
static struct claim_rule check_normality(struct building *b, const struct result *r, const struct result_precision *p) {
  enum { LEAST = 8, RESAMPLES = 2000 };
  static const char rule[] = "do not assume normality without a check";
  if (p->n_complete < LEAST)
    return (struct claim_rule){
        rule,
        arena_printf(b->arena,
                     "quantiles assume no distribution; the throughput's interval takes %zu sessions as near normal, too few to check",
                     p->n_complete),
        RULE_PARTLY};
  double *x = arena_alloc(b->arena, p->n_sessions, sizeof *x);
  size_t n = 0;
  for (size_t i = 0; i < p->n_sessions; i++)
    if (p->sessions[i].complete) x[n++] = result_throughput_of(p, &p->sessions[i]);
  struct bca boot = resample_bca(x, n, quantile_plain_mean, r->interval_confidence, RESAMPLES, (uint64_t)r->contract.method.seed);
  const struct interval *rate = result_throughput(p);
  double t_width = rate->high - rate->low, b_width = boot.high - boot.low;
  bool alike = b_width <= 1.25 * t_width && (t_width <= 0 || boot.low >= rate->low - t_width / 4) && boot.high <= rate->high + t_width / 4;
  return (struct claim_rule){rule,
                             arena_printf(b->arena, "a bootstrap (BCa, seed %lld) of the sessions gives [%.5g, %.5g] %s: %s",
                                          (long long)r->contract.method.seed, boot.low, boot.high, result_throughput_unit(p),
                                          alike ? "the same as the interval printed" : "another interval than the one printed"),
                             alike ? RULE_HOLDS : RULE_PARTLY};
}

static void apply_rules(struct building *b, const struct result *r, const struct result_precision *p) {
  struct claim_rule *rules = b->claim->rules;
  bool whole = p->n_complete >= (size_t)r->contract.method.sessions && p->failure_share <= r->contract.method.failures_at_most,
       bounded = result_throughput(p)->bounded;
  for (size_t i = 0; i < p->n_objectives; i++)
    bounded = bounded && (objective_is_decided(p->objectives[i].verdict) || p->objectives[i].verdict == OBJECTIVE_DOUBTED);
  rules[0] = (struct claim_rule){"a speed-up names its base case and absolute figures",
                                 "no speed-up is claimed; `lynxbench compare` prints both sides", RULE_NOT_APPLICABLE};
  rules[1] = (struct claim_rule){"a subset of the data has its reason",
                                 arena_printf(b->arena,
                                              "excluded and kept in the record: %lld request%s of warm-up, %lld before the steady part, "
                                              "%lld of the tail; %zu of %lld session%s complete",
                                              (long long)p->n_warm_up, LYNX_S(p->n_warm_up), (long long)p->n_not_steady,
                                              (long long)p->n_tail, p->n_complete, (long long)r->contract.method.sessions,
                                              LYNX_S(r->contract.method.sessions)),
                                 whole ? RULE_HOLDS : RULE_BROKEN};
  rules[2] = (struct claim_rule){"costs are averaged arithmetically, rates by their totals",
                                 "a rate is the window's total over its length; windows are alike", RULE_HOLDS};
  rules[3] = (struct claim_rule){"ratios are not averaged", "the accuracy ratio is a ratio of means", RULE_HOLDS};
  rules[4] = (struct claim_rule){"what varies has an interval", bounded ? "every figure has one" : "a figure has none: see the reasons",
                                 bounded ? RULE_HOLDS : RULE_BROKEN};
  rules[5] = check_normality(b, r, p);
  rules[6] = (struct claim_rule){"differences are tested soundly", "no difference is claimed; `lynxbench compare` tests equivalence",
                                 RULE_NOT_APPLICABLE};
  rules[7] = (struct claim_rule){"centre or percentile, as the question needs",
                                 p->n_objectives > 0 ? "objectives are quantiles, as the contract states them"
                                                     : "the contract states no objective: only rates are claimed",
                                 p->n_objectives > 0 ? RULE_HOLDS : RULE_PARTLY};
  rules[8] = (struct claim_rule){
      "all factors and their levels are documented",
      arena_printf(b->arena, "contract and executor are in the record; %zu parts of the executor were not seen", r->n_holes),
      r->n_holes == 0 ? RULE_HOLDS : RULE_PARTLY};
  rules[9] = (struct claim_rule){"how was timed, synchronised and summarised",
                                 "one monotonic clock, from the scheduled time; the method is docs/method.md", RULE_HOLDS};
  rules[10] = (struct claim_rule){"an upper bound is shown", "none: this version measures no ceiling of the hardware", RULE_PARTLY};
  rules[11] = (struct claim_rule){"the raw distribution is there", "every request and token time is in the bundle; the report draws them",
                                  RULE_HOLDS};
}

/* What was said since: a part of its own. */
static size_t keep_part(struct building *b, size_t from, size_t to, const char *label) {
  if (to == from) return to; /* nothing was said yet: there may be no text */
  const char *text = b->text.data + from, *end = b->text.data + to;
  while (text < end && strchr(",;: ", *text) != NULL) text++;
  while (end > text && strchr(",;: ", end[-1]) != NULL) end--;
  if (end > text && b->claim->n_parts < CLAIM_PARTS_MAX)
    b->claim->parts[b->claim->n_parts++] = (struct claim_part){label, arena_text(b->arena, text, (size_t)(end - text))};
  return to;
}

void claim_build(struct result *result, size_t precision, struct claim *ret) {
  const struct result_precision *p = &result->precisions[precision];
  *ret = (struct claim){.precision = p->name};
  struct building b = {.arena = &result->arena, .claim = ret};
  judge_record(&b, result);
  judge_measurement(&b, result, p);
  apply_rules(&b, result, p);
  add_caveats(&b, result, p);
  if (ret->n_reasons > 0) return;
  buffer_init(&b.text, 1 << 20);
  say_width(&b, result, p);
  size_t from = keep_part(&b, 0, b.text.length, "first of all");
  say_where(&b, result, p);
  from = keep_part(&b, from, b.text.length, "on what");
  say_workload(&b, result, p);
  from = keep_part(&b, from, b.text.length, "what");
  say_figure(&b, result, p);
  const char *figure = strstr(b.text.data + from, "): "); /* how it was measured ends there */
  if (figure != NULL) from = keep_part(&b, from, (size_t)(figure - b.text.data) + 1, "how measured");
  from = keep_part(&b, from, b.text.length, "result");
  say_cost(&b, result, p);
  say_rest(&b, result, p);
  (void)keep_part(&b, from, b.text.length, "and with it");
  ret->sentence = arena_copy(&result->arena, b.text.data);
  buffer_release(&b.text);
}

struct claim *claim_build_all(struct result *result) {
  struct claim *claims = arena_alloc(&result->arena, result->n_precisions + 1, sizeof *claims);
  for (size_t i = 0; i < result->n_precisions; i++) claim_build(result, i, &claims[i]);
  return claims;
}

void claim_refuse(struct result *result, struct claim *claim, const char *reason) {
  claim->sentence = NULL;
  claim->n_parts = 0;
  claim->reasons = arena_room(&result->arena, claim->reasons, claim->n_reasons, sizeof *claim->reasons);
  claim->reasons[claim->n_reasons++] = arena_copy(&result->arena, reason);
}
