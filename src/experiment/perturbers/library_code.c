/* The code of one library of an executor that lynxbench started is lengthened in proportion to its own time. */
#include <stdio.h>
#include <stdlib.h>

#include "executor/layer_map.h"
#include "experiment/slowed_code.h"

static size_t library_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  perturber_keep(request, ret_state);
  if (most == 0 || request->library.folder == NULL) {
    (void)snprintf(why, size, "library: none was named (--library), for which lynxbench must start the executor");
    return 0;
  }
  struct slowed_counts c = slowed_code_count(request->library.folder);
  if (!(c.calls > 0)) {
    (void)snprintf(why, size, "library: %.120s %s", request->library.name,
                   c.found > 0
                       ? "is loaded, and none of its code was seen to run while the load warmed up; a server of another user cannot say so"
                       : "is not loaded by that name, or the executor ignores LD_PRELOAD (linked statically, another C library, in a "
                         "container)");
    return 0;
  }
  target_name(ret, "library", request->library.name);
  return 1;
}

static double library_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  const struct perturbing *request = state;
  (void)target;
  return slowed_code_hold(request->library.folder, slowness, request, until_ns);
}

const struct perturber perturber_library_code;
const struct perturber perturber_library_code = {.name = "library",
                                                 .summary = "the code of one library, in proportion to its own time",
                                                 .does = "lengthens the time in it, in an executor that lynxbench started for it",
                                                 .levels = {1.5, 2.5},
                                                 .of_share = true,
                                                 .most = 10,
                                                 .open = library_open,
                                                 .hold = library_hold,
                                                 .close = free,
                                                 .whose = layer_of_library};
