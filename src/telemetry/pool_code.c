#include "telemetry/pool_code.h"

#include <string.h>

#include "base/layer.h"
#include "telemetry/mappings.h"

static void forget(struct pool_code *code, int64_t process) {
  size_t n = 0;
  for (size_t i = 0; i < code->n; i++)
    if (code->ranges[i].process != process) code->ranges[n++] = code->ranges[i];
  code->n = n;
}

void pool_code_read(const struct root *root, int64_t process, struct pool_code *code) {
  struct mappings maps;
  forget(code, process);
  mappings_read(root, process, &maps);
  for (size_t i = 0; i < maps.n && code->n < POOL_CODE_MAX; i++) {
    const char *slash = strrchr(maps.items[i].path, '/');
    if (slash != NULL && library_is_openmp(slash + 1))
      code->ranges[code->n++] = (struct pool_range){process, maps.items[i].from, maps.items[i].to};
  }
  mappings_release(&maps);
}

bool pool_code_holds(const struct pool_code *code, int64_t process, unsigned long long at) {
  for (size_t i = 0; i < code->n; i++)
    if (code->ranges[i].process == process && at >= code->ranges[i].from && at < code->ranges[i].to) return true;
  return false;
}
