/* The limits put on the serving process (or, where it is not seen, on us): cgroup version 1 or 2. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "executor/probe.h"

static const char *container_applies(const struct probe_target *target) {
  char line[256];
  return root_read_line(target->root, "/proc/self/cgroup", line, sizeof line) ||
                 root_read_line(target->root, "/proc/1/cgroup", line, sizeof line)
             ? NULL
             : "this kernel has no cgroups";
}

/* A limit of version 2 as a number that can be compared: "max" is none; "QUOTA PERIOD" their ratio. */
static double limit_v2(const char *text) {
  double a = HUGE_VAL, b = 1;
  if (strncmp(text, "max", 3) == 0 || sscanf(text, "%lf %lf", &a, &b) < 1) return HUGE_VAL;
  return b > 0 ? a / b : a;
}

/* What holds for a group is the tightest limit on the way up: a pod's limit binds its containers, which may say "max" themselves. */
static void put_v2_limit(const struct probe_target *target, struct fact_list *facts, const char *group, const char *file, const char *key) {
  char at[400], path[600], tightest[600] = "", line[128];
  double least = HUGE_VAL;
  (void)snprintf(at, sizeof at, "%s", strcmp(group, "/") == 0 ? "" : group);
  for (;;) {
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", at, file);
    bool known = root_read_line(target->root, path, line, sizeof line);
    if (tightest[0] == 0 || (known && limit_v2(line) < least)) (void)snprintf(tightest, sizeof tightest, "%s", path);
    if (known && limit_v2(line) < least) least = limit_v2(line);
    char *slash = strrchr(at, '/');
    if (slash == NULL) break;
    *slash = 0;
  }
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, key, tightest, "");
}

static void collect_v2(const struct probe_target *target, struct fact_list *facts, const char *group) {
  static const char *const limits[][2] = {{"cpu.max", "cgroup.cpu-max"},
                                          {"memory.max", "cgroup.memory-max"},
                                          {"memory.high", "cgroup.memory-high"},
                                          {"pids.max", "cgroup.pids-max"}};
  for (size_t i = 0; i < LYNX_COUNT(limits); i++) put_v2_limit(target, facts, group, limits[i][0], limits[i][1]);
  static const struct {
    const char *file, *key;
    enum fact_kind kind;
  } files[] = {{"cpu.weight", "cgroup.cpu-weight", FACT_IDENTITY},
               {"cpuset.cpus.effective", "cgroup.cpus", FACT_IDENTITY},
               {"memory.current", "cgroup.memory-current", FACT_STATE}};
  for (size_t i = 0; i < LYNX_COUNT(files); i++) {
    char path[600];
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", strcmp(group, "/") == 0 ? "" : group, files[i].file);
    probe_file(target, facts, LAYER_SYSTEM, files[i].kind, files[i].key, path, "");
  }
}

/* "4:cpu,cpuacct:/pod/x" -> "/pod/x"; "" where the controller is not there, or its group is not visible below this mount. */
static void group_v1(const char *text, const char *controller, char *group, size_t size) {
  group[0] = 0;
  for (const char *line = text; line != NULL && *line != 0; line = strchr(line, '\n')) {
    if (*line == '\n' && *++line == 0) break;
    const char *names = strchr(line, ':'), *path = names != NULL ? strchr(names + 1, ':') : NULL;
    if (path == NULL) continue;
    char list[200];
    (void)snprintf(list, sizeof list, ",%.*s,", (int)(path - names - 1 > 150 ? 150 : path - names - 1), names + 1);
    if (strstr(list, controller) == NULL) continue;
    text_sanitise(group, size, path + 1, strcspn(path + 1, "\n"));
    if (strcmp(group, "/") == 0 || strstr(group, "..") != NULL) group[0] = 0;
    return;
  }
}

static void put_v1(const struct probe_target *target, struct fact_list *facts, const char *text, const char *controller, const char *folder,
                   const char *file, const char *key, const char *unit) {
  char group[300], path[500], line[64];
  group_v1(text, controller, group, sizeof group);
  (void)snprintf(path, sizeof path, "/sys/fs/cgroup/%s%s/%s", folder, group, file);
  if (!root_read_line(target->root, path, line, sizeof line))
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", folder, file); /* a container sees its own group as the root */
  probe_file(target, facts, LAYER_SYSTEM, FACT_IDENTITY, key, path, unit);
}

static void collect_v1(const struct probe_target *target, struct fact_list *facts, const char *text) {
  put_v1(target, facts, text, ",cpu,", "cpu", "cpu.cfs_quota_us", "cgroup.cpu-quota", "us");
  put_v1(target, facts, text, ",cpu,", "cpu", "cpu.cfs_period_us", "cgroup.cpu-period", "us");
  put_v1(target, facts, text, ",memory,", "memory", "memory.limit_in_bytes", "cgroup.memory-max", "bytes");
  put_v1(target, facts, text, ",cpuset,", "cpuset", "cpuset.cpus", "cgroup.cpus", "");
}

static void container_collect(const struct probe_target *target, struct fact_list *facts) {
  char path[64], group[400] = "/";
  struct buffer text;
  (void)snprintf(path, sizeof path, target->pid > 0 ? "/proc/%lld/cgroup" : "/proc/self/cgroup", (long long)target->pid);
  buffer_init(&text, 65536);
  bool read = root_read(target->root, path, &text, NULL) == LYNX_OK;
  /* Version 2 is the line "0::/path"; a machine with both uses it for naming only. */
  const char *v2 = read ? strstr(text.data, "0::") : NULL;
  bool unified = v2 != NULL && strchr(text.data, '\n') != NULL && strncmp(text.data, "0::", 3) == 0;
  if (unified) text_sanitise(group, sizeof group, v2 + 3, strcspn(v2 + 3, "\n"));
  bool escapes = strstr(group, "..") != NULL; /* the process lives outside of the part of the tree that we see */
  if (unified && escapes)
    probe_missing(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "hole.cgroup", FACT_UNSUPPORTED,
                  "the serving process's control group lies outside of what is visible from here: its limits are not captured", path);
  probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "cgroup.version", unified ? "2" : "1", "", path);
  if (unified && !escapes) collect_v2(target, facts, group);
  else if (!unified) collect_v1(target, facts, read ? text.data : "");
  /* Names by which the runtime knows it: the pod or container of this start, not what it is. */
  if (read && (strstr(group, "kubepods") != NULL || strstr(group, "docker") != NULL || strstr(group, "libpod") != NULL ||
               strstr(group, "crio") != NULL))
    probe_fact(target, facts, LAYER_SYSTEM, FACT_CONTEXT, "container.group", group, "", path);
  /* These leave no mark in the root, but in the group's name, where it is not hidden by a namespace. */
  const char *named = read ? text.data : "", *by_group = strstr(named, "cri-containerd") != NULL ? "containerd"
                                                         : strstr(named, "crio-") != NULL        ? "cri-o"
                                                         : strstr(named, "kubepods") != NULL     ? "a pod's, of an unknown runtime"
                                                                                                 : NULL;
  buffer_release(&text);
  char marks[2][64]; /* of the process's own root */
  if (target->pid > 0) {
    (void)snprintf(marks[0], sizeof marks[0], "/proc/%lld/root/.dockerenv", (long long)target->pid);
    (void)snprintf(marks[1], sizeof marks[1], "/proc/%lld/root/run/.containerenv", (long long)target->pid);
  } else {
    (void)snprintf(marks[0], sizeof marks[0], "/.dockerenv");
    (void)snprintf(marks[1], sizeof marks[1], "/run/.containerenv");
  }
  char ignored[64];
  bool docker = root_read_line(target->root, marks[0], ignored, sizeof ignored),
       podman = root_read_line(target->root, marks[1], ignored, sizeof ignored);
  probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "container.kind",
             docker             ? "docker"
             : podman           ? "podman"
             : by_group != NULL ? by_group
                                : "none seen",
             "", "/.dockerenv, /run/.containerenv, the control group's name");
  if (docker || podman || by_group != NULL)
    probe_missing(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "container.image", FACT_UNSUPPORTED,
                  "an image's digest cannot be seen from inside: declare it as system.container.image", "capture");
}

const struct probe probe_container;
const struct probe probe_container = {.name = "container",
                                      .summary = "cgroup limits and the kind of container",
                                      .reads = "/proc/PID/cgroup, /sys/fs/cgroup",
                                      .layer = LAYER_SYSTEM,
                                      .applies = container_applies,
                                      .collect = container_collect};
