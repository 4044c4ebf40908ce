#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/work.h"
#include "page/frame.h"
#include "page/spark.h"
#include "page/data_table.h"

enum { CARDS_MAX = 200 };

/* A contract, with what its card says. */
struct card {
  struct board_contract *contract;
  const struct board_run *run; /* the newest */
  struct meeting meeting;
  size_t n_signed, n_signatories, n_open, n_reproduced, n_not_reproduced;
  int64_t newest_ns;
};

static int rank(const struct card *c) {
  return c->meeting.contested ? 0 : c->meeting.worse ? 1 : c->contract->n_runs > 0 ? 2 : 3;
}

static int by_need(const void *a, const void *b) {
  const struct card *x = a, *y = b;
  if (rank(x) != rank(y)) return rank(x) - rank(y);
  if (x->newest_ns != y->newest_ns) return (x->newest_ns < y->newest_ns) - (x->newest_ns > y->newest_ns);
  return strcmp(x->contract->hex, y->contract->hex);
}

static void make_card(const struct board *b, struct board_contract *contract, struct card *ret) {
  *ret = (struct card){.contract = contract};
  meeting_make(b, contract, &ret->meeting);
  ret->n_signed = board_signed(contract, &ret->n_signatories);
  for (size_t i = 0; i < contract->n_runs; i++) {
    const struct board_run *run = &b->runs[contract->runs[i]];
    ret->run = run;
    ret->n_open += run->n_open;
    ret->n_reproduced += run->n_reproduced;
    ret->n_not_reproduced += run->n_not_reproduced;
    if (run->summary != NULL && run->summary->started_ns > ret->newest_ns) ret->newest_ns = run->summary->started_ns;
  }
}

/* --- one card --- */

static void put_chip(struct markup *m, const char *class, const char *text) {
  markup_whole(m, "li", class, text);
}

static void put_standing(struct markup *m, const struct card *c) {
  char text[120];
  size_t n_missing = c->contract->n_intents - c->contract->n_sealed;
  markup_open(m, "ul", "class", "chips", NULL);
  if (c->n_signatories > 0) {
    (void)snprintf(text, sizeof text, "signed by %zu of %zu", c->n_signed, c->n_signatories);
    put_chip(m, c->n_signed == c->n_signatories ? "good" : "warn", text);
  } else put_chip(m, "warn", c->contract->contract != NULL ? "names no signatories" : "its words are not in the ledger");
  (void)snprintf(text, sizeof text, "reproduced %zu", c->n_reproduced);
  if (c->n_reproduced > 0) put_chip(m, "good", text);
  (void)snprintf(text, sizeof text, "not reproduced %zu", c->n_not_reproduced);
  if (c->n_not_reproduced > 0) put_chip(m, "bad", text);
  else if (c->n_reproduced == 0 && c->contract->n_runs > 0) put_chip(m, "", "verified by nobody yet");
  (void)snprintf(text, sizeof text, "%zu contest%s open", c->n_open, c->n_open == 1 ? "" : "s");
  if (c->n_open > 0) put_chip(m, "bad", text);
  (void)snprintf(text, sizeof text, "%zu run%s without a bundle", n_missing, n_missing == 1 ? "" : "s");
  if (n_missing > 0) put_chip(m, "warn", text);
  markup_close(m);
}

/* Those that are not closed, with what is done about them. */
static void put_findings(struct markup *m, const struct board *b, const struct board_contract *c) {
  struct work_list list;
  struct arena arena = {0};
  work_list_make(b, c, &list);
  for (size_t i = 0; i < list.n_items && i < 3 && list.items[i].state != WORK_CLOSED; i++) {
    const struct work_item *item = &list.items[i];
    const char *known = item->confirmation != NULL ? item->confirmation->verdict : work_found(item->finding);
    markup_open(m, "p", "class", "finding", NULL);
    markup_whole(m, "span", "dim", item->state == WORK_OPEN ? known : work_state_text(item->state));
    markup_printf(m, " %s · %s", item->finding->title, work_whose(c, item->finding, &arena));
    markup_close(m);
  }
  work_list_release(&list);
  arena_release(&arena);
}

static void put_card(struct frame *f, const struct card *c) {
  struct markup *m = &f->markup;
  const struct board_contract *contract = c->contract;
  markup_open(m, "article", "class", "contract", NULL);
  markup_open(m, "div", NULL);
  markup_open(m, "h2", NULL);
  markup_link(m, NULL, contract->name[0] != 0 ? contract->name : contract->hex, "contract/%s.html", contract->hex);
  markup_close(m);
  if (contract->contract != NULL && contract->contract->question != NULL) markup_whole(m, "p", "question", contract->contract->question);
  markup_whole(m, "p", c->meeting.worse || c->meeting.contested ? "verdict bad" : "verdict", c->meeting.title);
  put_standing(m, c);
  put_findings(m, f->pages->board, contract);
  markup_open(m, "p", "class", "dim", NULL);
  markup_printf(m, "%zu run%s", contract->n_runs, contract->n_runs == 1 ? "" : "s");
  if (c->run != NULL) markup_printf(m, ", the last one recorded by %s on %.10s", c->run->by, c->run->time);
  markup_text(m, " · ");
  markup_link(m, NULL, "meeting page", "meeting/%s.html", contract->hex);
  markup_close(m);
  markup_close(m);
  if (c->meeting.headline != NULL && c->meeting.headline->n_values > 1) spark_put(m, &contract->history, c->meeting.headline);
  markup_close(m);
}

static const char *title_of(const struct card *cards, size_t n, char *text, size_t size) {
  size_t n_worse = 0, n_contested = 0;
  for (size_t i = 0; i < n; i++) {
    n_contested += cards[i].meeting.contested;
    n_worse += cards[i].meeting.worse;
  }
  int used = snprintf(text, size, "%zu contract%s", n, n == 1 ? "" : "s");
  if (n_worse > 0) used += snprintf(text + used, size - (size_t)used, ", %zu got worse", n_worse);
  if (n_contested > 0) used += snprintf(text + used, size - (size_t)used, ", %zu contested", n_contested);
  if (n > 0 && n_worse + n_contested == 0) (void)snprintf(text + used, size - (size_t)used, ", nothing worse, nothing contested");
  return text;
}

static void put_page(struct frame *f, const struct card *cards, size_t n) {
  char text[200];
  frame_begin(f, f->pages->board->origin, "json csv");
  frame_title(f, f->pages->board->origin, title_of(cards, n, text, sizeof text));
  if (n == 0) {
    markup_whole(&f->markup, "p", "lead", "No contract is in this ledger yet. The first one comes with the first signature or run:");
    markup_whole(&f->markup, "pre", NULL, "lynxbench run CONTRACT --ledger LEDGER --key TEAM.key");
  }
  for (size_t i = 0; i < n && i < CARDS_MAX; i++) put_card(f, &cards[i]);
  if (n > CARDS_MAX) {
    markup_printf(&f->markup, "The %d that need attention most, or were measured last; all %zu are in the ", CARDS_MAX, n);
    markup_link(&f->markup, NULL, "CSV", "index.csv");
  }
  frame_end(f);
}

/* --- as data --- */

static const struct table_column columns[] = {{"contract", "contract", false},
                                              {"digest", NULL, false},
                                              {"question", NULL, false},
                                              {"verdict", "verdict", false},
                                              {"worse", NULL, false},
                                              {"contested", NULL, false},
                                              {"figure", "figure", false},
                                              {"unit", NULL, false},
                                              {"value", NULL, true},
                                              {"low", NULL, true},
                                              {"high", NULL, true},
                                              {"precision", NULL, false},
                                              {"runs", "runs", true},
                                              {"runs_without_bundle", NULL, true},
                                              {"signed", NULL, true},
                                              {"signatories", NULL, true},
                                              {"reproduced", NULL, true},
                                              {"not_reproduced", NULL, true},
                                              {"contests_open", NULL, true}};

static void add_row(struct table *t, const struct card *c) {
  const struct history_series *s = c->meeting.headline;
  const struct history_value *v = c->meeting.value;
  table_text(t, c->contract->name);
  table_text(t, c->contract->hex);
  table_text(t, c->contract->contract != NULL ? c->contract->contract->question : NULL);
  table_text(t, c->meeting.title);
  table_text(t, c->meeting.worse ? "yes" : "no");
  table_text(t, c->meeting.contested ? "yes" : "no");
  table_text(t, s != NULL ? s->figure : NULL);
  table_text(t, s != NULL ? s->unit : NULL);
  table_number(t, v != NULL ? v->value : NAN, NULL);
  table_number(t, v != NULL ? v->low : NAN, NULL);
  table_number(t, v != NULL ? v->high : NAN, NULL);
  table_text(t, s != NULL ? s->precision : NULL);
  const size_t counts[] = {c->contract->n_runs,
                           c->contract->n_intents - c->contract->n_sealed,
                           c->n_signed,
                           c->n_signatories,
                           c->n_reproduced,
                           c->n_not_reproduced,
                           c->n_open};
  for (size_t i = 0; i < LYNX_COUNT(counts); i++) table_number(t, (double)counts[i], NULL);
}

static void put_data(struct frame *f, const struct card *cards, size_t n) {
  struct table t;
  struct json_writer json;
  table_begin(&t, columns, LYNX_COUNT(columns));
  for (size_t i = 0; i < n; i++) add_row(&t, &cards[i]);
  json_begin(&json, f->markup.out);
  if (f->form == FORM_CSV) table_to_csv(&t, f->markup.out);
  else table_to_json(&t, &json);
  table_release(&t);
}

void home_page(struct frame *f) {
  struct board *b = f->pages->board;
  struct card *cards = xalloc(b->n_contracts + 1, sizeof *cards);
  for (size_t i = 0; i < b->n_contracts; i++) {
    board_judge(b, &b->contracts[i]);
    make_card(b, &b->contracts[i], &cards[i]);
  }
  qsort(cards, b->n_contracts, sizeof *cards, by_need);
  if (f->form == FORM_HTML) put_page(f, cards, b->n_contracts);
  else put_data(f, cards, b->n_contracts);
  for (size_t i = 0; i < b->n_contracts; i++) meeting_release(&cards[i].meeting);
  free(cards);
}
