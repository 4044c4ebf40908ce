/* base/number.h: numbers, read whole and in range or not at all, and written so that they read back.
 * Units    durations are int64 nanoseconds, written "250ms", "1.5s", "2min", "1h"
 * Errors   false if any byte is left over, the number is out of range, or a double is not finite
 * Limits   no locale: the decimal point is '.' (the program never calls setlocale) */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include "base/status.h"

bool number_int64(const char *text, size_t length, int64_t *ret);
bool number_double(const char *text, size_t length, double *ret);
/* A share of something: "0.1" or "10%". */
bool number_share(const char *text, size_t length, double *ret);
bool number_duration(const char *text, size_t length, int64_t *ret_ns);

/* The shortest decimal that reads back as the same double. size >= 32. Returns text. */
char *number_text(char *text, size_t size, double value);
/* A duration for people: "1.234 ms". size >= 32. */
char *number_duration_text(char *text, size_t size, double ns);
/* With thousands separated: "3,630". size >= 32. */
char *number_grouped(char *text, size_t size, double value, int decimals);

/* Rounds to that many significant digits; what is published in a result goes through this, so that the last bits of
 * floating-point arithmetic cannot make two machines disagree. */
double number_round(double value, int digits);

#endif
