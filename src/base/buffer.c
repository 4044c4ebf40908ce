#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_init(struct buffer *buffer, size_t limit) {
  *buffer = (struct buffer){.limit = limit};
}

void buffer_init_shown(struct buffer *buffer, size_t limit) {
  *buffer = (struct buffer){.limit = limit, .shown = true};
}

bool buffer_reserve(struct buffer *buffer, size_t more) {
  size_t need;
  if (buffer->overflowed || __builtin_add_overflow(buffer->length, more, &need) || need > buffer->limit) {
    buffer->overflowed = true;
    return false;
  }
  if (need + 1 <= buffer->capacity) return true;
  size_t capacity = buffer->capacity < 64 ? 64 : buffer->capacity;
  while (capacity < need + 1) capacity *= 2;
  char *data = realloc(buffer->data, capacity);
  if (data == NULL) {
    buffer->overflowed = true;
    return false;
  }
  buffer->data = data;
  buffer->capacity = capacity;
  buffer->data[buffer->length] = 0;
  return true;
}

bool buffer_append(struct buffer *buffer, const void *data, size_t length) {
  if (!buffer_reserve(buffer, length)) return false;
  if (length > 0) memcpy(buffer->data + buffer->length, data, length);
  buffer->length += length;
  buffer->data[buffer->length] = 0;
  return true;
}

bool buffer_text(struct buffer *buffer, const char *text) {
  return buffer_append(buffer, text, strlen(text));
}

bool buffer_printf(struct buffer *buffer, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int n = buffer->shown ? text_vformat(NULL, 0, format, args) : vsnprintf(NULL, 0, format, args);
  va_end(args);
  bool good = n >= 0 && buffer_reserve(buffer, (size_t)n);
  if (good) {
    char *end = buffer->data + buffer->length;
    (void)(buffer->shown ? text_vformat(end, (size_t)n + 1, format, again) : vsnprintf(end, (size_t)n + 1, format, again));
    buffer->length += (size_t)n;
  }
  va_end(again);
  return good;
}

void buffer_drop_front(struct buffer *buffer, size_t count) {
  lynx_assert(count <= buffer->length);
  if (count == 0) return;
  memmove(buffer->data, buffer->data + count, buffer->length - count);
  buffer->length -= count;
  buffer->data[buffer->length] = 0;
}

void buffer_clear(struct buffer *buffer) {
  buffer->length = 0;
  buffer->overflowed = false;
  if (buffer->data != NULL) buffer->data[0] = 0;
}

void buffer_release(struct buffer *buffer) {
  free(buffer->data);
  *buffer = (struct buffer){.limit = buffer->limit, .shown = buffer->shown};
}

void buffer_wipe(struct buffer *buffer) {
  if (buffer->data != NULL) explicit_bzero(buffer->data, buffer->length);
  buffer_release(buffer);
}

struct bytes bytes_of(const char *text) {
  return (struct bytes){text, strlen(text)};
}
