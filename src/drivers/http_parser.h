/* drivers/http_parser.h: an HTTP/1.1 answer, read a few bytes at a time.
 *
 * drivers holds one file per way of running a workload, and the parsers they need. A parser knows bytes, never sockets.
 *
 * Shapes   feed any split of the bytes: the calls made are the same but for how body bytes are cut
 * Result   feed returns how many bytes it took (all, unless the message ended); state says what happened
 * Errors   HTTP_BROKEN with a reason; HTTP_TOO_LARGE for a head over 64 KiB or a chunk line over 1 KiB
 * Source   RFC 9112, sections 4 to 7; 1xx answers are skipped; trailers are read and dropped */
#ifndef DRIVERS_HTTP_PARSER_H
#define DRIVERS_HTTP_PARSER_H

#include "base/buffer.h"

enum { HTTP_HEAD_MAX = 65536, HTTP_CHUNK_LINE_MAX = 1024 };

enum http_state {
  HTTP_HEAD,
  HTTP_BODY_LENGTH,
  HTTP_BODY_CLOSE,
  HTTP_CHUNK_SIZE,
  HTTP_CHUNK_DATA,
  HTTP_CHUNK_END,
  HTTP_TRAILER,
  HTTP_DONE,
  HTTP_BROKEN,
  HTTP_TOO_LARGE
};

typedef void http_body(void *context, const char *data, size_t length);

struct http_parser {
  enum http_state state;
  int status;
  bool keep_alive, event_stream, encoded; /* encoded: a Content-Encoding that we did not ask for */
  bool no_body;                           /* given by the caller: the request was HEAD, and no body follows whatever the head says */
  int64_t remaining;
  int64_t queue_ns, inference_ns;  /* x-queue-time, x-inference-time (TGI's, in milliseconds); -1: not said */
  int64_t inference_header_length; /* of the Open Inference Protocol: how much of the body is JSON; -1: not said */
  struct buffer line;              /* the head so far, or a chunk-size or trailer line */
  const char *reason;
};

void http_parser_init(struct http_parser *parser);
void http_parser_reset(struct http_parser *parser); /* for the next message on the same connection */
size_t http_parser_feed(struct http_parser *parser, const char *data, size_t length, http_body *body, void *context);
/* The connection ended. True if the message ended with it properly. */
bool http_parser_eof(struct http_parser *parser);

void http_parser_release(struct http_parser *parser);

#endif
