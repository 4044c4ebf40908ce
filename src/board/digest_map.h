/* board/digest_map.h: a number for each of many SHA-256 digests.
 * Memory   grows as it is filled; digest_map_release frees it. A zeroed one is empty */
#ifndef BOARD_DIGEST_MAP_H
#define BOARD_DIGEST_MAP_H

#include "base/digest.h"

struct digest_map {
  struct digest_slot {
    uint8_t digest[DIGEST_BYTES];
    size_t value; /* + 1; 0: empty */
  } * slots;
  size_t n, room; /* room: a power of two */
};

/* False: it is not there. */
bool digest_map_get(const struct digest_map *map, const uint8_t digest[DIGEST_BYTES], size_t *ret);
/* A digest that is there already keeps its number. */
void digest_map_put(struct digest_map *map, const uint8_t digest[DIGEST_BYTES], size_t value);
void digest_map_release(struct digest_map *map);

#endif
