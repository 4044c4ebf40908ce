/* One Python function of an executor that lynxbench started is lengthened in proportion to its own time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "executor/layer_map.h"
#include "experiment/slowed_code.h"

/* Those of the functions that were called. */
struct slowing {
  struct perturbing request;
  const struct slowed_place *places[FUNCTIONS_MAX];
};

static const char *what_is_missing(const struct slowed_place *place, const struct slowed_counts *c) {
  if (c->found > 0 || strncmp(place->name, "time.sleep", 10) == 0) return PERTURBER_NOT_CALLED " while the load warmed up";
  if (c->gone > 0) return PERTURBER_GONE;
  return "was not found: it is made again at every call, is no Python function, or the executor ignores PYTHONPATH";
}

static size_t function_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct slowing *s = xalloc(1, sizeof *s);
  size_t n = 0;
  *ret_state = s;
  s->request = *request;
  if (request->n_functions == 0)
    (void)snprintf(why, size, "function: none was named (--function), for which lynxbench must start the executor");
  for (size_t i = 0; i < request->n_functions && n < most; i++) {
    const struct slowed_place *place = &request->functions[i];
    struct slowed_counts c = slowed_code_count(place->folder);
    if (c.found > 0 && c.calls > 0) {
      s->places[n] = place;
      target_name(&ret[n++], "function", place->name);
    } else if (why[0] == 0) (void)snprintf(why, size, "function: %.120s %s", place->name, what_is_missing(place, &c));
  }
  return n;
}

static double function_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  const struct slowing *s = state;
  return slowed_code_hold(s->places[target]->folder, slowness, &s->request, until_ns);
}

/* "encode (/srv/app.py:188)" */
static bool function_whose(const char *what, enum layer *ret) {
  char file[300];
  const char *open = strstr(what, " (");
  if (open == NULL) return false;
  (void)snprintf(file, sizeof file, "%.*s", (int)strcspn(open + 2, ":)"), open + 2);
  return layer_of_python_file(file, ret) == PYTHON_FILE_KNOWN;
}

const struct perturber perturber_function;
const struct perturber perturber_function = {.name = "function",
                                             .summary = "one Python function, in proportion to its own time",
                                             .does = "lengthens each of its calls, in an executor that lynxbench started for it",
                                             .levels = {1.5, 2.5},
                                             .of_share = true,
                                             .most = 10,
                                             .open = function_open,
                                             .hold = function_hold,
                                             .close = free,
                                             .whose = function_whose};
