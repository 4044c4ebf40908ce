/* base/arena.h: memory that is freed all at once; and the two allocators.
 * Memory   small allocations of our own stop the process when memory is gone (exit 70; every record on disk survives by
 *          design); a size that comes from outside uses try_alloc, which returns NULL.
 * Threads  an arena belongs to one thread */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/status.h"

struct arena_block;
struct arena {
  struct arena_block *blocks;
};

void *xalloc(size_t n, size_t size); /* zeroed; never NULL */
void *xgrow(void *old, size_t n, size_t size);
/* Room for one more than the n items that are there: as they are, or twice as much elsewhere. */
void *xroom(void *items, size_t n, size_t *room, size_t size);
char *xcopy(const char *text);
void *try_alloc(size_t n, size_t size); /* zeroed; NULL if memory or the product overflows */

void *arena_alloc(struct arena *arena, size_t n, size_t size);          /* zeroed, aligned for anything; never NULL */
char *arena_text(struct arena *arena, const char *text, size_t length); /* a copy with a final 0 */
char *arena_copy(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) LYNX_PRINTF(2, 3);
/* Room in the arena for one more than the n items that are there, all of which were added by this: as they are, or twice as much. */
void *arena_room(struct arena *arena, void *items, size_t n, size_t size);
void arena_release(struct arena *arena); /* accepts a zeroed arena; leaves one */

#endif
