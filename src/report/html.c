#include "report/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live.h"
#include "base/number.h"
#include "load/engine.h"
#include "report/answer_report.h"
#include "report/html_page.h"
#include "report/import_report.h"
#include "report/live_report.h"
#include "report/server_html.h"
#include "report/standing_report.h"
#include "report/svg.h"
#include "report/withholding.h"
#include "report/text.h"
#include "result/conditions.h"
#include "result/rows.h"
#include "result/values.h"

enum { POINTS_MAX = 6000, SPECTRUM_POINTS = 160, BINS = 48 };

/* --- raw values of one precision, for the plots --- */

struct series {
  struct values at, value;
};

struct points {
  struct row_terms terms;
  const struct result_precision *precision;
  struct series ttft, e2e; /* by scheduled second of the session */
  double *bins;            /* tokens per second in each bin of time: (session, bin) */
  int64_t bin_ns;
  size_t n_bins, session;
};

static void series_add(struct series *s, double at, double value) {
  values_add(&s->at, at);
  values_add(&s->value, value);
}

static void series_release(struct series *s) {
  values_release(&s->at);
  values_release(&s->value);
}

static enum lynx_status gather_row(void *context, const struct row *row) {
  struct points *points = context;
  double ns, at = (double)row->request->scheduled_ns / 1e9;
  bool abandoned = row->request->outcome == OUTCOME_ABANDONED;
  if (!abandoned && row_latency(&points->terms, METRIC_TIME_TO_FIRST_TOKEN, row, &ns)) series_add(&points->ttft, at, ns);
  if (!abandoned && row_latency(&points->terms, METRIC_END_TO_END, row, &ns)) series_add(&points->e2e, at, ns);
  for (size_t i = 0; i < row->n_tokens && row->tokens_count; i++) {
    int64_t bin = row->tokens[i].at_ns / points->bin_ns;
    if (bin >= 0 && (size_t)bin < points->n_bins)
      points->bins[points->session * points->n_bins + (size_t)bin] += row->tokens[i].n * 1e9 / (double)points->bin_ns;
  }
  return LYNX_OK;
}

static enum lynx_status gather(struct bundle *bundle, const struct result *result, const struct result_precision *p, struct points *ret,
                               struct lynx_error *error) {
  const struct contract_method *m = &result->contract.method;
  int64_t length = m->warm_up_ns + m->counted_ns, bin_ns = length / BINS < 50000000 ? 50000000 : length / BINS;
  *ret = (struct points){
      .terms = row_terms_of(bundle, &result->contract), .precision = p, .bin_ns = bin_ns, .n_bins = (size_t)(length / bin_ns)};
  ret->bins = xalloc(ret->n_bins * (p->n_sessions + 1) + 1, sizeof *ret->bins);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    ret->session = i;
    status = rows_each(bundle, p->sessions[i].id, gather_row, ret, error);
  }
  return status;
}

static void points_release(struct points *points) {
  series_release(&points->ttft);
  series_release(&points->e2e);
  free(points->bins);
}

/* --- plots --- */

static void plot_points(struct svg_plot *plot, const struct series *s, int color) {
  size_t n = s->at.n, stride = n / POINTS_MAX + 1;
  for (size_t i = 0; i < n; i += stride)
    if (isfinite(s->value.at[i])) svg_point(plot, s->at.at[i], s->value.at[i], color);
  for (size_t i = 0; i < n; i++)
    if (isinf(s->value.at[i])) svg_cross(plot, s->at.at[i], color);
}

/* The contract's latency objectives, as levels. */
static void plot_objectives(struct svg_plot *plot, const struct contract *contract) {
  const struct contract_slo *slo = contract->slo.items;
  for (size_t n = contract->slo.n_items; n > 0; n--, slo++) {
    char label[80];
    if (slo->metric != METRIC_TIME_TO_FIRST_TOKEN && slo->metric != METRIC_END_TO_END) continue;
    (void)snprintf(label, sizeof label, "%s p%g objective", slo->metric == METRIC_END_TO_END ? "E2E" : "TTFT", 100 * slo->quantile);
    svg_level(plot, (double)slo->at_most_ns, label);
  }
}

static void plot_latency(struct buffer *out, const struct points *points) {
  const struct contract_method *m = &points->terms.contract->method;
  char title[160];
  struct svg_plot plot = {.out = out,
                          .width = 1000,
                          .height = 320,
                          .x = {.least = 0, .unit = SVG_SECONDS, .label = "scheduled time in the session (all sessions on one axis)"},
                          .y = {.scale = SVG_LOG, .unit = SVG_NANOSECONDS, .label = "latency"}};
  struct svg_axis other = plot.y;
  plot.x.greatest = (double)(m->warm_up_ns + m->counted_ns) / 1e9;
  for (size_t i = 0; i < points->e2e.at.n; i++)
    plot.x.greatest = points->e2e.at.at[i] > plot.x.greatest ? points->e2e.at.at[i] : plot.x.greatest;
  svg_fit(&plot.y, points->e2e.value.at, points->e2e.at.n);
  svg_fit(&other, points->ttft.value.at, points->ttft.at.n);
  if (points->ttft.at.n > 0) {
    plot.y.least = fmin(plot.y.least, other.least);
    plot.y.greatest = fmax(plot.y.greatest, other.greatest);
  }
  (void)snprintf(title, sizeof title, "%s: latency of every request", points->precision->name);
  (void)buffer_text(out, "<figure>");
  svg_begin(&plot, title);
  svg_shade(&plot, (double)m->warm_up_ns / 1e9, (double)(m->warm_up_ns + m->counted_ns) / 1e9, "counted");
  plot_points(&plot, &points->e2e, 0);
  plot_points(&plot, &points->ttft, 1);
  plot_objectives(&plot, points->terms.contract);
  svg_end(&plot);
  (void)buffer_text(out, "<figcaption>");
  html_key(out, 0, "end to end");
  html_key(out, 1, "time to first token");
  size_t stride = points->e2e.at.n / POINTS_MAX + 1;
  if (stride > 1) (void)buffer_printf(out, "<span class='dim'>one of every %zu requests is drawn</span>", stride);
  (void)buffer_text(out, "</figcaption></figure>");
}

static void plot_throughput(struct buffer *out, const struct points *points) {
  const struct contract_method *m = &points->terms.contract->method;
  size_t n = points->n_bins, sessions = points->precision->n_sessions;
  if (n < 2) return;
  char title[160];
  double *x = xalloc(n, sizeof *x), *mean = xalloc(n, sizeof *mean);
  struct svg_plot plot = {
      .out = out,
      .width = 1000,
      .height = 240,
      .x = {.least = 0, .greatest = (double)(m->warm_up_ns + m->counted_ns) / 1e9, .unit = SVG_SECONDS, .label = "time in the session"},
      .y = {.unit = SVG_NUMBER, .label = "tokens/s"}};
  for (size_t i = 0; i < n; i++) {
    x[i] = ((double)i + 0.5) * (double)points->bin_ns / 1e9;
    for (size_t s = 0; s < sessions; s++) mean[i] += points->bins[s * n + i] / (double)sessions;
  }
  svg_fit(&plot.y, points->bins, n * sessions);
  (void)snprintf(title, sizeof title, "%s: output throughput over time", points->precision->name);
  (void)buffer_text(out, "<figure>");
  svg_begin(&plot, title);
  svg_shade(&plot, (double)m->warm_up_ns / 1e9, (double)(m->warm_up_ns + m->counted_ns) / 1e9, "counted");
  for (size_t s = 0; s < sessions; s++) svg_line(&plot, x, points->bins + s * n, n, 0, true);
  svg_line(&plot, x, mean, n, 0, false);
  svg_end(&plot);
  (void)buffer_text(out, "<figcaption class='dim'>thin: each session; thick: their mean</figcaption></figure>");
  free(x);
  free(mean);
}

struct spectrum {
  double *values[16];
  size_t n[16];
};

static void keep_counted(struct spectrum *spectrum, size_t index, const struct result *result, const struct series *s) {
  const struct contract_method *m = &result->contract.method;
  double from = (double)m->warm_up_ns / 1e9, to = (double)(m->warm_up_ns + m->counted_ns) / 1e9;
  spectrum->values[index] = xalloc(s->at.n + 1, sizeof(double));
  for (size_t i = 0; i < s->at.n; i++)
    if (s->at.at[i] >= from && s->at.at[i] < to) spectrum->values[index][spectrum->n[index]++] = s->value.at[i];
  quantile_sort(spectrum->values[index], spectrum->n[index]);
}

static void plot_spectrum(struct buffer *out, const struct result *result, const struct spectrum *spectrum, const char *title) {
  struct svg_plot plot = {
      .out = out,
      .width = 1000,
      .height = 320,
      .x = {.least = 0.3, .greatest = 0.99, .scale = SVG_PERCENTILE, .unit = SVG_SHARE, .label = "percentile of counted requests"},
      .y = {.scale = SVG_LOG, .unit = SVG_NANOSECONDS, .label = "latency"}};
  bool any = false;
  for (size_t p = 0; p < result->n_precisions && p < 16; p++) {
    if (spectrum->n[p] == 0) continue;
    struct svg_axis own = plot.y;
    svg_fit(&own, spectrum->values[p], spectrum->n[p]);
    plot.y.least = any ? fmin(plot.y.least, own.least) : own.least;
    plot.y.greatest = any ? fmax(plot.y.greatest, own.greatest) : own.greatest;
    plot.x.greatest = fmax(plot.x.greatest, 1 - 1.0 / (double)(spectrum->n[p] + 1));
    any = true;
  }
  if (!any) return;
  (void)buffer_text(out, "<figure>");
  svg_begin(&plot, title);
  for (size_t p = 0; p < result->n_precisions && p < 16; p++) {
    double x[SPECTRUM_POINTS], y[SPECTRUM_POINTS];
    size_t n = 0;
    double last = -log10(1 - (1 - 1.0 / (double)(spectrum->n[p] + 1))), first = -log10(0.7);
    for (int i = 0; i < SPECTRUM_POINTS && spectrum->n[p] > 1; i++) {
      double share = 1 - pow(10, -(first + (last - first) * i / (SPECTRUM_POINTS - 1))),
             value = quantile_of(spectrum->values[p], spectrum->n[p], share);
      if (!isfinite(value)) break;
      x[n] = share;
      y[n++] = value;
    }
    svg_line(&plot, x, y, n, (int)p, false);
  }
  svg_end(&plot);
  (void)buffer_text(out, "<figcaption>");
  for (size_t p = 0; p < result->n_precisions && p < 16; p++)
    if (spectrum->n[p] > 0) html_key(out, (int)p, result->precisions[p].name);
  (void)buffer_text(out, "<span class='dim'>a line ends where requests failed</span></figcaption></figure>");
}

/* --- sections --- */

static void put_head(struct buffer *out, struct result *r, const struct html_report_options *options) {
  const char *impossible = plausibility_text(&r->plausibility, &r->arena);
  struct answer answer;
  answer_of_result(r, &answer);
  withhold_answer(options->level, &answer);
  if (!options->inside) {
    html_page_head(out, r->contract.name);
    answer_html(&answer, out);
    if (answer.next[0] != 0) html_text(out, "<p>Next: <code>", answer.next, "</code></p>");
  }
  answer_tiles_html(&answer, out);
  html_text(out, "<p class='dim mono'>contract ", r->contract.name, "");
  (void)buffer_printf(out, " %.16s (grade %s) · bundle %.16s · analysis %d</p>", r->contract_digest, grade_text(r->grade),
                      r->seal.root[0] != 0 ? r->seal.root : "unsealed", ANALYSIS_VERSION);
  if (r->seal.end != BUNDLE_COMPLETE) html_text(out, "<p class='bad'><b>Incomplete record.</b> ", r->seal.why, "</p>");
  if (impossible != NULL) html_text(out, "<p class='bad'><b>No run can have written these rows.</b> ", impossible, "</p>");
}

/* The figure and its interval, from nothing to a tenth beyond. */
static void put_interval(struct buffer *out, const struct interval *x) {
  enum { WIDE = 320, HIGH = 26 };
  if (!x->bounded || !(x->high > 0) || !isfinite(x->high)) return;
  double scale = (WIDE - 4) / (1.1 * x->high), low = fmax(0, x->low) * scale, high = x->high * scale, at = fmax(0, x->estimate) * scale;
  (void)buffer_printf(out,
                      "<svg viewBox='0 0 %d %d' class='own' width='%d' role='img'><title>The figure with its interval, from 0</title><path "
                      "d='M2 13H%d' stroke='var(--line)'/><rect x='%.1f' y='6' width='%.1f' height='14' fill='var(--c0)' "
                      "fill-opacity='.3'/><path d='M%.1f 3V23' stroke='var(--c0)' stroke-width='3'/></svg>",
                      WIDE, HIGH, WIDE, WIDE - 2, low + 2, fmax(1, high - low), at + 2);
}

/* Its parts as a card, the whole sentence folded below: words that are claimed must stand as they were built. */
static void put_claim(struct buffer *out, const struct claim *claim, const struct result_precision *p) {
  char value[48];
  const struct interval *rate = result_throughput(p);
  int decimals = rate->estimate < 100 ? 2 : rate->estimate < 1000 ? 1 : 0;
  html_text(out, "<div class='claim'><b>", claim->precision, ": ");
  html_text(out, "", number_grouped(value, sizeof value, rate->estimate, decimals), " ");
  html_text(out, "", result_throughput_unit(p), "</b> ");
  put_interval(out, rate);
  (void)buffer_text(out, "<table>");
  for (size_t i = 0; i < claim->n_parts; i++) {
    html_text(out, "<tr><th scope='row'>", claim->parts[i].label, "</th><td>");
    html_text(out, "", claim->parts[i].text, "</td></tr>");
  }
  html_text(out, "</table><details><summary class='dim'>The sentence</summary><p>", claim->sentence, "</p></details>");
  (void)buffer_text(out, "<details><summary class='dim'>What this does not establish</summary><ul>");
  for (size_t k = 0; k < claim->n_caveats; k++) html_text(out, "<li>", claim->caveats[k], "</li>");
  (void)buffer_text(out, "</ul></details></div>");
}

static void put_claims(struct buffer *out, struct result *r, enum disclosure level) {
  (void)buffer_text(out, "<h2>What can be claimed</h2>");
  for (size_t i = 0; i < r->n_precisions; i++) {
    struct claim claim;
    claim_build(r, i, &claim);
    withhold_claim(level, &claim);
    if (claim.sentence != NULL) {
      put_claim(out, &claim, &r->precisions[i]);
      continue;
    }
    html_text(out, "<div class='claim no'><b>", claim.precision, ": no claim</b>, because<ul>");
    for (size_t k = 0; k < claim.n_reasons; k++) html_text(out, "<li>", claim.reasons[k], "</li>");
    (void)buffer_text(out, "</ul></div>");
  }
}

/* The worst verdict on its objectives; of none: it held. */
static enum objective_verdict worst_objective(const struct result_precision *p) {
  static const enum objective_verdict worst_first[] = {OBJECTIVE_FAILS,   OBJECTIVE_NO_VALUES, OBJECTIVE_UNBOUNDED, OBJECTIVE_DOUBTED,
                                                       OBJECTIVE_NOT_MET, OBJECTIVE_MET,       OBJECTIVE_HOLDS};
  for (size_t k = 0; k < LYNX_COUNT(worst_first); k++)
    for (size_t i = 0; i < p->n_objectives; i++)
      if (p->objectives[i].verdict == worst_first[k]) return worst_first[k];
  return OBJECTIVE_HOLDS;
}

/* As `show` marks them: (in brackets) what the sample cannot bound, * what lynxbench's own lateness may have raised. */
static const char *quantile_text(char *text, size_t size, const struct result *r, const struct result_latency *l, int quantile) {
  char value[48];
  bool bounded = l->at[quantile].quantile.bounded;
  (void)snprintf(text, size, bounded ? "%s%s" : "(%s)%s", text_latency(value, sizeof value, l->at[quantile].quantile.estimate),
                 result_states(&r->contract, l, quantile) ? "" : "*");
  return text;
}

static size_t count_not_stated(const struct result *r, const struct result_precision *p) {
  size_t n = 0;
  for (int m = 0; m < METRIC_COUNT; m++)
    for (int q = 0; q < RESULT_QUANTILES && p->latency[m].n > 0; q++) n += !result_states(&r->contract, &p->latency[m], q);
  return n;
}

/* The precisions side by side: what a meeting looks at first. */
static void put_comparison(struct buffer *out, const struct result *r) {
  char a[48], b[48], c[48];
  (void)buffer_text(out, "<h2>At a glance</h2><table><tr><th scope='col'>precision</th><th scope='col'>executed</th><th scope='col' "
                         "class='n'>tokens/s</th><th scope='col' class='n'>TTFT p50 / p99</th><th scope='col' "
                         "class='n'>TPOT p50 / p99</th><th scope='col' class='n'>failed</th><th scope='col' class='n'>accuracy</th><th "
                         "scope='col'>objectives</th></tr>");
  for (size_t i = 0; i < r->n_precisions; i++) {
    const struct result_precision *p = &r->precisions[i];
    html_text(out, "<tr><td><b>", p->name, "</b></td><td>");
    (void)html_escape(out, p->unavailable ? "unavailable" : p->status);
    if (p->primitive[0] != 0) html_text(out, "<br><span class='dim mono'>", p->primitive, "</span>");
    if (p->unavailable || p->n_counted == 0) {
      (void)buffer_text(out, "</td><td colspan='6' class='dim'>nothing was counted</td></tr>");
      continue;
    }
    const struct interval *rate = result_throughput(p);
    (void)buffer_printf(out, "</td><td class='n'>%s%s", number_grouped(a, sizeof a, rate->estimate, 0), p->has_tokens ? "" : " requests/s");
    if (rate->bounded)
      (void)buffer_printf(out, "<br><span class='dim'>[%s, %s]</span>", number_grouped(b, sizeof b, rate->low, 0),
                          number_grouped(c, sizeof c, rate->high, 0));
    static const enum metric shown[] = {METRIC_TIME_TO_FIRST_TOKEN, METRIC_TIME_PER_OUTPUT_TOKEN};
    for (size_t m = 0; m < LYNX_COUNT(shown); m++) {
      const struct result_latency *l = &p->latency[shown[m]];
      if (l->n == 0) (void)buffer_text(out, "</td><td class='n'>-");
      else
        (void)buffer_printf(out, "</td><td class='n'>%s / %s", quantile_text(a, sizeof a, r, l, 0),
                            l->at[3].quantile.bounded ? quantile_text(b, sizeof b, r, l, 3) : "unbounded");
    }
    (void)buffer_printf(out, "</td><td class='n%s'>%.3g %%</td>", p->n_failed > 0 ? " bad" : "", 100 * p->failure_share);
    if (p->accuracy_known)
      (void)buffer_printf(out, "<td class='n %s'>%.2f %%</td>", p->accuracy_passed ? "good" : "bad", 100 * p->accuracy_ratio);
    else (void)buffer_text(out, "<td class='n dim'>not measured</td>");
    enum objective_verdict worst = worst_objective(p);
    (void)buffer_printf(out, "<td class='%s'>%s</td></tr>",
                        p->n_objectives == 0       ? "dim"
                        : worst == OBJECTIVE_HOLDS ? "good"
                                                   : "bad",
                        p->n_objectives == 0 ? "none stated" : objective_verdict_text(worst));
  }
  (void)buffer_text(out, "</table>");
}

static void put_card(struct buffer *out, const char *name, const char *value, const char *detail) {
  html_text(out, "<div class='card'><span>", name, "</span><b>");
  html_text(out, "", value, "</b><span>");
  html_text(out, "", detail, "</span></div>");
}

static void put_cards(struct buffer *out, struct result *r, const struct result_precision *p) {
  char value[64], a[48], b[48], detail[160];
  (void)buffer_text(out, "<div class='cards'>");
  const struct interval *rate = result_throughput(p);
  (void)snprintf(value, sizeof value, "%s %s", number_grouped(a, sizeof a, rate->estimate, rate->estimate < 100 ? 2 : 0),
                 result_throughput_unit(p));
  if (rate->bounded)
    (void)snprintf(detail, sizeof detail, "%g %% CI [%s, %s], %zu sessions", 100 * r->contract.method.confidence,
                   number_grouped(a, sizeof a, rate->low, 0), number_grouped(b, sizeof b, rate->high, 0), p->n_complete);
  else (void)snprintf(detail, sizeof detail, "no interval: fewer than 2 complete sessions");
  put_card(out, p->has_tokens ? "output throughput" : "request throughput", value, detail);
  const struct {
    enum metric metric;
    const char *name;
  } shown[] = {{METRIC_TIME_TO_FIRST_TOKEN, "time to first token, median"},
               {METRIC_TIME_PER_OUTPUT_TOKEN, "time per output token, median"},
               {METRIC_END_TO_END, "end to end, median"}};
  for (size_t i = 0; i < LYNX_COUNT(shown); i++) {
    const struct result_latency *l = &p->latency[shown[i].metric];
    if (l->n == 0 || (shown[i].metric == METRIC_END_TO_END && p->has_tokens)) continue;
    (void)snprintf(detail, sizeof detail, "p99 %s",
                   l->at[3].quantile.bounded ? quantile_text(a, sizeof a, r, l, 3) : "cannot be bounded by this sample");
    put_card(out, shown[i].name, quantile_text(value, sizeof value, r, l, 0), detail);
  }
  (void)snprintf(value, sizeof value, "%.3g %%", 100 * p->failure_share);
  (void)snprintf(detail, sizeof detail, "of %lld counted requests", (long long)p->n_counted);
  put_card(out, "failed", value, detail);
  if (p->accuracy_known) {
    (void)snprintf(value, sizeof value, "%.2f %%", 100 * p->accuracy_ratio);
    (void)snprintf(detail, sizeof detail, "of %s; %s", r->contract.accuracy.reference,
                   accuracy_text(&r->contract, p->accuracy.estimate, &r->arena));
    put_card(out, "accuracy", value, detail);
  }
  (void)buffer_text(out, "</div>");
}

static void put_quantile_table(struct buffer *out, const struct result *r, const struct result_precision *p) {
  char text[64], low[48], high[48];
  (void)buffer_text(out, "<table><tr><th scope='col'>latency</th><th scope='col' class='n'>n</th><th scope='col' class='n'>p50</th><th "
                         "scope='col' class='n'>p90</th><th scope='col' "
                         "class='n'>p95</th><th scope='col' class='n'>p99</th><th scope='col' class='n'>p99.9</th></tr>");
  for (int m = 0; m < METRIC_COUNT; m++) {
    const struct result_latency *l = &p->latency[m];
    if (l->n == 0) continue;
    (void)buffer_printf(out, "<tr><td>%s</td><td class='n'>%zu</td>", metric_text((enum metric)m), l->n);
    for (int q = 0; q < RESULT_QUANTILES; q++) {
      (void)quantile_text(text, sizeof text, r, l, q);
      if (!l->at[q].quantile.bounded) (void)buffer_printf(out, "<td class='n dim'>%s</td>", text);
      else
        (void)buffer_printf(out, "<td class='n'>%s<br><span class='dim'>[%s, %s]</span></td>", text,
                            text_latency(low, sizeof low, l->at[q].quantile.low), text_latency(high, sizeof high, l->at[q].quantile.high));
    }
    (void)buffer_text(out, "</tr>");
  }
  (void)buffer_text(out, "</table>");
  if (count_not_stated(r, p) > 0)
    (void)buffer_printf(out,
                        "<p class='dim'>*: lynxbench's own lateness can have raised it by more than %.3g %% "
                        "(method.instrument_error_at_most): it is not claimed.</p>",
                        100 * r->contract.method.instrument_error_at_most);
}

/* A bar for each phase: where the time between sending and the end went, as the executor reports it. */
static void put_phases(struct buffer *out, const struct result_precision *p) {
  char a[48];
  if (p->n_phases == 0) return;
  (void)buffer_text(out, "<h3>Phases, as the executor reports them</h3><table><tr><th scope='col'>phase</th><th scope='col' "
                         "class='n'>answers</th><th scope='col' class='n'>mean</th><th scope='col' "
                         "class='n'>share of the time from sent to end</th><th scope='col'></th></tr>");
  for (size_t i = 0; i <= p->n_phases; i++) {
    bool rest = i == p->n_phases;
    double share = rest ? p->phases_rest_share : p->phases[i].share, width = share < 0 ? 0 : share > 1 ? 1 : share;
    html_text(out, rest ? "<tr><td class='dim'>" : "<tr><td>", rest ? "in none of them" : p->phases[i].name, "");
    (void)buffer_text(out,
                      !rest && p->phases[i].of_server ? " <span class='dim'>(the server's totals, warm-up included)</span></td>" : "</td>");
    if (rest) (void)buffer_text(out, "<td></td><td></td>");
    else
      (void)buffer_printf(out, "<td class='n'>%lld</td><td class='n'>%s</td>", (long long)p->phases[i].n,
                          text_latency(a, sizeof a, p->phases[i].mean_ns));
    (void)buffer_printf(out, "<td class='n'>%.1f %%</td><td class='track'><div class='share%s w%.0f'></div></td></tr>", 100 * share,
                        rest ? " rest" : "", 100 * width);
  }
  (void)buffer_text(out, "</table>");
}

static void put_unbounded_note(struct buffer *out) {
  (void)buffer_text(
      out, "<p class='dim'>(in brackets): an estimate that this sample cannot bound; more sessions help most, then longer ones</p>");
}

static void put_sessions(struct buffer *out, const struct result_precision *p) {
  char a[48], b[48], c[48];
  (void)buffer_text(out, "<details><summary>Sessions</summary><table><tr><th scope='col'>session</th><th scope='col'>status</th><th "
                         "scope='col'>executor</th><th scope='col' class='n'>counted</th><th scope='col' "
                         "class='n'>failed</th><th scope='col' class='n'>");
  (void)buffer_printf(
      out, "%s</th><th scope='col' class='n'>TTFT p50</th><th scope='col' class='n'>TTFT p99</th><th scope='col'>steady state</th></tr>",
      result_throughput_unit(p));
  for (size_t i = 0; i < p->n_sessions; i++) {
    const struct result_session *s = &p->sessions[i];
    (void)buffer_printf(out, "<tr><td>%lld</td><td>", (long long)s->id);
    (void)html_escape(out, session_end_text(s->end));
    if (s->why[0] != 0) html_text(out, ": ", s->why, "");
    html_text(out, "</td><td>", executor_start_text(s->executor), "</td>");
    (void)buffer_printf(out,
                        "<td class='n'>%lld</td><td class='n'>%lld</td><td class='n'>%s</td><td class='n'>%s</td><td class='n'>%s</td>",
                        (long long)s->n_counted, (long long)s->n_failed, number_grouped(a, sizeof a, result_throughput_of(p, s), 1),
                        text_latency(b, sizeof b, s->at[0][0]), text_latency(c, sizeof c, s->at[0][3]));
    html_text(out, "<td>", steady_text(s->steady.class), "");
    if (s->steady.series[0] != 0) html_text(out, " <span class='dim'>(", s->steady.series, ")</span>");
    (void)buffer_text(out, "</td></tr>");
  }
  (void)buffer_text(out, "</table></details>");
}

static void put_objectives(struct buffer *out, const struct result_precision *p) {
  char a[48], b[48], range[48];
  if (p->n_objectives == 0) return;
  (void)buffer_text(out, "<table><tr><th scope='col'>objective</th><th scope='col' class='n'>at most</th><th scope='col' "
                         "class='n'>measured</th><th scope='col' class='n'>misses, with "
                         "interval</th><th scope='col'>verdict</th></tr>");
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct result_objective *o = &p->objectives[i];
    (void)snprintf(range, sizeof range, o->by_distance ? ", far off" : " [%.2g, %.2g]", 100 * o->misses.low, 100 * o->misses.high);
    (void)buffer_printf(
        out, "<tr><td>%s p%g</td><td class='n'>%s</td><td class='n'>%s</td><td class='n'>%.3g %%%s</td><td class='%s'>%s</td></tr>",
        metric_text(o->metric), 100 * o->quantile, text_latency(a, sizeof a, (double)o->at_most_ns),
        text_latency(b, sizeof b, o->measured.estimate), 100 * o->misses.share, range, o->verdict == OBJECTIVE_HOLDS ? "good" : "bad",
        objective_verdict_text(o->verdict));
  }
  (void)buffer_text(out, "</table>");
}

/* --- a search for saturation --- */

/* The interval of a point, where it has one. */
static void whisker(struct svg_plot *plot, double x, const struct quantile *q, int color) {
  const double xs[] = {x, x}, ys[] = {q->low, q->high};
  if (q->bounded && isfinite(q->high)) svg_line(plot, xs, ys, 2, color, true);
}

static void plot_latency_against_load(struct buffer *out, const struct result *r, const struct result_precision *p) {
  struct svg_plot plot = {.out = out,
                          .width = 1000,
                          .height = 320,
                          .x = {.least = 0, .unit = SVG_NUMBER, .label = "offered load, requests/s"},
                          .y = {.scale = SVG_LOG, .unit = SVG_NANOSECONDS, .label = "latency, p99"}};
  size_t n = p->n_points;
  double *x = xalloc(n + 1, sizeof *x), *first = xalloc(n + 1, sizeof *first), *whole = xalloc(n + 1, sizeof *whole),
         *both = xalloc(2 * n + 1, sizeof *both);
  for (size_t i = 0; i < n; i++) {
    x[i] = p->points[i].rate_per_s;
    both[2 * i] = first[i] = p->points[i].time_to_first_token_p99;
    both[2 * i + 1] = whole[i] = p->points[i].end_to_end_p99;
    plot.x.greatest = fmax(plot.x.greatest, 1.05 * x[i]);
  }
  svg_fit(&plot.y, both, 2 * n);
  (void)buffer_text(out, "<figure>");
  svg_begin(&plot, "Latency against load");
  if (p->certificate.passing > 0 && p->certificate.failing > 0)
    svg_shade(&plot, p->certificate.passing, p->certificate.failing, "saturation");
  svg_line(&plot, x, whole, n, 0, false);
  svg_line(&plot, x, first, n, 1, false);
  for (size_t i = 0; i < n; i++) {
    whisker(&plot, x[i], &p->points[i].end_to_end_p99_interval, 0);
    whisker(&plot, x[i], &p->points[i].time_to_first_token_p99_interval, 1);
    if (isfinite(whole[i])) svg_point(&plot, x[i], whole[i], 0);
    if (isfinite(first[i])) svg_point(&plot, x[i], first[i], 1);
    if (!isfinite(whole[i])) svg_cross(&plot, x[i], 0);
  }
  plot_objectives(&plot, &r->contract);
  svg_end(&plot);
  (void)buffer_text(out, "<figcaption>");
  html_key(out, 0, "end to end, p99");
  html_key(out, 1, "time to first token, p99");
  (void)buffer_text(out, "<span class='dim'>thin: the interval, where the windows can bound it</span></figcaption></figure>");
  free(x);
  free(first);
  free(whole);
  free(both);
}

/* Of one accelerator, where it is known how many there are; else of the executor. */
static void plot_throughput_against_user(struct buffer *out, const struct result *r, const struct result_precision *p) {
  char label[200];
  double share = r->n_accelerators > 0 ? r->n_accelerators : 1;
  if (r->n_accelerators > 0) (void)snprintf(label, sizeof label, "tokens/s of each of %.0f %.100s", r->n_accelerators, r->accelerator);
  else (void)snprintf(label, sizeof label, "tokens/s of the executor");
  struct svg_plot plot = {.out = out,
                          .width = 1000,
                          .height = 300,
                          .x = {.unit = SVG_NUMBER, .label = "tokens/s that one user sees (1 / median TPOT)"},
                          .y = {.unit = SVG_NUMBER, .label = label}};
  size_t n = 0;
  double *x = xalloc(p->n_points + 1, sizeof *x), *y = xalloc(p->n_points + 1, sizeof *y);
  for (size_t i = 0; i < p->n_points; i++) {
    if (!isfinite(p->points[i].tokens_per_s_per_user)) continue;
    x[n] = p->points[i].tokens_per_s_per_user;
    y[n++] = p->points[i].output_rate.estimate / share;
  }
  if (n >= 2) {
    svg_fit(&plot.x, x, n);
    svg_fit(&plot.y, y, n);
    (void)buffer_text(out, "<figure>");
    svg_begin(&plot, r->n_accelerators > 0 ? "Throughput per accelerator against what one user gets"
                                           : "Throughput of the whole against what one user gets");
    svg_line(&plot, x, y, n, 2, false);
    for (size_t i = 0; i < n; i++) svg_point(&plot, x[i], y[i], 2);
    svg_end(&plot);
    (void)buffer_text(out, "<figcaption class='dim'>the same runs as above, one point per load</figcaption></figure>");
  }
  free(x);
  free(y);
}

static void put_saturation(struct buffer *out, const struct result *r, const struct result_precision *p) {
  char a[48], b[48], low[48], high[48];
  if (!p->certificate.searched) return;
  html_text(out, "<h3>Saturation</h3><p", p->certificate.certified ? " class='good'" : " class='bad'", ">");
  html_text(out, "", p->certificate.text, "</p>");
  plot_latency_against_load(out, r, p);
  if (p->has_tokens) plot_throughput_against_user(out, r, p);
  (void)buffer_text(out, "<table><tr><th scope='col' class='n'>requests/s</th><th scope='col'>verdict</th><th scope='col' "
                         "class='n'>backlog growth</th><th scope='col' class='n'>goodput</th>");
  if (p->has_tokens)
    (void)buffer_text(out, "<th scope='col' class='n'>tokens/s</th><th scope='col' class='n'>tokens/s per user</th><th scope='col' "
                           "class='n'>TTFT p50 / p99</th>");
  (void)buffer_text(out, "<th scope='col' class='n'>end to end p50 / p99</th><th scope='col' class='n'>in the system</th><th scope='col' "
                         "class='n'>by Little's law</th><th scope='col' "
                         "class='n'>arrivals</th></tr>");
  for (size_t i = 0; i < p->n_points; i++) {
    const struct result_point *x = &p->points[i];
    (void)buffer_printf(
        out, "<tr><td class='n'>%.5g</td><td class='%s'>%s</td><td class='n'>%.2g %%<br><span class='dim'>[%.2g, %.2g]</span></td>",
        x->rate_per_s, x->sustained ? "good" : "bad", x->sustained ? "sustained" : x->why, 100 * x->growth.estimate, 100 * x->growth.low,
        100 * x->growth.high);
    (void)buffer_printf(out, "<td class='n'>%.4g</td>", x->goodput.estimate);
    if (p->has_tokens) {
      (void)buffer_printf(out, "<td class='n'>%s", number_grouped(a, sizeof a, x->output_rate.estimate, 0));
      if (x->output_rate.bounded)
        (void)buffer_printf(out, "<br><span class='dim'>[%s, %s]</span>", number_grouped(low, sizeof low, x->output_rate.low, 0),
                            number_grouped(high, sizeof high, x->output_rate.high, 0));
      (void)buffer_printf(out, "</td><td class='n'>%.4g</td><td class='n'>%s / %s</td>", x->tokens_per_s_per_user,
                          text_latency(a, sizeof a, x->time_to_first_token_p50), text_latency(b, sizeof b, x->time_to_first_token_p99));
    }
    (void)buffer_printf(out, "<td class='n'>%s / %s</td><td class='n'>%.4g</td><td class='n%s'>%.4g</td><td class='n'>%lld</td></tr>",
                        text_latency(a, sizeof a, x->end_to_end_p50), text_latency(b, sizeof b, x->end_to_end_p99), x->in_system,
                        x->little_holds ? "" : " bad", x->little, (long long)x->n_arrivals);
  }
  (void)buffer_text(out, "</table>");
}

static void put_checks(struct buffer *out, const struct result_precision *p) {
  if (p->n_checks == 0) return;
  (void)buffer_text(out, "<details open><summary>Was the workload really run?</summary><table>");
  for (size_t i = 0; i < p->n_checks; i++) {
    const struct result_check *c = &p->checks[i];
    html_text(out, "<tr><td>", c->name, "</td>");
    html_text(out,
              c->verdict == CHECK_FAILED   ? "<td class='bad'>failed"
              : c->verdict == CHECK_PASSED ? "<td class='good'>passed"
                                           : "<td class='dim'>not decided",
              "", "</td><td>");
    html_text(out, "", c->text, "</td></tr>");
  }
  (void)buffer_text(out, "</table></details>");
}

static void put_precision(struct buffer *out, struct result *r, const struct result_precision *p, const struct points *points) {
  html_text(out, "<h2>", p->name, "</h2><p class='dim'>executed: ");
  (void)html_escape(out, p->status);
  if (p->primitive[0] != 0) html_text(out, ", <code>", p->primitive, "</code>");
  (void)buffer_printf(out, " · executor <code>%.16s</code></p>", p->fingerprint);
  if (p->unavailable) {
    html_text(out, "<p>unavailable: ", p->sessions[0].why, "</p>");
    return;
  }
  if (p->n_counted == 0) {
    (void)buffer_text(out, "<p class='bad'>Nothing was counted.</p>");
    return;
  }
  put_cards(out, r, p);
  html_text(out, "<p class='dim'>Beside it: ", conditions_text(&p->conditions, &r->arena), "</p>");
  put_objectives(out, p);
  put_saturation(out, r, p);
  plot_latency(out, points);
  if (p->has_tokens) plot_throughput(out, points);
  put_phases(out, p);
  server_html(p, out);
  put_quantile_table(out, r, p);
  if (p->tokens_per_event > EVENT_OF_SEVERAL)
    (void)buffer_printf(out, "<p class='dim'>An event held %.3g tokens: the inter-token latency is between events, not between tokens.</p>",
                        p->tokens_per_event);
  put_unbounded_note(out);
  put_sessions(out, p);
  put_checks(out, p);
}

static void put_excluded(struct buffer *out, const struct result *r) {
  char text[48];
  (void)buffer_text(out, "<h2>What was excluded, and why</h2><table><tr><th scope='col'>precision</th><th scope='col'>what</th><th "
                         "scope='col' class='n'>requests</th><th scope='col'>why</th></tr>");
  for (size_t i = 0; i < r->n_precisions; i++) {
    const struct result_precision *p = &r->precisions[i];
    (void)buffer_printf(out,
                        "<tr><td>%s</td><td>warm-up</td><td class='n'>%lld</td><td>declared: %s at the start of every session</td></tr>",
                        p->name, (long long)p->n_warm_up, text_latency(text, sizeof text, (double)r->contract.method.warm_up_ns));
    (void)buffer_printf(out,
                        "<tr><td>%s</td><td>tail</td><td class='n'>%lld</td><td>kept the load up while counted requests finished</td></tr>",
                        p->name, (long long)p->n_tail);
    for (int k = 1; k < OUTCOME_COUNT; k++)
      if (p->outcomes[k] > 0) {
        (void)buffer_printf(out,
                            "<tr><td>%s</td><td class='bad'>%s</td><td class='n'>%lld</td><td><b>not</b> excluded: counts as a miss, with "
                            "infinite latency (unfinished: its age)",
                            p->name, outcome_text((enum outcome)k), (long long)p->outcomes[k]);
        if (p->reasons[k] != NULL) html_text(out, "; the first: <q>", p->reasons[k], "</q>");
        (void)buffer_text(out, "</td></tr>");
      }
    for (unsigned k = 0; k < ANSWER_FLAG_COUNT; k++)
      if (p->flags[k] > 0)
        (void)buffer_printf(out, "<tr><td>%s</td><td>%s</td><td class='n'>%lld</td><td>counted, and noted</td></tr>", p->name,
                            answer_flag_text(k), (long long)p->flags[k]);
  }
  (void)buffer_text(out, "</table>");
}

static void put_instrument(struct buffer *out, const struct result *r) {
  char a[48], b[48], c[48], d[48];
  (void)buffer_text(out, "<h2>The instrument's own error</h2><table><tr><th scope='col'>precision</th><th scope='col' class='n'>send lag "
                         "p50</th><th scope='col' "
                         "class='n'>p99</th><th scope='col' class='n'>worst</th><th scope='col' class='n'>read lag p99</th><th scope='col' "
                         "class='n'>unknown</th><th scope='col' "
                         "class='n'>share of a core</th><th scope='col'>verdict</th></tr>");
  for (size_t i = 0; i < r->n_precisions; i++) {
    const struct result_precision *p = &r->precisions[i];
    if (p->n_counted == 0) continue;
    bool late = p->instrument_limited || count_not_stated(r, p) > 0;
    (void)buffer_printf(out,
                        "<tr><td>%s</td><td class='n'>%s</td><td class='n'>%s</td><td class='n'>%s</td><td class='n'>%s</td><td "
                        "class='n'>%zu</td><td class='n'>%.1f %%</td><td class='%s'>%s</td></tr>",
                        p->name, text_latency(a, sizeof a, p->send_lag.p50), text_latency(b, sizeof b, p->send_lag.p99),
                        text_latency(c, sizeof c, p->send_lag.greatest),
                        p->read_lag.n > 0 ? text_latency(d, sizeof d, p->read_lag.p99) : "unknown", p->read_lag.n_unknown,
                        100 * p->engine_cpu_share, late ? "bad" : "good",
                        p->instrument_limited ? "instrument-limited"
                        : late                ? "beyond the contract's bound for the latencies marked *"
                                              : "within the contract's bound");
  }
  (void)buffer_printf(out,
                      "</table><p class='dim'>Send lag: handed to the driver − scheduled. Read lag: read − the kernel's arrival stamp of "
                      "the read's last segment. A figure that they can have changed by more than %.3g %% is not stated "
                      "(method.instrument_error_at_most).</p>",
                      100 * r->contract.method.instrument_error_at_most);
}

static void put_method(struct buffer *out, bool inside) {
  (void)buffer_text(
      out, "<h2>Formulas</h2><details class='screen'><summary>Every figure's id, name and "
           "definition</summary><table><tr><th scope='col'>id</th><th scope='col'>figure</th><th scope='col'>definition</th></tr>");
  for (int i = 0; i < FORMULA_COUNT; i++)
    (void)buffer_printf(out, "<tr><td class='mono'>%s</td><td>%s (%s)</td><td>%s</td></tr>", formulas[i].id, formulas[i].name,
                        formulas[i].unit, formulas[i].definition);
  (void)buffer_printf(
      out,
      "</table></details><p class='dim'>Made by lynxbench %s from the raw rows of the bundle; <code>lynxbench show --json</code> "
      "gives the same figures.</p>",
      LYNX_VERSION);
  (void)buffer_text(out, inside ? "\n" : "</main></body></html>\n");
}

/* Whose layers the time belongs to, where the serving process's threads were seen. */
static void put_live(struct bundle *bundle, const struct result *result, struct buffer *out) {
  struct live live;
  if (!live_read(bundle, result, &live)) return;
  if (live.at.n_lanes > 0) live_html_section(&live, out);
  live_release(&live);
}

enum lynx_status html_report(struct bundle *bundle, struct result *result, const struct html_report_options *options, struct buffer *ret,
                             struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  struct spectrum ttft = {0}, e2e = {0};
  struct buffer body = {.limit = ret->limit};
  withhold_result(options->level, result);
  for (size_t i = 0; i < result->n_precisions && status == LYNX_OK; i++) {
    struct points points;
    status = gather(bundle, result, &result->precisions[i], &points, error);
    if (status == LYNX_OK) put_precision(&body, result, &result->precisions[i], &points);
    if (status == LYNX_OK && i < 16) {
      keep_counted(&ttft, i, result, &points.ttft);
      keep_counted(&e2e, i, result, &points.e2e);
    }
    points_release(&points);
  }
  struct fact_list facts = {0};
  const char *precision = result->n_precisions > 0 ? result->precisions[0].name : "";
  if (status == LYNX_OK) status = bundle_start_facts(bundle, precision, &facts, error);
  if (status == LYNX_OK) {
    put_head(ret, result, options);
    put_comparison(ret, result);
    put_claims(ret, result, options->level);
    if (options->standing != NULL) html_standing(options->standing, ret);
    if (options->level == DISCLOSE_FULL) {
      (void)import_html(result->imported, ret); /* an overflow: reported below */
      put_live(bundle, result, ret);
    }
    (void)buffer_text(ret, "<h2>Percentile spectrum</h2>");
    plot_spectrum(ret, result, &ttft, "Time to first token");
    plot_spectrum(ret, result, &e2e, "End-to-end latency");
    (void)buffer_append(ret, body.data != NULL ? body.data : "", body.length);
    put_excluded(ret, result);
    put_instrument(ret, result);
    withhold_facts(options->level, &facts);
    html_executor(ret, result, &facts, precision);
    if (options->level == DISCLOSE_FULL) status = html_differences(ret, bundle, result, &facts, error);
    put_method(ret, options->inside);
    if (ret->overflowed || body.overflowed) status = lynx_fail(error, LYNX_LIMIT, "the page would be larger than %zu bytes", ret->limit);
  }
  for (size_t i = 0; i < 16; i++) {
    free(ttft.values[i]);
    free(e2e.values[i]);
  }
  fact_list_release(&facts);
  buffer_release(&body);
  return status;
}
