#include "attribute/collective_rates.h"

#include <stdlib.h>
#include <string.h>

struct one {
  const char *name;
  int64_t ranks, ns;
  double bytes, rate;
};

static int by_name(const void *a, const void *b) {
  const struct one *x = a, *y = b;
  int c = strcmp(x->name, y->name);
  if (c == 0) c = (x->ranks > y->ranks) - (x->ranks < y->ranks);
  return c != 0 ? c : (x->rate > y->rate) - (x->rate < y->rate);
}

static int by_time(const void *a, const void *b) {
  const struct collective_rate *x = a, *y = b;
  return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

/* Those of one name and number of ranks, ascending by their rate. */
static void add_kind(const struct one *ones, size_t n, struct collective_rates *ret) {
  struct collective_rate r = {
      .name = ones[0].name, .n = (int64_t)n, .ranks = ones[0].ranks, .median = ones[n / 2].rate, .greatest = ones[n - 1].rate};
  for (size_t i = 0; i < n; i++) {
    r.ns = sum_ns(r.ns, ones[i].ns);
    r.bytes += ones[i].bytes;
  }
  if (ret->n < COLLECTIVE_RATES_MAX) ret->items[ret->n++] = r;
}

void collective_rates_of(const struct timeline *t, struct collective_rates *ret) {
  struct one *ones = xalloc(t->n_collectives + 1, sizeof *ones);
  size_t n = 0;
  *ret = (struct collective_rates){.n = 0};
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    if (!(s->flags & SPAN_COLLECTIVE)) continue;
    const struct collective *c = &t->collectives[s->more - 1];
    if (c->bus_bytes <= 0 || s->duration_ns <= 0 || n == t->n_collectives) {
      ret->n_unsized++;
      continue;
    }
    ones[n++] = (struct one){c->name, c->ranks, s->duration_ns, (double)c->bytes, (double)c->bus_bytes / (double)s->duration_ns * 1e9};
  }
  qsort(ones, n, sizeof *ones, by_name);
  for (size_t from = 0, to; from < n; from = to) {
    for (to = from + 1; to < n && strcmp(ones[to].name, ones[from].name) == 0 && ones[to].ranks == ones[from].ranks;) to++;
    add_kind(&ones[from], to - from, ret);
  }
  qsort(ret->items, ret->n, sizeof *ret->items, by_time);
  free(ones);
}
