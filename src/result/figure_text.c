#include "result/figure_text.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

void figure_put_value(double value, const char *unit, struct buffer *out) {
  static const struct { const char *unit, *shown; } large[] = {{"bytes/s", "GB/s"}, {"operations/s", "Gop/s"}};
  char text[48];
  for (size_t i = 0; i < LYNX_COUNT(large); i++)
    if (strcmp(unit, large[i].unit) == 0) {
      (void)buffer_printf(out, "%.4g %s", value / 1e9, large[i].shown);
      return;
    }
  if (strcmp(unit, "share") == 0) {
    (void)buffer_printf(out, "%.4g %%", 100 * value);
    return;
  }
  if (strcmp(unit, "ns") == 0) (void)buffer_text(out, number_duration_text(text, sizeof text, value));
  else if (fabs(value) >= 1000 && fabs(value) < 1e12) (void)buffer_text(out, number_grouped(text, sizeof text, value, 0));
  else (void)buffer_printf(out, "%.4g", value);
  if (strcmp(unit, "ns") != 0 && unit[0] != 0) (void)buffer_printf(out, " %s", unit);
}

void figure_put(double value, double low, double high, const char *unit, struct buffer *out) {
  bool is_scaled = strcmp(unit, "ns") == 0 || strcmp(unit, "share") == 0 || strcmp(unit, "bytes/s") == 0 ||
                   strcmp(unit, "operations/s") == 0;
  const char *unit_of_bounds = is_scaled ? unit : "";
  figure_put_value(value, unit, out);
  if (!isfinite(low) || !isfinite(high)) return;
  if (low < 0) { /* too few sessions: nothing that is measured here is below zero */
    (void)buffer_text(out, " (unbounded)");
    return;
  }
  (void)buffer_text(out, " [");
  figure_put_value(low, unit_of_bounds, out);
  (void)buffer_text(out, ", ");
  figure_put_value(high, unit_of_bounds, out);
  (void)buffer_text(out, "]");
}
