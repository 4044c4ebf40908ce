#include "history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_MAX = 4200, ORDERS_FINER_MOST = 100000 };

/* --- taking runs in --- */

/* What many runs say alike. */
static const char *keep(struct history *h, const char *text) {
  return text_set_keep(&h->texts, &h->arena, text);
}

static struct summary_precision *copy_precision(struct history *h, const struct summary_precision *p) {
  struct summary_precision *to = arena_alloc(&h->arena, 1, sizeof *to);
  *to = *p;
  to->name = keep(h, p->name);
  to->fingerprint = keep(h, p->fingerprint);
  to->left_out = p->left_out != NULL ? keep(h, p->left_out) : NULL;
  to->no_claim = p->no_claim != NULL ? keep(h, p->no_claim) : NULL;
  to->figures = arena_alloc(&h->figures, p->n_figures + 1, sizeof *to->figures);
  for (size_t i = 0; i < p->n_figures; i++) {
    to->figures[i] = p->figures[i];
    to->figures[i].name = keep(h, p->figures[i].name);
    to->figures[i].formula = keep(h, p->figures[i].formula);
    to->figures[i].unit = keep(h, p->figures[i].unit);
  }
  return to;
}

void history_add(struct history *h, const struct history_origin *from, const struct summary *summary) {
  char label[LABEL_MAX], name[LABEL_MAX]; /* of somebody's files */
  (void)text_sanitise(label, sizeof label, from->label, strlen(from->label));
  (void)text_sanitise(name, sizeof name, summary->name, strlen(summary->name));
  for (size_t i = 0; i < summary->n_precisions; i++) {
    h->runs = xroom(h->runs, h->n_runs, &h->room, sizeof *h->runs);
    h->runs[h->n_runs++] = (struct history_run){
        .at_ns = summary->started_ns,
        .from = {arena_copy(&h->arena, label), arena_copy(&h->arena, from->root), keep(h, from->ledger), from->source},
        .contract = keep(h, summary->contract),
        .name = keep(h, name),
        .precision = copy_precision(h, &summary->precisions[i])};
  }
}

/* --- series --- */

static int by_time(const void *a, const void *b) {
  const struct history_run *x = a, *y = b;
  if (x->at_ns != y->at_ns) return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
  if (x->from.source != y->from.source) return (x->from.source > y->from.source) - (x->from.source < y->from.source);
  return strcmp(x->precision->name, y->precision->name);
}

static bool is_of(const struct history_series *s, const struct history_run *run, const struct summary_figure *f) {
  return strcmp(s->contract, run->contract) == 0 && strcmp(s->name, run->name) == 0 && strcmp(s->precision, run->precision->name) == 0 &&
         strcmp(s->figure, f->name) == 0 && strcmp(s->unit, f->unit) == 0;
}

/* Runs of one contract mostly follow one another: the search begins where it last ended. */
static struct history_series *series_for(struct history *h, const struct history_run *run, const struct summary_figure *f, size_t *hint) {
  for (size_t k = 0; k < h->n_series; k++) {
    size_t i = (*hint + k) % h->n_series;
    if (is_of(&h->series[i], run, f)) {
      *hint = i + 1;
      return &h->series[i];
    }
  }
  h->series = xroom(h->series, h->n_series, &h->series_room, sizeof *h->series);
  h->series[h->n_series] = (struct history_series){.contract = run->contract,
                                                   .name = run->name,
                                                   .precision = run->precision->name,
                                                   .figure = f->name,
                                                   .unit = f->unit,
                                                   .formula = f->formula,
                                                   .better = f->better,
                                                   .order = h->n_series};
  *hint = h->n_series + 1;
  return &h->series[h->n_series++];
}

static void make_series(struct history *h) {
  size_t hint = 0;
  for (size_t r = 0; r < h->n_runs; r++) {
    const struct summary_precision *p = h->runs[r].precision;
    for (size_t f = 0; f < p->n_figures && p->left_out == NULL; f++) {
      struct history_series *s = series_for(h, &h->runs[r], &p->figures[f], &hint);
      if (s->n_values == CHANGES_VALUES_MAX) continue;
      s->values = xroom(s->values, s->n_values, &s->room, sizeof *s->values);
      s->values[s->n_values++] = (struct history_value){
          .run = r, .value = p->figures[f].value, .low = p->figures[f].low, .high = p->figures[f].high, .n = p->figures[f].n};
    }
  }
}

static int by_contract(const void *a, const void *b) {
  const struct history_series *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  if (order == 0) order = strcmp(x->contract, y->contract);
  if (order == 0) order = strcmp(x->precision, y->precision);
  if (order == 0) order = (x->order > y->order) - (x->order < y->order);
  return order;
}

/* --- changes --- */

static void search_series(struct history *h, struct history_series *s, const struct change_plan *plan) {
  double *x = xalloc(s->n_values + 1, sizeof *x);
  for (size_t i = 0; i < s->n_values; i++) x[i] = s->values[i].value;
  changes_find(x, s->n_values, plan, &h->arena, &s->found);
  free(x);
}

bool history_is_tested(const struct history_series *s, const struct change_plan *plan) {
  return s->n_values >= 2 * plan->least;
}

static void search_all(struct history *h, const struct change_plan *plan) {
  double *p = xalloc(h->n_series + 1, sizeof *p), threshold = 0;
  struct change_plan finer = *plan;
  for (size_t i = 0; i < h->n_series; i++) search_series(h, &h->series[i], plan);
  h->rate = plan->false_alarms;
  for (int round = 0; round < 2; round++) {
    size_t m = 0; /* a series that is too short is no test */
    for (size_t i = 0; i < h->n_series; i++)
      if (history_is_tested(&h->series[i], plan)) p[m++] = h->series[i].found.p;
    h->n_tested = m;
    threshold = changes_discovery(p, m, h->rate);
    finer.orders = (size_t)(2 * (double)m / h->rate);
    if (finer.orders > ORDERS_FINER_MOST) finer.orders = ORDERS_FINER_MOST;
    /* So many orders were drawn that none showed as much, and still too few for so many series. */
    for (size_t i = 0; i < h->n_series && round == 0; i++)
      if (h->series[i].found.p > threshold && h->series[i].found.p <= plan->false_alarms && h->series[i].found.none_showed_it)
        search_series(h, &h->series[i], &finer);
  }
  for (size_t i = 0; i < h->n_series; i++) h->series[i].changed = h->series[i].found.n_items > 0 && h->series[i].found.p <= threshold;
  free(p);
}

/* --- events --- */

bool history_same_stack(const struct history_series *a, const struct history_series *b) {
  return strcmp(a->contract, b->contract) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->precision, b->precision) == 0;
}

static void join(struct history *h, size_t series, size_t number) {
  const struct history_series *s = &h->series[series];
  const struct change *c = &s->found.items[number];
  size_t before = s->values[c->first - 1].run, after = s->values[c->last].run;
  struct history_event *e = NULL;
  for (size_t i = 0; i < h->n_events && e == NULL; i++) {
    struct history_event *other = &h->events[i];
    if (history_same_stack(s, &h->series[other->changes[0].series]) && before < other->after && other->before < after) e = other;
  }
  if (e == NULL) {
    h->events = arena_room(&h->arena, h->events, h->n_events, sizeof *h->events);
    e = &h->events[h->n_events++];
    *e = (struct history_event){.before = before, .after = after, .provisional = true};
  }
  if (before > e->before) e->before = before;
  if (after < e->after) e->after = after;
  e->provisional = e->provisional && c->provisional;
  e->changes = arena_room(&h->arena, e->changes, e->n_changes, sizeof *e->changes);
  e->changes[e->n_changes++] = (struct history_change){series, number};
}

static int by_place(const void *a, const void *b) {
  const struct history_event *x = a, *y = b;
  if (x->after != y->after) return (x->after > y->after) - (x->after < y->after);
  return (x->changes[0].series > y->changes[0].series) - (x->changes[0].series < y->changes[0].series);
}

static void make_events(struct history *h) {
  for (size_t i = 0; i < h->n_series; i++)
    for (size_t k = 0; k < h->series[i].found.n_items && h->series[i].changed; k++) join(h, i, k);
  if (h->n_events > 0) qsort(h->events, h->n_events, sizeof *h->events, by_place);
}

/* A bundle that lies in two of the sources is one run. */
static void drop_twins(struct history *h) {
  size_t n = 0;
  for (size_t i = 0; i < h->n_runs; i++) {
    const struct history_run run = h->runs[i];
    bool twin = false;
    for (size_t k = n; k > 0 && h->runs[k - 1].at_ns == run.at_ns && run.from.root[0] != 0 && !twin; k--)
      twin = strcmp(h->runs[k - 1].from.root, run.from.root) == 0 && strcmp(h->runs[k - 1].precision->name, run.precision->name) == 0;
    if (!twin) h->runs[n++] = run;
  }
  h->n_runs = n;
}

/* The series have them. */
static void forget_figures(struct history *h) {
  for (size_t i = 0; i < h->n_runs; i++) h->runs[i].precision->figures = NULL, h->runs[i].precision->n_figures = 0;
  arena_release(&h->figures);
}

void history_search(struct history *h, const struct change_plan *plan) {
  if (h->n_runs > 0) qsort(h->runs, h->n_runs, sizeof *h->runs, by_time);
  drop_twins(h);
  make_series(h);
  forget_figures(h);
  if (h->n_series > 0) qsort(h->series, h->n_series, sizeof *h->series, by_contract);
  search_all(h, plan);
  make_events(h);
}

void history_release(struct history *h) {
  for (size_t i = 0; i < h->n_series; i++) free(h->series[i].values);
  free(h->series);
  free(h->runs);
  text_set_release(&h->texts);
  arena_release(&h->figures);
  arena_release(&h->arena);
  *h = (struct history){.runs = NULL};
}

const struct change *history_change_of(const struct history *h, const struct history_change *c) {
  return &h->series[c->series].found.items[c->change];
}

bool history_is_worse(const struct history *h, const struct history_change *c) {
  const struct change *change = history_change_of(h, c);
  double none = change->ratio ? 1 : 0;
  bool more = change->size > none;
  if (change->bounded && change->low <= none && change->high >= none) return false; /* which way is not sure */
  enum better better = h->series[c->series].better;
  return better != BETTER_UNKNOWN && more != (better == BETTER_MORE);
}
