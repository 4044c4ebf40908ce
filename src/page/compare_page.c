#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/frame.h"
#include "page/data_table.h"

enum { TEXT_MAX = 1 << 16, FACTS_MAX = 2000 };

static const struct table_column columns[] = {{"precision", "precision", false},
                                              {"figure", "figure", false},
                                              {"unit", NULL, false},
                                              {"a", "A", true},
                                              {"a_low", NULL, true},
                                              {"a_high", NULL, true},
                                              {"b", "B", true},
                                              {"b_low", NULL, true},
                                              {"b_high", NULL, true},
                                              {"ratio", "B / A", true}};

static const struct table_column fact_columns[] = {
    {"layer", "layer", false}, {"owner", "owner", false}, {"fact", "fact", false}, {"a", "A", false}, {"b", "B", false}};

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
  if (figure != NULL) history_put_figure(figure->value, figure->low, figure->high, figure->unit, &text);
  table_number(t, figure != NULL ? figure->value : NAN, text.data);
  table_number(t, figure != NULL ? figure->low : NAN, NULL);
  table_number(t, figure != NULL ? figure->high : NAN, NULL);
  buffer_release(&text);
}

static void make_figures(const struct board_run *a, const struct board_run *b, struct table *t) {
  char ratio[32];
  table_begin(t, columns, LYNX_COUNT(columns));
  for (size_t i = 0; a->summary != NULL && i < a->summary->n_precisions; i++) {
    const struct summary_precision *p = &a->summary->precisions[i];
    for (size_t k = 0; k < p->n_figures; k++) {
      const struct summary_figure *one = &p->figures[k], *other = same_figure(b, p, one);
      table_text(t, p->name);
      table_text(t, one->name);
      table_text(t, one->unit);
      add_value(t, one);
      add_value(t, other);
      double r = other != NULL && one->value > 0 ? other->value / one->value : NAN;
      (void)snprintf(ratio, sizeof ratio, "%.3f", r);
      table_number(t, r, ratio);
    }
  }
}

static bool make_facts(const struct buffer *difference, struct table *t) {
  struct lynx_error error = {0};
  json_t *list = difference != NULL ? json_parse(difference->data, difference->length, TEXT_MAX << 8, &error) : NULL;
  table_begin(t, fact_columns, LYNX_COUNT(fact_columns));
  for (size_t i = 0; i < json_array_size(list) && i < FACTS_MAX; i++) {
    const json_t *fact = json_array_get(list, i);
    if (strcmp(json_get_text(fact, "of", ""), fact_kind_text(FACT_IDENTITY)) != 0) continue;
    table_text(t, json_get_text(fact, "layer", ""));
    table_text(t, json_get_text(fact, "owner", ""));
    table_text(t, json_get_text(fact, "key", ""));
    table_class(t, "mono");
    table_text(t, json_get_text(fact, "a", "(missing)"));
    table_text(t, json_get_text(fact, "b", "(missing)"));
  }
  bool known = json_is_array(list);
  json_decref(list);
  return known;
}

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

static void put_page(struct frame *f, const struct board_run *a, const struct board_run *b, const struct table *figures,
                     const struct table *facts, bool known) {
  struct markup *m = &f->markup;
  size_t n_facts = facts->n_cells / LYNX_COUNT(fact_columns);
  char hex[2][DIGEST_HEX], text[300];
  frame_begin(f, "Two runs compared", "json csv");
  if (!known) (void)snprintf(text, sizeof text, "Two runs; how their executors differ cannot be read here");
  else if (n_facts == 0) (void)snprintf(text, sizeof text, "Two runs of the same executor, as far as it was captured");
  else (void)snprintf(text, sizeof text, "Two runs whose executors differ in %zu fact%s", n_facts, n_facts == 1 ? "" : "s");
  frame_title(f, "comparison", text);
  put_side(f, "A", a);
  put_side(f, "B", b);
  if (a->contract != b->contract) markup_whole(m, "p", "bad", "They are of two contracts: their figures need not mean the same.");
  frame_heading(f, "Figures");
  table_to_markup(figures, m);
  markup_open(m, "p", "class", "dim", NULL);
  markup_text(
      m, "Means of each run's sessions, with their intervals. A ratio here is no verdict: runs also differ by chance. With both bundles, ");
  (void)snprintf(text, sizeof text, "lynxbench compare %.8s….lynx %.8s….lynx", digest_hex(a->root, hex[0]), digest_hex(b->root, hex[1]));
  markup_whole(m, "code", NULL, text);
  markup_text(m, " decides.");
  markup_close(m);
  if (n_facts > 0) {
    frame_heading(f, "Executor");
    table_to_markup(facts, m);
  }
  frame_end(f);
}

void compare_page(struct frame *f, const struct board_run *a, const struct board_run *b, const struct buffer *difference) {
  struct table figures, facts;
  struct json_writer json;
  make_figures(a, b, &figures);
  bool known = make_facts(difference, &facts);
  json_begin(&json, f->markup.out);
  if (f->form == FORM_HTML) put_page(f, a, b, &figures, &facts, known);
  else if (f->form == FORM_CSV) table_to_csv(&figures, f->markup.out);
  else {
    json_open_object(&json);
    json_key(&json, "figures");
    table_to_json(&figures, &json);
    json_key(&json, "executor");
    if (known) table_to_json(&facts, &json);
    else json_nothing(&json);
    json_close(&json);
  }
  table_release(&figures);
  table_release(&facts);
}
