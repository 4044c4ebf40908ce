#include "attribute/requests.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Beyond so many siblings, an overlap is taken as one without looking closer: that would cost the square of their number. */
enum { SPANS_MAX = 1 << 24, DEPTH_MAX = 1000, SIBLINGS_MAX = 4096, NONE = -1 };

struct request_span {
  const char *service, *name, *trace_id, *id, *parent_id;
  int64_t start_ns, duration_ns, end_ns;
  int64_t parent, first_child, next_sibling; /* indexes, or NONE */
  int64_t n_children;
  uint32_t operation;
};

static const char *keep(struct requests *r, struct bytes text) {
  char safe[300];
  return arena_copy(&r->arena, text_sanitise(safe, sizeof safe, text.ptr != NULL ? text.ptr : "", text.length));
}

void requests_add(struct requests *r, const struct trace_span *span) {
  if (r->n_spans == SPANS_MAX) {
    r->full = true;
    return;
  }
  r->spans = xroom(r->spans, r->n_spans, &r->room, sizeof *r->spans);
  r->spans[r->n_spans++] = (struct request_span){.service = keep(r, span->type),
                                                 .name = keep(r, span->name),
                                                 .trace_id = keep(r, span->trace_id),
                                                 .id = keep(r, span->id),
                                                 .parent_id = keep(r, span->parent),
                                                 .start_ns = span->start_ns,
                                                 .duration_ns = span->duration_ns,
                                                 .end_ns = span->start_ns + span->duration_ns,
                                                 .parent = NONE,
                                                 .first_child = NONE,
                                                 .next_sibling = NONE};
}

/* --- who is whose child --- */

static uint64_t hash_two(const char *a, const char *b) {
  uint64_t hash = 1469598103934665603u;
  for (; *a != 0; a++) hash = (hash ^ (unsigned char)*a) * 1099511628211u;
  hash = (hash ^ 0xff) * 1099511628211u;
  for (; *b != 0; b++) hash = (hash ^ (unsigned char)*b) * 1099511628211u;
  return hash ^ hash >> 31;
}

static void join_parents(struct requests *r) {
  size_t n = 1024;
  while (n < 2 * r->n_spans) n *= 2;
  uint32_t *slots = xalloc(n, sizeof *slots);
  for (size_t i = 0; i < r->n_spans; i++) {
    size_t k = hash_two(r->spans[i].trace_id, r->spans[i].id) & (n - 1);
    bool again = false; /* an id that stands twice: its first span is the parent of whoever names it */
    while (slots[k] != 0 && !again) {
      const struct request_span *s = &r->spans[slots[k] - 1];
      again = strcmp(s->id, r->spans[i].id) == 0 && strcmp(s->trace_id, r->spans[i].trace_id) == 0;
      k = (k + 1) & (n - 1);
    }
    if (!again) slots[k] = (uint32_t)i + 1;
  }
  for (size_t i = r->n_spans; i-- > 0;) { /* so that children stand in their order */
    struct request_span *s = &r->spans[i];
    if (s->parent_id[0] == 0) continue;
    for (size_t k = hash_two(s->trace_id, s->parent_id) & (n - 1); slots[k] != 0; k = (k + 1) & (n - 1)) {
      struct request_span *p = &r->spans[slots[k] - 1];
      if (p == s || strcmp(p->id, s->parent_id) != 0 || strcmp(p->trace_id, s->trace_id) != 0) continue;
      s->parent = (int64_t)slots[k] - 1;
      s->next_sibling = p->first_child;
      p->first_child = (int64_t)i;
      p->n_children++;
      break;
    }
  }
  free(slots);
}

static void join_operations(struct requests *r) {
  size_t n = 1024, room = 64;
  while (n < 2 * r->n_spans) n *= 2;
  uint32_t *slots = xalloc(n, sizeof *slots);
  r->operations = xalloc(room, sizeof *r->operations);
  for (size_t i = 0; i < r->n_spans; i++) {
    struct request_span *s = &r->spans[i];
    size_t k = hash_two(s->service, s->name) & (n - 1);
    for (; slots[k] != 0; k = (k + 1) & (n - 1)) {
      const struct operation_total *o = &r->operations[slots[k] - 1];
      if (strcmp(o->service, s->service) == 0 && strcmp(o->name, s->name) == 0) break;
    }
    if (slots[k] == 0) {
      r->operations = xroom(r->operations, r->n_operations, &room, sizeof *r->operations);
      r->operations[r->n_operations] = (struct operation_total){.service = s->service, .name = s->name};
      slots[k] = (uint32_t)++r->n_operations;
    }
    s->operation = slots[k] - 1;
  }
  free(slots);
}

/* --- one request --- */

/* Children by the end, the last first; equal ends in the reverse of their order. */
struct ordered {
  int64_t start_ns, end_ns;
  int64_t order, span;
};

static int by_end(const void *a, const void *b) {
  const struct ordered *x = a, *y = b;
  if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
  return x->order > y->order ? -1 : x->order < y->order;
}

static int by_start(const void *a, const void *b) {
  const struct ordered *x = a, *y = b;
  return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* A child that lies outside its parent is dropped, with all below it; one that reaches beyond is cut. */
static bool fit_child(struct requests *r, const struct request_span *parent, struct request_span *c) {
  if (c->start_ns >= parent->start_ns && c->end_ns <= parent->end_ns) return true;
  if (c->start_ns < parent->start_ns && c->end_ns <= parent->end_ns && c->end_ns > parent->start_ns) c->start_ns = parent->start_ns;
  else if (c->start_ns >= parent->start_ns && c->end_ns > parent->end_ns && c->start_ns < parent->end_ns) c->end_ns = parent->end_ns;
  else {
    r->n_dropped++;
    return false;
  }
  c->duration_ns = c->end_ns - c->start_ns;
  r->n_cut++;
  return true;
}

static int64_t events_between(const struct requests *r, const struct ordered *children, size_t n, int64_t from_ns, int64_t to_ns) {
  int64_t events = 0;
  for (size_t i = 0; i < n; i++) {
    const struct request_span *c = &r->spans[children[i].span];
    events += c->start_ns >= from_ns && c->start_ns <= to_ns;
    events += c->end_ns >= from_ns && c->end_ns <= to_ns;
  }
  return events;
}

static bool happens_before(const struct requests *r, const struct request_span *parent, const struct ordered *children, size_t n,
                           const struct request_span *before, const struct request_span *later) {
  if (before->end_ns < later->start_ns) return true;
  bool shifted = before->end_ns < later->end_ns && before->start_ns < later->start_ns;
  if (!shifted || parent->duration_ns == 0 || 100 * (before->end_ns - later->start_ns) >= parent->duration_ns) return false;
  return n <= SIBLINGS_MAX && events_between(r, children, n, later->start_ns, before->end_ns) == 2;
}

/* Returns how long the span is. on_path: its own time counts for the path too. */
static int64_t walk(struct requests *r, int64_t at, int depth, bool on_path) {
  struct request_span *s = &r->spans[at];
  struct operation_total *o = &r->operations[s->operation];
  struct ordered *children = xalloc((size_t)s->n_children + 1, sizeof *children);
  size_t n = 0;
  int64_t path_ns = 0, covered_ns = 0, reached_ns = INT64_MIN;
  o->n++;
  for (int64_t c = s->first_child; c != NONE && depth < DEPTH_MAX; c = r->spans[c].next_sibling) {
    if (!fit_child(r, s, &r->spans[c])) continue;
    children[n] = (struct ordered){.start_ns = r->spans[c].start_ns, .end_ns = r->spans[c].end_ns, .order = (int64_t)n, .span = c};
    n++;
  }
  qsort(children, n, sizeof *children, by_end);
  const struct request_span *later = NULL;
  for (size_t i = 0; i < n; i++) {
    const struct request_span *c = &r->spans[children[i].span];
    bool next = later == NULL || happens_before(r, s, children, n, c, later);
    int64_t ns = walk(r, children[i].span, depth + 1, on_path && next);
    if (!next) continue;
    path_ns = sum_ns(path_ns, ns);
    later = c;
  }
  /* Own work: what no child covers. */
  qsort(children, n, sizeof *children, by_start);
  for (size_t i = 0; i < n; i++) {
    const struct request_span *c = &r->spans[children[i].span];
    int64_t from_ns = c->start_ns > reached_ns ? c->start_ns : reached_ns;
    if (c->end_ns > from_ns) covered_ns += c->end_ns - from_ns;
    if (c->end_ns > reached_ns) reached_ns = c->end_ns;
  }
  o->work_ns = sum_ns(o->work_ns, s->duration_ns > covered_ns ? s->duration_ns - covered_ns : 0);
  if (on_path) o->on_path_ns = sum_ns(o->on_path_ns, s->duration_ns > path_ns ? s->duration_ns - path_ns : 0);
  free(children);
  return s->duration_ns;
}

static int by_path(const void *a, const void *b) {
  const struct operation_total *x = a, *y = b;
  if (x->on_path_ns != y->on_path_ns) return x->on_path_ns > y->on_path_ns ? -1 : 1;
  int c = strcmp(x->service, y->service);
  return c != 0 ? c : strcmp(x->name, y->name);
}

void requests_finish(struct requests *r) {
  int64_t reached = 0;
  join_parents(r);
  join_operations(r);
  for (size_t i = 0; i < r->n_spans; i++) {
    if (r->spans[i].parent != NONE) continue;
    r->n_roots++;
    r->total_ns = sum_ns(r->total_ns, r->spans[i].duration_ns);
    (void)walk(r, (int64_t)i, 0, true);
  }
  for (size_t i = 0; i < r->n_operations; i++) reached += r->operations[i].n;
  r->n_unreached = (int64_t)r->n_spans - reached;
  qsort(r->operations, r->n_operations, sizeof *r->operations, by_path);
}

void requests_release(struct requests *r) {
  free(r->spans);
  free(r->operations);
  arena_release(&r->arena);
  *r = (struct requests){.n_spans = 0};
}

/* The word by itself: "redis" is not in "predistribute". */
static bool has_word(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *at = text; (at = strcasestr(at, word)) != NULL; at++)
    if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n])) return true;
  return false;
}

bool requests_layer(const char *service, const char *name, enum layer *ret) {
  static const struct {
    const char *word;
    enum layer layer;
    bool whole; /* a phase is called so, and nothing more: other programs decode and queue, too */
  } known[] = {{"queue", LAYER_SERVING, true},
               {"prefill", LAYER_RUNTIME, true},
               {"decode", LAYER_RUNTIME, true},
               {"llm_request", LAYER_SERVING, false},
               {"vllm", LAYER_SERVING, false},
               {"sglang", LAYER_SERVING, false},
               {"text-generation", LAYER_SERVING, false},
               {"triton", LAYER_SERVING, false},
               {"ollama", LAYER_SERVING, false},
               {"nginx", LAYER_SYSTEM, false},
               {"envoy", LAYER_SYSTEM, false},
               {"ingress", LAYER_SYSTEM, false},
               {"postgres", LAYER_SYSTEM, false},
               {"redis", LAYER_SYSTEM, false}};
  for (size_t i = 0; i < LYNX_COUNT(known); i++) {
    bool is = known[i].whole ? strcasecmp(name, known[i].word) == 0 : has_word(name, known[i].word) || has_word(service, known[i].word);
    if (!is) continue;
    *ret = known[i].layer;
    return true;
  }
  return false;
}

double requests_unattributed(const struct requests *r) {
  double sum = 0;
  enum layer layer;
  for (size_t i = 0; i < r->n_operations; i++)
    if (!requests_layer(r->operations[i].service, r->operations[i].name, &layer)) sum += (double)r->operations[i].on_path_ns;
  return r->total_ns > 0 ? sum / (double)r->total_ns : 0;
}
