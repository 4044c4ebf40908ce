#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/frame.h"

static const char *const kinds[MEETING_KINDS] = {
    [MEETING_AGREED] = "agreed", [MEETING_CONTESTED] = "contested", [MEETING_UNKNOWN] = "not known", [MEETING_NEXT] = "next"};

static void put_evidence(struct frame *f, const struct meeting_item *s) {
  struct markup *m = &f->markup;
  char hex[DIGEST_HEX];
  if (s->entry != UINT64_MAX) {
    markup_text(m, " ");
    frame_entry(f, s->entry);
  }
  if (s->run == SIZE_MAX) return;
  markup_text(m, " ");
  markup_link(m, "entry", "result", "%sresult/%s.html", f->up, digest_hex(f->pages->board->runs[s->run].root, hex));
}

static void put_column(struct frame *f, const struct meeting *meeting, enum meeting_kind kind, const char *title, const char *none) {
  struct markup *m = &f->markup;
  size_t n = 0;
  markup_open(m, "section", NULL);
  markup_whole(m, "h2", NULL, title);
  markup_open(m, "ul", "class", "statements", NULL);
  for (size_t i = 0; i < meeting->n_items; i++) {
    if (meeting->items[i].kind != kind) continue;
    markup_open(m, "li", NULL);
    markup_text(m, meeting->items[i].text);
    put_evidence(f, &meeting->items[i]);
    markup_close(m);
    n++;
  }
  if (n == 0) markup_whole(m, "li", "dim", none);
  markup_close(m);
  markup_close(m);
}

static void put_next(struct frame *f, const struct meeting *meeting) {
  struct markup *m = &f->markup;
  size_t n = 0;
  for (size_t i = 0; i < meeting->n_items; i++) {
    const struct meeting_item *s = &meeting->items[i];
    if (s->kind != MEETING_NEXT) continue;
    if (n++ == 0) {
      frame_heading(f, "Next, by owner");
      markup_open(m, "dl", "class", "next", NULL);
    }
    markup_whole(m, "dt", NULL, s->who);
    markup_open(m, "dd", NULL);
    markup_text(m, s->text);
    if (s->command[0] != 0) markup_whole(m, "pre", NULL, s->command);
    markup_close(m);
  }
  if (n > 0) markup_close(m);
}

static void put_data(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  struct json_writer json;
  json_begin_object(&json, f->markup.out);
  json_put_text(&json, "contract", c->hex);
  json_put_text(&json, "name", c->name);
  json_put_text(&json, "verdict", meeting->title);
  json_put_text(&json, "lead", meeting->lead);
  json_put_bool(&json, "worse", meeting->worse);
  json_put_bool(&json, "contested", meeting->contested);
  json_key(&json, "statements");
  json_open_array(&json);
  for (size_t i = 0; i < meeting->n_items; i++) {
    const struct meeting_item *s = &meeting->items[i];
    char hex[DIGEST_HEX];
    json_open_object(&json);
    json_put_text(&json, "kind", kinds[s->kind]);
    json_put_text(&json, "text", s->text);
    if (s->who[0] != 0) json_put_text(&json, "who", s->who);
    if (s->command[0] != 0) json_put_text(&json, "command", s->command);
    if (s->entry != UINT64_MAX) json_put_int(&json, "entry", (int64_t)s->entry);
    if (s->run != SIZE_MAX) json_put_text(&json, "result", digest_hex(f->pages->board->runs[s->run].root, hex));
    json_close(&json);
  }
  json_close(&json);
  json_close(&json);
}

static void put_page(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  struct markup *m = &f->markup;
  const struct history_series *headline = meeting->headline;
  char above[400];
  (void)snprintf(above, sizeof above, "%.200s · contract %.8s", c->name, c->hex);
  frame_begin(f, c->name[0] != 0 ? c->name : c->hex, "json");
  frame_title(f, above, meeting->title);
  if (c->contract != NULL && c->contract->question != NULL) markup_whole(m, "p", "question", c->contract->question);
  markup_whole(m, "p", "lead", meeting->lead);
  if (headline != NULL && headline->n_values > 1) {
    frame_plot(f, c, headline);
  }
  markup_open(m, "div", "class", "three", NULL);
  put_column(f, meeting, MEETING_AGREED, "Agreed", "Nothing yet.");
  put_column(f, meeting, MEETING_CONTESTED, "Contested", "Nothing.");
  put_column(f, meeting, MEETING_UNKNOWN, "Not known", "Nothing that the ledger shows.");
  markup_close(m);
  put_next(f, meeting);
  markup_open(m, "p", "class", "dim", NULL);
  markup_link(m, NULL, "Terms, runs and figures over time", "%scontract/%s.html", f->up, c->hex);
  markup_close(m);
  frame_end(f);
}

void meeting_page(struct frame *f, const struct board_contract *c) {
  struct meeting meeting;
  meeting_make(f->pages->board, c, &meeting);
  if (f->form == FORM_HTML) put_page(f, c, &meeting);
  else put_data(f, c, &meeting);
  meeting_release(&meeting);
}
