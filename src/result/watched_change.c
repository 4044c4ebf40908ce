#include "result/watched_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "result/rows.h"

enum { OCTAVES = 24, KINDS = OCTAVES * OCTAVES, WINDOWS_MAX = 512, DRAWS = 1000 };
enum figure { FIRST, WHOLE, FIGURES };

/* Sums of one window, by kind of demand. */
struct kind_sum {
  double n, sum_ns[FIGURES];
};

struct side {
  struct kind_sum *windows; /* [n_windows][KINDS] */
  size_t n_windows;
  double prompt, output, n_prompt, n_output, n, seconds;
};

/* 0: not known; else one more than the binary logarithm. */
static size_t octave(int64_t tokens) {
  size_t k = 0;
  if (tokens < 0) return 0;
  while (tokens > 1 && k < OCTAVES - 2) tokens /= 2, k++;
  return k + 1;
}

static enum lynx_status take_row(void *context, const struct row *row) {
  struct side *side = context;
  const struct bundle_request *q = row->request;
  if (!row->ok || q->first_token_ns < 0) return LYNX_OK;
  struct kind_sum *kind = &side->windows[(side->n_windows - 1) * KINDS + octave(q->prompt_tokens) * OCTAVES + octave(q->output_tokens)];
  kind->n++;
  kind->sum_ns[FIRST] += (double)(q->first_token_ns - q->scheduled_ns);
  kind->sum_ns[WHOLE] += (double)(q->end_ns - q->scheduled_ns);
  side->n++;
  if (q->prompt_tokens >= 0) side->prompt += (double)q->prompt_tokens, side->n_prompt++;
  if (q->output_tokens >= 0) side->output += (double)q->output_tokens, side->n_output++;
  return LYNX_OK;
}

static enum lynx_status read_side(struct bundle *bundle, const struct result *result, struct side *ret, struct lynx_error *error) {
  const struct result_precision *p = &result->precisions[0];
  enum lynx_status status = LYNX_OK;
  ret->windows = xalloc((size_t)WINDOWS_MAX * KINDS, sizeof *ret->windows);
  for (size_t i = 0; i < p->n_sessions && ret->n_windows < WINDOWS_MAX && status == LYNX_OK; i++) {
    if (!p->sessions[i].complete) continue;
    ret->n_windows++;
    ret->seconds += (double)(p->sessions[i].steady.to_ns - p->sessions[i].steady.from_ns) / 1e9;
    status = rows_each_brief(bundle, p->sessions[i].id, take_row, ret, error);
  }
  return status;
}

/* Of some of its windows, each as often as it was drawn. */
static void add_up(const struct side *side, const size_t *drawn, struct kind_sum *ret) {
  memset(ret, 0, KINDS * sizeof *ret);
  for (size_t i = 0; i < side->n_windows; i++) {
    const struct kind_sum *from = &side->windows[(drawn != NULL ? drawn[i] : i) * KINDS];
    for (size_t k = 0; k < KINDS; k++) {
      ret[k].n += from[k].n;
      for (int f = 0; f < FIGURES; f++) ret[k].sum_ns[f] += from[k].sum_ns[f];
    }
  }
}

static struct demand_shift shift_of(struct kind_sum *const sums[2], enum figure figure) {
  struct stratum strata[KINDS];
  double n[2] = {0, 0};
  for (int side = 0; side < 2; side++)
    for (size_t k = 0; k < KINDS; k++) n[side] += sums[side][k].n;
  for (size_t k = 0; k < KINDS; k++)
    for (int side = 0; side < 2; side++) {
      strata[k].weight[side] = n[side] > 0 ? sums[side][k].n / n[side] : 0;
      strata[k].mean[side] = sums[side][k].n > 0 ? sums[side][k].sum_ns[figure] / sums[side][k].n : 0;
    }
  return demand_shift(strata, KINDS);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static struct watched_part part_of(double estimate, double *drawn) {
  qsort(drawn, DRAWS, sizeof *drawn, by_value);
  return (struct watched_part){estimate, drawn[DRAWS / 40], drawn[DRAWS - 1 - DRAWS / 40]};
}

static void draw_windows(struct random_stream *stream, size_t n, size_t *ret) {
  for (size_t i = 0; i < n; i++) ret[i] = (size_t)random_below(stream, n);
}

static void find_figures(const struct side sides[2], struct watched_change *ret) {
  struct watched_figure *figures[FIGURES] = {&ret->first, &ret->whole};
  struct kind_sum *sums[2] = {xalloc(KINDS, sizeof **sums), xalloc(KINDS, sizeof **sums)};
  double *drawn[FIGURES][2];
  size_t *windows = xalloc(WINDOWS_MAX, sizeof *windows);
  struct random_stream stream;
  random_init(&stream, 1, "watched change");
  for (int f = 0; f < FIGURES; f++)
    for (int k = 0; k < 2; k++) drawn[f][k] = xalloc(DRAWS, sizeof **drawn[f]);
  for (size_t i = 0; i < DRAWS; i++) {
    for (int side = 0; side < 2; side++) {
      draw_windows(&stream, sides[side].n_windows, windows);
      add_up(&sides[side], windows, sums[side]);
    }
    for (int f = 0; f < FIGURES; f++) {
      struct demand_shift s = shift_of(sums, (enum figure)f);
      drawn[f][0][i] = s.demand;
      drawn[f][1][i] = s.system;
    }
  }
  for (int side = 0; side < 2; side++) add_up(&sides[side], NULL, sums[side]);
  for (int f = 0; f < FIGURES; f++) {
    struct demand_shift s = shift_of(sums, (enum figure)f);
    *figures[f] = (struct watched_figure){
        .before_ns = s.before, .after_ns = s.after, .demand = part_of(s.demand, drawn[f][0]), .system = part_of(s.system, drawn[f][1])};
    free(drawn[f][0]);
    free(drawn[f][1]);
  }
  double unseen = 0;
  for (size_t k = 0; k < KINDS; k++) unseen += sums[0][k].n < WATCHED_STRATUM_LEAST ? sums[1][k].n : 0;
  ret->unseen = sides[1].n > 0 ? unseen / sides[1].n : 1;
  free(sums[0]);
  free(sums[1]);
  free(windows);
}

static const char *why_not(const struct side sides[2], const struct watched_change *c, struct arena *arena) {
  for (int side = 0; side < 2; side++) {
    if (sides[side].n < WATCHED_ROWS_LEAST)
      return arena_printf(arena, "%.0f requests %s; %d are needed a side: watch for longer", sides[side].n, side == 0 ? "before" : "after",
                          WATCHED_ROWS_LEAST);
    if (sides[side].n_windows < 2) return "fewer than two whole windows a side: watch for longer";
  }
  if (c->unseen > 0.1)
    return arena_printf(arena,
                        "%.0f %% of the requests after are of lengths that hardly came before: there is nothing to hold them against",
                        100 * c->unseen);
  return NULL;
}

enum lynx_status watched_change_find(struct bundle *before, const struct result *a, struct bundle *after, const struct result *b,
                                     struct arena *arena, struct watched_change *ret, struct lynx_error *error) {
  struct side sides[2] = {{.windows = NULL}, {.windows = NULL}};
  *ret = (struct watched_change){.why = ""};
  enum lynx_status status = read_side(before, a, &sides[0], error);
  if (status == LYNX_OK) status = read_side(after, b, &sides[1], error);
  for (int side = 0; side < 2; side++) {
    const struct side *s = &sides[side];
    ret->n[side] = (int64_t)s->n;
    ret->prompt[side] = s->n_prompt > 0 ? s->prompt / s->n_prompt : NAN;
    ret->output[side] = s->n_output > 0 ? s->output / s->n_output : NAN;
    ret->prompt_unknown[side] = s->n > 0 ? 1 - s->n_prompt / s->n : 0;
    ret->rate[side] = s->seconds > 0 ? s->n / s->seconds : NAN;
  }
  if (status == LYNX_OK && sides[0].n_windows > 0 && sides[1].n_windows > 0) find_figures(sides, ret);
  const char *why = status == LYNX_OK ? why_not(sides, ret, arena) : "";
  ret->known = why == NULL;
  if (why != NULL) ret->why = why;
  free(sides[0].windows);
  free(sides[1].windows);
  return status;
}
