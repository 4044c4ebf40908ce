#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/layer.h"
#include "base/shell.h"
#include "page/answer_plot.h"
#include "page/frame.h"
#include "report/answer_report.h"

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

/* --- what limits it --- */

/* "suspected entry 9 → confirmed entry 11 → changed entry 12 → measured entry 15" */
static void put_walk(struct frame *f, const struct finding_walk *w) {
  struct markup *m = &f->markup;
  const struct {
    const char *words;
    uint64_t entry;
  } steps[] = {{w->found, w->found_entry},
               {w->verdict, w->confirmed_entry},
               {w->change[0] != 0 ? "changed" : "", w->changed_entry},
               {w->effect, w->measured_entry}};
  for (size_t i = 0; i < LYNX_COUNT(steps); i++) {
    if (steps[i].entry == UINT64_MAX) continue;
    markup_printf(m, "%s%s ", i > 0 ? " \u2192 " : "", steps[i].words);
    frame_entry(f, steps[i].entry);
  }
  markup_text(m, ". ");
}

static void put_limit(struct frame *f, const struct meeting *meeting) {
  struct markup *m = &f->markup;
  const struct finding_walk *w = meeting->answered.walk;
  markup_open(m, "p", "class", "limit", NULL);
  if (w != NULL) {
    markup_whole(m, "b", NULL, w->closed ? "What limited it: " : "What limits it: ");
    markup_printf(m, "%s (%s): ", w->title, w->whose);
    put_walk(f, w);
  }
  if (w == NULL || w->closed) {
    markup_whole(m, "b", NULL, w != NULL ? "What limits it now: " : "What limits it: ");
    markup_text(m, "not known. To find out: ");
    markup_whole(m, "code", NULL, "lynxbench diagnose URL");
  } else {
    markup_text(m, "Whether faster hardware would help is not computed yet: ");
    markup_whole(m, "code", NULL, "lynxbench decide PERTURBED.lynx --upgrade 'RESOURCE xFACTOR'");
  }
  markup_close(m);
}

/* --- who does what --- */

/* The four teams of a meeting speak for the usual owners of layers; other teams for themselves. */
static const char *speaker_of(const char *who) {
  const char *group = owner_group(who);
  return group != NULL ? group : who;
}

static void put_who(struct markup *m, const char *who) {
  const char *speaker = speaker_of(who);
  markup_open(m, "dt", NULL);
  markup_text(m, speaker);
  if (strcasecmp(speaker, who) != 0) markup_whole(m, "small", "dim", who);
  markup_close(m);
}

static bool is_step_of(const struct meeting_item *s, const char *who) {
  return s->kind == MEETING_NEXT && strcasecmp(speaker_of(s->who), speaker_of(who)) == 0;
}

static void put_action(struct markup *m, const struct meeting_item *s) {
  markup_text(m, s->text);
  if (s->command[0] != 0) markup_whole(m, "pre", NULL, s->command);
}

static size_t count_of(const struct meeting *meeting, const char *who) {
  size_t n = 0;
  for (size_t i = 0; i < meeting->n_items; i++) n += is_step_of(&meeting->items[i], who);
  return n;
}

static bool is_first(const struct meeting *meeting, size_t item) {
  for (size_t i = 0; i < item; i++)
    if (is_step_of(&meeting->items[i], meeting->items[item].who)) return false;
  return true;
}

/* One step for each team; the others of it are folded. */
static void put_team(struct frame *f, const struct meeting *meeting, size_t first) {
  struct markup *m = &f->markup;
  const struct meeting_item *s = &meeting->items[first];
  size_t n = count_of(meeting, s->who);
  put_who(m, s->who);
  markup_open(m, "dd", NULL);
  put_action(m, s);
  if (n > 1) {
    markup_open(m, "details", "class", "screen", NULL);
    markup_open(m, "summary", NULL);
    markup_printf(m, "and %zu more", n - 1);
    markup_close(m);
    for (size_t i = first + 1; i < meeting->n_items; i++) {
      if (!is_step_of(&meeting->items[i], s->who)) continue;
      markup_open(m, "div", NULL);
      put_action(m, &meeting->items[i]);
      markup_close(m);
    }
    markup_close(m);
  }
  markup_close(m);
}

static void put_next(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  struct markup *m = &f->markup;
  frame_heading(f, "Next, by team");
  markup_open(m, "dl", "class", "next", NULL);
  for (size_t i = 0; i < meeting->n_items; i++)
    if (meeting->items[i].kind == MEETING_NEXT && is_first(meeting, i)) put_team(f, meeting, i);
  for (size_t i = 0; c->contract != NULL && i < c->contract->signatories.n_items; i++) {
    const char *team = c->contract->signatories.items[i];
    if (count_of(meeting, team) > 0) continue;
    put_who(m, team);
    markup_whole(m, "dd", "dim", "Nothing is asked of you by this evidence.");
  }
  markup_close(m);
}

/* --- the page --- */

static void put_data(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  struct json_writer json;
  json_begin_object(&json, f->markup.out);
  json_put_text(&json, "contract", c->hex);
  json_put_text(&json, "name", c->name);
  answer_write(&meeting->answered.answer, &json);
  json_put_text(&json, "trend", meeting->trend);
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

/* The rest of the evidence: behind links. */
static void put_links(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  struct markup *m = &f->markup;
  char hex[DIGEST_HEX];
  markup_open(m, "p", "class", "dim", NULL);
  if (meeting->answered.run != NULL) {
    markup_link(m, NULL, "Method, samples and hashes of this result", "%sresult/%s.html", f->up,
                digest_hex(meeting->answered.run->root, hex));
    markup_text(m, " · ");
  }
  markup_link(m, NULL, "Terms, runs and figures over time", "%scontract/%s.html", f->up, c->hex);
  markup_close(m);
}

/* What computes, by the facts of the run's executor; "": not known. */
static const char *device_of(const struct frame *f, const struct meeting *meeting) {
  static const char *const keys[] = {"gpu.0.name", "amd-gpu.0.name", "cpu.model"};
  const struct board_run *run = meeting->answered.run;
  const struct summary_precision *p = run != NULL ? summary_precision_named(run->summary, meeting->answered.answer.precision) : NULL;
  const struct board_executor *e = p != NULL ? board_executor(f->pages->board, p->fingerprint) : NULL;
  for (size_t k = 0; k < LYNX_COUNT(keys) && e != NULL; k++)
    for (size_t i = 0; i < e->n_facts; i++)
      if (strcmp(e->facts[i].key, keys[k]) == 0) return e->facts[i].value;
  return "";
}

static void put_above(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  const char *model = c->contract != NULL ? c->contract->workload.model : "", *device = device_of(f, meeting);
  markup_open(&f->markup, "p", "class", "above", NULL);
  markup_printf(&f->markup, "%s · contract %.8s", c->name, c->hex);
  if (model[0] != 0) markup_printf(&f->markup, " · model %s", model);
  if (device[0] != 0) markup_printf(&f->markup, " · on %s", device);
  markup_close(&f->markup);
}

static void put_page(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  struct markup *m = &f->markup;
  frame_begin(f, c->name[0] != 0 ? c->name : c->hex, "json");
  put_above(f, c, meeting);
  answer_html(&meeting->answered.answer, m->out);
  if (meeting->worse) markup_whole(m, "p", "trend bad", meeting->trend);
  markup_whole(m, "p", "lead", meeting->lead);
  answer_tiles_html(&meeting->answered.answer, m->out);
  bool drawn = answer_plot(m, meeting);
  if (meeting->headline != NULL && meeting->headline->n_values > 1 && (!drawn || meeting->worse)) frame_plot(f, c, meeting->headline);
  put_limit(f, meeting);
  markup_open(m, "div", "class", "three", NULL);
  put_column(f, meeting, MEETING_AGREED, "Agreed", "Nothing yet.");
  put_column(f, meeting, MEETING_CONTESTED, "Contested", "Nothing.");
  put_column(f, meeting, MEETING_UNKNOWN, "Not known", "Nothing else is open in the ledger.");
  markup_close(m);
  put_next(f, c, meeting);
  put_links(f, c, meeting);
  frame_end(f);
}

void meeting_page(struct frame *f, const struct board_contract *c) {
  struct meeting meeting;
  meeting_make(f->pages->board, c, &meeting);
  if (f->form == FORM_HTML) put_page(f, c, &meeting);
  else put_data(f, c, &meeting);
  meeting_release(&meeting);
}
