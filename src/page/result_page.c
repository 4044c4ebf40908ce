#include <stdio.h>
#include <string.h>

#include "board/work.h"
#include "base/shell.h"
#include "page/frame.h"
#include "report/answer_report.h"
#include "report/withholding.h"

static void put_item(struct frame *f, const char *class, const char *text, uint64_t entry) {
  struct markup *m = &f->markup;
  markup_open(m, "li", "class", class, NULL);
  markup_text(m, text);
  markup_text(m, " ");
  frame_entry(f, entry);
  markup_close(m);
}

static void put_verifications(struct frame *f, const struct board_run *run, struct arena *arena) {
  for (size_t i = 0; i < run->n_verifications; i++) {
    const struct standing_verification *v = &run->verifications[i];
    const char *class = strcmp(v->decision, "reproduced") == 0 ? "good" : strcmp(v->decision, "not reproduced") == 0 ? "bad" : "dim";
    put_item(f, class, arena_printf(arena, "%s re-ran it: %s", v->by, v->decision), v->index);
  }
  if (run->n_verifications == 0) markup_whole(&f->markup, "li", "dim", "No other team has verified this yet.");
}

static void put_contests(struct frame *f, const struct board_run *run, struct arena *arena) {
  for (size_t i = 0; i < run->n_contests; i++) {
    const struct standing_contest *c = &run->contests[i];
    if (f->alone) { /* what it says is for those who read the ledger */
      put_item(f, c->closed == NULL ? "bad" : "dim",
               arena_printf(arena, "%s contests its %s: %s", c->by, c->ground, c->closed == NULL ? "open" : "closed"), c->index);
      continue;
    }
    const char *owner = c->owner[0] != 0 ? arena_printf(arena, "; asked: %s", c->owner) : "";
    put_item(f, c->closed == NULL ? "bad" : "dim",
             arena_printf(arena, "%s contests its %s: %s%s. %s%s", c->by, c->ground, c->text, owner,
                          c->closed == NULL ? "Open" : "Closed: ", c->closed == NULL ? "" : c->closed),
             c->index);
  }
  if (run->n_contests == 0) markup_whole(&f->markup, "li", "dim", "No contest.");
}

static void put_findings(struct frame *f, const struct board_run *run, struct arena *arena) {
  for (size_t i = 0; i < run->n_findings; i++) {
    const struct board_finding *x = &run->findings[i];
    const char *verdict = x->confirmation != NULL
                              ? arena_printf(arena, "%s by an experiment of %s", x->confirmation->verdict, x->confirmation->by)
                              : work_found(x);
    put_item(f, NULL,
             arena_printf(arena, "%s (%s): %s. %s", x->title, work_whose(&f->pages->board->contracts[run->contract], x, arena), verdict,
                          x->evidence),
             x->index);
  }
  for (size_t i = 0; i < run->n_iterations; i++) {
    const struct board_iteration *x = &run->iterations[i];
    struct effect_measured effect;
    work_effect(f->pages->board, x, &effect);
    put_item(f, NULL,
             effect.name[0] != 0
                 ? arena_printf(arena, "It measured the change «%s»: %s; %s times %.3f [%.3f, %.3f].", x->change,
                                effect_text(effect.effect), effect.name, effect.ratio, effect.low, effect.high)
                 : arena_printf(arena, "It measured the change «%s»: %s, since %s.", x->change, effect_text(effect.effect), effect.why),
             x->index);
  }
  if (run->n_findings + run->n_iterations == 0) markup_whole(&f->markup, "li", "dim", "None is recorded.");
}

static void put_section(struct frame *f, const struct board_run *run, const char *title, struct arena *arena,
                        void (*put)(struct frame *, const struct board_run *, struct arena *)) {
  markup_open(&f->markup, "section", NULL);
  markup_whole(&f->markup, "h2", NULL, title);
  markup_open(&f->markup, "ul", "class", "statements", NULL);
  put(f, run, arena);
  markup_close(&f->markup);
  markup_close(&f->markup);
}

/* The question and its answer by this run, and by the one from before the change that it measured. */
static void put_answer(struct frame *f, const struct board_run *run, enum disclosure level, struct arena *arena) {
  const struct board_contract *c = &f->pages->board->contracts[run->contract];
  struct answer answer;
  struct summary shown;
  if (run->summary != NULL) withhold_summary(level, run->summary, arena, &shown);
  const struct board_iteration *x = run->n_iterations > 0 ? &run->iterations[run->n_iterations - 1] : NULL;
  const struct answer_evidence evidence = {.contract = c->contract,
                                           .summary = run->summary != NULL ? &shown : NULL,
                                           .before = x != NULL ? f->pages->board->runs[x->before].summary : NULL,
                                           .interleaved = true,
                                           .file = "RUN.lynx"};
  answer_make(&evidence, arena, &answer);
  if (run->summary == NULL) answer_refuse(&answer, "No answer yet: the entry carries no figures of this analysis.");
  withhold_answer(level, &answer);
  answer_html(&answer, f->markup.out);
}

static void put_recorded(struct frame *f, const struct board_run *run) {
  struct markup *m = &f->markup;
  char hex[DIGEST_HEX];
  markup_open(m, "p", "class", "dim", NULL);
  markup_printf(m, "%s, recorded by %s on %.20s", run->label[0] != 0 ? run->label : "A run without a name", run->by, run->time);
  if (strcmp(run->ended, "complete") != 0 && run->ended[0] != 0) markup_printf(m, "; the run was %s (%s)", run->ended, run->why);
  markup_text(m, " ");
  frame_entry(f, run->index);
  markup_text(m, ". The bundle: ");
  markup_printf(m, "lynxbench ledger get %s %s --out R.lynx", shell_word(f->pages->board->address), digest_hex(run->root, hex));
  markup_close(m);
}

/* What was made of the bundle, or why it could not be. */
static void end_with_report(struct frame *f, const struct buffer *inside, const char *why) {
  if (inside != NULL) markup_made(&f->markup, inside);
  else {
    frame_heading(f, "The bundle cannot be shown");
    markup_whole(&f->markup, "p", NULL, why);
  }
  frame_end(f);
}

void result_page(struct frame *f, const struct board_run *run, const struct buffer *inside, const char *why) {
  struct markup *m = &f->markup;
  const struct board_contract *c = &f->pages->board->contracts[run->contract];
  struct arena arena = {0};
  const char *name = c->name[0] != 0 ? c->name : c->hex;
  frame_begin(f, name, "json");
  markup_open(m, "p", "class", "above", NULL);
  markup_text(m, "result of the contract ");
  markup_link(m, NULL, name, "%scontract/%s.html", f->up, c->hex);
  markup_text(m, " · ");
  markup_link(m, NULL, "meeting page", "%smeeting/%s.html", f->up, c->hex);
  markup_close(m);
  put_answer(f, run, DISCLOSE_FULL, &arena);
  put_recorded(f, run);
  markup_open(m, "div", "class", "three", NULL);
  put_section(f, run, "Verified", &arena, put_verifications);
  put_section(f, run, "Contested", &arena, put_contests);
  put_section(f, run, "Findings and changes", &arena, put_findings);
  markup_close(m);
  end_with_report(f, inside, why);
  arena_release(&arena);
}

void shared_page(struct frame *f, const struct board_run *run, enum disclosure level, const struct buffer *inside, const char *why) {
  struct markup *m = &f->markup;
  const struct board_contract *c = &f->pages->board->contracts[run->contract];
  struct arena arena = {0};
  frame_begin(f, c->name[0] != 0 ? c->name : "A result", "");
  markup_whole(m, "p", "above", arena_printf(&arena, "result of the contract %s", c->name[0] != 0 ? c->name : c->hex));
  put_answer(f, run, level, &arena);
  markup_open(m, "p", "class", "dim", NULL);
  markup_printf(m, "Recorded by %s on %.20s. Shown by a link to this one result, at the level %s. ", run->by, run->time,
                disclosure_text(level));
  if (strcmp(run->ended, "complete") != 0 && run->ended[0] != 0) markup_printf(m, "The run was %s.", run->ended);
  markup_close(m);
  markup_open(m, "div", "class", "three", NULL);
  put_section(f, run, "Verified", &arena, put_verifications);
  put_section(f, run, "Contested", &arena, put_contests);
  markup_close(m);
  end_with_report(f, inside, why);
  arena_release(&arena);
}
