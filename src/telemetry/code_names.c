#include "telemetry/code_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "telemetry/elf_symbols.h"
#include "telemetry/mappings.h"
#include "telemetry/process_tree.h"

enum { MADE_MAX = 64 << 20, NAMED_MOST = 20000000 };
#define NAMING_NS INT64_C(10000000000) /* what files name after that stays without a name */

/* Of the addresses in one file, of all its mappings: what its symbol tables call them. */
struct naming {
  struct arena *arena;
  struct code_name *names;
  const struct in_file {
    uint64_t offset;
    size_t i; /* of the addresses */
  } * places;
};

static void take_name(void *context, size_t i, const char *name) {
  const struct naming *naming = context;
  naming->names[naming->places[i].i].function = arena_copy(naming->arena, name);
}

static int by_offset(const void *a, const void *b) {
  const struct in_file *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The file as the process itself sees it; once, however often it is mapped. */
static void name_in_file(const struct root *root, uint32_t process, const char *file, struct in_file *places, size_t n, int64_t deadline_ns,
                         struct arena *arena, struct code_name *names) {
  char path[4200];
  const struct naming naming = {arena, names, places};
  if (file[0] != '/' || strlen(file) >= 4096 || n == 0) return;
  (void)snprintf(path, sizeof path, "/proc/%u/root%s", process, file);
  int fd = root_open(root, path);
  if (fd < 0) return;
  uint64_t *offsets = xalloc(n, sizeof *offsets);
  qsort(places, n, sizeof *places, by_offset);
  for (size_t i = 0; i < n; i++) offsets[i] = places[i].offset;
  elf_symbols(fd, offsets, n, deadline_ns, take_name, (void *)&naming);
  free(offsets);
  (void)close(fd);
}

/* --- code that a program made --- */

static const char made[] = "[anonymous]";

static bool is_made_code(const char *path) {
  return path[0] == 0 || strncmp(path, "[anon:", 6) == 0 || strncmp(path, "/memfd:", 7) == 0;
}

/* "START SIZE name", hexadecimal, a line each: what makers of code write for perf (CPython, oneDNN, V8, the JVM), in the process's own
 * root, under the number that it has there. Memory is used again: of several lines that hold an address the last one is right. A map that
 * would name places over and over is left at NAMED_MOST. */
static void name_made_code(const struct root *root, uint32_t process, const uint64_t *addresses, size_t n, struct arena *arena,
                           struct code_name *names) {
  struct buffer text;
  char path[96], *end, *name;
  size_t named = 0;
  buffer_init(&text, MADE_MAX);
  (void)snprintf(path, sizeof path, "/proc/%u/root/tmp/perf-%lld.map", process, (long long)process_inner_pid(root, process));
  bool read = root_read(root, path, &text, NULL) == LYNX_OK && text.length > 0;
  char *rest = read ? text.data : NULL;
  for (char *line = read ? strtok_r(rest, "\n", &rest) : NULL; line != NULL && named < NAMED_MOST; line = strtok_r(NULL, "\n", &rest)) {
    uint64_t from = strtoull(line, &end, 16), size = strtoull(end, &name, 16);
    if (end == line || name == end || *name != ' ' || name[1] == 0 || size == 0 || from + size < from) continue;
    for (size_t i = elf_first_from(addresses, n, from); i < n && addresses[i] < from + size && named < NAMED_MOST; i++, named++)
      if (names[i].module == made) names[i].function = name + 1;
  }
  for (size_t i = 0; i < n; i++)
    if (names[i].module == made && names[i].function != NULL) names[i].function = arena_copy(arena, names[i].function);
  buffer_release(&text);
}

/* In which mapping each address lies; NULL: in none. */
static void name_files(const struct root *root, uint32_t process, const struct mapping *const *in, const uint64_t *addresses, size_t n,
                       struct arena *arena, struct code_name *ret) {
  if (n == 0) return;
  int64_t deadline_ns = clock_now(&clock_system) + NAMING_NS;
  struct in_file *places = xalloc(n, sizeof *places);
  bool *done = xalloc(n, sizeof *done);
  for (size_t i = 0; i < n && clock_now(&clock_system) < deadline_ns; i++) {
    size_t n_places = 0;
    if (done[i] || in[i] == NULL || in[i]->path[0] != '/') continue;
    for (size_t k = i; k < n; k++) {
      if (in[k] == NULL || done[k] || (in[k] != in[i] && strcmp(in[k]->path, in[i]->path) != 0)) continue;
      done[k] = true;
      places[n_places++] = (struct in_file){addresses[k] - in[k]->from + in[k]->offset, k};
    }
    name_in_file(root, process, in[i]->path, places, n_places, deadline_ns, arena, ret);
  }
  free(done);
  free(places);
}

void code_names(const struct root *root, uint32_t process, const uint64_t *addresses, size_t n, struct arena *arena,
                struct code_name *ret) {
  struct mappings maps;
  bool any_made = false;
  mappings_read(root, process, &maps);
  const struct mapping **in = xalloc(n > 0 ? n : 1, sizeof(void *));
  for (size_t i = 0; i < n; i++) {
    in[i] = mappings_find(&maps, addresses[i]);
    bool same = i > 0 && in[i] != NULL && in[i] == in[i - 1];
    ret[i].module = same ? ret[i - 1].module : in[i] == NULL ? "[gone]" : is_made_code(in[i]->path) ? made : arena_copy(arena, in[i]->path);
    ret[i].function = NULL;
    any_made = any_made || ret[i].module == made;
  }
  name_files(root, process, in, addresses, n, arena, ret);
  if (any_made) name_made_code(root, process, addresses, n, arena, ret);
  mappings_release(&maps);
  free(in);
}
