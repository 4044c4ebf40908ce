/* One Python function of an executor that lynxbench started is lengthened in proportion to its own time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "experiment/perturber.h"

enum { COUNTERS = 5, COUNTED_MAX = 100000 };

struct function {
  struct perturbing request;
};

struct counts {
  const struct function *of;
  double found, calls, own_ns, added_ns;
};

static void add_process(void *context, const char *name) {
  struct counts *c = context;
  char path[400];
  int64_t counters[COUNTERS];
  if (name[0] < '1' || name[0] > '9') return;
  (void)snprintf(path, sizeof path, "%.260s/%.20s", c->of->request.function_folder, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  bool good = read(fd, counters, sizeof counters) == (ssize_t)sizeof counters && counters[0] == 1;
  (void)close(fd);
  if (!good) return;
  c->found += (double)counters[1];
  c->calls += (double)counters[2];
  c->own_ns += (double)counters[3];
  c->added_ns += (double)counters[4];
}

static struct counts count(const struct function *f) {
  struct counts c = {.of = f};
  static const struct root here = {""};
  (void)root_list(&here, f->request.function_folder, COUNTED_MAX, add_process, &c);
  return c;
}

static size_t function_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct function *f = xalloc(1, sizeof *f);
  f->request = *request;
  *ret_state = f;
  if (most == 0 || request->function_folder == NULL) {
    (void)snprintf(why, size, "function: none was named (--function), for which lynxbench must start the executor");
    return 0;
  }
  struct counts c = count(f);
  if (!(c.found > 0) || !(c.calls > 0)) {
    (void)snprintf(why, size, "function: %.120s %s", request->function_name,
                   c.found > 0
                       ? "is there, and was not called while the load warmed up"
                       : "was not found: it is made again at every call, is no Python function, or the executor ignores PYTHONPATH");
    return 0;
  }
  target_name(ret, "function", request->function_name);
  return 1;
}

static bool set_amount(const struct function *f, double amount) {
  char path[400];
  (void)snprintf(path, sizeof path, "%.260s/amount", f->request.function_folder);
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool good = write(fd, &amount, sizeof amount) == (ssize_t)sizeof amount;
  (void)close(fd);
  return good;
}

/* The executor is ours, and ends with us: there is nothing to undo. What it counts says how much longer its calls became. */
static double function_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct function *f = state;
  (void)target;
  struct counts before = count(f);
  if (!set_amount(f, slowness - 1)) return 1;
  (void)perturber_wait(&f->request, until_ns);
  (void)set_amount(f, 0);
  struct counts after = count(f);
  double own = after.own_ns - before.own_ns, added = after.added_ns - before.added_ns;
  return own > 0 && added > 0 ? 1 + added / own : 1;
}

const struct perturber perturber_function;
const struct perturber perturber_function = {.name = "function",
                                             .summary = "one Python function, in proportion to its own time",
                                             .does = "lengthens each of its calls, in an executor that lynxbench started for it",
                                             .levels = {1.5, 2.5},
                                             .open = function_open,
                                             .hold = function_hold,
                                             .close = free};
