#include "report/precision_report.h"

#include <math.h>

enum { NAME = 300 };
#define LENGTH_APART 0.1 /* answers that much shorter or longer: another behaviour, whatever the score says */
#define FLIPS_MUCH 0.1   /* of the questions */

static void put_verdict(const struct precision_report *r, bool color, struct buffer *out) {
  const struct precision_judgement *j = r->judgement;
  const struct precision_task *worst = &j->tasks[j->worst];
  const double margin = 100 * j->margin;
  (void)buffer_text(out, color ? text_colors[TEXT_STRONG] : "");
  if (j->decision == PRECISION_GO)
    (void)buffer_printf(out, "Go: it loses less than %.3g point%s on %s%zu task%s.", margin, LYNX_S(margin),
                        j->n_tasks == 1 ? "" : "each of ", j->n_tasks, LYNX_S(j->n_tasks));
  else if (j->decision == PRECISION_NO_GO)
    (void)buffer_printf(out, "No-go: on %s it loses more than %.3g point%s: %.3g [%.3g, %.3g].", worst->name, margin, LYNX_S(margin),
                        100 * worst->difference.estimate, 100 * worst->difference.low, 100 * worst->difference.high);
  else if (j->incomplete && worst->difference.low > -j->margin)
    (void)buffer_text(out, "Not decided: what was answered on both sides is not all: tasks or questions are on one side only.");
  else
    (void)buffer_printf(out, "Not decided: on %s it may lose %.3g points, and no more than %.3g may be lost.", worst->name,
                        -100 * worst->difference.low, margin);
  (void)buffer_printf(out, "%s\n", color ? text_colors[TEXT_PLAIN] : "");
  if (j->decision == PRECISION_GO) (void)buffer_text(out, "next: the same load under both: lynxbench compare BEFORE.yaml AFTER.yaml\n");
  else if (j->decision == PRECISION_NO_GO) (void)buffer_text(out, "next: another precision, or the old one for the layers that lose\n");
  else if (worst->needed > worst->counts.n)
    (void)buffer_printf(out, "next: about %zu more questions of %s\n", worst->needed - worst->counts.n, worst->name);
  else
    (void)buffer_printf(out, "next: more questions of %s; of these no number decides: what it loses is as much as the margin\n",
                        worst->name);
}

static void put_task(const struct precision_task *t, struct buffer *out) {
  double n = (double)t->counts.n;
  char name[NAME];
  (void)text_format(name, sizeof name, "%s: %s", t->name, t->metric);
  (void)buffer_printf(out, "  %-34.34s %7zu %8.2f %8.2f  %6.2f [%.2f, %.2f]", name, t->counts.n, 100 * t->before, 100 * t->after,
                      100 * t->difference.estimate, 100 * t->difference.low, 100 * t->difference.high);
  (void)buffer_printf(out, "  %zu, %zu (%.3g %%)", t->counts.lost, t->counts.won, 100 * (double)(t->counts.lost + t->counts.won) / n);
  if (isfinite(t->exact)) (void)buffer_printf(out, "  %.3g", t->exact);
  (void)buffer_text(out, "\n");
}

static bool is_of_other_length(const struct precision_task *t) {
  return fabs(t->length_ratio - 1) > LENGTH_APART;
}

static double flips(const struct precision_task *t) {
  return (double)(t->counts.lost + t->counts.won) / (double)t->counts.n;
}

static bool flips_much(const struct precision_task *t) {
  return t->binary && flips(t) > FLIPS_MUCH;
}

static void put_alarms(const struct precision_judgement *j, struct buffer *out) {
  for (size_t i = 0; i < j->n_tasks; i++) {
    const struct precision_task *t = &j->tasks[i];
    if (is_of_other_length(t))
      (void)buffer_printf(out, "  alarm        %s: its answers are %.3g times as long\n", t->name, t->length_ratio);
    if (flips_much(t)) (void)buffer_printf(out, "  alarm        %s: %.3g %% of its answers changed sides\n", t->name, 100 * flips(t));
  }
}

bool precision_report_text(const struct precision_report *r, bool color, struct buffer *out) {
  const struct precision_judgement *j = r->judgement;
  out->shown = true;
  put_verdict(r, color, out);
  (void)buffer_printf(out, "\n  %-34s %7s %8s %8s  %-22s  %-18s  %s\n", "", "n", "before", "after", "difference", "lost, won",
                      "p (McNemar)");
  for (size_t i = 0; i < j->n_tasks; i++) put_task(&j->tasks[i], out);
  (void)buffer_printf(out, "\n  %-12s %s, %s; in points of 100, at %.3g %%; the margin of %.3g point%s was given before\n", "files",
                      r->before, r->after, 100 * r->confidence, 100 * j->margin, LYNX_S(100 * j->margin));
  if (j->n_only_before + j->n_only_after + j->n_other_prompt > 0)
    (void)buffer_printf(out, "  %-12s %zu and %zu questions are on one side only, %zu have another prompt or metric\n", "left out",
                        j->n_only_before, j->n_only_after, j->n_other_prompt);
  put_alarms(j, out);
  (void)buffer_printf(out, "  %-12s tasks that were not run, speed, cost, and whether the device computes in that type at all\n",
                      "not said");
  return !out->overflowed;
}

static void json_difference(struct json_writer *json, const char *key, const struct paired_difference *d) {
  json_key(json, key);
  json_open_object(json);
  json_put_double(json, "estimate", d->estimate);
  json_put_double(json, "low", d->low);
  json_put_double(json, "high", d->high);
  json_close(json);
}

static void json_task(const struct precision_task *t, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "task", t->name);
  json_put_text(json, "metric", t->metric);
  json_put_int(json, "n", (int64_t)t->counts.n);
  json_put_double(json, "before", t->before);
  json_put_double(json, "after", t->after);
  json_difference(json, "difference", &t->difference);
  json_difference(json, "corrected", &t->corrected);
  json_put_int(json, "lost", (int64_t)t->counts.lost);
  json_put_int(json, "won", (int64_t)t->counts.won);
  json_put_double(json, "mcnemar_p", t->exact);
  json_put_double(json, "length_ratio", t->length_ratio);
  json_put_bool(json, "alarm_length", is_of_other_length(t));
  json_put_bool(json, "alarm_changed_sides", flips_much(t));
  if (t->needed > 0) json_put_int(json, "questions_that_would_decide", (int64_t)t->needed);
  json_close(json);
}

void precision_report_json(const struct precision_report *r, struct json_writer *json) {
  const struct precision_judgement *j = r->judgement;
  json_put_text(json, "verdict", precision_decision_text(j->decision));
  json_put_double(json, "margin", j->margin);
  json_put_double(json, "confidence", r->confidence);
  json_put_bool(json, "incomplete", j->incomplete);
  json_put_int(json, "paired", (int64_t)j->n_paired);
  json_put_int(json, "only_before", (int64_t)j->n_only_before);
  json_put_int(json, "only_after", (int64_t)j->n_only_after);
  json_put_int(json, "other_prompt", (int64_t)j->n_other_prompt);
  json_put_text(json, "worst", j->tasks[j->worst].name);
  json_key(json, "tasks");
  json_open_array(json);
  for (size_t i = 0; i < j->n_tasks; i++) json_task(&j->tasks[i], json);
  json_close(json);
}
