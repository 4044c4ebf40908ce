#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_init(struct buffer *buffer, size_t limit) {
  *buffer = (struct buffer){.limit = limit};
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
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  bool good = n >= 0 && buffer_reserve(buffer, (size_t)n);
  if (good) {
    (void)vsnprintf(buffer->data + buffer->length, (size_t)n + 1, format, again);
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
  *buffer = (struct buffer){.limit = buffer->limit};
}

void buffer_wipe(struct buffer *buffer) {
  if (buffer->data != NULL) explicit_bzero(buffer->data, buffer->length);
  buffer_release(buffer);
}

struct bytes bytes_of(const char *text) {
  return (struct bytes){text, strlen(text)};
}

size_t utf8_length(const unsigned char *p, size_t available) {
  if (available == 0) return 0;
  if (p[0] < 0x80) return 1;
  size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || available < n) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if (p[0] == 0xe0 && p[1] < 0xa0) return 0; /* overlong */
  if (p[0] == 0xed && p[1] > 0x9f) return 0; /* a surrogate */
  if (p[0] == 0xf0 && p[1] < 0x90) return 0; /* overlong */
  if (p[0] == 0xf4 && p[1] > 0x8f) return 0; /* past U+10FFFF */
  return n;
}

size_t utf8_valid(const char *text, size_t length) {
  size_t at = 0, n;
  while (at < length && (n = utf8_length((const unsigned char *)text + at, length - at)) > 0) at += n;
  return at;
}

bool text_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && memcmp(text + n - m, end, m) == 0;
}

char *text_sanitise(char *dst, size_t size, const char *src, size_t length) {
  lynx_assert(size > 0);
  size_t used = 0;
  for (size_t i = 0; i < length;) {
    const unsigned char *p = (const unsigned char *)src + i;
    if (*p >= 0x20 && *p < 0x7f) { /* nearly all */
      if (used + 1 >= size) break;
      dst[used++] = src[i++];
      continue;
    }
    size_t n = utf8_length(p, length - i);
    bool c1_control = n == 2 && p[0] == 0xc2 && p[1] < 0xa0;
    bool bidi = n == 3 && p[0] == 0xe2 &&
                ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
    bool fit = n > 1 && !c1_control && !bidi;
    if (used + (fit ? n : 1) >= size) break;
    if (fit) memcpy(dst + used, p, n);
    else dst[used] = '?';
    used += fit ? n : 1;
    i += n > 0 ? n : 1;
  }
  dst[used] = 0;
  return dst;
}

void text_redact(char *text, const char *secret) {
  enum { TELLING = 4 };
  size_t n = secret != NULL ? strlen(secret) : 0, length = strlen(text);
  if (n == 0) return;
  for (char *at = text; (at = strstr(at, secret)) != NULL; at += n) memset(at, '*', n);
  for (size_t part = n < length ? n : length; part >= TELLING; part--) {
    if (memcmp(text + length - part, secret, part) != 0) continue;
    memset(text + length - part, '*', part);
    return;
  }
}
