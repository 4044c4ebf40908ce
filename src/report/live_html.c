/* A live run's attribution as one page: the verdict, what to do, the evidence. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment/confirm.h"
#include "report/html_page.h"
#include "report/icicle.h"
#include "report/live_report.h"
#include "report/svg.h"
#include "report/text.h"
#include "result/conditions.h"

enum { PARTS_SHOWN = 12, TRACED_SHOWN = 12, LANES_SHOWN = 12 };

struct page {
  struct buffer *out;
  const struct live *live;
  struct arena arena;
};

static const char *duration(struct page *p, double ns) {
  char text[48];
  return arena_copy(&p->arena, text_latency(text, sizeof text, ns));
}

static const char *number(struct page *p, double value) {
  return arena_printf(&p->arena, "%.4g", value);
}

/* One colour per layer, wherever it is shown. */
static int color_of(enum layer layer) {
  static const int colors[LAYER_COUNT] = {
      [LAYER_APPLICATION] = 3, [LAYER_SERVING] = 0,     [LAYER_RUNTIME] = 2,  [LAYER_FRAMEWORK] = 4, [LAYER_SYSTEM] = 1,
      [LAYER_ACCELERATOR] = 5, [LAYER_PROCUREMENT] = 5, [LAYER_FACILITY] = 5, [LAYER_DEMAND] = 5};
  return colors[layer];
}

static void put_owner(struct page *p, enum layer layer) {
  html_key(p->out, color_of(layer),
           arena_printf(&p->arena, "%s, %s", layer_text(layer), contract_owner(&p->live->result->contract, layer)));
}

static void put_curve(struct page *p) {
  const struct result_precision *q = p->live->precision;
  double x[64], y[64];
  size_t n = 0;
  for (size_t i = 0; i < q->n_steps && n < LYNX_COUNT(x); i++) {
    x[n] = (double)q->steps[i].concurrency;
    y[n++] = q->steps[i].throughput;
  }
  if (n < 2) return;
  struct svg_plot plot = {.out = p->out,
                          .width = 520,
                          .height = 300,
                          .x = {.scale = SVG_LOG, .unit = SVG_NUMBER, .label = "requests in flight", .doubles = true},
                          .y = {.scale = SVG_LINEAR, .unit = SVG_NUMBER, .label = result_climb_unit(q)}};
  svg_fit(&plot.x, x, n);
  svg_fit(&plot.y, y, n);
  plot.y.least = 0;
  plot.y.greatest *= 1.15;
  (void)buffer_text(p->out, "<figure>");
  const long long knee = q->knee;
  svg_begin(&plot, live_still_grows(p->live) ? arena_printf(&p->arena, "the climb: throughput still grows at %lld in flight", knee)
                                             : arena_printf(&p->arena, "the climb: the knee is at %lld in flight", knee));
  if (q->knee > 0) svg_shade(&plot, (double)q->knee * 0.94, (double)q->knee * 1.06, "knee");
  svg_line(&plot, x, y, n, 0, false);
  for (size_t i = 0; i < n; i++) svg_point(&plot, x[i], y[i], 0);
  svg_end(&plot);
  (void)buffer_text(p->out, "</figure>");
}

static void put_row(struct page *p, const char *what, const char *value, const char *rest) {
  html_text(p->out, "<tr><td>", what, "</td>");
  html_text(p->out, "<td class='n'><b>", value, "</b></td>");
  html_text(p->out, "<td class='dim'>", rest, "</td></tr>");
}

static const char *interval_text(struct page *p, const struct interval *i) {
  return i->bounded ? arena_printf(&p->arena, "95 %% CI %.4g to %.4g", i->low, i->high) : "no interval: too few sessions";
}

static void put_figures(struct page *p) {
  const struct result_precision *q = p->live->precision;
  const struct result_latency *first = &q->latency[METRIC_TIME_TO_FIRST_TOKEN], *each = &q->latency[METRIC_TIME_PER_OUTPUT_TOKEN];
  (void)buffer_printf(p->out, "<h2>What it does, with %.3g requests in flight</h2><div class='two'>", p->live->in_flight);
  (void)buffer_text(p->out, "<div>");
  put_curve(p);
  (void)buffer_text(p->out, "</div><div><table>");
  if (q->has_tokens) put_row(p, "output tokens/s", number(p, q->output_rate.estimate), interval_text(p, &q->output_rate));
  put_row(p, "requests/s", number(p, q->request_rate.estimate), interval_text(p, &q->request_rate));
  if (first->n > 0) {
    put_row(p, "first token, p50", duration(p, first->at[0].quantile.estimate), first->at[0].quantile.bounded ? "" : "an estimate");
    put_row(p, "first token, p99", duration(p, first->at[3].quantile.estimate),
            first->at[3].quantile.bounded ? "" : "an estimate that this sample cannot bound");
  }
  if (each->n > 0) put_row(p, "per output token, p50", duration(p, each->at[0].quantile.estimate), "");
  put_row(p, "lynxbench's own lateness, p99", duration(p, q->send_lag.p99 + (q->read_lag.n > 0 ? q->read_lag.p99 : 0)),
          q->instrument_limited ? "it can have changed what is shown" : "");
  (void)buffer_text(p->out, "</table></div></div>");
}

static void put_life(struct page *p) {
  const struct live *live = p->live;
  if (live->n_phases == 0 || !(live->life_ns > 0)) return;
  html_text(p->out, "<h2>A request's life: ", duration(p, live->life_ns), " on average</h2><div class='bar'>");
  for (size_t i = 0; i < live->n_phases; i++) {
    double share = 100 * live->phases[i].mean_ns / live->life_ns;
    (void)buffer_printf(p->out, "<i class='%s w%.0f'>", live->phases[i].attributed ? arena_printf(&p->arena, "b%zu", i % 6) : "none",
                        share);
    if (share > 8) (void)html_escape(p->out, duration(p, live->phases[i].mean_ns));
    (void)buffer_text(p->out, "</i>");
  }
  (void)buffer_text(p->out, "</div><p>");
  for (size_t i = 0; i < live->n_phases; i++)
    html_key(p->out, (int)(i % 6), arena_printf(&p->arena, "%s %s", live->phases[i].name, duration(p, live->phases[i].mean_ns)));
  (void)buffer_text(p->out, "</p>");
  if (!live->phases_of_server)
    (void)buffer_text(p->out,
                      "<p class='dim'>As the client sees it: the server reports no queue, prefill and decode. A metrics page would.</p>");
}

/* Below the folder of packages, whose place on that machine says nothing. */
static const char *place_short(struct page *p, const char *where) {
  const char *site = strstr(where, "-packages/"), *from = site;
  if (site == NULL) return where;
  while (from > where && from[-1] != ' ') from--;
  return arena_printf(&p->arena, "%.*s%s", (int)(from - where), where, site + 10);
}

static void put_parts(struct page *p, const struct live_lane *lane) {
  html_text(p->out, "<h3>", live_lane_text(&p->arena, lane), "</h3><div class='bar'>");
  for (size_t i = 0; i < lane->n_parts && i < PARTS_SHOWN; i++) {
    double share = 100 * lane->parts[i].share / fmax(lane->running, 1e-9);
    (void)buffer_printf(p->out, "<i class='%s w%.0f'>",
                        lane->parts[i].attributed ? arena_printf(&p->arena, "b%d", color_of(lane->parts[i].layer)) : "none", share);
    if (share > 8) (void)buffer_printf(p->out, "%.0f %%", share);
    (void)buffer_text(p->out, "</i>");
  }
  (void)buffer_text(p->out, "</div><table><tr><th scope='col' class='n'>share</th><th scope='col'>what</th><th scope='col'>where</th><th "
                            "scope='col'>layer, owner</th></tr>");
  for (size_t i = 0; i < lane->n_parts && i < PARTS_SHOWN; i++) {
    const struct live_part *part = &lane->parts[i];
    double share = 100 * part->share / fmax(lane->running, 1e-9);
    if (share < 0.5) break;
    (void)buffer_printf(p->out, "<tr><td class='n'>%.0f %%</td>", share);
    html_text(p->out, "<td>",
              arena_printf(&p->arena, "%s%s",
                           part->spins                 ? "spinning, a wait: "
                           : part->kind == LIVE_PYTHON ? "Python: "
                                                       : "",
                           part->what),
              "</td>");
    html_text(p->out, "<td class='v dim mono'>", place_short(p, live_part_where(&p->arena, part)), "</td><td>");
    if (part->attributed) put_owner(p, part->layer);
    else html_text(p->out, "not attributed <span class='dim'>· would tell: ", part->would, "</span>");
    (void)buffer_text(p->out, "</td></tr>");
  }
  (void)buffer_text(p->out, "</table>");
  if (lane->n_callers < 2) return;
  (void)buffer_text(p->out, "<details><summary class='dim'>Python functions that call into libraries</summary><table>");
  for (size_t i = 0; i < lane->n_callers; i++) {
    (void)buffer_printf(p->out, "<tr><td class='n'>%.0f %%</td>", 100 * lane->callers[i].share / fmax(lane->running, 1e-9));
    html_text(p->out, "<td>", lane->callers[i].what, "</td>");
    html_text(p->out, "<td class='v dim mono'>", place_short(p, lane->callers[i].where), "</td></tr>");
  }
  (void)buffer_text(p->out, "</table></details>");
}

static void put_cell(struct page *p, double share) {
  (void)buffer_printf(p->out, "<td class='n'>%.0f</td>", 100 * share);
}

static void put_lanes(struct page *p) {
  const struct live_account *at = &p->live->at;
  if (at->n_lanes == 0) return;
  (void)buffer_text(p->out, "<h2>Its threads</h2><p class='dim'>Percent of one thread's time in the counted windows, by the kernel's own "
                            "counts. A row of several threads may exceed 100.</p><table><tr><th scope='col'>process, thread</th><th "
                            "scope='col' class='n'>threads</th><th scope='col' "
                            "class='n'>running</th><th scope='col' class='n'>ready, no processor</th><th scope='col' "
                            "class='n'>lock</th><th scope='col' class='n'>timer</th><th scope='col' "
                            "class='n'>network</th><th scope='col' class='n'>disk, other</th></tr>");
  for (size_t i = 0; i < at->n_lanes && i < LANES_SHOWN; i++) {
    const struct live_lane *l = &at->lanes[i];
    if (i > 0 && l->running + l->ready < 0.005) break;
    const char *name = live_lane_text(&p->arena, l);
    html_text(p->out, "<tr><td>", l->thread != 0 ? arena_printf(&p->arena, "%s (%lld)", name, (long long)l->thread) : name, "</td>");
    if (l->thread != 0) (void)buffer_printf(p->out, "<td class='n'>%lld</td>", (long long)l->n_threads);
    else (void)buffer_text(p->out, "<td class='n'>-</td>");
    put_cell(p, l->running);
    put_cell(p, l->ready);
    put_cell(p, l->waits[WAIT_LOCK]);
    put_cell(p, l->waits[WAIT_TIMER]);
    put_cell(p, l->waits[WAIT_NETWORK]);
    put_cell(p, l->waits[WAIT_DISK] + l->waits[WAIT_OTHER] + l->waits[WAIT_UNKNOWN]);
    (void)buffer_text(p->out, "</tr>");
  }
  (void)buffer_text(p->out, "</table><h2>What the busy ones run</h2>");
  for (size_t i = 0; i < at->n_lanes && i < 4; i++)
    if (i == 0 || at->lanes[i].running >= 0.1) put_parts(p, &at->lanes[i]);
}

/* By the server's own profiler. */
static void put_traced(struct page *p) {
  if (p->live->n_traced > 0) (void)buffer_text(p->out, "<h2>What the server's own profiler recorded</h2>");
  for (size_t i = 0; i < p->live->n_traced; i++) {
    const struct live_traced *t = &p->live->traced[i];
    html_text(p->out, "<h3>",
              arena_printf(&p->arena, "%s (%lld), %.2f s", t->program[0] != 0 ? t->program : "process", (long long)t->process, t->window_s),
              "</h3><table><tr><th scope='col' class='n'>share</th><th scope='col'>what</th><th scope='col'>where</th><th "
              "scope='col'>layer, owner</th></tr>");
    for (size_t k = 0; k < t->n_parts && k < TRACED_SHOWN && t->parts[k].share >= 0.005; k++) {
      const struct live_traced_part *part = &t->parts[k];
      (void)buffer_printf(p->out, "<tr><td class='n'>%.0f %%</td>", 100 * part->share);
      html_text(p->out, "<td>", part->what, "</td>");
      html_text(p->out, "<td class='v dim mono'>", part->where, "</td><td>");
      if (part->attributed) put_owner(p, part->layer);
      else (void)buffer_text(p->out, "not attributed");
      (void)buffer_text(p->out, "</td></tr>");
    }
    (void)buffer_text(p->out, "</table>");
  }
  for (size_t i = 0; i < p->live->n_trace_files; i++) html_text(p->out, "<p class='dim mono'>", p->live->trace_files[i], "</p>");
}

static void put_findings(struct page *p) {
  const struct live *live = p->live;
  (void)buffer_text(p->out, "<h2>Findings</h2>");
  if (live->n_findings == 0) {
    (void)buffer_text(p->out, "<p>No remediable cause: no rule found evidence of one.</p>");
    return;
  }
  (void)buffer_text(
      p->out,
      "<table><tr><th scope='col'>finding</th><th scope='col'>whose</th><th scope='col'>gain</th><th scope='col'>evidence</th></tr>");
  for (size_t i = 0; i < live->n_findings; i++) {
    const struct finding *f = &live->findings[i];
    html_text(p->out, "<tr><td><b>", f->title, "</b>");
    html_text(p->out, "<br><span class='mono'>", f->named, "</span>");
    html_text(p->out, "<br><span class='dim'>", f->evidence, "</span></td><td>");
    for (int l = 0; l < LAYER_COUNT; l++)
      if (f->contributing & LAYER_BIT(l)) {
        put_owner(p, (enum layer)l);
        (void)buffer_text(p->out, "<br>");
      }
    if (f->bounded) html_text(p->out, "</td><td>at most ", arena_printf(&p->arena, "%.0f %%", 100 * f->bound), "<br>");
    else (void)buffer_text(p->out, "</td><td>");
    html_text(p->out, "<span class='dim'>", f->bound_holds, "</span></td><td><span class='chip'>");
    html_text(p->out, "", finding_status(f), "</span>");
    if (f->experiment[0] != 0) html_text(p->out, "<br>by experiment: ", f->experiment, "");
    html_text(p->out, "<br><span class='dim'>not established: ", f->open, "</span>");
    html_text(p->out, "<br>to confirm: ", f->confirm, "");
    if (!p->live->result->observed && confirm_is_possible(f, contract_states(&p->live->result->contract, "executor.start")))
      html_text(p->out, "<br><span class='mono'>lynxbench confirm RUN ",
                arena_printf(&p->arena, "%s%s", f->id, f->confirm_by != NULL ? f->confirm_by : ""), "</span>");
    (void)buffer_text(p->out, "</td></tr>");
  }
  (void)buffer_text(p->out, "</table>");
}

/* All running time of the server's threads: whose, of which layer, what. */
static void put_icicle(struct page *p) {
  struct icicle_cell cells[ICICLE_CELLS_MAX];
  const struct live *live = p->live;
  size_t n = 0;
  if (!(live->at.running > 0)) return;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *part = &live->at.lanes[i].parts[k];
      const char *what = part->kind == LIVE_PYTHON ? arena_printf(&p->arena, "%s, %s", part->what, place_short(p, part->where))
                                                   : part->what;
      struct icicle_cell cell = {
          .owner = part->attributed ? contract_owner(&live->result->contract, part->layer) : "nobody yet",
          .layer = part->attributed ? layer_text(part->layer) : "-",
          .label = part->spins ? arena_printf(&p->arena, "spinning: %s", what) : what,
          .share = part->share / live->at.running,
          .color = part->attributed ? color_of(part->layer) : -1,
      };
      if (cell.share < 0.004) cell.label = "smaller ones";
      size_t at = 0;
      while (at < n && (strcmp(cells[at].label, cell.label) != 0 || strcmp(cells[at].layer, cell.layer) != 0)) at++;
      if (at < n) cells[at].share += cell.share;
      else if (n < ICICLE_CELLS_MAX) cells[n++] = cell;
    }
  if (n == 0) return;
  (void)buffer_text(p->out, "<h2>Whose running time it is</h2>");
  icicle_put(p->out, cells, n, "Owner, layer and cause of the running time of all threads", "the running time of the server's threads");
}

static void put_strip(struct page *p) {
  const struct live *live = p->live;
  (void)buffer_text(p->out, "<div class='strip'>");
  html_text(p->out, "<span>", conditions_text(&live->precision->conditions, &p->arena), "</span>");
  for (size_t i = 0; i < live->n_neighbours; i++)
    if (live->neighbours[i].processors >= 0.02)
      html_text(p->out, "<span>",
                arena_printf(&p->arena, "%s: %.2f of a processor", live->neighbours[i].name, live->neighbours[i].processors), "</span>");
  if (isfinite(live->around.sampling_cost))
    html_text(p->out, "<span>sampling used ", arena_printf(&p->arena, "%.2g %% of the processors", 100 * live->around.sampling_cost),
              "</span>");
  if (isfinite(live->profiling_cost.estimate)) html_text(p->out, "<span>", live_profiling_text(live, &p->arena), "</span>");
  (void)buffer_text(p->out, "</div>");
}

/* Operations a second by operations for each byte of weights, both logarithmic: the memory's ceiling rises, that of arithmetic is flat. */
static void put_roofline(struct page *p) {
  enum { WIDE = 520, HIGH = 220, LEFT = 70, BOTTOM = 36 };
  const struct live_roofline *r = &p->live->roofline;
  html_text(p->out, "<h2>Near the ceilings</h2><p>", live_roofline_text(p->live, &p->arena), ".</p>");
  double per_byte = r->operations_hz / r->read_hz, ridge = r->arithmetic / r->bandwidth;
  if (!(per_byte > 0) || !(ridge > 0) || !isfinite(per_byte) || !isfinite(ridge)) return;
  double x0 = floor(log10(fmin(per_byte, ridge))) - 1, x1 = ceil(log10(fmax(per_byte, ridge))) + 1, y1 = ceil(log10(r->arithmetic)),
         y0 = fmin(floor(log10(r->operations_hz)), floor(x0 + log10(r->bandwidth))), across = (WIDE - LEFT - 10) / (x1 - x0),
         up = (HIGH - BOTTOM - 10) / (y1 - y0);
#define X(v) (LEFT + (log10(v) - x0) * across)
#define Y(v) (HIGH - BOTTOM - (log10(v) - y0) * up)
  (void)buffer_printf(p->out,
                      "<figure><svg viewBox='0 0 %d %d' class='own' width='%d' role='img'><title>Roofline</title><path d='M%.1f %.1f L%.1f "
                      "%.1f L%.1f %.1f' fill='none' stroke='var(--c0)' stroke-width='2'/>",
                      WIDE, HIGH, WIDE, X(pow(10, x0)), Y(pow(10, x0) * r->bandwidth), X(ridge), Y(r->arithmetic), X(pow(10, x1)),
                      Y(r->arithmetic));
  (void)buffer_printf(p->out, "<circle cx='%.1f' cy='%.1f' r='5' fill='var(--c1)'/>", X(per_byte), Y(r->operations_hz));
  for (int e = (int)y0; e <= (int)y1; e++)
    (void)buffer_printf(p->out, "<text class='tick' x='%d' y='%.1f' text-anchor='end'>%.4g Gop/s</text>", LEFT - 6, Y(pow(10, e)) + 4,
                        pow(10, e - 9));
  for (int e = (int)x0; e <= (int)x1; e++)
    (void)buffer_printf(p->out, "<text class='tick' x='%.1f' y='%d' text-anchor='%s'>%.4g</text>", X(pow(10, e)), HIGH - BOTTOM + 16,
                        e < (int)x1 ? "middle" : "end", pow(10, e));
#undef X
#undef Y
  (void)buffer_printf(
      p->out,
      "<text class='label' x='%d' y='%d' text-anchor='middle'>operations for each byte of weights</text></svg><figcaption "
      "class='dim'>The line: what `lynxbench calibrate` reached on this machine. The point: this run.</figcaption></figure>",
      (WIDE + LEFT) / 2, HIGH - 2);
}

static void put_unseen(struct page *p) {
  (void)buffer_text(p->out, "<h2>What was not seen</h2><ul>");
  for (size_t i = 0; i < p->live->n_unseen; i++) html_text(p->out, "<li>", p->live->unseen[i], "</li>");
  for (size_t i = 0; i < p->live->result->n_holes; i++) html_text(p->out, "<li>", p->live->result->holes[i], "</li>");
  (void)buffer_text(p->out,
                    "<li>What an accelerator did: only its own profiler shows it (`lynxbench attribute TRACE`).</li><li>The model's "
                    "accuracy: it was not asked for.</li></ul>");
}

static void put_evidence(struct page *p) {
  put_figures(p);
  put_life(p);
  put_lanes(p);
  put_traced(p);
  put_icicle(p);
  live_over_time(p->live, &p->arena, p->out);
  put_findings(p);
  put_roofline(p);
  put_strip(p);
}

void live_html_section(const struct live *live, struct buffer *ret) {
  struct page p = {.out = ret, .live = live};
  html_text(ret, "<h2>Where the time went</h2><p class='lead'><b>", live->bottleneck_title, "</b> ");
  html_text(ret, "", live->bottleneck_text, ".");
  html_text(ret, " ", live_bound_text(live->bound), ": ");
  html_text(ret, "", live->bound_why, ".</p>");
  put_life(&p);
  put_lanes(&p);
  put_icicle(&p);
  live_over_time(live, &p.arena, ret);
  put_findings(&p);
  put_roofline(&p);
  put_strip(&p);
  arena_release(&p.arena);
}

bool live_html(const struct live *live, const char *bundle, struct buffer *ret) {
  struct page p = {.out = ret, .live = live};
  const char *server = live_fact(live, LAYER_SERVING, "serving.server"), *program = live_fact(live, LAYER_SERVING, "process.program");
  html_page_begin(ret, live->bottleneck_title);
  html_text(ret, "<p class='lead'>", live->bottleneck_text, ".</p>");
  html_text(ret, "<p class='lead'><b>", live_bound_text(live->bound), "</b>");
  html_text(ret, ": ", live->bound_why, ".</p>");
  html_text(ret, "<p class='dim'>", server != NULL ? server : program != NULL ? program : "a server", "");
  html_text(ret, " · ", live->result->contract.workload.model != NULL ? live->result->contract.workload.model : "", "");
  html_text(ret, " · executed: ",
            live->precision->executed != NULL && live->precision->executed[0] != 0 ? live->precision->executed : "not known", "");
  html_text(ret, " · executor ", arena_printf(&p.arena, "%.12s", live->precision->fingerprint), "");
  html_text(ret, " · ", bundle, "</p>");
  (void)buffer_text(ret, "<div class='next'><b>Next</b> · ");
  if (live->n_findings > 0) {
    if (live->findings[0].named[0] != 0) html_text(ret, "<span class=mono>", live->findings[0].named, "</span>: ");
    (void)html_escape(ret, live->findings[0].next);
    html_text(ret, ". <span class='dim'>To be sure first: ", live->findings[0].confirm, ".</span>");
  } else html_text(ret, "no remediable cause was found: <span class='mono'>lynxbench show ", bundle, "</span>");
  (void)buffer_text(ret, "</div>");
  put_evidence(&p);
  put_unseen(&p);
  (void)buffer_text(ret, "</main></body></html>\n");
  arena_release(&p.arena);
  return !ret->overflowed;
}
