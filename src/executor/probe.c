#include "executor/probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *probe_needs_process(const struct probe_target *target) {
  if (target->pid > 0) return NULL;
  return target->why_not != NULL ? target->why_not : "the serving process is not known";
}

static void add(const struct probe_target *target, struct fact_list *facts, struct fact fact) {
  fact.at_ns = clock_now(target->clock);
  fact_add(facts, &fact);
}

void probe_fact(const struct probe_target *target, struct fact_list *facts, enum layer layer, enum fact_kind kind, const char *key,
                const char *value, const char *unit, const char *source) {
  add(target, facts,
      (struct fact){.layer = layer, .kind = kind, .status = FACT_READ, .key = key, .value = value, .unit = unit, .source = source});
}

void probe_missing(const struct probe_target *target, struct fact_list *facts, enum layer layer, enum fact_kind kind, const char *key,
                   enum fact_status status, const char *why, const char *source) {
  add(target, facts, (struct fact){.layer = layer, .kind = kind, .status = status, .key = key, .value = why, .source = source});
}

void probe_file(const struct probe_target *target, struct fact_list *facts, enum layer layer, enum fact_kind kind, const char *key,
                const char *path, const char *unit) {
  struct buffer text;
  struct lynx_error error = {0};
  buffer_init(&text, 65536);
  enum lynx_status status = root_read(target->root, path, &text, &error);
  if (status == LYNX_OK) {
    size_t n = strcspn(text.data, "\n");
    text.data[n] = 0;
    probe_fact(target, facts, layer, kind, key, text.data, unit, path);
  } else probe_missing(target, facts, layer, kind, key, status == LYNX_NOT_FOUND ? FACT_ABSENT : FACT_DENIED, error.message, path);
  buffer_release(&text);
}

bool probe_file_if(const struct probe_target *target, struct fact_list *facts, enum layer layer, enum fact_kind kind, const char *key,
                   const char *path, const char *unit) {
  char line[4096];
  if (!root_read_line(target->root, path, line, sizeof line)) return false;
  probe_fact(target, facts, layer, kind, key, line, unit, path);
  return true;
}

void probe_printf(const struct probe_target *target, struct fact_list *facts, enum layer layer, enum fact_kind kind, const char *source,
                  const char *key, const char *format, ...) {
  char value[4001];
  va_list list;
  va_start(list, format);
  (void)vsnprintf(value, sizeof value, format, list);
  va_end(list);
  probe_fact(target, facts, layer, kind, key, value, "", source);
}

char *probe_path(char *text, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  (void)vsnprintf(text, size, format, list);
  va_end(list);
  return text;
}

bool probe_find_line(const char *text, const char *key, char *value, size_t size) {
  size_t n = strlen(key);
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, key, n) != 0 || (line[n] != ':' && line[n] != ' ' && line[n] != '\t' && line[n] != '=')) continue;
    const char *p = line + n + strspn(line + n, " \t:=");
    text_sanitise(value, size, p, strcspn(p, "\n"));
    return true;
  }
  return false;
}

bool probe_variable(const struct probe_target *target, int64_t pid, const char *name, char *ret, size_t size) {
  char path[64];
  struct buffer text;
  size_t n = strlen(name);
  bool found = false;
  buffer_init(&text, 4 << 20);
  if (root_read(target->root, probe_path(path, sizeof path, "/proc/%lld/environ", (long long)pid), &text, NULL) == LYNX_OK)
    for (size_t at = 0; at < text.length && !found; at += strlen(text.data + at) + 1) {
      const char *entry = text.data + at;
      found = strncmp(entry, name, n) == 0 && entry[n] == '=';
      if (found) (void)snprintf(ret, size, "%s", entry + n + 1);
    }
  buffer_wipe(&text); /* it may have held secrets */
  return found && ret[0] != 0;
}
