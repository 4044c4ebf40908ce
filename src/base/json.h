/* base/json.h: JSON out, always in one form: no blanks, keys in the order written, numbers that read back, text made valid
 * UTF-8. And JSON in, by jansson, with limits. The same calls give the same bytes on every machine.
 * Order    json_open_object/array, then json_key before each member's value, then json_close; json_finish says if all fitted
 * Limits   nesting of 32 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "base/json_scan.h"

struct json_writer {
  struct buffer *out;
  int depth;
  bool first[33];
  char close[33];
  bool after_key;
};

void json_begin(struct json_writer *writer, struct buffer *out);
void json_begin_object(struct json_writer *writer, struct buffer *out); /* the whole is one object, that json_end_line closes */
void json_open_object(struct json_writer *writer);
void json_open_array(struct json_writer *writer);
void json_close(struct json_writer *writer);
void json_key(struct json_writer *writer, const char *key);
void json_text(struct json_writer *writer, const char *text); /* NULL is written as null */
void json_bytes(struct json_writer *writer, const char *text, size_t length);
void json_int(struct json_writer *writer, int64_t value);
void json_double(struct json_writer *writer, double value); /* not finite: null */
void json_bool(struct json_writer *writer, bool value);
void json_nothing(struct json_writer *writer);
void json_made(struct json_writer *writer, struct bytes json); /* a value that is JSON already */

bool json_finish(struct json_writer *writer);
bool json_end_line(struct json_writer *writer); /* closes the outermost, finishes, and ends the line */

/* key and value at once */
void json_put_text(struct json_writer *writer, const char *key, const char *text);
void json_put_int(struct json_writer *writer, const char *key, int64_t value);
void json_put_double(struct json_writer *writer, const char *key, double value);
void json_put_bool(struct json_writer *writer, const char *key, bool value);
void json_put_texts(struct json_writer *writer, const char *key, const char *const *texts, size_t n); /* an array */

/* A whole JSON text, or NULL with the error's line and reason. At most limit bytes. The caller calls json_decref. */
json_t *json_parse(const char *text, size_t length, size_t limit, struct lynx_error *error);
/* The same of what Python's json writes: NaN, Infinity and -Infinity, which are no JSON, are null. */
json_t *json_parse_python(const char *text, size_t length, size_t limit, struct lynx_error *error);
/* The same with every number a double: for files that hold integers beyond 63 bits, which are an error otherwise. */
json_t *json_parse_reals(const char *text, size_t length, size_t limit, struct lynx_error *error);

/* Calls back for a parsed value as json_scan does for its text, but that strings come as what they stand for. */
void json_walk(const json_t *value, json_scan_visit *visit, void *context);

/* Members of a parsed object; the fallback if absent or of another type. */
const char *json_get_text(const json_t *object, const char *key, const char *fallback);
int64_t json_get_int(const json_t *object, const char *key, int64_t fallback);
double json_get_double(const json_t *object, const char *key, double fallback);
bool json_get_bool(const json_t *object, const char *key, bool fallback);

#endif
