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
  bool in_process;    /* there is no endpoint: pid is what runs the workload, 0 where nothing does (the null driver) */
  bool hosts_known;   /* the other hosts are captured apart, or named as holes: a remote endpoint is no hole by itself */
  bool ask_routes;    /* may the executor's own routes (/version, /props, ...) be asked? Not while it is measured */
  bool ask_libraries; /* may the libraries that the executor maps be loaded, to be asked what they select? That runs their code */
  const char *const *show_arguments; /* names of arguments whose values are shown, besides those that are known to be settings */
  size_t n_show_arguments;
  int64_t deadline_ns;   /* for each probe; 0: 5 s */
  int64_t digest_budget; /* bytes that may be read for digests of the model; 0: little */
  bool digest_anew;      /* read whole, whatever was remembered of it */
};

void capture_run(const struct capture_request *request, struct fact_list *ret);

/* The process that listens on a local port (of that address, or of all) or on a Unix socket; 0 if none is seen. */
struct endpoint;
int64_t capture_find_listener(const struct root *root, const struct endpoint *endpoint);
/* Is its host this machine? A process that listens here on another machine's port number is not the one that serves. */
bool capture_is_local(const struct endpoint *endpoint);

/* SHA-256 over the identity facts: layer, key, status, value and unit of each, in order. State and context are left out. */
void capture_fingerprint(const struct fact_list *facts, char ret[DIGEST_HEX]);
/* The same over one layer's facts; false if it has none. */
bool capture_fingerprint_layer(const struct fact_list *facts, enum layer layer, char ret[DIGEST_HEX]);

/* Captures as JSON, for `lynxbench capture` and `diff`. */
struct buffer;
struct capture_head {
  const char *taken_at;
  const char *fingerprint; /* of the whole, where facts are only what is disclosed of it; NULL: that of facts */
  const char *disclosed;   /* NULL: "full" */
};
bool capture_write(const struct fact_list *facts, const struct capture_head *head, struct buffer *ret);
enum lynx_status capture_read(const char *json, size_t length, struct fact_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
