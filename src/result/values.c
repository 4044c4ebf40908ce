#include "result/values.h"

#include <stdlib.h>

#include "base/arena.h"

void values_add(struct values *values, double value) {
  values->at = xroom(values->at, values->n, &values->room, sizeof *values->at);
  values->at[values->n++] = value;
}

void values_release(struct values *values) {
  free(values->at);
  *values = (struct values){0};
}
