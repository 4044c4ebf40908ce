#include "attribute/live_traced.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define MOST_CALLS 0.6 /* of a lane's calls, to be named as who makes them */

/* "kind;STATE;LAYER;TEXT": cut in place. */
struct traced_row {
  const char *kind, *state, *layer, *text;
};

static bool cut_row(char *frames, struct traced_row *ret) {
  char *rest = frames;
  const char **const parts[] = {&ret->kind, &ret->state, &ret->layer, &ret->text};
  for (size_t i = 0; i < LYNX_COUNT(parts); i++) {
    *parts[i] = i + 1 < LYNX_COUNT(parts) ? strsep(&rest, ";") : rest;
    if (*parts[i] == NULL) return i == 1 && strcmp(ret->kind, "window") == 0;
  }
  return true;
}

static struct live_traced *traced_of(struct live *live, int64_t process) {
  for (size_t i = 0; i < live->n_traced; i++)
    if (live->traced[i].process == process) return &live->traced[i];
  if (live->n_traced == LIVE_TRACED_MAX) return NULL;
  struct live_traced *t = &live->traced[live->n_traced++];
  *t = (struct live_traced){.process = process, .program = ""};
  t->parts = arena_alloc(&live->arena, LIVE_TRACED_PARTS, sizeof *t->parts);
  for (size_t i = 0; i < live->at.n_lanes; i++)
    if (live->at.lanes[i].process == process && (t->program[0] == 0 || live->at.lanes[i].main)) t->program = live->at.lanes[i].program;
  return t;
}

/* "torch/nn/modules/linear.py(124): forward" -> forward, torch/nn/modules/linear.py:124; other names are themselves. */
static void name_part(struct live *live, const char *name, struct live_traced_part *part) {
  const char *open = strstr(name, ".py("), *close = open != NULL ? strstr(open, "): ") : NULL;
  int64_t line;
  part->where = "";
  part->what = arena_copy(&live->arena, name);
  if (close == NULL || !number_int64(open + 4, (size_t)(close - open - 4), &line)) return;
  part->what = arena_copy(&live->arena, close + 3);
  part->where = arena_printf(&live->arena, "%.*s:%lld", (int)(open + 3 - name), name, (long long)line);
}

/* The same state, or name, of another trace of the process is the same line. What finds no room: a name stays within its state's line, a
 * state is of the last line. */
static void add_part(struct live *live, struct live_traced *t, const struct traced_row *row, bool named, double seconds) {
  struct live_traced_part part = {.state = row->state, .named = named, .what = row->text, .where = "", .share = seconds};
  part.attributed = layer_parse(row->layer, &part.layer);
  if (named) name_part(live, row->text, &part);
  for (size_t i = 0; i < t->n_parts; i++) {
    struct live_traced_part *p = &t->parts[i];
    if (p->named != named || strcmp(p->state, part.state) != 0 || strcmp(p->what, part.what) != 0 || strcmp(p->where, part.where) != 0 ||
        p->attributed != part.attributed || p->layer != part.layer)
      continue;
    p->share += seconds;
    return;
  }
  if (t->n_parts < LIVE_TRACED_PARTS - 1) t->parts[t->n_parts++] = part;
  else if (!named) {
    part = (struct live_traced_part){.state = "more", .what = "more states", .where = ""};
    if (t->n_parts < LIVE_TRACED_PARTS) t->parts[t->n_parts++] = part;
    t->parts[t->n_parts - 1].share += seconds;
  }
}

struct taking {
  struct live *live;
  bool names; /* states come first: they sum to the window */
};

static enum lynx_status take(void *context, const struct bundle_stack *stack) {
  const struct taking *taking = context;
  struct live *live = taking->live;
  struct traced_row row = {.kind = NULL};
  if (strcmp(stack->source, "trace") != 0 || stack->n <= 0) return LYNX_OK;
  char *frames = arena_copy(&live->arena, live_words(&live->arena, stack->frames));
  struct live_traced *t = cut_row(frames, &row) ? traced_of(live, stack->process) : NULL;
  if (t == NULL) return LYNX_OK;
  if (strcmp(row.kind, "window") == 0 && !taking->names) t->window_s += (double)stack->n / 1e9;
  if (row.text != NULL && strcmp(row.kind, taking->names ? "name" : "state") == 0)
    add_part(live, t, &row, taking->names, (double)stack->n / 1e9);
  return LYNX_OK;
}

bool live_traced_add(struct live *live, struct bundle *bundle, const struct bundle_session *session) {
  struct taking states = {live, false}, names = {live, true};
  return bundle_each_stack(bundle, session->id, take, &states, NULL) == LYNX_OK &&
         bundle_each_stack(bundle, session->id, take, &names, NULL) == LYNX_OK;
}

static int by_share(const void *a, const void *b) {
  const struct live_traced_part *x = a, *y = b;
  if (x->share < y->share || y->share < x->share) return x->share > y->share ? -1 : 1;
  return strcmp(x->what, y->what);
}

/* Names are parts of their state: what they leave of it is the state's own line. A name that the trace puts on another layer than its state
 * (a copy that a function of the server waits for) stays with its state's line. */
static void take_names_out(struct live_traced *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->n_parts; i++) {
    struct live_traced_part *name = &t->parts[i], *state = NULL;
    for (size_t k = 0; k < t->n_parts && name->named && state == NULL; k++) {
      struct live_traced_part *one = &t->parts[k];
      if (!one->named && strcmp(one->state, name->state) == 0 && one->attributed == name->attributed &&
          (!one->attributed || one->layer == name->layer) && one->share >= name->share * 0.999)
        state = one;
    }
    if (state != NULL) state->share = fmax(0, state->share - name->share);
    name->dropped = name->named && state == NULL;
  }
  for (size_t i = 0; i < t->n_parts; i++)
    if (!t->parts[i].dropped && t->parts[i].share > 0) t->parts[n++] = t->parts[i];
  t->n_parts = n;
}

/* A function that is in several states is one line: what it waits for is the state of another. */
static void join_same(struct live_traced *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->n_parts; i++) {
    const struct live_traced_part *part = &t->parts[i];
    size_t k = 0;
    while (k < n &&
           (!part->named || !t->parts[k].named || strcmp(t->parts[k].what, part->what) != 0 ||
            strcmp(t->parts[k].where, part->where) != 0 || t->parts[k].attributed != part->attributed || t->parts[k].layer != part->layer))
      k++;
    if (k < n) t->parts[k].share += part->share;
    else t->parts[n++] = *part;
  }
  t->n_parts = n;
}

void live_traced_finish(struct live *live) {
  size_t n = 0;
  for (size_t i = 0; i < live->n_traced; i++) {
    struct live_traced *t = &live->traced[i];
    if (!(t->window_s > 0)) continue; /* rows that no run writes */
    take_names_out(t);
    join_same(t);
    for (size_t k = 0; k < t->n_parts; k++) t->parts[k].share /= t->window_s;
    if (t->n_parts > 0) qsort(t->parts, t->n_parts, sizeof *t->parts, by_share);
    live->traced[n++] = *t;
  }
  live->n_traced = n;
}

double live_traced_share(const struct live_traced *traced, const char *state) {
  double sum = 0;
  for (size_t k = 0; k < traced->n_parts; k++)
    if (strcmp(traced->parts[k].state, state) == 0) sum += traced->parts[k].share;
  return sum;
}

double live_traced_sum(const struct live_traced *traced, const char *const *states) {
  double sum = 0;
  for (size_t k = 0; states[k] != NULL; k++) sum += live_traced_share(traced, states[k]);
  return sum;
}

const char *const live_read_back_states[] = {"idle.synchronise", "idle.copy_call", "exposed.copy_to_host", NULL};

const struct live_traced *live_traced_with(const struct live *live, const char *const *states) {
  const struct live_traced *found = NULL;
  double most = 0;
  for (size_t i = 0; i < live->n_traced; i++) {
    double sum = live_traced_sum(&live->traced[i], states);
    if (sum <= most) continue;
    most = sum;
    found = &live->traced[i];
  }
  return found;
}

void live_traced_name(const struct live *live, const struct live_traced *traced, double share, struct finding *ret) {
  const struct live_lane *most = NULL;
  double all = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *lane = &live->at.lanes[i];
    if (lane->process != traced->process || lane->n_callers == 0) continue;
    if (most == NULL || lane->callers[0].share > most->callers[0].share) most = lane;
  }
  for (size_t k = 0; most != NULL && k < most->n_callers; k++) all += most->callers[k].share;
  if (most == NULL || most->callers[0].share < share / 2 || most->callers[0].share < MOST_CALLS * all) return;
  (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", most->callers[0].what, most->callers[0].where);
  (void)snprintf(ret->process, sizeof ret->process, "%s", most->program);
}
