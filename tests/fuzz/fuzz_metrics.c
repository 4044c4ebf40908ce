/* A server's metrics page: no crash, histograms ascend, and a value is a number or none. */
#include <math.h>

#include "telemetry/metrics.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct metrics_histogram h;
  static const char *const names[] = {"vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds", "x"};
  struct bytes page = {(const char *)data, size};
  for (int i = 0; i < METRICS_COUNT; i++) (void)metrics_value(page, (enum metrics_series)i);
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    if (!metrics_histogram(page, names[i], &h)) continue;
    HOLDS(h.n > 0 && h.n <= METRICS_BUCKETS_MAX);
    for (size_t k = 1; k < h.n; k++) HOLDS(h.bound[k] > h.bound[k - 1]);
  }
  return 0;
}
