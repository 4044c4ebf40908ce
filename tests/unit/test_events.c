#include "load/events.h"
#include "tests/check.h"

int main(void) {
  struct buffer blob;
  buffer_init(&blob, 1 << 20);
  int64_t at = 0;
  for (int i = 0; i < 1000; i++) {
    struct answer_event e = {
        .at_ns = at + (int64_t)i * i * 1000, .n_tokens = (uint32_t)i % 5, .n_bytes = (uint32_t)i * 3, .carries_text = i % 2 == 1};
    CHECK(events_append(&blob, at, &e));
    at = e.at_ns;
  }
  struct events_reader reader;
  struct answer_event e;
  events_begin(&reader, blob.data, blob.length);
  int n = 0, more;
  at = 0;
  while ((more = events_next(&reader, &e)) == 1) {
    at += (int64_t)n * n * 1000;
    CHECK_INT(e.at_ns, at);
    CHECK_INT(e.n_tokens, n % 5);
    CHECK_INT(e.n_bytes, n * 3);
    CHECK_INT(e.carries_text, n % 2);
    n++;
  }
  CHECK_INT(more, 0);
  CHECK_INT(n, 1000);
  events_begin(&reader, blob.data, blob.length - 1); /* cut */
  while ((more = events_next(&reader, &e)) == 1) {}
  CHECK_INT(more, -1);
  static const char endless[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
  events_begin(&reader, endless, sizeof endless - 1);
  CHECK_INT(events_next(&reader, &e), -1);
  buffer_release(&blob);
  return check_end();
}
