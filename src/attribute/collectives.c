#include "attribute/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* One collective on one rank. */
struct call {
  const char *group, *name;
  int64_t sequence, order, start_ns, duration_ns, elements; /* order: its sequence number; where there is none, its place in its group */
};

static int by_group(const void *a, const void *b) {
  const struct call *x = a, *y = b;
  int c = strcmp(x->group, y->group);
  if (c != 0) return c;
  if (x->sequence != y->sequence) return x->sequence < y->sequence ? -1 : 1;
  return x->start_ns != y->start_ns ? (x->start_ns < y->start_ns ? -1 : 1) : 0;
}

static size_t list_calls(const struct timeline *t, struct call **ret) {
  size_t n = 0;
  struct call *calls = xalloc(t->n_collectives + 1, sizeof *calls);
  for (size_t i = 0; i < t->n_spans && n < t->n_collectives; i++) {
    const struct span *s = &t->spans[i];
    if (s->kind != TRACE_KERNEL || s->more == 0) continue; /* those launched before the trace count too: every rank has them */
    const struct collective *c = &t->collectives[s->more - 1];
    calls[n++] = (struct call){.group = c->group,
                               .name = c->name,
                               .sequence = c->sequence,
                               .start_ns = s->start_ns,
                               .duration_ns = s->duration_ns,
                               .elements = c->elements};
  }
  qsort(calls, n, sizeof *calls, by_group);
  for (size_t i = 0; i < n; i++) {
    bool first = i == 0 || strcmp(calls[i].group, calls[i - 1].group) != 0;
    calls[i].order = calls[i].sequence >= 0 ? calls[i].sequence : first ? 0 : calls[i - 1].order + 1;
  }
  *ret = calls;
  return n;
}

static const struct call *find_call(const struct call *calls, size_t n, const struct call *wanted) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int c = strcmp(calls[middle].group, wanted->group);
    if (c < 0 || (c == 0 && calls[middle].order < wanted->order)) low = middle + 1;
    else high = middle;
  }
  return low < n && strcmp(calls[low].group, wanted->group) == 0 && calls[low].order == wanted->order ? &calls[low] : NULL;
}

void collectives_match(const struct timeline *const *timelines, size_t n, struct collectives *ret) {
  struct call **calls = xalloc(n + 1, sizeof(struct call *));
  size_t *n_calls = xalloc(n + 1, sizeof *n_calls);
  const struct call **same = xalloc(n + 1, sizeof(const struct call *));
  *ret = (struct collectives){.n_ranks = n, .ranks = xalloc(n + 1, sizeof *ret->ranks)};
  for (size_t r = 0; r < n; r++) {
    const char *rank = timeline_fact(timelines[r], "rank");
    if (rank == NULL || !number_int64(rank, strlen(rank), &ret->ranks[r].rank)) ret->ranks[r].rank = (int64_t)r;
    n_calls[r] = list_calls(timelines[r], &calls[r]);
    for (size_t i = 0; i < n_calls[r]; i++) ret->ranks[r].busy_ns += calls[r][i].duration_ns;
    ret->ranks[r].n = (int64_t)n_calls[r];
  }
  for (size_t i = 0; n > 1 && i < n_calls[0]; i++) {
    bool all = true;
    int64_t least = INT64_MAX, first = INT64_MAX, last = INT64_MIN;
    size_t latest = 0, n_least = 0;
    for (size_t r = 0; r < n && all; r++) {
      same[r] = find_call(calls[r], n_calls[r], &calls[0][i]);
      all = same[r] != NULL && strcmp(same[r]->name, calls[0][i].name) == 0 && same[r]->elements == calls[0][i].elements;
      if (!all) break;
      n_least = same[r]->duration_ns < least ? 1 : n_least + (same[r]->duration_ns == least);
      if (same[r]->duration_ns < least) least = same[r]->duration_ns, latest = r;
      if (same[r]->start_ns < first) first = same[r]->start_ns;
      if (same[r]->start_ns > last) last = same[r]->start_ns;
    }
    if (!all) {
      ret->n_unmatched++;
      continue;
    }
    ret->n_matched++;
    ret->transfer_ns += least;
    ret->ranks[latest].n_last += n_least == 1; /* of those that came together none was last */
    for (size_t r = 0; r < n; r++) ret->ranks[r].wait_ns += same[r]->duration_ns - least;
    ret->skew_sum_ns += last - first;
    if (last - first > ret->skew_greatest_ns) ret->skew_greatest_ns = last - first;
  }
  for (size_t r = 0; r < n; r++) free(calls[r]);
  free(calls);
  free(n_calls);
  free(same);
}

void collectives_release(struct collectives *collectives) {
  free(collectives->ranks);
  *collectives = (struct collectives){.n_ranks = 0};
}
