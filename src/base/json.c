#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

void json_begin(struct json_writer *writer, struct buffer *out) {
  *writer = (struct json_writer){.out = out, .first = {true}};
}

void json_begin_object(struct json_writer *writer, struct buffer *out) {
  json_begin(writer, out);
  json_open_object(writer);
}

static void separate(struct json_writer *writer) {
  if (!writer->after_key && !writer->first[writer->depth]) (void)buffer_append(writer->out, ",", 1);
  writer->first[writer->depth] = false;
  writer->after_key = false;
}

static void open_with(struct json_writer *writer, char open, char close) {
  separate(writer);
  lynx_assert(writer->depth < 32);
  writer->depth++;
  writer->first[writer->depth] = true;
  writer->close[writer->depth] = close;
  (void)buffer_append(writer->out, &open, 1);
}

void json_open_object(struct json_writer *writer) {
  open_with(writer, '{', '}');
}

void json_open_array(struct json_writer *writer) {
  open_with(writer, '[', ']');
}

void json_close(struct json_writer *writer) {
  lynx_assert(writer->depth > 0 && !writer->after_key);
  (void)buffer_append(writer->out, &writer->close[writer->depth], 1);
  writer->depth--;
}

void json_key(struct json_writer *writer, const char *key) {
  json_text(writer, key);
  (void)buffer_append(writer->out, ":", 1);
  writer->after_key = true;
}

void json_bytes(struct json_writer *writer, const char *text, size_t length) {
  separate(writer);
  struct buffer *out = writer->out;
  (void)buffer_append(out, "\"", 1);
  for (size_t i = 0; i < length;) {
    const unsigned char *p = (const unsigned char *)text + i;
    size_t n = utf8_length(p, length - i);
    if (n == 0) {
      (void)buffer_text(out, "\xef\xbf\xbd"); /* U+FFFD where the bytes are not UTF-8 */
      i++;
      continue;
    }
    if (*p == '"' || *p == '\\') (void)buffer_printf(out, "\\%c", *p);
    else if (*p == '\n') (void)buffer_text(out, "\\n");
    else if (*p < 0x20 || *p == 0x7f) (void)buffer_printf(out, "\\u%04x", *p);
    else (void)buffer_append(out, p, n);
    i += n;
  }
  (void)buffer_append(out, "\"", 1);
}

void json_text(struct json_writer *writer, const char *text) {
  if (text == NULL) json_nothing(writer);
  else json_bytes(writer, text, strlen(text));
}

void json_int(struct json_writer *writer, int64_t value) {
  separate(writer);
  (void)buffer_printf(writer->out, "%" PRId64, value);
}

void json_double(struct json_writer *writer, double value) {
  if (!isfinite(value)) {
    json_nothing(writer);
    return;
  }
  char text[48];
  separate(writer);
  (void)buffer_text(writer->out, number_text(text, sizeof text, value));
}

void json_bool(struct json_writer *writer, bool value) {
  separate(writer);
  (void)buffer_text(writer->out, value ? "true" : "false");
}

void json_nothing(struct json_writer *writer) {
  separate(writer);
  (void)buffer_text(writer->out, "null");
}

void json_made(struct json_writer *writer, struct bytes json) {
  separate(writer);
  (void)buffer_append(writer->out, json.ptr, json.length);
}

bool json_finish(struct json_writer *writer) {
  lynx_assert(writer->depth == 0);
  return !writer->out->overflowed;
}

bool json_end_line(struct json_writer *writer) {
  json_close(writer);
  return json_finish(writer) && buffer_append(writer->out, "\n", 1);
}

void json_put_text(struct json_writer *writer, const char *key, const char *text) {
  json_key(writer, key);
  json_text(writer, text);
}

void json_put_int(struct json_writer *writer, const char *key, int64_t value) {
  json_key(writer, key);
  json_int(writer, value);
}

void json_put_double(struct json_writer *writer, const char *key, double value) {
  json_key(writer, key);
  json_double(writer, value);
}

void json_put_bool(struct json_writer *writer, const char *key, bool value) {
  json_key(writer, key);
  json_bool(writer, value);
}

void json_put_texts(struct json_writer *writer, const char *key, const char *const *texts, size_t n) {
  json_key(writer, key);
  json_open_array(writer);
  for (size_t i = 0; i < n; i++) json_text(writer, texts[i]);
  json_close(writer);
}

static json_t *parse(const char *text, size_t length, size_t limit, size_t flags, struct lynx_error *error) {
  if (length > limit) {
    (void)lynx_fail(error, LYNX_LIMIT, "%zu bytes of JSON; at most %zu are accepted", length, limit);
    return NULL;
  }
  json_error_t why;
  json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | flags, &why);
  if (value != NULL) return value;
  char reason[160];
  text_sanitise(reason, sizeof reason, why.text, strlen(why.text));
  lynx_error_at(error, NULL, why.line, NULL);
  (void)lynx_fail(error, LYNX_INPUT, "not JSON: %s (column %d)", reason, why.column);
  return NULL;
}

json_t *json_parse(const char *text, size_t length, size_t limit, struct lynx_error *error) {
  return parse(text, length, limit, 0, error);
}

/* Where a bare word of Python's begins at `at`: its length; 0: none does. */
static size_t python_word(const char *at, const char *end) {
  static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
  for (size_t i = 0; i < LYNX_COUNT(words); i++) {
    size_t n = strlen(words[i]);
    if ((size_t)(end - at) >= n && memcmp(at, words[i], n) == 0) return n;
  }
  return 0;
}

json_t *json_parse_python(const char *text, size_t length, size_t limit, struct lynx_error *error) {
  const char *end = text + length;
  if (length > limit || (memmem(text, length, "NaN", 3) == NULL && memmem(text, length, "Infinity", 8) == NULL))
    return parse(text, length, limit, 0, error);
  struct buffer out;
  bool quoted = false, good = true;
  buffer_init(&out, 2 * length + 16);
  for (const char *at = text; at < end && good;) {
    size_t n = quoted ? 0 : python_word(at, end), step = n > 0 ? n : quoted && *at == '\\' && at + 1 < end ? 2 : 1;
    good = n > 0 ? buffer_text(&out, "null") : buffer_append(&out, at, step);
    if (n == 0 && *at == '"') quoted = !quoted;
    at += step;
  }
  json_t *root = good ? parse(out.data, out.length, 2 * limit, 0, error) : NULL;
  if (!good) (void)lynx_fail(error, LYNX_LIMIT, "no memory for a text of JSON");
  buffer_release(&out);
  return root;
}

json_t *json_parse_reals(const char *text, size_t length, size_t limit, struct lynx_error *error) {
  return parse(text, length, limit, JSON_DECODE_INT_AS_REAL, error);
}

const char *json_get_text(const json_t *object, const char *key, const char *fallback) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : fallback;
}

int64_t json_get_int(const json_t *object, const char *key, int64_t fallback) {
  const json_t *value = json_object_get(object, key);
  return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

double json_get_double(const json_t *object, const char *key, double fallback) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : fallback;
}

bool json_get_bool(const json_t *object, const char *key, bool fallback) {
  const json_t *value = json_object_get(object, key);
  return json_is_boolean(value) ? json_is_true(value) : fallback;
}

struct walk {
  json_scan_visit *visit;
  void *context;
  struct bytes path[JSON_SCAN_DEPTH];
};

static void walk_value(struct walk *w, const json_t *value, int depth) { /* recursion is bounded by JSON_SCAN_DEPTH */
  static const enum json_scan_kind kinds[] = {
      [JSON_OBJECT] = JSON_SCAN_OBJECT, [JSON_ARRAY] = JSON_SCAN_ARRAY, [JSON_STRING] = JSON_SCAN_STRING, [JSON_INTEGER] = JSON_SCAN_NUMBER,
      [JSON_REAL] = JSON_SCAN_NUMBER,   [JSON_TRUE] = JSON_SCAN_TRUE,   [JSON_FALSE] = JSON_SCAN_FALSE,   [JSON_NULL] = JSON_SCAN_NULL};
  char number[40] = "";
  struct bytes raw = {number, 0};
  const char *key;
  json_t *member; /* jansson's loops take no const */
  size_t i;
  if (json_is_string(value)) raw = (struct bytes){json_string_value(value), json_string_length(value)};
  else if (json_is_integer(value)) raw.length = (size_t)snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  else if (json_is_real(value)) {
    (void)number_text(number, sizeof number - 2, json_real_value(value));
    if (strpbrk(number, ".e") == NULL) (void)strcat(number, ".0"); /* it is no whole number there */
    raw.length = strlen(number);
  }
  w->visit(w->context, w->path, depth, kinds[json_typeof(value)], raw);
  if (depth == JSON_SCAN_DEPTH) return;
  json_object_foreach((json_t *)(uintptr_t)value, key, member) {
    w->path[depth] = bytes_of(key);
    walk_value(w, member, depth + 1);
  }
  w->path[depth] = (struct bytes){NULL, 0};
  json_array_foreach(value, i, member) {
    w->path[depth] = (struct bytes){NULL, 0};
    walk_value(w, member, depth + 1);
  }
}

void json_walk(const json_t *value, json_scan_visit *visit, void *context) {
  struct walk w = {.visit = visit, .context = context};
  if (value != NULL) walk_value(&w, value, 0);
}
