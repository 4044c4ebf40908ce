#include "attribute/span_sort.h"

#include <stdbool.h>

static inline bool earlier(const struct span *a, const struct span *b) {
  return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->duration_ns > b->duration_ns;
}

static inline void swap(struct span *a, struct span *b) {
  struct span c = *a;
  *a = *b;
  *b = c;
}

static void sift_down(struct span *x, size_t i, size_t n) {
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && earlier(&x[child], &x[child + 1])) child++;
    if (!earlier(&x[i], &x[child])) return;
    swap(&x[i], &x[child]);
  }
}

static void heap_sort(struct span *x, size_t n) {
  for (size_t i = n / 2; i-- > 0;) sift_down(x, i, n);
  for (size_t i = n; i-- > 1;) {
    swap(&x[0], &x[i]);
    sift_down(x, 0, i);
  }
}

static void insertion_sort(struct span *x, size_t n) {
  for (size_t i = 1; i < n; i++) {
    struct span s = x[i];
    size_t k = i;
    for (; k > 0 && earlier(&s, &x[k - 1]); k--) x[k] = x[k - 1];
    x[k] = s;
  }
}

/* Quicksort about the middle of three, which takes sorted stretches well; a heap where it goes too deep. */
static void sort_spans(struct span *x, size_t n, int depth) {
  while (n > 24) {
    if (depth-- == 0) {
      heap_sort(x, n);
      return;
    }
    if (earlier(&x[n / 2], &x[0])) swap(&x[n / 2], &x[0]);
    if (earlier(&x[n - 1], &x[0])) swap(&x[n - 1], &x[0]);
    if (earlier(&x[n - 1], &x[n / 2])) swap(&x[n - 1], &x[n / 2]);
    struct span pivot = x[n / 2];
    size_t i = 0, k = n - 1;
    for (;;) {
      while (earlier(&x[i], &pivot)) i++;
      while (earlier(&pivot, &x[k])) k--;
      if (i >= k) break;
      swap(&x[i++], &x[k--]);
    }
    size_t left = k + 1;
    if (left < n - left) {
      sort_spans(x, left, depth);
      x += left;
      n -= left;
    } else {
      sort_spans(x + left, n - left, depth);
      n = left;
    }
  }
  insertion_sort(x, n);
}

void spans_sort(struct span *spans, size_t n) {
  int depth = 2;
  for (size_t left = n; left > 1; left /= 2) depth += 2;
  for (size_t i = 1; i < n; i++)
    if (earlier(&spans[i], &spans[i - 1])) {
      sort_spans(spans, n, depth);
      return;
    }
}
