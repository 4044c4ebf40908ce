/* report/svg.h: plots as SVG text: axes, points, lines, a shaded span. Colours are CSS classes (c0..c5), so that a page's light
 * and dark styles apply.
 * Order    svg_begin, then marks, then svg_end
 * Units    whatever the axis says; a value outside the axis is drawn at its edge */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/buffer.h"

enum svg_scale { SVG_LINEAR, SVG_LOG, SVG_PERCENTILE /* p in (0,1), by -log10(1-p) */ };
enum svg_unit { SVG_NUMBER, SVG_NANOSECONDS, SVG_SECONDS, SVG_SHARE, SVG_DAYS /* since 1970-01-01 */ };

struct svg_axis {
  double least, greatest;
  enum svg_scale scale;
  enum svg_unit unit;
  const char *label;
  bool whole;   /* linear: no ticks between whole numbers */
  bool doubles; /* logarithmic: ticks at the powers of 2 */
};

struct svg_plot {
  struct buffer *out;
  double width, height;
  struct svg_axis x, y;
};

void svg_begin(struct svg_plot *plot, const char *title);
void svg_shade(struct svg_plot *plot, double from, double to, const char *label);
void svg_level(struct svg_plot *plot, double y, const char *label); /* a dashed horizontal line */
void svg_point(struct svg_plot *plot, double x, double y, int color);
/* Many of one colour as one shape: what a browser takes long for is the number of elements. */
void svg_points(struct svg_plot *plot, const double *x, const double *y, size_t n, int color);
void svg_bars(struct svg_plot *plot, const double *x, const double *low, const double *high, size_t n, int color); /* NaN: none there */
void svg_cross(struct svg_plot *plot, double x, int color); /* at the top edge: an infinite value */
void svg_line(struct svg_plot *plot, const double *x, const double *y, size_t n, int color, bool thin);
void svg_end(struct svg_plot *plot);

/* Bounds that hold all of x[n] with some room; infinite values are left out. */
void svg_fit(struct svg_axis *axis, const double *x, size_t n);

/* Text for HTML and SVG: < > & and quotes escaped, control characters replaced. */
bool html_escape(struct buffer *out, const char *text);

#endif
