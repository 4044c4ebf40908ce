#include "report/history_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/shell.h"
#include "history/drift.h"
#include "report/percent.h"
#include "report/timetable_report.h"
#include "stats/special.h"

static const double factor_from = 10; /* a greater change is a factor, not a percentage */
static const double correlation_told = 0.3;
enum { SPARKS = 40, FACTS_SHOWN = 12, LEFT_OUT_SHOWN = 8 };

/* --- words --- */

bool history_is_small(const struct history_report *r, const struct history_change *change) {
  const struct change *c = history_change_of(r->history, change);
  return r->least > 0 && c->ratio && c->bounded && c->low > 1 - r->least && c->high < 1 + r->least;
}

void history_put_size(const struct change *c, const char *unit, struct buffer *out) {
  if (c->ratio && (c->size > factor_from || c->size < 1 / factor_from)) {
    (void)buffer_printf(out, "x %.3g", c->size);
    if (c->bounded) (void)buffer_printf(out, " [%.3g, %.3g]", c->low, c->high);
  } else if (c->ratio) {
    put_percent(out, special_log(c->size), c->bounded ? special_log(c->low) : NAN, c->bounded ? special_log(c->high) : NAN);
  } else {
    (void)buffer_text(out, c->size > 0 ? "+" : "");
    figure_put_value(c->size, unit, out);
    if (c->bounded) (void)buffer_printf(out, " [%+.4g, %+.4g]", c->low, c->high);
  }
}

void history_put_change(const struct history_report *r, const struct history_change *change, struct buffer *out) {
  const struct history_series *s = &r->history->series[change->series];
  (void)buffer_printf(out, "%s ", s->figure);
  history_put_size(history_change_of(r->history, change), s->unit, out);
}

void history_put_time(const struct history_run *run, bool whole, struct buffer *out) {
  char text[32];
  if (run->at_ns <= 0) {
    (void)buffer_printf(out, "%s", run->from.label[0] != 0 ? run->from.label : "a run without a date");
    return;
  }
  (void)buffer_printf(out, "%.*s", whole ? 20 : 10, clock_text(text, run->at_ns));
}

static void put_stack(const struct history_series *s, struct buffer *out) {
  (void)buffer_printf(out, "%s", s->name);
  if (s->contract[0] != 0) (void)buffer_printf(out, " (%.8s)", s->contract);
  if (s->precision[0] != 0) (void)buffer_printf(out, ", %s", s->precision);
}

static bool is_small_event(const struct history_report *r, const struct history_event *e) {
  bool small = true;
  for (size_t i = 0; i < e->n_changes; i++) small = small && history_is_small(r, &e->changes[i]);
  return small;
}

/* The one to name: a throughput where there is one, for it is what is asked first; else the first that is not small. */
static const struct history_change *leading(const struct history_report *r, const struct history_event *e) {
  for (size_t i = 0; i < e->n_changes; i++)
    if (strstr(r->history->series[e->changes[i].series].figure, "throughput") != NULL && !history_is_small(r, &e->changes[i]))
      return &e->changes[i];
  for (size_t i = 0; i < e->n_changes; i++)
    if (!history_is_small(r, &e->changes[i])) return &e->changes[i];
  return &e->changes[0];
}

/* "3 changes in 7 series, 1 of them small (41 runs, 2026-10-14 to 2026-11-23)" */
static void put_count(const struct history_report *r, size_t n_small, struct buffer *out) {
  const struct history *h = r->history;
  if (h->n_events > 0) (void)buffer_printf(out, "%zu change%s in %zu series", h->n_events, LYNX_S(h->n_events), h->n_tested);
  else if (h->n_tested == 0) (void)buffer_printf(out, "nothing can be said yet: no figure has %zu values or more", 2 * r->plan->least);
  else (void)buffer_printf(out, "no change is established in %zu series", h->n_tested);
  if (n_small > 0) (void)buffer_printf(out, ", %zu of them small", n_small);
  (void)buffer_printf(out, " (%zu run%s", h->n_runs, LYNX_S(h->n_runs));
  if (h->n_runs > 0 && h->runs[0].at_ns > 0) {
    (void)buffer_text(out, ", ");
    history_put_time(&h->runs[0], false, out);
    (void)buffer_text(out, " to ");
    history_put_time(&h->runs[h->n_runs - 1], false, out);
  }
  (void)buffer_text(out, ")");
}

void history_put_verdict(const struct history_report *r, struct buffer *out) {
  const struct history *h = r->history;
  size_t n_small = 0;
  for (size_t i = 0; i < h->n_events; i++) n_small += is_small_event(r, &h->events[i]);
  put_count(r, n_small, out);
  if (h->n_events == 0) return;
  const struct history_event *e = &h->events[h->n_events - 1];
  for (size_t i = h->n_events; i > 0 && is_small_event(r, e); i--) e = &h->events[i - 1];
  const struct history_change *change = leading(r, e);
  (void)buffer_text(out, h->n_events == 1 ? ": " : n_small < h->n_events ? "; the last one: " : "; the first one: ");
  put_stack(&h->series[change->series], out);
  (void)buffer_text(out, ", ");
  history_put_time(&h->runs[e->after], false, out);
  (void)buffer_text(out, ": ");
  history_put_change(r, change, out);
  (void)buffer_printf(out, "%s%s", history_is_worse(h, change) ? ", worse" : "", e->provisional ? ", provisional" : "");
}

void history_put_coincidence(const struct history_report *r, size_t event, struct buffer *out) {
  const struct coincidence *c = &r->coincidences[event];
  if (c->kind == COINCIDENCE_UNKNOWN)
    (void)buffer_text(out, "what changed with it is not known: the executor was not captured on both sides");
  else if (c->kind == COINCIDENCE_NOTHING) (void)buffer_text(out, "nothing that was captured of the executor changed with it");
  else if (c->kind == COINCIDENCE_UNREAD)
    (void)buffer_text(out, "the executor changed with it (its fingerprint did); what of it cannot be read here");
  else {
    (void)buffer_printf(out, "%zu fact%s changed with it: ", c->facts.n_identity, LYNX_S(c->facts.n_identity));
    for (size_t i = 0; i < c->n_layers; i++) (void)buffer_printf(out, "%s%s (%s)", i > 0 ? ", " : "", c->layers[i], c->owners[i]);
    if (c->n_steps > 1) (void)buffer_printf(out, ", in %zu steps", c->n_steps);
  }
  if (c->conditions != NULL) (void)buffer_printf(out, ". Conditions differed: %s", c->conditions);
}

static const char *const drift_sentences[] = {
    [DRIFT_UNKNOWN] = "whether the machine itself drifted is not known: its speed was not measured around 8 runs (method.machine_speed)",
    [DRIFT_MACHINE] = "the machine drifted: its own speed changed, and nothing that was captured of the executor did",
    [DRIFT_STACK] = "the stack changed: no change of the machine's own speed was seen",
    [DRIFT_BOTH] = "the machine's own speed changed together with the executor: the two are not told apart here",
    [DRIFT_MODEL] = "the model drifted: accuracy changed, and neither the machine's own speed nor anything captured of the executor did",
    [DRIFT_NEITHER] = "neither the machine's own speed nor anything captured of the executor changed: something that no probe reads did"};

void history_put_drift(const struct history_report *r, size_t event, const char *before, bool unknown, struct buffer *out) {
  struct drift drift;
  drift_judge(r->history, &r->history->events[event], &r->coincidences[event], r->plan, &drift);
  if (drift.kind == DRIFT_UNKNOWN && !unknown) return;
  (void)buffer_text(out, before);
  bool captured = r->coincidences[event].kind != COINCIDENCE_UNKNOWN;
  (void)buffer_text(out, captured || !drift.machine_followed ? drift_sentences[drift.kind]
                                                             : "what drifted is not known: the executor was not captured");
  if (drift.machine == NULL) return;
  (void)buffer_text(out, "; ");
  history_put_change(r, drift.machine, out);
  if (drift.in_part) (void)buffer_text(out, ", too little for all of it");
}

/* A bundle of a ledger is fetched first. */
static void put_fetch(const struct history_origin *from, const char *to, struct buffer *out) {
  if (from->ledger[0] == 0) return;
  (void)buffer_text(out, "lynxbench ledger get ");
  (void)buffer_text(out, shell_word(from->ledger));
  (void)buffer_printf(out, " %s --out %s; ", from->root, to);
}

void history_put_command(const char *command, const struct history_origin *a, const struct history_origin *b, struct buffer *out) {
  put_fetch(a, "A.lynx", out);
  put_fetch(b, "B.lynx", out);
  (void)buffer_printf(out, "lynxbench %s ", command);
  (void)buffer_text(out, a->ledger[0] != 0 ? "A.lynx" : shell_word(a->label));
  (void)buffer_text(out, " ");
  (void)buffer_text(out, b->ledger[0] != 0 ? "B.lynx" : shell_word(b->label));
}

void history_put_next(const struct history_report *r, size_t event, struct buffer *out) {
  const struct history_event *e = &r->history->events[event];
  const struct coincidence *c = &r->coincidences[event];
  bool same_conditions = c->kind == COINCIDENCE_NOTHING && c->conditions == NULL;
  if (c->kind == COINCIDENCE_FACTS || same_conditions)
    history_put_command("diff", &r->history->runs[e->before].from, &r->history->runs[e->after].from, out);
  if (c->kind == COINCIDENCE_FACTS)
    (void)buffer_text(out, "\n   that both changed together is no cause yet: `lynxbench bisect A B`, with a contract that starts each "
                           "executor, finds which fact it is");
  else if (same_conditions)
    (void)buffer_text(out, "\n   names what no probe saw; if both stacks still measure the same (`lynxbench compare A B`), it was the "
                           "machine, or what was not captured");
  else if (c->kind == COINCIDENCE_UNREAD)
    (void)buffer_text(out, "name the folder in which both bundles lie, too: the facts that changed are in them");
  else if (c->kind == COINCIDENCE_UNKNOWN)
    (void)buffer_text(out, "measure where the server runs, so that its executor is captured with each run");
}

void history_put_error(const struct history_report *r, struct buffer *out) {
  size_t n_alike = 0;
  for (size_t i = 0; i < r->history->n_series; i++) n_alike += r->history->series[i].found.correlation >= correlation_told;
  (void)buffer_printf(out,
                      "A series without a change is named with a probability of %.3g %% where its values are independent; of the series "
                      "named, at most %.3g %% falsely, on average. Each look is one test. Changes within the last %zu values are "
                      "provisional, those within the last %zu are not seen.",
                      100 * r->plan->false_alarms, 100 * r->history->rate, r->plan->settled, r->plan->least - 1);
  if (n_alike > 0)
    (void)buffer_printf(out,
                        " In %zu series values resemble their neighbours (lag-1 correlation of %.1g or more): such are named %smore often.",
                        n_alike, correlation_told, r->plan->independent ? "much " : "");
  if (r->plan->independent) (void)buffer_text(out, " Each value was taken for itself (--independent).");
}

bool history_has_executor(const struct history_report *r, size_t event) {
  return r->history->runs[r->history->events[event].before].contract[0] != 0;
}

/* --- the terminal --- */

static void put_sparks(const struct history_series *s, struct buffer *out) {
  static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double bins[SPARKS], least = INFINITY, most = -INFINITY;
  size_t n = s->n_values < SPARKS ? s->n_values : SPARKS;
  for (size_t b = 0; b < n; b++) {
    size_t from = b * s->n_values / n, to = (b + 1) * s->n_values / n;
    bins[b] = 0;
    for (size_t i = from; i < to; i++) bins[b] += s->values[i].value / (double)(to - from);
    least = fmin(least, bins[b]);
    most = fmax(most, bins[b]);
  }
  for (size_t b = 0; b < n; b++) {
    double share = most > least ? (bins[b] - least) / (most - least) : 0.5;
    (void)buffer_text(out, blocks[share >= 1 ? 7 : (int)(share * 8)]);
  }
}

void history_put_facts(const struct coincidence *c, const char *indent, struct buffer *out) {
  size_t n = 0;
  for (size_t i = 0; i < c->facts.n_items; i++) {
    const struct difference *d = &c->facts.items[i];
    if (d->of != FACT_IDENTITY || n++ >= FACTS_SHOWN) continue;
    (void)buffer_printf(out, "%s%-13s %.48s: %.60s -> %.60s\n", indent, layer_text(d->layer), d->key, d->a != NULL ? d->a : "(missing)",
                        d->b != NULL ? d->b : "(missing)");
  }
  if (n > FACTS_SHOWN) (void)buffer_printf(out, "%s... and %zu more\n", indent, n - FACTS_SHOWN);
}

static void put_run(const struct history_run *run, struct buffer *out) {
  char text[32];
  (void)buffer_printf(out, "%s", run->from.label);
  if (run->at_ns > 0) (void)buffer_printf(out, " (%s)", clock_text(text, run->at_ns));
}

static void put_event(const struct history_report *r, size_t event, const char *strong, const char *plain, struct buffer *out) {
  const struct history_event *e = &r->history->events[event];
  (void)buffer_printf(out, "\n%s%zu  ", strong, event + 1);
  put_stack(&r->history->series[e->changes[0].series], out);
  (void)buffer_printf(out, "%s: between ", plain);
  put_run(&r->history->runs[e->before], out);
  (void)buffer_text(out, " and ");
  put_run(&r->history->runs[e->after], out);
  (void)buffer_printf(out, "%s\n", e->provisional ? ", provisional" : "");
  for (size_t i = 0; i < e->n_changes; i++) {
    const struct change *c = history_change_of(r->history, &e->changes[i]);
    const struct history_series *s = &r->history->series[e->changes[i].series];
    (void)buffer_text(out, "   ");
    history_put_change(r, &e->changes[i], out);
    (void)buffer_text(out, ": ");
    figure_put_value(c->before, s->unit, out);
    (void)buffer_text(out, " -> ");
    figure_put_value(c->after, s->unit, out);
    (void)buffer_printf(out, "; p %.3g%s%s\n", c->p, history_is_worse(r->history, &e->changes[i]) ? "; worse" : "",
                        history_is_small(r, &e->changes[i]) ? "; small" : "");
  }
  if (!history_has_executor(r, event)) return;
  (void)buffer_text(out, "   ");
  history_put_coincidence(r, event, out);
  (void)buffer_text(out, "\n");
  history_put_drift(r, event, "   ", true, out);
  (void)buffer_text(out, "\n");
  history_put_facts(&r->coincidences[event], "   ", out);
  size_t length = out->length;
  (void)buffer_text(out, "   next: ");
  size_t empty = out->length;
  history_put_next(r, event, out);
  if (out->length == empty && !out->overflowed) out->length = length;
  else (void)buffer_text(out, "\n");
}

static void put_series(const struct history_report *r, struct buffer *out) {
  const struct history *h = r->history;
  for (size_t i = 0; i < h->n_series; i++) {
    const struct history_series *s = &h->series[i];
    if (i == 0 || !history_same_stack(s, s - 1)) {
      (void)buffer_text(out, "\n");
      put_stack(s, out);
      (void)buffer_text(out, "\n");
    }
    (void)buffer_printf(out, "  %-26.26s %5zu  ", s->figure, s->n_values);
    put_sparks(s, out);
    (void)buffer_text(out, "  ");
    figure_put_value(s->values[s->n_values - 1].value, s->unit, out);
    if (s->changed) (void)buffer_printf(out, "  %zu change%s", s->found.n_items, LYNX_S(s->found.n_items));
    (void)buffer_text(out, "\n");
  }
}

static void put_left_out(const struct history *h, struct buffer *out) {
  size_t n = 0;
  for (size_t i = 0; i < h->n_runs; i++) {
    const struct history_run *run = &h->runs[i];
    if (run->precision->left_out == NULL) continue;
    if (n++ == 0) (void)buffer_text(out, "\nleft out\n");
    if (n <= LEFT_OUT_SHOWN) (void)buffer_printf(out, "  %s %s: %s\n", run->from.label, run->precision->name, run->precision->left_out);
  }
  if (n > LEFT_OUT_SHOWN) (void)buffer_printf(out, "  ... and %zu more (--json lists them)\n", n - LEFT_OUT_SHOWN);
}

bool history_text(const struct history_report *r, bool color, struct buffer *out) {
  out->shown = true;
  const char *strong = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  (void)buffer_text(out, strong);
  history_put_verdict(r, out);
  (void)buffer_printf(out, "%s\n", plain);
  for (size_t i = 0; i < r->history->n_events; i++) put_event(r, i, strong, plain, out);
  put_series(r, out);
  put_left_out(r->history, out);
  if (r->n_schedules > 0) (void)buffer_text(out, "\n");
  for (size_t i = 0; i < r->n_schedules; i++) timetable_put_log(&r->schedules[i], out);
  (void)buffer_text(out, "\n");
  if (r->history->n_series > 0) {
    history_put_error(r, out);
    (void)buffer_text(out, "\n");
  }
  return !out->overflowed;
}

/* --- JSON --- */

static void json_change(const struct history_report *r, const struct history_change *change, struct json_writer *json) {
  const struct change *c = history_change_of(r->history, change);
  const struct history_series *s = &r->history->series[change->series];
  json_open_object(json);
  json_put_text(json, "figure", s->figure);
  json_put_text(json, "at", r->history->runs[s->values[c->at].run].from.label);
  json_put_int(json, "place", (int64_t)c->at);
  json_put_int(json, "first", (int64_t)c->first);
  json_put_int(json, "last", (int64_t)c->last);
  json_put_double(json, "before", c->before);
  json_put_double(json, "after", c->after);
  json_put_text(json, "size_is", c->ratio ? "ratio" : "difference");
  json_put_double(json, "size", c->size);
  json_put_double(json, "low", c->bounded ? c->low : NAN);
  json_put_double(json, "high", c->bounded ? c->high : NAN);
  json_put_double(json, "p", c->p);
  if (s->better != BETTER_UNKNOWN) json_put_bool(json, "worse", history_is_worse(r->history, change));
  json_put_bool(json, "small", history_is_small(r, change));
  json_put_bool(json, "provisional", c->provisional);
  json_close(json);
}

static void json_run(const struct history_run *run, const char *key, struct json_writer *json) {
  char text[32];
  if (key != NULL) json_key(json, key);
  json_open_object(json);
  json_put_text(json, "run", run->from.label);
  json_put_text(json, "time", run->at_ns > 0 ? clock_text(text, run->at_ns) : NULL);
  json_put_text(json, "fingerprint", run->precision->fingerprint);
  if (run->precision->left_out != NULL) json_put_text(json, "left_out", run->precision->left_out);
  json_close(json);
}

static void json_stack(const struct history_series *s, struct json_writer *json) {
  json_put_text(json, "contract", s->name);
  json_put_text(json, "digest", s->contract);
  json_put_text(json, "precision", s->precision);
}

void history_json_facts(const struct coincidence *c, struct json_writer *json) {
  static const char *const kinds[] = {[COINCIDENCE_FACTS] = "facts changed",
                                      [COINCIDENCE_NOTHING] = "nothing captured changed",
                                      [COINCIDENCE_UNREAD] = "not readable",
                                      [COINCIDENCE_UNKNOWN] = "not known"};
  json_put_text(json, "with_it", kinds[c->kind]);
  json_put_text(json, "rung", c->kind == COINCIDENCE_FACTS ? "coincided" : NULL);
  json_key(json, "facts");
  json_open_array(json);
  for (size_t i = 0; i < c->facts.n_items; i++) {
    const struct difference *d = &c->facts.items[i];
    if (d->of != FACT_IDENTITY) continue;
    json_open_object(json);
    json_put_text(json, "layer", layer_text(d->layer));
    for (size_t k = 0; k < c->n_layers; k++)
      if (strcmp(c->layers[k], layer_text(d->layer)) == 0) json_put_text(json, "owner", c->owners[k]);
    json_put_text(json, "key", d->key);
    json_put_text(json, "before", d->a);
    json_put_text(json, "after", d->b);
    json_close(json);
  }
  json_close(json);
  json_put_text(json, "conditions", c->conditions);
}

static void json_event(const struct history_report *r, size_t event, struct json_writer *json) {
  const struct history_event *e = &r->history->events[event];
  const struct coincidence *c = &r->coincidences[event];
  struct drift drift;
  json_open_object(json);
  json_stack(&r->history->series[e->changes[0].series], json);
  json_run(&r->history->runs[e->before], "before", json);
  json_run(&r->history->runs[e->after], "after", json);
  json_put_bool(json, "provisional", e->provisional);
  json_key(json, "changes");
  json_open_array(json);
  for (size_t i = 0; i < e->n_changes; i++) json_change(r, &e->changes[i], json);
  json_close(json);
  history_json_facts(c, json);
  drift_judge(r->history, e, c, r->plan, &drift);
  json_put_text(json, "drift", drift_text(drift.kind));
  json_put_text(json, "machine", drift.machine != NULL ? r->history->series[drift.machine->series].figure : NULL);
  json_close(json);
}

static void json_series(const struct history_report *r, const struct history_series *s, struct json_writer *json) {
  json_open_object(json);
  json_stack(s, json);
  json_put_text(json, "figure", s->figure);
  json_put_text(json, "unit", s->unit);
  json_put_double(json, "p", s->found.p);
  json_put_double(json, "correlation", s->found.correlation);
  json_put_bool(json, "changed", s->changed);
  json_key(json, "values");
  json_open_array(json);
  for (size_t i = 0; i < s->n_values; i++) {
    json_open_object(json);
    json_put_text(json, "run", r->history->runs[s->values[i].run].from.label);
    json_put_double(json, "value", s->values[i].value);
    json_put_double(json, "low", s->values[i].low);
    json_put_double(json, "high", s->values[i].high);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

bool history_json(const struct history_report *r, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_double(&json, "false_alarms", r->plan->false_alarms);
  json_put_int(&json, "seed", (int64_t)r->plan->seed);
  if (r->plan->independent) json_put_bool(&json, "independent", true);
  json_key(&json, "events");
  json_open_array(&json);
  for (size_t i = 0; i < r->history->n_events; i++) json_event(r, i, &json);
  json_close(&json);
  json_key(&json, "runs");
  json_open_array(&json);
  for (size_t i = 0; i < r->history->n_runs; i++) json_run(&r->history->runs[i], NULL, &json);
  json_close(&json);
  json_key(&json, "series");
  json_open_array(&json);
  for (size_t i = 0; i < r->history->n_series; i++) json_series(r, &r->history->series[i], &json);
  json_close(&json);
  json_key(&json, "schedules");
  json_open_array(&json);
  for (size_t i = 0; i < r->n_schedules; i++) {
    json_open_object(&json);
    timetable_json_log(&r->schedules[i], &json);
    json_close(&json);
  }
  json_close(&json);
  return json_end_line(&json);
}

/* --- values --- */

/* What a spreadsheet would take for a formula is led by an apostrophe. */
static void put_field(const char *text, struct buffer *out) {
  (void)buffer_text(out, "\"");
  if (text[0] != 0 && strchr("=+-@\t", text[0]) != NULL) (void)buffer_text(out, "'");
  for (const char *p = text; *p != 0; p++) (void)buffer_printf(out, *p == '"' ? "\"\"" : "%c", *p);
  (void)buffer_text(out, "\"");
}

static void put_number(double value, struct buffer *out) {
  char text[48];
  (void)buffer_printf(out, ",%s", isfinite(value) ? number_text(text, sizeof text, value) : "");
}

bool history_csv(const struct history_report *r, struct buffer *ret) {
  (void)buffer_text(ret, "contract,digest,precision,figure,unit,time,run,value,low,high,change\n");
  for (size_t i = 0; i < r->history->n_series; i++) {
    const struct history_series *s = &r->history->series[i];
    for (size_t k = 0; k < s->n_values; k++) {
      const struct history_run *run = &r->history->runs[s->values[k].run];
      const char *const fields[] = {s->name, s->contract, s->precision, s->figure, s->unit};
      char time[32];
      bool change = false;
      for (size_t c = 0; c < s->found.n_items && s->changed; c++) change = change || s->found.items[c].at == k;
      for (size_t f = 0; f < LYNX_COUNT(fields); f++) {
        put_field(fields[f], ret);
        (void)buffer_text(ret, ",");
      }
      (void)buffer_printf(ret, "%s,", run->at_ns > 0 ? clock_text(time, run->at_ns) : "");
      put_field(run->from.label, ret);
      put_number(s->values[k].value, ret);
      put_number(s->values[k].low, ret);
      put_number(s->values[k].high, ret);
      (void)buffer_text(ret, change ? ",1\n" : ",0\n");
    }
  }
  return !ret->overflowed;
}
