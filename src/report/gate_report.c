#include "report/gate_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report/history_report.h"
#include "report/percent.h"
#include "report/svg.h"
#include "stats/special.h"

static enum gate_verdict verdict_of_part(const struct gate_part *p) {
  return p->n_refusals > 0 ? GATE_INCONCLUSIVE : p->gate.verdict;
}

enum gate_verdict gate_verdict_of(const struct gate_report *r) {
  enum gate_verdict verdict = r->n_parts > 0 ? GATE_PASSES : GATE_INCONCLUSIVE;
  for (size_t i = 0; i < r->n_parts; i++) {
    enum gate_verdict part = verdict_of_part(&r->parts[i]);
    if (part == GATE_FAILS) return GATE_FAILS;
    if (part == GATE_INCONCLUSIVE) verdict = GATE_INCONCLUSIVE;
  }
  return verdict;
}

/* --- words --- */

/* As a change of the figure itself: down is worse where more is better. */
static void put_change(const struct gate_figure *f, struct buffer *out) {
  double sign = f->better == BETTER_MORE ? -1 : 1, low = f->decision.low, high = f->decision.high;
  put_percent(out, sign * f->decision.worse, sign * (sign > 0 ? low : high), sign * (sign > 0 ? high : low));
}

static void put_needs(const struct gate_report *r, const struct gate_figure *f, struct buffer *out) {
  if (f->decision.needed > 0) (void)buffer_printf(out, "%zu fresh runs (--runs) would decide it at this variance", f->decision.needed);
  else
    (void)buffer_printf(
        out,
        "at this variance (%.2g %% from run to run) %d fresh runs would not decide it: a longer baseline, longer runs, or a "
        "margin other than %.3g %% would",
        100 * f->decision.deviation, GATE_RUNS_MAX, 100 * r->plan->margin);
}

/* "output throughput -12.1 % [-13.9, -10.3]: worse by more than the margin of 5 %" */
void gate_put_figure(const struct gate_report *r, const struct gate_figure *f, struct buffer *out) {
  (void)buffer_printf(out, "%s", f->figure);
  if (f->why == NULL) (void)buffer_text(out, " ");
  if (f->why == NULL) put_change(f, out);
  (void)buffer_text(out, ": ");
  if (f->why != NULL) (void)buffer_printf(out, "%s", f->why);
  else if (f->machine != NULL) {
    (void)buffer_printf(out, "worse by more than the margin of %.3g %%, and so is the machine itself: %s ", 100 * r->plan->margin,
                        f->machine->figure);
    put_change(f->machine, out);
    (void)buffer_text(out, "; gate again on a machine as fast as the baseline's");
  } else if (f->decision.verdict == GATE_INCONCLUSIVE) put_needs(r, f, out);
  else
    (void)buffer_printf(out, "%s the margin of %.3g %%",
                        f->decision.verdict == GATE_FAILS ? "worse by more than" : "not worse by more than", 100 * r->plan->margin);
}

/* The first part that has the verdict of all. */
static const struct gate_part *leading(const struct gate_report *r) {
  enum gate_verdict wanted = gate_verdict_of(r);
  for (size_t i = 0; i < r->n_parts; i++)
    if (verdict_of_part(&r->parts[i]) == wanted) return &r->parts[i];
  return r->n_parts > 0 ? &r->parts[0] : NULL;
}

/* Of a part: the figure that decided, or why there is none. */
static void put_reason(const struct gate_report *r, const struct gate_part *p, struct buffer *out) {
  if (p->n_refusals > 0) (void)buffer_printf(out, "no claim could be made: %s", p->refusals[0]);
  else if (p->gate.leading == NULL) (void)buffer_text(out, "no figure was compared");
  else gate_put_figure(r, p->gate.leading, out);
}

static void put_verdict(const struct gate_report *r, struct buffer *out) {
  const struct gate_part *p = leading(r);
  (void)buffer_printf(out, "%s: %s", gate_verdict_text(gate_verdict_of(r)), r->contract);
  if (p != NULL) (void)buffer_printf(out, ", %s: ", p->precision);
  if (p != NULL) put_reason(r, p, out);
}

void gate_put_since(const struct gate_part *p, struct buffer *out) {
  const struct coincidence *c = &p->since;
  if (p->gate.last == NULL) {
    (void)buffer_text(out, p->gate.n_figures == 0
                               ? "nothing was compared with a baseline"
                               : "there is no baseline: keep this bundle among the sources, and gate again after 3 runs or more");
    return;
  }
  if (c->kind == COINCIDENCE_UNKNOWN)
    (void)buffer_text(out, "what changed since the baseline is not known: the executor was not captured on both sides");
  else if (c->kind == COINCIDENCE_UNREAD)
    (void)buffer_text(out, "the executor changed since the baseline (its fingerprint did); what of it cannot be read here");
  else if (c->kind == COINCIDENCE_NOTHING) (void)buffer_text(out, "nothing that was captured of the executor changed since the baseline");
  else {
    (void)buffer_printf(out, "changed since the baseline's last run, %s: %zu fact%s: ", p->gate.last->from.label, c->facts.n_identity,
                        LYNX_S(c->facts.n_identity));
    for (size_t i = 0; i < c->n_layers; i++) (void)buffer_printf(out, "%s%s (%s)", i > 0 ? ", " : "", c->layers[i], c->owners[i]);
  }
  if (c->conditions != NULL) (void)buffer_printf(out, ". Conditions differ: %s", c->conditions);
}

/* --- the terminal --- */

static void put_part(const struct gate_report *r, const struct gate_part *p, struct buffer *out) {
  (void)buffer_printf(out, "\n%s\n", p->precision);
  for (size_t k = 0; k < p->gate.n_figures; k++) {
    const struct gate_figure *f = &p->gate.figures[k];
    (void)buffer_printf(out, "  %-13s", gate_verdict_text(f->decision.verdict));
    gate_put_figure(r, f, out);
    if (f->why == NULL) {
      (void)buffer_text(out, " (");
      figure_put_value(f->base, f->unit, out);
      (void)buffer_printf(out, " in %zu runs -> ", f->n_base);
      figure_put_value(f->fresh, f->unit, out);
      (void)buffer_text(out, ")");
    }
    (void)buffer_text(out, "\n");
  }
  for (size_t k = 0; k < p->n_refusals; k++) (void)buffer_printf(out, "  no claim could be made: %s\n", p->refusals[k]);
  (void)buffer_text(out, "  ");
  gate_put_since(p, out);
  (void)buffer_text(out, "\n");
  history_put_facts(&p->since, "  ", out);
  if (p->gate.n_again > 0)
    (void)buffer_printf(out,
                        "  A/A: of %zu earlier run%s of one executor, each judged by those before it, %zu fail%s; at most %.3g %% are "
                        "promised\n",
                        p->gate.n_again, LYNX_S(p->gate.n_again), p->gate.n_again_fail, p->gate.n_again_fail == 1 ? "s" : "",
                        100 * r->plan->false_alarms);
}

static void put_next(const struct gate_report *r, struct buffer *out) {
  const struct gate_part *p = leading(r);
  if (p == NULL || gate_verdict_of(r) != GATE_FAILS || p->gate.last == NULL) return;
  (void)buffer_text(out, "\nnext: ");
  history_put_command("compare", &p->gate.last->from, &(struct history_origin){r->fresh, "", "", 0}, out);
  if (p->since.kind == COINCIDENCE_FACTS)
    (void)buffer_text(
        out, "\n   that both changed is no cause yet: `lynxbench bisect A B`, with a contract that starts each executor, finds which "
             "fact it is");
  (void)buffer_text(out, "\n");
}

bool gate_text(const struct gate_report *r, bool color, struct buffer *out) {
  out->shown = true;
  (void)buffer_text(out, color ? text_colors[TEXT_STRONG] : "");
  put_verdict(r, out);
  (void)buffer_printf(out, "%s\n", color ? text_colors[TEXT_PLAIN] : "");
  for (size_t i = 0; i < r->n_parts; i++) put_part(r, &r->parts[i], out);
  if (r->n_parts > 0) put_next(r, out);
  return !out->overflowed;
}

/* --- JSON --- */

static void json_figure(const struct gate_figure *f, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "figure", f->figure);
  json_put_text(json, "unit", f->unit);
  json_put_text(json, "verdict", gate_verdict_text(f->decision.verdict));
  json_put_text(json, "why", f->why);
  json_put_int(json, "baseline_runs", (int64_t)f->n_base);
  json_put_double(json, "baseline", f->why == NULL ? f->base : NAN);
  json_put_double(json, "fresh", f->why == NULL ? f->fresh : NAN);
  json_put_double(json, "worse", f->why == NULL ? special_exp(f->decision.worse) - 1 : NAN);
  json_put_double(json, "at_least", f->why == NULL ? special_exp(f->decision.low) - 1 : NAN);
  json_put_double(json, "at_most", f->why == NULL ? special_exp(f->decision.high) - 1 : NAN);
  json_put_double(json, "deviation", f->why == NULL ? f->decision.deviation : NAN);
  json_put_text(json, "machine", f->machine != NULL ? f->machine->figure : NULL);
  if (f->machine != NULL) json_put_double(json, "machine_worse", special_exp(f->machine->decision.worse) - 1);
  if (f->why == NULL && f->machine == NULL && f->decision.verdict == GATE_INCONCLUSIVE)
    json_put_int(json, "runs_needed", (int64_t)f->decision.needed);
  json_close(json);
}

static void json_part(const struct gate_part *p, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "precision", p->precision);
  json_put_text(json, "verdict", gate_verdict_text(verdict_of_part(p)));
  json_put_texts(json, "no_claim", p->refusals, p->n_refusals);
  json_put_text(json, "baseline", p->gate.last != NULL ? p->gate.last->from.label : NULL);
  json_key(json, "figures");
  json_open_array(json);
  for (size_t k = 0; k < p->gate.n_figures; k++) json_figure(&p->gate.figures[k], json);
  json_close(json);
  history_json_facts(&p->since, json);
  json_put_int(json, "again", (int64_t)p->gate.n_again);
  json_put_int(json, "again_fail", (int64_t)p->gate.n_again_fail);
  json_close(json);
}

bool gate_json(const struct gate_report *r, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "verdict", gate_verdict_text(gate_verdict_of(r)));
  json_put_text(&json, "contract", r->contract);
  json_put_text(&json, "fresh", r->fresh);
  json_put_double(&json, "margin", r->plan->margin);
  json_put_double(&json, "false_alarms", r->plan->false_alarms);
  json_key(&json, "precisions");
  json_open_array(&json);
  for (size_t i = 0; i < r->n_parts; i++) json_part(&r->parts[i], &json);
  json_close(&json);
  return json_end_line(&json);
}

/* --- JUnit --- */

/* XML 1.0 has no control characters, not even escaped: html_escape replaces them. */
static void put_attribute(struct buffer *out, const char *name, const char *text) {
  (void)buffer_printf(out, " %s=\"", name);
  (void)html_escape(out, text);
  (void)buffer_text(out, "\"");
}

static void junit_case(const struct gate_report *r, const struct gate_part *p, const char *name, enum gate_verdict verdict,
                       const char *words, struct buffer *out) {
  char class[300];
  (void)snprintf(class, sizeof class, "%.150s.%.100s", r->contract, p->precision);
  (void)buffer_text(out, "    <testcase");
  put_attribute(out, "classname", class);
  put_attribute(out, "name", name);
  (void)buffer_printf(out, " time=\"%.3f\"", r->seconds);
  if (verdict == GATE_PASSES) {
    (void)buffer_text(out, "/>\n");
    return;
  }
  (void)buffer_printf(out, ">\n      <%s", verdict == GATE_FAILS ? "failure" : "error");
  put_attribute(out, "type", gate_verdict_text(verdict));
  put_attribute(out, "message", words);
  (void)buffer_printf(out, "/>\n    </testcase>\n");
}

static void count(const struct gate_report *r, size_t *n, size_t *n_failed, size_t *n_open) {
  *n = *n_failed = *n_open = 0;
  for (size_t i = 0; i < r->n_parts; i++) {
    const struct gate_part *p = &r->parts[i];
    bool none = p->n_refusals > 0 || p->gate.n_figures == 0;
    *n += none ? 1 : p->gate.n_figures;
    *n_open += none;
    for (size_t k = 0; k < p->gate.n_figures && !none; k++) {
      *n_failed += p->gate.figures[k].decision.verdict == GATE_FAILS;
      *n_open += p->gate.figures[k].decision.verdict == GATE_INCONCLUSIVE;
    }
  }
}

bool gate_junit(const struct gate_report *r, struct buffer *out) {
  size_t n, n_failed, n_open;
  char when[40];
  struct buffer words;
  buffer_init(&words, 65536);
  (void)clock_text(when, r->at_ns);
  when[strcspn(when, ".Z")] = 0; /* no zone, no fraction */
  count(r, &n, &n_failed, &n_open);
  (void)buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
  put_attribute(out, "name", "lynxbench gate");
  put_attribute(out, "package", "lynxbench");
  put_attribute(out, "hostname", r->host[0] != 0 ? r->host : "localhost");
  put_attribute(out, "timestamp", when);
  (void)buffer_printf(out, " id=\"0\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"%.3f\">\n", n, n_failed, n_open,
                      r->seconds);
  (void)buffer_text(out, "    <properties/>\n");
  for (size_t i = 0; i < r->n_parts; i++) {
    const struct gate_part *p = &r->parts[i];
    if (p->n_refusals > 0 || p->gate.n_figures == 0)
      junit_case(r, p, "claim", GATE_INCONCLUSIVE, p->n_refusals > 0 ? p->refusals[0] : "no figure was compared", out);
    for (size_t k = 0; k < p->gate.n_figures && p->n_refusals == 0; k++) {
      buffer_clear(&words);
      gate_put_figure(r, &p->gate.figures[k], &words);
      (void)buffer_text(&words, "; ");
      gate_put_since(p, &words);
      junit_case(r, p, p->gate.figures[k].figure, p->gate.figures[k].decision.verdict, words.data, out);
    }
  }
  buffer_release(&words);
  return buffer_text(out, "    <system-out/>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
}

/* --- Markdown --- */

/* What others wrote is text, not markup. */
static void put_plain(const char *text, struct buffer *out) {
  for (const char *p = text; *p != 0; p++) {
    if (strchr("\\`*_{}[]<>#!|~$@", *p) != NULL) (void)buffer_text(out, *p == '<' ? "&lt;" : "\\");
    if (*p == '\n') (void)buffer_text(out, " ");
    else if (*p != '<') (void)buffer_append(out, p, 1);
  }
}

bool gate_markdown(const struct gate_report *r, struct buffer *out) {
  struct buffer words;
  buffer_init(&words, 65536);
  put_verdict(r, &words);
  (void)buffer_text(out, "### lynxbench gate: ");
  put_plain(words.data, out);
  (void)buffer_text(out, "\n\n| precision | figure | baseline | fresh | change | verdict |\n|---|---|---:|---:|---|---|\n");
  for (size_t i = 0; i < r->n_parts; i++)
    for (size_t k = 0; k < r->parts[i].gate.n_figures; k++) {
      const struct gate_figure *f = &r->parts[i].gate.figures[k];
      (void)buffer_text(out, "| ");
      put_plain(r->parts[i].precision, out);
      (void)buffer_text(out, " | ");
      put_plain(f->figure, out);
      buffer_clear(&words);
      if (f->why == NULL) {
        (void)buffer_text(&words, " | ");
        figure_put_value(f->base, f->unit, &words);
        (void)buffer_printf(&words, " (%zu runs) | ", f->n_base);
        figure_put_value(f->fresh, f->unit, &words);
        (void)buffer_text(&words, " | ");
        put_change(f, &words);
      } else (void)buffer_text(&words, " | | | ");
      (void)buffer_printf(out, "%s | %s |\n", words.data, r->parts[i].n_refusals > 0 ? "no claim" : gate_verdict_text(f->decision.verdict));
    }
  for (size_t i = 0; i < r->n_parts; i++) {
    buffer_clear(&words);
    gate_put_since(&r->parts[i], &words);
    (void)buffer_text(out, "\n");
    put_plain(words.data, out);
    (void)buffer_text(out, "\n");
  }
  buffer_release(&words);
  return !out->overflowed;
}

/* --- GitHub --- */

/* Its own escapes: what is in a message may not begin another command. */
static void put_message(const char *text, struct buffer *out) {
  for (const char *p = text; *p != 0; p++) {
    if (*p == '%' || *p == '\r' || *p == '\n') (void)buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*p);
    else (void)buffer_append(out, p, 1);
  }
}

static void annotate(const struct gate_report *r, const struct gate_part *p, const struct gate_figure *f, struct buffer *out) {
  struct buffer words;
  buffer_init(&words, 65536);
  (void)buffer_printf(&words, "%s, %s: ", r->contract, p->precision);
  if (f != NULL) gate_put_figure(r, f, &words);
  else put_reason(r, p, &words);
  (void)buffer_text(&words, "; ");
  gate_put_since(p, &words);
  (void)buffer_printf(out, "::%s title=lynxbench gate::", f != NULL && f->decision.verdict == GATE_FAILS ? "error" : "warning");
  put_message(words.data, out);
  (void)buffer_text(out, "\n");
  buffer_release(&words);
}

bool gate_annotations(const struct gate_report *r, struct buffer *out) {
  for (size_t i = 0; i < r->n_parts; i++) {
    const struct gate_part *p = &r->parts[i];
    bool none = p->n_refusals > 0 || p->gate.n_figures == 0;
    if (none) annotate(r, p, NULL, out);
    for (size_t k = 0; k < p->gate.n_figures && !none; k++)
      if (p->gate.figures[k].decision.verdict != GATE_PASSES) annotate(r, p, &p->gate.figures[k], out);
  }
  return !out->overflowed;
}
