#include "report/percent.h"

#include <math.h>

#include "stats/special.h"

void put_percent(struct buffer *out, double ln, double low, double high) {
  if (isfinite(ln)) (void)buffer_printf(out, "%+.1f %%", special_percent(ln));
  else (void)buffer_text(out, "not measured");
  if (isfinite(low) && isfinite(high)) (void)buffer_printf(out, " [%+.1f, %+.1f]", special_percent(low), special_percent(high));
}
