#include "base/text_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { ROOM_FIRST = 64 };

static uint64_t fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes at a time, with a secret: texts come from strangers, who must not be able to choose such that all meet in one place. */
static uint64_t hash_of(const struct text_set *set, const char *text) {
  const size_t length = strlen(text);
  uint64_t hash = set->secret[0] ^ length, word;
  for (size_t at = 0; at < length; at += sizeof word) {
    word = 0;
    memcpy(&word, text + at, length - at < sizeof word ? length - at : sizeof word);
    hash = fold(hash ^ word, set->secret[1]);
  }
  return fold(hash, set->secret[0]);
}

static struct text_slot *slot_of(const struct text_set *set, const char *text, uint64_t hash) {
  size_t at = (size_t)hash & (set->room - 1);
  while (set->slots[at].text != NULL && (set->slots[at].hash != hash || strcmp(set->slots[at].text, text) != 0))
    at = (at + 1) & (set->room - 1);
  return &set->slots[at];
}

static void draw_secret(struct text_set *set) {
  if (getrandom(set->secret, sizeof set->secret, 0) != (ssize_t)sizeof set->secret)
    set->secret[0] = set->secret[1] = (uint64_t)(uintptr_t)set;
  set->secret[0] |= 1, set->secret[1] |= 1; /* none is 0 */
}

static void grow(struct text_set *set) {
  struct text_set wider = {.n = set->n, .room = set->room > 0 ? 2 * set->room : ROOM_FIRST};
  memcpy(wider.secret, set->secret, sizeof wider.secret);
  wider.slots = xalloc(wider.room, sizeof *wider.slots);
  for (size_t i = 0; i < set->room; i++)
    if (set->slots[i].text != NULL) *slot_of(&wider, set->slots[i].text, set->slots[i].hash) = set->slots[i];
  free(set->slots);
  *set = wider;
}

static const struct text_slot *keep(struct text_set *set, struct arena *arena, const char *text) {
  if (set->room == 0) draw_secret(set);
  if (2 * set->n >= set->room) grow(set);
  const uint64_t hash = hash_of(set, text);
  struct text_slot *slot = slot_of(set, text, hash);
  if (slot->text == NULL) *slot = (struct text_slot){arena_copy(arena, text), hash, set->n++};
  return slot;
}

const char *text_set_keep(struct text_set *set, struct arena *arena, const char *text) {
  return keep(set, arena, text)->text;
}

size_t text_set_place(struct text_set *set, struct arena *arena, const char *text) {
  return keep(set, arena, text)->place;
}

void text_set_release(struct text_set *set) {
  free(set->slots);
  *set = (struct text_set){.slots = NULL};
}
