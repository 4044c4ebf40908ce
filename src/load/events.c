#include "load/events.h"

static size_t put(uint8_t *to, uint64_t value) {
  size_t n = 0;
  do {
    to[n++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    value >>= 7;
  } while (value != 0);
  return n;
}

bool events_append(struct buffer *blob, int64_t previous_ns, const struct answer_event *event) {
  uint8_t text[30];
  size_t n = put(text, (uint64_t)(event->at_ns > previous_ns ? event->at_ns - previous_ns : 0));
  n += put(text + n, (uint64_t)event->n_tokens * 2 + (event->carries_text ? 1 : 0));
  n += put(text + n, event->n_bytes);
  return buffer_append(blob, text, n);
}

void events_begin(struct events_reader *reader, const void *blob, size_t length) {
  const uint8_t *p = blob != NULL ? blob : (const uint8_t *)""; /* an empty one may lie nowhere */
  *reader = (struct events_reader){.p = p, .end = p + length};
}
