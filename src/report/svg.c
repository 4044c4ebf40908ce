#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"

enum { TICK_DIGITS = 12 }; /* 1.2, not 1.2000000000000002 */
static const double left = 74, right = 24, top = 30, bottom = 46;

bool html_escape(struct buffer *out, const char *text) {
  for (size_t i = 0, length = strlen(text); i < length;) {
    const unsigned char *p = (const unsigned char *)text + i;
    size_t n = utf8_length(p, length - i);
    bool none = n == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe; /* U+FFFE and U+FFFF, which XML has not */
    /* U+202A to U+202E, U+2066 to U+2069: they would turn what follows round */
    none = none ||
           (n == 3 && p[0] == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)));
    if (n == 0 || none || (*p < 0x20 && *p != '\n') || *p == 0x7f) (void)buffer_text(out, "\xef\xbf\xbd");
    else if (*p == '<') (void)buffer_text(out, "&lt;");
    else if (*p == '>') (void)buffer_text(out, "&gt;");
    else if (*p == '&') (void)buffer_text(out, "&amp;");
    else if (*p == '"') (void)buffer_text(out, "&quot;");
    else (void)buffer_append(out, p, n);
    i += n > 0 ? n : 1;
  }
  return !out->overflowed;
}

static double scaled(const struct svg_axis *axis, double value) {
  if (axis->scale == SVG_LOG) return log10(value > 1e-12 ? value : 1e-12);
  if (axis->scale == SVG_PERCENTILE) return -log10(1 - (value < 0.9999999 ? value : 0.9999999));
  return value;
}

static double position(const struct svg_axis *axis, double value, double from, double to) {
  double a = scaled(axis, axis->least), b = scaled(axis, axis->greatest), share = b > a ? (scaled(axis, value) - a) / (b - a) : 0.5;
  share = share < 0 ? 0 : share > 1 ? 1 : share;
  return from + share * (to - from);
}

static double at_x(const struct svg_plot *plot, double x) {
  return position(&plot->x, x, left, plot->width - right);
}

static double at_y(const struct svg_plot *plot, double y) {
  return position(&plot->y, y, plot->height - bottom, top);
}

static const char *tick_text(const struct svg_axis *axis, double value, char *text, size_t size) {
  char number[48];
  switch (axis->unit) {
    case SVG_NANOSECONDS: return number_duration_text(text, size, value);
    case SVG_SECONDS: (void)snprintf(text, size, "%.4g s", value); return text;
    case SVG_SHARE: (void)snprintf(text, size, "%.6g", 100 * value); return text;
    case SVG_DAYS: (void)snprintf(text, size, "%.10s", clock_text(number, (int64_t)(value * 86400e9 + 1e9))); return text;
    default:
      if (fabs(value) >= 1e12) {
        (void)snprintf(text, size, "%.3g", value);
        return text;
      }
      if (value >= 10000) return number_grouped(text, size, value, 0);
      (void)snprintf(text, size, "%s", number_text(number, sizeof number, number_round(value, TICK_DIGITS)));
      return text;
  }
}

static void put_tick(struct svg_plot *plot, bool horizontal, double value) {
  char text[64];
  if (horizontal) {
    double x = at_x(plot, value);
    (void)buffer_printf(
        plot->out,
        "<line class='grid' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/><text class='tick' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>",
        x, x, top, plot->height - bottom, x, plot->height - bottom + 16, tick_text(&plot->x, value, text, sizeof text));
    return;
  }
  double y = at_y(plot, value);
  (void)buffer_printf(
      plot->out,
      "<line class='grid' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/><text class='tick' x='%.1f' y='%.1f' text-anchor='end'>%s</text>", left,
      plot->width - right, y, y, left - 6, y + 4, tick_text(&plot->y, value, text, sizeof text));
}

static void linear_ticks(struct svg_plot *plot, bool horizontal, const struct svg_axis *axis) {
  double span = axis->greatest - axis->least, step = pow(10, floor(log10(span / 5)));
  if (!(span > 0)) return;
  if (axis->whole && step < 1) step = 1;
  if (!axis->whole || step > 1) step *= span / step > 25 ? 5 : span / step > 10 ? 2 : 1;
  double first = ceil(axis->least / step - 1e-9);
  int n = (int)floor(axis->greatest / step + 1e-9 - first) + 1;
  for (int i = 0; i < n && i < 100; i++) put_tick(plot, horizontal, (first + i) * step);
}

static void log_ticks(struct svg_plot *plot, bool horizontal, const struct svg_axis *axis) {
  if (axis->doubles && axis->least >= 1) {
    double from = pow(2, floor(log2(axis->least)));
    for (int k = 0; k < 20; k++) {
      double value = ldexp(from, k);
      if (value >= axis->least * 0.999 && value <= axis->greatest * 1.001) put_tick(plot, horizontal, value);
    }
    return;
  }
  bool fine = axis->greatest / axis->least < 300;
  int first = (int)floor(log10(axis->least)), last = (int)floor(log10(axis->greatest));
  for (int exponent = first; exponent <= last && exponent < first + 40; exponent++)
    for (int k = 1; k <= (fine ? 5 : 1); k += k == 1 ? 1 : 3) {
      double value = pow(10, exponent) * k;
      if (value >= axis->least * 0.999 && value <= axis->greatest * 1.001) put_tick(plot, horizontal, value);
    }
}

static void put_ticks(struct svg_plot *plot, bool horizontal) {
  const struct svg_axis *axis = horizontal ? &plot->x : &plot->y;
  static const double percentiles[] = {0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999};
  if (axis->scale == SVG_LOG) log_ticks(plot, horizontal, axis);
  else if (axis->scale == SVG_LINEAR) linear_ticks(plot, horizontal, axis);
  else
    for (size_t i = 0; i < LYNX_COUNT(percentiles); i++)
      if (percentiles[i] >= axis->least && percentiles[i] <= axis->greatest) put_tick(plot, horizontal, percentiles[i]);
}

void svg_begin(struct svg_plot *plot, const char *title) {
  (void)buffer_printf(plot->out, "<svg viewBox='0 0 %.0f %.0f' role='img' xmlns='http://www.w3.org/2000/svg'><title>", plot->width,
                      plot->height);
  (void)html_escape(plot->out, title);
  (void)buffer_printf(plot->out, "</title><text class='title' x='%.0f' y='18'>", left);
  (void)html_escape(plot->out, title);
  (void)buffer_text(plot->out, "</text>");
  put_ticks(plot, true);
  put_ticks(plot, false);
  (void)buffer_printf(plot->out, "<text class='label' x='%.1f' y='%.1f' text-anchor='middle'>", (left + plot->width - right) / 2,
                      plot->height - 8);
  (void)html_escape(plot->out, plot->x.label);
  (void)buffer_printf(plot->out, "</text><text class='label' transform='translate(14 %.1f) rotate(-90)' text-anchor='middle'>",
                      (top + plot->height - bottom) / 2);
  (void)html_escape(plot->out, plot->y.label);
  (void)buffer_text(plot->out, "</text>");
}

void svg_shade(struct svg_plot *plot, double from, double to, const char *label) {
  double a = at_x(plot, from), b = at_x(plot, to);
  (void)buffer_printf(plot->out, "<rect class='window' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/><text class='tick' x='%.1f' y='%.1f'>",
                      a, top, b - a, plot->height - bottom - top, a + 6, top + 14);
  (void)html_escape(plot->out, label);
  (void)buffer_text(plot->out, "</text>");
}

void svg_level(struct svg_plot *plot, double y, const char *label) {
  if (y < plot->y.least || y > plot->y.greatest) return;
  (void)buffer_printf(
      plot->out, "<line class='level' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/><text class='tick' x='%.1f' y='%.1f' text-anchor='end'>",
      left, plot->width - right, at_y(plot, y), at_y(plot, y), plot->width - right - 4, at_y(plot, y) - 4);
  (void)html_escape(plot->out, label);
  (void)buffer_text(plot->out, "</text>");
}

void svg_point(struct svg_plot *plot, double x, double y, int color) {
  (void)buffer_printf(plot->out, "<circle class='p c%d' cx='%.1f' cy='%.1f' r='2'/>", color % 6, at_x(plot, x), at_y(plot, y));
}

void svg_points(struct svg_plot *plot, const double *x, const double *y, size_t n, int color) {
  (void)buffer_printf(plot->out, "<path class='dots c%d' d='", color % 6);
  for (size_t i = 0; i < n; i++) (void)buffer_printf(plot->out, "M%.1f %.1fh0", at_x(plot, x[i]), at_y(plot, y[i]));
  (void)buffer_text(plot->out, "'/>");
}

void svg_bars(struct svg_plot *plot, const double *x, const double *low, const double *high, size_t n, int color) {
  (void)buffer_printf(plot->out, "<path class='l thin c%d' d='", color % 6);
  for (size_t i = 0; i < n; i++)
    if (isfinite(low[i]) && isfinite(high[i]))
      (void)buffer_printf(plot->out, "M%.1f %.1fV%.1f", at_x(plot, x[i]), at_y(plot, low[i]), at_y(plot, high[i]));
  (void)buffer_text(plot->out, "'/>");
}

void svg_cross(struct svg_plot *plot, double x, int color) {
  double cx = at_x(plot, x);
  (void)buffer_printf(plot->out, "<path class='l bad' d='M%.1f %.1fl6 6m0 -6l-6 6'><title>failed: infinite</title></path>", cx - 3,
                      top + 1);
  (void)color;
}

void svg_line(struct svg_plot *plot, const double *x, const double *y, size_t n, int color, bool thin) {
  if (n == 0) return;
  (void)buffer_printf(plot->out, "<path class='l%s c%d' d='", thin ? " thin" : "", color % 6);
  for (size_t i = 0; i < n; i++) (void)buffer_printf(plot->out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', at_x(plot, x[i]), at_y(plot, y[i]));
  (void)buffer_text(plot->out, "'/>");
}

void svg_end(struct svg_plot *plot) {
  (void)buffer_printf(plot->out, "<path class='frame' d='M%.1f %.1fV%.1fH%.1f'/></svg>", left, top, plot->height - bottom,
                      plot->width - right);
}

void svg_fit(struct svg_axis *axis, const double *x, size_t n) {
  double least = INFINITY, greatest = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i]) || (axis->scale == SVG_LOG && x[i] <= 0)) continue;
    least = x[i] < least ? x[i] : least;
    greatest = x[i] > greatest ? x[i] : greatest;
  }
  if (!isfinite(least)) least = 1, greatest = 10;
  if (axis->scale == SVG_LOG) axis->least = least / 1.3, axis->greatest = greatest * 1.3;
  else axis->least = 0, axis->greatest = greatest > 0 ? greatest * 1.1 : 1;
}
