/* base/shown.h: text from outside, made fit to be shown; UTF-8.
 * Shown    what could move a cursor, colour, hide or reorder what a terminal shows, or forge a line: C0 and C1 controls, DEL, bidirectional
 *          controls and marks, line and paragraph separators, invisible characters, and bytes that are not UTF-8 become '?'; a newline, a
 *          tab and a return become \n, \t and \r, in two characters
 * Source   Unicode 15: UAX #9 (bidirectional algorithm); ECMA-48 (control functions) */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

bool text_ends_with(const char *text, const char *end);

/* Text from outside, to be kept: control characters and bytes that are not UTF-8 become '?'; cut (at a character) to fit size. Returns
 * dst. */
char *text_sanitise(char *dst, size_t size, const char *src, size_t length);

/* Our own colours, and what a line of progress begins with: an argument that points into this table is shown as it is; the same bytes from elsewhere are not. */
enum text_color { TEXT_PLAIN, TEXT_STRONG, TEXT_DIM, TEXT_BAD, TEXT_GOOD, TEXT_WARNING, TEXT_ALARM, TEXT_ERASE_LINE, TEXT_COLORS };
extern const char text_colors[TEXT_COLORS][8];

/* As vsnprintf, but that every %s is shown (above), its precision cut at a character, and its width counted in characters. The format is
 * ours: it passes. Conversions: d i u x X c f g e s %, with flags, *, h l ll z j. */
int text_vformat(char *dst, size_t size, const char *format, va_list args);
int text_format(char *dst, size_t size, const char *format, ...) LYNX_PRINTF(3, 4);
/* Does this character only mislead who looks? n: its bytes, from utf8_length. */
bool text_misleads(const unsigned char *p, size_t n);

/* Puts stars in place of a secret, and of a beginning of it (4 bytes or more) at the text's end, where it was cut. NULL: there is none. */
void text_redact(char *text, const char *secret);

/* The length of the UTF-8 character that begins here, or 0 if these bytes do not begin one (or it is cut off). */
size_t utf8_length(const unsigned char *p, size_t available);
/* How many bytes of it, from its beginning, are UTF-8: all, or those before the first that is not. */
size_t utf8_valid(const char *text, size_t length);

#endif
