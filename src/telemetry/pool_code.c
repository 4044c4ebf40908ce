#include "telemetry/pool_code.h"

#include <stdio.h>
#include <string.h>

#include "base/layer.h"

enum { MAPS_MAX = 4 << 20 };

static void forget(struct pool_code *code, int64_t process) {
  size_t n = 0;
  for (size_t i = 0; i < code->n; i++)
    if (code->ranges[i].process != process) code->ranges[n++] = code->ranges[i];
  code->n = n;
}

void pool_code_read(const struct root *root, int64_t process, struct pool_code *code) {
  char path[64];
  struct buffer maps;
  forget(code, process);
  buffer_init(&maps, MAPS_MAX);
  (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)process);
  if (root_read(root, path, &maps, NULL) == LYNX_OK)
    for (char *line = maps.data, *next; line != NULL && *line != 0; line = next) {
      struct pool_range found = {.process = process};
      char rights[8];
      next = strchr(line, '\n');
      if (next != NULL) *next++ = 0;
      const char *file = strrchr(line, '/');
      if (file == NULL || !library_is_openmp(file + 1) || sscanf(line, "%llx-%llx %7s", &found.from, &found.to, rights) != 3) continue;
      if (strchr(rights, 'x') != NULL && code->n < POOL_CODE_MAX) code->ranges[code->n++] = found;
    }
  buffer_release(&maps);
}

bool pool_code_holds(const struct pool_code *code, int64_t process, unsigned long long at) {
  for (size_t i = 0; i < code->n; i++)
    if (code->ranges[i].process == process && at >= code->ranges[i].from && at < code->ranges[i].to) return true;
  return false;
}
