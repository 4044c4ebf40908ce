#include "drivers/sse.h"

#include <string.h>

void sse_init(struct sse_parser *parser) {
  *parser = (struct sse_parser){0};
  buffer_init(&parser->line, SSE_EVENT_MAX);
  buffer_init(&parser->data, SSE_EVENT_MAX);
}

void sse_reset(struct sse_parser *parser) {
  buffer_clear(&parser->line);
  buffer_clear(&parser->data);
  parser->has_data = parser->after_cr = parser->begun = false;
}

void sse_release(struct sse_parser *parser) {
  buffer_release(&parser->line);
  buffer_release(&parser->data);
}

static bool take_line(struct sse_parser *parser, sse_event *event, void *context) {
  static const char mark[] = "\xef\xbb\xbf"; /* a byte-order mark, which may begin a stream */
  const char *line = parser->line.data;
  size_t length = parser->line.length;
  bool good = true, marked = !parser->begun && length >= 3 && memcmp(line, mark, 3) == 0;
  line += marked ? 3 : 0;
  length -= marked ? 3 : 0;
  parser->begun = true;
  if (length == 0) {
    if (parser->has_data) event(context, parser->data.data, parser->data.length);
    buffer_clear(&parser->data);
    parser->has_data = false;
  } else if (length >= 4 && memcmp(line, "data", 4) == 0 && (length == 4 || line[4] == ':')) {
    size_t skip = length == 4 ? 4 : length > 5 && line[5] == ' ' ? 6 : 5;
    if (parser->has_data) good = buffer_append(&parser->data, "\n", 1);
    good = good && buffer_append(&parser->data, line + skip, length - skip);
    parser->has_data = true;
  }
  buffer_clear(&parser->line);
  return good;
}

bool sse_feed(struct sse_parser *parser, const char *bytes, size_t length, sse_event *event, void *context) {
  size_t i = 0;
  while (i < length) {
    if (parser->after_cr) {
      parser->after_cr = false;
      if (bytes[i] == '\n') {
        i++;
        continue;
      }
    }
    size_t start = i;
    while (i < length && bytes[i] != '\n' && bytes[i] != '\r') i++;
    if (!buffer_append(&parser->line, bytes + start, i - start)) return false;
    if (i == length) return true;
    parser->after_cr = bytes[i] == '\r';
    i++;
    if (!take_line(parser, event, context)) return false;
  }
  return true;
}
