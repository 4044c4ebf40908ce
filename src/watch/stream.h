/* watch/stream.h: one direction of a TCP connection, put in order.
 *
 * Shapes   feed segments in any order; take is called with bytes in order, each with the time at which it passed the tap. Times do not
 *          decrease: a byte that came before the one in front of it has that one's time
 * Result   what is there twice is taken once, the first copy; a hole is waited for, HELD_MAX bytes and HOLE_NS long, then given up:
 *          lost is then called, and what follows goes on behind it
 * Limits   a segment more than WINDOW_MAX ahead is not of this connection's window, and is dropped
 * Memory   what waits behind a hole is copied; held counts what that takes, of all streams that share the counter
 * Source   RFC 9293, 3.4 (sequence numbers are compared modulo 2^32) */
#ifndef WATCH_STREAM_H
#define WATCH_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_HOLE_NS INT64_C(1000000000)
enum { STREAM_HELD_MAX = 1 << 20, STREAM_HELD_IN_ALL = 64 << 20, STREAM_WINDOW_MAX = 1 << 30 };

struct stream_sink {
  void *context;
  void (*take)(void *context, const char *data, size_t length, int64_t at_ns);
  void (*lost)(void *context, int64_t at_ns); /* bytes that never came are passed over */
  /* Both may release the stream: then nothing more is delivered. */
};

struct held_segment;

struct stream {
  bool begun;
  uint32_t next; /* the sequence number of the byte that is waited for */
  struct held_segment *held;
  size_t n_held_bytes;
  int64_t hole_since_ns, last_ns;
  int64_t n_again, n_conflicts; /* segments that came again; that have other bytes than one that is held, at the same place */
};

void stream_begin(struct stream *stream, uint32_t next);
/* missing: bytes behind these that the tap did not keep. held_in_all: shared by all streams. */
void stream_feed(struct stream *stream, uint32_t sequence, const char *data, size_t length, size_t missing, int64_t at_ns,
                 size_t *held_in_all, const struct stream_sink *sink);
/* Gives up a hole that is as old as that. */
void stream_age(struct stream *stream, int64_t now_ns, size_t *held_in_all, const struct stream_sink *sink);
void stream_release(struct stream *stream, size_t *held_in_all);

#endif
