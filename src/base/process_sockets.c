#include "base/process_sockets.h"

#include <stdio.h>

enum { DESCRIPTORS_MAX = 65536 };

struct listing {
  const struct root *root;
  char folder[64];
  unsigned long long *inodes;
  size_t n, most;
};

static void take_descriptor(void *context, const char *name) {
  struct listing *l = context;
  char path[128], target[128];
  (void)snprintf(path, sizeof path, "%s/%.20s", l->folder, name);
  if (l->n < l->most && root_read_link(l->root, path, target, sizeof target) && sscanf(target, "socket:[%llu]", &l->inodes[l->n]) == 1)
    l->n++;
}

size_t process_sockets(const struct root *root, int64_t pid, unsigned long long *inodes, size_t n, size_t most) {
  struct listing l = {.root = root, .inodes = inodes, .n = n, .most = most};
  (void)snprintf(l.folder, sizeof l.folder, "/proc/%lld/fd", (long long)pid);
  (void)root_list(root, l.folder, DESCRIPTORS_MAX, take_descriptor, &l);
  return l.n;
}
