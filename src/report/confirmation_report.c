#include "report/confirmation_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/percent.h"
#include "report/sensitivity_report.h"
#include "stats/special.h"

static const char *after_colon(const char *target) {
  const char *colon = strstr(target, ": ");
  return colon != NULL ? colon + 2 : target;
}

/* "1 % less speed of python3 costs 0.81 % [0.74, 0.88] of the throughput"; "without affinity: every processor, throughput is ..." */
static void put_effect(const struct confirmation_view *v, struct buffer *out) {
  const struct confirmation *c = v->confirmation;
  const struct slope *e = &c->effect;
  const bool latency = c->response != RESPONSE_THROUGHPUT;
  if (v->plan->takes_away) {
    (void)buffer_printf(out, "%s (%s): %s ", v->plan->perturbers[0] != NULL ? "Taken away and put back" : "Swapped, from the run's level",
                        c->of->target, latency ? "latency falls by" : "throughput");
    put_percent(out, e->estimate, e->bounded ? e->low : NAN, e->bounded ? e->high : NAN);
    (void)buffer_printf(out, "; the threshold was %+.0f %%.\n", special_percent(v->plan->threshold));
    return;
  }
  char text[64];
  (void)buffer_printf(out, "1 %% slower %s costs %s %% of the %s; the threshold was %.2f.\n", after_colon(c->of->target),
                      sensitivity_slope_text(text, sizeof text, e, false), latency ? "end-to-end latency" : "throughput",
                      v->plan->threshold);
  /* What the blocks leave open beyond proportion is no promise: one resource gives no more than its own speed, unless it was seen to. */
  double most = e->low > 1 ? e->high : fmin(e->high, 1);
  if (c->verdict == CONFIRM_CONFIRMED && !latency && e->high > 0)
    (void)buffer_printf(out, "  Making it 10 %% faster gives at most %.1f %%, where throughput is concave in speed.\n",
                        100 * sensitivity_gain_at_most(c->of, most));
  if (c->by_smaller)
    (void)buffer_printf(out,
                        "  That is by the smaller level alone, x %.2g: at x %.2g it costs %s, so that what bounds the throughput changes "
                        "in between.\n",
                        c->of->levels[0].given, c->of->levels[c->of->n_levels - 1].given,
                        c->of->curvature.low > 0 ? "more for each percent" : "less for each percent");
}

static void put_others(const struct confirmation_view *v, struct buffer *out) {
  char text[64];
  for (size_t i = 0; i < v->all->n; i++) {
    const struct sensitivity *s = &v->all->items[i];
    if (s == v->confirmation->of || s->perturber == NULL || sensitivity_takes_away(s)) continue;
    (void)buffer_printf(out, "  beside it: %s: %s\n", s->target,
                        sensitivity_slope_text(text, sizeof text, &s->of[v->confirmation->response], false));
  }
}

/* What the same blocks and the same reckoning find where nothing was done. */
static void put_control(const struct confirmation_view *v, struct buffer *out) {
  const struct slope *control = &v->all->control;
  if (!control->bounded) return;
  (void)buffer_printf(out, "  Control: undisturbed blocks differ in %s from one another by ",
                      v->confirmation->response == RESPONSE_THROUGHPUT ? "throughput" : "end-to-end latency");
  put_percent(out, control->estimate, control->low, control->high);
  (void)buffer_text(out,
                    v->confirmation->control_moved
                        ? ".\n  That alone is as much as the threshold: something else changed in step with the blocks, and nothing is "
                          "decided.\n"
                        : ", although nothing was done in any.\n");
}

static void put_next(const struct confirmation_view *v, struct buffer *out) {
  const struct confirmation *c = v->confirmation;
  const struct finding *f = v->plan->finding;
  const char *perturber = v->plan->perturbers[0];
  if (c->verdict == CONFIRM_INCONCLUSIVE && perturber == NULL)
    (void)buffer_text(out, "next: the experiment with more --rounds (--resume keeps what was measured)\n");
  else if (c->of_process)
    (void)buffer_printf(
        out,
        "next: write a contract that starts the server (executor.start), run it, and confirm %s of that run: then that code "
        "alone is slowed\n",
        f->id);
  else if (c->absent) (void)buffer_text(out, "next: diagnose or run it again: what the finding was about is gone\n");
  else if (c->of == NULL && !c->ambiguous && perturber != NULL && strcmp(perturber, "disk") == 0)
    (void)buffer_printf(out, "next: reads alone are kept back, and no writes or flushes; by hand: %s\n", f->confirm);
  else if (c->of == NULL && !c->ambiguous)
    (void)buffer_text(out, "next: diagnose or run it again: what the finding is about may be gone\n");
  else if (c->saturated)
    (void)buffer_text(out,
                      "  It holds that lock nearly all the time: slower, it takes no more of it from the others. That refutes nothing.\n"
                      "next: take it out, or let it run seldom, and measure again (`lynxbench compare`)\n");
  else if (c->control_moved) (void)buffer_text(out, "next: the same when nothing else changes on this machine, or with --for 10min\n");
  else if (c->impossible) (void)buffer_text(out, "next: look at what it waits for: `lynxbench attribute`, or `lynxbench perturb`\n");
  else if (c->verdict == CONFIRM_INCONCLUSIVE && c->of != NULL) (void)buffer_text(out, "next: the same with --for 10min\n");
  else if (c->verdict == CONFIRM_CONFIRMED) (void)buffer_printf(out, "next: %s\n", f->next);
  else if (c->verdict == CONFIRM_REMEDIED)
    (void)buffer_printf(out, "next: keep %s if it costs nothing else (`lynxbench verify` both); what it mended is not known by this\n",
                        v->plan->knob);
  else if (c->verdict == CONFIRM_NOT_REMEDIED) (void)buffer_printf(out, "next: try another remedy, or by hand: %s\n", f->confirm);
  else if (c->verdict == CONFIRM_REFUTED) (void)buffer_text(out, "next: leave it; look at the other findings, or `lynxbench perturb`\n");
}

bool confirmation_text(const struct confirmation_view *v, bool color, struct buffer *out) {
  out->shown = true;
  const char *strong = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  const struct confirmation *c = v->confirmation;
  const struct finding *f = v->plan->finding;
  (void)buffer_printf(out, "%s%s: %s%s%s%s%s\n", strong, f->id, confirm_verdict_text(c->verdict), plain,
                      c->verdict == CONFIRM_INCONCLUSIVE ? "" : " (", c->verdict == CONFIRM_INCONCLUSIVE ? "" : rung_text(c->rung),
                      c->verdict == CONFIRM_INCONCLUSIVE ? "" : ")");
  (void)buffer_printf(out, "  %s%s%s\n", f->title, f->named[0] != 0 ? ": " : "", f->named);
  if (c->of_process)
    (void)buffer_printf(
        out, "  %sOf its process it is confirmed (%s)%s: the whole of %s bounds what is measured. Of the code in it, nothing is.\n", strong,
        rung_text(c->rung), plain, after_colon(c->of->target));
  if (c->ambiguous)
    (void)buffer_printf(out, "  Several processes are called %s: which of them the finding is about is not known.\n", f->process);
  else if (c->absent) (void)buffer_text(out, "  It takes no time in this executor:\n");
  else if (c->of == NULL) (void)buffer_text(out, "  It was not probed.\n");
  else {
    (void)buffer_text(out, "  ");
    put_effect(v, out);
    if (c->impossible)
      (void)buffer_text(out, "  That is far more than all of the time: likely it waits in a loop, for somebody who waits for it. "
                             "Its time is no cost of its own.\n");
  }
  put_control(v, out);
  if (v->all->too_few)
    (void)buffer_printf(
        out, "  A block holds %.2g answers: too few to decide by. Slower blocks come with a run that knows how long an answer takes.\n",
        v->all->answers);
  if (v->plan->instead != NULL) (void)buffer_printf(out, "  What was tried: %s\n", v->plan->instead);
  put_others(v, out);
  if (v->plan->perturbers[0] != NULL) sensitivity_blocks_text(v->all, out);
  for (size_t i = 0; i < v->n_unprobed; i++) (void)buffer_printf(out, "  %s %s\n", i == 0 ? "unprobed:" : "         ", v->unprobed[i]);
  put_next(v, out);
  return !out->overflowed;
}

void confirmation_json(const struct confirmation_view *v, struct json_writer *json) {
  const struct confirmation *c = v->confirmation;
  json_put_text(json, "finding", v->plan->finding->id);
  json_put_text(json, "title", v->plan->finding->title);
  json_put_text(json, "named", v->plan->finding->named);
  json_put_text(json, "verdict", confirm_verdict_text(c->verdict));
  json_put_text(json, "rung", rung_text(c->verdict == CONFIRM_INCONCLUSIVE ? RUNG_ACCOUNTED : c->rung));
  json_put_text(json, "target", c->of != NULL ? c->of->target : NULL);
  json_put_text(json, "response", response_text(c->response));
  json_put_text(json, "form", v->plan->takes_away ? "ln of the ratio to the undisturbed" : "elasticity");
  json_put_double(json, "threshold", v->plan->threshold);
  json_put_double(json, "estimate", c->of != NULL ? c->effect.estimate : NAN);
  json_put_double(json, "low", c->effect.bounded ? c->effect.low : NAN);
  json_put_double(json, "high", c->effect.bounded ? c->effect.high : NAN);
  json_put_bool(json, "by_smaller_level", c->by_smaller);
  json_put_bool(json, "more_than_all_of_the_time", c->impossible);
  json_put_bool(json, "absent", c->absent);
  json_put_double(json, "control", v->all->control.bounded ? v->all->control.estimate : NAN);
  json_put_double(json, "control_low", v->all->control.bounded ? v->all->control.low : NAN);
  json_put_double(json, "control_high", v->all->control.bounded ? v->all->control.high : NAN);
  json_put_bool(json, "control_moved", c->control_moved);
  json_put_text(json, "of_its_process", c->of_process ? "confirmed" : NULL);
  if (v->plan->instead != NULL) json_put_text(json, "instead", v->plan->instead);
}

/* --- beside the account --- */

/* What it means that an experiment and the account disagree. */
static const char *disagreement(const struct finding *f, bool takes_away) {
  if (takes_away) return "; taken away, it gained less than that: what the account saw of it was waited for by nobody";
  return f->share >= 0.1 ? "; a share of time that costs little when it is slowed is off the critical path: others work meanwhile" : "";
}

/* As the entry says; an entry that is wrong about it says at least of which form it is. */
static enum rung rung_of(const struct standing_confirmation *c, bool takes_away) {
  for (enum rung rung = RUNG_PERTURBED; rung <= RUNG_FACTORIAL; rung++)
    if (strcmp(c->rung, rung_text(rung)) == 0) return rung;
  return takes_away ? RUNG_SWAPPED_BACK : RUNG_PERTURBED;
}

bool confirmation_apply(const struct standing_confirmation *c, struct finding *f) {
  char effect[120] = "";
  bool takes_away = strncmp(c->form, "ln", 2) == 0;
  if (strcmp(c->finding, f->id) != 0 || strcmp(c->named, f->named) != 0) return false;
  if (isfinite(c->low) && isfinite(c->high))
    (void)snprintf(effect, sizeof effect,
                   takes_away ? ": %+.1f %% [%+.1f, %+.1f], threshold %+.0f %%" : ": %.2f [%.2f, %.2f], threshold %.2f",
                   takes_away ? special_percent(c->estimate) : c->estimate, takes_away ? special_percent(c->low) : c->low,
                   takes_away ? special_percent(c->high) : c->high, takes_away ? special_percent(c->threshold) : c->threshold);
  f->refuted = strcmp(c->verdict, "refuted") == 0;
  if (strcmp(c->verdict, "confirmed") == 0) f->rung = rung_of(c, takes_away);
  else if (f->rung > RUNG_ACCOUNTED) f->rung = RUNG_ACCOUNTED;
  (void)snprintf(f->experiment, sizeof f->experiment, "%s (%s)%s, by %s (entry %llu)%s", c->verdict, rung_text(rung_of(c, takes_away)),
                 effect, c->by, (unsigned long long)c->index, f->refuted ? disagreement(f, takes_away) : "");
  return true;
}
