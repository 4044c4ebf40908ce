/* measure/arithmetic.h: how many operations a second a processor does in registers: multiply-adds that depend on nothing but themselves.
 * Units    operations: a multiplication and an addition are two, of each element
 * Limits   what this compiler and processor have: on other processors than x86 only vectors of the compiler's own; AMX is not used */
#ifndef MEASURE_ARITHMETIC_H
#define MEASURE_ARITHMETIC_H

#include "base/status.h"

struct arithmetic {
  const char *type;         /* "f32", "f64", "bf16", "int8" */
  const char *instructions; /* "avx512f": what it is done with */
  bool (*can)(void);
  double (*work)(int64_t rounds); /* operations done */
};

/* The widest comes first for each type; ends in an entry without a type. */
extern const struct arithmetic arithmetic_all[];

#endif
