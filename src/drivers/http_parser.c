#include "drivers/http_parser.h"

#include <string.h>
#include <strings.h>

#include "base/number.h"

void http_parser_init(struct http_parser *parser) {
  *parser = (struct http_parser){.remaining = -1, .queue_ns = -1, .inference_ns = -1, .inference_header_length = -1, .keep_alive = true};
  buffer_init(&parser->line, HTTP_HEAD_MAX);
}

void http_parser_reset(struct http_parser *parser) {
  struct buffer line = parser->line;
  *parser = (struct http_parser){
      .remaining = -1, .queue_ns = -1, .inference_ns = -1, .inference_header_length = -1, .keep_alive = true, .line = line};
  buffer_clear(&parser->line);
}

void http_parser_release(struct http_parser *parser) {
  buffer_release(&parser->line);
}

static void broken(struct http_parser *parser, const char *reason) {
  parser->state = HTTP_BROKEN;
  parser->reason = reason;
}

static struct bytes trim(struct bytes text) {
  while (text.length > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) text.ptr++, text.length--;
  while (text.length > 0 && strchr(" \t\r\n", text.ptr[text.length - 1]) != NULL) text.length--;
  return text;
}

static bool same_word(struct bytes text, const char *word) {
  return text.length == strlen(word) && strncasecmp(text.ptr, word, text.length) == 0;
}

static bool has_token(struct bytes list, const char *token) {
  while (list.length > 0) {
    const char *comma = memchr(list.ptr, ',', list.length);
    size_t n = comma != NULL ? (size_t)(comma - list.ptr) : list.length;
    if (same_word(trim((struct bytes){list.ptr, n}), token)) return true;
    n += comma != NULL ? 1 : 0;
    list.ptr += n;
    list.length -= n;
  }
  return false;
}

/* What is no number of milliseconds is not taken: an answer is not refused for a header that it need not have. */
static int64_t milliseconds(struct bytes value) {
  double ms;
  return number_double(value.ptr, value.length, &ms) && ms >= 0 && ms < 1e9 ? (int64_t)(ms * 1e6) : -1;
}

static void take_header(struct http_parser *parser, struct bytes name, struct bytes value, bool *chunked) {
  if (same_word(name, "content-length")) {
    int64_t length;
    if (!number_int64(value.ptr, value.length, &length) || length < 0) broken(parser, "Content-Length is not a number");
    else if (parser->remaining >= 0 && parser->remaining != length) broken(parser, "two different Content-Length headers");
    else parser->remaining = length;
  } else if (same_word(name, "transfer-encoding")) {
    *chunked = has_token(value, "chunked");
    if (!*chunked) broken(parser, "a Transfer-Encoding other than chunked");
  } else if (same_word(name, "connection")) {
    if (has_token(value, "close")) parser->keep_alive = false;
  } else if (same_word(name, "content-type")) {
    parser->event_stream = value.length >= 17 && strncasecmp(value.ptr, "text/event-stream", 17) == 0;
  } else if (same_word(name, "inference-header-content-length")) {
    int64_t length;
    if (!number_int64(value.ptr, value.length, &length) || length < 0) broken(parser, "Inference-Header-Content-Length is not a number");
    else parser->inference_header_length = length;
  } else if (same_word(name, "x-queue-time")) {
    parser->queue_ns = milliseconds(value);
  } else if (same_word(name, "x-inference-time")) {
    parser->inference_ns = milliseconds(value);
  } else if (same_word(name, "content-encoding")) {
    parser->encoded = !same_word(value, "identity");
  }
}

/* "HTTP/1.1 200 OK": the version and the three digits are checked, the phrase is not. */
static void take_status_line(struct http_parser *parser, struct bytes line) {
  if (line.length < 12 || memcmp(line.ptr, "HTTP/1.", 7) != 0 || line.ptr[8] != ' ') {
    broken(parser, "not an HTTP/1.x answer");
    return;
  }
  int64_t status;
  if (!number_int64(line.ptr + 9, 3, &status) || status < 100 || status > 599) {
    broken(parser, "no status code in the first line");
    return;
  }
  parser->status = (int)status;
  parser->keep_alive = line.ptr[7] != '0';
}

static void take_head(struct http_parser *parser) {
  struct bytes rest = {parser->line.data, parser->line.length};
  bool first = true, chunked = false;
  while (rest.length > 0 && parser->state == HTTP_HEAD) {
    const char *end = memchr(rest.ptr, '\n', rest.length);
    size_t n = end != NULL ? (size_t)(end - rest.ptr) + 1 : rest.length;
    struct bytes line = trim((struct bytes){rest.ptr, n});
    rest.ptr += n;
    rest.length -= n;
    if (first) take_status_line(parser, line);
    else if (line.length > 0) {
      const char *colon = memchr(line.ptr, ':', line.length);
      if (colon == NULL) broken(parser, "a header line without a colon");
      else
        take_header(parser, (struct bytes){line.ptr, (size_t)(colon - line.ptr)},
                    trim((struct bytes){colon + 1, (size_t)(line.ptr + line.length - colon - 1)}), &chunked);
    }
    first = false;
  }
  buffer_clear(&parser->line);
  if (parser->state != HTTP_HEAD) return;
  if (parser->status < 200) {
    bool keep = parser->keep_alive, no_body = parser->no_body;
    http_parser_reset(parser);
    parser->keep_alive = keep;
    parser->no_body = no_body;
  } else if (parser->no_body) parser->state = HTTP_DONE;
  else if (chunked) parser->state = HTTP_CHUNK_SIZE; /* chunked wins over a length: RFC 9112, 6.3 */
  else if (parser->status == 204 || parser->status == 304 || parser->remaining == 0) parser->state = HTTP_DONE;
  else if (parser->remaining > 0) parser->state = HTTP_BODY_LENGTH;
  else {
    parser->state = HTTP_BODY_CLOSE;
    parser->keep_alive = false;
  }
}

/* Adds bytes up to and including a line end; true once the line is whole. */
static bool gather_line(struct http_parser *parser, const char *data, size_t length, size_t limit, size_t *ret_taken) {
  const char *end = memchr(data, '\n', length);
  size_t n = end != NULL ? (size_t)(end - data) + 1 : length;
  *ret_taken = n;
  if (parser->line.length + n > limit || !buffer_append(&parser->line, data, n)) {
    parser->state = HTTP_TOO_LARGE;
    parser->reason = "a line or head larger than is accepted";
    return false;
  }
  return end != NULL;
}

static void take_chunk_size(struct http_parser *parser) {
  int64_t size = 0;
  size_t i = 0;
  for (; i < parser->line.length; i++) {
    char c = parser->line.data[i];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) break;
    if (size > INT64_MAX / 32) {
      broken(parser, "a chunk size out of range");
      return;
    }
    size = size * 16 + digit;
  }
  bool good = i > 0 &&
              (parser->line.data[i] == ';' || parser->line.data[i] == '\r' || parser->line.data[i] == '\n' || parser->line.data[i] == ' ');
  buffer_clear(&parser->line);
  if (!good) {
    broken(parser, "a chunk size that is not hexadecimal");
    return;
  }
  parser->remaining = size;
  parser->state = size == 0 ? HTTP_TRAILER : HTTP_CHUNK_DATA;
}

static size_t feed_line(struct http_parser *parser, const char *data, size_t length) {
  size_t taken, limit = parser->state == HTTP_HEAD || parser->state == HTTP_TRAILER ? HTTP_HEAD_MAX : HTTP_CHUNK_LINE_MAX;
  if (!gather_line(parser, data, length, limit, &taken)) return taken;
  switch (parser->state) {
    case HTTP_HEAD: {
      /* A blank line ends the head. */
      size_t n = parser->line.length;
      const char *d = parser->line.data;
      bool end = (n >= 2 && d[n - 2] == '\n') || (n >= 3 && d[n - 2] == '\r' && d[n - 3] == '\n');
      if (end) take_head(parser);
      else if (n == 1 || (n == 2 && d[0] == '\r')) buffer_clear(&parser->line); /* a stray line end before the answer */
      break;
    }
    case HTTP_CHUNK_SIZE: take_chunk_size(parser); break;
    case HTTP_CHUNK_END:
      if (parser->line.length > 2 || (parser->line.length == 2 && parser->line.data[0] != '\r'))
        broken(parser, "a chunk longer than its size");
      else parser->state = HTTP_CHUNK_SIZE;
      buffer_clear(&parser->line);
      break;
    default: { /* HTTP_TRAILER */
      size_t n = parser->line.length;
      const char *d = parser->line.data;
      bool end = n <= 2 || (d[n - 2] == '\n') || (n >= 3 && d[n - 2] == '\r' && d[n - 3] == '\n');
      if (end && (n > 2 || d[0] == '\r' || d[0] == '\n')) parser->state = HTTP_DONE;
    }
  }
  return taken;
}

size_t http_parser_feed(struct http_parser *parser, const char *data, size_t length, http_body *body, void *context) {
  size_t used = 0;
  while (used < length && parser->state < HTTP_DONE) {
    const char *at = data + used;
    size_t left = length - used;
    if (parser->state == HTTP_BODY_CLOSE) {
      body(context, at, left);
      used += left;
    } else if (parser->state == HTTP_BODY_LENGTH || parser->state == HTTP_CHUNK_DATA) {
      size_t n = (int64_t)left < parser->remaining ? left : (size_t)parser->remaining;
      body(context, at, n);
      used += n;
      parser->remaining -= (int64_t)n;
      if (parser->remaining == 0) parser->state = parser->state == HTTP_CHUNK_DATA ? HTTP_CHUNK_END : HTTP_DONE;
    } else used += feed_line(parser, at, left);
  }
  return used;
}

bool http_parser_eof(struct http_parser *parser) {
  if (parser->state == HTTP_BODY_CLOSE) parser->state = HTTP_DONE;
  return parser->state == HTTP_DONE;
}
