#include "board/work.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/special.h"

const char *work_state_text(enum work_state state) {
  static const char *const texts[] = {[WORK_AGAIN] = "open again",
                                      [WORK_OPEN] = "open",
                                      [WORK_STARTED] = "started",
                                      [WORK_DONE] = "done, not measured",
                                      [WORK_CLOSED] = "closed"};
  return texts[state];
}

/* --- which findings are one --- */

struct found {
  size_t contract;
  const struct board_run *run;
  const struct board_finding *finding;
};

static int same_item(const struct found *x, const struct found *y) {
  int order = (x->contract > y->contract) - (x->contract < y->contract);
  if (order == 0) order = strcmp(x->finding->rule, y->finding->rule);
  if (order == 0) order = strcmp(x->finding->named, y->finding->named);
  if (order == 0) order = strcmp(x->finding->layer, y->finding->layer);
  /* Titles carry figures, which differ from run to run; what a team wrote itself has no rule but its title. */
  if (order == 0 && x->finding->rule[0] == 0) order = strcmp(x->finding->title, y->finding->title);
  return order;
}

static int by_item(const void *a, const void *b) {
  const struct found *x = a, *y = b;
  int order = same_item(x, y);
  return order != 0 ? order : (x->finding->index > y->finding->index) - (x->finding->index < y->finding->index);
}

static size_t gather(const struct board *b, const struct board_contract *contract, struct found **ret, size_t n, size_t *room) {
  for (size_t i = 0; i < contract->n_runs; i++) {
    const struct board_run *run = &b->runs[contract->runs[i]];
    for (size_t k = 0; k < run->n_findings; k++) {
      *ret = xroom(*ret, n, room, sizeof **ret);
      (*ret)[n++] = (struct found){run->contract, run, &run->findings[k]};
    }
  }
  return n;
}

/* --- its state --- */

static void take_newest(struct work_item *item, const struct board_finding *f) {
  for (size_t i = 0; i < f->n_changes; i++)
    if (item->change == NULL || f->changes[i].index > item->change->index) item->change = &f->changes[i];
  for (size_t i = 0; i < f->n_measured; i++)
    if (item->measured == NULL || f->measured[i].index > item->measured->index) item->measured = &f->measured[i];
  if (f->confirmation != NULL && (item->confirmation == NULL || f->confirmation->index > item->confirmation->index))
    item->confirmation = f->confirmation;
}

static const char *why_again(enum effect effect) {
  if (effect == EFFECT_WORSE) return "a figure got worse";
  return effect == EFFECT_NONE ? "no figure improved" : "whether it helped could not be decided";
}

static void judge(const struct board *b, struct work_item *item) {
  const struct board_change *c = item->change;
  const struct board_iteration *m = item->measured;
  item->why = "";
  if (c != NULL && (m == NULL || c->index > m->index)) item->state = c->done ? WORK_DONE : WORK_STARTED;
  else if (m == NULL) item->state = WORK_OPEN;
  else if (m->effect != EFFECT_IMPROVED) {
    item->state = WORK_AGAIN;
    item->why = why_again(m->effect);
  } else if (item->run->index > b->runs[m->after].index && item->run->index > m->index) {
    item->state = WORK_AGAIN;
    item->why = "it was found again";
  } else item->state = WORK_CLOSED;
}

static void make_item(const struct board *b, const struct found *found, size_t n, struct work_item *ret) {
  const struct board_run *seen = found[0].run;
  *ret = (struct work_item){.contract = &b->contracts[found[0].contract], .finding = found[0].finding, .run = seen, .n_seen = 1};
  for (size_t i = 0; i < n; i++) {
    ret->n_seen += found[i].run != seen;
    seen = found[i].run;
    if (seen->index > ret->run->index) ret->run = seen;
    if (found[i].finding->index > ret->newest) ret->newest = found[i].finding->index;
    take_newest(ret, found[i].finding);
  }
  judge(b, ret);
  if (ret->change != NULL && ret->change->index > ret->newest) ret->newest = ret->change->index;
  if (ret->measured != NULL && ret->measured->index > ret->newest) ret->newest = ret->measured->index;
}

static int by_state(const void *a, const void *b) {
  const struct work_item *x = a, *y = b;
  if (x->contract != y->contract) return (x->contract > y->contract) - (x->contract < y->contract);
  if (x->state != y->state) return (x->state > y->state) - (x->state < y->state);
  return (x->newest < y->newest) - (x->newest > y->newest);
}

void work_list_make(const struct board *b, const struct board_contract *only, struct work_list *ret) {
  struct found *found = NULL;
  size_t n = 0, room = 0;
  for (size_t i = 0; i < b->n_contracts; i++)
    if (only == NULL || only == &b->contracts[i]) n = gather(b, &b->contracts[i], &found, n, &room);
  if (n > 0) qsort(found, n, sizeof *found, by_item);
  *ret = (struct work_list){.items = xalloc(n + 1, sizeof *ret->items)};
  for (size_t i = 0, k; i < n; i = k) {
    for (k = i + 1; k < n && same_item(&found[i], &found[k]) == 0;) k++;
    struct work_item *item = &ret->items[ret->n_items++];
    make_item(b, &found[i], k - i, item);
    ret->n[item->state]++;
  }
  if (ret->n_items > 0) qsort(ret->items, ret->n_items, sizeof *ret->items, by_state);
  free(found);
}

void work_list_release(struct work_list *list) {
  free(list->items);
  *list = (struct work_list){.items = NULL};
}

/* --- what comes next --- */

const char *work_found(const struct board_finding *f) {
  if (strcmp(f->rung, "accounted") == 0) return "suspected";
  return strcmp(f->rung, "stated") == 0 ? "stated" : "measured";
}

const char *work_whose(const struct board_finding *f, struct arena *arena) {
  return f->layer[0] == 0 ? "not attributed" : arena_printf(arena, "%s, %s", f->layer, f->owner[0] != 0 ? f->owner : "nobody yet");
}

bool work_next(const struct board *b, const struct work_item *item, struct arena *arena, const char **ret_text, const char **ret_command) {
  const struct board_finding *f = item->finding;
  if (item->state == WORK_CLOSED) return false;
  if (item->state == WORK_STARTED) {
    *ret_text = arena_printf(arena, "Say when the change is made: %s.", item->change->words);
    *ret_command = arena_printf(arena, "lynxbench iterate done %" PRIu64 " --ledger %s", f->index, b->address);
  } else if (item->state == WORK_DONE) {
    *ret_text = arena_printf(arena, "Run the contract again and measure the change: %s.", item->change->words);
    *ret_command = arena_printf(arena, "lynxbench iterate measure AFTER.lynx --finding %" PRIu64 " --ledger %s", f->index, b->address);
  } else {
    *ret_text = "Say what will be changed.";
    *ret_command = arena_printf(arena, "lynxbench iterate start %" PRIu64 " --change '...' --ledger %s", f->index, b->address);
  }
  return true;
}

/* --- what it all brought --- */

static const struct summary_figure *figure_of(const struct board_run *run, const char *precision, const char *name) {
  for (size_t p = 0; run->summary != NULL && p < run->summary->n_precisions; p++) {
    const struct summary_precision *at = &run->summary->precisions[p];
    for (size_t i = 0; i < at->n_figures && at->left_out == NULL && strcmp(at->name, precision) == 0; i++)
      if (strcmp(at->figures[i].name, name) == 0) return &at->figures[i];
  }
  return NULL;
}

/* Half an interval's width, of the logarithm. */
static double half_width(const struct summary_figure *f) {
  return f->low > 0 && f->high >= f->low ? (special_log(f->high) - special_log(f->low)) / 2 : NAN;
}

bool work_total(const struct board *b, const struct board_contract *contract, struct work_total *ret) {
  const struct board_iteration *first = NULL, *last = NULL;
  *ret = (struct work_total){.figure = ""};
  for (size_t i = 0; i < contract->n_runs; i++) {
    const struct board_run *run = &b->runs[contract->runs[i]];
    for (size_t k = 0; k < run->n_iterations; k++) {
      const struct board_iteration *x = &run->iterations[k];
      if (b->runs[x->before].contract != run->contract) continue;
      if (first == NULL || x->index < first->index) first = x;
      if (last == NULL || x->index > last->index) last = x;
      ret->n_changes++;
      ret->n_improved += x->effect == EFFECT_IMPROVED;
    }
  }
  if (first == NULL) return false;
  ret->first = &b->runs[first->before];
  ret->last = &b->runs[last->after];
  ret->figure = last->figure;
  ret->precision = last->precision;
  const struct summary_figure *from = figure_of(ret->first, ret->precision, ret->figure),
                              *to = figure_of(ret->last, ret->precision, ret->figure);
  if (from == NULL || to == NULL || !(from->value > 0) || !(to->value > 0)) return false;
  double width = sqrt(half_width(from) * half_width(from) + half_width(to) * half_width(to));
  ret->ratio = to->value / from->value;
  ret->low = ret->ratio * special_exp(-width);
  ret->high = ret->ratio * special_exp(width);
  return true;
}
