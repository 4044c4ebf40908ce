/* Every library that the serving processes have mapped: its file, version, build id, digest; each on its layer. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/elf_file.h"
#include "executor/file_digest.h"
#include "executor/layer_map.h"
#include "executor/probe.h"

enum { MAPS_MAX = 64 << 20, LIBRARIES_MAX = 4000 };

/* Without a build id a library is known by its digest, up to this size. */
static const int64_t DIGEST_BUDGET = 256 << 20;

struct library {
  const char *path;
  int64_t pid; /* a process that has it mapped */
  bool deleted;
};

struct libraries {
  struct arena arena;
  struct library *items;
  size_t n;
};

/* "libdnnl.so.2.6" -> name "libdnnl.so", version "2.6"; "libfoo-1.2.so" -> "libfoo.so", "1.2". */
static void split_version(const char *file, char *name, size_t size, char *version, size_t version_size) {
  const char *so = strstr(file, ".so");
  version[0] = 0;
  if (so == NULL) {
    (void)snprintf(name, size, "%s", file);
    return;
  }
  (void)snprintf(name, size, "%.*s", (int)(so - file) + 3, file);
  if (so[3] == '.') (void)snprintf(version, version_size, "%s", so + 4);
  char *dash = strrchr(name, '-');
  if (version[0] == 0 && dash != NULL && dash[1] >= '0' && dash[1] <= '9') {
    (void)snprintf(version, version_size, "%.*s", (int)(strlen(dash + 1) - 3), dash + 1);
    (void)snprintf(dash, size - (size_t)(dash - name), ".so");
  }
}

static void add_library(const struct probe_target *target, struct fact_list *facts, const struct library *library) {
  char inner[PATH_MAX + 64], link[64], real[PATH_MAX], name[256], version[128], key[300], build_id[130] = "", digest[DIGEST_HEX] = "";
  int64_t budget = DIGEST_BUDGET;
  /* Through the process's own root, so that a library inside a container is the one that is read. */
  (void)probe_path(inner, sizeof inner, "/proc/%lld/root%s", (long long)library->pid, library->path);
  int fd = library->deleted ? -1 : root_open(target->root, inner);
  bool has_id = fd >= 0 && elf_build_id(fd, build_id, sizeof build_id);
  /* What the file is really called: "libdnnl.so.2" may be a link to "libdnnl.so.2.6". */
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const char *file = strrchr(library->path, '/') + 1;
  ssize_t length = fd >= 0 ? readlink(link, real, sizeof real - 1) : -1;
  if (length > 0) {
    real[length] = 0;
    if (strrchr(real, '/') != NULL) file = strrchr(real, '/') + 1;
  }
  split_version(file, name, sizeof name, version, sizeof version);
  enum layer layer = LAYER_FRAMEWORK; /* a dependency, where nothing more is known */
  (void)layer_of_library(name, &layer);
  (void)snprintf(key, sizeof key, "library.%.250s", name);
  /* Two of one name in one executor (two OpenMP runtimes, say) are two facts, and worth knowing. */
  for (int i = 2; fact_find(facts, key) != NULL && i < 100; i++) (void)snprintf(key, sizeof key, "library.%.250s.%d", name, i);
  if (has_id || fd < 0 || !file_digest(fd, &budget, digest)) digest[0] = 0;
  if (fd >= 0) (void)close(fd);
  probe_printf(target, facts, layer, FACT_IDENTITY, "/proc/PID/maps, ELF note", key, "%s%s%s%s%s%s", version[0] != 0 ? "version " : "",
               version, version[0] != 0 ? "; " : "",
               has_id           ? "build id "
               : digest[0] != 0 ? "SHA-256 "
               : fd < 0         ? "not readable"
                                : "no build id, and too large for a digest",
               has_id ? build_id : digest, library->deleted ? "; the file was replaced after it was mapped" : "");
  /* The same build in another place is the same library; where it lies tells whether it is the system's or a wheel's. */
  (void)snprintf(key + strlen(key), sizeof key - strlen(key), ".path");
  probe_fact(target, facts, layer, FACT_CONTEXT, key, library->path, "", "/proc/PID/maps");
}

static bool is_known(const struct libraries *list, const char *path) {
  for (size_t i = 0; i < list->n; i++)
    if (strcmp(list->items[i].path, path) == 0) return true;
  return false;
}

/* Executable mappings of files, one line each: "address rights offset device inode path". */
static bool read_maps(const struct probe_target *target, int64_t pid, struct libraries *list) {
  char path[64];
  struct buffer text;
  buffer_init(&text, MAPS_MAX);
  (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
  bool read = root_read(target->root, path, &text, NULL) == LYNX_OK;
  for (char *line = text.data, *next; read && line != NULL && *line != 0; line = next) {
    char rights[8], file[PATH_MAX];
    next = strchr(line, '\n');
    if (next != NULL) *next++ = 0;
    if (sscanf(line, "%*s %7s %*s %*s %*s %4095[^\n]", rights, file) != 2 || rights[2] != 'x' || file[0] != '/') continue;
    char *mark = strstr(file, " (deleted)");
    if (mark != NULL) *mark = 0;
    if (strstr(file, ".so") == NULL || list->n >= LIBRARIES_MAX || (list->n > 0 && strcmp(list->items[list->n - 1].path, file) == 0))
      continue;
    if (is_known(list, file)) continue;
    list->items[list->n++] = (struct library){arena_copy(&list->arena, file), pid, mark != NULL};
  }
  buffer_release(&text);
  return read;
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(((const struct library *)a)->path, ((const struct library *)b)->path);
}

static void libraries_collect(const struct probe_target *target, struct fact_list *facts) {
  struct libraries list = {.items = xalloc(LIBRARIES_MAX, sizeof *list.items)};
  size_t n_read = 0;
  for (size_t i = 0; i < target->n_tree; i++) n_read += read_maps(target, target->tree[i], &list);
  if (n_read == 0)
    probe_missing(target, facts, LAYER_RUNTIME, FACT_IDENTITY, "hole.libraries", FACT_DENIED,
                  "the serving process's mapped libraries may not be read (another user's process): run as that user or as root",
                  "/proc/PID/maps");
  /* By path: where a library lies in memory is another place every time. */
  if (list.n > 0) qsort(list.items, list.n, sizeof *list.items, compare_paths);
  for (size_t i = 0; i < list.n; i++) add_library(target, facts, &list.items[i]);
  if (n_read > 0 && list.n == 0)
    probe_fact(target, facts, LAYER_RUNTIME, FACT_IDENTITY, "library", "none: a static program, or one that has ended", "",
               "/proc/PID/maps");
  free(list.items);
  arena_release(&list.arena);
}

const struct probe probe_libraries;
const struct probe probe_libraries = {.name = "libraries",
                                      .summary = "every mapped library of the serving processes: version, build id, digest",
                                      .reads = "/proc/PID/maps, ELF files",
                                      .stage = 1,
                                      .layer = LAYER_RUNTIME,
                                      .applies = probe_needs_process,
                                      .collect = libraries_collect};
