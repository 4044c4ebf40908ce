/* A live run's attribution on one screen: verdict, what to do, evidence. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_verdict.h"
#include "base/shell.h"
#include "experiment/confirm.h"
#include "report/live_report.h"
#include "report/text.h"
#include "result/conditions.h"
#include "result/server_figures.h"

enum { WIDTH = 100, PARTS_SHOWN = 8, TRACED_SHOWN = 7, LANES_SHOWN = 8, LEAST_PART_PERCENT = 2, FINDINGS_SHOWN = 6 };

struct page {
  struct buffer *out;
  const struct live *live;
  const char *bundle;
  bool color;
  struct arena arena;
};

static const char *strong(const struct page *p, bool on) {
  return !p->color ? "" : on ? text_colors[TEXT_STRONG] : text_colors[TEXT_PLAIN];
}

static void put_label(const struct page *p, const char *label) {
  (void)buffer_printf(p->out, "%-11s ", label);
}

static const char *duration(struct page *p, double ns) {
  char text[48];
  return arena_copy(&p->arena, text_latency(text, sizeof text, ns));
}

/* A paragraph beside a label, wrapped; more: deeper by so many columns from the second line on. */
static void put_wrapped(const struct page *p, const char *label, int more, const char *text) {
  put_label(p, label);
  text_wrap(p->out, 12, 12 + more, WIDTH, text);
  (void)buffer_text(p->out, "\n");
}

static void put_what(struct page *p) {
  const struct live *live = p->live;
  const struct result_precision *q = live->precision;
  const char *server = live_fact(live, LAYER_SERVING, "serving.server"), *program = live_fact(live, LAYER_SERVING, "process.program"),
             *pid = live_fact(live, LAYER_SERVING, "process.id"), *model = live->result->contract.workload.model;
  int64_t n = 0;
  for (size_t i = 0; i < q->n_sessions; i++) n += q->sessions[i].n_counted;
  const char *executed = q->executed != NULL && q->executed[0] != 0 ? arena_printf(&p->arena, ", %s (executed: %s)", q->name, q->executed)
                                                                    : "";
  const char *text = arena_printf(&p->arena, "%s, %s%s%s%s; %lld processors; %lld requests counted in %.0f s",
                                  server != NULL    ? server
                                  : program != NULL ? program
                                                    : "server",
                                  model == NULL   ? "no model"
                                  : model[0] != 0 ? model
                                                  : "any model",
                                  executed, pid != NULL ? ", pid " : "", pid != NULL ? pid : "", (long long)live->n_processors,
                                  (long long)n, live->at.window_s);
  put_wrapped(p, "what", 0, text);
}

static void put_interval(const struct page *p, const struct interval *i, const char *unit) {
  (void)buffer_printf(p->out, "%.4g %s", i->estimate, unit);
  if (i->bounded) (void)buffer_printf(p->out, " [%.4g, %.4g]", i->low, i->high);
}

static void put_climb(struct page *p) {
  const struct result_precision *q = p->live->precision;
  if (q->n_steps == 0) return;
  put_label(p, "climb");
  for (size_t i = 0; i < q->n_steps; i++)
    (void)buffer_printf(p->out, "%s%lld: %.4g", i > 0 ? " · " : "", (long long)q->steps[i].concurrency, q->steps[i].throughput);
  (void)buffer_printf(p->out, " %s by requests in flight\n", result_climb_unit(q));
}

static void put_figures(struct page *p) {
  const struct result_precision *q = p->live->precision;
  const struct result_latency *first = &q->latency[METRIC_TIME_TO_FIRST_TOKEN], *each = &q->latency[METRIC_TIME_PER_OUTPUT_TOKEN];
  put_label(p, q->knee > 0 ? "knee" : "load");
  if (q->n_counted == 0) {
    (void)buffer_text(p->out, "no request was counted: an answer takes longer than the warm-up and a window: give --for more\n");
    put_climb(p);
    return;
  }
  if (isfinite(p->live->in_flight)) (void)buffer_printf(p->out, "%.3g in flight: ", p->live->in_flight);
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
  put_climb(p);
}

static void put_life(struct page *p) {
  const struct live *live = p->live;
  const char *text = "";
  if (live->n_phases == 0) return;
  for (size_t i = 0; i < live->n_phases; i++)
    text = arena_printf(&p->arena, "%s%s%s %s", text, i > 0 ? " · " : "", live->phases[i].name, duration(p, live->phases[i].mean_ns));
  put_wrapped(p, "a request", 0, arena_printf(&p->arena, "%s   = %s", text, duration(p, live->life_ns)));
  if (!live->phases_of_server) put_wrapped(p, "", 0, "by the client: the server reports no queue, prefill and decode (its metrics would)");
  for (size_t i = 0; i < live->precision->n_server; i++) {
    const struct result_server *f = &live->precision->server[i];
    char said[160];
    put_wrapped(
        p, "", 0,
        arena_printf(&p->arena, "by the server's metrics: %s %s", formulas[f->formula].name, server_figure_text(f, said, sizeof said)));
  }
}

static void put_lanes(struct page *p) {
  const struct live_account *at = &p->live->at;
  if (at->n_lanes == 0) return;
  put_label(p, "threads");
  (void)buffer_printf(p->out, "%-38s  %%: running  ready   lock  timer  network  other\n", "");
  for (size_t i = 0; i < at->n_lanes && i < LANES_SHOWN; i++) {
    const struct live_lane *l = &at->lanes[i];
    if (i > 0 && l->running + l->ready < 0.01) break;
    const char *name = arena_printf(&p->arena, "%.26s", live_lane_text(&p->arena, l));
    if (l->thread != 0)
      name = arena_printf(&p->arena, "%s (%lld%s)", name, (long long)(l->n_threads > 1 ? l->n_threads : l->thread),
                          l->n_threads > 1 ? " threads" : "");
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
    const char *name = arena_printf(&p->arena, "%s%s  %s", kind, part->what, place_short(p, live_part_where(&p->arena, part)));
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

/* By the server's own profiler: one process each. */
static void put_traced(struct page *p) {
  for (size_t i = 0; i < p->live->n_traced; i++) {
    const struct live_traced *t = &p->live->traced[i];
    double shown = 0;
    put_label(p, i == 0 ? "its profiler" : "");
    (void)buffer_printf(p->out, "%s (%lld), of %.2f s that its own profiler recorded:\n", t->program[0] != 0 ? t->program : "process",
                        (long long)t->process, t->window_s);
    for (size_t k = 0; k < t->n_parts && k < TRACED_SHOWN && 100 * t->parts[k].share >= LEAST_PART_PERCENT; k++) {
      const struct live_traced_part *part = &t->parts[k];
      const char *name = arena_printf(&p->arena, "%s  %s", part->what, place_short(p, part->where));
      put_label(p, "");
      (void)buffer_printf(p->out, "%3.0f %%  %-50.50s  %s\n", 100 * part->share, name,
                          part->attributed ? arena_printf(&p->arena, "%s, %s", layer_text(part->layer),
                                                          contract_owner(&p->live->result->contract, part->layer))
                                           : "not attributed, nobody yet");
      shown += part->share;
    }
    put_label(p, "");
    (void)buffer_printf(p->out, "%3.0f %%  %s\n", 100 * fmax(0, 1 - shown), "smaller parts (`--json` lists them)");
  }
  for (size_t i = 0; i < p->live->n_trace_files; i++) put_wrapped(p, i == 0 ? "traces" : "", 0, p->live->trace_files[i]);
}

static void put_beside(struct page *p) {
  const struct live *live = p->live;
  const char *text = "";
  for (size_t i = 0; i < live->n_neighbours && i < 3; i++) {
    const char *name = live->neighbours[i].name;
    size_t n = live_program_length(name);
    if (live->neighbours[i].processors < 0.02) break;
    text = arena_printf(&p->arena, "%s%.*s (pid %s) %.2f of a processor; ", text, name[n] != 0 ? (int)n : 0, name,
                        name[n] != 0 ? name + n + 1 : "?", live->neighbours[i].processors);
  }
  put_wrapped(
      p, "beside it", 0,
      arena_printf(&p->arena, "%s%s%s", text, conditions_text(&live->precision->conditions, &p->arena), live_power_text(live, &p->arena)));
}

static void put_ceilings(struct page *p) {
  put_wrapped(p, "ceilings", 0, live_roofline_text(p->live, &p->arena));
}

static const char *owners_text(struct page *p, unsigned layers) {
  const char *text = "";
  for (int l = 0; l < LAYER_COUNT; l++)
    if (layers & LAYER_BIT(l))
      text = arena_printf(&p->arena, "%s%s%s (%s)", text, text[0] != 0 ? ", " : "", layer_text((enum layer)l),
                          contract_owner(&p->live->result->contract, (enum layer)l));
  return text[0] != 0 ? text : "not attributed (nobody yet)";
}

static void put_findings(struct page *p) {
  const struct live *live = p->live;
  struct arena *arena = &p->arena;
  if (live->n_findings == 0)
    put_wrapped(p, "suspected", 0,
                live->at.n_lanes > 0 ? "no remediable cause: no rule found evidence of one" : "nothing: no thread was seen");
  bool starts = contract_states(&live->result->contract, "executor.start"), twin = live->result->observed;
  for (size_t i = 0; i < live->n_findings && i < FINDINGS_SHOWN; i++) {
    const struct finding *f = &live->findings[i];
    put_wrapped(
        p, i == 0 || strcmp(finding_status(f), finding_status(f - 1)) != 0 ? finding_status(f) : "", 2,
        arena_printf(arena, "%zu %s%s%s%s%s", i + 1, strong(p, true), f->title, strong(p, false), f->named[0] != 0 ? ": " : "", f->named));
    put_wrapped(p, "", 2, arena_printf(arena, "  %s", f->evidence));
    put_wrapped(p, "", 2,
                arena_printf(arena, "  whose: %s%s", owners_text(p, f->contributing),
                             f->bounded ? arena_printf(arena, "; at most %.0f %% to gain", 100 * f->bound) : ""));
    if (f->experiment[0] != 0) put_wrapped(p, "", 2, arena_printf(arena, "  by experiment: %s", f->experiment));
    bool more = f->confirm_by != NULL && f->confirm_by[0] != 0;
    const char *command = arena_printf(arena, "lynxbench confirm %s %s%s", shell_word(p->bundle), f->id, more ? f->confirm_by : "");
    put_wrapped(p, "", 2,
                !twin && confirm_is_possible(f, starts)
                    ? arena_printf(arena, "  to confirm: %s (%s%s)", text_kept(arena, command),
                                   more ? "its executor.start starts the server; " : "", f->confirm)
                    : arena_printf(arena, "  to confirm, %s: %s", twin ? "on a twin, never here" : "by hand", f->confirm));
  }
}

static void put_unseen(struct page *p) {
  const struct live *live = p->live;
  struct arena *arena = &p->arena;
  for (size_t i = 0; i < live->n_unseen; i++) put_wrapped(p, i == 0 ? "not seen" : "", 0, live->unseen[i]);
  const char *cost = isfinite(live->around.sampling_cost)
                         ? arena_printf(arena, "sampling used %.2g %% of the processors", 100 * live->around.sampling_cost)
                         : "sampling: not measured";
  if (isfinite(live->profiling_cost.estimate)) cost = arena_printf(arena, "%s; %s", cost, live_profiling_text(live, arena));
  put_wrapped(p, "cost", 0, cost);
}

/* What is named there is what the advice is about. */
static void put_next(struct page *p) {
  const struct finding *first = p->live->n_findings > 0 ? &p->live->findings[0] : NULL;
  if (first != NULL && first->named[0] != 0) (void)buffer_printf(p->out, "next: %s: %s\n\n", first->named, first->next);
  else if (first != NULL) (void)buffer_printf(p->out, "next: %s\n\n", first->next);
  else if (p->live->at.n_lanes == 0) (void)buffer_printf(p->out, "next: %s\n\n", live_unseen(p->live, &p->arena));
  else (void)buffer_printf(p->out, "next: lynxbench show %s\n\n", shell_word(p->bundle));
}

bool live_text(const struct live *live, const char *bundle, bool color, struct buffer *ret) {
  ret->shown = true;
  struct page p = {.out = ret, .live = live, .bundle = bundle, .color = color};
  size_t title = strlen(live->bottleneck_title);
  (void)buffer_printf(ret, "%s%.*s%s (%s).\n", strong(&p, true), (int)(title > 0 ? title - 1 : 0), live->bottleneck_title,
                      strong(&p, false), live_bound_text(live->bound));
  put_next(&p);
  put_wrapped(&p, "bottleneck", 0, live->bottleneck_text);
  put_wrapped(&p, "", 0, arena_printf(&p.arena, "%s: %s", live_bound_text(live->bound), live->bound_why));
  put_what(&p);
  put_figures(&p);
  put_life(&p);
  put_lanes(&p);
  for (size_t i = 0; i < live->at.n_lanes && i < 3; i++)
    if (i == 0 || live->at.lanes[i].running >= 0.2) put_parts(&p, &live->at.lanes[i]);
  put_traced(&p);
  put_ceilings(&p);
  put_beside(&p);
  put_findings(&p);
  put_unseen(&p);
  arena_release(&p.arena);
  return !ret->overflowed;
}
