#include "ledger/standing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *agreement_text(enum agreement agreement) {
  switch (agreement) {
    case AGREEMENT_NOBODY: return "names no signatories";
    case AGREEMENT_MISSING: return "not agreed before the run";
    case AGREEMENT_UNANSWERED: return "agreed before the run that its intent declares; the team of that intent has not entered this bundle";
    case AGREEMENT_BY_ORDER: return "agreed before the run, by the ledger's own order";
    case AGREEMENT_OF_ANOTHER: return "agreed for another bundle: this one names its intent";
    case AGREEMENT_WITNESSED: return "agreed before the run, witnessed";
  }
  return "?";
}

static struct standing_signature *add_signature(struct arena *arena, struct standing_signature **list, size_t *n) {
  *list = arena_room(arena, *list, *n, sizeof **list);
  return &(*list)[(*n)++];
}

struct gathering {
  struct ledger *ledger;
  const struct standing_question *question;
  struct standing *standing;
  struct intent {
    uint8_t leaf[DIGEST_BYTES];
    const char *by;
    bool sealed; /* a bundle of the same team answers it */
  } * intents;
  size_t n_intents;
  const char *intent_by; /* of this bundle's run */
  bool answered;         /* the bundle's entry names that intent, and is by the same team */
  uint64_t intent_index; /* of this bundle's run; UINT64_MAX: not known */
  enum lynx_status status;
  struct lynx_error *error;
};

static const char *of_predicate(struct gathering *g, const struct ledger_entry *entry, const char *key) {
  return arena_copy(&g->standing->arena, json_get_text(entry->statement.predicate, key, ""));
}

static bool is_its_intent(const struct gathering *g, const uint8_t intent[DIGEST_BYTES]) {
  return g->question->has_intent && memcmp(intent, g->question->intent, DIGEST_BYTES) == 0;
}

static bool take_of_contract(void *context, const struct ledger_entry *entry, const char *subject) {
  struct gathering *g = context;
  struct standing *s = g->standing;
  if (strcmp(subject, "contract") != 0) return true;
  if (strcmp(entry->statement.kind, "signature") == 0 && entry->statement.n_subjects == 1) {
    *add_signature(&s->arena, &s->signatures, &s->n_signatures) = (struct standing_signature){
        .team = arena_copy(&s->arena, entry->signer), .reservation = of_predicate(g, entry, "reservation"), .index = entry->index};
  }
  if (strcmp(entry->statement.kind, "intent") == 0) {
    g->intents = arena_room(&s->arena, g->intents, g->n_intents, sizeof *g->intents);
    struct intent *intent = &g->intents[g->n_intents++];
    *intent = (struct intent){.by = arena_copy(&s->arena, entry->signer)};
    memcpy(intent->leaf, entry->leaf, DIGEST_BYTES);
    if (is_its_intent(g, entry->leaf)) {
      g->intent_index = entry->index;
      g->intent_by = intent->by;
    }
  }
  if (strcmp(entry->statement.kind, "bundle") == 0) {
    uint8_t answered[DIGEST_BYTES];
    bool answers = statement_intent(&entry->statement, answered);
    const uint8_t *bundle = statement_subject_named(&entry->statement, "bundle");
    bool other = bundle != NULL && memcmp(bundle, g->question->bundle, DIGEST_BYTES) != 0;
    if (other && answers && is_its_intent(g, answered)) {
      s->rivals = arena_room(&s->arena, s->rivals, s->n_rivals, sizeof *s->rivals);
      s->rivals[s->n_rivals++] = (struct standing_rival){.by = arena_copy(&s->arena, entry->signer), .index = entry->index};
      (void)digest_hex(bundle, s->rivals[s->n_rivals - 1].bundle);
    }
    for (size_t i = 0; i < g->n_intents && answers; i++)
      if (memcmp(g->intents[i].leaf, answered, DIGEST_BYTES) == 0 && strcmp(g->intents[i].by, entry->signer) == 0)
        g->intents[i].sealed = true;
  }
  return true;
}

bool standing_is_decided(const char *decision) {
  return strcmp(decision, "reproduced") == 0 || strcmp(decision, "not reproduced") == 0;
}

/* A contest is closed by its own team's withdrawal, or by a re-measurement of the same bundle that was made for it and decided, by another
 * team than the one whose result it is. */
const char *standing_closes(const struct standing_contest *contest, const uint8_t bundle[DIGEST_BYTES], const char *recorded_by,
                            const struct ledger_entry *entry, const char *subject, struct arena *arena) {
  const char *decision = json_get_text(entry->statement.predicate, "decision", "");
  bool withdrawn = strcmp(entry->statement.kind, "withdrawal") == 0 && strcmp(subject, "entry") == 0 &&
                   strcmp(entry->signer, contest->by) == 0;
  bool decided = strcmp(entry->statement.kind, "verification") == 0 && strcmp(subject, "contest") == 0 && standing_is_decided(decision);
  const uint8_t *of = statement_subject_named(&entry->statement, "bundle");
  decided = decided && of != NULL && memcmp(of, bundle, DIGEST_BYTES) == 0 && recorded_by != NULL &&
            strcmp(entry->signer, recorded_by) != 0;
  if (decided) return arena_printf(arena, "re-measured by %s: %s (entry %" PRIu64 ")", entry->signer, decision, entry->index);
  if (withdrawn) return arena_printf(arena, "withdrawn by %s (entry %" PRIu64 ")", entry->signer, entry->index);
  return NULL;
}

static bool take_of_contest(void *context, const struct ledger_entry *entry, const char *subject) {
  struct gathering *g = context;
  struct standing *s = g->standing;
  struct standing_contest *contest = &s->contests[s->n_contests - 1];
  contest->closed = standing_closes(contest, g->question->bundle, s->recorded ? s->recorded_by : NULL, entry, subject, &s->arena);
  return contest->closed == NULL;
}

static const char *member(const struct ledger_entry *entry, const char *key, struct arena *arena) {
  return arena_copy(arena, json_get_text(entry->statement.predicate, key, ""));
}

struct standing_contest standing_contest_of(const struct ledger_entry *entry, struct arena *arena) {
  struct standing_contest contest = {.by = arena_copy(arena, entry->signer),
                                     .ground = member(entry, "ground", arena),
                                     .text = member(entry, "text", arena),
                                     .layer = member(entry, "layer", arena),
                                     .owner = member(entry, "owner", arena),
                                     .time = member(entry, "time", arena),
                                     .index = entry->index};
  (void)digest_hex(entry->leaf, contest.leaf);
  return contest;
}

static void take_contest(struct gathering *g, const struct ledger_entry *entry) {
  struct standing *s = g->standing;
  s->contests = arena_room(&s->arena, s->contests, s->n_contests, sizeof *s->contests);
  s->contests[s->n_contests++] = standing_contest_of(entry, &s->arena);
  g->status = ledger_each_mention(g->ledger, entry->leaf, take_of_contest, g, g->error);
  s->n_open += s->contests[s->n_contests - 1].closed == NULL;
}

/* Words of others, for a terminal. */
static const char *clean(const struct ledger_entry *entry, const char *key, struct arena *arena) {
  char text[400];
  const char *found = json_get_text(entry->statement.predicate, key, "");
  (void)text_sanitise(text, sizeof text, found, strlen(found));
  return arena_copy(arena, text);
}

struct standing_confirmation standing_confirmation_of(const struct ledger_entry *entry, struct arena *arena) {
  const json_t *said = entry->statement.predicate;
  return (struct standing_confirmation){.by = arena_copy(arena, entry->signer),
                                        .finding = clean(entry, "finding", arena),
                                        .named = clean(entry, "named", arena),
                                        .verdict = clean(entry, "verdict", arena),
                                        .form = clean(entry, "form", arena),
                                        .rung = clean(entry, "rung", arena),
                                        .estimate = json_get_double(said, "estimate", NAN),
                                        .low = json_get_double(said, "low", NAN),
                                        .high = json_get_double(said, "high", NAN),
                                        .threshold = json_get_double(said, "threshold", NAN),
                                        .index = entry->index};
}

static void take_confirmation(struct gathering *g, const struct ledger_entry *entry) {
  struct standing *s = g->standing;
  s->confirmations = arena_room(&s->arena, s->confirmations, s->n_confirmations, sizeof *s->confirmations);
  s->confirmations[s->n_confirmations++] = standing_confirmation_of(entry, &s->arena);
}

static bool take_of_bundle(void *context, const struct ledger_entry *entry, const char *subject) {
  struct gathering *g = context;
  struct standing *s = g->standing;
  const char *kind = entry->statement.kind;
  if (strcmp(subject, "bundle") != 0) return true; /* the bundle of somebody's verification, say */
  uint8_t answered[DIGEST_BYTES];
  bool answers = g->intent_by != NULL && strcmp(entry->signer, g->intent_by) == 0 && statement_intent(&entry->statement, answered) &&
                 is_its_intent(g, answered);
  if (strcmp(kind, "bundle") == 0 &&
      (!s->recorded || (answers && !g->answered))) { /* the entry of who ran it, if somebody else's came first */
    s->recorded = true;
    g->answered = answers;
    s->recorded_by = arena_copy(&s->arena, entry->signer);
    s->index = entry->index;
  }
  if (strcmp(kind, "signature") == 0) {
    *add_signature(&s->arena, &s->bundle_signatures, &s->n_bundle_signatures) = (struct standing_signature){
        .team = arena_copy(&s->arena, entry->signer), .reservation = of_predicate(g, entry, "reservation"), .index = entry->index};
  }
  if (strcmp(kind, "verification") == 0) {
    s->verifications = arena_room(&s->arena, s->verifications, s->n_verifications, sizeof *s->verifications);
    struct standing_verification *to = &s->verifications[s->n_verifications++];
    *to = (struct standing_verification){arena_copy(&s->arena, entry->signer), of_predicate(g, entry, "decision"), entry->index, NULL};
    s->n_reproduced += strcmp(to->decision, "reproduced") == 0;
    s->n_not_reproduced += strcmp(to->decision, "not reproduced") == 0;
    s->n_inconclusive += strcmp(to->decision, "inconclusive") == 0;
  }
  if (strcmp(kind, "confirmation") == 0) take_confirmation(g, entry);
  if (strcmp(kind, "contest") == 0) take_contest(g, entry);
  return g->status == LYNX_OK;
}

/* The note that the run embedded: this ledger's own tree, of that size at least, at a time before the run, by the word of other teams. */
static bool witnessed(const struct gathering *g, uint64_t n_needed) {
  struct checkpoint checkpoint;
  uint64_t time_s = ledger_vouched_at(g->ledger, g->question->checkpoint, g->standing->recorded_by, &checkpoint);
  return time_s > 0 && (int64_t)time_s <= g->question->run_start_s && checkpoint.size >= n_needed;
}

static void judge_agreement(struct gathering *g) {
  struct standing *s = g->standing;
  uint64_t n_needed = 0;
  for (size_t i = 0; i < s->n_signatures; i++)
    s->signatures[i].before_run = s->signatures[i].index < g->intent_index && g->intent_index != UINT64_MAX;
  for (size_t i = 0; i < g->question->n_signatories; i++) {
    const char *name = g->question->signatories[i];
    uint64_t at = UINT64_MAX;
    for (size_t k = 0; k < s->n_signatures && at == UINT64_MAX; k++)
      if (s->signatures[k].before_run && strcmp(s->signatures[k].team, name) == 0) at = s->signatures[k].index;
    if (at == UINT64_MAX) {
      s->missing = arena_room(&s->arena, s->missing, s->n_missing, sizeof *s->missing);
      s->missing[s->n_missing++] = arena_copy(&s->arena, name);
    } else if (at + 1 > n_needed) n_needed = at + 1;
  }
  s->is_rival = s->n_rivals > 0 && !g->answered;
  s->agreement = s->is_rival                       ? AGREEMENT_OF_ANOTHER
                 : g->question->n_signatories == 0 ? AGREEMENT_NOBODY
                 : s->n_missing > 0                ? AGREEMENT_MISSING
                 : !g->answered                    ? AGREEMENT_UNANSWERED
                 : witnessed(g, n_needed)          ? AGREEMENT_WITNESSED
                                                   : AGREEMENT_BY_ORDER;
}

enum lynx_status standing_of(struct ledger *ledger, const struct standing_question *question, struct standing *ret,
                             struct lynx_error *error) {
  *ret = (struct standing){.recorded = false};
  struct gathering g = {.ledger = ledger, .question = question, .standing = ret, .intent_index = UINT64_MAX, .error = error};
  struct checkpoint checkpoint;
  (void)snprintf(ret->origin, sizeof ret->origin, "%s", ledger_policy(ledger)->origin);
  enum lynx_status status = ledger_checkpoint(ledger, NULL, &checkpoint, error);
  if (status == LYNX_OK) status = ledger_each_mention(ledger, question->contract, take_of_contract, &g, error);
  if (status == LYNX_OK) status = ledger_each_mention(ledger, question->bundle, take_of_bundle, &g, error);
  if (status == LYNX_OK) status = g.status;
  if (status != LYNX_OK) {
    standing_release(ret);
    return status;
  }
  ret->n_entries = checkpoint.size;
  ret->n_started = g.n_intents;
  for (size_t i = 0; i < g.n_intents; i++) ret->n_sealed += g.intents[i].sealed;
  ret->n_abandoned = ret->n_started - ret->n_sealed;
  judge_agreement(&g);
  return LYNX_OK;
}

void standing_release(struct standing *standing) {
  arena_release(&standing->arena);
  *standing = (struct standing){.recorded = false};
}
