/* Which kernels the mapped libraries select on this processor: state, for it follows from what is identity already (library, processor,
 * variables), and not everybody who captures may ask. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/library_ask.h"
#include "executor/probe.h"

enum { MAPS_MAX = 64 << 20, VARIABLES_MAX = 64 };

/* Of one library, and of all: the probe's own deadline is 5 s. */
static const int64_t LIBRARY_NS = 2000000000, ALL_NS = 4000000000;

/* What a process may do, as far as it is reported. */
struct rights {
  char capabilities[40], filter[16], label[200], namespaces[6][64];
  unsigned user, group;
  bool ended; /* a zombie: it has nothing mapped */
};

static bool read_rights(const struct probe_target *target, const char *process, struct rights *ret) {
  static const char *const namespaces[] = {"mnt", "user", "net", "pid", "ipc", "cgroup"};
  char path[64];
  struct buffer text;
  *ret = (struct rights){.user = 0};
  buffer_init(&text, 65536);
  bool good = root_read(target->root, probe_path(path, sizeof path, "/proc/%s/status", process), &text, NULL) == LYNX_OK;
  char state[32];
  ret->ended = good && probe_find_line(text.data, "State", state, sizeof state) && state[0] == 'Z';
  const char *user = good ? strstr(text.data, "\nUid:") : NULL, *group = good ? strstr(text.data, "\nGid:") : NULL;
  good = user != NULL && group != NULL && sscanf(user, " Uid: %*u %u", &ret->user) == 1 &&
         sscanf(group, " Gid: %*u %u", &ret->group) == 1 &&
         probe_find_line(text.data, "CapEff", ret->capabilities, sizeof ret->capabilities);
  if (good && !probe_find_line(text.data, "Seccomp", ret->filter, sizeof ret->filter)) ret->filter[0] = 0;
  buffer_release(&text);
  for (size_t i = 0; i < LYNX_COUNT(namespaces); i++) { /* not every kernel has all of them */
    (void)snprintf(path, sizeof path, "/proc/%s/ns/%s", process, namespaces[i]);
    if (!root_read_link(target->root, path, ret->namespaces[i], sizeof ret->namespaces[i])) ret->namespaces[i][0] = 0;
  }
  if (!root_read_line(target->root, probe_path(path, sizeof path, "/proc/%s/attr/current", process), ret->label, sizeof ret->label))
    ret->label[0] = 0;
  return good && ret->namespaces[0][0] != 0;
}

static bool same_rights(const struct rights *a, const struct rights *b) {
  for (size_t i = 0; i < LYNX_COUNT(a->namespaces); i++)
    if (strcmp(a->namespaces[i], b->namespaces[i]) != 0) return false;
  return a->user == b->user && a->group == b->group && strcmp(a->capabilities, b->capabilities) == 0 && strcmp(a->filter, b->filter) == 0 &&
         strcmp(a->label, b->label) == 0;
}

/* Libraries come from the whole tree of the serving process: each process of it must be one that we could have been. NULL: so it is. */
static const char *why_not_asked(const struct probe_target *target) {
  struct rights ours, theirs;
  char process[32];
  if (!target->ask_libraries)
    return "not asked: `lynxbench capture --ask-libraries`, as the user that serves, loads it to ask it, which runs its code";
  if (geteuid() == 0) return "not asked: libraries that others mapped are never loaded by root; capture as the user that serves";
  if (!read_rights(target, "self", &ours)) return "not asked: what this process may do cannot be read";
  for (size_t i = 0; i < target->n_tree; i++) {
    (void)snprintf(process, sizeof process, "%lld", (long long)target->tree[i]);
    bool known = read_rights(target, process, &theirs);
    if (theirs.ended) continue;
    if (!known) return "not asked: what the serving process may do cannot be read";
    if (!same_rights(&ours, &theirs))
      return "not asked: a serving process has another user, other rights or other namespaces (a container) than this one";
  }
  return NULL;
}

static const char *selection_applies(const struct probe_target *target) {
  char program[PATH_MAX];
  const char *why_not = probe_needs_process(target);
  if (why_not != NULL) return why_not;
  if (target->root->path[0] != 0) return "libraries are asked on this machine only, not on a recorded one";
  if (!root_read_link(target->root, "/proc/self/exe", program, sizeof program) || strcmp(strrchr(program, '/'), "/lynxbench") != 0)
    return "only lynxbench itself asks libraries";
  return NULL;
}

/* Is what lies at the path the file that is mapped? By inode: layered file systems tell two devices. */
static bool is_mapped(const struct probe_target *target, const char *path) {
  struct stat info;
  bool found = false;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  for (size_t i = 0; i < target->n_tree && !found; i++) {
    char maps[64];
    struct buffer text;
    buffer_init(&text, MAPS_MAX);
    if (root_read(target->root, probe_path(maps, sizeof maps, "/proc/%lld/maps", (long long)target->tree[i]), &text, NULL) == LYNX_OK)
      for (char *line = text.data, *next; line != NULL && *line != 0 && !found; line = next) {
        unsigned long long inode;
        int at = 0;
        next = strchr(line, '\n');
        if (next != NULL) *next++ = 0;
        found = sscanf(line, "%*s %*s %*s %*s %llu %n", &inode, &at) == 1 && at > 0 && strcmp(line + at, path) == 0 && inode == info.st_ino;
      }
    buffer_release(&text);
  }
  return found;
}

/* The serving process's variables that steer libraries, and no threads for a question. */
static char **make_environment(const struct fact_list *facts, struct arena *arena) {
  static const char *const steer[] = {"OPENBLAS_", "MKL_", "ONEDNN_", "DNNL_", "BLIS_", "ATEN_", "GGML_"};
  char **list = arena_alloc(arena, VARIABLES_MAX + 4, sizeof *list);
  size_t n = 0;
  list[n++] = arena_copy(arena, "OMP_NUM_THREADS=1");
  list[n++] = arena_copy(arena, "OPENBLAS_NUM_THREADS=1");
  for (size_t i = 0; i < facts->n_items && n < VARIABLES_MAX; i++) {
    const struct fact *fact = &facts->items[i];
    if (strncmp(fact->key, "environment.", 12) != 0 || !fact_is_known(fact) || strstr(fact->key, "NUM_THREADS") != NULL) continue;
    for (size_t k = 0; k < LYNX_COUNT(steer); k++)
      if (strncmp(fact->key + 12, steer[k], strlen(steer[k])) == 0) list[n++] = arena_printf(arena, "%s=%s", fact->key + 12, fact->value);
  }
  return list;
}

struct asked {
  const struct probe_target *target;
  struct fact_list *facts;
  const char *library; /* "library.libdnnl.so" */
};

static void take_answer(void *context, const char *key, const char *answer, const char *call) {
  const struct asked *asked = context;
  char name[330];
  (void)snprintf(name, sizeof name, "%.280s.%s", asked->library, key);
  probe_fact(asked->target, asked->facts, LAYER_RUNTIME, FACT_STATE, name, answer, "", call);
}

static void selection_collect(const struct probe_target *target, struct fact_list *facts) {
  static const char end[] = ".path", source[] = "the mapped file, loaded by a program of its own";
  struct library_request request = {.path = NULL};
  struct arena arena = {0};
  const char *none = why_not_asked(target);
  request.environment = make_environment(facts, &arena);
  int64_t until_ns = clock_now(&clock_system) + ALL_NS;
  for (size_t i = 0, n = facts->n_items; i < n; i++) {
    const char *key = facts->items[i].key;
    char library[300], name[330], room[LIBRARY_ANSWER_MAX];
    size_t length = strlen(key);
    if (strncmp(key, "library.", 8) != 0 || length < sizeof end || strcmp(key + length - strlen(end), end) != 0) continue;
    (void)snprintf(library, sizeof library, "%.*s", (int)(length - strlen(end)), key);
    request.path = facts->items[i].value;
    if (!library_is_askable(strrchr(request.path, '/') != NULL ? strrchr(request.path, '/') + 1 : request.path)) continue;
    int64_t left = until_ns - clock_now(&clock_system);
    request.deadline_ns = left < LIBRARY_NS ? left : LIBRARY_NS;
    struct asked asked = {target, facts, library};
    const char *why_not = none != NULL                       ? none
                          : !is_mapped(target, request.path) ? "what lies there is not the file that was mapped, which was replaced"
                          : left <= 0                        ? "the libraries before it took the time that there is"
                                                             : library_ask(&request, take_answer, &asked, room);
    (void)snprintf(name, sizeof name, "%.280s.selects", library);
    if (why_not != NULL) probe_missing(target, facts, LAYER_RUNTIME, FACT_STATE, name, FACT_UNSUPPORTED, why_not, source);
  }
  arena_release(&arena);
}

const struct probe probe_selection;
const struct probe probe_selection = {.name = "selection",
                                      .summary = "which kernels libraries select on this processor, where they can be asked",
                                      .reads = "the mapped libraries, loaded by a program of its own",
                                      .stage = 2,
                                      .layer = LAYER_RUNTIME,
                                      .applies = selection_applies,
                                      .collect = selection_collect};
