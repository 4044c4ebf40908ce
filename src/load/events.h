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
/* Here and not in the source file: a run has some hundred millions of them. */
static inline bool events_number(struct events_reader *reader, uint64_t *ret) {
  uint64_t value = 0;
  if (reader->p < reader->end && *reader->p < 128) { /* as counts of tokens and bytes mostly are */
    *ret = *reader->p++;
    return true;
  }
  for (int shift = 0; shift < 63 && reader->p < reader->end; shift += 7) {
    uint8_t byte = *reader->p++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) {
      *ret = value;
      return true;
    }
  }
  return false;
}

/* 1: an event; 0: the end; -1: the blob is broken. */
static inline int events_next(struct events_reader *reader, struct answer_event *ret) {
  if (reader->p == reader->end) return 0;
  uint64_t delta, tokens, bytes;
  if (!events_number(reader, &delta) || !events_number(reader, &tokens) || !events_number(reader, &bytes)) return -1;
  if (__builtin_add_overflow(reader->at_ns, (int64_t)delta, &reader->at_ns) || reader->at_ns > EVENT_TIME_MAX_NS ||
      tokens / 2 > UINT32_MAX || bytes > UINT32_MAX)
    return -1;
  *ret = (struct answer_event){
      .at_ns = reader->at_ns, .n_tokens = (uint32_t)(tokens / 2), .n_bytes = (uint32_t)bytes, .carries_text = tokens % 2 == 1};
  return 1;
}

#endif
