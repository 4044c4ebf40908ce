/* watch/request_reader.h: an HTTP/1.x request, read from the bytes that somebody sent to a server.
 *
 * Shapes   feed any split of the bytes, with the time of each; the reader stops behind a whole request
 * Result   REQUEST_WHOLE: what is known of it is filled in. REQUEST_LEFT: nothing more of this connection can be trusted; why says it
 * Limits   a head over 32 KiB, or one that two readers could frame differently, is left: both lengths, two lengths, a line that does not
 *          end in CR LF, a chunk size with anything but digits before its extension. Of a body over BODY_MAX nothing is read but its end
 * Memory   a body is kept until the request is whole, then scanned and cleared: no text of it goes anywhere
 * Source   RFC 9112, sections 3, 6 and 7 */
#ifndef WATCH_REQUEST_READER_H
#define WATCH_REQUEST_READER_H

#include "base/buffer.h"

enum { REQUEST_HEAD_MAX = 32768, REQUEST_LINE_MAX = 1024, REQUEST_BODY_MAX = 1 << 20 };

enum request_state {
  REQUEST_HEAD,
  REQUEST_BODY,
  REQUEST_CHUNK_SIZE,
  REQUEST_CHUNK,
  REQUEST_CHUNK_END,
  REQUEST_TRAILER,
  REQUEST_WHOLE,
  REQUEST_LEFT
};

enum request_left { LEFT_NOT, LEFT_TLS, LEFT_HTTP2, LEFT_AMBIGUOUS, LEFT_UPGRADE, LEFT_PIPELINED, LEFT_COUNT };

/* What a body asks for. */
struct request_asks {
  bool streams_said, streams, running_usage;
  int64_t max_tokens;   /* -1: not said */
  int64_t prompt_bytes; /* of all texts in it; -1: not read */
};

struct request_reader {
  enum request_state state;
  enum request_left left;
  bool is_head, is_post; /* its method */
  char path[64];         /* the end of the target, without a query; "" where it is longer: no route of ours */
  int64_t remaining;
  int64_t first_ns, last_ns; /* of its first and last byte; -1: none yet */
  struct request_asks asks;
  struct buffer line, body;
  bool body_too_long;
};

void request_reader_init(struct request_reader *reader);
void request_reader_reset(struct request_reader *reader); /* for the next request */
/* How many bytes it took: all, unless the request became whole, or the connection is left. */
size_t request_reader_feed(struct request_reader *reader, const char *data, size_t length, int64_t at_ns);
void request_reader_release(struct request_reader *reader);

/* Could a request begin so? By its method; as far as the bytes go. */
bool request_begins(const char *data, size_t length);

#endif
