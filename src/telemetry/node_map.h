/* telemetry/node_map.h: on which NUMA node each processor is, by /sys/devices/system/node/nodeN/cpulist.
 * Limits   NODES_MAX nodes, NODE_PROCESSORS_MAX processors; of others nothing is said */
#ifndef TELEMETRY_NODE_MAP_H
#define TELEMETRY_NODE_MAP_H

#include "base/root.h"

enum { NODES_MAX = 64, NODE_PROCESSORS_MAX = 4096 };

struct node_map {
  size_t n;                                 /* nodes that have processors */
  signed char node_of[NODE_PROCESSORS_MAX]; /* -1: not told */
};

void node_map_read(const struct root *root, struct node_map *ret);
int node_map_of(const struct node_map *map, int64_t processor); /* -1: not told */

#endif
