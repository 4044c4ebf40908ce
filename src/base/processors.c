#include "base/processors.h"

#include <string.h>

#include "base/number.h"

static bool read_number(const char *text, size_t length, int64_t *ret) {
  return number_int64(text, length, ret) && *ret >= 0 && *ret < CPU_SETSIZE;
}

enum lynx_status processors_parse(const char *text, cpu_set_t *ret, struct lynx_error *error) {
  CPU_ZERO(ret);
  for (const char *p = text;; p++) {
    size_t n = strcspn(p, ",");
    const char *dash = memchr(p, '-', n);
    int64_t from = 0, to = 0;
    bool good = dash != NULL
                    ? read_number(p, (size_t)(dash - p), &from) && read_number(dash + 1, n - (size_t)(dash + 1 - p), &to) && from <= to
                    : read_number(p, n, &from);
    if (!good) return lynx_fail(error, LYNX_INPUT, "'%.60s' where processors are expected, such as 0,2-3", text);
    if (dash == NULL) to = from;
    for (int64_t i = from; i <= to; i++) CPU_SET((size_t)i, ret);
    p += n;
    if (*p == 0) return LYNX_OK;
  }
}
