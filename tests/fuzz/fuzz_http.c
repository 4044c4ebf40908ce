/* HTTP, event streams and their JSON: no crash, and the same events however the bytes are cut. */
#include <stdlib.h>
#include <string.h>

#include "drivers/http_parser.h"
#include "drivers/dialect.h"
#include "drivers/openai.h"
#include "drivers/native.h"
#include "drivers/sse.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct stream {
  struct http_parser http;
  struct sse_parser sse;
  uint64_t hash;
  bool fits;
};

static void mix(struct stream *s, const void *data, size_t n) {
  for (size_t i = 0; i < n; i++) s->hash = (s->hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
}

static void on_event(void *context, const char *data, size_t length) {
  struct stream *s = context;
  struct piece event;
  openai_read(&event, data, length);
  mix(s, data, length);
  mix(s, &event.n_bytes, sizeof event.n_bytes);
  mix(s, &event.output_tokens, sizeof event.output_tokens);
  mix(s, "|", 1);
}

static void on_body(void *context, const char *data, size_t length) {
  struct stream *s = context;
  s->fits = s->fits && sse_feed(&s->sse, data, length, on_event, s);
}

static uint64_t feed(const uint8_t *data, size_t size, size_t step) {
  struct stream s = {.fits = true};
  http_parser_init(&s.http);
  sse_init(&s.sse);
  for (size_t at = 0; at < size && s.http.state < HTTP_DONE; at += step)
    (void)http_parser_feed(&s.http, (const char *)data + at, size - at < step ? size - at : step, on_body, &s);
  (void)http_parser_eof(&s.http);
  mix(&s, &s.http.state, sizeof s.http.state);
  http_parser_release(&s.http);
  sse_release(&s.sse);
  return s.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 60000) return 0; /* beyond the limits, where a cut decides when a limit is seen */
  uint64_t whole = feed(data, size, size > 0 ? size : 1);
  HOLDS(feed(data, size, 1) == whole);
  HOLDS(feed(data, size, 7) == whole);
  struct piece piece;
  openai_read(&piece, (const char *)data, size);
  responses_read(&piece, (const char *)data, size);
  llamacpp_read(&piece, (const char *)data, size);
  ollama_read(&piece, (const char *)data, size);
  tgi_read(&piece, (const char *)data, size);
  return 0;
}
