#include "attribute/live_calls.h"

#include <stdlib.h>
#include <string.h>

#include "attribute/live_module.h"
#include "executor/layer_map.h"

enum { CALLS_MAX = 2000, CALLS_DEPTH = 64 };

struct call {
  size_t lane;
  const char *leaf, *module, *function; /* module "": no caller was seen */
  int64_t n;
};

struct live_calls {
  struct arena *arena;
  struct call items[CALLS_MAX];
  size_t n;
};

struct live_calls *live_calls_new(struct arena *arena) {
  struct live_calls *calls = xalloc(1, sizeof *calls);
  calls->arena = arena;
  return calls;
}

void live_calls_free(struct live_calls *calls) {
  free(calls);
}

bool live_cut_frame(char *frame, const char **ret_function, const char **ret_module) {
  size_t length = strlen(frame);
  char *open = length > 0 && frame[length - 1] == ')' ? strrchr(frame, '(') : NULL;
  if (open == NULL || open - frame < 2 || open[-1] != ' ') return false;
  frame[length - 1] = 0;
  open[-1] = 0;
  *ret_function = strcmp(frame, "?") == 0 ? "" : frame;
  *ret_module = open + 1;
  return true;
}

bool live_is_plumbing(const char *module) {
  const char *file = live_module_file(module);
  return library_serves_its_caller(file) || library_is_openmp(file) || strcmp(module, "[vdso]") == 0 || strcmp(module, "[gone]") == 0 ||
         live_is_kernel(module);
}

static void count(struct live_calls *calls, size_t lane, const char *leaf, const char *module, const char *function, int64_t n) {
  for (size_t i = 0; i < calls->n; i++) {
    struct call *c = &calls->items[i];
    if (c->lane != lane || strcmp(c->leaf, leaf) != 0 || strcmp(c->module, module) != 0 || strcmp(c->function, function) != 0) continue;
    c->n += n;
    return;
  }
  if (calls->n == CALLS_MAX) return;
  calls->items[calls->n++] = (struct call){lane, arena_copy(calls->arena, leaf), arena_copy(calls->arena, module),
                                           arena_copy(calls->arena, function), n};
}

void live_calls_add(struct live_calls *calls, size_t lane, char *frames, int64_t n) {
  const char *leaf = NULL, *leaf_module = NULL, *function, *module;
  for (int depth = 0; depth < CALLS_DEPTH; depth++) {
    char *divide = strrchr(frames, ';');
    if (!live_cut_frame(divide != NULL ? divide + 1 : frames, &function, &module)) return;
    if (leaf == NULL) {
      leaf = live_is_kernel(module) ? function : live_module_file(module);
      leaf_module = module;
    } else if (strcmp(module, leaf_module) != 0 && !live_is_plumbing(module)) {
      count(calls, lane, leaf, module, live_is_interpreter(module) ? "" : function, n);
      return;
    }
    if (divide == NULL) break;
    *divide = 0;
  }
  if (leaf != NULL) count(calls, lane, leaf, "", "", n);
}

size_t live_calls_of(const struct live_calls *calls, size_t lane, const char *leaf, struct live_called ret[LIVE_CALLED_MAX]) {
  size_t n = 0;
  double all = 0;
  for (size_t i = 0; i < calls->n; i++) {
    const struct call *c = &calls->items[i];
    if (c->lane != lane || strcmp(c->leaf, leaf) != 0) continue;
    all += (double)c->n;
    if (c->module[0] == 0) continue;
    size_t place = n;
    while (place > 0 && ret[place - 1].share < (double)c->n) place--;
    if (place == LIVE_CALLED_MAX) continue;
    if (n < LIVE_CALLED_MAX) n++;
    for (size_t k = n - 1; k > place; k--) ret[k] = ret[k - 1];
    ret[place] = (struct live_called){c->module, c->function, (double)c->n};
  }
  for (size_t i = 0; i < n; i++) ret[i].share /= all;
  return n;
}
