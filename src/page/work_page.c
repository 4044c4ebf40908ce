#include "page/work_page.h"

#include <math.h>
#include <stdio.h>

#include "page/frame.h"

enum { ITEMS_SHOWN = 500 };

static const struct table_column columns[] = {{"state", "state", false},
                                              {"why", NULL, false},
                                              {"finding", NULL, true},
                                              {"title", "finding", false},
                                              {"layer", "layer", false},
                                              {"owner", "owner", false},
                                              {"contract", "contract", false},
                                              {"digest", NULL, false},
                                              {"runs", "runs", true},
                                              {"experiment", NULL, false},
                                              {"response", "answered", false},
                                              {"change", "change", false},
                                              {"by", NULL, false},
                                              {"commit", NULL, false},
                                              {"ticket", NULL, false},
                                              {"effect", "effect", false},
                                              {"figure", NULL, false},
                                              {"after_to_before", NULL, true},
                                              {"low", NULL, true},
                                              {"high", NULL, true},
                                              {"measured_by", "measured by", false},
                                              {"measured_entry", NULL, true},
                                              {"before", NULL, false},
                                              {"after", NULL, false}};

void work_table_begin(struct table *table) {
  table_begin(table, columns, LYNX_COUNT(columns));
}

static const char *class_of(const struct work_item *item) {
  return item->state == WORK_CLOSED ? "good" : item->state == WORK_AGAIN ? "bad" : NULL;
}

static void add_change(struct table *t, const struct board_change *c) {
  const char *const cells[] = {c != NULL ? c->words : NULL, c != NULL ? c->by : NULL, c != NULL ? c->commit : NULL,
                               c != NULL ? c->ticket : NULL};
  for (size_t i = 0; i < LYNX_COUNT(cells); i++) table_text(t, cells[i] != NULL && cells[i][0] != 0 ? cells[i] : NULL);
}

static void add_effect(struct table *t, const struct board *b, const struct work_item *item) {
  const struct effect_measured *e = &item->effect;
  const struct board_iteration *x = item->measured;
  bool known = x != NULL && e->name[0] != 0;
  char hex[DIGEST_HEX];
  table_text(t, x == NULL ? NULL
                : known
                    ? arena_printf(&t->arena, "%s: %s times %.3f [%.3f, %.3f]", effect_text(e->effect), e->name, e->ratio, e->low, e->high)
                    : effect_text(e->effect));
  table_text(t, known ? e->name : NULL);
  table_number(t, known ? e->ratio : NAN, NULL);
  table_number(t, known ? e->low : NAN, NULL);
  table_number(t, known ? e->high : NAN, NULL);
  table_text(t, x != NULL ? x->by : NULL);
  table_number(t, x != NULL ? (double)x->index : NAN, NULL);
  table_text(t, x != NULL ? arena_copy(&t->arena, digest_hex(b->runs[x->before].root, hex)) : NULL);
  table_text(t, x != NULL ? arena_copy(&t->arena, digest_hex(b->runs[x->after].root, hex)) : NULL);
}

void work_table_add(struct table *t, const struct board *b, const struct work_item *item) {
  const struct board_finding *f = item->finding;
  const struct board_contract *c = item->contract;
  char hex[DIGEST_HEX];
  table_text(t, work_state_text(item->state));
  table_class(t, class_of(item));
  table_text(t, item->why[0] != 0 ? item->why : NULL);
  table_number(t, (double)f->index, NULL);
  table_text(t, f->title);
  table_link(t, arena_printf(&t->arena, "result/%s.html", digest_hex(item->run->root, hex)));
  table_text(t, item->layer[0] != 0 ? item->layer : NULL);
  table_text(t, item->owner[0] != 0 ? item->owner : "nobody yet");
  table_text(t, c->name[0] != 0 ? c->name : c->hex);
  table_link(t, arena_printf(&t->arena, "contract/%s.html", c->hex));
  table_text(t, c->hex);
  table_number(t, (double)item->n_seen, NULL);
  table_text(t, item->confirmation != NULL ? item->confirmation->verdict : NULL);
  table_text(t, item->response != NULL ? work_response_words(item, &t->arena) : NULL);
  add_change(t, item->change);
  add_effect(t, b, item);
}

static void put_totals(struct frame *f) {
  struct markup *m = &f->markup;
  const struct board *b = f->pages->board;
  bool begun = false;
  for (size_t i = 0; i < b->n_contracts; i++) {
    const struct board_contract *c = &b->contracts[i];
    struct work_total t;
    char from[32], to[32];
    if (!work_total(b, c, &t)) continue;
    if (!begun) {
      frame_heading(f, "What the changes brought");
      markup_whole(m, "p", "dim",
                   "From the run before the first measured change to the run after the last one, with whatever else changed "
                   "between the two. Effects of single changes are not added: together they need not do what each did.");
      markup_open(m, "ul", "class", "statements", NULL);
      begun = true;
    }
    markup_open(m, "li", NULL);
    markup_link(m, NULL, c->name[0] != 0 ? c->name : c->hex, "contract/%s.html", c->hex);
    markup_printf(m, ": %s times %.3f [%.3f, %.3f] from %.16s to %.16s; %zu change%s measured, %zu improved it", t.effect.name,
                  t.effect.ratio, t.effect.low, t.effect.high, board_run_time(t.first, from), board_run_time(t.last, to), t.n_changes,
                  LYNX_S(t.n_changes), t.n_improved);
    markup_close(m);
  }
  if (begun) markup_close(m);
}

static void put_page(struct frame *f, const struct work_list *list, const struct table *table) {
  struct markup *m = &f->markup;
  char title[200];
  size_t open = list->n_items - list->n[WORK_CLOSED];
  (void)snprintf(title, sizeof title, "%zu finding%s open, %zu closed by a measurement", open, LYNX_S(open), list->n[WORK_CLOSED]);
  frame_begin(f, "Findings", "json csv");
  frame_title(f, f->pages->board->origin, title);
  if (list->n_items == 0) {
    markup_whole(m, "p", "lead", "No finding is in this ledger yet. A run's own findings, or one that a team states, come in by:");
    markup_whole(m, "pre", NULL,
                 "lynxbench attribute RUN.lynx --record RUN.lynx --ledger LEDGER\nlynxbench iterate open RUN.lynx --title TEXT "
                 "--layer LAYER --ledger LEDGER");
  } else table_to_markup(table, m);
  if (list->n_items > ITEMS_SHOWN) {
    markup_printf(m, "The first %d; all %zu are in the ", ITEMS_SHOWN, list->n_items);
    markup_link(m, NULL, "CSV", "work.csv");
  }
  put_totals(f);
  frame_end(f);
}

void work_page(struct frame *f) {
  struct work_list list;
  struct table table;
  struct json_writer json;
  work_list_make(f->pages->board, NULL, &list);
  work_table_begin(&table);
  for (size_t i = 0; i < list.n_items && (f->form != FORM_HTML || i < ITEMS_SHOWN); i++)
    work_table_add(&table, f->pages->board, &list.items[i]);
  json_begin(&json, f->markup.out);
  if (f->form == FORM_HTML) put_page(f, &list, &table);
  else if (f->form == FORM_CSV) table_to_csv(&table, f->markup.out);
  else table_to_json(&table, &json);
  table_release(&table);
  work_list_release(&list);
}
