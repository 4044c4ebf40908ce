/* base/text_set.h: texts of which many are the same, each kept once.
 * Memory   the texts lie in the arena that is given, and live as long as it does; text_set_release frees the rest. A zeroed set is empty */
#ifndef BASE_TEXT_SET_H
#define BASE_TEXT_SET_H

#include "base/arena.h"

struct text_set {
  struct text_slot {
    const char *text; /* NULL: empty */
    uint64_t hash;
    size_t place; /* how many were kept before it */
  } * slots;
  size_t n, room; /* room: a power of two */
  uint64_t secret[2];
};

/* The one that is kept. The same arena each time. */
const char *text_set_keep(struct text_set *set, struct arena *arena, const char *text);
/* The same, and which of them it is: the first that was kept is 0. */
size_t text_set_place(struct text_set *set, struct arena *arena, const char *text);
void text_set_release(struct text_set *set);

#endif
