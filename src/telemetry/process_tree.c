#include "telemetry/process_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { DESCRIPTORS_MAX = 16384 };

struct walk {
  const struct root *root;
  struct process_tree *tree;
  size_t at;
};

static void take_thread(void *context, const char *thread) {
  struct walk *w = context;
  char path[160], line[4096], *word = line, *end;
  (void)snprintf(path, sizeof path, "/proc/%lld/task/%.60s/children", (long long)w->tree->pids[w->at], thread);
  if (!root_read_line(w->root, path, line, sizeof line)) return;
  for (long long child = strtoll(word, &end, 10); end != word && w->tree->n < PROCESS_TREE_MAX; child = strtoll(word, &end, 10)) {
    if (child > 0) w->tree->pids[w->tree->n++] = child;
    word = end;
  }
}

void process_threads(const struct root *root, int64_t pid, void (*visit)(void *context, const char *thread), void *context) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
  (void)root_list(root, path, THREADS_MAX, visit, context);
}

void process_tree_read(const struct root *root, int64_t pid, struct process_tree *ret) {
  struct walk walk = {.root = root, .tree = ret};
  ret->n = 0;
  if (pid <= 0) return;
  ret->pids[ret->n++] = pid;
  for (; walk.at < ret->n; walk.at++) process_threads(root, ret->pids[walk.at], take_thread, &walk);
}

struct device_search {
  const struct root *root;
  const char *prefix;
  int limit;
  int64_t pid;
  void (*visit)(void *context, int number);
  void *context;
};

static void take_descriptor(void *context, const char *name) {
  const struct device_search *s = context;
  char path[128], target[128];
  int64_t number;
  size_t length = strlen(s->prefix);
  (void)snprintf(path, sizeof path, "/proc/%lld/fd/%.20s", (long long)s->pid, name);
  if (root_read_link(s->root, path, target, sizeof target) && strncmp(target, s->prefix, length) == 0 &&
      number_int64(target + length, strlen(target + length), &number) && number >= 0 && number < s->limit)
    s->visit(s->context, (int)number);
}

void process_tree_devices(const struct root *root, const struct process_tree *tree, const char *prefix, int limit,
                          void (*visit)(void *context, int number), void *context) {
  struct device_search search = {.root = root, .prefix = prefix, .limit = limit, .visit = visit, .context = context};
  for (size_t i = 0; i < tree->n; i++) {
    char path[96];
    search.pid = tree->pids[i];
    (void)snprintf(path, sizeof path, "/proc/%lld/fd", (long long)search.pid);
    (void)root_list(root, path, DESCRIPTORS_MAX, take_descriptor, &search);
  }
}

bool process_tree_holds(const struct process_tree *tree, int64_t pid) {
  for (size_t i = 0; i < tree->n; i++)
    if (tree->pids[i] == pid) return true;
  return false;
}

bool process_read_bytes(const struct root *root, const char *path, unsigned long long *ret) {
  struct buffer text;
  buffer_init(&text, 4096);
  const char *at = root_read(root, path, &text, NULL) == LYNX_OK ? strstr(text.data, "\nread_bytes: ") : NULL;
  if (at != NULL) *ret = strtoull(at + 13, NULL, 10);
  buffer_release(&text);
  return at != NULL;
}

bool process_tree_read_bytes(const struct root *root, const struct process_tree *tree, unsigned long long *ret) {
  bool told = false;
  *ret = 0;
  for (size_t i = 0; i < tree->n; i++) {
    char path[64];
    unsigned long long bytes;
    (void)snprintf(path, sizeof path, "/proc/%lld/io", (long long)tree->pids[i]);
    if (!process_read_bytes(root, path, &bytes)) continue;
    *ret += bytes;
    told = true;
  }
  return told;
}

bool process_stat_read(const struct root *root, const char *path, struct process_stat *ret) {
  struct buffer text;
  int processor = -1, n = 0;
  buffer_init(&text, 4096);
  const char *line = root_read(root, path, &text, NULL) == LYNX_OK ? text.data : "";
  const char *from = strchr(line, '('), *after = strrchr(line, ')'); /* the name between may hold anything, a line's end too */
  if (from != NULL && after != NULL && after > from) {
    *ret = (struct process_stat){.processor = -1};
    (void)text_sanitise(ret->name, sizeof ret->name, from + 1, (size_t)(after - from) - 1);
    long long parent = 0, terminal = 0;
    unsigned long long ended[2] = {0};
    /* state, parent, the terminal as the 7th of all, faults as the 10th and 12th, user and system time as the 14th and 15th, the start as
     * the 22nd, the processor as the 39th */
    n = sscanf(
        after + 1,
        " %c %lld %*d %*d %lld %*d %*u %llu %*u %llu %*u %llu %llu %llu %llu %*d %*d %*d %*d %llu %*u %*d %*u %*u %*u %*u %*u %*u %*u "
        "%*u %*u %*u %*u %*u %*u %*d %d",
        &ret->state, &parent, &terminal, &ret->minor_faults, &ret->major_faults, &ret->user_ticks, &ret->system_ticks, &ended[0], &ended[1],
        &ret->started_ticks, &processor);
    ret->ended_ticks = ended[0] + ended[1];
    ret->parent = parent;
    ret->terminal = terminal;
    if (n >= 11) ret->processor = processor;
  }
  buffer_release(&text);
  return n >= 7;
}

bool process_read(const struct root *root, int64_t pid, struct process_stat *ret) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  return process_stat_read(root, path, ret);
}

bool machine_ticks_read(const struct root *root, struct machine_ticks *ret) {
  char line[512];
  unsigned long long t[8];
  if (!root_read_line(root, "/proc/stat", line, sizeof line)) return false;
  if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
    return false;
  *ret = (struct machine_ticks){.steal = t[7]};
  for (int i = 0; i < 8; i++) ret->total += t[i];
  ret->busy = ret->total - t[3] - t[4];
  return true;
}

/* What follows "NAME:" in /proc/PID/status, to the line's end; NULL: it is not there. Within the text, which the caller releases. */
static char *status_field(const struct root *root, int64_t pid, const char *name, struct buffer *text) {
  char path[64];
  buffer_init(text, 65536);
  (void)snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
  char *line = root_read(root, path, text, NULL) == LYNX_OK && text->data != NULL ? strstr(text->data, name) : NULL;
  if (line == NULL) return NULL;
  line += strlen(name);
  line[strcspn(line, "\n")] = 0;
  return line;
}

int64_t process_inner_pid(const struct root *root, int64_t pid) {
  struct buffer text;
  const char *numbers = status_field(root, pid, "\nNSpid:", &text), *last = numbers != NULL ? strrchr(numbers, '\t') : NULL;
  int64_t inner = last != NULL ? strtoll(last, NULL, 10) : 0;
  buffer_release(&text);
  return inner > 0 ? inner : pid;
}

int64_t process_user(const struct root *root, int64_t pid) {
  struct buffer text;
  long long id[4] = {0};
  const char *numbers = status_field(root, pid, "\nUid:", &text);
  bool good = numbers != NULL && sscanf(numbers, "%lld %lld %lld %lld", &id[0], &id[1], &id[2], &id[3]) == 4;
  buffer_release(&text);
  return good && id[0] == id[1] && id[0] == id[2] && id[0] == id[3] ? id[0] : -1;
}
