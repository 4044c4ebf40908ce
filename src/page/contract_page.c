#include <math.h>
#include <stdio.h>
#include <string.h>

#include "board/planned.h"
#include "page/frame.h"
#include "page/spark.h"
#include "page/data_table.h"
#include "report/answer_report.h"

enum { RUNS_SHOWN = 50, TEXT_MAX = 1 << 16 };

/* --- figures over time --- */

static void put_series(struct frame *f, const struct board_contract *c, const struct history_series *s, struct buffer *text) {
  struct markup *m = &f->markup;
  const struct history_report report = board_report(c);
  struct board_value newest;
  if (!board_value_of(f->pages->board, c, s, &newest)) return;
  markup_open(m, "tr", NULL);
  markup_whole(m, "td", NULL, s->precision);
  markup_whole(m, "td", NULL, s->figure);
  buffer_clear(text);
  figure_put(newest.value->value, newest.value->low, newest.value->high, s->unit, text);
  if (newest.no_claim != NULL) (void)buffer_text(text, ", no claim");
  markup_whole(m, "td", newest.no_claim != NULL ? "n dim" : "n", text->data);
  markup_open(m, "td", NULL);
  if (s->n_values > 1) spark_put(m, &c->history, s);
  markup_close(m);
  buffer_clear(text);
  bool worse = false;
  if (s->changed) {
    const struct history_change change = {(size_t)(s - c->history.series), s->found.n_items - 1};
    worse = history_is_worse(&c->history, &change);
    history_put_size(history_change_of(&c->history, &change), s->unit, text);
    (void)buffer_text(text, " at ");
    history_put_time(&c->history.runs[s->values[s->found.items[change.change].at].run], false, text);
  } else (void)buffer_text(text, history_is_tested(s, report.plan) ? "no change" : "too few runs");
  markup_whole(m, "td", worse ? "bad" : s->changed ? NULL : "dim", text->data);
  markup_close(m);
}

static void put_figures(struct frame *f, const struct board_contract *c) {
  static const char *const heads[] = {"precision", "figure", "newest result (mean of its sessions)", "over time", "last change"};
  struct markup *m = &f->markup;
  struct buffer text;
  if (c->history.n_series == 0) return;
  buffer_init(&text, TEXT_MAX);
  (void)buffer_text(&text, "");
  frame_heading(f, "Figures");
  markup_open(m, "div", "class", "wide", "tabindex", "0", "role", "group", "aria-label", "figures over time", NULL);
  markup_open(m, "table", "class", "figures", NULL);
  markup_open(m, "thead", NULL);
  markup_open(m, "tr", NULL);
  for (size_t i = 0; i < LYNX_COUNT(heads); i++) {
    markup_open(m, "th", "scope", "col", "class", i == 2 ? "n" : NULL, NULL);
    markup_text(m, heads[i]);
    markup_close(m);
  }
  markup_close(m);
  markup_close(m);
  markup_open(m, "tbody", NULL);
  for (size_t i = 0; i < c->history.n_series; i++) put_series(f, c, &c->history.series[i], &text);
  for (int i = 0; i < 3; i++) markup_close(m);
  buffer_release(&text);
}

/* What verify would say before it runs. */
static void put_power(struct frame *f, const struct board_contract *c, const struct history_series *headline) {
  struct planned p;
  if (headline == NULL || !planned_of(c, headline, &p)) return;
  markup_open(&f->markup, "p", "class", "dim", NULL);
  markup_printf(&f->markup, "What a re-run can decide: sessions of the newest run vary by %.2g %% at most (%s). ", 100 * p.deviation,
                headline->figure);
  if (p.needed > 0)
    markup_printf(&f->markup, "At that, %zu sessions decide the margin of %.3g %% with %.0f %% certainty.", p.needed, 100 * p.margin,
                  100 * PLAN_POWER);
  else
    markup_printf(&f->markup,
                  "It has %zu; at that, not even %d of a re-run decide the margin of %.3g %%: more sessions, or a wider margin.", p.have,
                  PLAN_SESSIONS_MAX, 100 * p.margin);
  markup_close(&f->markup);
}

/* --- changes --- */

static void put_change_facts(struct markup *m, const struct coincidence *c) {
  for (size_t i = 0; i < c->facts.n_items && i < 20; i++) {
    const struct difference *d = &c->facts.items[i];
    markup_open(m, "li", NULL);
    markup_printf(m, "%s (%s): ", layer_text(d->layer), coincidence_owner(c, d->layer));
    markup_whole(m, "code", NULL, d->key);
    markup_printf(m, " %.120s → %.120s", d->a != NULL ? d->a : "(missing)", d->b != NULL ? d->b : "(missing)");
    markup_close(m);
  }
}

static void put_event(struct frame *f, const struct board_contract *c, size_t event, struct buffer *text) {
  struct markup *m = &f->markup;
  const struct history_report report = board_report(c);
  const struct history_event *e = &c->history.events[event];
  const struct history_run *before = &c->history.runs[e->before], *after = &c->history.runs[e->after];
  markup_open(m, "li", NULL);
  for (size_t k = 0; k < e->n_changes && k < 4; k++) {
    buffer_clear(text);
    (void)buffer_printf(text, "%s, ", c->history.series[e->changes[k].series].precision);
    history_put_change(&report, &e->changes[k], text);
    markup_whole(m, "p", history_is_worse(&c->history, &e->changes[k]) ? "bad" : NULL, text->data);
  }
  if (e->n_changes > 4) markup_printf(m, "and %zu more figure%s", e->n_changes - 4, e->n_changes == 5 ? "" : "s");
  markup_open(m, "p", "class", "dim", NULL);
  buffer_clear(text);
  (void)buffer_text(text, "Between ");
  history_put_time(before, true, text);
  (void)buffer_text(text, " and ");
  history_put_time(after, true, text);
  (void)buffer_text(text, e->provisional ? ", provisional: " : ": ");
  history_put_coincidence(&report, event, text);
  history_put_drift(&report, event, "; ", true, text);
  (void)buffer_text(text, ". ");
  markup_text(m, text->data);
  markup_link(m, NULL, "Compare both runs", "%scompare/%s-%s.html", f->up, before->from.root, after->from.root);
  markup_close(m);
  if (c->coincidences[event].facts.n_items > 0) {
    markup_open(m, "ul", NULL);
    put_change_facts(m, &c->coincidences[event]);
    markup_close(m);
  }
  markup_close(m);
}

static void put_events(struct frame *f, const struct board_contract *c) {
  struct buffer text;
  if (c->history.n_events == 0) return;
  buffer_init(&text, TEXT_MAX);
  (void)buffer_text(&text, "");
  frame_heading(f, "Changes");
  markup_open(&f->markup, "ol", "class", "changes", "reversed", "", NULL);
  for (size_t i = c->history.n_events; i > 0; i--) put_event(f, c, i - 1, &text);
  markup_close(&f->markup);
  buffer_clear(&text);
  const struct history_report report = board_report(c);
  history_put_error(&report, &text);
  markup_whole(&f->markup, "p", "dim", text.data);
  buffer_release(&text);
}

/* --- runs --- */

static const struct table_column columns[] = {{"started", "started (UTC)", false},
                                              {"run", "run", false},
                                              {"root", NULL, false},
                                              {"by", "by", false},
                                              {"precision", "precision", false},
                                              {"figure", "figure", false},
                                              {"unit", NULL, false},
                                              {"value", "value", true},
                                              {"low", NULL, true},
                                              {"high", NULL, true},
                                              {"standing", "standing", false},
                                              {"not_counted", "not counted because", false},
                                              {"executor", NULL, false},
                                              {"entry", NULL, true}};

static const char *standing_words(struct table *t, const struct board_run *run) {
  if (run->n_open > 0) return arena_printf(&t->arena, "%zu contest%s open", run->n_open, LYNX_S(run->n_open));
  if (run->n_not_reproduced > 0)
    return arena_printf(&t->arena, "not reproduced %zu, reproduced %zu", run->n_not_reproduced, run->n_reproduced);
  if (run->n_reproduced > 0) return arena_printf(&t->arena, "reproduced %zu", run->n_reproduced);
  return run->n_inconclusive > 0 ? "re-run: inconclusive" : "";
}

static void add_figure(struct frame *f, struct table *t, const struct board_run *run, const struct summary_precision *p,
                       const struct summary_figure *figure) {
  char hex[DIGEST_HEX], time[32];
  struct buffer text;
  buffer_init(&text, TEXT_MAX);
  table_text(t, board_run_time(run, time));
  if (f->form == FORM_HTML && f->pages->live) table_pick(t, arena_printf(&t->arena, "%.12s", digest_hex(run->root, hex)));
  table_text(t, run->label[0] != 0 ? run->label : "(no name)");
  table_link(t, arena_printf(&t->arena, "%sresult/%s.html", f->up, digest_hex(run->root, hex)));
  table_text(t, hex);
  table_text(t, run->by);
  table_text(t, p != NULL ? p->name : NULL);
  table_text(t, figure != NULL ? figure->name : NULL);
  table_text(t, figure != NULL ? figure->unit : NULL);
  if (figure != NULL) figure_put_value(figure->value, figure->unit, &text);
  table_number(t, figure != NULL ? figure->value : NAN, text.data);
  table_number(t, figure != NULL ? figure->low : NAN, NULL);
  table_number(t, figure != NULL ? figure->high : NAN, NULL);
  table_text(t, standing_words(t, run));
  if (run->n_open + run->n_not_reproduced > 0) table_class(t, "bad");
  table_text(t, p == NULL ? "its entry carries no figures" : p->left_out != NULL ? p->left_out : p->no_claim);
  table_text(t, p != NULL && p->fingerprint[0] != 0 ? p->fingerprint : NULL);
  table_number(t, (double)run->index, NULL);
  buffer_release(&text);
}

/* One row for each figure as data; on the page, for the one that the title names. */
static void add_run(struct frame *f, struct table *t, const struct board_run *run, const char *wanted) {
  const struct summary *s = run->summary;
  if (s == NULL || s->n_precisions == 0) add_figure(f, t, run, NULL, NULL);
  for (size_t i = 0; s != NULL && i < s->n_precisions; i++) {
    const struct summary_precision *p = &s->precisions[i];
    size_t n = 0;
    for (size_t k = 0; k < p->n_figures; k++)
      if (wanted == NULL || strcmp(p->figures[k].name, wanted) == 0) {
        add_figure(f, t, run, p, &p->figures[k]);
        n++;
      }
    if (n == 0) add_figure(f, t, run, p, NULL);
  }
}

static void make_runs(struct frame *f, const struct board_contract *c, size_t most, const char *wanted, struct table *ret) {
  const struct board *b = f->pages->board;
  table_begin(ret, columns, LYNX_COUNT(columns));
  for (size_t i = c->n_runs; i > 0 && c->n_runs - i < most; i--) add_run(f, ret, &b->runs[c->runs[i - 1]], wanted);
}

static void put_runs(struct frame *f, const struct board_contract *c, const struct history_series *headline) {
  struct table t;
  if (c->n_runs == 0) return;
  frame_heading(f, "Runs");
  if (c->n_runs > RUNS_SHOWN) {
    markup_printf(&f->markup, "The newest %d of %zu; all are in the ", RUNS_SHOWN, c->n_runs);
    markup_link(&f->markup, NULL, "CSV", "%s%s.csv", f->up, f->address);
  }
  make_runs(f, c, RUNS_SHOWN, headline != NULL ? headline->figure : "", &t);
  if (f->pages->live) markup_open(&f->markup, "form", "action", arena_printf(&t.arena, "%scompare.html", f->up), "method", "get", NULL);
  table_to_markup(&t, &f->markup);
  if (f->pages->live) {
    markup_open(&f->markup, "button", "type", "submit", NULL);
    markup_text(&f->markup, "Compare the chosen runs");
    markup_close(&f->markup);
    markup_printf(&f->markup, " two to %d of them", COMPARED_MAX);
    markup_close(&f->markup);
  }
  table_release(&t);
}

/* --- the page --- */

static void put_head(struct frame *f, const struct board_contract *c, const struct meeting *meeting) {
  struct markup *m = &f->markup;
  char above[400];
  size_t n, n_signed = board_signed(c, &n);
  (void)snprintf(above, sizeof above, "contract %.200s · %.8s · signed by %zu of %zu", c->name, c->hex, n_signed, n);
  markup_whole(m, "p", "above", above);
  answer_html(&meeting->answered.answer, m->out);
  markup_open(m, "p", "class", "lead", NULL);
  markup_printf(m, "%s. %s", meeting->trend, meeting->lead);
  markup_close(m);
  markup_open(m, "p", NULL);
  markup_link(m, "button", "The meeting page", "%smeeting/%s.html", f->up, c->hex);
  markup_close(m);
}

static void put_terms(struct frame *f, const struct board_contract *c) {
  struct markup *m = &f->markup;
  if (c->text == NULL) return;
  frame_heading(f, "Terms");
  markup_open(m, "details", NULL);
  markup_whole(m, "summary", NULL, "The contract, as it was signed");
  markup_whole(m, "pre", NULL, c->text);
  markup_close(m);
}

void contract_page(struct frame *f, const struct board_contract *c) {
  struct json_writer json;
  struct table t;
  if (f->form != FORM_HTML) {
    make_runs(f, c, SIZE_MAX, NULL, &t);
    json_begin(&json, f->markup.out);
    if (f->form == FORM_CSV) table_to_csv(&t, f->markup.out);
    else table_to_json(&t, &json);
    table_release(&t);
    return;
  }
  struct meeting meeting;
  meeting_make(f->pages->board, c, &meeting);
  frame_begin(f, c->name[0] != 0 ? c->name : c->hex, "json csv");
  put_head(f, c, &meeting);
  if (meeting.headline != NULL && meeting.headline->n_values > 1) frame_plot(f, c, meeting.headline);
  put_events(f, c);
  put_figures(f, c);
  put_power(f, c, meeting.headline);
  put_runs(f, c, meeting.headline);
  put_terms(f, c);
  meeting_release(&meeting);
  frame_end(f);
}
