#include "load/events.h"

static size_t put(uint8_t *to, uint64_t value) {
  size_t n = 0;
  do {
    to[n++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    value >>= 7;
  } while (value != 0);
  return n;
}

static inline bool get(struct events_reader *reader, uint64_t *ret) {
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

bool events_append(struct buffer *blob, int64_t previous_ns, const struct answer_event *event) {
  uint8_t text[30];
  size_t n = put(text, (uint64_t)(event->at_ns > previous_ns ? event->at_ns - previous_ns : 0));
  n += put(text + n, (uint64_t)event->n_tokens * 2 + (event->carries_text ? 1 : 0));
  n += put(text + n, event->n_bytes);
  return buffer_append(blob, text, n);
}

void events_begin(struct events_reader *reader, const void *blob, size_t length) {
  *reader = (struct events_reader){.p = blob, .end = (const uint8_t *)blob + length};
}

int events_next(struct events_reader *reader, struct answer_event *ret) {
  if (reader->p == reader->end) return 0;
  uint64_t delta, tokens, bytes;
  if (!get(reader, &delta) || !get(reader, &tokens) || !get(reader, &bytes)) return -1;
  if (__builtin_add_overflow(reader->at_ns, (int64_t)delta, &reader->at_ns) || reader->at_ns > EVENT_TIME_MAX_NS ||
      tokens / 2 > UINT32_MAX || bytes > UINT32_MAX)
    return -1;
  *ret = (struct answer_event){
      .at_ns = reader->at_ns, .n_tokens = (uint32_t)(tokens / 2), .n_bytes = (uint32_t)bytes, .carries_text = tokens % 2 == 1};
  return 1;
}
