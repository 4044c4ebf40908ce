/* Results by what they ran on: every word of the question is found in a result's names, or together with the others in one fact of its
 * executor, so that «driver 570» means a fact that says both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "page/data_table.h"
#include "page/frame.h"

enum { WORDS_MAX = 8, WORD_MAX = 100, SHOWN_MAX = 500, SAYS_MAX = 200, MASKS = 1 << WORDS_MAX };

struct question {
  char words[WORDS_MAX][WORD_MAX];
  size_t n;
  const char *wrong; /* NULL: it can be answered */
};

/* Of one executor: the first fact that holds each set of words; NULL: none does. */
struct known_executor {
  bool looked;
  const struct board_fact *fact[MASKS];
};

/* At blanks; «"driver 570"» in quotes is one word. */
static void read_question(const char *text, struct question *ret) {
  *ret = (struct question){.n = 0};
  while (*text != 0) {
    text += strspn(text, " +");
    bool quoted = *text == '"';
    text += quoted;
    size_t n = strcspn(text, quoted ? "\"" : " +");
    if (n >= WORD_MAX) ret->wrong = "A word is longer than 99 bytes: ask for a part of it.";
    else if (n > 0 && ret->n == WORDS_MAX) ret->wrong = "More than 8 words: put some in quotes, or leave some out.";
    else if (n > 0) (void)snprintf(ret->words[ret->n++], WORD_MAX, "%.*s", (int)n, text);
    text += n;
    text += quoted && *text == '"';
  }
}

static unsigned words_in(const struct question *q, const char *text) {
  unsigned mask = 0;
  for (size_t i = 0; i < q->n && text != NULL; i++) mask |= strcasestr(text, q->words[i]) != NULL ? 1U << i : 0;
  return mask;
}

/* Every set that a fact holds, its parts among them. */
static void look_at(const struct question *q, const struct board_executor *e, struct known_executor *ret) {
  ret->looked = true;
  for (size_t i = 0; i < e->n_facts; i++) {
    const struct board_fact *f = &e->facts[i];
    unsigned mask = words_in(q, layer_text(f->layer)) | words_in(q, f->key) | words_in(q, f->value) | words_in(q, f->unit);
    for (unsigned part = mask; part != 0; part = (part - 1) & mask)
      if (ret->fact[part] == NULL) ret->fact[part] = f;
  }
}

struct searching {
  const struct board *board;
  struct question question;
  struct known_executor *executors;
  enum page_form form;
  struct table table;
  size_t n_found;
};

static const struct table_column columns[] = {
    {"contract", "contract", false}, {"precision", "precision", false}, {"when", "when", false}, {"by", "by", false},
    {"figure", "figure", false},     {"value", "value", true},          {"unit", NULL, false},   {"layer", "layer", false},
    {"fact", "fact", false},         {"says", "says", false},           {"root", NULL, false},   {"contract_digest", NULL, false}};

/* On a page the beginning is enough. */
static const char *says(struct searching *s, const struct board_fact *fact) {
  size_t n = strlen(fact->value);
  bool cut = s->form == FORM_HTML && n > SAYS_MAX;
  if (cut)
    for (n = SAYS_MAX; n > 0 && ((unsigned char)fact->value[n] & 0xC0) == 0x80; n--) continue; /* before a character, not within */
  return arena_printf(&s->table.arena, "%.*s%s%s%s", (int)n, fact->value, cut ? "…" : "", fact->unit[0] != 0 ? " " : "", fact->unit);
}

static void add_row(struct searching *s, const struct board_run *run, const struct summary_precision *p, const struct board_fact *fact) {
  const struct board_contract *c = &s->board->contracts[run->contract];
  struct table *t = &s->table;
  char hex[DIGEST_HEX], when[32];
  const struct summary_figure *figure = p->n_figures > 0 ? &p->figures[0] : NULL;
  table_text(t, c->name[0] != 0 ? c->name : c->hex);
  table_link(t, arena_printf(&t->arena, "result/%s.html", digest_hex(run->root, hex)));
  table_text(t, p->name);
  table_text(t, arena_copy(&t->arena, board_run_time(run, when)));
  table_text(t, run->by);
  table_text(t, figure != NULL ? figure->name : NULL);
  table_number(t, figure != NULL ? figure->value : NAN,
               figure != NULL ? arena_printf(&t->arena, "%.4g %s", figure->value, figure->unit) : NULL);
  table_text(t, figure != NULL ? figure->unit : NULL);
  table_text(t, fact != NULL ? layer_text(fact->layer) : NULL);
  table_text(t, fact != NULL ? fact->key : NULL);
  table_text(t, fact != NULL ? says(s, fact) : NULL);
  table_text(t, arena_copy(&t->arena, hex));
  table_text(t, c->hex);
}

static void look_at_run(struct searching *s, const struct board_run *run) {
  const struct question *q = &s->question;
  if (run->contract == BOARD_NO_CONTRACT || run->summary == NULL) return;
  const struct board_contract *c = &s->board->contracts[run->contract];
  unsigned all = (1U << q->n) - 1;
  unsigned names = words_in(q, c->name) | words_in(q, run->by) | words_in(q, run->label) |
                   words_in(q, c->contract != NULL ? c->contract->workload.model : NULL);
  for (size_t i = 0; i < run->summary->n_precisions; i++) {
    const struct summary_precision *p = &run->summary->precisions[i];
    const struct board_executor *e = board_executor(s->board, p->fingerprint);
    unsigned left = all & ~(names | words_in(q, p->name));
    struct known_executor *known = e != NULL ? &s->executors[e - s->board->executors] : NULL;
    if (known != NULL && !known->looked) look_at(q, e, known);
    if (left != 0 && (known == NULL || known->fact[left] == NULL)) continue;
    s->n_found++;
    if (s->n_found <= SHOWN_MAX || s->form != FORM_HTML) add_row(s, run, p, left != 0 ? known->fact[left] : NULL);
  }
}

static void put_form(struct frame *f, const char *text) {
  struct markup *m = &f->markup;
  markup_open(m, "form", "action", "search.html", "method", "get", "role", "search", NULL);
  markup_open(m, "label", NULL);
  markup_text(m, "Results on ");
  markup_empty(m, "input", "type", "search", "name", "q", "value", text, "placeholder", "driver 570", NULL);
  markup_close(m);
  markup_text(m, " ");
  markup_open(m, "button", "type", "submit", NULL);
  markup_text(m, "Search");
  markup_close(m);
  markup_close(m);
}

static void put_page(struct frame *f, const struct searching *s, const char *text) {
  struct markup *m = &f->markup;
  char title[200];
  (void)snprintf(title, sizeof title, "%zu result%s", s->n_found, LYNX_S(s->n_found));
  frame_begin(f, "Search", s->question.n > 0 ? "json csv" : "");
  frame_title(f, f->pages->board->origin, s->question.n > 0 && s->question.wrong == NULL ? title : "Search");
  put_form(f, text);
  markup_whole(m, "p", "dim",
               "Words of a contract's name, model or precision, of the team, or of a fact of the executor: a version, a library, a "
               "setting, a layer. Words that are in no name must be in one fact together. Quotes keep words together.");
  if (s->question.wrong != NULL) markup_whole(m, "p", "bad", s->question.wrong);
  if (s->question.n > 0 && s->n_found > 0) table_to_markup(&s->table, m);
  if (s->question.n > 0 && s->n_found == 0 && s->question.wrong == NULL)
    markup_whole(m, "p", "lead",
                 "No result has all of these words. Facts of executors are known of bundles that were recorded by this version.");
  if (s->board->n_left_out > 0)
    markup_printf(m, "The facts of %" PRIu64 " later executors are not searched: there are too many. ", s->board->n_left_out);
  if (s->n_found > SHOWN_MAX) markup_printf(m, "The newest %d of %zu are shown; the CSV has all.", SHOWN_MAX, s->n_found);
  frame_end(f);
}

const char *search_page(struct frame *f, const char *text) {
  struct searching *s = xalloc(1, sizeof *s);
  struct json_writer json;
  s->board = f->pages->board;
  s->form = f->form;
  read_question(text, &s->question);
  s->executors = xalloc(s->board->n_executors + 1, sizeof *s->executors);
  table_begin(&s->table, columns, LYNX_COUNT(columns));
  for (size_t i = s->board->n_runs; i > 0 && s->question.n > 0 && s->question.wrong == NULL; i--) look_at_run(s, &s->board->runs[i - 1]);
  json_begin(&json, f->markup.out);
  if (f->form == FORM_HTML) put_page(f, s, text);
  else if (f->form == FORM_CSV) table_to_csv(&s->table, f->markup.out);
  else table_to_json(&s->table, &json);
  const char *wrong = s->question.wrong;
  table_release(&s->table);
  free(s->executors);
  free(s);
  return wrong;
}
