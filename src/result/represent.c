#include "result/represent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/rows.h"
#include "result/values.h"

struct gathering {
  struct request_log log; /* the run's counted requests, as a log */
  size_t room;
  struct values inputs; /* of every request of the session */
};

static enum lynx_status take_row(void *context, const struct row *row) {
  struct gathering *g = context;
  const struct bundle_request *r = row->request;
  values_add(&g->inputs, (double)r->input);
  if (!row->counted) return LYNX_OK;
  g->log.items = xroom(g->log.items, g->log.n_items, &g->room, sizeof *g->log.items);
  g->log.items[g->log.n_items++] = (struct logged_request){.at_ns = r->scheduled_ns,
                                                           .duration_ns = r->end_ns > r->scheduled_ns ? r->end_ns - r->scheduled_ns : -1,
                                                           .prompt_tokens = r->prompt_tokens,
                                                           .output_tokens = r->output_tokens,
                                                           .cached_tokens = -1};
  return LYNX_OK;
}

/* The share of the inputs' bytes that an earlier one begins with too; each request asks for one of them, so asking again reuses all. */
struct prompts {
  const struct values *asked; /* ascending */
  struct bytes *items;
  size_t n, room;
  struct arena arena;
};

static bool was_asked(const struct values *asked, int64_t id) {
  size_t low = 0, high = asked->n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (asked->at[middle] < (double)id) low = middle + 1;
    else high = middle;
  }
  return low < asked->n && asked->at[low] <= (double)id;
}

static enum lynx_status keep_input(void *context, int64_t id, const char *text, size_t length) {
  struct prompts *p = context;
  if (!was_asked(p->asked, id)) return LYNX_OK;
  p->items = xroom(p->items, p->n, &p->room, sizeof *p->items);
  p->items[p->n++] = (struct bytes){arena_text(&p->arena, text, length), length};
  return LYNX_OK;
}

static int compare_prompts(const void *a, const void *b) {
  const struct bytes *x = a, *y = b;
  int order = memcmp(x->ptr, y->ptr, x->length < y->length ? x->length : y->length);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

static double prefix_reuse(struct bundle *bundle, struct values *asked) {
  struct prompts p = {.asked = asked};
  double shared = 0, all = 0, n_requests = (double)asked->n;
  quantile_sort(asked->at, asked->n);
  if (bundle_each_input(bundle, keep_input, &p, NULL) == LYNX_OK && p.n > 0) {
    qsort(p.items, p.n, sizeof *p.items, compare_prompts);
    for (size_t i = 0; i < p.n; i++) { /* in sorted order the longest common beginning is with a neighbour */
      size_t common = 0;
      while (i > 0 && common < p.items[i].length && common < p.items[i - 1].length && p.items[i].ptr[common] == p.items[i - 1].ptr[common])
        common++;
      shared += (double)common;
      all += (double)p.items[i].length;
    }
  }
  double n = (double)p.n, first = n_requests > 0 ? (n < n_requests ? n / n_requests : 1) : 1; /* the rest are repetitions */
  free(p.items);
  arena_release(&p.arena);
  return all > 0 ? first * shared / all + (1 - first) : NAN;
}

static int by_time(const void *a, const void *b) {
  const struct logged_request *x = a, *y = b;
  return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

enum lynx_status represent_judge(struct bundle *bundle, struct result *result, struct result_precision *p, struct lynx_error *error) {
  const char *text = bundle_meta(bundle, "profile");
  struct profile real, run;
  if (text == NULL) return LYNX_OK;
  enum lynx_status status = profile_read(text, strlen(text), &real, error);
  if (status != LYNX_OK) return status;
  if (result->profile_taken[0] == 0) {
    result->profile_taken = arena_copy(&result->arena, real.taken_at);
    result->profile_signed_by = arena_copy(&result->arena, real.signed_by);
  }
  const struct result_session *session = NULL;
  for (size_t i = 0; i < p->n_sessions && session == NULL; i++)
    if (p->sessions[i].complete) session = &p->sessions[i]; /* the first stands for all: they draw from the same */
  struct gathering g = {0};
  if (session != NULL) status = rows_each_brief(bundle, session->id, take_row, &g, error);
  if (status == LYNX_OK && g.log.n_items > 1) {
    qsort(g.log.items, g.log.n_items, sizeof *g.log.items, by_time);
    int64_t first = g.log.items[0].at_ns;
    for (size_t i = 0; i < g.log.n_items; i++) g.log.items[i].at_ns -= first;
    profile_of_log(&g.log, "this run", "", &run);
    run.prefix_reuse = result->contract.workload.prompts.withhold ? NAN : prefix_reuse(bundle, &g.inputs);
    p->distance = profile_compare(&run, &real);
    p->distance_known = true;
    profile_release(&run);
  }
  values_release(&g.inputs);
  request_log_release(&g.log);
  profile_release(&real);
  return status;
}
