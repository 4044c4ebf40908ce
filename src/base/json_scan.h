/* base/json_scan.h: walks a JSON text once, calling back for every scalar, allocating nothing. For the events of a stream,
 * where a tree per token would cost more than the measurement may.
 * Shapes   path[depth]: the keys (array elements have a NULL key) that lead to the value
 * Result   false if the text is not one whole JSON value; the callbacks made until then stand
 * Limits   nesting of JSON_SCAN_DEPTH; keys are compared in their raw form (an escaped key never matches) */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "base/buffer.h"

enum { JSON_SCAN_DEPTH = 24 };

enum json_scan_kind {
  JSON_SCAN_STRING,
  JSON_SCAN_NUMBER,
  JSON_SCAN_TRUE,
  JSON_SCAN_FALSE,
  JSON_SCAN_NULL,
  JSON_SCAN_OBJECT,
  JSON_SCAN_ARRAY
};

/* raw: a string without its quotes and still escaped; a number's text; empty for an object or array, reported as it opens. */
typedef void json_scan_visit(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw);

bool json_scan(const char *text, size_t length, json_scan_visit *visit, void *context);

/* The text that a raw string stands for, ended by 0 and cut where it is longer than size - 1 bytes; its length then. -1 if an escape is
 * wrong. */
int64_t json_scan_text(struct bytes raw, char *ret, size_t size);

/* The bytes that a raw string stands for; -1 if an escape is wrong or (checked) bytes are not UTF-8. */
int64_t json_scan_text_bytes(struct bytes raw);

#endif
