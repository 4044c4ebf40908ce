#include "watch/request_reader.h"

#include <string.h>
#include <strings.h>

#include "base/json_scan.h"
#include "base/number.h"

enum { KEPT_BYTES = 65536 }; /* of a long prompt's memory, for the short ones behind it */
static const char *const methods[] = {"POST ", "GET ", "HEAD ", "PUT ", "DELETE ", "OPTIONS ", "PATCH "};
static const char http2_preface[] = "PRI * HTTP/2.0";

void request_reader_init(struct request_reader *r) {
  *r = (struct request_reader){.state = REQUEST_HEAD};
  buffer_init(&r->line, REQUEST_HEAD_MAX);
  buffer_init(&r->body, REQUEST_BODY_MAX);
  request_reader_reset(r);
}

void request_reader_reset(struct request_reader *r) {
  struct buffer line = r->line, body = r->body;
  buffer_clear(&line);
  if (body.capacity > KEPT_BYTES) buffer_release(&body), buffer_init(&body, REQUEST_BODY_MAX);
  else buffer_clear(&body);
  *r = (struct request_reader){.state = REQUEST_HEAD,
                               .remaining = -1,
                               .first_ns = -1,
                               .last_ns = -1,
                               .asks = {.max_tokens = -1, .prompt_bytes = -1},
                               .line = line,
                               .body = body};
}

void request_reader_release(struct request_reader *r) {
  buffer_release(&r->line);
  buffer_release(&r->body);
}

bool request_begins(const char *data, size_t length) {
  for (size_t i = 0; i < LYNX_COUNT(methods); i++) {
    size_t n = strlen(methods[i]);
    if (length >= n && memcmp(data, methods[i], n) == 0) return true;
  }
  return false;
}

static void leave(struct request_reader *r, enum request_left why) {
  r->state = REQUEST_LEFT;
  r->left = why;
}

/* --- the head --- */

static bool is_word(struct bytes text, const char *word) {
  return text.length == strlen(word) && strncasecmp(text.ptr, word, text.length) == 0;
}

static struct bytes without_blanks(struct bytes text) {
  while (text.length > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) text.ptr++, text.length--;
  while (text.length > 0 && (text.ptr[text.length - 1] == ' ' || text.ptr[text.length - 1] == '\t')) text.length--;
  return text;
}

/* "POST /v1/completions?x=1 HTTP/1.1" */
static void read_first_line(struct request_reader *r, struct bytes line) {
  const char *target = memchr(line.ptr, ' ', line.length), *end = line.ptr + line.length;
  bool known = request_begins(line.ptr, line.length) && line.length > 12 && memcmp(end - 8, "HTTP/1.", 7) == 0 && end[-9] == ' ';
  if (!known || target == NULL || target >= end - 9) {
    leave(r, LEFT_AMBIGUOUS);
    return;
  }
  r->is_head = memcmp(line.ptr, "HEAD ", 5) == 0;
  r->is_post = memcmp(line.ptr, "POST ", 5) == 0;
  target++;
  size_t n = (size_t)(end - 9 - target);
  const char *query = memchr(target, '?', n);
  if (query != NULL) n = (size_t)(query - target);
  if (n < sizeof r->path) {
    memcpy(r->path, target, n);
    r->path[n] = 0;
  }
}

static void read_header(struct request_reader *r, struct bytes name, struct bytes value, bool *chunked) {
  if (is_word(name, "content-length")) {
    int64_t length;
    bool good = number_int64(value.ptr, value.length, &length) && length >= 0 && value.ptr[0] != '+' && r->remaining < 0;
    if (good) r->remaining = length;
    else leave(r, LEFT_AMBIGUOUS);
  } else if (is_word(name, "transfer-encoding")) {
    if (*chunked || !is_word(value, "chunked")) leave(r, LEFT_AMBIGUOUS);
    *chunked = true;
  } else if (is_word(name, "upgrade")) leave(r, LEFT_UPGRADE);
}

static void read_head(struct request_reader *r) {
  struct bytes rest = {r->line.data, r->line.length};
  bool first = true, chunked = false;
  while (rest.length > 0 && r->state == REQUEST_HEAD) {
    const char *end = memchr(rest.ptr, '\n', rest.length);
    size_t n = end != NULL ? (size_t)(end - rest.ptr) + 1 : rest.length;
    struct bytes line = {rest.ptr, n >= 2 && rest.ptr[n - 2] == '\r' ? n - 2 : n};
    if (line.length == n || memchr(line.ptr, '\r', line.length) != NULL) leave(r, LEFT_AMBIGUOUS);
    else if (first) read_first_line(r, line);
    else if (line.length > 0) {
      const char *colon = memchr(line.ptr, ':', line.length);
      bool folded = line.ptr[0] == ' ' || line.ptr[0] == '\t';
      if (colon == NULL || folded || colon == line.ptr || colon[-1] == ' ') leave(r, LEFT_AMBIGUOUS);
      else
        read_header(r, (struct bytes){line.ptr, (size_t)(colon - line.ptr)},
                    without_blanks((struct bytes){colon + 1, (size_t)(line.ptr + line.length - colon - 1)}), &chunked);
    }
    rest.ptr += n;
    rest.length -= n;
    first = false;
  }
  buffer_clear(&r->line);
  if (r->state != REQUEST_HEAD) return;
  if (chunked && r->remaining >= 0) leave(r, LEFT_AMBIGUOUS);
  else if (chunked) r->state = REQUEST_CHUNK_SIZE;
  else r->state = r->remaining > 0 ? REQUEST_BODY : REQUEST_WHOLE;
}

/* --- the body --- */

static void take_value(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct request_asks *asks = context;
  if (depth < 1 || path[0].ptr == NULL) return;
  bool prompt = is_word(path[0], "prompt") || is_word(path[0], "messages") || is_word(path[0], "input") || is_word(path[0], "inputs") ||
                is_word(path[0], "suffix");
  if (prompt && kind == JSON_SCAN_STRING) {
    int64_t n = json_scan_text_bytes(raw);
    asks->prompt_bytes += n >= 0 ? n : (int64_t)raw.length;
  }
  bool usage = depth == 2 && is_word(path[0], "stream_options") && path[1].ptr != NULL && is_word(path[1], "continuous_usage_stats");
  if (usage && kind == JSON_SCAN_TRUE) asks->running_usage = true;
  if (depth != 1) return;
  if (is_word(path[0], "stream")) {
    asks->streams_said = kind == JSON_SCAN_TRUE || kind == JSON_SCAN_FALSE;
    asks->streams = kind == JSON_SCAN_TRUE;
  }
  bool bounds = is_word(path[0], "max_tokens") || is_word(path[0], "max_completion_tokens") || is_word(path[0], "max_output_tokens") ||
                is_word(path[0], "n_predict");
  int64_t number;
  if (bounds && kind == JSON_SCAN_NUMBER && number_int64(raw.ptr, raw.length, &number) && number >= 0) asks->max_tokens = number;
}

static void finish(struct request_reader *r) {
  r->state = REQUEST_WHOLE;
  if (r->is_post && !r->body_too_long && r->body.length > 0) {
    r->asks.prompt_bytes = 0;
    if (!json_scan(r->body.data, r->body.length, take_value, &r->asks))
      r->asks = (struct request_asks){.max_tokens = -1, .prompt_bytes = -1};
  }
  buffer_clear(&r->body);
}

static void keep(struct request_reader *r, const char *data, size_t length) {
  if (r->body_too_long || !r->is_post) return;
  if (r->body.length + length <= REQUEST_BODY_MAX && buffer_append(&r->body, data, length)) return;
  r->body_too_long = true;
  buffer_release(&r->body);
  buffer_init(&r->body, REQUEST_BODY_MAX);
}

static void read_chunk_size(struct request_reader *r) {
  int64_t size = 0;
  size_t i = 0, n = r->line.length - 2; /* without CR LF */
  const char *p = r->line.data;
  for (; i < n && i < 15; i++) {
    int digit = p[i] >= '0' && p[i] <= '9' ? p[i] - '0' : (p[i] | 32) >= 'a' && (p[i] | 32) <= 'f' ? (p[i] | 32) - 'a' + 10 : -1;
    if (digit < 0) break;
    size = size * 16 + digit;
  }
  bool good = i > 0 && i < 15 && (i == n || p[i] == ';') && memchr(p, '\r', n) == NULL;
  buffer_clear(&r->line);
  r->remaining = size;
  if (!good) leave(r, LEFT_AMBIGUOUS);
  else r->state = size > 0 ? REQUEST_CHUNK : REQUEST_TRAILER;
}

/* --- feeding --- */

static void take_line(struct request_reader *r) {
  size_t n = r->line.length;
  const char *d = r->line.data;
  bool whole = n >= 2 && d[n - 2] == '\r';
  switch (r->state) {
    case REQUEST_HEAD:
      if (n >= 4 && whole && d[n - 3] == '\n') read_head(r);
      else if (n == 2 && whole) { /* blank lines before a request: RFC 9112, 2.2 */ buffer_clear(&r->line);
        r->first_ns = -1;
      }
      break;
    case REQUEST_CHUNK_SIZE:
      if (whole) read_chunk_size(r);
      else leave(r, LEFT_AMBIGUOUS);
      break;
    case REQUEST_CHUNK_END:
      if (whole && n == 2) r->state = REQUEST_CHUNK_SIZE;
      else leave(r, LEFT_AMBIGUOUS);
      buffer_clear(&r->line);
      break;
    default: /* the trailer: its lines, then a blank one */
      if (!whole) leave(r, LEFT_AMBIGUOUS);
      else if (n == 2) finish(r);
      buffer_clear(&r->line);
  }
}

static size_t feed_line(struct request_reader *r, const char *data, size_t length) {
  const char *end = memchr(data, '\n', length);
  size_t n = end != NULL ? (size_t)(end - data) + 1 : length, most = r->state == REQUEST_HEAD ? REQUEST_HEAD_MAX : REQUEST_LINE_MAX;
  if (r->line.length + n > most || !buffer_append(&r->line, data, n)) leave(r, LEFT_AMBIGUOUS);
  else if (end != NULL) take_line(r);
  return n;
}

/* What does not begin as a request may be something else that is known by name. */
static bool is_other(struct request_reader *r, const char *data, size_t length) {
  const unsigned char *p = (const unsigned char *)data;
  size_t n = length < sizeof http2_preface - 1 ? length : sizeof http2_preface - 1;
  if (r->line.length > 0) return false;
  if (length >= 2 && p[0] == 0x16 && p[1] == 3) leave(r, LEFT_TLS);
  else if (n >= 4 && memcmp(data, http2_preface, n) == 0) leave(r, LEFT_HTTP2);
  return r->state == REQUEST_LEFT;
}

size_t request_reader_feed(struct request_reader *r, const char *data, size_t length, int64_t at_ns) {
  size_t used = 0;
  while (used < length && r->state < REQUEST_WHOLE) {
    const char *at = data + used;
    size_t left = length - used;
    if (r->first_ns < 0 && is_other(r, at, left)) break;
    if (r->first_ns < 0) r->first_ns = at_ns;
    r->last_ns = at_ns;
    if (r->state != REQUEST_BODY && r->state != REQUEST_CHUNK) {
      used += feed_line(r, at, left);
      continue;
    }
    size_t n = (int64_t)left < r->remaining ? left : (size_t)r->remaining;
    keep(r, at, n);
    used += n;
    r->remaining -= (int64_t)n;
    if (r->remaining > 0) continue;
    if (r->state == REQUEST_BODY) finish(r);
    else r->state = REQUEST_CHUNK_END;
  }
  return used;
}
