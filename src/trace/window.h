/* trace/window.h: a window of a source that moves on: the reader sees a stretch of text, says how far it came, and asks for more.
 * Shapes   text [data + at, data + length), followed by SCAN_PADDING zeroes
 * Errors   LIMIT where what must lie in it whole would pass TRACE_EVENT_MAX; IO from the source */
#ifndef TRACE_WINDOW_H
#define TRACE_WINDOW_H

#include "trace/trace.h"

struct trace_window {
  struct trace_source *source;
  char *data;
  size_t at, length, capacity;
  bool ended; /* the source has no more */
};

void window_init(struct trace_window *window, struct trace_source *source);
/* Drops what lies before at, and reads on. False where the source ended, failed, or the window is full (ended is then false and the error
 * is LIMIT); what is there stays. */
bool window_more(struct trace_window *window, struct lynx_error *error);
void window_release(struct trace_window *window);

/* The next line, without its end; false where there is none. A line beyond TRACE_EVENT_MAX is an error. */
bool window_line(struct trace_window *window, struct bytes *ret, struct lynx_error *error);

#endif
