/* What changed between two arms of traces. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/attribution.h"
#include "stats/special.h"

enum { NAMES_SHOWN = 200 };

static double unit_of(const struct attributed_trace *t, bool per_step) {
  return per_step ? (double)t->account.n_steps : 1;
}

/* --- work by name, over the traces of both arms --- */

struct work_item {
  uint64_t key;
  const char *text;
  double n[2], ns[2];
};

struct work_table {
  struct work_item *items;
  size_t n, used; /* open addressing; key 0: free */
};

static uint64_t hash_of(uint64_t hash, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  return hash | 1;
}

static void work_add(struct work_table *t, uint64_t key, const char *text, int arm, double n, double ns) {
  if (2 * t->used >= t->n) {
    struct work_table larger = {.n = t->n == 0 ? 4096 : 2 * t->n, .used = t->used};
    larger.items = xalloc(larger.n, sizeof *larger.items);
    for (size_t i = 0; i < t->n; i++) {
      if (t->items[i].key == 0) continue;
      size_t k = (t->items[i].key ^ t->items[i].key >> 32) & (larger.n - 1);
      while (larger.items[k].key != 0) k = (k + 1) & (larger.n - 1);
      larger.items[k] = t->items[i];
    }
    free(t->items);
    *t = larger;
  }
  size_t k = (key ^ key >> 32) & (t->n - 1);
  while (t->items[k].key != 0 && t->items[k].key != key) k = (k + 1) & (t->n - 1);
  t->used += t->items[k].key == 0;
  t->items[k].key = key;
  t->items[k].text = text;
  t->items[k].n[arm] += n;
  t->items[k].ns[arm] += ns;
}

/* Dice's coefficient over numbers: 1 where both did the same things as often. */
static double sameness(const struct work_table *t) {
  double both = 0, all = 0;
  for (size_t i = 0; i < t->n; i++) {
    both += 2 * fmin(t->items[i].n[0], t->items[i].n[1]);
    all += t->items[i].n[0] + t->items[i].n[1];
  }
  return all > 0 ? both / all : 0;
}

/* Operators, since kernels are named otherwise on another device; where no operator is traced, the kernels. */
/* Where steps are the unit, what began before those that count is no part of them: the first, in which things are made ready. */
static int64_t counts_from(const struct attributed_trace *t) {
  return t->account.window == WINDOW_STEPS ? t->account.from_ns : INT64_MIN;
}

static void add_names(struct work_table *operators, struct work_table *kernels, const struct attributed_trace *t, int arm, double weight) {
  const struct timeline *line = &t->timeline;
  for (size_t i = 0; i < line->n_spans; i++) {
    const struct span *s = &line->spans[i];
    const struct span_name *name = &line->names[s->name];
    bool device = kind_on_device((enum trace_kind)s->kind);
    if ((s->kind != TRACE_OPERATOR && !device) || name->work == WORK_STEP || s->start_ns < counts_from(t)) continue;
    if (device && (line->tracks[s->track].process != t->account.device || (s->flags & SPAN_ORPHAN))) continue;
    work_add(device ? kernels : operators, hash_of(s->kind, name->text, name->length), name->text, arm, weight,
             weight * (double)s->duration_ns);
  }
}

static void add_paths(struct work_table *paths, const struct attributed_trace *t, int arm, double weight) {
  struct call_tree tree;
  call_tree_build(&t->timeline, counts_from(t), &tree);
  uint64_t *hash = xalloc(tree.n_nodes + 1, sizeof *hash);
  for (size_t i = 1; i < tree.n_nodes; i++) {
    const struct call_node *node = &tree.nodes[i];
    const struct span_name *name = &t->timeline.names[node->name];
    bool counts = name->kind == TRACE_OPERATOR && name->work != WORK_STEP;
    /* Only operators make the path: Python's functions come and go with the profiler's options. */
    hash[i] = counts ? hash_of(hash[node->parent], name->text, name->length) : hash[node->parent];
    if (counts) work_add(paths, hash[i], name->text, arm, weight * (double)node->n, 0);
  }
  free(hash);
  call_tree_release(&tree);
}

static int by_change(const void *a, const void *b) {
  const struct name_change *x = a, *y = b;
  double dx = fabs(x->ns[1] - x->ns[0]), dy = fabs(y->ns[1] - y->ns[0]);
  if (dx < dy || dx > dy) return dx > dy ? -1 : 1;
  return strcmp(x->text, y->text);
}

static void list_changes(const struct work_table *t, struct attribution_change *ret) {
  ret->names = xalloc(t->used + 1, sizeof *ret->names);
  for (size_t i = 0; i < t->n; i++) {
    const struct work_item *w = &t->items[i];
    if (w->key == 0) continue;
    ret->names[ret->n_names++] = (struct name_change){.text = w->text, .n = {w->n[0], w->n[1]}, .ns = {w->ns[0], w->ns[1]}};
  }
  qsort(ret->names, ret->n_names, sizeof *ret->names, by_change);
  if (ret->n_names > NAMES_SHOWN) ret->n_names = NAMES_SHOWN;
}

/* --- means and their difference --- */

static void average(const struct attribution *a, int arm, struct attribution_change *ret, double *ret_variance) {
  double squares = 0, n = (double)a->n_traces;
  struct attribution_cause causes[CAUSES_MAX];
  for (size_t i = 0; i < a->n_traces; i++) {
    const struct account *x = &a->traces[i].account;
    double unit = unit_of(&a->traces[i], ret->per_step) * n;
    ret->wall_ns[arm] += (double)x->wall_ns / unit;
    for (int k = 0; k < STATE_COUNT; k++) ret->state_ns[arm][k] += (double)x->states[k] / unit;
    size_t n_causes = attribution_causes(&a->traces[i], causes);
    for (size_t k = 0; k < n_causes; k++)
      ret->layer_ns[arm][causes[k].layered ? (int)causes[k].layer : LAYER_COUNT] += (double)causes[k].ns / unit;
    for (int k = 0; k < ROLE_COUNT; k++) ret->role_ns[arm][k] += (double)x->roles[k] / unit;
  }
  for (size_t i = 0; i < a->n_traces; i++) {
    double d = (double)a->traces[i].account.wall_ns / unit_of(&a->traces[i], ret->per_step) - ret->wall_ns[arm];
    squares += d * d;
  }
  ret->n[arm] = a->n_traces;
  *ret_variance = a->n_traces > 1 ? squares / (n - 1) / n : 0;
}

/* Welch's interval for the difference of two means (Welch 1947). */
static void bound_difference(struct attribution_change *c, double va, double vb) {
  c->difference_ns = c->wall_ns[1] - c->wall_ns[0];
  c->bounded = c->n[0] > 1 && c->n[1] > 1 && va + vb > 0;
  if (!c->bounded) return;
  double freedom = (va + vb) * (va + vb) / (va * va / (double)(c->n[0] - 1) + vb * vb / (double)(c->n[1] - 1)),
         half = special_t_quantile(0.975, freedom) * sqrt(va + vb);
  c->low_ns = c->difference_ns - half;
  c->high_ns = c->difference_ns + half;
}

static void find_accounted(struct attribution_change *c) {
  double direction = c->difference_ns < 0 ? -1 : 1;
  for (int k = 0; k < STATE_COUNT; k++) {
    double change = c->state_ns[1][k] - c->state_ns[0][k];
    if (change * direction > c->accounted_ns * direction) {
      c->accounted_ns = change;
      c->accounted = (enum account_state)k;
    }
  }
  c->non_additivity = c->accounted_ns < 0 || c->accounted_ns > 0 ? 1 - c->difference_ns / c->accounted_ns : 0;
}

static void judge(const struct attribution *a, const struct attribution *b, struct attribution_change *c) {
  bool host_a = a->traces[0].account.device < 0, host_b = b->traces[0].account.device < 0;
  bool steps_a = a->traces[0].account.window == WINDOW_STEPS, steps_b = b->traces[0].account.window == WINDOW_STEPS;
  if (steps_a != steps_b)
    (void)snprintf(c->reason, sizeof c->reason, "one arm has profiler steps, the other none: their windows are not alike");
  else if (host_a != host_b) (void)snprintf(c->reason, sizeof c->reason, "one arm shows a device, the other only the host");
  else if (c->same_names < 0.5)
    (void)snprintf(c->reason, sizeof c->reason,
                   "only %.0f %% of the operators are the same work in both: a difference in time would be a difference in work",
                   100 * c->same_names);
  else if (!c->per_step && fabs(c->work[1] - c->work[0]) > 0.1 * fmax(c->work[0], c->work[1]))
    (void)snprintf(c->reason, sizeof c->reason,
                   "the windows hold different amounts of work (%.0f and %.0f operators or kernels), and no steps to divide by: trace the "
                   "same number of steps",
                   c->work[0], c->work[1]);
  c->abstained = c->reason[0] != 0;
}

void attribution_compare(const struct attribution *a, const struct attribution *b, struct attribution_change *ret) {
  const struct attribution *arms[2] = {a, b};
  struct work_table operators = {.n = 0}, kernels = {.n = 0}, paths = {.n = 0};
  double variance[2];
  *ret = (struct attribution_change){.per_step = true};
  for (int arm = 0; arm < 2; arm++)
    for (size_t i = 0; i < arms[arm]->n_traces; i++) ret->per_step = ret->per_step && arms[arm]->traces[i].account.window == WINDOW_STEPS;
  for (int arm = 0; arm < 2; arm++) {
    average(arms[arm], arm, ret, &variance[arm]);
    for (size_t i = 0; i < arms[arm]->n_traces; i++) {
      const struct attributed_trace *t = &arms[arm]->traces[i];
      double weight = 1 / unit_of(t, ret->per_step) / (double)arms[arm]->n_traces;
      add_names(&operators, &kernels, t, arm, weight);
      add_paths(&paths, t, arm, weight);
    }
  }
  bound_difference(ret, variance[0], variance[1]);
  find_accounted(ret);
  const struct work_table *counted = operators.used > 0 ? &operators : &kernels;
  for (size_t i = 0; i < counted->n; i++)
    for (int arm = 0; arm < 2; arm++) ret->work[arm] += counted->items[i].n[arm];
  ret->same_names = sameness(counted);
  ret->same_paths = operators.used > 0 ? sameness(&paths) : ret->same_names;
  judge(a, b, ret);
  list_changes(kernels.used > 0 ? &kernels : &operators, ret);
  free(operators.items);
  free(kernels.items);
  free(paths.items);
}

void attribution_change_release(struct attribution_change *change) {
  free(change->names);
  *change = (struct attribution_change){.abstained = true};
}
