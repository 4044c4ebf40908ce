#include "board/digest_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { ROOM_FIRST = 64 };

/* A digest is as good as random, unless somebody chose it: whoever may write entries could, and would slow their own ledger's page. */
static struct digest_slot *slot_of(const struct digest_map *map, const uint8_t digest[DIGEST_BYTES]) {
  size_t at;
  memcpy(&at, digest, sizeof at);
  for (at &= map->room - 1; map->slots[at].value != 0; at = (at + 1) & (map->room - 1))
    if (memcmp(map->slots[at].digest, digest, DIGEST_BYTES) == 0) break;
  return &map->slots[at];
}

bool digest_map_get(const struct digest_map *map, const uint8_t digest[DIGEST_BYTES], size_t *ret) {
  if (map->n == 0) return false;
  const struct digest_slot *slot = slot_of(map, digest);
  if (slot->value == 0) return false;
  *ret = slot->value - 1;
  return true;
}

static void grow(struct digest_map *map) {
  struct digest_map wider = {.n = map->n, .room = map->room > 0 ? 2 * map->room : ROOM_FIRST};
  wider.slots = xalloc(wider.room, sizeof *wider.slots);
  for (size_t i = 0; i < map->room; i++)
    if (map->slots[i].value != 0) *slot_of(&wider, map->slots[i].digest) = map->slots[i];
  free(map->slots);
  *map = wider;
}

void digest_map_put(struct digest_map *map, const uint8_t digest[DIGEST_BYTES], size_t value) {
  if (2 * map->n >= map->room) grow(map);
  struct digest_slot *slot = slot_of(map, digest);
  if (slot->value != 0) return;
  memcpy(slot->digest, digest, DIGEST_BYTES);
  slot->value = value + 1;
  map->n++;
}

void digest_map_release(struct digest_map *map) {
  free(map->slots);
  *map = (struct digest_map){.slots = NULL};
}
