#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/history_report.h"
#include "report/html_page.h"
#include "report/svg.h"
#include "report/timetable_report.h"

enum { PLOTS_MAX = 120, POINTS_MAX = 300 }; /* a browser takes long for more, and the eye sees no more */
static const double day_ns = 86400e9;
static const double days_least = 4; /* a shorter time is drawn by run */

/* --- one series --- */

static bool by_day(const struct history *h, const struct history_series *s) {
  int64_t first = h->runs[s->values[0].run].at_ns, last = h->runs[s->values[s->n_values - 1].run].at_ns;
  return first > 0 && (double)(last - first) > days_least * day_ns;
}

static void fit(const struct history_series *s, struct svg_axis *axis) {
  double least = INFINITY, most = -INFINITY;
  for (size_t i = 0; i < s->n_values; i++) {
    const struct history_value *v = &s->values[i];
    least = fmin(least, isfinite(v->low) && v->low > v->value / 2 ? v->low : v->value); /* an interval of two sessions may be endless */
    most = fmax(most, isfinite(v->high) && v->high < v->value * 2 ? v->high : v->value);
  }
  double room = most > least ? (most - least) * 0.08 : fabs(most) * 0.05 + 1e-9;
  axis->least = least - room;
  axis->greatest = most + room;
}

static void put_levels(const struct history_series *s, const double *x, struct svg_plot *plot) {
  for (size_t k = 0; k <= s->found.n_items && s->changed; k++) {
    size_t begin = k > 0 ? s->found.items[k - 1].at : 0, end = k < s->found.n_items ? s->found.items[k].at : s->n_values;
    double level = k > 0 ? s->found.items[k - 1].after : s->found.items[0].before;
    svg_line(plot, (double[]){x[begin], x[end - 1]}, (double[]){level, level}, 2, 1, false);
  }
}

/* Of each `group` values the least and the greatest, in the order of time: what stands out is drawn however many there are. */
static size_t choose_drawn(const struct history_series *s, size_t group, size_t *ret) {
  size_t n = 0;
  for (size_t begin = 0; begin < s->n_values; begin += group) {
    size_t least = begin, most = begin;
    for (size_t i = begin; i < s->n_values && i < begin + group; i++) {
      if (s->values[i].value < s->values[least].value) least = i;
      if (s->values[i].value > s->values[most].value) most = i;
    }
    ret[n++] = least < most ? least : most;
    if (least != most) ret[n++] = least < most ? most : least;
  }
  return n;
}

static void put_values(const struct history_series *s, const double *x, size_t group, struct svg_plot *plot) {
  size_t *chosen = xalloc(s->n_values + 1, sizeof *chosen), n = choose_drawn(s, group, chosen);
  double *drawn = xalloc(4 * (n + 1), sizeof *drawn), *value = drawn + n, *low = value + n, *high = low + n;
  for (size_t i = 0; i < n; i++) {
    const struct history_value *v = &s->values[chosen[i]];
    drawn[i] = x[chosen[i]];
    value[i] = v->value;
    low[i] = v->low;
    high[i] = v->high;
  }
  svg_bars(plot, drawn, low, high, n, 0);
  svg_points(plot, drawn, value, n, 0);
  free(drawn);
  free(chosen);
}

void history_plot(const struct history_report *r, size_t series, struct buffer *out) {
  const struct history *h = r->history;
  const struct history_series *s = &h->series[series];
  bool days = by_day(h, s), nanoseconds = strcmp(s->unit, "ns") == 0;
  struct svg_plot plot = {.out = out, .width = 1000, .height = 260};
  struct buffer label;
  double *x = xalloc(s->n_values, sizeof *x);
  for (size_t i = 0; i < s->n_values; i++) x[i] = days ? (double)h->runs[s->values[i].run].at_ns / day_ns : (double)(i + 1);
  plot.x = (struct svg_axis){.least = x[0], .greatest = x[s->n_values - 1] > x[0] ? x[s->n_values - 1] : x[0] + 1, .whole = true};
  plot.x.unit = days ? SVG_DAYS : SVG_NUMBER;
  plot.x.label = days ? "date (UTC)" : "run";
  plot.y = (struct svg_axis){.unit = nanoseconds ? SVG_NANOSECONDS : SVG_NUMBER, .label = nanoseconds ? "time" : s->unit};
  fit(s, &plot.y);
  (void)buffer_text(out, "<figure>");
  svg_begin(&plot, s->figure);
  buffer_init(&label, 4096);
  for (size_t i = 0; i < s->found.n_items && s->changed; i++) {
    const struct change *c = &s->found.items[i];
    const struct history_change change = {series, i};
    buffer_clear(&label);
    history_put_change(r, &change, &label);
    svg_shade(&plot, x[c->first - 1], x[c->last], label.data + strlen(s->figure) + 1);
  }
  size_t group = s->n_values > POINTS_MAX ? (2 * s->n_values + POINTS_MAX - 1) / POINTS_MAX : 1;
  put_values(s, x, group, &plot);
  put_levels(s, x, &plot);
  svg_end(&plot);
  if (group > 1)
    (void)buffer_printf(out, "<figcaption class='dim'>Of every %zu runs the least and the greatest value are drawn.</figcaption>", group);
  (void)buffer_text(out, "</figure>\n");
  buffer_release(&label);
  free(x);
}

/* --- the page --- */

static void put_changes(const struct history_report *r, const struct history_event *e, struct buffer *text, struct buffer *out) {
  (void)buffer_text(out, "<table><thead><tr><th scope='col'>figure</th><th scope='col' class='n'>before</th><th scope='col' "
                         "class='n'>after</th><th scope='col'>change</th><th scope='col'>p</th>"
                         "<th scope='col'></th></tr></thead><tbody>\n");
  for (size_t i = 0; i < e->n_changes; i++) {
    const struct change *c = history_change_of(r->history, &e->changes[i]);
    const struct history_series *s = &r->history->series[e->changes[i].series];
    html_text(out, "<tr><td>", s->figure, "</td>");
    buffer_clear(text);
    figure_put_value(c->before, s->unit, text);
    html_text(out, "<td class='n'>", text->data, "</td>");
    buffer_clear(text);
    figure_put_value(c->after, s->unit, text);
    html_text(out, "<td class='n'>", text->data, "</td>");
    buffer_clear(text);
    history_put_change(r, &e->changes[i], text);
    html_text(out, "<td>", text->data + strlen(s->figure) + 1, "</td>");
    (void)buffer_printf(out, "<td>%.3g</td><td%s>%s%s</td></tr>\n", c->p,
                        history_is_worse(r->history, &e->changes[i]) ? " class='bad'" : "",
                        history_is_worse(r->history, &e->changes[i]) ? "worse" : "", history_is_small(r, &e->changes[i]) ? " small" : "");
  }
  (void)buffer_text(out, "</tbody></table>\n");
}

static void put_facts(const struct coincidence *c, struct buffer *out) {
  if (c->facts.n_identity == 0) return;
  (void)buffer_text(out, "<table><thead><tr><th scope='col'>layer</th><th scope='col'>owner</th><th scope='col'>fact</th><th "
                         "scope='col'>before</th><th scope='col'>after</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < c->facts.n_items; i++) {
    const struct difference *d = &c->facts.items[i];
    if (d->of != FACT_IDENTITY) continue;
    html_text(out, "<tr><td>", layer_text(d->layer), "</td>");
    html_text(out, "<td>", coincidence_owner(c, d->layer), "</td>");
    html_text(out, "<td class='mono'>", d->key, "</td>");
    html_text(out, "<td class='v'>", d->a != NULL ? d->a : "(missing)", "</td>");
    html_text(out, "<td class='v'>", d->b != NULL ? d->b : "(missing)", "</td></tr>\n");
  }
  (void)buffer_text(out, "</tbody></table>\n");
}

static void put_event(const struct history_report *r, size_t event, struct buffer *text, struct buffer *out) {
  const struct history_event *e = &r->history->events[event];
  const struct history_series *s = &r->history->series[e->changes[0].series];
  (void)buffer_printf(out, "<h3>%zu. ", event + 1);
  html_text(out, "", s->name, s->precision[0] != 0 ? ", " : "");
  html_text(out, "", s->precision, "");
  html_text(out, ": between ", r->history->runs[e->before].from.label, "");
  html_text(out, " and ", r->history->runs[e->after].from.label, e->provisional ? " (provisional)</h3>\n" : "</h3>\n");
  buffer_clear(text);
  history_put_time(&r->history->runs[e->before], true, text);
  (void)buffer_text(text, " to ");
  history_put_time(&r->history->runs[e->after], true, text);
  if (r->history->runs[e->before].at_ns > 0) html_text(out, "<p class='dim'>", text->data, "</p>\n");
  put_changes(r, e, text, out);
  if (!history_has_executor(r, event)) return;
  buffer_clear(text);
  history_put_coincidence(r, event, text);
  html_text(out, "<p><b>There:</b> ", text->data, "</p>\n");
  buffer_clear(text);
  history_put_drift(r, event, "", true, text);
  html_text(out, "<p><b>Drift:</b> ", text->data, "</p>\n");
  put_facts(&r->coincidences[event], out);
  buffer_clear(text);
  history_put_next(r, event, text);
  if (text->length > 0) html_text(out, "<p><b>Next:</b> ", text->data, "</p>\n");
}

/* Those that changed first, if not all can be drawn. */
static void put_plots(const struct history_report *r, struct buffer *out) {
  const struct history *h = r->history;
  size_t n_drawn = 0, n_changed = 0;
  bool headed = false;
  for (size_t i = 0; i < h->n_series; i++) n_changed += h->series[i].changed;
  for (size_t i = 0; i < h->n_series && n_drawn < PLOTS_MAX; i++) {
    const struct history_series *s = &h->series[i];
    if (i == 0 || !history_same_stack(s, s - 1)) headed = false;
    if (s->n_values < 2 || (!s->changed && h->n_series > PLOTS_MAX && n_changed > 0)) continue;
    if (!headed) {
      html_text(out, "<h2>", s->name, s->precision[0] != 0 ? ", " : "");
      html_text(out, "", s->precision, "</h2>\n");
      if (s->contract[0] != 0) html_text(out, "<p class='dim mono'>contract ", s->contract, "</p>\n");
      headed = true;
    }
    history_plot(r, i, out);
    n_drawn++;
  }
  if (n_drawn < h->n_series) (void)buffer_printf(out, "<p class='dim'>%zu of %zu series are drawn.</p>\n", n_drawn, h->n_series);
}

bool history_html(const struct history_report *r, struct buffer *out) {
  struct buffer text;
  buffer_init(&text, 1 << 20);
  (void)buffer_text(&text, ""); /* data is not NULL from here on */
  html_page_begin(out, "History");
  history_put_verdict(r, &text);
  html_text(out, "<p class='claim'>", text.data, "</p>\n");
  if (r->history->n_events > 0) (void)buffer_text(out, "<h2>Changes</h2>\n");
  for (size_t i = 0; i < r->history->n_events; i++) put_event(r, i, &text, out);
  put_plots(r, out);
  for (size_t i = 0; i < r->n_schedules; i++) {
    buffer_clear(&text);
    timetable_put_log(&r->schedules[i], &text);
    html_text(out, i == 0 ? "<h2>Schedules</h2>\n<pre>" : "<pre>", text.data, "</pre>\n");
  }
  buffer_clear(&text);
  history_put_error(r, &text);
  html_text(out, "<p class='dim'>", text.data, "</p>\n");
  buffer_release(&text);
  return buffer_text(out, "</main></body></html>\n");
}
