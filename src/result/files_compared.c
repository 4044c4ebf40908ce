#include "result/files_compared.h"

#include <math.h>
#include <string.h>

#define WORK_TOLERANCE 0.02 /* of mean lengths: a sampled workload varies by that much from seed to seed */

const char *files_verdict_text(enum files_verdict verdict) {
  static const char *const texts[] = {
      [FILES_BETTER] = "better", [FILES_WORSE] = "worse",         [FILES_SAME] = "the same within the margin",
      [FILES_MIXED] = "mixed",   [FILES_UNDECIDED] = "undecided", [FILES_OTHER_WORK] = "not the same work"};
  return texts[verdict];
}

/* --- which figures --- */

/* 1: more is better; -1: less is. Counts and deviations are neither. */
static int better_of(const struct import_figure *f) {
  if (strcmp(f->unit, "1/s") == 0) return text_ends_with(f->name, "standard deviation") || strncmp(f->name, "peak", 4) == 0 ? 0 : 1;
  bool time = strcmp(f->unit, "ms") == 0 || strcmp(f->unit, "us") == 0 || strcmp(f->unit, "ns") == 0 || strcmp(f->unit, "s") == 0;
  return time && strstr(f->name, "deviation") == NULL ? -1 : 0;
}

static const struct import_figure *find(const struct imported *m, const struct import_figure *like) {
  for (size_t i = 0; i < m->n_figures; i++) {
    const struct import_figure *f = &m->figures[i];
    if (strcmp(f->name, like->name) == 0 && strcmp(f->formula, like->formula) == 0 && strcmp(f->unit, like->unit) == 0) return f;
  }
  return NULL;
}

/* One of each group is judged: the first that both sides have. */
static const char *const groups[][5] = {
    {"output tokens per second", "tokens per second", "requests per second", "samples per second", "inferences per second"},
    {"time to first token mean", "time to first token median", "time to first token p50", NULL},
    {"time per output token mean", "inter-token latency mean", "time per output token median", "inter-token latency p50"},
    {"end to end mean", "request latency mean", "latency mean", "latency p50"}};

static struct compared_figure *figure_named(struct files_compared *c, const char *name) {
  for (size_t i = 0; i < c->n_items; i++)
    if (strcmp(c->items[i].name, name) == 0) return &c->items[i];
  return NULL;
}

static bool is_offered(const struct files_side *side) {
  for (size_t i = 0; i < side->n; i++)
    if (side->items[i].rate_per_s > 0) return true;
  return false;
}

static void choose_judged(struct files_compared *c, bool offered) {
  for (size_t g = offered ? 1 : 0; g < LYNX_COUNT(groups); g++)
    for (size_t k = 0; k < LYNX_COUNT(groups[g]) && groups[g][k] != NULL; k++) {
      struct compared_figure *f = figure_named(c, groups[g][k]);
      if (f == NULL) continue;
      f->judged = true;
      f->rank = g;
      break;
    }
  for (size_t i = 0; i < c->n_items; i++) {
    struct compared_figure *f = &c->items[i];
    if (strcmp(f->formula, "llama_bench.rate.1") == 0 && f->better > 0) f->judged = true, f->rank = LYNX_COUNT(groups);
    c->n_judged += f->judged;
  }
}

/* --- values --- */

static size_t values_of(const struct files_side *side, const struct import_figure *like, double *ret, double *ret_mean) {
  size_t n = 0;
  double sum = 0;
  for (size_t i = 0; i < side->n; i++) {
    const struct import_figure *f = find(&side->items[i], like);
    if (f == NULL) continue;
    ret[n++] = f->stated;
    sum += f->stated;
  }
  *ret_mean = n > 0 ? sum / (double)n : NAN;
  return n;
}

static void take_figures(const struct files_side *before, const struct files_side *after, struct files_compared *c) {
  const struct imported *first = &before->items[0];
  c->items = arena_alloc(&c->arena, first->n_figures + 1, sizeof *c->items);
  for (size_t i = 0; i < first->n_figures; i++) {
    const struct import_figure *f = &first->figures[i];
    double x[COMPARED_FILES_MAX];
    struct compared_figure item = {.name = f->name, .formula = f->formula, .unit = f->unit, .better = better_of(f)};
    item.n_before = values_of(before, f, x, &item.before);
    item.n_after = values_of(after, f, x, &item.after);
    if (item.n_after > 0 && item.better != 0 && item.before > 0 && item.after > 0) c->items[c->n_items++] = item;
  }
}

static void compare_figure(const struct files_side *before, const struct files_side *after, struct files_compared *c,
                           struct compared_figure *f) {
  double a[COMPARED_FILES_MAX], b[COMPARED_FILES_MAX], mean;
  struct import_figure like = {.name = f->name, .formula = f->formula, .unit = f->unit};
  size_t n_b = values_of(before, &like, b, &mean), n_a = values_of(after, &like, a, &mean);
  f->ratio = (struct comparison){.ratio = f->after / f->before, .low = NAN, .high = NAN, .verdict = VERDICT_INCONCLUSIVE};
  /* Files that agree to the last digit say nothing of how runs vary: a short clock, or one run twice. */
  bool vary = false;
  for (size_t i = 1; i < n_a; i++) vary = vary || a[i] != a[0];
  for (size_t i = 1; i < n_b; i++) vary = vary || b[i] != b[0];
  if (n_a >= 2 && n_b >= 2 && vary)
    f->ratio = compare_sessions(a, n_a, b, n_b, false, c->margin, f->judged ? c->each_confidence : c->confidence);
}

/* --- was it the same work? --- */

struct work {
  const char *what;
  double (*of)(const struct imported *m); /* NaN: not stated */
  double tolerance;
};

static double per_request(const struct imported *m, const char *total) {
  double n = import_figure_stated(m, "requests that went well");
  return n > 0 ? import_figure_stated(m, total) / n : NAN;
}

static double prompt_tokens(const struct imported *m) {
  return per_request(m, "input tokens");
}

static double output_tokens(const struct imported *m) {
  return per_request(m, "output tokens");
}

static double in_flight(const struct imported *m) {
  return m->concurrency > 0 ? (double)m->concurrency : NAN;
}

static double rate(const struct imported *m) {
  return m->rate_per_s > 0 ? m->rate_per_s : NAN;
}

/* The most of the files that say it; 0: none does. */
static double most_failed(const struct files_side *side) {
  double most = 0;
  for (size_t i = 0; i < side->n; i++) most = fmax(most, import_failed_share(&side->items[i])); /* of NaN and a number, the number */
  return most;
}

static void say_other(struct files_compared *c, const char *text) {
  c->other_work = arena_room(&c->arena, (void *)c->other_work, c->n_other_work, sizeof *c->other_work); /* pointers are what is meant */
  c->other_work[c->n_other_work++] = text;
}

/* The least and the greatest of a side. False: a file does not state it. */
struct range {
  double low, high;
};

static bool range_of(const struct files_side *side, const struct work *w, struct range *ret) {
  *ret = (struct range){INFINITY, -INFINITY};
  for (size_t i = 0; i < side->n; i++) {
    double value = w->of(&side->items[i]);
    if (isnan(value)) return false;
    *ret = (struct range){fmin(ret->low, value), fmax(ret->high, value)};
  }
  return true;
}

static const char *range_text(struct arena *arena, struct range r) {
  return r.high > r.low ? arena_printf(arena, "%.6g to %.6g", r.low, r.high) : arena_printf(arena, "%.6g", r.low);
}

/* The first two files that name different ones. */
static void check_models(const struct files_side *before, const struct files_side *after, struct files_compared *c) {
  const char *model = "";
  for (size_t i = 0; i < before->n + after->n; i++) {
    const char *own = i < before->n ? before->items[i].model : after->items[i - before->n].model;
    if (own[0] != 0 && model[0] != 0 && strcmp(own, model) != 0) {
      say_other(c, arena_printf(&c->arena, "model: '%s' and '%s'", model, own));
      return;
    }
    if (own[0] != 0) model = own;
  }
}

static void check_work(const struct files_side *before, const struct files_side *after, struct files_compared *c) {
  static const struct work works[] = {{"tokens of a prompt, mean", prompt_tokens, WORK_TOLERANCE},
                                      {"tokens of an answer, mean", output_tokens, WORK_TOLERANCE},
                                      {"requests in flight that were allowed", in_flight, 0},
                                      {"requests per second that were offered", rate, 0.001}};
  struct range a, b;
  for (size_t i = 0; i < LYNX_COUNT(works); i++) {
    bool known[2] = {range_of(before, &works[i], &a), range_of(after, &works[i], &b)};
    if (known[0] != known[1] && works[i].tolerance < WORK_TOLERANCE)
      say_other(c, arena_printf(&c->arena, "%s: stated on one side only", works[i].what));
    if (!known[0] || !known[1] || fmax(a.high, b.high) - fmin(a.low, b.low) <= works[i].tolerance * fmax(a.high, b.high)) continue;
    say_other(c, arena_printf(&c->arena, "%s: %s before, %s after", works[i].what, range_text(&c->arena, a), range_text(&c->arena, b)));
  }
  double lost[2] = {most_failed(before), most_failed(after)};
  if (fmax(lost[0], lost[1]) > 0.01)
    say_other(c, arena_printf(&c->arena, "requests failed: up to %.3g %% before, %.3g %% after; what failed is in no latency",
                              100 * lost[0], 100 * lost[1]));
  check_models(before, after, c);
  if (c->n_items == 0)
    say_other(c,
              arena_printf(&c->arena, "no figure of one formula is on both sides (%s, %s)", before->items[0].tool, after->items[0].tool));
}

/* --- the verdict --- */

static void judge(struct files_compared *c) {
  const struct compared_figure *gain = NULL, *loss = NULL, *open = NULL;
  for (size_t i = 0; i < c->n_items; i++) {
    const struct compared_figure *f = &c->items[i];
    if (!f->judged) continue;
    enum verdict v = f->ratio.verdict;
    bool more = f->ratio.ratio > 1;
    if (v == VERDICT_INCONCLUSIVE) open = open != NULL ? open : f;
    else if (v == VERDICT_DIFFERENT_BEYOND && more == (f->better > 0)) gain = gain != NULL ? gain : f;
    else if (v == VERDICT_DIFFERENT_BEYOND) loss = loss != NULL ? loss : f;
    if (c->named == NULL) c->named = f;
  }
  c->verdict = c->n_other_work > 0 || c->n_judged == 0 ? FILES_OTHER_WORK
               : gain != NULL && loss != NULL          ? FILES_MIXED
               : gain != NULL                          ? FILES_BETTER
               : loss != NULL                          ? FILES_WORSE
               : open != NULL                          ? FILES_UNDECIDED
                                                       : FILES_SAME;
  const struct compared_figure *decided = gain != NULL ? gain : loss != NULL ? loss : open;
  if (decided != NULL) c->named = decided;
  if (c->verdict != FILES_UNDECIDED || !c->named->ratio.bounded) return;
  size_t n = c->named->n_before > c->named->n_after ? c->named->n_before : c->named->n_after;
  c->needed_per_side = fmax(c->named->ratio.needed_per_side, (double)n + 1);
}

static bool before_in_order(const struct compared_figure *a, const struct compared_figure *b) {
  return a->judged != b->judged ? a->judged : a->judged && a->rank < b->rank;
}

void files_compare(const struct files_side *before, const struct files_side *after, double margin, double confidence,
                   struct files_compared *ret) {
  *ret = (struct files_compared){.margin = margin, .confidence = confidence, .each_confidence = confidence, .needed_per_side = INFINITY};
  take_figures(before, after, ret);
  choose_judged(ret, is_offered(before) || is_offered(after));
  if (ret->n_judged > 0) ret->each_confidence = 1 - (1 - confidence) / (double)ret->n_judged;
  for (size_t i = 1; i < ret->n_items; i++) /* the judged ones first, by their groups; else in the tool's order */
    for (size_t k = i; k > 0 && before_in_order(&ret->items[k], &ret->items[k - 1]); k--) {
      struct compared_figure f = ret->items[k];
      ret->items[k] = ret->items[k - 1];
      ret->items[k - 1] = f;
    }
  for (size_t i = 0; i < ret->n_items; i++) compare_figure(before, after, ret, &ret->items[i]);
  check_work(before, after, ret);
  judge(ret);
}

void files_compared_release(struct files_compared *compared) {
  arena_release(&compared->arena);
  *compared = (struct files_compared){.n_items = 0};
}
