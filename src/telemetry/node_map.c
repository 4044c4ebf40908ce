#include "telemetry/node_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "0-3,8,10-11" */
static bool take_list(struct node_map *map, int node, char *line) {
  char *rest = line;
  bool some = false;
  for (const char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
    char *end;
    long from = strtol(word, &end, 10), to = *end == '-' ? strtol(end + 1, NULL, 10) : from;
    if (end == word || from < 0) continue;
    for (long i = from; i <= to && i < NODE_PROCESSORS_MAX; i++) {
      map->node_of[i] = (signed char)node;
      some = true;
    }
  }
  return some;
}

void node_map_read(const struct root *root, struct node_map *ret) {
  ret->n = 0;
  (void)memset(ret->node_of, -1, sizeof ret->node_of);
  for (int node = 0; node < NODES_MAX; node++) {
    char path[80], line[4096];
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    if (root_read_line(root, path, line, sizeof line)) ret->n += take_list(ret, node, line);
  }
}

int node_map_of(const struct node_map *map, int64_t processor) {
  return processor >= 0 && processor < NODE_PROCESSORS_MAX ? map->node_of[processor] : -1;
}
