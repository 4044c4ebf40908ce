/* attribute/requests.h: the spans of distributed traces: what each request's time was spent in, along its critical path.
 * Method   a request is a tree of spans; children are cut to their parent; the path is the span, then its child that returns last, then the
 *          one that returned before that began, and so on, each in turn; a span's own time on it is its duration less theirs
 * Source   CRISP (Zhang et al. 2022), whose test cases are held against in tests/e2e/test_attribute.py; an overlap of less than 1 % of the
 *          parent counts as none, as there, where nothing else begins or ends in it
 * Limits   a depth of 1,000; spans that no root reaches are counted and left out */
#ifndef ATTRIBUTE_REQUESTS_H
#define ATTRIBUTE_REQUESTS_H

#include "attribute/timeline.h"

struct operation_total {
  const char *service, *name;
  int64_t n, on_path_ns, work_ns; /* spans; own time on the critical paths; own time of all spans */
};

struct requests {
  struct request_span *spans;
  size_t n_spans, room;
  struct arena arena;
  /* after requests_finish */
  struct operation_total *operations; /* the greatest own time on the paths first */
  size_t n_operations;
  int64_t n_roots, n_unreached, n_cut, n_dropped, total_ns; /* total: of the roots' durations */
  bool full;
};

void requests_add(struct requests *requests, const struct trace_span *span);
void requests_finish(struct requests *requests);
void requests_release(struct requests *requests);

/* Where a span's own time belongs, by its name: vLLM's phases and the servers'. False: not known, and so not attributed. */
bool requests_layer(const char *service, const char *name, enum layer *ret);

/* The share of the paths' time that no name tells the layer of. */
double requests_unattributed(const struct requests *requests);

#endif
