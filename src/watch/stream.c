#include "watch/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct held_segment {
  struct held_segment *next;
  uint32_t sequence;
  size_t length;
  int64_t at_ns;
  char data[];
};

/* More than a small one takes of memory, so that a thousand are the most: who sends single bytes is not to make long lists. */
static size_t cost_of(size_t length) {
  return 1024 + length;
}

void stream_begin(struct stream *stream, uint32_t next) {
  stream->begun = true;
  stream->next = next;
}

void stream_release(struct stream *stream, size_t *held_in_all) {
  while (stream->held != NULL) {
    struct held_segment *first = stream->held;
    stream->held = first->next;
    free(first);
  }
  *held_in_all -= stream->n_held_bytes;
  stream->n_held_bytes = 0;
}

static void deliver(struct stream *stream, const char *data, size_t length, int64_t at_ns, const struct stream_sink *sink) {
  if (at_ns > stream->last_ns) stream->last_ns = at_ns;
  stream->next += (uint32_t)length;
  if (length > 0) sink->take(sink->context, data, length, stream->last_ns);
}

/* How far ahead of what is waited for; less than 0: it was there before. */
static int32_t ahead(const struct stream *stream, uint32_t sequence) {
  return (int32_t)(sequence - stream->next);
}

static void take_first_held(struct stream *stream, size_t *held_in_all, const struct stream_sink *sink) {
  struct held_segment *first = stream->held;
  int32_t at = ahead(stream, first->sequence);
  size_t known = at < 0 ? (size_t) - (int64_t)at : 0;
  stream->held = first->next;
  stream->n_held_bytes -= cost_of(first->length);
  *held_in_all -= cost_of(first->length);
  if (known < first->length) deliver(stream, first->data + known, first->length - known, first->at_ns, sink);
  free(first);
}

static void take_what_fits(struct stream *stream, int64_t now_ns, size_t *held_in_all, const struct stream_sink *sink) {
  while (stream->held != NULL && ahead(stream, stream->held->sequence) <= 0) take_first_held(stream, held_in_all, sink);
  stream->hole_since_ns = now_ns;
}

static void give_up_hole(struct stream *stream, int64_t now_ns, size_t *held_in_all, const struct stream_sink *sink) {
  if (stream->held == NULL) return;
  sink->lost(sink->context, now_ns);
  if (!stream->begun) return; /* nobody wants what follows */
  stream->next = stream->held->sequence;
  take_what_fits(stream, now_ns, held_in_all, sink);
}

/* Where both have bytes, are they others? */
static bool contradicts(const struct held_segment *held, uint32_t sequence, const char *data, size_t length) {
  int64_t at = (int32_t)(sequence - held->sequence), from = at > 0 ? at : 0;
  int64_t to = at + (int64_t)length < (int64_t)held->length ? at + (int64_t)length : (int64_t)held->length;
  return from < to && memcmp(held->data + from, data + (from - at), (size_t)(to - from)) != 0;
}

/* Kept in order. Of what is there twice the first copy is delivered, and the other one goes on behind it. */
static void hold(struct stream *stream, uint32_t sequence, const char *data, size_t length, int64_t at_ns, size_t *held_in_all) {
  struct held_segment **place = &stream->held;
  bool differs = false, known = false;
  for (const struct held_segment *h = stream->held; h != NULL; h = h->next) {
    differs = differs || contradicts(h, sequence, data, length);
    known = known || (h->sequence == sequence && h->length >= length);
  }
  stream->n_conflicts += differs;
  stream->n_again += known;
  if (known) return;
  while (*place != NULL && (int32_t)((*place)->sequence - sequence) <= 0) place = &(*place)->next;
  struct held_segment *made = xalloc(1, sizeof *made + length);
  *made = (struct held_segment){.next = *place, .sequence = sequence, .length = length, .at_ns = at_ns};
  memcpy(made->data, data, length);
  *place = made;
  stream->n_held_bytes += cost_of(length);
  *held_in_all += cost_of(length);
}

void stream_feed(struct stream *stream, uint32_t sequence, const char *data, size_t length, size_t missing, int64_t at_ns,
                 size_t *held_in_all, const struct stream_sink *sink) {
  if (!stream->begun || length + missing == 0) return;
  int32_t at = ahead(stream, sequence);
  if (at > STREAM_WINDOW_MAX || length > STREAM_WINDOW_MAX) return;
  if (at > 0) {
    if (stream->held == NULL) stream->hole_since_ns = at_ns;
    if (length > 0) hold(stream, sequence, data, length, at_ns, held_in_all);
    if (stream->n_held_bytes > STREAM_HELD_MAX || *held_in_all > STREAM_HELD_IN_ALL) give_up_hole(stream, at_ns, held_in_all, sink);
    return;
  }
  size_t known = (size_t) - (int64_t)at;
  if (known >= length) stream->n_again += length > 0 && known > 0;
  if (known < length) deliver(stream, data + known, length - known, at_ns, sink);
  if (!stream->begun) return;
  if (missing > 0 && ahead(stream, sequence + (uint32_t)(length + missing)) > 0) {
    sink->lost(sink->context, at_ns);
    if (!stream->begun) return;
    stream->next = sequence + (uint32_t)(length + missing);
  }
  take_what_fits(stream, at_ns, held_in_all, sink);
}

void stream_age(struct stream *stream, int64_t now_ns, size_t *held_in_all, const struct stream_sink *sink) {
  if (stream->held != NULL && now_ns - stream->hole_since_ns > STREAM_HOLE_NS) give_up_hole(stream, now_ns, held_in_all, sink);
}
