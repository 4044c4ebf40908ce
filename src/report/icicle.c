#include "report/icicle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"

enum { WIDTH = 1000, ROW = 46 };

static int by_double(double x, double y) {
  return x > y ? -1 : x < y;
}

static int by_owner(const void *a, const void *b) {
  const struct icicle_cell *x = a, *y = b;
  int c = by_double(x->owner_share, y->owner_share);
  if (c == 0) c = strcmp(x->owner, y->owner);
  if (c == 0) c = by_double(x->layer_share, y->layer_share);
  if (c == 0) c = strcmp(x->layer, y->layer);
  if (c == 0) c = by_double(x->share, y->share);
  return c != 0 ? c : strcmp(x->label, y->label);
}

static void put_box(struct buffer *out, double x, double y, double width, int color, double opacity, const char *label, double share,
                    const char *of) {
  char fill[32];
  if (color < 0) (void)snprintf(fill, sizeof fill, "var(--bad)");
  else (void)snprintf(fill, sizeof fill, "var(--c%d)", color);
  (void)buffer_printf(out,
                      "<g><rect x='%.2f' y='%.0f' width='%.2f' height='%d' fill='%s' fill-opacity='%.2f' stroke='var(--panel)'/><title>", x,
                      y, width > 0.4 ? width : 0.4, ROW - 2, fill, opacity);
  (void)html_escape(out, label);
  (void)buffer_printf(out, ": %.2f %% of %s</title>", 100 * share, of);
  size_t room = (size_t)(width / 6.3);
  if (room >= 6) {
    char cut[160];
    (void)snprintf(cut, sizeof cut, "%.*s%s", (int)(room < strlen(label) ? room - 1 : room), label, room < strlen(label) ? "…" : "");
    (void)buffer_printf(out, "<text x='%.2f' y='%.0f'>", x + 4, y + 19);
    (void)html_escape(out, cut);
    (void)buffer_printf(out, "</text><text class='tick' x='%.2f' y='%.0f'>%.1f %%</text>", x + 4, y + 35, 100 * share);
  }
  (void)buffer_text(out, "</g>");
}

void icicle_put(struct buffer *out, struct icicle_cell *cells, size_t n, const char *title, const char *of) {
  double x = 0;
  for (size_t i = 0; i < n; i++) {
    cells[i].owner_share = cells[i].layer_share = 0;
    for (size_t k = 0; k < n; k++) {
      bool same = strcmp(cells[i].owner, cells[k].owner) == 0;
      cells[i].owner_share += same ? cells[k].share : 0;
      cells[i].layer_share += same && strcmp(cells[i].layer, cells[k].layer) == 0 ? cells[k].share : 0;
    }
  }
  if (n > 0) qsort(cells, n, sizeof *cells, by_owner);
  (void)buffer_printf(out, "<figure><svg viewBox='0 0 %d %d' role='img'><title>", WIDTH, 3 * ROW);
  (void)html_escape(out, title);
  (void)buffer_text(out, "</title>");
  for (size_t i = 0; i < n; i++) {
    const struct icicle_cell *c = &cells[i], *before = i > 0 ? &cells[i - 1] : NULL;
    bool new_owner = before == NULL || strcmp(before->owner, c->owner) != 0;
    if (new_owner) put_box(out, x, 0, c->owner_share * WIDTH, c->color, 0.16, c->owner, c->owner_share, of);
    if (new_owner || strcmp(before->layer, c->layer) != 0)
      put_box(out, x, ROW, c->layer_share * WIDTH, c->color, 0.3, c->layer[0] == '-' ? "no layer" : c->layer, c->layer_share, of);
    put_box(out, x, 2 * ROW, c->share * WIDTH, c->color, 0.5, c->label, c->share, of);
    x += c->share * WIDTH;
  }
  (void)buffer_printf(
      out,
      "</svg><figcaption class='dim'>Above the owner, below it the layer, below that the cause: as wide as its share of %s. "
      "Point at one for its words.</figcaption></figure>",
      of);
}
