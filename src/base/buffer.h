/* base/buffer.h: bytes. A view {ptr, length} borrows; a buffer owns, grows, and knows its greatest size from birth.
 * Errors   an append that would pass the limit, or finds no memory, fails and sets `overflowed`; the contents stay as they were
 * Memory   buffer_release frees; a zeroed buffer with a limit is ready for use */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <string.h>

#include "base/status.h"
#include "base/shown.h"

struct bytes {
  const char *ptr;
  size_t length;
};

struct buffer {
  char *data; /* always followed by a 0 once anything was appended or reserved */
  size_t length, capacity, limit;
  bool overflowed;
  bool shown; /* text for a terminal: buffer_printf shows every %s (base/shown.h); what is appended otherwise is our own */
};

void buffer_init(struct buffer *buffer, size_t limit);
void buffer_init_shown(struct buffer *buffer, size_t limit);
bool buffer_append(struct buffer *buffer, const void *data, size_t length);
bool buffer_text(struct buffer *buffer, const char *text);
bool buffer_printf(struct buffer *buffer, const char *format, ...) LYNX_PRINTF(2, 3);
bool buffer_reserve(struct buffer *buffer, size_t more); /* room for that many further bytes, without changing the contents */
void buffer_drop_front(struct buffer *buffer, size_t count);
void buffer_clear(struct buffer *buffer); /* keeps the memory and the limit */
void buffer_release(struct buffer *buffer);
void buffer_wipe(struct buffer *buffer); /* for secrets: overwrites what it holds, then releases */

struct bytes bytes_of(const char *text);
/* Here for the compiler to see: a key of JSON is compared with a dozen of them. */
static inline bool bytes_equal(struct bytes a, const char *text) {
  return a.length == strlen(text) && (a.length == 0 || memcmp(a.ptr, text, a.length) == 0);
}

#endif
