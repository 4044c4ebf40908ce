#include "report/upgrade_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/sensitivity_report.h"

enum { NAMES = UPGRADE_PARTS_MAX * 2 * UPGRADE_TEXT };

static const char *figure_words(enum response figure) {
  return figure == RESPONSE_THROUGHPUT ? "throughput at the same number in flight" : "median end-to-end latency of the same load";
}

static void put_load(const struct sensitivities *m, struct buffer *out) {
  if (m->open_load) (void)buffer_printf(out, "%.4g requests/s offered", m->rate_per_s);
  else (void)buffer_printf(out, "%lld request%s in flight", (long long)m->in_flight, m->in_flight == 1 ? "" : "s");
}

/* --- the verdict, and what to do next --- */

static void put_doubt(const struct doubt *d, struct buffer *out) {
  char name[2 * UPGRADE_TEXT];
  if (d->part != NULL) (void)buffer_printf(out, "%s: ", upgrade_part_name(d->part, name, sizeof name));
  (void)buffer_text(out, doubt_text(d->kind));
}

static void put_verdict(const struct upgrade_report *r, bool color, struct buffer *out) {
  const struct upgrade_judgement *j = r->judgement;
  (void)buffer_text(out, color ? text_colors[TEXT_STRONG] : "");
  if (j->decision == DECISION_DOES_NOT_HELP)
    (void)buffer_printf(out, "It does not help: at most x%.4g, and it pays from x%.4g on (%s).", j->upper, r->question->wanted,
                        figure_words(j->figure));
  else {
    (void)buffer_text(out, "Cannot decide, because ");
    put_doubt(&j->doubts[0], out);
    (void)buffer_text(out, ".");
    if (isfinite(j->upper)) (void)buffer_printf(out, " At most x%.4g; it pays from x%.4g on.", j->upper, r->question->wanted);
  }
  (void)buffer_printf(out, "%s\n", color ? text_colors[TEXT_PLAIN] : "");
}

/* All perturbers that would measure what was not. */
static void put_perturbers(const struct upgrade_judgement *j, enum doubt_kind kind, struct buffer *out) {
  const char *said[UPGRADE_PARTS_MAX];
  size_t n = 0;
  for (size_t i = 0; i < j->n_doubts; i++) {
    const struct doubt *d = &j->doubts[i];
    if (d->kind != kind || d->part == NULL || d->part->resource->measured_by[0] == NULL) continue;
    size_t k = 0;
    while (k < n && strcmp(said[k], d->part->resource->measured_by[0]) != 0) k++;
    if (k < n || n == UPGRADE_PARTS_MAX) continue;
    said[n++] = d->part->resource->measured_by[0];
    (void)buffer_printf(out, "%s%s", n > 1 ? "," : "", said[n - 1]);
  }
}

static const char *trial = "try one: run the contract of this bundle on it, then lynxbench compare OLD.lynx NEW.lynx";

/* The speed alone can be judged. */
static void put_without_capacity(const struct upgrade_report *r, struct buffer *out) {
  struct upgrade speed = {.n = 0};
  char text[NAMES];
  for (size_t i = 0; i < r->question->upgrade->n; i++)
    if (!r->question->upgrade->parts[i].resource->is_capacity && r->question->upgrade->parts[i].factor != 1)
      speed.parts[speed.n++] = r->question->upgrade->parts[i];
  (void)buffer_text(out, trial);
  if (speed.n > 0) (void)buffer_printf(out, "; of the speed alone: --upgrade '%s'", upgrade_text(&speed, text, sizeof text));
  (void)buffer_text(out, "\n");
}

static void put_next(const struct upgrade_report *r, struct buffer *out) {
  const struct upgrade_judgement *j = r->judgement;
  (void)buffer_text(out, "next: ");
  if (j->decision == DECISION_DOES_NOT_HELP) {
    if (j->n_alternatives > 0)
      (void)buffer_printf(out, "what software would gain: %s, at most x%.3g\n", j->alternatives[0]->target,
                          alternative_gain(j->alternatives[0], j->figure));
    else (void)buffer_text(out, "find what limits it: lynxbench diagnose URL\n");
    return;
  }
  switch (j->doubts[0].kind) {
    case DOUBT_UNPROBED:
      (void)buffer_text(out, "lynxbench perturb CONTRACT --only ");
      put_perturbers(j, DOUBT_UNPROBED, out);
      (void)buffer_text(out, ", then this command with its bundle\n");
      break;
    case DOUBT_UNBOUNDED: (void)buffer_text(out, "lynxbench perturb CONTRACT --for 5min, then this command with its bundle\n"); break;
    case DOUBT_WIDE:
      (void)buffer_printf(out, "lynxbench perturb CONTRACT --for LONGER: about %.2g times the blocks of this run would do\n",
                          ceil(10 * j->doubts[0].times) / 10);
      break;
    case DOUBT_IMPOSSIBLE: (void)buffer_text(out, "slow what it waits for: lynxbench perturb CONTRACT without --only\n"); break;
    case DOUBT_OTHER_DEVICE: (void)buffer_text(out, "measure on the device that would be replaced, or name another --from\n"); break;
    case DOUBT_CAPACITY: put_without_capacity(r, out); break;
    case DOUBT_OTHER_CODE:
    case DOUBT_STEPS:
    case DOUBT_NO_PERTURBER:
    case DOUBT_ONLY_A_TRIAL:
    default: (void)buffer_printf(out, "%s\n", trial); break;
  }
}

/* --- what it rests on --- */

static void put_basis(const struct upgrade_report *r, struct buffer *out) {
  char text[NAMES];
  const struct upgrade_question *q = r->question;
  (void)buffer_printf(out, "  %-12s %s (%s)\n", "upgrade", upgrade_text(q->upgrade, text, sizeof text),
                      q->from != NULL ? "peaks as published" : "as you declared it");
  if (q->from != NULL)
    (void)buffer_printf(out, "  %-12s %s to %s, read on %s from: %s%s%s\n", "devices", q->from->name, q->to->name, devices_read_on,
                        q->from->source, q->from->source == q->to->source ? "" : "; ",
                        q->from->source == q->to->source ? "" : q->to->source);
  (void)buffer_printf(out, "  %-12s ", "measured at");
  put_load(r->measured, out);
  if (r->result->accelerator != NULL && r->result->accelerator[0] != 0) (void)buffer_printf(out, " on %s", r->result->accelerator);
  (void)buffer_printf(out, "; contract %s, bundle %.8s\n", r->result->contract.name, r->result->seal.root);
}

static void put_part(const struct judged_part *p, struct buffer *out) {
  char name[2 * UPGRADE_TEXT], slope[64];
  for (size_t i = 0; i < p->n && !p->ignored; i++)
    (void)buffer_printf(out, "  %-12s %s: 1 %% slower costs %s %%, up to x%.3g slower (%s)%s\n", "effect",
                        upgrade_part_name(p->part, name, sizeof name),
                        sensitivity_slope_text(slope, sizeof slope, &p->elasticity[i], false), p->slowness[i], p->measured[i]->target,
                        p->falls ? "; less the slower it is, so that the serial form does not hold" : "");
}

static void put_bound(const struct upgrade_judgement *j, struct buffer *out) {
  bool falls = false;
  for (size_t i = 0; i < j->n_parts; i++) falls = falls || (!j->parts[i].ignored && j->parts[i].falls);
  if (isfinite(j->concave)) {
    (void)buffer_printf(out, "  %-12s x%.3g of the %s", "bound", j->concave, figure_words(j->figure));
    if (!falls) (void)buffer_printf(out, "; x%.3g if its time is spent one thing after another; about x%.3g then", j->serial, j->estimate);
    (void)buffer_text(out, "\n");
  }
  if (j->factor > 1 && j->figure == RESPONSE_THROUGHPUT)
    (void)buffer_printf(out, "  %-12s x%.3g: nothing becomes faster by more\n", "ratio", j->factor);
}

static void put_others(const struct upgrade_report *r, struct buffer *out) {
  const struct upgrade_judgement *j = r->judgement;
  if (j->next != NULL)
    (void)buffer_printf(out, "  %-12s %s: 1 %% slower costs %.2f %%\n", "next limit", j->next->target, j->next->of[j->figure].estimate);
  for (size_t i = 0; i < j->n_alternatives; i++) {
    const struct sensitivity *s = j->alternatives[i];
    enum layer layer;
    (void)buffer_printf(out, "  %-12s %s: %s x%.3g", i == 0 ? "instead" : "", s->target,
                        sensitivity_takes_away(s) ? "taken away, at most" : "twice as fast, at most", alternative_gain(s, j->figure));
    if (sensitivity_layer(s, &layer)) (void)buffer_printf(out, " (%s, %s)", layer_text(layer), contract_owner(&r->result->contract, layer));
    (void)buffer_text(out, "\n");
  }
}

bool upgrade_report_text(const struct upgrade_report *r, bool color, struct buffer *out) {
  const struct upgrade_judgement *j = r->judgement;
  out->shown = true;
  put_verdict(r, color, out);
  put_next(r, out);
  (void)buffer_text(out, "\n");
  put_basis(r, out);
  for (size_t i = 0; i < j->n_parts; i++) put_part(&j->parts[i], out);
  put_bound(j, out);
  (void)buffer_printf(out, "  %-12s x%.4g: %s\n", "pays from", r->question->wanted, r->by_price ? "the ratio of prices" : "the margin");
  for (size_t i = 1; i < j->n_doubts; i++) {
    (void)buffer_printf(out, "  %-12s ", i == 1 ? "also" : "");
    put_doubt(&j->doubts[i], out);
    (void)buffer_text(out, "\n");
  }
  put_others(r, out);
  (void)buffer_printf(out, "  %-12s what it can carry under an objective, and what it costs to run: neither was judged\n", "not said");
  return !out->overflowed;
}

/* --- JSON --- */

static void json_part(const struct judged_part *p, struct json_writer *json) {
  char name[2 * UPGRADE_TEXT];
  json_open_object(json);
  json_put_text(json, "resource", upgrade_part_name(p->part, name, sizeof name));
  json_put_double(json, "factor", p->part->factor);
  json_put_text(json, "size", p->part->size[0] != 0 ? p->part->size : NULL);
  json_put_bool(json, "counts", !p->ignored);
  json_put_bool(json, "falls_with_slowness", p->falls);
  json_key(json, "measured");
  json_open_array(json);
  for (size_t i = 0; i < p->n; i++) {
    const struct slope *e = &p->elasticity[i];
    json_open_object(json);
    json_put_text(json, "target", p->measured[i]->target);
    json_put_double(json, "elasticity", e->estimate);
    json_put_double(json, "low", e->bounded ? e->low : NAN);
    json_put_double(json, "high", e->bounded ? e->high : NAN);
    json_put_double(json, "up_to_slowness", p->slowness[i]);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

static void json_alternatives(const struct upgrade_report *r, struct json_writer *json) {
  const struct upgrade_judgement *j = r->judgement;
  json_key(json, "alternatives");
  json_open_array(json);
  for (size_t i = 0; i < j->n_alternatives; i++) {
    enum layer layer;
    bool known = sensitivity_layer(j->alternatives[i], &layer);
    json_open_object(json);
    json_put_text(json, "target", j->alternatives[i]->target);
    json_put_text(json, "how", sensitivity_takes_away(j->alternatives[i]) ? "taken away" : "twice as fast");
    json_put_double(json, "at_most", alternative_gain(j->alternatives[i], j->figure));
    json_put_text(json, "layer", known ? layer_text(layer) : NULL);
    json_put_text(json, "owner", known ? contract_owner(&r->result->contract, layer) : NULL);
    json_close(json);
  }
  json_close(json);
}

static void json_doubts(const struct upgrade_judgement *j, struct json_writer *json) {
  char name[2 * UPGRADE_TEXT];
  json_key(json, "doubts");
  json_open_array(json);
  for (size_t i = 0; i < j->n_doubts; i++) {
    json_open_object(json);
    json_put_text(json, "resource", j->doubts[i].part != NULL ? upgrade_part_name(j->doubts[i].part, name, sizeof name) : NULL);
    json_put_text(json, "because", doubt_text(j->doubts[i].kind));
    if (isfinite(j->doubts[i].times)) json_put_double(json, "blocks_times", j->doubts[i].times);
    json_close(json);
  }
  json_close(json);
}

void upgrade_report_json(const struct upgrade_report *r, struct json_writer *json) {
  const struct upgrade_judgement *j = r->judgement;
  json_put_text(json, "verdict", j->decision == DECISION_DOES_NOT_HELP ? "does not help" : "cannot decide");
  json_put_text(json, "figure", figure_words(j->figure));
  json_put_double(json, "wanted", r->question->wanted);
  json_put_text(json, "wanted_by", r->by_price ? "ratio of prices" : "margin");
  json_put_double(json, "at_most", j->upper);
  json_put_double(json, "concave_bound", j->concave);
  json_put_double(json, "serial_bound", j->serial);
  json_put_double(json, "if_serial_about", j->estimate);
  json_put_double(json, "greatest_factor", j->factor);
  json_put_text(json, "from", r->question->from != NULL ? r->question->from->name : NULL);
  json_put_text(json, "to", r->question->to != NULL ? r->question->to->name : NULL);
  json_put_text(json, "bundle", r->result->seal.root);
  json_put_text(json, "contract", r->result->contract.name);
  json_put_int(json, "in_flight", r->measured->in_flight);
  json_put_double(json, "rate_per_s", r->measured->rate_per_s);
  json_key(json, "upgrade");
  json_open_array(json);
  for (size_t i = 0; i < j->n_parts; i++) json_part(&j->parts[i], json);
  json_close(json);
  json_doubts(j, json);
  json_put_text(json, "next_limit", j->next != NULL ? j->next->target : NULL);
  json_alternatives(r, json);
}

/* --- the table of devices --- */

bool device_table_text(struct buffer *out) {
  (void)buffer_printf(
      out, "Peaks as published, dense, read on %s. *: one secondary source only.\n\n  %-16s %-16s %8s %8s %8s %8s %8s %6s %6s  source\n",
      devices_read_on, "device", "architecture", "bf16", "fp8", "int8", "fp4", "TB/s", "GB", "W");
  for (size_t i = 0; i < n_devices; i++) {
    const struct device *d = &devices[i];
    (void)buffer_printf(out, "  %-16s %-16s", d->name, d->architecture);
    for (int k = 0; k < DEVICE_FIGURES; k++) {
      char text[32];
      (void)snprintf(text, sizeof text, "%.4g%s", d->of[k], (d->doubtful >> k & 1) != 0 ? "*" : "");
      (void)buffer_printf(out, " %*s", k < DEVICE_CAPACITY ? 8 : 6, d->of[k] > 0 ? text : "-");
    }
    (void)buffer_printf(out, "  %s\n", d->source);
  }
  return !out->overflowed;
}

void device_table_json(struct json_writer *json) {
  json_put_text(json, "read_on", devices_read_on);
  json_key(json, "devices");
  json_open_array(json);
  for (size_t i = 0; i < n_devices; i++) {
    const struct device *d = &devices[i];
    json_open_object(json);
    json_put_text(json, "name", d->name);
    json_put_text(json, "architecture", d->architecture);
    for (int k = 0; k < DEVICE_FIGURES; k++)
      if (d->of[k] > 0) json_put_double(json, device_figure_text((enum device_figure)k), d->of[k]);
    json_key(json, "secondary");
    json_open_array(json);
    for (int k = 0; k < DEVICE_FIGURES; k++)
      if ((d->doubtful >> k & 1) != 0) json_text(json, device_figure_text((enum device_figure)k));
    json_close(json);
    json_put_text(json, "source", d->source);
    json_close(json);
  }
  json_close(json);
}
