/* load/events.h: the events of one answer, as one delta-coded blob.
 * Format   per event: unsigned LEB128 of the nanoseconds since the event before (the first: since the request was written), then
 *          LEB128 of tokens * 2 + carries_text, then LEB128 of the bytes of text
 * Errors   decoding INPUT if the blob is cut, a number passes 63 bits, or a time passes EVENT_TIME_MAX_NS */
#ifndef LOAD_EVENTS_H
#define LOAD_EVENTS_H

#include "base/buffer.h"

/* 36 years: sums of two such times cannot overflow. */
#define EVENT_TIME_MAX_NS ((int64_t)1 << 60)

struct answer_event {
  int64_t at_ns; /* since the request was written */
  uint32_t n_tokens, n_bytes;
  bool carries_text;
};

/* Times must not decrease; previous_ns is that of the event before, 0 for the first. */
bool events_append(struct buffer *blob, int64_t previous_ns, const struct answer_event *event);

struct events_reader {
  const uint8_t *p, *end;
  int64_t at_ns;
};

void events_begin(struct events_reader *reader, const void *blob, size_t length);
/* 1: an event; 0: the end; -1: the blob is broken. */
int events_next(struct events_reader *reader, struct answer_event *ret);

#endif
