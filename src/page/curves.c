#include "page/curves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "report/html_page.h"
#include "report/svg.h"

enum { VALUES_MAX = 1 << 20, PLOT_MAX = 1 << 20 };

static double estimate_of(const json_t *holder, const char *key) {
  return json_get_double(json_object_get(holder, key), "estimate", NAN);
}

/* In the order of their loads, so that the line turns back where more load gives less. */
static void append_point(struct curve *c, double x, double y) {
  if (!(x > 0) || !(y > 0) || !isfinite(x) || !isfinite(y) || c->n == CURVE_POINTS_MAX) return;
  c->x[c->n] = x;
  c->y[c->n++] = y;
}

static void read_plain(const json_t *precision, bool requests, struct curve *c) {
  const json_t *at = json_object_get(json_object_get(json_object_get(precision, "latency"), "time_to_first_token"), "quantiles");
  for (size_t i = 0; i < json_array_size(at); i++) {
    const json_t *q = json_array_get(at, i);
    if (json_get_double(q, "p", 0) == 0.5)
      append_point(c, estimate_of(precision, requests ? "request_rate" : "output_rate"), json_get_double(q, "estimate", NAN));
  }
}

static void read_precision(const json_t *precision, struct curve *c) {
  const json_t *steps = json_object_get(json_object_get(precision, "climb"), "steps"),
               *points = json_object_get(json_object_get(precision, "saturation"), "points");
  c->requests = strcmp(json_get_text(precision, "counts", "tokens"), "tokens") != 0;
  for (size_t i = 0; i < json_array_size(steps); i++) {
    const json_t *s = json_array_get(steps, i);
    append_point(c, json_get_double(s, "throughput", NAN), json_get_double(s, "time_to_first_token_p50", NAN));
  }
  for (size_t i = 0; i < json_array_size(points); i++) {
    const json_t *s = json_array_get(points, i);
    append_point(c, c->requests ? json_get_double(s, "rate_per_s", NAN) : estimate_of(s, "output_rate"),
                 json_get_double(s, "time_to_first_token_p50", NAN));
  }
  if (c->n == 0) read_plain(precision, c->requests, c);
}

bool curves_add(struct curves *curves, const char *run, const struct buffer *result) {
  struct lynx_error ignored = {0};
  json_t *root = json_parse(result->data, result->length, VALUES_MAX, &ignored);
  const json_t *precisions = json_object_get(root, "precisions");
  for (size_t i = 0; i < json_array_size(precisions) && curves->n < CURVES_MAX; i++) {
    const json_t *precision = json_array_get(precisions, i);
    struct curve *c = &curves->items[curves->n];
    *c = (struct curve){.n = 0};
    (void)snprintf(c->name, sizeof c->name, "%s %.100s", run, json_get_text(precision, "precision", ""));
    read_precision(precision, c);
    curves->n += c->n > 0;
  }
  bool known = json_is_array(precisions);
  json_decref(root);
  return known;
}

/* One load each is in the table already. */
static bool has_line(const struct curves *curves) {
  bool any = false;
  for (size_t i = 0; i < curves->n; i++) any = any || curves->items[i].n > 1;
  return any;
}

/* Those that count the same as the first. */
static bool is_drawn(const struct curves *curves, size_t i) {
  return curves->items[i].requests == curves->items[0].requests;
}

static void fit(const struct curves *curves, struct svg_plot *plot) {
  double xs[CURVES_MAX * CURVE_POINTS_MAX], ys[CURVES_MAX * CURVE_POINTS_MAX];
  size_t n = 0;
  for (size_t i = 0; i < curves->n; i++)
    for (size_t k = 0; k < curves->items[i].n && is_drawn(curves, i); k++) {
      xs[n] = curves->items[i].x[k];
      ys[n++] = curves->items[i].y[k];
      plot->x.greatest = fmax(plot->x.greatest, 1.05 * xs[n - 1]);
    }
  svg_fit(&plot->y, ys, n);
}

void curves_plot(const struct curves *curves, struct markup *m) {
  struct buffer made, keys;
  if (!has_line(curves)) return;
  buffer_init(&made, PLOT_MAX);
  buffer_init(&keys, PLOT_MAX);
  struct svg_plot plot = {
      .out = &made,
      .width = 1000,
      .height = 320,
      .x = {.least = 0, .unit = SVG_NUMBER, .label = curves->items[0].requests ? "throughput, requests/s" : "throughput, tokens/s"},
      .y = {.scale = SVG_LOG, .unit = SVG_NANOSECONDS, .label = "time to first token, median"}};
  fit(curves, &plot);
  svg_begin(&plot, "Latency against throughput");
  for (size_t i = 0; i < curves->n; i++) {
    const struct curve *c = &curves->items[i];
    if (!is_drawn(curves, i)) continue;
    svg_line(&plot, c->x, c->y, c->n, (int)i, false);
    for (size_t k = 0; k < c->n; k++) svg_point(&plot, c->x[k], c->y[k], (int)i);
  }
  svg_end(&plot);
  for (size_t i = 0; i < curves->n; i++)
    if (is_drawn(curves, i)) html_key(&keys, (int)i, curves->items[i].name);
  markup_open(m, "figure", NULL);
  markup_made(m, &made);
  markup_open(m, "figcaption", NULL);
  markup_made(m, &keys);
  markup_close(m);
  markup_close(m);
  buffer_release(&made);
  buffer_release(&keys);
}

void curves_to_json(const struct curves *curves, struct json_writer *json) {
  json_open_array(json);
  for (size_t i = 0; i < curves->n; i++) {
    const struct curve *c = &curves->items[i];
    json_open_object(json);
    json_put_text(json, "run", c->name);
    json_put_text(json, "of", c->requests ? "requests/s" : "tokens/s");
    json_key(json, "points");
    json_open_array(json);
    for (size_t k = 0; k < c->n; k++) {
      json_open_object(json);
      json_put_double(json, "throughput", c->x[k]);
      json_put_double(json, "time_to_first_token_p50", c->y[k]);
      json_close(json);
    }
    json_close(json);
    json_close(json);
  }
  json_close(json);
}
