#include "result/machine_figures.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

enum { RECORD_MAX = 65536 };
static const double value_most = 1e30;

static const struct {
  const char *recorded, *recorded_unit, *name, *unit;
  bool more_is_better;
  double factor;
} wanted[MACHINE_SPEED_FIGURES] = {
    {"memory.triad", "bytes/s", "machine: memory bandwidth", "bytes/s", true, 1},
    {"arithmetic.f32", "operations/s", "machine: arithmetic, f32", "operations/s", true, 1},
    {"wake_up.thread", "s", "machine: waking a thread", "ns", false, 1e9},
};

static double value_of(const json_t *record, const char *name, const char *unit) {
  const json_t *figures = json_object_get(record, "figures");
  for (size_t i = 0; i < json_array_size(figures); i++) {
    const json_t *one = json_array_get(figures, i);
    double value = json_get_double(one, "value", NAN);
    if (strcmp(json_get_text(one, "name", ""), name) == 0 && strcmp(json_get_text(one, "unit", ""), unit) == 0)
      return value > 0 && value < value_most ? value : NAN;
  }
  return NAN;
}

size_t machine_speed_read(const char *before, const char *after, struct machine_speed ret[MACHINE_SPEED_FIGURES]) {
  struct lynx_error error = {0};
  json_t *first = json_parse(before, strlen(before), RECORD_MAX, &error), *last = json_parse(after, strlen(after), RECORD_MAX, &error);
  size_t n = 0;
  for (size_t i = 0; i < MACHINE_SPEED_FIGURES; i++) {
    double a = value_of(first, wanted[i].recorded, wanted[i].recorded_unit),
           b = value_of(last, wanted[i].recorded, wanted[i].recorded_unit);
    if (isnan(a) || isnan(b)) continue;
    ret[n++] = (struct machine_speed){wanted[i].name, wanted[i].unit, wanted[i].more_is_better, a * wanted[i].factor, b * wanted[i].factor};
  }
  json_decref(first);
  json_decref(last);
  return n;
}
