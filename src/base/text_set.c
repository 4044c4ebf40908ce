#include "base/text_set.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 64 };

/* FNV-1a, 64 bits (Fowler, Noll, Vo). Whoever chooses texts that collide slows the reading of their own. */
static uint64_t hash_of(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *text != 0; text++) hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
  return hash;
}

static struct text_slot *slot_of(const struct text_set *set, const char *text, uint64_t hash) {
  size_t at = (size_t)hash & (set->room - 1);
  while (set->slots[at].text != NULL && (set->slots[at].hash != hash || strcmp(set->slots[at].text, text) != 0))
    at = (at + 1) & (set->room - 1);
  return &set->slots[at];
}

static void grow(struct text_set *set) {
  struct text_set wider = {.n = set->n, .room = set->room > 0 ? 2 * set->room : ROOM_FIRST};
  wider.slots = xalloc(wider.room, sizeof *wider.slots);
  for (size_t i = 0; i < set->room; i++)
    if (set->slots[i].text != NULL) *slot_of(&wider, set->slots[i].text, set->slots[i].hash) = set->slots[i];
  free(set->slots);
  *set = wider;
}

const char *text_set_keep(struct text_set *set, struct arena *arena, const char *text) {
  const uint64_t hash = hash_of(text);
  if (2 * set->n >= set->room) grow(set);
  struct text_slot *slot = slot_of(set, text, hash);
  if (slot->text == NULL) {
    *slot = (struct text_slot){arena_copy(arena, text), hash};
    set->n++;
  }
  return slot->text;
}

void text_set_release(struct text_set *set) {
  free(set->slots);
  *set = (struct text_set){.slots = NULL};
}
