#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/work.h"
#include "page/curves.h"
#include "page/data_table.h"
#include "page/frame.h"

enum { TEXT_MAX = 1 << 16, DIFFERENCE_MAX = 16 << 20, FACTS_MAX = 2000, OF_FIGURE = 3, OF_RUN = 4, OF_FACT = 3 };

static const char *const letters[COMPARED_MAX] = {"A", "B", "C", "D", "E"}, *const keys[COMPARED_MAX] = {"a", "b", "c", "d", "e"};

/* A fact that differs from A's in one of the others. */
struct differing {
  const char *layer, *owner, *key;
  const char *values[COMPARED_MAX]; /* NULL: as A's */
};

struct comparing {
  struct frame *frame;
  const struct compared *runs;
  struct table_column columns[OF_FIGURE + COMPARED_MAX * OF_RUN], fact_columns[OF_FACT + COMPARED_MAX];
  struct table figures, facts;
  struct arena arena;
  struct differing *differing;
  size_t n_differing;
  bool known; /* how their executors differ */
  struct curves curves;
};

/* --- figures --- */

static const char *key_of(struct comparing *x, size_t run, const char *ending) {
  return arena_printf(&x->arena, "%s%s", keys[run], ending);
}

static void begin_figures(struct comparing *x) {
  struct table_column *c = x->columns;
  *c++ = (struct table_column){"precision", "precision", false};
  *c++ = (struct table_column){"figure", "figure", false};
  *c++ = (struct table_column){"unit", NULL, false};
  for (size_t i = 0; i < x->runs->n; i++) {
    *c++ = (struct table_column){keys[i], letters[i], true};
    *c++ = (struct table_column){key_of(x, i, "_low"), NULL, true};
    *c++ = (struct table_column){key_of(x, i, "_high"), NULL, true};
    if (i > 0) *c++ = (struct table_column){key_of(x, i, "_ratio"), arena_printf(&x->arena, "%s / A", letters[i]), true};
  }
  table_begin(&x->figures, x->columns, (size_t)(c - x->columns));
}

static const struct summary_figure *same_figure(const struct board_run *b, const struct summary_precision *p,
                                                const struct summary_figure *figure) {
  for (size_t i = 0; b->summary != NULL && i < b->summary->n_precisions; i++) {
    const struct summary_precision *other = &b->summary->precisions[i];
    for (size_t k = 0; strcmp(other->name, p->name) == 0 && k < other->n_figures; k++)
      if (strcmp(other->figures[k].name, figure->name) == 0 && strcmp(other->figures[k].formula, figure->formula) == 0)
        return &other->figures[k];
  }
  return NULL;
}

static void add_value(struct table *t, const struct summary_figure *figure) {
  struct buffer text;
  buffer_init(&text, TEXT_MAX);
  if (figure != NULL) figure_put(figure->value, figure->low, figure->high, figure->unit, &text);
  table_number(t, figure != NULL ? figure->value : NAN, text.data);
  table_number(t, figure != NULL ? figure->low : NAN, NULL);
  table_number(t, figure != NULL ? figure->high : NAN, NULL);
  buffer_release(&text);
}

static void add_figure(struct comparing *x, const struct summary_precision *p, const struct summary_figure *one) {
  struct table *t = &x->figures;
  char ratio[32];
  table_text(t, p->name);
  table_text(t, one->name);
  table_text(t, one->unit);
  add_value(t, one);
  for (size_t i = 1; i < x->runs->n; i++) {
    const struct summary_figure *other = same_figure(x->runs->run[i], p, one);
    add_value(t, other);
    double r = other != NULL && one->value > 0 ? other->value / one->value : NAN;
    (void)snprintf(ratio, sizeof ratio, "%.3f", r);
    table_number(t, r, ratio);
  }
}

static void make_figures(struct comparing *x) {
  const struct summary *a = x->runs->run[0]->summary;
  begin_figures(x);
  for (size_t i = 0; a != NULL && i < a->n_precisions; i++)
    for (size_t k = 0; k < a->precisions[i].n_figures; k++) add_figure(x, &a->precisions[i], &a->precisions[i].figures[k]);
}

/* --- executors --- */

static struct differing *differing_of(struct comparing *x, const json_t *fact) {
  const char *key = json_get_text(fact, "key", "");
  for (size_t i = 0; i < x->n_differing; i++)
    if (strcmp(x->differing[i].key, key) == 0) return &x->differing[i];
  if (x->n_differing == FACTS_MAX) return NULL;
  struct differing *d = &x->differing[x->n_differing++];
  d->layer = arena_copy(&x->arena, json_get_text(fact, "layer", ""));
  d->owner = arena_copy(&x->arena, json_get_text(fact, "owner", ""));
  d->key = arena_copy(&x->arena, key);
  d->values[0] = arena_copy(&x->arena, json_get_text(fact, "a", "(missing)"));
  return d;
}

/* Of A and one other. */
static bool read_difference(struct comparing *x, size_t run, const struct buffer *difference) {
  struct lynx_error ignored = {0};
  json_t *list = json_parse(difference->data, difference->length, DIFFERENCE_MAX, &ignored);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *fact = json_array_get(list, i);
    if (strcmp(json_get_text(fact, "of", ""), fact_kind_text(FACT_IDENTITY)) != 0) continue;
    struct differing *d = differing_of(x, fact);
    if (d != NULL) d->values[run] = arena_copy(&x->arena, json_get_text(fact, "b", "(missing)"));
  }
  bool known = json_is_array(list);
  json_decref(list);
  return known;
}

static void make_facts(struct comparing *x) {
  struct table *t = &x->facts;
  memcpy(x->fact_columns, (const struct table_column[]){{"layer", "layer", false}, {"owner", "owner", false}, {"fact", "fact", false}},
         OF_FACT * sizeof *x->fact_columns);
  for (size_t i = 0; i < x->runs->n; i++) x->fact_columns[OF_FACT + i] = (struct table_column){keys[i], letters[i], false};
  table_begin(t, x->fact_columns, OF_FACT + x->runs->n);
  for (size_t i = 0; i < x->n_differing; i++) {
    const struct differing *d = &x->differing[i];
    table_text(t, d->layer);
    table_text(t, d->owner);
    table_text(t, d->key);
    table_class(t, "mono");
    for (size_t k = 0; k < x->runs->n; k++) table_text(t, d->values[k] != NULL ? d->values[k] : d->values[0]);
  }
}

/* What only bundles say. */
static void open_bundles(struct comparing *x) {
  const struct pages *pages = x->frame->pages;
  const struct compared *runs = x->runs;
  struct buffer made;
  buffer_init(&made, PAGE_BYTES_MAX);
  x->known = pages->view != NULL;
  for (size_t i = 1; i < runs->n && x->known; i++) {
    buffer_clear(&made);
    x->known = runs->run[0]->has_file && runs->run[i]->has_file &&
               pages->view(pages->context, VIEW_DIFFERENCE, runs->run[0]->file, runs->run[i]->file, &made) && read_difference(x, i, &made);
  }
  for (size_t i = 0; i < runs->n && pages->view != NULL && x->frame->form != FORM_CSV; i++) {
    buffer_clear(&made);
    if (runs->run[i]->has_file && pages->view(pages->context, VIEW_RESULT, runs->run[i]->file, NULL, &made))
      (void)curves_add(&x->curves, letters[i], &made);
  }
  buffer_release(&made);
}

/* --- the page --- */

static void put_side(struct frame *f, const char *letter, const struct board_run *run) {
  struct markup *m = &f->markup;
  char hex[DIGEST_HEX], time[32];
  markup_open(m, "p", NULL);
  markup_whole(m, "b", NULL, letter);
  markup_text(m, " ");
  markup_link(m, NULL, run->label[0] != 0 ? run->label : "a run without a name", "%sresult/%s.html", f->up, digest_hex(run->root, hex));
  markup_printf(m, " of %s, %s, by %s ", f->pages->board->contracts[run->contract].name, board_run_time(run, time), run->by);
  frame_entry(f, run->index);
  markup_close(m);
}

/* How their executors differ. */
static const char *executors_text(struct comparing *x) {
  static const char *const numbers[] = {"", "", "Two", "Three", "Four", "Five"};
  const char *runs = numbers[x->runs->n];
  if (!x->known) return arena_printf(&x->arena, "%s runs; how their executors differ cannot be read here", runs);
  if (x->n_differing == 0) return arena_printf(&x->arena, "%s runs of the same executor, as far as it was captured", runs);
  return arena_printf(&x->arena, "%s runs whose executors differ in %zu fact%s", runs, x->n_differing, LYNX_S(x->n_differing));
}

/* Of two runs: which is better, by their signed summaries, as if they had been run in turn. */
static const char *title_of(struct comparing *x) {
  const struct board *b = x->frame->pages->board;
  const struct board_run *one = x->runs->run[0], *other = x->runs->run[1];
  struct effect_measured e;
  if (x->runs->n != 2 || one->summary == NULL || other->summary == NULL) return executors_text(x);
  if (!work_same_question(b, one, other)) return "Not decided: they are of contracts that differ in load, answers or objectives";
  bool turned = other->summary->started_ns < one->summary->started_ns; /* the one that ran first is before */
  if (turned) effect_measure(other->summary, one->summary, true, b->contracts[one->contract].contract, &e);
  else effect_measure(one->summary, other->summary, true, b->contracts[one->contract].contract, &e);
  const char *first = turned ? "B" : "A", *last = turned ? "A" : "B";
  const char *factor = e.name[0] != 0
                           ? arena_printf(&x->arena, "%s's %s is %.2f times [%.2f, %.2f] %s's", last, e.name, e.ratio, e.low, e.high, first)
                           : "";
  switch (e.effect) {
    case EFFECT_IMPROVED: return arena_printf(&x->arena, "%s is better: %s", last, factor);
    case EFFECT_WORSE: return arena_printf(&x->arena, "%s is better: %s", first, factor);
    case EFFECT_NONE: return arena_printf(&x->arena, "The same within the margin: %s", factor);
    default: return arena_printf(&x->arena, "Not decided: %s", e.why);
  }
}

/* A verdict needs both bundles. */
static void put_next(struct comparing *x) {
  struct markup *m = &x->frame->markup;
  char hex[2][DIGEST_HEX];
  markup_open(m, "p", "class", "dim", NULL);
  markup_text(
      m, "Means of each run's sessions, with their intervals. A ratio here is no verdict: runs also differ by chance. With both bundles, ");
  markup_whole(m, "code", NULL,
               arena_printf(&x->arena, "lynxbench compare %.8s….lynx %.8s….lynx", digest_hex(x->runs->run[0]->root, hex[0]),
                            digest_hex(x->runs->run[1]->root, hex[1])));
  markup_text(m, " decides.");
  markup_close(m);
}

static void put_page(struct comparing *x) {
  struct frame *f = x->frame;
  struct markup *m = &f->markup;
  bool of_one = true;
  frame_begin(f, "Runs compared", "json csv");
  frame_title(f, "comparison", title_of(x));
  if (x->runs->n == 2) markup_whole(m, "p", "lead", executors_text(x));
  for (size_t i = 0; i < x->runs->n; i++) {
    put_side(f, letters[i], x->runs->run[i]);
    of_one = of_one && x->runs->run[i]->contract == x->runs->run[0]->contract;
  }
  if (!of_one) markup_whole(m, "p", "bad", "They are not of one contract: their figures need not mean the same.");
  curves_plot(&x->curves, m);
  frame_heading(f, "Figures");
  table_to_markup(&x->figures, m);
  put_next(x);
  if (x->n_differing > 0) {
    frame_heading(f, "Executor");
    table_to_markup(&x->facts, m);
  }
  frame_end(f);
}

static void put_json(struct comparing *x) {
  struct json_writer json;
  json_begin_object(&json, x->frame->markup.out);
  json_key(&json, "figures");
  table_to_json(&x->figures, &json);
  json_key(&json, "curves");
  curves_to_json(&x->curves, &json);
  json_key(&json, "executor");
  if (x->known) table_to_json(&x->facts, &json);
  else json_nothing(&json);
  json_close(&json);
}

void compare_page(struct frame *f, const struct compared *runs) {
  struct comparing *x = xalloc(1, sizeof *x);
  x->frame = f;
  x->runs = runs;
  x->differing = xalloc(FACTS_MAX, sizeof *x->differing);
  make_figures(x);
  open_bundles(x);
  make_facts(x);
  if (f->form == FORM_HTML) put_page(x);
  else if (f->form == FORM_CSV) table_to_csv(&x->figures, f->markup.out);
  else put_json(x);
  table_release(&x->figures);
  table_release(&x->facts);
  arena_release(&x->arena);
  free(x->differing);
  free(x);
}
