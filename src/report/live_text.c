/* A live run's attribution on one screen: verdict, what to do, evidence. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/live_report.h"
#include "report/text.h"
#include "result/conditions.h"

enum { PARTS_SHOWN = 8, LANES_SHOWN = 8, LEAST_PART_PERCENT = 2, FINDINGS_SHOWN = 6 };

struct page {
  struct buffer *out;
  const struct live *live;
  bool color;
  struct arena arena;
};

static const char *strong(const struct page *p, bool on) {
  return !p->color ? "" : on ? "\033[1m" : "\033[0m";
}

static void put_label(const struct page *p, const char *label) {
  (void)buffer_printf(p->out, "%-11s ", label);
}

static const char *duration(struct page *p, double ns) {
  char text[48];
  return arena_copy(&p->arena, text_latency(text, sizeof text, ns));
}

static void put_what(struct page *p) {
  const struct live *live = p->live;
  const struct result_precision *q = live->precision;
  const char *server = live_fact(live, LAYER_SERVING, "serving.server"), *program = live_fact(live, LAYER_SERVING, "process.program"),
             *pid = live_fact(live, LAYER_SERVING, "process.id");
  int64_t n = 0;
  for (size_t i = 0; i < q->n_sessions; i++) n += q->sessions[i].n_counted;
  put_label(p, "what");
  (void)buffer_printf(p->out, "%s, %s",
                      server != NULL    ? server
                      : program != NULL ? program
                                        : "server",
                      live->result->contract.workload.model != NULL ? live->result->contract.workload.model : "no model");
  if (q->executed != NULL && q->executed[0] != 0) (void)buffer_printf(p->out, ", %s (executed: %s)", q->name, q->executed);
  if (pid != NULL) (void)buffer_printf(p->out, ", pid %s", pid);
  (void)buffer_printf(p->out, "; %lld processors; %lld requests counted in %.0f s\n", (long long)live->n_processors, (long long)n,
                      live->at.window_s);
}

static void put_interval(const struct page *p, const struct interval *i, const char *unit) {
  (void)buffer_printf(p->out, "%.4g %s", i->estimate, unit);
  if (i->bounded) (void)buffer_printf(p->out, " [%.4g, %.4g]", i->low, i->high);
}

static void put_figures(struct page *p) {
  const struct result_precision *q = p->live->precision;
  const struct result_latency *first = &q->latency[METRIC_TIME_TO_FIRST_TOKEN], *each = &q->latency[METRIC_TIME_PER_OUTPUT_TOKEN];
  put_label(p, q->knee > 0 ? "knee" : "load");
  (void)buffer_printf(p->out, "%lld in flight: ", (long long)p->live->at.concurrency);
  put_interval(p, &q->request_rate, "requests/s");
  if (q->has_tokens) {
    (void)buffer_text(p->out, ", ");
    put_interval(p, &q->output_rate, "tokens/s");
  }
  (void)buffer_text(p->out, "\n");
  put_label(p, "");
  if (first->n > 0)
    (void)buffer_printf(p->out, "TTFT p50 %s, p99 %s; ", duration(p, first->at[0].quantile.estimate),
                        duration(p, first->at[3].quantile.estimate));
  if (each->n > 0) (void)buffer_printf(p->out, "TPOT p50 %s; ", duration(p, each->at[0].quantile.estimate));
  (void)buffer_printf(p->out, "a request %s (mean)\n", duration(p, p->live->life_ns));
  if (q->n_steps == 0) return;
  put_label(p, "climb");
  for (size_t i = 0; i < q->n_steps; i++)
    (void)buffer_printf(p->out, "%s%lld: %.4g", i > 0 ? " · " : "", (long long)q->steps[i].concurrency, q->steps[i].throughput);
  (void)buffer_printf(p->out, " %s by requests in flight\n", result_throughput_unit(q));
}

static void put_life(struct page *p) {
  const struct live *live = p->live;
  if (live->n_phases == 0) return;
  put_label(p, "a request");
  for (size_t i = 0; i < live->n_phases; i++)
    (void)buffer_printf(p->out, "%s%s %s", i > 0 ? " · " : "", live->phases[i].name, duration(p, live->phases[i].mean_ns));
  (void)buffer_printf(p->out, "   = %s\n", duration(p, live->life_ns));
  if (live->phases_of_server) return;
  put_label(p, "");
  (void)buffer_text(p->out, "by the client: the server tells no queue, prefill and decode (its metrics would)\n");
}

static void put_lanes(struct page *p) {
  const struct live_account *at = &p->live->at;
  if (at->n_lanes == 0) return;
  put_label(p, "threads");
  (void)buffer_printf(p->out, "%-38s  %%: running  ready   lock  timer  network  other\n", "");
  for (size_t i = 0; i < at->n_lanes && i < LANES_SHOWN; i++) {
    const struct live_lane *l = &at->lanes[i];
    if (i > 0 && l->running + l->ready < 0.01) break;
    const char *name = arena_printf(&p->arena, "%.26s (%lld%s)", live_lane_text(&p->arena, l),
                                    (long long)(l->n_threads > 1 ? l->n_threads : l->thread), l->n_threads > 1 ? " threads" : "");
    put_label(p, "");
    (void)buffer_printf(p->out, "%-38.38s  %10.0f %6.0f %6.0f %6.0f %8.0f %6.0f\n", name, 100 * l->running, 100 * l->ready,
                        100 * l->waits[WAIT_LOCK], 100 * l->waits[WAIT_TIMER], 100 * l->waits[WAIT_NETWORK],
                        100 * (l->waits[WAIT_DISK] + l->waits[WAIT_OTHER] + l->waits[WAIT_UNKNOWN]));
  }
}

static const char *place_short(struct page *p, const char *where) {
  const char *slash = strrchr(where, '/');
  if (slash == NULL) return where;
  const char *space = strrchr(where, ' ');
  return space == NULL || space > slash ? slash + 1 : arena_printf(&p->arena, "%.*s %s", (int)(space - where), where, slash + 1);
}

static void put_parts(struct page *p, const struct live_lane *lane) {
  double shown = 0;
  put_label(p, lane == live_busiest(&p->live->at) ? "the busiest" : "");
  (void)buffer_printf(p->out, "%s, of its running time:\n", live_lane_text(&p->arena, lane));
  for (size_t i = 0; i < lane->n_parts && i < PARTS_SHOWN; i++) {
    const struct live_part *part = &lane->parts[i];
    double share = part->share / fmax(lane->running, 1e-9);
    if (share * 100 < LEAST_PART_PERCENT) break;
    const char *kind = part->spins ? "spinning: " : part->kind == LIVE_PYTHON ? "Python " : "";
    const char *name = arena_printf(&p->arena, "%s%s  %s", kind, part->what, place_short(p, part->where));
    put_label(p, "");
    (void)buffer_printf(p->out, "%3.0f %%  %-50.50s  %s\n", 100 * share, name,
                        part->attributed ? arena_printf(&p->arena, "%s, %s", layer_text(part->layer),
                                                        contract_owner(&p->live->result->contract, part->layer))
                                         : "not attributed, nobody yet");
    shown += share;
  }
  if (lane->n_parts == 0 || shown > 0.995) return;
  put_label(p, "");
  (void)buffer_printf(p->out, "%3.0f %%  %s\n", 100 * (1 - shown), "smaller parts (`--json` lists them)");
}

static void put_beside(struct page *p) {
  const struct live *live = p->live;
  put_label(p, "beside it");
  for (size_t i = 0; i < live->n_neighbours && i < 3; i++) {
    const char *name = live->neighbours[i].name, *dot = strrchr(name, '.');
    if (live->neighbours[i].processors < 0.02) break;
    (void)buffer_printf(p->out, "%.*s (pid %s) %.2f of a processor; ", dot != NULL ? (int)(dot - name) : 0, name,
                        dot != NULL ? dot + 1 : "?", live->neighbours[i].processors);
  }
  (void)buffer_printf(p->out, "%s\n", conditions_text(&live->precision->conditions, &p->arena));
}

static void put_owners(struct page *p, unsigned layers) {
  const char *before = "";
  for (int l = 0; l < LAYER_COUNT; l++)
    if (layers & LAYER_BIT(l)) {
      (void)buffer_printf(p->out, "%s%s (%s)", before, layer_text((enum layer)l),
                          contract_owner(&p->live->result->contract, (enum layer)l));
      before = ", ";
    }
  if (before[0] == 0) (void)buffer_text(p->out, "not attributed (nobody yet)");
}

static void put_findings(struct page *p) {
  const struct live *live = p->live;
  put_label(p, "suspected");
  if (live->n_findings == 0)
    (void)buffer_printf(p->out, "%s\n",
                        live->at.n_lanes > 0 ? "no remediable cause: no rule found evidence of one" : "nothing: no thread was seen");
  for (size_t i = 0; i < live->n_findings && i < FINDINGS_SHOWN; i++) {
    const struct finding *f = &live->findings[i];
    if (i > 0) put_label(p, "");
    (void)buffer_printf(p->out, "%zu %s%s%s", i + 1, strong(p, true), f->title, strong(p, false));
    if (f->named[0] != 0) (void)buffer_printf(p->out, ": %s", f->named);
    (void)buffer_text(p->out, "\n");
    put_label(p, "");
    (void)buffer_printf(p->out, "  %s\n", f->evidence);
    put_label(p, "");
    (void)buffer_text(p->out, "  whose: ");
    put_owners(p, f->contributing);
    if (f->bounded) (void)buffer_printf(p->out, "; at most %.0f %% to gain", 100 * f->bound);
    (void)buffer_printf(p->out, "\n%-11s   to confirm: %s\n", "", f->confirm);
  }
}

static void put_unseen(struct page *p) {
  const struct live *live = p->live;
  for (size_t i = 0; i < live->n_unseen; i++) {
    put_label(p, i == 0 ? "not seen" : "");
    (void)buffer_printf(p->out, "%s\n", live->unseen[i]);
  }
  put_label(p, "cost");
  if (isfinite(live->sampling_cost)) (void)buffer_printf(p->out, "sampling used %.2g %% of the processors", 100 * live->sampling_cost);
  else (void)buffer_text(p->out, "sampling: not measured");
  if (isfinite(live->profiling_cost.estimate)) {
    (void)buffer_printf(p->out, "; profilers cost %.2g %%", 100 * live->profiling_cost.estimate);
    if (live->profiling_cost.bounded)
      (void)buffer_printf(p->out, " [%.2g, %.2g]", 100 * live->profiling_cost.low, 100 * live->profiling_cost.high);
    (void)buffer_text(p->out, " of the throughput while they ran; they count into no figure");
  }
  (void)buffer_text(p->out, "\n");
}

bool live_text(const struct live *live, const char *bundle, bool color, struct buffer *ret) {
  struct page p = {.out = ret, .live = live, .color = color};
  (void)buffer_printf(ret, "%s%s%s %s: %s.\n", strong(&p, true), live->bottleneck_title, strong(&p, false), live_bound_text(live->bound),
                      live->bound_why);
  (void)buffer_printf(ret, "next: %s\n\n",
                      live->n_findings > 0 ? live->findings[0].next : arena_printf(&p.arena, "lynxbench show %s", bundle));
  put_label(&p, "bottleneck");
  (void)buffer_printf(ret, "%s\n", live->bottleneck_text);
  put_what(&p);
  put_figures(&p);
  put_life(&p);
  put_lanes(&p);
  for (size_t i = 0; i < live->at.n_lanes && i < 3; i++)
    if (i == 0 || live->at.lanes[i].running >= 0.2) put_parts(&p, &live->at.lanes[i]);
  put_beside(&p);
  put_findings(&p);
  put_unseen(&p);
  arena_release(&p.arena);
  return !ret->overflowed;
}
