#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/work.h"
#include "page/frame.h"
#include "page/spark.h"
#include "page/data_table.h"
#include "report/timetable_report.h"

enum { CARDS_MAX = 200, CARD_BYTES_MAX = 1 << 20, TITLE_BYTES = 300 };

/* A contract, with what its card says, as of when n_changes of it had happened. */
struct card {
  const struct board_contract *contract;
  const struct board_run *run; /* the newest */
  uint64_t n_changes;
  struct meeting meeting;
  size_t n_signed, n_signatories, n_open, n_reproduced, n_not_reproduced;
  int64_t newest_ns;
  struct buffer made; /* its markup; empty: not made yet */
};

/* One for each contract, in the board's order. */
struct home_cards {
  struct card *items;
  size_t n, room;
};

/* One of the cards, in the order of the page. */
struct place {
  struct card *card;
};

static int rank(const struct card *c) {
  return c->meeting.contested ? 0 : c->meeting.worse ? 1 : c->contract->n_runs > 0 ? 2 : 3;
}

static int by_need(const void *a, const void *b) {
  const struct card *x = ((const struct place *)a)->card, *y = ((const struct place *)b)->card;
  if (rank(x) != rank(y)) return rank(x) - rank(y);
  if (x->newest_ns != y->newest_ns) return (x->newest_ns < y->newest_ns) - (x->newest_ns > y->newest_ns);
  return strcmp(x->contract->hex, y->contract->hex);
}

static void make_card(const struct board *b, const struct board_contract *contract, struct card *ret) {
  meeting_release(&ret->meeting);
  buffer_release(&ret->made);
  *ret = (struct card){.contract = contract, .n_changes = contract->n_changes};
  meeting_make(b, contract, &ret->meeting);
  ret->n_signed = board_signed(contract, &ret->n_signatories);
  for (size_t i = 0; i < contract->n_runs; i++) {
    const struct board_run *run = &b->runs[contract->runs[i]];
    ret->n_open += run->n_open;
    ret->n_reproduced += run->n_reproduced;
    ret->n_not_reproduced += run->n_not_reproduced;
    if (run->summary != NULL && run->summary->started_ns > ret->newest_ns) ret->newest_ns = run->summary->started_ns;
  }
}

/* The board's arrays may have moved since; what a card says has not changed where nothing of its contract has. */
static void update_cards(struct board *b, struct home_cards *cards) {
  for (size_t i = 0; i < b->n_contracts; i++) {
    struct board_contract *contract = &b->contracts[i];
    bool new = i == cards->n;
    cards->items = xroom(cards->items, cards->n, &cards->room, sizeof *cards->items);
    if (new) cards->items[cards->n++] = (struct card){.n_changes = 0};
    struct card *card = &cards->items[i];
    board_judge(b, contract);
    if (new || card->n_changes != contract->n_changes) make_card(b, contract, card);
    card->contract = contract;
    card->run = contract->n_runs > 0 ? &b->runs[contract->runs[contract->n_runs - 1]] : NULL;
  }
}

struct home_cards *home_cards_new(void) {
  return xalloc(1, sizeof(struct home_cards));
}

void home_cards_release(struct home_cards *cards) {
  for (size_t i = 0; cards != NULL && i < cards->n; i++) {
    meeting_release(&cards->items[i].meeting);
    buffer_release(&cards->items[i].made);
  }
  if (cards != NULL) free(cards->items);
  free(cards);
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
  else if (c->n_reproduced == 0 && c->contract->n_runs > 0) put_chip(m, "", "not verified by another team yet");
  (void)snprintf(text, sizeof text, "%zu contest%s open", c->n_open, LYNX_S(c->n_open));
  if (c->n_open > 0) put_chip(m, "bad", text);
  (void)snprintf(text, sizeof text, "%zu run%s without a bundle", n_missing, LYNX_S(n_missing));
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
    markup_printf(m, " %s · %s", item->finding->title, work_whose_now(item, &arena));
    markup_close(m);
  }
  work_list_release(&list);
  arena_release(&arena);
}

/* Another contract has that name: an earlier text of it, or one of somebody else. */
static bool is_namesake(const struct board *b, const struct board_contract *contract) {
  for (size_t i = 0; i < b->n_contracts; i++)
    if (&b->contracts[i] != contract && strcmp(b->contracts[i].name, contract->name) == 0) return true;
  return false;
}

static void write_card(struct markup *m, const struct board *b, const struct card *c) {
  const struct board_contract *contract = c->contract;
  struct arena arena = {0};
  markup_open(m, "article", "class", "contract", NULL);
  markup_open(m, "div", NULL);
  markup_open(m, "h2", NULL);
  markup_link(m, NULL, contract->name[0] != 0 ? contract->name : contract->hex, "contract/%s.html", contract->hex);
  if (contract->name[0] != 0 && is_namesake(b, contract)) markup_printf(m, " %.8s", contract->hex);
  markup_close(m);
  const struct answer *answer = &c->meeting.answered.answer;
  markup_whole(m, "p", "question", answer->question);
  markup_open(m, "p", "class", "verdict", NULL);
  markup_whole(m, "b", NULL, answer->sentence);
  markup_text(m, " ");
  markup_open(m, "span", "class", arena_printf(&arena, "state %s", answer_state_class(answer->state)), NULL);
  markup_printf(m, "%s %s", answer_state_icon(answer->state), answer_state_text(answer->state));
  markup_close(m);
  markup_close(m);
  if (c->meeting.changed) markup_whole(m, "p", c->meeting.worse ? "trend bad" : "trend", c->meeting.trend);
  put_standing(m, c);
  put_findings(m, b, contract);
  markup_open(m, "p", "class", "dim", NULL);
  markup_printf(m, "%zu run%s", contract->n_runs, LYNX_S(contract->n_runs));
  if (c->run != NULL) markup_printf(m, ", the last one recorded by %s on %.10s", c->run->by, c->run->time);
  markup_text(m, " · ");
  markup_link(m, NULL, "meeting page", "meeting/%s.html", contract->hex);
  markup_close(m);
  markup_close(m);
  if (c->meeting.headline != NULL && c->meeting.headline->n_values > 1) spark_put(m, &contract->history, c->meeting.headline);
  markup_close(m);
  arena_release(&arena);
}

static void put_card(struct frame *f, struct card *c) {
  if (c->made.length == 0) {
    struct markup m = {.out = &c->made};
    buffer_init(&c->made, CARD_BYTES_MAX);
    write_card(&m, f->pages->board, c);
  }
  markup_made(&f->markup, &c->made);
}

/* --- what should have run --- */

/* The newest time that is over, if it was not kept; NULL. */
static const struct timetable_slot *unkept(const struct timetable_log *log) {
  size_t i = log->n_slots;
  while (i > 0 && log->slots[i - 1].state == SLOT_RUNNING) i--;
  return i > 0 && log->slots[i - 1].state != SLOT_KEPT ? &log->slots[i - 1] : NULL;
}

static size_t count_unkept(const struct page_schedules *s) {
  size_t n = 0;
  for (size_t i = 0; s != NULL && i < s->n; i++) n += unkept(&s->items[i]) != NULL;
  return n;
}

static void put_unkept(struct markup *m, const struct timetable_log *log) {
  const struct timetable_slot *slot = unkept(log);
  char due[32];
  if (slot == NULL) return;
  markup_open(m, "li", "class", "bad", NULL);
  markup_printf(m, "%s, due at %s: %s%s%s", log->schedule.name, timetable_time(slot->slot_s, due, sizeof due), slot_state_text(slot->state),
                slot->why[0] != 0 ? ": " : "", slot->why);
  if (slot->exit > 0) markup_printf(m, " (exit code %" PRId64 ")", slot->exit);
  markup_printf(m, ". Kept: %zu of %zu. ", log->n[SLOT_KEPT], log->n_slots + log->n_before);
  markup_link(m, NULL, "Every time", "schedule.html");
  markup_close(m);
}

static void put_schedules(struct frame *f, const struct page_schedules *s) {
  struct markup *m = &f->markup;
  if (s == NULL || s->n + s->n_unreadable == 0) return;
  if (count_unkept(s) + s->n_unreadable == 0) {
    markup_open(m, "p", "class", "dim", NULL);
    markup_printf(m, "The newest time of %s was kept. ", s->n == 1 ? "the schedule" : "each schedule");
    markup_link(m, NULL, s->n == 1 ? "The schedule" : "The schedules", "schedule.html");
    markup_close(m);
    return;
  }
  markup_open(m, "section", NULL);
  frame_heading(f, "Due, and not measured");
  markup_open(m, "ul", "class", "statements", NULL);
  for (size_t i = 0; i < s->n; i++) put_unkept(m, &s->items[i]);
  if (s->n_unreadable > 0) {
    markup_open(m, "li", "class", "bad", NULL);
    markup_printf(m, "%zu log%s of schedules in %s cannot be read: whether they were kept is not known.", s->n_unreadable,
                  LYNX_S(s->n_unreadable), s->folder);
    markup_close(m);
  }
  markup_close(m);
  markup_close(m);
}

/* --- the page --- */

static const char *title_of(const struct place *places, size_t n, size_t n_unkept, char *text) {
  size_t n_worse = 0, n_contested = 0, n_unclaimed = 0;
  for (size_t i = 0; i < n; i++) {
    n_contested += places[i].card->meeting.contested;
    n_worse += places[i].card->meeting.worse;
    n_unclaimed += places[i].card->meeting.unclaimed;
  }
  int used = snprintf(text, TITLE_BYTES, "%zu contract%s", n, LYNX_S(n));
  if (n_worse > 0) used += snprintf(text + used, TITLE_BYTES - (size_t)used, ", %zu got worse", n_worse);
  if (n_contested > 0) used += snprintf(text + used, TITLE_BYTES - (size_t)used, ", %zu contested", n_contested);
  if (n_unclaimed > 0) used += snprintf(text + used, TITLE_BYTES - (size_t)used, ", %zu without a claim", n_unclaimed);
  if (n > 0 && n_worse + n_contested + n_unclaimed == 0)
    used += snprintf(text + used, TITLE_BYTES - (size_t)used, ", nothing worse, nothing contested");
  if (n_unkept > 0) (void)snprintf(text + used, TITLE_BYTES - (size_t)used, ", %zu schedule%s not kept", n_unkept, LYNX_S(n_unkept));
  return text;
}

static void put_page(struct frame *f, const struct place *places, size_t n) {
  char text[TITLE_BYTES];
  frame_begin(f, f->pages->board->origin, "json csv");
  frame_title(f, f->pages->board->origin, title_of(places, n, count_unkept(f->pages->schedules), text));
  put_schedules(f, f->pages->schedules);
  if (n == 0) {
    markup_whole(&f->markup, "p", "lead", "No contract is in this ledger yet. The first one comes with the first signature or run:");
    markup_whole(&f->markup, "pre", NULL, "lynxbench run CONTRACT --ledger LEDGER --key TEAM.key");
  }
  for (size_t i = 0; i < n && i < CARDS_MAX; i++) put_card(f, places[i].card);
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
                                              {"answer", "answer", false},
                                              {"state", "state", false},
                                              {"trend", "trend", false},
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
  table_text(t, c->meeting.answered.answer.question);
  table_text(t, c->meeting.answered.answer.sentence);
  table_text(t, answer_state_text(c->meeting.answered.answer.state));
  table_text(t, c->meeting.trend);
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

static void put_data(struct frame *f, const struct place *places, size_t n) {
  struct table t;
  struct json_writer json;
  table_begin(&t, columns, LYNX_COUNT(columns));
  for (size_t i = 0; i < n; i++) add_row(&t, places[i].card);
  json_begin(&json, f->markup.out);
  if (f->form == FORM_CSV) table_to_csv(&t, f->markup.out);
  else table_to_json(&t, &json);
  table_release(&t);
}

void home_page(struct frame *f, struct home_cards *cards) {
  update_cards(f->pages->board, cards);
  struct place *places = xalloc(cards->n + 1, sizeof *places);
  for (size_t i = 0; i < cards->n; i++) places[i].card = &cards->items[i];
  qsort(places, cards->n, sizeof *places, by_need);
  if (f->form == FORM_HTML) put_page(f, places, cards->n);
  else put_data(f, places, cards->n);
  free(places);
}
