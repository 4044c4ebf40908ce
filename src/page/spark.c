#include "page/spark.h"

#include <math.h>
#include <stdio.h>

#include "report/history_report.h"

enum { WIDTH = 260, HEIGHT = 56, EDGE = 5, POINTS = 60 };

struct scale {
  double least, most;
  size_t n;
};

static double x_of(const struct scale *s, size_t i) {
  return s->n > 1 ? EDGE + (WIDTH - 2.0 * EDGE) * (double)i / (double)(s->n - 1) : WIDTH / 2.0;
}

static double y_of(const struct scale *s, double value) {
  double share = s->most > s->least ? (value - s->least) / (s->most - s->least) : 0.5;
  return HEIGHT - EDGE - share * (HEIGHT - 2.0 * EDGE);
}

static void put_line(struct markup *m, const char *class, double x1, double y1, double x2, double y2) {
  char text[4][24];
  const double at[] = {x1, y1, x2, y2};
  for (int i = 0; i < 4; i++) (void)snprintf(text[i], sizeof text[i], "%.1f", at[i]);
  markup_open(m, "line", "class", class, "x1", text[0], "y1", text[1], "x2", text[2], "y2", text[3], NULL);
  markup_close(m);
}

static void put_point(struct markup *m, const char *class, double x, double y) {
  char cx[24], cy[24];
  (void)snprintf(cx, sizeof cx, "%.1f", x);
  (void)snprintf(cy, sizeof cy, "%.1f", y);
  markup_open(m, "circle", "class", class, "cx", cx, "cy", cy, "r", "2.2", NULL);
  markup_close(m);
}

/* All as one shape: a page has hundreds of these plots, and a browser is slow where each point is an element. */
static void put_points(struct markup *m, const struct scale *scale, const struct history_series *s, size_t step) {
  struct buffer path;
  buffer_init(&path, 1 << 16);
  for (size_t i = (s->n_values - 1) % step; i < s->n_values; i += step)
    (void)buffer_printf(&path, "M%.1f %.1fh0", x_of(scale, i), y_of(scale, s->values[i].value));
  markup_open(m, "path", "class", "points", "d", path.data, NULL);
  markup_close(m);
  buffer_release(&path);
}

static void put_levels(struct markup *m, const struct scale *scale, const struct history_series *s) {
  for (size_t k = 0; k <= s->found.n_items && s->changed; k++) {
    size_t begin = k > 0 ? s->found.items[k - 1].at : 0, end = k < s->found.n_items ? s->found.items[k].at : s->n_values;
    double y = y_of(scale, k > 0 ? s->found.items[k - 1].after : s->found.items[0].before);
    put_line(m, "level", x_of(scale, begin), y, x_of(scale, end - 1), y);
    if (k > 0)
      put_line(m, "at", (x_of(scale, begin) + x_of(scale, begin - 1)) / 2, 0, (x_of(scale, begin) + x_of(scale, begin - 1)) / 2, HEIGHT);
  }
}

/* Said in words, too, for who does not see it. */
static void put_words(struct markup *m, const struct history *h, const struct history_series *s) {
  struct buffer text;
  buffer_init(&text, 4096);
  (void)buffer_printf(&text, "%s, %zu run%s, ", s->figure, s->n_values, LYNX_S(s->n_values));
  history_put_time(&h->runs[s->values[0].run], false, &text);
  (void)buffer_text(&text, " to ");
  history_put_time(&h->runs[s->values[s->n_values - 1].run], false, &text);
  (void)buffer_printf(&text, ", %zu change%s", s->changed ? s->found.n_items : 0, LYNX_S(s->changed ? s->found.n_items : 0));
  markup_whole(m, "title", NULL, text.data);
  buffer_release(&text);
}

/* Its axis, in words: the greatest and the least value above and below it, the first and the last day. */
static void put_axis(struct markup *m, const struct history *h, const struct history_series *s, const char *class, double value,
                     bool days) {
  struct buffer text;
  buffer_init(&text, 4096);
  markup_open(m, "span", "class", class, NULL);
  figure_put_value(value, s->unit, &text);
  markup_whole(m, "span", NULL, text.data);
  for (size_t i = 0; i < 2 && days; i++) {
    buffer_clear(&text);
    history_put_time(&h->runs[s->values[i == 0 ? 0 : s->n_values - 1].run], false, &text);
    if (i == 1) markup_text(m, " – ");
    markup_text(m, text.data);
  }
  markup_close(m);
  buffer_release(&text);
}

void spark_put(struct markup *m, const struct history *h, const struct history_series *s) {
  lynx_assert(s->n_values > 0);
  struct scale scale = {INFINITY, -INFINITY, s->n_values};
  for (size_t i = 0; i < s->n_values; i++) {
    scale.least = fmin(scale.least, s->values[i].value);
    scale.most = fmax(scale.most, s->values[i].value);
  }
  const double least = scale.least, most = scale.most;
  double room = fmax(scale.most - scale.least, 0.05 * fabs(scale.most)) * 0.15; /* or noise alone would fill it */
  scale.least -= room, scale.most += room;
  markup_open(m, "div", "class", "sparkbox", NULL);
  put_axis(m, h, s, "axis", most, false);
  markup_open(m, "svg", "class", "spark", "viewBox", "0 0 260 56", "role", "img", NULL);
  put_words(m, h, s);
  put_levels(m, &scale, s);
  size_t step = (s->n_values + POINTS - 1) / POINTS;
  put_points(m, &scale, s, step);
  put_point(m, "last", x_of(&scale, s->n_values - 1), y_of(&scale, s->values[s->n_values - 1].value));
  markup_close(m);
  put_axis(m, h, s, "axis", least, true);
  markup_close(m);
}
