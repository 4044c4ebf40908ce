/* base/typed_value.h: is a text a value of a type, within bounds?
 * Units    durations in seconds; shares as 0.05 or 5%
 * Result   what is no number, not finite or beyond a bound is none; both bounds are accepted */
#ifndef BASE_TYPED_VALUE_H
#define BASE_TYPED_VALUE_H

#include <stdbool.h>

enum value_type {
  VALUE_TEXT,     /* any */
  VALUE_COUNT,    /* a whole number */
  VALUE_NUMBER,   /* any number */
  VALUE_DURATION, /* "90s" */
  VALUE_SHARE,    /* "0.05", "5%" */
  VALUE_CHOICE    /* one of the words of `words`, which stand there with ", " between them */
};

bool typed_value_good(enum value_type type, double least, double most, const char *words, const char *text);
/* Which of "auto, steps, device" it is, from 0; -1: none of them. */
int typed_value_place(const char *words, const char *word);

#endif
