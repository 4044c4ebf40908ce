/* result/values.h: numbers that are gathered one by one. */
#ifndef RESULT_VALUES_H
#define RESULT_VALUES_H

#include <stddef.h>

struct values {
  double *at;
  size_t n, room;
};

void values_add(struct values *values, double value);
void values_release(struct values *values);

#endif
