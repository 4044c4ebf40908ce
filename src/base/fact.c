#include "base/fact.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/words.h"

enum { FACT_VALUE_MAX = 4096 };

static const char *const status_names[FACT_STATUS_COUNT] = {
    [FACT_READ] = "read",         [FACT_ABSENT] = "absent",    [FACT_DENIED] = "denied", [FACT_UNSUPPORTED] = "unsupported",
    [FACT_DECLARED] = "declared", [FACT_WITHHELD] = "withheld"};
static const char *const kind_names[FACT_KIND_COUNT] = {[FACT_IDENTITY] = "identity", [FACT_STATE] = "state", [FACT_CONTEXT] = "context"};

static const char *keep(struct fact_list *list, const char *text) {
  if (text == NULL) return "";
  static _Thread_local char clean[FACT_VALUE_MAX + 1];
  return arena_copy(&list->arena, text_sanitise(clean, sizeof clean, text, strlen(text)));
}

static uint64_t hash(const char *text) { /* FNV-1a: only spreads, promises nothing */
  uint64_t h = 14695981039346656037u;
  for (; *text != 0; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
  return h;
}

static void enter(struct fact_list *list, size_t index) {
  size_t at = hash(list->items[index].key) & (list->n_slots - 1);
  while (list->slots[at] != 0) at = (at + 1) & (list->n_slots - 1);
  list->slots[at] = (uint32_t)index + 1;
}

static void enter_all(struct fact_list *list, size_t n_slots) {
  free(list->slots);
  list->n_slots = n_slots;
  list->slots = xalloc(n_slots, sizeof *list->slots);
  for (size_t i = 0; i < list->n_items; i++) enter(list, i);
}

void fact_add(struct fact_list *list, const struct fact *fact) {
  static _Thread_local char key[FACT_VALUE_MAX + 1];
  (void)text_sanitise(key, sizeof key, fact->key, strlen(fact->key)); /* two keys may be one when they are shown */
  if (fact_find(list, key) != NULL) return;
  if (list->n_items == list->room) {
    list->room = list->room == 0 ? 64 : 2 * list->room;
    list->items = xgrow(list->items, list->room, sizeof *list->items);
    enter_all(list, 4 * list->room);
  }
  struct fact *copy = &list->items[list->n_items++];
  *copy = *fact;
  copy->key = arena_copy(&list->arena, key);
  copy->value = keep(list, fact->value);
  copy->unit = keep(list, fact->unit);
  copy->source = keep(list, fact->source);
  enter(list, list->n_items - 1);
  if (list->added != NULL) list->added(list->context, copy);
}

const struct fact *fact_find(const struct fact_list *list, const char *key) {
  if (list->n_slots == 0) return NULL;
  for (size_t at = hash(key) & (list->n_slots - 1); list->slots[at] != 0; at = (at + 1) & (list->n_slots - 1))
    if (strcmp(list->items[list->slots[at] - 1].key, key) == 0) return &list->items[list->slots[at] - 1];
  return NULL;
}

static int compare_facts(const void *a, const void *b) {
  const struct fact *x = a, *y = b;
  if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
  return strcmp(x->key, y->key);
}

void fact_sort(struct fact_list *list) {
  if (list->n_items == 0) return;
  qsort(list->items, list->n_items, sizeof *list->items, compare_facts);
  enter_all(list, list->n_slots);
}

void fact_list_release(struct fact_list *list) {
  free(list->items);
  free(list->slots);
  arena_release(&list->arena);
  *list = (struct fact_list){0};
}

const char *fact_status_text(enum fact_status status) {
  return status_names[status];
}

bool fact_status_parse(const char *text, enum fact_status *ret) {
  int place = words_find(status_names, FACT_STATUS_COUNT, text, strlen(text));
  if (place < FACT_STATUS_COUNT) *ret = (enum fact_status)place;
  return place < FACT_STATUS_COUNT;
}

const char *fact_kind_text(enum fact_kind kind) {
  return kind_names[kind];
}

bool fact_kind_parse(const char *text, enum fact_kind *ret) {
  int place = words_find(kind_names, FACT_KIND_COUNT, text, strlen(text));
  if (place < FACT_KIND_COUNT) *ret = (enum fact_kind)place;
  return place < FACT_KIND_COUNT;
}

bool fact_is_known(const struct fact *fact) {
  return fact->status == FACT_READ || fact->status == FACT_DECLARED;
}

const char *fact_without_role(const char *key) {
  for (;;) {
    size_t n = strcspn(key, "/.");
    if (key[n] != '/') return key;
    key += n + 1;
  }
}
