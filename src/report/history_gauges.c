#include "report/history_gauges.h"

#include <math.h>
#include <string.h>

enum { LABEL_CONTRACT, LABEL_DIGEST, LABEL_PRECISION, LABEL_FIGURE, LABEL_UNIT, LABELS };

/* Base units, as Prometheus wants them; what has none keeps its own, as a label. */
static const struct {
  const char *unit, *name, *low, *high, *ucum;
  double factor;
} families[] = {{"ns", "lynxbench_figure_seconds", "lynxbench_figure_low_seconds", "lynxbench_figure_high_seconds", "s", 1e-9},
                {"s", "lynxbench_figure_seconds", "lynxbench_figure_low_seconds", "lynxbench_figure_high_seconds", "s", 1},
                {"tokens/s", "lynxbench_figure_tokens_per_second", "lynxbench_figure_low_tokens_per_second",
                 "lynxbench_figure_high_tokens_per_second", "{token}/s", 1},
                {"requests/s", "lynxbench_figure_requests_per_second", "lynxbench_figure_low_requests_per_second",
                 "lynxbench_figure_high_requests_per_second", "{request}/s", 1},
                {NULL, "lynxbench_figure", "lynxbench_figure_low", "lynxbench_figure_high", "1", 1}};

static void add_figure(struct gauges *g, const struct history_series *s, const struct gauge_label *labels) {
  const struct history_value *v = &s->values[s->n_values - 1];
  size_t i = 0;
  while (families[i].unit != NULL && strcmp(families[i].unit, s->unit) != 0) i++;
  size_t n = families[i].unit != NULL ? LABEL_UNIT : LABELS;
  double factor = families[i].factor;
  gauges_add(g, families[i].name, "The figure of the newest run that has one.", families[i].ucum, labels, n, v->value * factor);
  gauges_add(g, families[i].low, "The lower limit of its interval (95 %).", families[i].ucum, labels, n, v->low * factor);
  gauges_add(g, families[i].high, "The upper limit of its interval (95 %).", families[i].ucum, labels, n, v->high * factor);
}

static void add_changes(struct gauges *g, const struct history_report *report, size_t series, const struct gauge_label *labels) {
  const struct history *h = report->history;
  const struct history_series *s = &h->series[series];
  const struct history_change newest = {series, s->found.n_items - 1};
  if (history_is_tested(s, report->plan))
    gauges_add(g, "lynxbench_changes", "Changes of level in its history.", "1", labels, LABEL_UNIT,
               s->changed ? (double)s->found.n_items : 0);
  if (!s->changed) return;
  const struct change *c = &s->found.items[newest.change];
  gauges_add(g, "lynxbench_last_change_ratio", "The level after its last change, as a multiple of the one before.", "1", labels, LABEL_UNIT,
             c->ratio ? c->size : NAN);
  gauges_add(g, "lynxbench_last_change_worse", "1: its last change was for the worse, for sure.", "1", labels, LABEL_UNIT,
             history_is_worse(h, &newest));
  size_t seen = c->at + report->plan->least - 1; /* the run with which there were enough of the new level */
  int64_t at_ns = h->runs[s->values[c->at].run].at_ns, seen_ns = h->runs[s->values[seen < s->n_values ? seen : s->n_values - 1].run].at_ns;
  gauges_add(g, "lynxbench_last_change_timestamp_seconds", "When the first run of the new level began.", "s", labels, LABEL_UNIT,
             at_ns > 0 ? (double)at_ns / 1e9 : NAN);
  gauges_add(g, "lynxbench_last_change_seen_timestamp_seconds", "When the run began with which the change could be seen.", "s", labels,
             LABEL_UNIT, seen_ns > 0 ? (double)seen_ns / 1e9 : NAN);
}

static void add_series(struct gauges *g, const struct history_report *report, size_t i) {
  const struct history_series *s = &report->history->series[i];
  const struct gauge_label labels[LABELS] = {[LABEL_CONTRACT] = {"contract", s->name},
                                             [LABEL_DIGEST] = {"digest", s->contract},
                                             [LABEL_PRECISION] = {"precision", s->precision},
                                             [LABEL_FIGURE] = {"figure", s->figure},
                                             [LABEL_UNIT] = {"unit", s->unit}};
  if (s->n_values == 0) return;
  int64_t at_ns = report->history->runs[s->values[s->n_values - 1].run].at_ns;
  add_figure(g, s, labels);
  gauges_add(g, "lynxbench_figure_runs", "Runs that have a value of it.", "1", labels, LABEL_UNIT, (double)s->n_values);
  gauges_add(g, "lynxbench_figure_timestamp_seconds", "When the newest run that has a value of it began.", "s", labels, LABEL_UNIT,
             at_ns > 0 ? (double)at_ns / 1e9 : NAN);
  add_changes(g, report, i, labels);
}

/* Late ones were kept, too. */
static void add_schedule(struct gauges *g, const struct timetable_log *log) {
  for (int i = 0; i < SLOT_STATES; i++) {
    const struct gauge_label labels[] = {{"schedule", log->schedule.name}, {"state", slot_state_text((enum slot_state)i)}};
    gauges_add(g, "lynxbench_schedule_times", "Times of a schedule, by what became of them.", "1", labels, LYNX_COUNT(labels),
               (double)log->n[i]);
  }
  const struct gauge_label name = {"schedule", log->schedule.name};
  gauges_add(g, "lynxbench_schedule_late", "Times of a schedule that began late.", "1", &name, 1, (double)log->n_late);
}

void history_gauges(const struct history_report *report, struct gauges *ret) {
  for (size_t i = 0; i < report->history->n_series; i++) add_series(ret, report, i);
  for (size_t i = 0; i < report->n_schedules; i++) add_schedule(ret, &report->schedules[i]);
}
