#include "telemetry/control_group.h"

#include <stdio.h>
#include <string.h>

/* "0::/path" (version 2), or "4:cpu,cpuacct:/path" (version 1). */
static bool read_line(char *line, const char *controller, struct control_group *ret) {
  char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
  if (group == NULL || strstr(group, "/../") != NULL) return false;
  size_t path = strlen(group);
  if (path >= 3 && strcmp(group + path - 3, "/..") == 0) return false;
  size_t length = strlen(controller), one = 0;
  bool named = false;
  for (const char *at = controllers + 1; at < group && !named; at += one + 1) {
    one = strcspn(at, ",:");
    named = one == length && memcmp(at, controller, length) == 0;
  }
  ret->unified = controllers[1] == ':';
  (void)snprintf(ret->path, sizeof ret->path, "/sys/fs/cgroup%s%s%.400s", ret->unified ? "" : "/", ret->unified ? "" : controller,
                 group + 1);
  return ret->unified || named;
}

bool control_group_find(const struct root *root, int64_t pid, const char *controller,
                        bool (*take)(void *context, const struct control_group *group), void *context) {
  char path[64];
  struct buffer text;
  struct control_group group;
  bool taken = false;
  (void)snprintf(path, sizeof path, "/proc/%lld/cgroup", (long long)pid);
  buffer_init(&text, 65536);
  if (root_read(root, path, &text, NULL) == LYNX_OK) {
    char *rest = text.data;
    for (char *line = strtok_r(text.data, "\n", &rest); line != NULL && !taken; line = strtok_r(NULL, "\n", &rest))
      taken = read_line(line, controller, &group) && take(context, &group);
  }
  buffer_release(&text);
  return taken;
}
