/* base/scan.h: finding bytes in JSON text that lies whole in memory, sixteen at a time where the machine can.
 * Shapes   text [p, end), followed by at least SCAN_PADDING bytes that may be read (and that mean nothing)
 * Result   a pointer into the text, or NULL where the text ends first */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCAN_PADDING = 64 };

/* From behind an opening quote: the closing one. Whatever bytes stand between are taken as they are. */
const char *scan_string(const char *p, const char *end, bool *ret_escaped);

/* From '{' or '[': behind the bracket that closes it. Only brackets outside strings count; their kinds are not compared. */
const char *scan_composite(const char *p, const char *end);

static inline const char *scan_blanks(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
  return p;
}

#endif
