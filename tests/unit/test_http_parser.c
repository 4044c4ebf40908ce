#include <stdlib.h>

#include "drivers/http_parser.h"
#include "tests/check.h"

static void collect(void *context, const char *data, size_t length) {
  (void)buffer_append(context, data, length);
}

/* The same answer, cut at every place, and byte by byte. */
static void every_split(const char *text, size_t n, enum http_state state, int status, const char *body, bool keep_alive,
                        bool ends_with_connection) {
  for (size_t cut = 0; cut <= n + 1; cut++) {
    struct http_parser parser;
    struct buffer got;
    http_parser_init(&parser);
    buffer_init(&got, 1 << 20);
    (void)buffer_append(&got, "", 0);
    if (cut == n + 1)
      for (size_t i = 0; i < n; i++) (void)http_parser_feed(&parser, text + i, 1, collect, &got);
    else {
      size_t used = http_parser_feed(&parser, text, cut, collect, &got);
      if (used == cut) (void)http_parser_feed(&parser, text + cut, n - cut, collect, &got);
    }
    if (ends_with_connection) (void)http_parser_eof(&parser);
    CHECK_INT(parser.state, state);
    if (state == HTTP_DONE) {
      CHECK_INT(parser.status, status);
      CHECK_INT(parser.keep_alive, keep_alive);
      CHECK_TEXT(got.data, body);
    }
    http_parser_release(&parser);
    buffer_release(&got);
  }
}

#define EVERY_SPLIT(text, ...) every_split(text, sizeof(text) - 1, __VA_ARGS__)

int main(void) {
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", HTTP_DONE, 200, "hello", true, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", HTTP_DONE, 200,
              "abc0123456789", true, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", HTTP_DONE, 200, "a",
              true, false);                                                                                     /* trailers are dropped */
  EVERY_SPLIT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", HTTP_DONE, 204, "", true, false); /* 1xx is skipped */
  EVERY_SPLIT("HTTP/1.0 200 OK\r\n\r\nto the end", HTTP_DONE, 200, "to the end", false, true);
  EVERY_SPLIT("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", HTTP_DONE, 200, "ok", true, false); /* bare LF */
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", HTTP_DONE, 200, "", false, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", HTTP_BODY_LENGTH, 0, "", true, true); /* the end came too early */
  EVERY_SPLIT("\r\n\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", HTTP_DONE, 200, "", true,
              false); /* stray line ends before the answer */
  /* Refused. */
  EVERY_SPLIT("x\n\n", HTTP_BROKEN, 0, "", true, false); /* fuzzing found that this depended on how it was cut */
  EVERY_SPLIT("SSH-2.0-OpenSSH\r\n\r\n", HTTP_BROKEN, 0, "", true, false);
  EVERY_SPLIT("HTTP/1.1 20x OK\r\n\r\n", HTTP_BROKEN, 0, "", true, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", HTTP_BROKEN, 0, "", true, false); /* smuggling */
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", HTTP_BROKEN, 0, "", true, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", HTTP_BROKEN, 0, "", true, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", HTTP_BROKEN, 0, "", true, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", HTTP_BROKEN, 0, "", true, false);
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n", HTTP_BROKEN, 0, "", true,
              false); /* overflows */
  EVERY_SPLIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", HTTP_BROKEN, 0, "", true,
              false); /* longer than it says */

  struct http_parser parser;
  struct buffer got;
  http_parser_init(&parser);
  buffer_init(&got, 1 << 20);
  char line[1000];
  memset(line, 'x', sizeof line);
  (void)http_parser_feed(&parser, "HTTP/1.1 200 OK\r\n", 17, collect, &got);
  for (int i = 0; i < 100; i++) (void)http_parser_feed(&parser, line, sizeof line, collect, &got);
  CHECK_INT(parser.state, HTTP_TOO_LARGE); /* an endless header line */
  http_parser_release(&parser);
  buffer_release(&got);
  return check_end();
}
