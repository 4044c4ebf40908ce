#include "report/text.h"

#include "report/answer_report.h"
#include "report/import_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "result/conditions.h"
#include "result/machine_figures.h"
#include "result/server_figures.h"

struct style {
  const char *strong, *dim, *bad, *good, *plain;
};

static struct style style_of(bool color) {
  return color ? (struct style){text_colors[TEXT_STRONG], text_colors[TEXT_DIM], text_colors[TEXT_BAD], text_colors[TEXT_GOOD],
                                text_colors[TEXT_PLAIN]}
               : (struct style){"", "", "", "", ""};
}

char *text_latency(char *text, size_t size, double ns) {
  if (isnan(ns)) (void)snprintf(text, size, "-");
  else if (isinf(ns)) (void)snprintf(text, size, "infinite");
  else (void)number_duration_text(text, size, ns);
  return text;
}

/* Its own speed around the run, without the executor. */
static void put_machine(const struct result *r, const struct style *s, struct buffer *out) {
  struct machine_speed speeds[MACHINE_SPEED_FIGURES];
  size_t n = machine_speed_read(r->machine_before, r->machine_after, speeds);
  for (size_t i = 0; i < n; i++) {
    bool rate = speeds[i].more_is_better;
    double factor = rate ? 1e-9 : 1e-3;
    const char *unit = !rate ? "us" : strcmp(speeds[i].unit, "bytes/s") == 0 ? "GB/s" : "Gop/s";
    (void)buffer_printf(out, "%s%s%s %.3g %s before, %.3g %s after\n", s->dim, speeds[i].name, s->plain, speeds[i].before * factor, unit,
                        speeds[i].after * factor, unit);
  }
}

static void put_header(struct buffer *out, const struct style *s, struct result *r) {
  const char *impossible = plausibility_text(&r->plausibility, &r->arena);
  if (impossible != NULL)
    (void)buffer_printf(
        out,
        "%sIMPOSSIBLE:%s no run can have written these rows: %s.\nNext: get the original bundle; `lynxbench audit` lists what is wrong.\n",
        s->bad, s->plain, impossible);
  struct answer answer;
  answer_of_result(r, &answer);
  answer_text(&answer, s->strong[0] != 0, out);
  (void)buffer_printf(out, "%scontract%s %s %.16s, grade %s", s->dim, s->plain, r->contract.name, r->contract_digest, grade_text(r->grade));
  bool all = strcmp(r->seal.why, BUNDLE_ALL_RAN) == 0 || r->seal.why[0] == 0;
  if (r->seal.end == BUNDLE_COMPLETE)
    (void)buffer_printf(out, "   %sbundle%s %.16s, complete%s%s", s->dim, s->plain, r->seal.root, all ? "" : ": ", all ? "" : r->seal.why);
  else (void)buffer_printf(out, "   %sbundle INCOMPLETE (%s): %s%s", s->bad, bundle_end_text(r->seal.end), r->seal.why, s->plain);
  (void)buffer_printf(out, "   %sanalysis%s %d\n", s->dim, s->plain, ANALYSIS_VERSION);
  if (r->load_hosts[0] != 0) (void)buffer_printf(out, "%sload from%s %s\n", s->dim, s->plain, r->load_hosts);
  put_machine(r, s, out);
  for (size_t i = 0; i < r->n_holes; i++) (void)buffer_printf(out, "%snot captured:%s %s\n", s->bad, s->plain, r->holes[i]);
  for (size_t i = 0; i < r->n_departures; i++) (void)buffer_printf(out, "%sout of contract:%s %s\n", s->bad, s->plain, r->departures[i]);
  for (size_t i = 0; i < r->n_changed; i++) (void)buffer_printf(out, "%schanged during the run:%s %s\n", s->bad, s->plain, r->changed[i]);
  if (r->part[0] != 0) (void)buffer_printf(out, "%s%s%s\n", s->bad, r->part, s->plain);
  for (size_t i = 0; i < r->n_conditions; i++) (void)buffer_printf(out, "%scondition:%s %s\n", s->bad, s->plain, r->conditions[i]);
  if (r->seal.n_withheld > 0) (void)buffer_printf(out, "%swithheld from this copy:%s %s\n", s->dim, s->plain, r->seal.withheld);
}

static void put_rate(struct buffer *out, const char *name, const struct interval *rate, const char *unit, double confidence) {
  char a[40], b[40], c[40];
  int decimals = rate->estimate < 100 ? 2 : rate->estimate < 1000 ? 1 : 0;
  (void)buffer_printf(out, "  %-22s %12s %s", name, isnan(rate->estimate) ? "-" : number_grouped(a, sizeof a, rate->estimate, decimals),
                      unit);
  if (rate->bounded)
    (void)buffer_printf(out, "   %g %% CI [%s, %s] over sessions", 100 * confidence, number_grouped(b, sizeof b, rate->low, decimals),
                        number_grouped(c, sizeof c, rate->high, decimals));
  else (void)buffer_text(out, "   no interval: fewer than 2 complete sessions");
  (void)buffer_text(out, "\n");
}

static void put_cost(struct buffer *out, const struct result *r, const struct result_precision *p) {
  const struct contract_cost *cost = &r->contract.cost;
  const char *unit = p->has_tokens ? "token" : "request";
  struct interval money = result_cost(&r->contract, p), energy = result_energy(&r->contract, p);
  if (money.estimate > 0) {
    (void)buffer_printf(out, "  %-22s %12.4g %s per million %ss", "cost", money.estimate, cost->currency, unit);
    if (money.bounded) (void)buffer_printf(out, "   [%.4g, %.4g]", money.low, money.high);
    (void)buffer_printf(out, ", at %s %.6g an hour by the contract\n", cost->currency, cost->price_per_hour);
  }
  if (energy.estimate > 0)
    (void)buffer_printf(out, "  %-22s %12.4g J per %s, at %.6g W by the contract\n", "energy", energy.estimate, unit, cost->power_watts);
}

const char *text_kept(struct arena *arena, const char *command) {
  char *kept = arena_copy(arena, command);
  for (char *p = kept; *p != 0; p++)
    if (*p == ' ') *p = TEXT_KEPT_BLANK;
  return kept;
}

/* Printed, not appended: whoever wrote the word, nothing of it steers the terminal. */
static void put_word(struct buffer *out, const char *word, size_t n) {
  static const char kept[] = {TEXT_KEPT_BLANK, 0};
  for (size_t i = 0; i < n;) {
    size_t part = strcspn(word + i, kept);
    if (part > n - i) part = n - i;
    (void)buffer_printf(out, "%.*s", (int)part, word + i);
    i += part;
    if (i < n) (void)buffer_text(out, " ");
    i++;
  }
}

void text_wrap(struct buffer *out, int column, int indent, int width, const char *text) {
  int blanks = 0; /* before the next word, where it stays on the line */
  for (const char *word = text; *word != 0;) {
    size_t n = strcspn(word, " ");
    if (column > indent && column + blanks + (int)n > width) {
      (void)buffer_printf(out, "\n%*s", indent, "");
      column = indent;
      blanks = 0;
    }
    (void)buffer_printf(out, "%*s", blanks, "");
    put_word(out, word, n);
    column += blanks + (int)n;
    word += n;
    for (blanks = 0; *word == ' '; word++) blanks++;
  }
}

/* Right-aligned in so many columns; a micro sign is two bytes and one column. */
static void put_column(struct buffer *out, const char *text, size_t columns) {
  size_t wide = 0;
  for (const char *p = text; *p != 0; p++) wide += ((unsigned char)*p & 0xc0) != 0x80;
  (void)buffer_printf(out, "%*s%s", (int)(wide < columns ? columns - wide : 0), "", text);
}

enum { LATENCY_COLUMN = 13 };

static void put_bounds(struct buffer *out, const struct style *s, const struct result_latency *latency, const char *name, bool high) {
  char value[40];
  (void)buffer_printf(out, "  %s%-30s", s->dim, name);
  for (int q = 0; q < RESULT_QUANTILES; q++) {
    const struct quantile *x = &latency->at[q].quantile;
    put_column(out, x->bounded ? text_latency(value, sizeof value, high ? x->high : x->low) : "", LATENCY_COLUMN);
  }
  (void)buffer_printf(out, "%s\n", s->plain);
}

static void put_moments(struct buffer *out, const struct style *s, const struct result_latency *latency) {
  char a[40], b[40], c[40], d[40];
  const struct interval *mean = &latency->mean.interval;
  (void)buffer_printf(out, "  %s  mean %s", s->dim, text_latency(a, sizeof a, mean->estimate));
  if (mean->bounded) (void)buffer_printf(out, " [%s, %s]", text_latency(b, sizeof b, mean->low), text_latency(c, sizeof c, mean->high));
  (void)buffer_printf(out, ", standard deviation %s, least %s, greatest %s%s\n", text_latency(b, sizeof b, latency->deviation),
                      text_latency(c, sizeof c, latency->least), text_latency(d, sizeof d, latency->greatest), s->plain);
}

static void put_latencies(struct buffer *out, const struct style *s, const struct result *r, const struct result_precision *p) {
  static const char *const names[METRIC_COUNT] = {"TTFT  first token",      "TTFAT first answer token", "TTFTC first tool call",
                                                  "TPOT  per output token", "ITL   between tokens",     "E2E   end to end"};
  char head[40], text[56], value[40];
  (void)buffer_printf(out, "  %s%-22s %8s%13s%13s%13s%13s%13s%s\n", s->dim, "latency", "n", "p50", "p90", "p95", "p99", "p99.9", s->plain);
  (void)snprintf(head, sizeof head, "  %g %% interval, from", 100 * r->interval_confidence);
  size_t n_unbounded = 0, n_late = 0;
  for (int m = 0; m < METRIC_COUNT; m++) {
    const struct result_latency *latency = &p->latency[m];
    if (latency->n == 0) continue;
    (void)buffer_printf(out, "  %-22s %7zu ", names[m], latency->n);
    for (int q = 0; q < RESULT_QUANTILES; q++) {
      bool bounded = latency->at[q].quantile.bounded, stated = result_states(&r->contract, latency, q);
      (void)text_latency(value, sizeof value, latency->at[q].quantile.estimate);
      (void)snprintf(text, sizeof text, bounded ? "%s%s" : "(%s)%s", value, stated ? "" : "*");
      n_unbounded += !bounded;
      n_late += !stated;
      put_column(out, text, LATENCY_COLUMN);
    }
    (void)buffer_text(out, "\n");
    bool any = false;
    for (int q = 0; q < RESULT_QUANTILES; q++) any = any || latency->at[q].quantile.bounded;
    if (any) put_bounds(out, s, latency, head, false);
    if (any) put_bounds(out, s, latency, "  to", true);
    put_moments(out, s, latency);
  }
  if (n_unbounded > 0)
    (void)buffer_printf(out, "  %s(in brackets): an estimate that this sample cannot bound; more sessions help most, then longer ones%s\n",
                        s->dim, s->plain);
  if (n_late > 0)
    (void)buffer_printf(out,
                        "  %s*: lynxbench's own lateness can have raised it by more than %.3g %% (method.instrument_error_at_most): it is "
                        "not claimed%s\n",
                        s->dim, 100 * r->contract.method.instrument_error_at_most, s->plain);
  if (p->tokens_per_event > EVENT_OF_SEVERAL)
    (void)buffer_printf(out, "    %san event held %.3g tokens: the inter-token latency is between events, not between tokens%s\n", s->dim,
                        p->tokens_per_event, s->plain);
}

/* Session by session. */
static void put_sessions(struct buffer *out, const struct style *s, const struct result_precision *p) {
  char a[40], b[40], c[40];
  (void)buffer_printf(out, "  %s%-10s %8s %8s %14s %13s %13s %13s%s\n", s->dim, "session", "counted", "failed", result_throughput_unit(p),
                      "TTFT p50", "TTFT p99", "E2E p50", s->plain);
  for (size_t i = 0; i < p->n_sessions; i++) {
    const struct result_session *x = &p->sessions[i];
    (void)buffer_printf(out, "  %-10lld %8lld %8lld %14.5g", (long long)x->id, (long long)x->n_counted, (long long)x->n_failed,
                        result_throughput_of(p, x));
    put_column(out, text_latency(a, sizeof a, x->at[METRIC_TIME_TO_FIRST_TOKEN][0]), 14);
    put_column(out, text_latency(b, sizeof b, x->at[METRIC_TIME_TO_FIRST_TOKEN][3]), 14);
    put_column(out, text_latency(c, sizeof c, x->at[METRIC_END_TO_END][0]), 14);
    if (!x->complete) (void)buffer_printf(out, "  %s%s%s", session_end_text(x->end), x->why[0] != 0 ? ": " : "", x->why);
    (void)buffer_text(out, "\n");
  }
}

static void put_failures(struct buffer *out, const struct style *s, const struct result_precision *p) {
  (void)buffer_printf(
      out, "  %-22s %lld counted, %s%lld failed (%.3g %%)%s; excluded: %lld of warm-up, %lld before it was steady, %lld of the tail\n",
      "requests", (long long)p->n_counted, p->n_failed > 0 ? s->bad : "", (long long)p->n_failed, 100 * p->failure_share,
      p->n_failed > 0 ? s->plain : "", (long long)p->n_warm_up, (long long)p->n_not_steady, (long long)p->n_tail);
  for (int i = 1; i < OUTCOME_COUNT; i++)
    if (p->outcomes[i] > 0) {
      bool status = i == OUTCOME_HTTP_STATUS, told = p->reasons[i] != NULL;
      if (status) (void)buffer_printf(out, "    %s %-8lld", outcome_text((enum outcome)i), (long long)p->http_status);
      else (void)buffer_printf(out, "    %-20s", outcome_text((enum outcome)i));
      (void)buffer_printf(out, " %lld%s%s%s%s\n", (long long)p->outcomes[i], status && p->http_statuses > 1 ? ", with others" : "",
                          told ? "; the first: '" : "", told ? p->reasons[i] : "", told ? "'" : "");
    }
  for (unsigned i = 0; i < ANSWER_FLAG_COUNT; i++)
    if (p->flags[i] > 0) (void)buffer_printf(out, "    %-20s %lld\n", answer_flag_text(i), (long long)p->flags[i]);
}

static void put_steady(struct buffer *out, const struct style *s, const struct result_precision *p) {
  char a[48], b[48];
  bool good = p->steady_holds;
  if (p->steady.series == NULL) return; /* no session was whole */
  (void)buffer_printf(out, "  %-22s %s%s%s (%s), counted from %s to %s of the session\n", "steady state", good ? s->good : s->bad,
                      steady_text(p->steady.class), s->plain, p->steady.series, text_latency(a, sizeof a, (double)p->steady.from_ns),
                      text_latency(b, sizeof b, (double)p->steady.to_ns));
  for (size_t i = 0; i < p->n_sessions && !good; i++)
    if (p->sessions[i].complete)
      (void)buffer_printf(out, "    session %-3lld          %s (%s, drift %.0f %%)\n", (long long)p->sessions[i].id,
                          steady_text(p->sessions[i].steady.class), p->sessions[i].steady.series, 100 * p->sessions[i].steady.drift);
}

static void put_points(struct buffer *out, const struct style *s, const struct result_precision *p) {
  const struct result_certificate *c = &p->certificate;
  char a[48], b[48], c_text[48];
  if (!c->searched) return;
  (void)buffer_printf(out, "  %-22s %s%s%s\n", "saturation", c->certified ? s->good : s->bad, c->text, s->plain);
  (void)buffer_printf(out, "    %s%10s ", s->dim, "requests/s");
  if (p->has_tokens) (void)buffer_printf(out, "%10s %12s %12s ", "tokens/s", "tok/s/user", "TTFT p99");
  (void)buffer_printf(out, "%12s %10s  %s%s\n", "E2E p99", "in system", "verdict", s->plain);
  for (size_t i = 0; i < p->n_points; i++) {
    const struct result_point *x = &p->points[i];
    (void)buffer_printf(out, "    %10.5g ", x->rate_per_s);
    if (p->has_tokens)
      (void)buffer_printf(out, "%10.5g %12s %12s ", x->output_rate.estimate,
                          x->tokens_per_s_per_user > 0 ? number_grouped(c_text, sizeof c_text, x->tokens_per_s_per_user, 1) : "-",
                          text_latency(a, sizeof a, x->time_to_first_token_p99));
    (void)buffer_printf(out, "%12s %10.4g  %s%s%s%s\n", text_latency(b, sizeof b, x->end_to_end_p99), x->in_system,
                        x->sustained ? s->good : s->bad, x->sustained ? "sustained" : x->why, s->plain,
                        x->little_holds ? "" : "; Little's law does not hold");
  }
}

static void put_climb(struct buffer *out, const struct style *s, const struct result_precision *p) {
  char a[48], b[48];
  if (p->n_steps == 0) return;
  (void)buffer_printf(out, "  %-22s the knee is at %lld in flight, where the sessions are counted\n", "climb", (long long)p->knee);
  (void)buffer_printf(out, "    %s%10s %12s %12s %12s%s\n", s->dim, "in flight", result_climb_unit(p), "TTFT p99", "E2E p99", s->plain);
  for (size_t i = 0; i < p->n_steps; i++)
    (void)buffer_printf(out, "    %10lld %12.5g %12s %12s%s\n", (long long)p->steps[i].concurrency, p->steps[i].throughput,
                        text_latency(a, sizeof a, p->steps[i].point.time_to_first_token_p99),
                        text_latency(b, sizeof b, p->steps[i].point.end_to_end_p99),
                        p->steps[i].failing     ? "  too many requests fail"
                        : p->steps[i].too_short ? "  the window is too short"
                                                : "");
}

static void put_checks(struct buffer *out, const struct style *s, const struct result_precision *p) {
  for (size_t i = 0; i < p->n_checks; i++) {
    const struct result_check *c = &p->checks[i];
    (void)buffer_printf(out, "  check %-16s %s%s%s: %s\n", c->name,
                        c->verdict == CHECK_FAILED   ? s->bad
                        : c->verdict == CHECK_PASSED ? s->good
                                                     : s->dim,
                        c->verdict == CHECK_FAILED   ? "FAILED"
                        : c->verdict == CHECK_PASSED ? "passed"
                                                     : "not decided",
                        s->plain, c->text);
  }
}

static void put_phases(struct buffer *out, const struct style *s, const struct result_precision *p) {
  char a[48];
  if (p->n_phases == 0) return;
  (void)buffer_printf(out, "  %s%-22s %10s %12s  %s%s\n", s->dim, "phases, as told", "n", "mean", "share of the time from sent to end",
                      s->plain);
  for (size_t i = 0; i < p->n_phases; i++)
    (void)buffer_printf(out, "    %-20s %10lld %12s  %5.1f %%%s\n", p->phases[i].name, (long long)p->phases[i].n,
                        text_latency(a, sizeof a, p->phases[i].mean_ns), 100 * p->phases[i].share,
                        p->phases[i].of_server ? "  (the server's statistics, warm-up included)" : "");
  (void)buffer_printf(out, "    %-20s %10s %12s  %5.1f %%%s\n", "in none of them", "", "", 100 * p->phases_rest_share,
                      p->phases_rest_share < -0.01 ? " (they overlap)" : "");
}

static void put_server(struct buffer *out, const struct style *s, const struct result_precision *p) {
  char text[160];
  if (p->n_server > 0) (void)buffer_printf(out, "  %sby the server's own metrics, which nobody can check%s\n", s->dim, s->plain);
  for (size_t i = 0; i < p->n_server; i++)
    (void)buffer_printf(out, "    %-22s %s\n", formulas[p->server[i].formula].name, server_figure_text(&p->server[i], text, sizeof text));
}

static void put_instrument(struct buffer *out, const struct style *s, const struct result *r, const struct result_precision *p) {
  char a[40], b[40], c[40], share[40] = "an unknown share";
  if (!isnan(p->engine_cpu_share)) (void)snprintf(share, sizeof share, "%.1f %%", 100 * p->engine_cpu_share);
  if (r->observed) {
    (void)buffer_printf(out, "  %-22s nothing was sent; to read the packets took %s of a core\n", "the instrument", share);
    return;
  }
  (void)buffer_printf(out, "  %-22s send lag p50 %s, p99 %s, worst %s;", "the instrument", text_latency(a, sizeof a, p->send_lag.p50),
                      text_latency(b, sizeof b, p->send_lag.p99), text_latency(c, sizeof c, p->send_lag.greatest));
  if (p->read_lag.n > 0) (void)buffer_printf(out, " read lag p99 %s;", text_latency(a, sizeof a, p->read_lag.p99));
  else (void)buffer_text(out, " read lag unknown;");
  const char *bound = p->read_lag.n_unknown > 0 ? "at least" : "at most"; /* what is not known comes on top */
  (void)buffer_printf(out, " %s %.2g %% of the throughput; %s of a core%s%s%s\n", bound, 100 * p->rate_instrument_share, share,
                      p->instrument_limited ? s->bad : "", p->instrument_limited ? "; INSTRUMENT-LIMITED" : "",
                      p->instrument_limited ? s->plain : "");
}

static void put_precision(struct buffer *out, const struct style *s, struct result *r, const struct result_precision *p, bool by_session) {
  char a[48], b[48];
  (void)buffer_printf(out, "\n%s%s%s  executed: %s%s%s   executor %.16s\n", s->strong, p->name, s->plain, p->status,
                      p->primitive[0] != 0 ? ", " : "", p->primitive, p->fingerprint[0] != 0 ? p->fingerprint : "(not captured)");
  if (p->unavailable) {
    (void)buffer_printf(out, "  unavailable: %s\n", p->sessions[0].why);
    return;
  }
  size_t wanted = p->n_sessions > (size_t)r->contract.method.sessions ? p->n_sessions : (size_t)r->contract.method.sessions;
  (void)buffer_printf(out, "  %-22s %zu of %zu complete\n", "sessions", p->n_complete, wanted);
  if (p->n_counted == 0) {
    (void)buffer_text(out, "  nothing was counted\n");
    return;
  }
  put_steady(out, s, p);
  put_points(out, s, p);
  put_climb(out, s, p);
  put_failures(out, s, p);
  if (p->has_tokens) {
    (void)buffer_printf(out, "  %-22s %s\n", "tokens counted by", p->token_source);
    put_rate(out, "output throughput", &p->output_rate, "tokens/s", r->contract.method.confidence);
  }
  put_rate(out, "request throughput", &p->request_rate, "requests/s", r->contract.method.confidence);
  if (r->contract.slo.n_items > 0) put_rate(out, "goodput", &p->goodput, "requests/s", r->contract.method.confidence);
  put_cost(out, r, p);
  put_latencies(out, s, r, p);
  if (by_session) put_sessions(out, s, p);
  put_phases(out, s, p);
  put_server(out, s, p);
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct result_objective *o = &p->objectives[i];
    (void)buffer_printf(out, "  objective: %s p%g <= %s: %s%s%s (%s; %zu of %zu miss it, ", metric_text(o->metric), 100 * o->quantile,
                        text_latency(a, sizeof a, (double)o->at_most_ns), o->verdict == OBJECTIVE_HOLDS ? s->good : s->bad,
                        objective_verdict_text(o->verdict), s->plain,
                        o->misses.n > 0 ? text_latency(b, sizeof b, o->measured.estimate) : "no value", o->misses.n_above, o->misses.n);
    if (o->by_distance) (void)buffer_text(out, "so far off that one more session would too)\n");
    else (void)buffer_printf(out, "[%.3g, %.3g] %%)\n", 100 * o->misses.low, 100 * o->misses.high);
  }
  if (p->accuracy_known)
    (void)buffer_printf(out, "  %-22s %s, %s%.2f %% of %s%s\n", "accuracy", accuracy_text(&r->contract, p->accuracy.estimate, &r->arena),
                        p->accuracy_passed ? s->good : s->bad, 100 * p->accuracy_ratio, r->contract.accuracy.reference, s->plain);
  put_checks(out, s, p);
  if (p->n_waited_slot > 0)
    (void)buffer_printf(out,
                        "  %-22s %lld request%s: as many as may be were in flight when they were due; the wait is part of the send lag\n",
                        "waited for a slot", (long long)p->n_waited_slot, LYNX_S(p->n_waited_slot));
  (void)buffer_printf(out, "  %-22s %s\n", "beside it", conditions_text(&p->conditions, &r->arena));
  put_instrument(out, s, r, p);
}

bool text_result(struct result *result, bool by_session, bool color, struct buffer *ret) {
  ret->shown = true;
  struct style s = style_of(color);
  put_header(ret, &s, result);
  (void)import_text(result->imported, false, ret);
  for (size_t i = 0; i < result->n_precisions; i++) put_precision(ret, &s, result, &result->precisions[i], by_session);
  return !ret->overflowed;
}

bool text_claim(const struct result *result, const struct claim *claim, bool color, struct buffer *ret) {
  ret->shown = true;
  struct style s = style_of(color);
  (void)result;
  if (claim->sentence != NULL) (void)buffer_printf(ret, "%s%s%s\n%s\n", s.strong, claim->precision, s.plain, claim->sentence);
  else (void)buffer_printf(ret, "%s%s: no claim%s, because\n", s.bad, claim->precision, s.plain);
  for (size_t i = 0; i < claim->n_reasons; i++) (void)buffer_printf(ret, "  - %s\n", claim->reasons[i]);
  if (claim->sentence == NULL) return !ret->overflowed;
  (void)buffer_printf(ret, "%snot established:%s\n", s.dim, s.plain);
  for (size_t i = 0; i < claim->n_caveats; i++) (void)buffer_printf(ret, "  - %s\n", claim->caveats[i]);
  (void)buffer_printf(ret, "%sHoefler and Belli's rules, where they are not plainly kept:%s\n", s.dim, s.plain);
  for (size_t i = 0; i < CLAIM_RULES; i++)
    if (claim->rules[i].verdict == RULE_PARTLY || claim->rules[i].verdict == RULE_BROKEN)
      (void)buffer_printf(ret, "  - %zu, %s: %s: %s\n", i + 1, claim->rules[i].rule, rule_verdict_text(claim->rules[i].verdict),
                          claim->rules[i].text);
  return !ret->overflowed;
}

/* Hundreds of distributions say little on a terminal: those that decide performance are listed, the others counted. */
static bool is_minor(const struct fact *f) {
  static const char *const kept[] = {"torch",    "vllm",        "sglang",   "transformers", "tokenizers", "triton", "flash",
                                     "xformers", "onnxruntime", "tensorrt", "jax",          "tensorflow", "numpy",  "nvidia-"};
  if (strncmp(f->key, "python.package.", 15) != 0) return false;
  for (size_t i = 0; i < LYNX_COUNT(kept); i++)
    if (strncmp(f->key + 15, kept[i], strlen(kept[i])) == 0) return strstr(f->key, ".files") != NULL;
  return true;
}

static void put_layer(struct buffer *ret, const struct style *s, const struct fact_list *facts, enum layer layer) {
  char fingerprint[DIGEST_HEX];
  bool headed = false;
  size_t n_minor = 0;
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *f = &facts->items[i];
    if (f->layer != layer) continue;
    if (!headed) {
      (void)buffer_printf(ret, "\n%s%s%s %s(%s; usually owned by %s)", s->strong, layer_text(layer), s->plain, s->dim, layer_meaning(layer),
                          layer_default_owner(layer));
      if (capture_fingerprint_layer(facts, layer, fingerprint)) (void)buffer_printf(ret, " %.12s", fingerprint);
      (void)buffer_printf(ret, "%s\n", s->plain);
    }
    headed = true;
    if (is_minor(f)) {
      n_minor++;
      continue;
    }
    bool known = fact_is_known(f);
    (void)buffer_printf(ret, "  %-34s %s%s%s%s%s%s%s\n", f->key, known ? "" : s->dim, known ? "" : fact_status_text(f->status),
                        known ? "" : ": ", f->value, f->unit[0] != 0 ? " " : "", f->unit, known ? "" : s->plain);
  }
  if (n_minor > 0)
    (void)buffer_printf(ret, "  %s%zu further facts of Python distributions (--json lists them)%s\n", s->dim, n_minor, s->plain);
}

bool text_capture(const struct fact_list *facts, const char *fingerprint, bool color, struct buffer *ret) {
  ret->shown = true;
  struct style s = style_of(color);
  (void)buffer_printf(ret, "%sexecutor%s %s\n", s.strong, s.plain, fingerprint);
  size_t n_arguments = 0;
  for (int layer = 0; layer < LAYER_COUNT; layer++) put_layer(ret, &s, facts, (enum layer)layer);
  for (size_t i = 0; i < facts->n_items; i++)
    n_arguments += facts->items[i].status == FACT_WITHHELD && strstr(facts->items[i].source, "; salt ") != NULL;
  if (n_arguments > 0)
    (void)buffer_printf(ret, "\n%s%zu argument%s not known to be a setting: shown as salted digests; --show-arguments LIST shows them%s\n",
                        s.dim, n_arguments, n_arguments == 1 ? " is" : "s are", s.plain);
  return !ret->overflowed;
}

static const char *owner_of(const struct contract *contract, enum layer layer) {
  return contract != NULL ? contract_owner(contract, layer) : layer_default_owner(layer);
}

bool text_diff(const struct difference_list *differences, const struct contract *contract, bool with_state, bool color,
               struct buffer *ret) {
  ret->shown = true;
  struct style s = style_of(color);
  size_t n_other = differences->n_items - differences->n_identity, n_same = 0;
  int layer = -1;
  for (int i = 0; i < LAYER_COUNT; i++) n_same += differences->n_same[i];
  (void)buffer_printf(ret, "%s%zu difference%s of identity%s, %zu of state or context%s; %zu fact%s of identity %s the same\n", s.strong,
                      differences->n_identity, LYNX_S(differences->n_identity), s.plain, n_other,
                      n_other > 0 && !with_state ? " (--state shows them)" : "", n_same, LYNX_S(n_same), n_same == 1 ? "is" : "are");
  if (differences->n_not_comparable > 0)
    (void)buffer_printf(ret, "%zu fact%s withheld on both sides, and cannot be compared (arguments: capture both with --show-arguments)\n",
                        differences->n_not_comparable, differences->n_not_comparable == 1 ? " is" : "s are");
  for (size_t i = 0; i < differences->n_items; i++) {
    const struct difference *d = &differences->items[i];
    if (!d->told && !with_state) continue;
    if ((int)d->layer != layer)
      (void)buffer_printf(ret, "\n%s%s%s %s(%s)%s\n", s.strong, layer_text(d->layer), s.plain, s.dim, owner_of(contract, d->layer),
                          s.plain);
    layer = (int)d->layer;
    (void)buffer_printf(ret, "  %s%s%s%s%s\n", d->key,
                        d->of == FACT_IDENTITY ? ""
                        : d->of == FACT_STATE  ? " (state)"
                                               : " (context)",
                        s.dim,
                        d->order == VERSION_NONE      ? ""
                        : d->order == VERSION_A_NEWER ? "  A is newer"
                                                      : "  B is newer",
                        s.plain);
    (void)buffer_printf(ret, "    %sA%s %s\n    %sB%s %s\n", s.bad, s.plain, d->a != NULL ? d->a : "-", s.good, s.plain,
                        d->b != NULL ? d->b : "-");
    if (d->reason[0] != 0 && d->of == FACT_IDENTITY)
      (void)buffer_printf(ret, "    %smatters %s: %s%s\n", s.dim, weight_text(d->weight), d->reason, s.plain);
  }
  if (differences->n_holes > 0) (void)buffer_printf(ret, "\n%snot seen%s\n", s.strong, s.plain);
  for (size_t i = 0; i < differences->n_holes; i++) (void)buffer_printf(ret, "  %s\n", differences->holes[i]);
  return !ret->overflowed;
}

/* --- two results --- */

static void put_figure(struct buffer *out, const struct style *s, const struct comparison_figure *f, const char *unlike) {
  char a[48], b[48];
  bool time = strcmp(f->unit, "ns") == 0;
  if (time) {
    (void)text_latency(a, sizeof a, f->a);
    (void)text_latency(b, sizeof b, f->b);
  } else {
    (void)snprintf(a, sizeof a, "%.5g %s", f->a, f->unit);
    (void)snprintf(b, sizeof b, "%.5g %s", f->b, f->unit);
  }
  (void)buffer_printf(out, "  %-28s A %s, B %s\n", f->name, a, b);
  if (!f->ratio.bounded) {
    (void)buffer_printf(out, "    %sno ratio: fewer than 2 sessions a side, or a figure that is not positive and finite%s\n", s->dim,
                        s->plain);
    return;
  }
  if (f->not_judged != NULL || unlike != NULL) {
    const char *why = f->not_judged != NULL ? f->not_judged : "conditions differ";
    if (f->felt_text != NULL) /* the ratio is as at equal conditions, which does not hold for a figure that is not judged */
      (void)buffer_printf(out, "    A / B %.4f as measured: %snot judged: %s%s\n", f->a / f->b, s->dim, why, s->plain);
    else
      (void)buffer_printf(out, "    A / B %.4f [%.4f, %.4f]: %snot judged: %s%s\n", f->ratio.ratio, f->ratio.low, f->ratio.high, s->dim,
                          why, s->plain);
    return;
  }
  const char *tone = f->ratio.verdict == VERDICT_DIFFERENT_BEYOND ? s->bad : f->ratio.verdict == VERDICT_INCONCLUSIVE ? s->dim : s->good;
  (void)buffer_printf(out, "    A / B %.4f [%.4f, %.4f]: %s%s%s", f->ratio.ratio, f->ratio.low, f->ratio.high, tone,
                      verdict_text(f->ratio.verdict), s->plain);
  if (f->ratio.verdict == VERDICT_DIFFERENT_BEYOND || f->ratio.verdict == VERDICT_DIFFERENT_WITHIN)
    (void)buffer_printf(out, ", %s is %s", (f->ratio.ratio > 1) == f->more_is_better ? "A" : "B", "the better one");
  bool is_coarse = f->known_to > 0 && log(f->ratio.high / f->ratio.low) / 2 < f->known_to * (1 + 1e-9);
  if (f->ratio.verdict == VERDICT_INCONCLUSIVE) {
    if (is_coarse)
      (void)buffer_printf(out,
                          "; it is known to %.2g %% only, by whole requests in a window or the search's resolution: longer windows, "
                          "or a finer search",
                          100 * expm1(f->known_to));
    else if (f->felt_text != NULL) (void)buffer_text(out, "; measure both in turn, or beside the same neighbours");
    else if (f->ratio.needed_per_side > (double)(f->n_a > f->n_b ? f->n_a : f->n_b) && f->ratio.needed_per_side < 1e6)
      (void)buffer_printf(out, "; about %.0f sessions a side would decide it at this variance", f->ratio.needed_per_side);
    else (void)buffer_text(out, "; the estimate lies on the margin: no number of sessions is sure to decide it");
  }
  if (f->felt_text != NULL) (void)buffer_printf(out, "\n    %sas at equal conditions; %s%s", s->dim, f->felt_text, s->plain);
  (void)buffer_text(out, "\n");
}

static void put_sides(struct buffer *out, const struct style *s, struct result *r, const char *letter) {
  for (size_t i = 0; i < r->n_precisions; i++)
    if (!r->precisions[i].unavailable)
      (void)buffer_printf(out, "  %sbeside %s, %s:%s %s\n", s->dim, letter, r->precisions[i].name, s->plain,
                          conditions_text(&r->precisions[i].conditions, &r->arena));
}

bool text_comparison(struct result *a, struct result *b, struct comparison_list *list, const struct difference_list *differences,
                     bool color, struct buffer *ret) {
  ret->shown = true;
  struct style s = style_of(color);
  struct comparison_answer answer;
  comparison_answer(a, b, list, &answer);
  (void)buffer_printf(ret, "%s%s%s\n", s.strong, answer.sentence, s.plain);
  (void)buffer_printf(ret, "%sA%s %s (bundle %.16s)\n%sB%s %s (bundle %.16s)\n", s.strong, s.plain, a->contract.name, a->seal.root,
                      s.strong, s.plain, b->contract.name, b->seal.root);
  if (strcmp(a->contract_digest, b->contract_digest) != 0)
    (void)buffer_text(ret, "two contracts: what differs between them is part of what is compared\n");
  (void)buffer_printf(
      ret, "%s; margin %.3g %%, confidence %.3g %%\n",
      list->paired
          ? "interleaved: compared session by session"
          : "not interleaved: compared as two groups, and what changed between the two runs besides (the day, a boot) is not known",
      100 * list->margin, 100 * list->confidence);
  if (list->n_judged > 1)
    (void)buffer_printf(ret, "%zu figures share the error: a difference of any counts at %.4g %%\n", list->n_judged,
                        100 * list->shared_confidence);
  (void)buffer_printf(ret, "%seach figure is the mean of its sessions' own; `show` takes the requests of all sessions as one%s\n", s.dim,
                      s.plain);
  put_sides(ret, &s, a, "A");
  put_sides(ret, &s, b, "B");
  if (list->load != NULL)
    (void)buffer_printf(ret, "%sinconclusive: the loads differ:%s %s; run both with the same `regime` and `workload`\n", s.bad, s.plain,
                        list->load);
  if (list->unlike != NULL) (void)buffer_printf(ret, "%sinconclusive: conditions differ:%s %s\n", s.bad, s.plain, list->unlike);
  if (list->felt != NULL) (void)buffer_printf(ret, "conditions differ: %s\n", list->felt);
  const char *precision = "";
  for (size_t i = 0; i < list->n_items; i++) {
    if (strcmp(precision, list->items[i].precision) != 0)
      (void)buffer_printf(ret, "\n%s%s%s\n", s.strong, list->items[i].precision, s.plain);
    precision = list->items[i].precision;
    put_figure(ret, &s, &list->items[i], list->unlike);
  }
  for (size_t i = 0; i < list->n_only_one; i++) (void)buffer_printf(ret, "%s\n", list->only_one[i]);
  (void)buffer_text(ret, "\n");
  if (differences != NULL) (void)text_diff(differences, &a->contract, false, color, ret);
  return !ret->overflowed;
}
