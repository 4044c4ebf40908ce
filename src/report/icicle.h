/* report/icicle.h: an icicle in three rows: owner, layer, cause, each as wide as its share of the whole. */
#ifndef REPORT_ICICLE_H
#define REPORT_ICICLE_H

#include "base/buffer.h"

struct icicle_cell {
  const char *owner, *layer, *label;
  double share;
  int color;                       /* of the page's, 0 to 5; -1: nobody's */
  double owner_share, layer_share; /* filled in */
};

enum { ICICLE_CELLS_MAX = 256 };

/* Sorts the cells: the greatest owner first, within it the greatest layer, within that the greatest cause. of: "the window". */
void icicle_put(struct buffer *out, struct icicle_cell *cells, size_t n, const char *title, const char *of);

#endif
