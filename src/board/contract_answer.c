#include "board/contract_answer.h"

#include <string.h>

#include "board/work.h"

/* The newest that was not run to verify another. NULL: no run has a summary. */
static const struct board_run *newest_run(const struct board *b, const struct board_contract *c) {
  const struct board_run *found = NULL;
  for (size_t i = c->n_runs; i > 0; i--) {
    const struct board_run *run = &b->runs[c->runs[i - 1]];
    if (run->summary == NULL) continue;
    if (!run->verifies) return run;
    if (found == NULL) found = run;
  }
  return found;
}

/* Whether a run supports a claim is itself the answer, or the rule looks at each precision. */
static bool takes_newest(const struct contract *c) {
  enum question_kind kind = c != NULL ? contract_asks(c) : QUESTION_HOW_FAST;
  return kind == QUESTION_AS_ORDERED || kind == QUESTION_PRECISION || kind == QUESTION_WHICH;
}

static bool is_of(const struct board *b, const struct board_contract *c, const struct board_run *run) {
  return run->contract != BOARD_NO_CONTRACT && &b->contracts[run->contract] == c;
}

/* From the run before the first measured change to the run after the last; else the newest that has a run of this contract. */
static void find_pair(const struct board *b, const struct board_contract *c, struct contract_answer *ret) {
  struct work_total total;
  if (work_total(b, c, &total)) {
    ret->before = total.first;
    ret->run = total.last;
    ret->change = total.n_changes == 1 ? total.change : "";
    return;
  }
  for (size_t i = b->n_runs; i > 0 && ret->before == NULL; i--)
    for (size_t k = b->runs[i - 1].n_iterations; k > 0 && ret->before == NULL; k--) {
      const struct board_iteration *x = &b->runs[i - 1].iterations[k - 1];
      const struct board_run *before = &b->runs[x->before], *after = &b->runs[i - 1];
      if (before->summary == NULL || after->summary == NULL || !(is_of(b, c, before) || is_of(b, c, after))) continue;
      ret->before = before;
      ret->run = after;
      ret->change = x->change;
    }
}

/* Confirmed ones come first; those that are closed, last; those that were refuted count for nothing. */
static int weight(const struct work_item *item) {
  const char *verdict = item->confirmation != NULL ? item->confirmation->verdict : "";
  if (strcmp(verdict, "refuted") == 0) return 0;
  if (item->state == WORK_CLOSED) return 1;
  return strcmp(verdict, "confirmed") == 0 || strcmp(verdict, "remedied") == 0 ? 3 : 2;
}

static const struct finding_walk *walk_of(const struct work_item *item, struct arena *arena) {
  const struct board_finding *f = item->finding;
  struct finding_walk *w = arena_alloc(arena, 1, sizeof *w);
  *w = (struct finding_walk){.title = f->named[0] != 0 ? arena_printf(arena, "%s: %s", f->title, f->named) : f->title,
                             .whose = work_whose_now(item, arena),
                             .found = work_found(f),
                             .verdict = item->confirmation != NULL ? arena_copy(arena, item->confirmation->verdict) : "",
                             .change = item->change != NULL     ? item->change->words
                                       : item->measured != NULL ? item->measured->change
                                                                : "",
                             .effect = item->measured != NULL ? effect_text(item->effect.effect) : "",
                             .found_entry = f->index,
                             .confirmed_entry = item->confirmation != NULL ? item->confirmation->index : UINT64_MAX,
                             .changed_entry = item->change != NULL ? item->change->index : UINT64_MAX,
                             .measured_entry = item->measured != NULL ? item->measured->index : UINT64_MAX,
                             .closed = item->state == WORK_CLOSED};
  return w;
}

static void find_finding(const struct board *b, const struct board_contract *c, struct arena *arena, struct contract_answer *ret) {
  struct work_list list;
  const struct work_item *best = NULL;
  work_list_make(b, c, &list);
  for (size_t i = 0; i < list.n_items; i++)
    if (weight(&list.items[i]) > (best != NULL ? weight(best) : 0)) best = &list.items[i];
  if (best != NULL) ret->walk = walk_of(best, arena);
  if (best != NULL && best->state != WORK_CLOSED) {
    struct answer_finding *found = arena_alloc(arena, 1, sizeof *found);
    bool confirmed = weight(best) == 3;
    *found = (struct answer_finding){ret->walk->title, ret->walk->whose, confirmed ? ret->walk->verdict : ret->walk->found, confirmed};
    ret->finding = found;
  }
  work_list_release(&list);
}

/* What other teams say of the run that answers it. */
static void add_standing(const struct board *b, const struct board_contract *c, struct contract_answer *a) {
  bool contested = false, verified = false;
  const struct board_run *run = a->run;
  for (size_t i = 0; i < c->n_runs; i++) contested = contested || b->runs[c->runs[i]].n_open > 0;
  for (size_t i = 0; run != NULL && i < run->n_verifications; i++) {
    const struct standing_verification *v = &run->verifications[i];
    /* the re-run itself is another team's; who signs the decision is not enough */
    verified = verified || (strcmp(v->decision, "reproduced") == 0 && v->rerun_by != NULL && strcmp(v->rerun_by, run->by) != 0);
    contested = contested || strcmp(v->decision, "not reproduced") == 0;
  }
  if (a->answer.state == ANSWER_NONE) return;
  if (contested) a->answer.state = ANSWER_CONTESTED;
  else if (verified && a->answer.state == ANSWER_MEASURED) a->answer.state = ANSWER_VERIFIED;
}

void contract_answer_make(const struct board *board, const struct board_contract *contract, const struct board_run *newest,
                          struct arena *arena, struct contract_answer *ret) {
  const struct contract *c = contract->contract;
  *ret = (struct contract_answer){.run = newest, .change = ""};
  if (newest == NULL || takes_newest(c)) ret->run = newest_run(board, contract);
  if (c != NULL && contract_asks(c) == QUESTION_BETTER) find_pair(board, contract, ret);
  find_finding(board, contract, arena, ret);
  answer_make(&(struct answer_evidence){.contract = c,
                                        .summary = ret->run != NULL ? ret->run->summary : NULL,
                                        .before = ret->before != NULL ? ret->before->summary : NULL,
                                        .interleaved = true,
                                        .finding = ret->finding,
                                        .file = "RUN.lynx"},
              arena, &ret->answer);
  add_standing(board, contract, ret);
}
