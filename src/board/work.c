#include "board/work.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"

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

/* Who may move a finding: who found it, and teams that the contract names. */
static bool is_party(const struct board_contract *c, const struct board_finding *f, const char *team) {
  bool named = strcmp(f->by, team) == 0;
  for (size_t i = 0; c->contract != NULL && i < c->contract->signatories.n_items; i++)
    named = named || strcmp(c->contract->signatories.items[i], team) == 0;
  for (size_t i = 0; c->contract != NULL && i < c->contract->owners.n_items; i++)
    named = named || strcmp(c->contract->owners.values[i], team) == 0;
  return named;
}

static void take_newest(struct work_item *item, const struct board_finding *f) {
  for (size_t i = 0; i < f->n_changes; i++)
    if (item->change == NULL || f->changes[i].index > item->change->index) item->change = &f->changes[i];
  for (size_t i = 0; i < f->n_measured; i++)
    if (item->measured == NULL || f->measured[i].index > item->measured->index) item->measured = &f->measured[i];
  for (size_t i = 0; i < f->n_responses; i++) {
    const struct board_response *r = &f->responses[i];
    if (item->response == NULL || r->index > item->response->index) item->response = r;
    if (r->kind == RESPONSE_HANDED_ON && is_party(item->contract, f, r->by) &&
        (item->handed_on == NULL || r->index > item->handed_on->index))
      item->handed_on = r;
  }
  if (f->confirmation != NULL && (item->confirmation == NULL || f->confirmation->index > item->confirmation->index))
    item->confirmation = f->confirmation;
}

bool work_same_question(const struct board *b, const struct board_run *x, const struct board_run *y) {
  const struct contract *a = b->contracts[x->contract].contract, *c = b->contracts[y->contract].contract;
  struct arena arena = {0};
  if (x->contract == y->contract) return true;
  bool alike = a != NULL && c != NULL && contract_difference(a, c, CONTRACT_LIKE_QUESTION, &arena) == NULL;
  arena_release(&arena);
  return alike;
}

void work_effect(const struct board *b, const struct board_iteration *m, struct effect_measured *ret) {
  const struct board_run *before = &b->runs[m->before], *after = &b->runs[m->after];
  *ret = (struct effect_measured){.figure = "", .name = "", .precision = "", .ratio = NAN, .low = NAN, .high = NAN};
  if (before->contract == BOARD_NO_CONTRACT || after->contract == BOARD_NO_CONTRACT)
    ret->why = "a run that it compares is not in the ledger";
  else if (!work_same_question(b, before, after)) ret->why = "the two runs are of contracts that differ in load, answers or objectives";
  else if (before == after) ret->why = "both runs are the same";
  else if (before->summary == NULL || after->summary == NULL) ret->why = "a run's entry carries no figures of this analysis";
  else effect_measure(before->summary, after->summary, m->interleaved, b->contracts[before->contract].contract, ret);
}

/* Why what it measured does not close the item; NULL: it does. */
static const char *why_open(const struct board *b, const struct work_item *item, const struct found *found, size_t n) {
  const struct board_iteration *m = item->measured;
  const struct board_run *after = &b->runs[m->after];
  uint64_t started = 0;
  if (after->contract != BOARD_NO_CONTRACT && !work_same_question(b, item->run, after)) return "it was measured on another contract";
  if (item->effect.effect != EFFECT_IMPROVED) return item->effect.why;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < found[i].finding->n_changes; k++) {
      const struct board_change *c = &found[i].finding->changes[k];
      if (!c->done && c->index < m->index && c->index > started) started = c->index;
    }
  if (after->index < started) return "the run that measured it was recorded before the change was started";
  for (size_t i = 0; i < n; i++)
    if (found[i].finding->index > m->index || found[i].run->index >= after->index) return "it was found again";
  return NULL;
}

static void judge(const struct board *b, const struct found *found, size_t n, struct work_item *item) {
  const struct board_change *c = item->change;
  const struct board_iteration *m = item->measured;
  item->why = "";
  item->state = WORK_OPEN;
  if (m != NULL) {
    work_effect(b, m, &item->effect);
    const char *why = why_open(b, item, found, n);
    item->state = why == NULL ? WORK_CLOSED : WORK_AGAIN;
    item->why = why == NULL ? "" : why;
  }
  if (c == NULL || (m != NULL && c->index < m->index)) return;
  if (item->state == WORK_CLOSED) item->why = "it was closed before";
  item->state = c->done ? WORK_DONE : WORK_STARTED;
}

static int by_number(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

static size_t count_runs(const struct board *b, const struct found *found, size_t n) {
  size_t *runs = xalloc(n, sizeof *runs), n_runs = 0;
  for (size_t i = 0; i < n; i++) runs[i] = (size_t)(found[i].run - b->runs);
  qsort(runs, n, sizeof *runs, by_number);
  for (size_t i = 0; i < n; i++) n_runs += i == 0 || runs[i] != runs[i - 1];
  free(runs);
  return n_runs;
}

static const char *owner_of_layer(const struct board_contract *c, const char *text, const char *otherwise) {
  enum layer layer;
  if (!layer_parse(text, &layer)) return otherwise;
  return c->contract != NULL ? contract_owner(c->contract, layer) : otherwise;
}

static const char *owner_of(const struct board_contract *c, const struct board_finding *f) {
  return owner_of_layer(c, f->layer, f->owner);
}

/* Whose it is: of the layer where it shows, or of the one that it was handed on to last. */
static void find_holder(struct work_item *item) {
  const struct board_response *handed = item->handed_on;
  enum layer layer;
  item->layer = handed != NULL ? handed->layer : item->finding->layer;
  if (handed != NULL && layer_parse(handed->layer, &layer))
    item->owner = owner_of_layer(item->contract, handed->layer, layer_default_owner(layer));
}

static void make_item(const struct board *b, const struct found *found, size_t n, struct work_item *ret) {
  const struct board_finding *newest = found[n - 1].finding; /* they are in the order of the ledger */
  *ret = (struct work_item){.contract = &b->contracts[found[0].contract],
                            .finding = newest,
                            .run = found[0].run,
                            .owner = owner_of(&b->contracts[found[0].contract], newest),
                            .n_seen = count_runs(b, found, n),
                            .newest = newest->index};
  for (size_t i = 0; i < n; i++) {
    if (found[i].run->index > ret->run->index) ret->run = found[i].run;
    take_newest(ret, found[i].finding);
  }
  find_holder(ret);
  judge(b, found, n, ret);
  if (ret->change != NULL && ret->change->index > ret->newest) ret->newest = ret->change->index;
  if (ret->response != NULL && ret->response->index > ret->newest) ret->newest = ret->response->index;
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

const char *work_whose(const struct board_contract *contract, const struct board_finding *f, struct arena *arena) {
  const char *owner = owner_of(contract, f);
  return f->layer[0] == 0 ? "not attributed" : arena_printf(arena, "%s, %s", f->layer, owner[0] != 0 ? owner : "nobody yet");
}

const char *work_whose_now(const struct work_item *item, struct arena *arena) {
  return item->layer[0] == 0 ? "not attributed"
                             : arena_printf(arena, "%s, %s", item->layer, item->owner[0] != 0 ? item->owner : "nobody yet");
}

static const char *response_words(const struct work_item *item, const struct board_response *r, struct arena *arena) {
  const char *stranger = is_party(item->contract, item->finding, r->by) ? "" : " (whom the contract does not name)";
  return arena_printf(arena, "%s by %s%s%s%s on %.10s%s%s", response_kind_text(r->kind), r->by, stranger, r->layer[0] != 0 ? " to " : "",
                      r->layer, r->time, r->words[0] != 0 ? ": " : "", r->words);
}

const char *work_response_words(const struct work_item *item, struct arena *arena) {
  if (item->response == NULL) return "";
  const char *newest = response_words(item, item->response, arena);
  if (item->handed_on == NULL || item->handed_on == item->response) return newest;
  return arena_printf(arena, "%s; %s", newest, response_words(item, item->handed_on, arena)); /* why it is whose it is */
}

const struct work_item *work_list_find(const struct work_list *list, const struct board *b, const uint8_t leaf[DIGEST_BYTES]) {
  size_t at;
  if (!digest_map_get(&b->by_finding, leaf, &at)) return NULL;
  const struct board_run *run = &b->runs[b->findings[at].run];
  const struct found wanted = {run->contract, run, &run->findings[b->findings[at].item]};
  for (size_t i = 0; i < list->n_items; i++) {
    const struct work_item *item = &list->items[i];
    const struct found it = {(size_t)(item->contract - b->contracts), item->run, item->finding};
    if (same_item(&it, &wanted) == 0) return item;
  }
  return NULL;
}

bool work_next(const struct board *b, const struct work_item *item, struct arena *arena, const char **ret_text, const char **ret_command) {
  const struct board_finding *f = item->finding;
  const char *at = shell_word(b->address);
  if (item->state == WORK_CLOSED) return false;
  if (item->state == WORK_STARTED) {
    *ret_text = arena_printf(arena, "Say when the change is made: %s.", item->change->words);
    *ret_command = arena_printf(arena, "lynxbench iterate done %" PRIu64 " --ledger %s", f->index, at);
  } else if (item->state == WORK_DONE) {
    *ret_text = arena_printf(arena, "Run the contract again and measure the change: %s.", item->change->words);
    *ret_command = arena_printf(arena, "lynxbench iterate measure AFTER.lynx --finding %" PRIu64 " --ledger %s", f->index, at);
  } else {
    *ret_text = item->response == NULL ? "Accept it, dispute it, or hand it on; or say what will be changed." : "Say what will be changed.";
    *ret_command = arena_printf(arena, "lynxbench iterate start %" PRIu64 " --change '...' --ledger %s", f->index, at);
  }
  return true;
}

/* --- what it all brought --- */

struct span {
  const struct board_iteration *first, *last;
  size_t n, n_improved;
};

static int64_t start_of(const struct board *b, size_t run) {
  return b->runs[run].summary->started_ns;
}

/* The same pair of runs counts once, by its newest entry. */
static void take_measured(const struct board *b, const struct board_run *run, struct span *span) {
  for (size_t k = 0; k < run->n_iterations; k++) {
    const struct board_iteration *x = &run->iterations[k];
    struct effect_measured effect;
    bool again = false;
    for (size_t i = k + 1; i < run->n_iterations; i++) again = again || run->iterations[i].before == x->before;
    if (again) continue;
    work_effect(b, x, &effect);
    if (effect.name[0] == 0) continue;
    span->n++;
    span->n_improved += effect.effect == EFFECT_IMPROVED;
    if (span->first == NULL || start_of(b, x->before) < start_of(b, span->first->before)) span->first = x;
    if (span->last == NULL || start_of(b, x->after) > start_of(b, span->last->after)) span->last = x;
  }
}

bool work_total(const struct board *b, const struct board_contract *contract, struct work_total *ret) {
  struct span span = {.first = NULL};
  *ret = (struct work_total){.first = NULL};
  for (size_t i = 0; i < contract->n_runs; i++) take_measured(b, &b->runs[contract->runs[i]], &span);
  if (span.first == NULL) return false;
  ret->first = &b->runs[span.first->before];
  ret->last = &b->runs[span.last->after];
  ret->change = span.last->change;
  ret->n_changes = span.n;
  ret->n_improved = span.n_improved;
  if (ret->first != ret->last) effect_measure(ret->first->summary, ret->last->summary, true, contract->contract, &ret->effect);
  return ret->first != ret->last && ret->effect.name[0] != 0;
}
