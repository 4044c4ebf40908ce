/* The busiest threads over the whole run, one strip each, the machine below them: which step of the climb filled whom. */
#include <math.h>
#include <stdio.h>

#include "report/live_report.h"
#include "report/svg.h"

enum { WIDE = 1000, LEFT = 190, TOP = 22, STRIP = 34, GAP = 6, NAME_SHOWN = 25 };

static double x_of(double bin) {
  return LEFT + bin * (WIDE - LEFT - 8) / LIVE_BINS;
}

/* A filled outline from the bottom of the strip; below: what is stacked under it, NULL: nothing. */
static void put_area(struct buffer *out, const double *below, const double *values, double most, double bottom, const char *fill) {
  (void)buffer_printf(out, "<path fill='%s' d='M%.1f %.1f", fill, x_of(0), bottom);
  for (size_t i = 0; i < LIVE_BINS; i++) {
    double y = bottom - fmin(1, ((below != NULL ? below[i] : 0) + values[i]) / most) * STRIP;
    (void)buffer_printf(out, "H%.1fV%.1f", x_of((double)i), y);
  }
  (void)buffer_printf(out, "H%.1fV%.1f", x_of(LIVE_BINS), bottom);
  if (below != NULL)
    for (size_t i = LIVE_BINS; i-- > 0;) (void)buffer_printf(out, "V%.1fH%.1f", bottom - fmin(1, below[i] / most) * STRIP, x_of((double)i));
  (void)buffer_text(out, "Z'/>");
}

static void put_name(struct buffer *out, const char *name, double bottom, double most) {
  char cut[64];
  (void)snprintf(cut, sizeof cut, "%.*s", NAME_SHOWN, name);
  (void)buffer_printf(out, "<text class='tick' x='%d' y='%.1f' text-anchor='end'>", LEFT - 30, bottom - STRIP / 2.0 + 4);
  (void)html_escape(out, cut);
  (void)buffer_printf(out, "</text><text class='tick' x='%d' y='%.1f' text-anchor='end'>%.3g</text>", LEFT - 6, bottom - STRIP + 9, most);
}

static double greatest(const double *a, const double *b, double least) {
  double most = least;
  for (size_t i = 0; i < LIVE_BINS; i++) {
    double value = a[i] + (b != NULL ? b[i] : 0);
    if (isfinite(value)) most = fmax(most, value);
  }
  return most;
}

static void put_marks(struct buffer *out, const struct live_series *x, double bottom) {
  for (size_t i = 0; i < x->n_marks; i++) {
    const struct live_mark *m = &x->marks[i];
    double from = x_of(fmax(0, m->from)), to = x_of(fmin(LIVE_BINS, m->to));
    if (!(to > from)) continue;
    (void)buffer_printf(out, "<rect x='%.1f' y='%d' width='%.1f' height='%.1f' fill='var(--panel)' stroke='%s'/>", from, TOP - 4, to - from,
                        bottom - TOP + 4, m->counted ? "var(--c0)" : "var(--line)");
    (void)buffer_printf(out, "<text class='tick' x='%.1f' y='%d' text-anchor='middle'>", (from + to) / 2, TOP - 9);
    (void)html_escape(out, m->label);
    (void)buffer_text(out, "</text>");
  }
}

/* Samples come every half second or so: a bin without one keeps the last. */
static void fill_holes(const double *values, double ret[LIVE_BINS]) {
  double last = 0;
  for (size_t i = 0; i < LIVE_BINS; i++) ret[i] = last = isfinite(values[i]) ? values[i] : last;
}

void live_over_time(const struct live *live, struct arena *arena, struct buffer *out) {
  const struct live_series *x = &live->series;
  double busy[LIVE_BINS], waiting[LIVE_BINS], bottom = TOP;
  if (x->n_tracks == 0) return;
  fill_holes(x->busy, busy);
  fill_holes(x->waiting, waiting);
  bool queue = greatest(waiting, NULL, 0) > 0;
  double height = TOP + (double)(x->n_tracks + 1 + queue) * (STRIP + GAP) + 24;
  (void)buffer_printf(out,
                      "<h2>Threads over time</h2><figure><svg viewBox='0 0 %d %.0f' role='img'><title>What the busiest threads did over "
                      "the run</title>",
                      WIDE, height);
  put_marks(out, x, height - 24);
  for (size_t i = 0; i < x->n_tracks; i++) {
    const struct live_track *t = &x->tracks[i];
    double most = greatest(t->running, t->ready, 1);
    bottom += STRIP;
    put_area(out, NULL, t->running, most, bottom, "var(--c0)");
    put_area(out, t->running, t->ready, most, bottom, "var(--c1)");
    put_name(out, live_lane_text(arena, &live->at.lanes[t->lane]), bottom, most);
    bottom += GAP;
  }
  bottom += STRIP;
  put_area(out, NULL, busy, 1, bottom, "var(--c4)");
  put_name(out, "processors busy", bottom, 1);
  bottom += GAP;
  if (queue) {
    double most = greatest(waiting, NULL, 1);
    bottom += STRIP;
    put_area(out, NULL, waiting, most, bottom, "var(--c3)");
    put_name(out, "requests waiting", bottom, most);
  }
  for (int k = 0; k <= 4; k++)
    (void)buffer_printf(out, "<text class='tick' x='%.1f' y='%.1f' text-anchor='%s'>%.3g s</text>", x_of(LIVE_BINS * k / 4.0), height - 8,
                        k < 4 ? "middle" : "end", x->bin_ns * LIVE_BINS * k / 4e9);
  (void)buffer_text(out, "</svg><figcaption class='dim'>Threads in use: <span class='key'><i class='k0'></i>running</span> "
                         "<span class='key'><i class='k1'></i>ready, without a processor</span>. Above: requests in flight "
                         "of each step, what is counted, and where profilers ran.</figcaption></figure>");
}
