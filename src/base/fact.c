#include "base/fact.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

enum { FACT_VALUE_MAX = 4096 };

static const char *const status_names[FACT_STATUS_COUNT] = {[FACT_READ] = "read",
                                                            [FACT_ABSENT] = "absent",
                                                            [FACT_DENIED] = "denied",
                                                            [FACT_UNSUPPORTED] = "unsupported",
                                                            [FACT_DECLARED] = "declared"};

static const char *keep(struct fact_list *list, const char *text) {
  if (text == NULL) return "";
  static _Thread_local char clean[FACT_VALUE_MAX + 1];
  return arena_copy(&list->arena, text_sanitise(clean, sizeof clean, text, strlen(text)));
}

void fact_add(struct fact_list *list, const struct fact *fact) {
  if (fact_find(list, fact->key) != NULL) return;
  if (list->n_items == list->room) {
    list->room = list->room == 0 ? 64 : 2 * list->room;
    list->items = xgrow(list->items, list->room, sizeof *list->items);
  }
  struct fact *copy = &list->items[list->n_items++];
  *copy = *fact;
  copy->key = keep(list, fact->key);
  copy->value = keep(list, fact->value);
  copy->unit = keep(list, fact->unit);
  copy->source = keep(list, fact->source);
}

const struct fact *fact_find(const struct fact_list *list, const char *key) {
  for (size_t i = 0; i < list->n_items; i++)
    if (strcmp(list->items[i].key, key) == 0) return &list->items[i];
  return NULL;
}

static int compare_facts(const void *a, const void *b) {
  const struct fact *x = a, *y = b;
  if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
  return strcmp(x->key, y->key);
}

void fact_sort(struct fact_list *list) {
  if (list->n_items > 0) qsort(list->items, list->n_items, sizeof *list->items, compare_facts);
}

void fact_list_release(struct fact_list *list) {
  free(list->items);
  arena_release(&list->arena);
  *list = (struct fact_list){0};
}

const char *fact_status_text(enum fact_status status) {
  return status_names[status];
}

bool fact_status_parse(const char *text, enum fact_status *ret) {
  for (int i = 0; i < FACT_STATUS_COUNT; i++) {
    if (strcmp(status_names[i], text) != 0) continue;
    *ret = (enum fact_status)i;
    return true;
  }
  return false;
}
