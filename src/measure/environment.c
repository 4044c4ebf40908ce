#include "measure/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/layer_map.h"

static bool is_usual(const char *name) {
  static const char *const names[] = {"PATH",
                                      "HOME",
                                      "USER",
                                      "LOGNAME",
                                      "SHELL",
                                      "LANG",
                                      "LANGUAGE",
                                      "TZ",
                                      "TMPDIR",
                                      "VIRTUAL_ENV",
                                      "TERM",
                                      "XDG_CACHE_HOME",
                                      "HF_HOME",
                                      "HF_HUB_CACHE",
                                      "HF_HUB_OFFLINE",
                                      "HF_DATASETS_CACHE",
                                      "CONDA_PREFIX",
                                      "XDG_RUNTIME_DIR",
                                      "ASAN_OPTIONS",
                                      "UBSAN_OPTIONS",
                                      "TSAN_OPTIONS",
                                      "LSAN_OPTIONS",
                                      "TRANSFORMERS_CACHE",
                                      "TRANSFORMERS_OFFLINE"};
  enum layer layer;
  const char *reason;
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strcmp(name, names[i]) == 0) return true;
  return strncmp(name, "LC_", 3) == 0 || (layer_of_variable(name, &layer, &reason) && !variable_is_secret(name));
}

const char *environment_inherited(const char *name) {
  return is_usual(name) ? getenv(name) : NULL;
}

/* "NAME=..." of a list that has as many. */
static bool has(const char *const *list, size_t n, const char *text, size_t name) {
  for (size_t i = 0; i < n; i++)
    if (strncmp(list[i], text, name) == 0 && list[i][name] == '=') return true;
  return false;
}

/* "-NAME": an experiment takes it out, whoever sets it. */
static bool is_taken_out(const struct text_list *list, const char *text, size_t name) {
  for (size_t i = 0; i < list->n_items; i++)
    if (list->items[i][0] == '-' && strlen(list->items[i]) == name + 1 && strncmp(list->items[i] + 1, text, name) == 0) return true;
  return false;
}

const char *const *environment_of_start(const struct contract *contract, struct arena *arena) {
  static const struct text_list none = {0};
  const struct text_list *more = contract != NULL ? &contract->executor.start.environment : &none;
  size_t room = more->n_items + 1, n = 0;
  for (size_t i = 0; environ[i] != NULL; i++) room++;
  const char **list = arena_alloc(arena, room, sizeof *list);
  for (size_t i = 0; i < more->n_items; i++) {
    if (more->items[i][0] == '-' || is_taken_out(more, more->items[i], strcspn(more->items[i], "="))) continue;
    const char *text = more->items[i], *value = strchr(text, '=') == NULL ? getenv(text) : "";
    if (value == NULL || has(list, n, text, strcspn(text, "="))) continue; /* not set here; given twice */
    list[n++] = strchr(text, '=') != NULL ? text : arena_printf(arena, "%s=%s", text, value);
  }
  for (size_t i = 0; environ[i] != NULL; i++) {
    size_t length = strcspn(environ[i], "=");
    if (environ[i][length] != '=' || has(list, n, environ[i], length) || is_taken_out(more, environ[i], length)) continue;
    if (is_usual(arena_text(arena, environ[i], length))) list[n++] = environ[i];
  }
  return list;
}
