/* drivers/sse.h: a stream of server-sent events, read a few bytes at a time.
 * Shapes   feed any split of the bytes; event is called once per event with its data lines joined by '\n'
 * Errors   feed returns false once an event passes SSE_EVENT_MAX bytes ("endless lines")
 * Source   WHATWG HTML, 9.2.6: comments, event, id and retry are ignored; one space after the colon is dropped;
 *          a byte-order mark at its beginning is dropped; lines end in LF, CR LF or CR; an event that was not ended by a blank line is not dispatched */
#ifndef DRIVERS_SSE_H
#define DRIVERS_SSE_H

#include "base/buffer.h"

enum { SSE_EVENT_MAX = 1 << 20 };

typedef void sse_event(void *context, const char *data, size_t length);

struct sse_parser {
  struct buffer line, data;
  bool has_data, after_cr, begun;
};

void sse_init(struct sse_parser *parser);
void sse_reset(struct sse_parser *parser);
bool sse_feed(struct sse_parser *parser, const char *bytes, size_t length, sse_event *event, void *context);
void sse_release(struct sse_parser *parser);

#endif
