/* The process that serves: its executable, arguments, the environment that matters, limits, and every library it has mapped,
 * with version and build id, each on its layer. */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "executor/layer_map.h"
#include "executor/probe.h"

enum { MAPS_MAX = 16 << 20, ENVIRONMENT_MAX = 4 << 20, LIBRARIES_MAX = 2000 };

static const char *process_applies(const struct probe_target *target) {
  if (target->pid > 0) return NULL;
  return target->why_not != NULL ? target->why_not : "the serving process is not known";
}

static const char *proc_path(const struct probe_target *target, const char *file, char *path, size_t size) {
  (void)snprintf(path, size, "/proc/%lld/%s", (long long)target->pid, file);
  return path;
}

/* The NT_GNU_BUILD_ID note in hexadecimal; false if the file is not ELF or has none. */
static bool read_build_id(const char *file, char *text, size_t size) {
  int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool found = false;
  Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
  size_t n_headers = 0;
  if (elf != NULL && elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &n_headers) == 0)
    for (size_t i = 0; i < n_headers && !found; i++) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, (int)i, &header) == NULL || header.p_type != PT_NOTE) continue;
      Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_NHDR);
      GElf_Nhdr note;
      for (size_t at = 0, name, desc, next; data != NULL && !found && (next = gelf_getnote(data, at, &note, &name, &desc)) > 0; at = next) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 ||
            2 * (size_t)note.n_descsz + 1 > size)
          continue;
        hex_encode((const uint8_t *)data->d_buf + desc, note.n_descsz, text);
        found = true;
      }
    }
  (void)elf_end(elf);
  (void)close(fd);
  return found;
}

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

static void add_library(const struct probe_target *target, struct fact_list *facts, const char *path, bool deleted) {
  char outer[PATH_MAX + 64], inner[PATH_MAX + 64], real[PATH_MAX], name[256], version[128], key[300], build_id[130] = "",
                                                                                                      value[PATH_MAX + 400];
  /* Through the process's own root, so that a library inside a container is the one that is read. */
  (void)snprintf(inner, sizeof inner, "/proc/%lld/root%s", (long long)target->pid, path);
  root_path(target->root, inner, outer, sizeof outer);
  bool has_id = !deleted && read_build_id(outer, build_id, sizeof build_id);
  const char *file = realpath(outer, real) != NULL ? strrchr(real, '/') + 1 : strrchr(path, '/') + 1;
  split_version(file, name, sizeof name, version, sizeof version);
  (void)snprintf(key, sizeof key, "library.%.250s", name);
  (void)snprintf(value, sizeof value, "%s%s%s%s%s%s%s", version[0] != 0 ? "version " : "", version, version[0] != 0 ? "; " : "",
                 has_id ? "build id " : "no build id", build_id, deleted ? "; the file was replaced after it was mapped; " : "; ", path);
  probe_fact(target, facts, layer_of_library(name), FACT_IDENTITY, key, value, "", "/proc/PID/maps, ELF note");
}

static void collect_libraries(const struct probe_target *target, struct fact_list *facts) {
  char path[64];
  struct buffer text;
  struct lynx_error error = {0};
  buffer_init(&text, MAPS_MAX);
  if (root_read(target->root, proc_path(target, "maps", path, sizeof path), &text, &error) != LYNX_OK) {
    probe_missing(target, facts, LAYER_RUNTIME, FACT_IDENTITY, "hole.libraries", FACT_DENIED,
                  "the serving process's mapped libraries may not be read (another user's process): run as that user or as root", path);
    buffer_release(&text);
    return;
  }
  (void)elf_version(EV_CURRENT);
  struct arena arena = {0};
  const char **seen = arena_alloc(&arena, LIBRARIES_MAX, sizeof *seen);
  size_t n_seen = 0;
  for (char *line = text.data; *line != 0 && n_seen < LIBRARIES_MAX;) {
    char *end = strchr(line, '\n');
    if (end != NULL) *end = 0;
    char rights[8], file[PATH_MAX];
    if (sscanf(line, "%*s %7s %*s %*s %*s %4095[^\n]", rights, file) == 2 && rights[2] == 'x' && file[0] == '/') {
      char *mark = strstr(file, " (deleted)");
      if (mark != NULL) *mark = 0;
      bool known = false;
      for (size_t i = 0; i < n_seen && !known; i++) known = strcmp(seen[i], file) == 0;
      if (!known) {
        seen[n_seen++] = arena_copy(&arena, file);
        if (strstr(file, ".so") != NULL) add_library(target, facts, file, mark != NULL);
      }
    }
    if (end == NULL) break;
    line = end + 1;
  }
  arena_release(&arena);
  buffer_release(&text);
}

static void collect_environment(const struct probe_target *target, struct fact_list *facts) {
  char path[64], key[300];
  struct buffer text;
  buffer_init(&text, ENVIRONMENT_MAX);
  if (root_read(target->root, proc_path(target, "environ", path, sizeof path), &text, NULL) == LYNX_OK) {
    for (size_t at = 0; at < text.length; at += strlen(text.data + at) + 1) {
      char *entry = text.data + at, *equals = strchr(entry, '=');
      enum layer layer;
      const char *reason;
      if (equals == NULL || equals - entry > 200) continue;
      (void)snprintf(key, sizeof key, "%.*s", (int)(equals - entry), entry);
      if (!layer_of_variable(key, &layer, &reason)) continue;
      (void)snprintf(key, sizeof key, "environment.%.*s", (int)(equals - entry), entry);
      probe_fact(target, facts, layer, FACT_IDENTITY, key, equals + 1, "", reason);
    }
  } else
    probe_missing(target, facts, LAYER_RUNTIME, FACT_IDENTITY, "hole.environment", FACT_DENIED,
                  "the serving process's environment may not be read: run as its user or as root", path);
  explicit_bzero(text.data != NULL ? text.data : key, text.data != NULL ? text.length : 0); /* it may have held secrets */
  buffer_release(&text);
}

/* Arguments, one fact each, so that a diff names the one that differs. The value after a flag that may be secret is hidden. */
static void collect_arguments(const struct probe_target *target, struct fact_list *facts) {
  char path[64], key[64];
  struct buffer text;
  buffer_init(&text, 1 << 20);
  bool hide = false;
  if (root_read(target->root, proc_path(target, "cmdline", path, sizeof path), &text, NULL) == LYNX_OK) {
    int n = 0;
    for (size_t at = 0; at < text.length && n < 200; at += strlen(text.data + at) + 1, n++) {
      const char *argument = text.data + at;
      const char *equals = strchr(argument, '=');
      char shown[4096];
      (void)snprintf(key, sizeof key, "process.argument.%03d", n);
      bool secret_flag = argument[0] == '-' && variable_is_secret(argument);
      if (hide) (void)snprintf(shown, sizeof shown, "(hidden: may be a secret)");
      else if (secret_flag && equals != NULL)
        (void)snprintf(shown, sizeof shown, "%.*s=(hidden: may be a secret)", (int)(equals - argument), argument);
      else (void)snprintf(shown, sizeof shown, "%s", argument);
      hide = secret_flag && equals == NULL;
      probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, key, shown, "", "/proc/PID/cmdline");
    }
  }
  buffer_release(&text);
}

static void process_collect(const struct probe_target *target, struct fact_list *facts) {
  char path[64], exe[PATH_MAX], outer[PATH_MAX], inner[96], id[130], value[64];
  (void)snprintf(value, sizeof value, "%lld", (long long)target->pid);
  probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.id", value, "", "listening socket or contract");
  if (root_read_link(target->root, proc_path(target, "exe", path, sizeof path), exe, sizeof exe)) {
    probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.executable", exe, "", path);
    (void)snprintf(inner, sizeof inner, "/proc/%lld/exe", (long long)target->pid);
    (void)elf_version(EV_CURRENT);
    if (read_build_id(root_path(target->root, inner, outer, sizeof outer), id, sizeof id))
      probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.build-id", id, "", "ELF note");
  } else probe_missing(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.executable", FACT_DENIED, "may not be read", path);
  collect_arguments(target, facts);
  collect_environment(target, facts);
  collect_libraries(target, facts);
  struct buffer text;
  buffer_init(&text, 65536);
  if (root_read(target->root, proc_path(target, "status", path, sizeof path), &text, NULL) == LYNX_OK) {
    char line[256];
    if (probe_find_line(text.data, "Cpus_allowed_list", line, sizeof line))
      probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "process.cpus-allowed", line, "", "/proc/PID/status");
    if (probe_find_line(text.data, "Mems_allowed_list", line, sizeof line))
      probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "process.memories-allowed", line, "", "/proc/PID/status");
    if (probe_find_line(text.data, "Threads", line, sizeof line))
      probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.threads", line, "", "/proc/PID/status");
    if (probe_find_line(text.data, "VmRSS", line, sizeof line))
      probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.resident", line, "", "/proc/PID/status");
  }
  buffer_release(&text);
}

const struct probe probe_process;
const struct probe probe_process = {.name = "process",
                                    .summary = "the process that serves: executable, arguments, environment, mapped libraries",
                                    .reads = "/proc/PID",
                                    .layer = LAYER_SERVING,
                                    .applies = process_applies,
                                    .collect = process_collect};
