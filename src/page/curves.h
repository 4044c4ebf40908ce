/* page/curves.h: how latency grows with throughput, of several runs in one plot: the points of a climb or of a search for saturation, or the
 * one load of a plain run.
 * Units    x: output tokens/s, or requests/s where answers have no tokens; y: the median time to first token, ns */
#ifndef PAGE_CURVES_H
#define PAGE_CURVES_H

#include "base/json.h"
#include "page/markup.h"

enum { CURVES_MAX = 6, CURVE_POINTS_MAX = 200 };

struct curve {
  char name[160]; /* "A f32" */
  bool requests;  /* x is in requests */
  double x[CURVE_POINTS_MAX], y[CURVE_POINTS_MAX];
  size_t n;
};

struct curves {
  struct curve items[CURVES_MAX];
  size_t n;
};

/* Adds the run's precisions that have a point; result: JSON of `lynxbench show`. False: it cannot be read. */
bool curves_add(struct curves *curves, const char *run, const struct buffer *result);
/* Nothing where none has two points. */
void curves_plot(const struct curves *curves, struct markup *markup);
void curves_to_json(const struct curves *curves, struct json_writer *json);

#endif
