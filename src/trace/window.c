#include "trace/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/scan.h"

enum { WINDOW = 1 << 20, READ_AT_ONCE = 1 << 18 };

void window_init(struct trace_window *window, struct trace_source *source) {
  *window = (struct trace_window){.source = source, .capacity = WINDOW};
  window->data = xalloc(WINDOW + SCAN_PADDING, 1);
}

bool window_more(struct trace_window *window, struct lynx_error *error) {
  if (window->ended) return false;
  if (window->at > 0) {
    memmove(window->data, window->data + window->at, window->length - window->at);
    window->length -= window->at;
    window->at = 0;
  }
  if (window->capacity - window->length < READ_AT_ONCE) {
    if (window->capacity >= TRACE_EVENT_MAX) {
      (void)lynx_fail(error, LYNX_LIMIT, "one event or line of the trace is larger than %d MB", TRACE_EVENT_MAX >> 20);
      return false;
    }
    char *larger = realloc(window->data, 2 * window->capacity + SCAN_PADDING);
    if (larger == NULL) {
      (void)lynx_fail(error, LYNX_LIMIT, "no memory for an event of %zu bytes", window->length);
      return false;
    }
    window->data = larger;
    window->capacity *= 2;
  }
  ptrdiff_t n = window->source->read(window->source->context, window->data + window->length, window->capacity - window->length, error);
  if (n <= 0) window->ended = true;
  if (n > 0) window->length += (size_t)n;
  memset(window->data + window->length, 0, SCAN_PADDING);
  return n > 0;
}

void window_release(struct trace_window *window) {
  free(window->data);
  *window = (struct trace_window){.source = NULL};
}

bool window_line(struct trace_window *window, struct bytes *ret, struct lynx_error *error) {
  size_t looked = 0;
  for (;;) {
    const char *from = window->data + window->at, *end = memchr(from + looked, '\n', window->length - window->at - looked);
    if (end != NULL) {
      *ret = (struct bytes){from, (size_t)(end - from)};
      window->at += ret->length + 1;
      return true;
    }
    looked = window->length - window->at;
    if (window_more(window, error)) continue;
    if (!window->ended || looked == 0) return false;
    *ret = (struct bytes){window->data + window->at, looked};
    window->at = window->length;
    return true;
  }
}
