/* executor/capture.h: every fact that can be read of an executor, now.
 * Result   facts sorted by layer and key; holes are facts whose key begins with "hole." and whose value says what is not seen
 * Threads  one capture at a time (hwloc and libelf are asked) */
#ifndef EXECUTOR_CAPTURE_H
#define EXECUTOR_CAPTURE_H

#include "base/digest.h"
#include "executor/probe.h"

struct capture_request {
  const struct root *root;
  const struct lynx_clock *clock;
  const char *endpoint; /* NULL: only the machine */
  int64_t pid;          /* 0: look for it */
  int64_t started_pid;  /* the process that was started for this, if the one that listens is not visible; 0: none */
  bool behind_proxy;
  bool in_process;     /* the null driver: there is no serving process to look for */
  bool ask_routes;     /* may the executor's own routes (/version, /props, ...) be asked? Not while it is measured */
  int64_t deadline_ns; /* for each probe; 0: 5 s */
};

void capture_run(const struct capture_request *request, struct fact_list *ret);

/* The process that listens on a local port; 0 if none is seen. */
int64_t capture_find_listener(const struct root *root, int port);

/* SHA-256 over the identity facts: layer, key, status, value and unit of each, in order. State and context are left out. */
void capture_fingerprint(const struct fact_list *facts, char ret[DIGEST_HEX]);
/* The same over one layer's facts; false if it has none. */
bool capture_fingerprint_layer(const struct fact_list *facts, enum layer layer, char ret[DIGEST_HEX]);

enum difference_kind { DIFFERENCE_CHANGED, DIFFERENCE_ONLY_A, DIFFERENCE_ONLY_B };

struct difference {
  enum difference_kind kind;
  enum layer layer;
  enum fact_kind of;
  const char *key, *a, *b; /* values as text, with unit and status where it is not read; NULL where there is none */
};

struct difference_list {
  struct arena arena;
  struct difference *items;
  size_t n_items, n_identity;
};

/* Both sorted. */
void capture_diff(const struct fact_list *a, const struct fact_list *b, struct difference_list *ret);
void difference_list_release(struct difference_list *list);

/* Captures as JSON, for `lynxbench capture` and `diff`. */
struct buffer;
bool capture_write(const struct fact_list *facts, const char *taken_at, struct buffer *ret);
enum lynx_status capture_read(const char *json, size_t length, struct fact_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
