#include "stats/stretches.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"
#include "stats/quantile.h"

struct edge {
  int64_t at_ns;
  int answers, waits, gaps;
};

static int by_time(const void *a, const void *b) {
  const struct edge *x = a, *y = b;
  return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static size_t add_edges(struct edge *edges, size_t n, const struct stretch *stretches, size_t n_stretches, struct edge kind) {
  for (size_t i = 0; i < n_stretches; i++) {
    if (stretches[i].to_ns <= stretches[i].from_ns) continue;
    edges[n++] = (struct edge){stretches[i].from_ns, kind.answers, kind.waits, kind.gaps};
    edges[n++] = (struct edge){stretches[i].to_ns, -kind.answers, -kind.waits, -kind.gaps};
  }
  return n;
}

size_t stops_find(const struct stops_wanted *wanted, struct stretch **ret) {
  struct edge *edges = xalloc(2 * (wanted->n_answers + wanted->n_waits + wanted->n_gaps) + 1, sizeof *edges);
  size_t n = add_edges(edges, 0, wanted->answers, wanted->n_answers, (struct edge){.answers = 1}), n_stops = 0, room = 0;
  n = add_edges(edges, n, wanted->waits, wanted->n_waits, (struct edge){.waits = 1});
  n = add_edges(edges, n, wanted->gaps, wanted->n_gaps, (struct edge){.gaps = 1});
  int64_t under_way = 0, waited_for = 0, in_gap = 0, from_ns = 0;
  bool stopped = false;
  *ret = NULL;
  qsort(edges, n, sizeof *edges, by_time);
  for (size_t i = 0; i < n;) {
    int64_t at_ns = edges[i].at_ns;
    for (; i < n && edges[i].at_ns == at_ns; i++) {
      under_way += edges[i].answers;
      waited_for += edges[i].waits;
      in_gap += edges[i].gaps;
    }
    bool now = under_way >= 1 && under_way + waited_for >= 2 && in_gap == under_way;
    if (now && !stopped) from_ns = at_ns;
    if (!now && stopped && at_ns - from_ns >= wanted->least_ns) {
      *ret = xroom(*ret, n_stops, &room, sizeof **ret);
      (*ret)[n_stops++] = (struct stretch){from_ns, at_ns};
    }
    stopped = now;
  }
  free(edges);
  return n_stops;
}

int64_t stops_within(const struct stretch *stops, size_t n, int64_t from_ns, int64_t to_ns) {
  size_t low = 0, high = n;
  int64_t sum = 0;
  while (low < high) { /* the first that ends behind from_ns */
    size_t middle = (low + high) / 2;
    if (stops[middle].to_ns <= from_ns) low = middle + 1;
    else high = middle;
  }
  for (size_t i = low; i < n && stops[i].from_ns < to_ns; i++) {
    int64_t from = stops[i].from_ns > from_ns ? stops[i].from_ns : from_ns, to = stops[i].to_ns < to_ns ? stops[i].to_ns : to_ns;
    sum += to - from;
  }
  return sum;
}

double stops_period(const struct stretch *stops, size_t n) {
  enum { LEAST = 6 };
  if (n < LEAST) return NAN;
  double *apart = xalloc(n, sizeof *apart), period = NAN;
  for (size_t i = 1; i < n; i++) apart[i - 1] = (double)(stops[i].from_ns - stops[i - 1].from_ns);
  quantile_sort(apart, n - 1);
  double median = quantile_of(apart, n - 1, 0.5);
  size_t near = 0, near_once = 0; /* one that nobody was there to see makes twice the time */
  for (size_t i = 0; i + 1 < n; i++) {
    double times = fmax(1, round(apart[i] / median));
    near += fabs(apart[i] - times * median) <= 0.1 * median;
    near_once += fabs(apart[i] - median) <= 0.1 * median;
  }
  if ((double)near >= 0.7 * (double)(n - 1) && (double)near_once >= 0.5 * (double)(n - 1)) period = median;
  free(apart);
  return period;
}
