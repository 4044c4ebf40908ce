#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARENA_BLOCK_BYTES = 16 * 1024 };

struct arena_block {
  struct arena_block *next;
  size_t used, size;
  max_align_t data[];
};

static _Noreturn void out_of_memory(void) {
  static const char text[] = "lynxbench: out of memory. What was recorded so far is on disk and intact.\n";
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  _exit(70);
}

void *try_alloc(size_t n, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(n, size, &total)) return NULL;
  return calloc(1, total > 0 ? total : 1);
}

void *xalloc(size_t n, size_t size) {
  void *p = try_alloc(n, size);
  if (p == NULL) out_of_memory();
  return p;
}

void *xgrow(void *old, size_t n, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(n, size, &total)) out_of_memory();
  void *p = realloc(old, total > 0 ? total : 1);
  if (p == NULL) out_of_memory();
  return p;
}

void *xroom(void *items, size_t n, size_t *room, size_t size) {
  enum { LEAST = 16 };
  if (n < *room) return items;
  if (__builtin_mul_overflow(*room, 2, room)) out_of_memory();
  if (*room < LEAST) *room = LEAST;
  return xgrow(items, *room, size);
}

char *xcopy(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = xalloc(n, 1);
  memcpy(copy, text, n);
  return copy;
}

void *arena_alloc(struct arena *arena, size_t n, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(n, size, &total) || total > SIZE_MAX / 2) out_of_memory();
  total = (total + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
  struct arena_block *block = arena->blocks;
  if (block == NULL || block->size - block->used < total) {
    size_t room = total > ARENA_BLOCK_BYTES ? total : ARENA_BLOCK_BYTES;
    block = xalloc(1, sizeof *block + room);
    block->size = room;
    block->next = arena->blocks;
    arena->blocks = block;
  }
  void *p = (char *)block->data + block->used;
  block->used += total;
  return p;
}

char *arena_text(struct arena *arena, const char *text, size_t length) {
  char *copy = arena_alloc(arena, length + 1, 1);
  if (length > 0) memcpy(copy, text, length);
  return copy;
}

char *arena_copy(struct arena *arena, const char *text) {
  return arena_text(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  lynx_assert(n >= 0);
  char *text = arena_alloc(arena, (size_t)n + 1, 1);
  (void)vsnprintf(text, (size_t)n + 1, format, again);
  va_end(again);
  return text;
}

void *arena_room(struct arena *arena, void *items, size_t n, size_t size) {
  if (n > 0 && (n & (n - 1)) != 0) return items; /* room is always the next power of two */
  void *more = arena_alloc(arena, n > 0 ? 2 * n : 1, size);
  if (n > 0) memcpy(more, items, n * size);
  return more;
}

void arena_release(struct arena *arena) {
  struct arena_block *block = arena->blocks;
  while (block != NULL) {
    struct arena_block *next = block->next;
    free(block);
    block = next;
  }
  arena->blocks = NULL;
}
