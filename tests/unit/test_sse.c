#include <stdlib.h>

#include "drivers/sse.h"
#include "tests/check.h"

static void collect(void *context, const char *data, size_t length) {
  struct buffer *out = context;
  (void)buffer_text(out, "[");
  (void)buffer_append(out, data, length);
  (void)buffer_text(out, "]");
}

static void every_split(const char *text, const char *wanted) {
  size_t n = strlen(text);
  for (size_t cut = 0; cut <= n + 1; cut++) {
    struct sse_parser parser;
    struct buffer got;
    sse_init(&parser);
    buffer_init(&got, 1 << 20);
    (void)buffer_append(&got, "", 0);
    if (cut == n + 1)
      for (size_t i = 0; i < n; i++) CHECK(sse_feed(&parser, text + i, 1, collect, &got));
    else CHECK(sse_feed(&parser, text, cut, collect, &got) && sse_feed(&parser, text + cut, n - cut, collect, &got));
    CHECK_TEXT(got.data, wanted);
    sse_release(&parser);
    buffer_release(&got);
  }
}

int main(void) {
  every_split("data: a\n\ndata: b\n\n", "[a][b]");
  every_split("data: a\r\n\r\ndata:b\r\n\r\n", "[a][b]"); /* CR LF; no space after the colon */
  every_split("data: a\rdata: b\r\r", "[a\nb]");          /* bare CR; two data lines are joined */
  every_split(": ping\n\ndata:  two\n\n", "[ two]");      /* comments; only one space is dropped */
  every_split("event: x\nid: 7\nretry: 10\ndata: a\n\n", "[a]");
  every_split("data\n\n", "[]");          /* a field without a colon is empty */
  every_split("data: never ended\n", ""); /* no blank line: not dispatched */
  every_split("\n\n\ndata: \xc3\xa4\n\n", "[\xc3\xa4]");
  every_split("\xef\xbb\xbf"
              "data: a\n\ndata: b\n\n",
              "[a][b]"); /* a byte-order mark may begin it */
  every_split("data: a\n\n\xef\xbb\xbf"
              "data: b\n\n",
              "[a]");                  /* and nothing else */
  every_split("database: no\n\n", ""); /* another field */

  struct sse_parser parser;
  struct buffer got;
  char filler[65536];
  sse_init(&parser);
  buffer_init(&got, 1 << 20);
  memset(filler, 'x', sizeof filler);
  bool fits = true;
  for (int i = 0; i < 40 && fits; i++) fits = sse_feed(&parser, filler, sizeof filler, collect, &got);
  CHECK(!fits); /* an endless line is refused at 1 MiB, not kept */
  sse_release(&parser);
  buffer_release(&got);
  return check_end();
}
