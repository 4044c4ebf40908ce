#include "telemetry/mappings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void mappings_read(const struct root *root, int64_t process, struct mappings *m) {
  char path[64];
  *m = (struct mappings){.n = 0};
  buffer_init(&m->text, MAPPINGS_BYTES_MAX);
  (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)process);
  if (root_read(root, path, &m->text, NULL) != LYNX_OK) return;
  char *rest = m->text.data;
  for (char *line = strtok_r(m->text.data, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    unsigned long long from, to, offset;
    char rights[8];
    int at = 0;
    if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &from, &to, rights, &offset, &at) < 4 || at == 0 || strchr(rights, 'x') == NULL)
      continue;
    m->items = xroom(m->items, m->n, &m->room, sizeof *m->items);
    m->items[m->n++] = (struct mapping){from, to, offset, line + at};
  }
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t address) {
  for (size_t low = 0, high = m->n; low < high;) {
    size_t middle = low + (high - low) / 2;
    const struct mapping *one = &m->items[middle];
    if (address >= one->to) low = middle + 1;
    else if (address < one->from) high = middle;
    else return one;
  }
  return NULL; /* the process ended, or unmapped it */
}

void mappings_release(struct mappings *m) {
  buffer_release(&m->text);
  free(m->items);
}
