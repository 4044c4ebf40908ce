/* attribute/host_names.h: which functions and named ranges the host was in, while the account says that the host decided.
 *
 * Order    host_names_new; host_names_take for every stretch of the account, in order; host_names_finish once
 * Method   of the threads that can say why the device waits, the one whose innermost range began last; of its open Python functions the
 *          innermost that is neither the interpreter's own nor the standard library's, which work for who called them; without Python,
 *          the innermost range that the program named
 * Units    nanoseconds; the times of one state sum to that state at most: what has no name is left out
 * Limits   64 threads; a depth of 512 */
#ifndef ATTRIBUTE_HOST_NAMES_H
#define ATTRIBUTE_HOST_NAMES_H

#include "attribute/account.h"

struct host_name {
  enum account_state state;
  uint32_t name; /* of the timeline */
  bool layered;  /* the file that it lies in, or a range's first words, say whose it is */
  enum layer layer;
  int64_t ns;
};

struct host_names {
  struct host_name *at; /* the most time first */
  size_t n;
  bool cut;                       /* so many ranges lie in each other that the rest of the window was not named */
  int64_t python_ns[LAYER_COUNT]; /* of STATE_PYTHON, by the layer of the function's file; the rest is nobody's */
  int64_t range_ns[LAYER_COUNT];  /* of STATE_RANGE, by who begins ranges with such words, or whose program it is; the rest is nobody's */
};

struct host_naming;

struct host_naming *host_names_new(const struct timeline *timeline, int64_t device); /* NULL: the trace names nothing */
void host_names_take(void *naming, enum account_state state, int64_t from_ns, int64_t to_ns);
void host_names_finish(struct host_naming *naming, struct host_names *ret); /* NULL: there are none */
void host_names_release(struct host_names *names);

/* "python", "synchronise": what the host was in, as in the state's identifier. */
const char *host_name_state(const struct host_name *name);

/* The name with the most time in the states from first to last; NULL: none. */
const struct host_name *host_names_first(const struct host_names *names, enum account_state first, enum account_state last);

#endif
