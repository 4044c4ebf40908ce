#include "attribute/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static int compare(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b) {
  const struct collective_call *x = a, *y = b;
  int c = strcmp(x->group, y->group);
  if (c == 0) c = compare(x->order, y->order);
  return c != 0 ? c : compare(x->start_ns, y->start_ns);
}

void collectives_list(const struct timeline *t, int64_t default_rank, struct rank_calls *ret) {
  const char *rank = timeline_fact(t, "rank");
  struct collective_call *calls = xalloc(t->n_collectives + 1, sizeof *calls);
  size_t n = 0;
  for (size_t i = 0; i < t->n_spans && n < t->n_collectives; i++) {
    const struct span *s = &t->spans[i];
    if (!(s->flags & SPAN_COLLECTIVE)) continue; /* those launched before the trace count too: every rank has them */
    const struct collective *c = &t->collectives[s->more - 1];
    calls[n++] = (struct collective_call){.group = c->group,
                                          .name = c->name,
                                          .order = c->sequence,
                                          .start_ns = s->start_ns,
                                          .duration_ns = s->duration_ns,
                                          .elements = c->elements,
                                          .bus_bytes = c->bus_bytes};
  }
  qsort(calls, n, sizeof *calls, by_place);
  int64_t numbered = -1; /* of the one before, as the trace has it */
  for (size_t i = 0; i < n; i++) {
    bool first = i == 0 || strcmp(calls[i].group, calls[i - 1].group) != 0, again = !first && calls[i].order == numbered;
    numbered = calls[i].order;
    if (numbered < 0) calls[i].order = first ? 0 : calls[i - 1].order + 1;
    else calls[i].repeat = again ? calls[i - 1].repeat + 1 : 0;
  }
  *ret = (struct rank_calls){.rank = default_rank, .at = calls, .n = n};
  if (rank != NULL && !number_int64(rank, strlen(rank), &ret->rank)) ret->rank = default_rank;
}

/* The same collective of several ranks stands together. */
static int by_identity(const void *a, const void *b) {
  const struct collective_call *x = *(const struct collective_call *const *)a, *y = *(const struct collective_call *const *)b;
  int c = strcmp(x->group, y->group);
  if (c == 0) c = compare(x->order, y->order);
  if (c == 0) c = compare(x->repeat, y->repeat);
  return c != 0 ? c : compare(x->rank, y->rank);
}

static bool are_same(const struct collective_call *x, const struct collective_call *y) {
  return strcmp(x->group, y->group) == 0 && x->order == y->order && x->repeat == y->repeat;
}

/* How many ranks show any collective of the group in which the first of these is. */
static int64_t ranks_of_group(const struct collective_call *const *calls, size_t n, bool *seen, size_t n_ranks) {
  int64_t ret = 0;
  memset(seen, 0, n_ranks * sizeof *seen);
  for (size_t i = 0; i < n && strcmp(calls[i]->group, calls[0]->group) == 0; i++) {
    ret += !seen[calls[i]->rank];
    seen[calls[i]->rank] = true;
  }
  return ret;
}

static void add_group(struct group_wait *all, const struct group_wait *group) {
  all->n_matched += group->n_matched;
  all->n_unmatched += group->n_unmatched;
  all->transfer_ns = sum_ns(all->transfer_ns, group->transfer_ns);
  all->wait_ns = sum_ns(all->wait_ns, group->wait_ns);
  all->bus_bytes = sum_ns(all->bus_bytes, group->bus_bytes);
  all->bus_ns = sum_ns(all->bus_ns, group->bus_ns);
  all->skew_sum_ns = sum_ns(all->skew_sum_ns, group->skew_sum_ns);
  if (group->skew_greatest_ns > all->skew_greatest_ns) all->skew_greatest_ns = group->skew_greatest_ns;
}

struct matching {
  struct collectives *ret;
  collectives_each *each;
  void *context;
};

/* One collective, on all the ranks that show it. */
static void match_one(const struct matching *m, const struct collective_call *const *calls, size_t n, struct group_wait *group) {
  bool all = n > 1 && (int64_t)n == group->n_ranks;
  int64_t least = INT64_MAX, first = INT64_MAX, last = INT64_MIN;
  size_t latest = 0, n_least = 0;
  for (size_t i = 0; i < n && all; i++) {
    const struct collective_call *c = calls[i];
    all = strcmp(c->name, calls[0]->name) == 0 && c->elements == calls[0]->elements;
    n_least = c->duration_ns < least ? 1 : n_least + (c->duration_ns == least);
    if (c->duration_ns < least) least = c->duration_ns, latest = i;
    if (c->start_ns < first) first = c->start_ns;
    if (c->start_ns > last) last = c->start_ns;
  }
  if (!all) {
    group->n_unmatched++;
    return;
  }
  group->n_matched++;
  group->transfer_ns = sum_ns(group->transfer_ns, least);
  if (calls[0]->bus_bytes > 0 && least > 0) {
    group->bus_bytes = sum_ns(group->bus_bytes, calls[0]->bus_bytes);
    group->bus_ns = sum_ns(group->bus_ns, least);
  }
  struct rank_wait *late = n_least == 1 ? &m->ret->ranks[calls[latest]->rank] : NULL; /* of those that came together none was last */
  if (late != NULL) late->n_last++, late->n_kept += (int64_t)n - 1;
  for (size_t i = 0; i < n; i++) {
    struct rank_wait *rank = &m->ret->ranks[calls[i]->rank];
    int64_t wait = calls[i]->duration_ns - least;
    rank->n_matched++;
    rank->by_chance += 1 / (double)n;
    rank->wait_ns = sum_ns(rank->wait_ns, wait);
    group->wait_ns = sum_ns(group->wait_ns, wait);
    if (late != NULL) late->caused_ns = sum_ns(late->caused_ns, wait);
    if (m->each != NULL) m->each(m->context, calls[i], wait);
  }
  int64_t skew;
  if (__builtin_sub_overflow(last, first, &skew)) skew = INT64_MAX; /* a hostile trace */
  group->skew_sum_ns = sum_ns(group->skew_sum_ns, skew);
  if (skew > group->skew_greatest_ns) group->skew_greatest_ns = skew;
}

void collectives_match(const struct rank_calls *ranks, size_t n, collectives_each *each, void *context, struct collectives *ret) {
  size_t total = 0, k = 0;
  *ret = (struct collectives){.n_ranks = n, .ranks = xalloc(n + 1, sizeof *ret->ranks)};
  for (size_t r = 0; r < n; r++) {
    ret->ranks[r] = (struct rank_wait){.rank = ranks[r].rank, .n = (int64_t)ranks[r].n};
    total += ranks[r].n;
  }
  const struct collective_call **calls = xalloc(total + 1, sizeof(const struct collective_call *));
  for (size_t r = 0; r < n; r++)
    for (size_t i = 0; i < ranks[r].n; i++) {
      ranks[r].at[i].rank = (uint32_t)r;
      ret->ranks[r].busy_ns = sum_ns(ret->ranks[r].busy_ns, ranks[r].at[i].duration_ns);
      calls[k++] = &ranks[r].at[i];
    }
  qsort(calls, total, sizeof(const struct collective_call *), by_identity);
  bool *seen = xalloc(n + 1, sizeof *seen);
  const struct matching m = {ret, each, context};
  for (size_t i = 0, room = 0; n > 1 && i < total;) {
    ret->groups = xroom(ret->groups, ret->n_groups, &room, sizeof *ret->groups);
    struct group_wait *group = &ret->groups[ret->n_groups++];
    *group = (struct group_wait){.group = calls[i]->group, .n_ranks = ranks_of_group(&calls[i], total - i, seen, n)};
    while (i < total && strcmp(calls[i]->group, group->group) == 0) {
      size_t end = i + 1;
      while (end < total && are_same(calls[i], calls[end])) end++;
      match_one(&m, &calls[i], end - i, group);
      i = end;
    }
    add_group(&ret->all, group);
  }
  ret->all.n_ranks = (int64_t)n;
  free(seen);
  free(calls);
}

const struct rank_wait *collectives_latest(const struct collectives *collectives, const struct rank_wait *but) {
  const struct rank_wait *ret = NULL;
  for (size_t r = 0; r < collectives->n_ranks; r++) {
    const struct rank_wait *rank = &collectives->ranks[r];
    if (rank != but && (ret == NULL || rank->caused_ns > ret->caused_ns)) ret = rank;
  }
  return ret;
}

void collectives_release(struct collectives *collectives) {
  free(collectives->ranks);
  free(collectives->groups);
  *collectives = (struct collectives){.n_ranks = 0};
}
