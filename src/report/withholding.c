#include "report/withholding.h"

#include <stdio.h>
#include <string.h>

static const char withheld[] = "(withheld)";

static void withhold(enum disclosure level, const char **texts, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (disclosure_hides(level, texts[i])) texts[i] = withheld;
}

void withhold_claim(enum disclosure level, struct claim *c) {
  for (size_t i = 0; i < c->n_parts; i++) withhold(level, &c->parts[i].text, 1);
  if (c->sentence != NULL) withhold(level, &c->sentence, 1);
  withhold(level, c->reasons, c->n_reasons);
  withhold(level, c->caveats, c->n_caveats);
}

void withhold_answer(enum disclosure level, struct answer *a) {
  const char **texts[] = {&a->question, &a->sentence, &a->why, &a->next};
  for (size_t i = 0; i < LYNX_COUNT(texts); i++) withhold(level, texts[i], 1);
  if (a->sentence == withheld) a->sentence = "The answer names something that is not shown at this level.";
}

/* "system.machine.host-name (Infrastructure): (withheld)": what is compared there is a fact's value, by whatever rule that is withheld. */
static void withhold_values(struct arena *arena, const char **texts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const char *colon = strstr(texts[i], ": ");
    texts[i] = colon != NULL ? arena_printf(arena, "%.*s: %s", (int)(colon - texts[i]), texts[i], withheld) : withheld;
  }
}

void withhold_summary(enum disclosure level, const struct summary *summary, struct arena *arena, struct summary *ret) {
  *ret = *summary;
  if (level == DISCLOSE_FULL) return;
  ret->departures = arena_alloc(arena, summary->n_departures + 1, sizeof *ret->departures);
  for (size_t i = 0; i < summary->n_departures; i++) ret->departures[i] = summary->departures[i];
  withhold_values(arena, ret->departures, ret->n_departures);
  ret->precisions = arena_alloc(arena, summary->n_precisions + 1, sizeof *ret->precisions);
  for (size_t i = 0; i < summary->n_precisions; i++) {
    struct summary_precision *p = &ret->precisions[i];
    *p = summary->precisions[i];
    if (p->no_claim != NULL && strncmp(p->no_claim, "out of contract", 15) == 0) withhold_values(arena, &p->no_claim, 1);
    else if (p->no_claim != NULL) withhold(level, &p->no_claim, 1);
    if (p->left_out != NULL) withhold(level, &p->left_out, 1);
  }
}

/* What another program printed is its own. */
static const char *own_words(enum disclosure level, struct arena *arena, const char *why) {
  static const char printed[] = "it printed";
  const char *at = strstr(why, printed);
  if (at != NULL) why = arena_printf(arena, "%.*s%s: %s", (int)(at - why), why, printed, withheld);
  return disclosure_hides(level, why) ? withheld : why;
}

/* Before claims are built, whose reasons repeat these texts. */
void withhold_result(enum disclosure level, struct result *r) {
  struct arena *arena = &r->arena;
  if (level == DISCLOSE_FULL) return;
  (void)snprintf(r->seal.why, sizeof r->seal.why, "%s", own_words(level, arena, arena_copy(arena, r->seal.why)));
  for (size_t i = 0; i < r->n_precisions; i++)
    for (size_t k = 0; k < r->precisions[i].n_sessions; k++) {
      struct result_session *s = &r->precisions[i].sessions[k];
      s->why = own_words(level, arena, s->why);
    }
  for (size_t i = 0; i < r->n_precisions; i++)
    for (int k = 0; k < OUTCOME_COUNT; k++) r->precisions[i].reasons[k] = NULL; /* a server's own words */
  withhold_values(arena, r->holes, r->n_holes);
  withhold_values(arena, r->departures, r->n_departures);
  withhold_values(arena, r->changed, r->n_changed);
}

/* Below full a value is there or not: a digest would be another one on every page. */
void withhold_facts(enum disclosure level, struct fact_list *facts) {
  struct fact_list shown = {0};
  if (level == DISCLOSE_FULL) return;
  (void)snprintf(facts->salt, sizeof facts->salt, "none");
  capture_disclose(facts, level, &shown);
  for (size_t i = 0; i < shown.n_items; i++)
    if (shown.items[i].status == FACT_WITHHELD) shown.items[i].value = "";
  fact_list_release(facts);
  *facts = shown;
}
