/* Packages, cores, threads, caches and NUMA nodes, by hwloc. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "executor/probe.h"

static const char *topology_applies(const struct probe_target *target) {
  char line[64];
  bool recorded = target->root->path[0] != 0;
  return !recorded || root_read_line(target->root, "/sys/devices/system/cpu/cpu0/topology/core_id", line, sizeof line)
             ? NULL
             : "the recorded tree holds no topology";
}

static void put_count(const struct probe_target *target, struct fact_list *facts, hwloc_topology_t topology, hwloc_obj_type_t type,
                      const char *key) {
  char text[32];
  int n = hwloc_get_nbobjs_by_type(topology, type);
  (void)snprintf(text, sizeof text, "%d", n);
  if (n > 0) probe_fact(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, key, text, "", "hwloc");
  else probe_missing(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, key, FACT_ABSENT, "none found", "hwloc");
}

static void put_cache(const struct probe_target *target, struct fact_list *facts, hwloc_topology_t topology, hwloc_obj_type_t type,
                      const char *key) {
  hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
  char text[48];
  if (cache == NULL) {
    probe_missing(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, key, FACT_ABSENT, "none found", "hwloc");
    return;
  }
  (void)snprintf(text, sizeof text, "%d x %llu", hwloc_get_nbobjs_by_type(topology, type), (unsigned long long)cache->attr->cache.size);
  probe_fact(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, key, text, "bytes", "hwloc");
}

static void topology_collect(const struct probe_target *target, struct fact_list *facts) {
  hwloc_topology_t topology;
  (void)setenv("HWLOC_HIDE_ERRORS", "2", 1);
  if (target->root->path[0] != 0) { /* hwloc reads a recorded machine as it does this one; the environment is that of this child */
    (void)setenv("HWLOC_FSROOT", target->root->path, 1);
    (void)setenv("HWLOC_COMPONENTS", "linux,stop", 1);
    (void)setenv("HWLOC_THISSYSTEM", "0", 1);
  }
  if (hwloc_topology_init(&topology) != 0) return;
  if (hwloc_topology_load(topology) == 0) {
    put_count(target, facts, topology, HWLOC_OBJ_PACKAGE, "topology.packages");
    put_count(target, facts, topology, HWLOC_OBJ_CORE, "topology.cores");
    put_count(target, facts, topology, HWLOC_OBJ_PU, "topology.threads");
    put_count(target, facts, topology, HWLOC_OBJ_NUMANODE, "topology.numa-nodes");
    put_cache(target, facts, topology, HWLOC_OBJ_L1CACHE, "topology.l1");
    put_cache(target, facts, topology, HWLOC_OBJ_L2CACHE, "topology.l2");
    put_cache(target, facts, topology, HWLOC_OBJ_L3CACHE, "topology.l3");
  } else
    probe_missing(target, facts, LAYER_ACCELERATOR, FACT_IDENTITY, "topology.cores", FACT_UNSUPPORTED,
                  "hwloc cannot load this machine's topology", "hwloc");
  hwloc_topology_destroy(topology);
}

const struct probe probe_topology;
const struct probe probe_topology = {.name = "topology",
                                     .summary = "packages, cores, threads, caches, NUMA nodes",
                                     .reads = "hwloc",
                                     .layer = LAYER_ACCELERATOR,
                                     .applies = topology_applies,
                                     .collect = topology_collect};
