/* The process that serves: its executable, arguments, the environment that matters, limits. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/elf_file.h"
#include "executor/layer_map.h"
#include "executor/probe.h"

enum { ENVIRONMENT_MAX = 4 << 20, ARGUMENTS_MAX = 500 };

static const char *process_applies(const struct probe_target *target) {
  if (target->pid > 0) return NULL;
  return target->why_not != NULL ? target->why_not : "the serving process is not known";
}

static const char *proc_path(const struct probe_target *target, const char *file, char *path, size_t size) {
  (void)snprintf(path, size, "/proc/%lld/%s", (long long)target->pid, file);
  return path;
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

/* Flags that say where it listens: another port is the same executor. */
static bool is_place(const char *flag) {
  static const char *const names[] = {"--port", "--host", "--address", "--uds", "--metrics-port", "--http-port", "--grpc-port"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strcmp(flag, names[i]) == 0) return true;
  return false;
}

/* One fact for each flag, by its name, so that a flag put in between moves no other; what is no flag by its place among the others.
 * The name it was started by is context: process.executable says what it is. The value after a flag that may be secret is hidden. */
static void collect_arguments(const struct probe_target *target, struct fact_list *facts) {
  char path[64], key[300], flag[200] = "", shown[4096];
  struct buffer text;
  buffer_init(&text, 1 << 20);
  int n_plain = 0, n_all = 0;
  bool read = root_read(target->root, proc_path(target, "cmdline", path, sizeof path), &text, NULL) == LYNX_OK;
  for (size_t at = 0; read && at < text.length && n_all < ARGUMENTS_MAX; at += strlen(text.data + at) + 1, n_all++) {
    const char *argument = text.data + at, *equals = strchr(argument, '='), *value = argument;
    bool is_flag = argument[0] == '-' && argument[1] != 0 && strchr("0123456789.", argument[1]) == NULL;
    if (flag[0] == 0 || is_flag) {
      size_t next = at + strlen(argument) + 1;
      if (!is_flag) (void)snprintf(key, sizeof key, "process.argument.%d", n_plain++);
      else if (equals != NULL) {
        (void)snprintf(flag, sizeof flag, "%.*s", (int)(equals - argument > 190 ? 190 : equals - argument), argument);
        value = equals + 1;
      } else {
        (void)snprintf(flag, sizeof flag, "%.190s", argument);
        /* Its value is the next one, unless that is a flag itself. */
        if (next < text.length && text.data[next] != '-') continue;
        value = "(given)";
      }
    }
    if (flag[0] != 0) (void)snprintf(key, sizeof key, "process.argument.%s", flag);
    const struct fact *before = fact_find(facts, key);
    if (before != NULL) (void)snprintf(key + strlen(key), sizeof key - strlen(key), ".%d", n_all); /* a flag that is given twice */
    bool hide = flag[0] != 0 && variable_is_secret(flag) && strcmp(value, "(given)") != 0;
    (void)snprintf(shown, sizeof shown, "%s", hide ? "(hidden: may be a secret)" : value);
    probe_fact(target, facts, LAYER_SERVING, (flag[0] != 0 && is_place(flag)) || n_all == 0 ? FACT_CONTEXT : FACT_IDENTITY, key, shown, "",
               "/proc/PID/cmdline");
    flag[0] = 0;
  }
  buffer_release(&text);
}

/* What the kernel holds the process to. */
static void collect_limits(const struct probe_target *target, struct fact_list *facts) {
  static const struct {
    const char *word, *key;
  } lines[] = {{"Max open files", "process.limit.open-files"},
               {"Max locked memory", "process.limit.locked-memory"},
               {"Max processes", "process.limit.processes"}};
  char path[64], value[128];
  struct buffer text;
  buffer_init(&text, 65536);
  if (root_read(target->root, proc_path(target, "limits", path, sizeof path), &text, NULL) == LYNX_OK)
    for (size_t i = 0; i < LYNX_COUNT(lines); i++)
      if (probe_find_line(text.data, lines[i].word, value, sizeof value)) {
        value[strcspn(value, " ")] = 0; /* the soft one */
        probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, lines[i].key, value, "", "/proc/PID/limits");
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
    if (elf_build_id(root_path(target->root, inner, outer, sizeof outer), id, sizeof id))
      probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.build-id", id, "", "ELF note");
  } else probe_missing(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.executable", FACT_DENIED, "may not be read", path);
  collect_arguments(target, facts);
  collect_environment(target, facts);
  collect_limits(target, facts);
  (void)snprintf(value, sizeof value, "%zu", target->n_tree);
  probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.tree", value, "processes, itself and its descendants", "/proc/*/stat");
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
                                    .summary = "the process that serves: executable, arguments, environment, limits",
                                    .reads = "/proc/PID",
                                    .layer = LAYER_SERVING,
                                    .applies = process_applies,
                                    .collect = process_collect};
