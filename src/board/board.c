#include "board/board.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "executor/identity_facts.h"
#include "result/claim.h"
#include "result/formula.h"

enum { EXECUTORS_OF_ENTRY = 4, WORDS_MAX = 600, FACTS_MAX = 1000, VALUES_MAX = 60000, FIGURES_LEAST = 8, DIFF_MAX = 16 << 20 };

struct taking {
  struct board *board;
  size_t left;
};

/* Words of others, without control characters. */
static const char *words(struct board *b, const json_t *object, const char *key) {
  char text[WORDS_MAX];
  const char *found = json_get_text(object, key, "");
  return found[0] == 0 ? "" : arena_copy(&b->arena, text_sanitise(text, sizeof text, found, strlen(found)));
}

/* The same, of what many entries say alike. */
static const char *common(struct board *b, const char *text) {
  char clean[WORDS_MAX];
  return text[0] == 0 ? "" : text_set_keep(&b->texts, &b->arena, text_sanitise(clean, sizeof clean, text, strlen(text)));
}

static const char *said_often(struct board *b, const struct ledger_entry *entry, const char *key) {
  return common(b, json_get_text(entry->statement.predicate, key, ""));
}

static const char *said(struct board *b, const struct ledger_entry *entry, const char *key) {
  return words(b, entry->statement.predicate, key);
}

/* --- contracts --- */

bool board_find_contract(const struct board *b, const uint8_t digest[DIGEST_BYTES], size_t *ret) {
  return digest_map_get(&b->by_contract, digest, ret);
}

bool board_find_run(const struct board *b, const uint8_t root[DIGEST_BYTES], size_t *ret) {
  return digest_map_get(&b->by_root, root, ret) && b->runs[*ret].contract != BOARD_NO_CONTRACT;
}

/* What is kept of a contract's pages is old from here on. Whoever looks a contract, a run or a finding up to change it calls these. */
static void touch(struct board *b, const struct board_run *run) {
  if (run->contract != BOARD_NO_CONTRACT) b->contracts[run->contract].n_changes++;
}

static void touch_all(struct board *b) {
  for (size_t i = 0; i < b->n_contracts; i++) b->contracts[i].n_changes++;
}

static size_t contract_for(struct board *b, const uint8_t digest[DIGEST_BYTES]) {
  size_t i;
  if (board_find_contract(b, digest, &i)) {
    b->contracts[i].n_changes++;
    return i;
  }
  b->contracts = xroom(b->contracts, b->n_contracts, &b->contracts_room, sizeof *b->contracts);
  struct board_contract *c = &b->contracts[b->n_contracts];
  *c = (struct board_contract){.name = ""};
  memcpy(c->digest, digest, DIGEST_BYTES);
  (void)digest_hex(digest, c->hex);
  digest_map_put(&b->by_contract, digest, b->n_contracts);
  return b->n_contracts++;
}

/* Words that have another digest than they are entered under do not count. */
static void take_contract(struct board *b, const struct ledger_entry *entry, const uint8_t *digest) {
  size_t at = contract_for(b, digest); /* which may move them */
  struct board_contract *c = &b->contracts[at];
  const char *text = json_get_text(entry->statement.predicate, "text", "");
  if (c->text != NULL || !contract_text_has(text, digest)) return;
  struct contract *contract = arena_alloc(&b->arena, 1, sizeof *contract);
  struct problem_list problems = {.arena = &b->arena};
  c->text = arena_copy(&b->arena, text);
  if (contract_parse(c->text, strlen(c->text), &b->arena, contract, &problems) != LYNX_OK) return;
  char name[WORDS_MAX];
  c->contract = contract;
  c->n_judged = SIZE_MAX; /* who owns a layer, and what differs too much, is said by its words */
  c->name = arena_copy(&b->arena, text_sanitise(name, sizeof name, contract->name, strlen(contract->name)));
}

const struct standing_signature *board_signature_of(const struct board_contract *c, const char *team) {
  for (size_t i = 0; i < c->n_signatures; i++)
    if (strcmp(c->signatures[i].team, team) == 0) return &c->signatures[i];
  return NULL;
}

size_t board_signed(const struct board_contract *c, size_t *ret_n) {
  size_t n = 0;
  *ret_n = c->contract != NULL ? c->contract->signatories.n_items : 0;
  for (size_t i = 0; i < *ret_n; i++) n += board_signature_of(c, c->contract->signatories.items[i]) != NULL;
  return n;
}

static void take_signature(struct board *b, const struct ledger_entry *entry) {
  const uint8_t *digest = statement_subject_named(&entry->statement, "contract");
  if (digest == NULL || entry->statement.n_subjects != 1) return;
  size_t at = contract_for(b, digest); /* which may move them */
  struct board_contract *c = &b->contracts[at];
  c->signatures = arena_room(&b->arena, c->signatures, c->n_signatures, sizeof *c->signatures);
  c->signatures[c->n_signatures++] = (struct standing_signature){
      .team = arena_copy(&b->arena, entry->signer), .reservation = said(b, entry, "reservation"), .index = entry->index};
}

static void take_intent(struct board *b, const struct ledger_entry *entry, const uint8_t *digest) {
  size_t contract = contract_for(b, digest);
  b->intents = xroom(b->intents, b->n_intents, &b->intents_room, sizeof *b->intents);
  b->intents[b->n_intents] = (struct board_intent){
      .by = common(b, entry->signer), .host = said_often(b, entry, "host"), .index = entry->index, .contract = contract};
  digest_map_put(&b->by_intent, entry->leaf, b->n_intents++);
  b->contracts[contract].n_intents++;
}

/* --- runs --- */

/* Figures of another analysis are none to follow beside ours. */
static const struct summary *summary_of(struct board *b, const struct ledger_entry *entry) {
  struct summary *summary = arena_alloc(&b->arena, 1, sizeof *summary);
  const json_t *found = json_object_get(entry->statement.predicate, "summary");
  return summary_read(found, &b->arena, &b->texts, summary) && summary_counts(summary) ? summary : NULL;
}

static void take_facts(struct board *b, const char *fingerprint, const struct fact_list *facts) {
  b->executors = xroom(b->executors, b->n_executors, &b->executors_room, sizeof *b->executors);
  struct board_executor *e = &b->executors[b->n_executors++];
  *e = (struct board_executor){.facts = arena_alloc(&b->arena, facts->n_items + 1, sizeof *e->facts)};
  memcpy(e->fingerprint, fingerprint, sizeof e->fingerprint);
  b->facts_bytes += facts->n_items * sizeof *e->facts;
  for (size_t k = 0; k < facts->n_items; k++) {
    const struct fact *f = &facts->items[k];
    if (!fact_is_known(f)) continue;
    e->facts[e->n_facts++] = (struct board_fact){f->layer, arena_copy(&b->arena, f->key), arena_copy(&b->arena, f->value),
                                                 arena_copy(&b->arena, f->unit)};
    b->facts_bytes += strlen(f->key) + strlen(f->value) + strlen(f->unit) + 3;
  }
}

/* Facts that a fingerprint proves are whoever's entry they stand in. */
static void take_executors(struct board *b, const struct ledger_entry *entry) {
  const json_t *all = json_object_get(entry->statement.predicate, "executors");
  for (size_t i = 0; i < json_array_size(all) && i < EXECUTORS_OF_ENTRY; i++) {
    const json_t *one = json_array_get(all, i);
    const char *fingerprint = json_get_text(one, "fingerprint", "");
    uint8_t digest[DIGEST_BYTES];
    struct fact_list facts;
    size_t at;
    if (!hex_decode(fingerprint, digest, DIGEST_BYTES) || digest_map_get(&b->by_executor, digest, &at)) continue;
    if (b->facts_bytes >= BOARD_FACTS_BYTES) {
      b->n_left_out++; /* a small entry can hold much, compressed */
      continue;
    }
    if (!identity_facts_read(json_get_text(one, "facts", ""), fingerprint, &facts)) continue;
    digest_map_put(&b->by_executor, digest, b->n_executors);
    take_facts(b, fingerprint, &facts);
    fact_list_release(&facts);
  }
}

const struct board_executor *board_executor(const struct board *b, const char *fingerprint) {
  uint8_t digest[DIGEST_BYTES];
  size_t at;
  return hex_decode(fingerprint, digest, DIGEST_BYTES) && digest_map_get(&b->by_executor, digest, &at) ? &b->executors[at] : NULL;
}

/* The intent that a bundle's entry answers, if it is of the same contract and team. */
static struct board_intent *intent_of(struct board *b, const struct ledger_entry *entry, size_t contract) {
  uint8_t digest[DIGEST_BYTES];
  size_t i;
  if (!statement_intent(&entry->statement, digest)) return NULL;
  if (!digest_map_get(&b->by_intent, digest, &i)) return NULL;
  return b->intents[i].contract == contract && strcmp(b->intents[i].by, entry->signer) == 0 ? &b->intents[i] : NULL;
}

/* What is said of a bundle may stand before its own entry. */
static struct board_run *run_at(struct board *b, const uint8_t *root) {
  size_t i;
  if (digest_map_get(&b->by_root, root, &i)) {
    touch(b, &b->runs[i]);
    return &b->runs[i];
  }
  b->runs = xroom(b->runs, b->n_runs, &b->runs_room, sizeof *b->runs);
  struct board_run *run = &b->runs[b->n_runs];
  *run = (struct board_run){.contract = BOARD_NO_CONTRACT, .label = "", .time = "", .ended = "", .why = ""};
  memcpy(run->root, root, DIGEST_BYTES);
  digest_map_put(&b->by_root, root, b->n_runs++);
  return run;
}

static void give_to(struct board *b, struct board_run *run, size_t contract) {
  struct board_contract *c = &b->contracts[contract];
  run->contract = contract;
  c->runs = arena_room(&b->arena, c->runs, c->n_runs, sizeof *c->runs);
  c->runs[c->n_runs++] = (size_t)(run - b->runs);
  c->n_judged = SIZE_MAX;
}

static void take_from(struct board *b, const struct board_run *run) {
  struct board_contract *c = &b->contracts[run->contract];
  size_t n = 0;
  for (size_t i = 0; i < c->n_runs; i++)
    if (&b->runs[c->runs[i]] != run) c->runs[n++] = c->runs[i];
  c->n_runs = n;
  c->n_judged = SIZE_MAX;
}

/* The same bundle may be entered again: the entry of who ran it counts, else the first. */
static void take_bundle(struct board *b, const struct ledger_entry *entry, const uint8_t *digest) {
  const uint8_t *root = statement_subject_named(&entry->statement, "bundle"), *file = ledger_entry_file(entry);
  size_t contract = contract_for(b, digest);
  struct board_intent *intent = intent_of(b, entry, contract);
  take_executors(b, entry);
  size_t n_before = b->n_runs;
  struct board_run *run = run_at(b, root);
  if (b->n_runs == n_before) touch_all(b); /* others may have named it already, under whatever contract */
  bool known = run->contract != BOARD_NO_CONTRACT;
  if (!known) run->first = entry->index;
  if (intent != NULL && intent->index > run->first) intent = NULL; /* said after the bundle was there: of no run that gave it */
  if (intent != NULL) {
    b->contracts[contract].n_sealed += !intent->sealed;
    intent->sealed = true;
  }
  if (known && (run->answers || intent == NULL)) return;
  if (known && run->contract != contract) take_from(b, run); /* who came first put it under another contract */
  if (run->contract != contract) give_to(b, run, contract);
  b->contracts[contract].n_judged = SIZE_MAX; /* the figures of the same run may be others now */
  run->summary = summary_of(b, entry);
  run->index = entry->index;
  run->by = common(b, entry->signer);
  run->label = said(b, entry, "name");
  run->time = said(b, entry, "time");
  run->ended = said_often(b, entry, "ended");
  run->why = said_often(b, entry, "why");
  run->answers = intent != NULL;
  run->has_file = file != NULL;
  if (file != NULL) memcpy(run->file, file, DIGEST_BYTES);
}

static struct board_run *run_of(struct board *b, const struct ledger_entry *entry) {
  const uint8_t *root = statement_subject_named(&entry->statement, "bundle");
  return root != NULL ? run_at(b, root) : NULL;
}

/* --- what is said of runs --- */

/* A withdrawal, or a verification that was made for contests, may close them. */
static void close_contests(struct board *b, const struct ledger_entry *entry) {
  for (size_t i = 0; i < entry->statement.n_subjects; i++) {
    const struct statement_subject *subject = &entry->statement.subjects[i];
    size_t at;
    if (!digest_map_get(&b->by_contest, subject->digest, &at)) continue;
    struct board_run *run = &b->runs[b->contests[at].run];
    struct standing_contest *contest = &run->contests[b->contests[at].item];
    if (contest->closed != NULL) continue;
    touch(b, run);
    contest->closed = standing_closes(contest, run->root, run->by, entry, subject->name, &b->arena);
    run->n_open -= contest->closed != NULL;
  }
}

static void take_verification(struct board *b, const struct ledger_entry *entry) {
  struct board_run *run = run_of(b, entry);
  const uint8_t *again = statement_subject_named(&entry->statement, "verifying");
  size_t i;
  /* Whoever made a run says what it was for: else any team could set another's runs aside. */
  if (again != NULL && board_find_run(b, again, &i) && strcmp(b->runs[i].by, entry->signer) == 0) {
    touch(b, &b->runs[i]);
    b->runs[i].verifies = true;
  }
  if (run == NULL) return;
  run->verifications = arena_room(&b->arena, run->verifications, run->n_verifications, sizeof *run->verifications);
  struct standing_verification *to = &run->verifications[run->n_verifications++];
  *to = (struct standing_verification){arena_copy(&b->arena, entry->signer), said(b, entry, "decision"), entry->index, NULL};
  if (again != NULL && board_find_run(b, again, &i)) to->rerun_by = b->runs[i].by;
  run->n_reproduced += strcmp(to->decision, "reproduced") == 0;
  run->n_not_reproduced += strcmp(to->decision, "not reproduced") == 0;
  run->n_inconclusive += strcmp(to->decision, "inconclusive") == 0;
}

static void take_contest(struct board *b, const struct ledger_entry *entry) {
  struct board_run *run = run_of(b, entry);
  if (run == NULL) return;
  run->contests = arena_room(&b->arena, run->contests, run->n_contests, sizeof *run->contests);
  run->contests[run->n_contests] = standing_contest_of(entry, &b->arena);
  b->contests = xroom(b->contests, b->n_contests, &b->contests_room, sizeof *b->contests);
  b->contests[b->n_contests] = (struct board_place){(size_t)(run - b->runs), run->n_contests++};
  digest_map_put(&b->by_contest, entry->leaf, b->n_contests++);
  run->n_open++;
}

static void take_finding(struct board *b, const struct ledger_entry *entry) {
  struct board_run *run = run_of(b, entry);
  const json_t *symptom = json_object_get(entry->statement.predicate, "symptom");
  if (run == NULL) return;
  run->findings = arena_room(&b->arena, run->findings, run->n_findings, sizeof *run->findings);
  run->findings[run->n_findings++] = (struct board_finding){.by = arena_copy(&b->arena, entry->signer),
                                                            .rule = said(b, entry, "rule"),
                                                            .title = said(b, entry, "title"),
                                                            .named = said(b, entry, "named"),
                                                            .evidence = said(b, entry, "evidence"),
                                                            .rung = said(b, entry, "rung"),
                                                            .layer = words(b, symptom, "layer"),
                                                            .owner = words(b, symptom, "owner"),
                                                            .index = entry->index};
  (void)digest_hex(entry->leaf, run->findings[run->n_findings - 1].leaf);
  b->findings = xroom(b->findings, b->n_findings, &b->findings_room, sizeof *b->findings);
  b->findings[b->n_findings] = (struct board_place){(size_t)(run - b->runs), run->n_findings - 1};
  digest_map_put(&b->by_finding, entry->leaf, b->n_findings++);
}

/* That it answers; NULL: none, or one that is not there. */
static struct board_finding *finding_of(struct board *b, const struct ledger_entry *entry) {
  const uint8_t *digest = statement_subject_named(&entry->statement, "finding");
  size_t at;
  if (digest == NULL || !digest_map_get(&b->by_finding, digest, &at)) return NULL;
  touch(b, &b->runs[b->findings[at].run]);
  return &b->runs[b->findings[at].run].findings[b->findings[at].item];
}

static void take_change(struct board *b, const struct ledger_entry *entry) {
  struct board_finding *f = finding_of(b, entry);
  if (f == NULL) return;
  f->changes = arena_room(&b->arena, f->changes, f->n_changes, sizeof *f->changes);
  f->changes[f->n_changes++] = (struct board_change){.by = arena_copy(&b->arena, entry->signer),
                                                     .words = said(b, entry, "change"),
                                                     .commit = said(b, entry, "commit"),
                                                     .ticket = said(b, entry, "ticket"),
                                                     .time = said(b, entry, "time"),
                                                     .done = strcmp(said(b, entry, "state"), "done") == 0,
                                                     .index = entry->index};
}

const char *response_kind_text(enum response_kind kind) {
  static const char *const texts[RESPONSE_KINDS] = {
      [RESPONSE_ACCEPTED] = "accepted", [RESPONSE_DISPUTED] = "disputed", [RESPONSE_HANDED_ON] = "handed on"};
  return texts[kind];
}

/* One of a kind that is not known, or that hands on to no layer, says nothing. */
static void take_response(struct board *b, const struct ledger_entry *entry) {
  struct board_finding *f = finding_of(b, entry);
  const char *text = said(b, entry, "state"), *layer = said(b, entry, "layer");
  int kind = 0;
  enum layer known;
  while (kind < RESPONSE_KINDS && strcmp(text, response_kind_text((enum response_kind)kind)) != 0) kind++;
  if (f == NULL || kind == RESPONSE_KINDS || (kind == RESPONSE_HANDED_ON && !layer_parse(layer, &known))) return;
  f->responses = arena_room(&b->arena, f->responses, f->n_responses, sizeof *f->responses);
  f->responses[f->n_responses++] = (struct board_response){.kind = (enum response_kind)kind,
                                                           .by = arena_copy(&b->arena, entry->signer),
                                                           .words = said(b, entry, "text"),
                                                           .time = said(b, entry, "time"),
                                                           .layer = kind == RESPONSE_HANDED_ON ? layer : "",
                                                           .index = entry->index};
}

static void take_confirmation(struct board *b, const struct ledger_entry *entry) {
  struct board_run *run = run_of(b, entry);
  if (run == NULL) return;
  struct standing_confirmation *c = arena_alloc(&b->arena, 1, sizeof *c);
  *c = standing_confirmation_of(entry, &b->arena);
  for (size_t i = 0; i < run->n_findings; i++)
    if (strcmp(run->findings[i].rule, c->finding) == 0 && strcmp(run->findings[i].named, c->named) == 0) run->findings[i].confirmation = c;
}

static void take_iteration(struct board *b, const struct ledger_entry *entry) {
  const uint8_t *from = statement_subject_named(&entry->statement, "before");
  size_t before = from != NULL ? (size_t)(run_at(b, from) - b->runs) : SIZE_MAX; /* which may move them */
  struct board_run *run = run_of(b, entry);
  if (run == NULL || from == NULL) return;
  run->iterations = arena_room(&b->arena, run->iterations, run->n_iterations, sizeof *run->iterations);
  run->iterations[run->n_iterations++] = (struct board_iteration){
      .by = arena_copy(&b->arena, entry->signer),
      .change = said(b, entry, "change"),
      .interleaved = json_is_true(json_object_get(entry->statement.predicate, "interleaved")),
      .before = before,
      .after = (size_t)(run - b->runs),
      .index = entry->index};
  struct board_finding *f = finding_of(b, entry);
  if (f == NULL) return;
  f->measured = arena_room(&b->arena, f->measured, f->n_measured, sizeof *f->measured);
  f->measured[f->n_measured++] = run->iterations[run->n_iterations - 1];
}

static bool take_entry(void *context, const struct ledger_entry *entry, const char *subject) {
  struct taking *t = context;
  const char *kind = entry->statement.kind;
  const uint8_t *contract = statement_subject_named(&entry->statement, "contract");
  (void)subject;
  if (contract != NULL && strcmp(kind, "contract") == 0) take_contract(t->board, entry, contract);
  else if (contract != NULL && strcmp(kind, "intent") == 0) take_intent(t->board, entry, contract);
  else if (contract != NULL && strcmp(kind, "bundle") == 0) take_bundle(t->board, entry, contract);
  else if (strcmp(kind, "signature") == 0) take_signature(t->board, entry);
  else if (strcmp(kind, "verification") == 0) take_verification(t->board, entry);
  else if (strcmp(kind, "contest") == 0) take_contest(t->board, entry);
  else if (strcmp(kind, "finding") == 0) take_finding(t->board, entry);
  else if (strcmp(kind, "confirmation") == 0) take_confirmation(t->board, entry);
  else if (strcmp(kind, "change") == 0) take_change(t->board, entry);
  else if (strcmp(kind, "response") == 0) take_response(t->board, entry);
  else if (strcmp(kind, "iteration") == 0) take_iteration(t->board, entry);
  if (strcmp(kind, "verification") == 0 || strcmp(kind, "withdrawal") == 0) close_contests(t->board, entry);
  t->board->n_entries = entry->index + 1;
  return --t->left > 0;
}

enum lynx_status board_update(struct board *b, struct ledger *ledger, size_t most, bool *ret_more, struct lynx_error *error) {
  struct checkpoint checkpoint = {.size = 0};
  struct taking taking = {b, most};
  enum lynx_status status = ledger_refresh(ledger, error);
  (void)snprintf(b->origin, sizeof b->origin, "%s", ledger_policy(ledger)->origin);
  if (status == LYNX_OK) status = ledger_checkpoint(ledger, NULL, &checkpoint, error);
  *ret_more = false;
  if (status != LYNX_OK || checkpoint.size <= b->n_entries) return status;
  status = ledger_each_entry(ledger, b->n_entries, take_entry, &taking, error);
  *ret_more = status == LYNX_OK && b->n_entries < checkpoint.size;
  return status;
}

/* --- over time --- */

static bool open_nothing(void *context, const struct history_run *run, struct history_facts *ret) {
  (void)context, (void)run, (void)ret;
  return false;
}

static void forget(struct board_contract *c) {
  for (size_t i = 0; i < c->history.n_events; i++) coincidence_release(&c->coincidences[i]);
  free(c->coincidences);
  history_release(&c->history);
  c->history = (struct history){.runs = NULL};
  c->coincidences = NULL;
}

void board_judge(struct board *b, struct board_contract *c) {
  const struct history_opener nothing = {.open = open_nothing, .contract = c->contract};
  char hex[DIGEST_HEX];
  if (c->n_judged == c->n_runs) return;
  forget(c);
  for (size_t i = 0; i < c->n_runs; i++) {
    const struct board_run *run = &b->runs[c->runs[i]];
    if (run->summary == NULL) continue;
    struct summary_precision precisions[SUMMARY_PRECISIONS_MAX];
    struct summary own = *run->summary; /* whatever it says itself: the entry's subject is what teams signed */
    size_t left = c->n_runs > VALUES_MAX / FIGURES_LEAST ? FIGURES_LEAST : VALUES_MAX / c->n_runs;
    own.precisions = precisions;
    for (size_t k = 0; k < own.n_precisions; k++) {
      precisions[k] = run->summary->precisions[k];
      if (precisions[k].n_figures > left) precisions[k].n_figures = left;
      left -= precisions[k].n_figures;
    }
    own.contract = c->hex;
    own.name = c->name;
    history_add(&c->history, &(struct history_origin){run->label, digest_hex(run->root, hex), b->address, c->runs[i]}, &own);
  }
  history_search(&c->history, &change_plan_usual);
  c->coincidences = xalloc(c->history.n_events + 1, sizeof *c->coincidences);
  for (size_t i = 0; i < c->history.n_events; i++) coincidence_find(&c->history, &c->history.events[i], &nothing, &c->coincidences[i]);
  c->n_judged = c->n_runs;
}

struct history_report board_report(const struct board_contract *c) {
  return (struct history_report){.history = &c->history, .coincidences = c->coincidences, .plan = &change_plan_usual};
}

const char *board_run_time(const struct board_run *run, char *text) {
  if (run->summary != NULL && run->summary->started_ns > 0) return clock_text(text, run->summary->started_ns);
  (void)snprintf(text, 32, "%.20s", run->time);
  return text;
}

static const char *word_or_nothing(struct difference_list *list, const json_t *object, const char *key) {
  const char *text = json_get_text(object, key, NULL);
  char clean[WORDS_MAX];
  return text != NULL ? arena_copy(&list->arena, text_sanitise(clean, sizeof clean, text, strlen(text))) : NULL;
}

bool board_learn(struct board_contract *c, size_t event, const char *text, size_t length) {
  struct lynx_error error = {0};
  struct difference_list list = {0};
  json_t *facts = json_parse(text, length, DIFF_MAX, &error);
  size_t n = json_array_size(facts);
  list.items = xalloc(n + 1, sizeof *list.items);
  for (size_t i = 0; i < n && i < FACTS_MAX; i++) {
    const json_t *fact = json_array_get(facts, i);
    struct difference *d = &list.items[list.n_items];
    *d = (struct difference){.of = FACT_IDENTITY, .reason = ""};
    if (strcmp(json_get_text(fact, "of", ""), fact_kind_text(FACT_IDENTITY)) != 0) continue;
    if (!layer_parse(json_get_text(fact, "layer", ""), &d->layer)) continue;
    d->key = word_or_nothing(&list, fact, "key");
    if (d->key == NULL) continue;
    d->a = word_or_nothing(&list, fact, "a");
    d->b = word_or_nothing(&list, fact, "b");
    list.n_items++;
    list.n_identity++;
  }
  bool good = json_is_array(facts) && event < c->history.n_events;
  c->n_changes += good;
  if (good) coincidence_learn(&c->coincidences[event], &list, c->contract);
  else difference_list_release(&list);
  json_decref(facts);
  return good;
}

/* Of the contract's first precision, or of any where no run has that one. */
const struct history_series *board_headline(const struct board_contract *c) {
  const struct history_series *found = NULL;
  const char *first = c->contract != NULL && c->contract->precisions.n_items > 0 ? c->contract->precisions.items[0] : "";
  int best = -1;
  for (size_t i = 0; i < c->history.n_series; i++) {
    const struct history_series *s = &c->history.series[i];
    int rank = 2 * (strcmp(s->precision, first) == 0) + (strstr(s->figure, "throughput") != NULL);
    if (s->n_values == 0 || rank <= best) continue;
    best = rank;
    found = s;
  }
  return found;
}

bool board_value_of(const struct board *board, const struct board_contract *contract, const struct history_series *series,
                    struct board_value *ret) {
  const struct history *h = &contract->history;
  int best = -1;
  *ret = (struct board_value){.value = NULL};
  for (size_t i = 0; i < series->n_values; i++) {
    const struct history_run *of = &h->runs[series->values[i].run];
    const struct board_run *run = &board->runs[of->from.source];
    const char *no_claim = of->precision->no_claim;
    int rank = 2 * !run->verifies + (no_claim == NULL);
    ret->n_runs += !run->verifies;
    ret->n_newer += !run->verifies;
    if (rank < best) continue;
    best = rank;
    ret->value = &series->values[i];
    ret->run = run;
    ret->no_claim = no_claim;
    ret->n_newer = 0;
  }
  return ret->value != NULL;
}

void board_release(struct board *b) {
  for (size_t i = 0; i < b->n_contracts; i++) forget(&b->contracts[i]);
  free(b->contracts);
  free(b->runs);
  free(b->intents);
  free(b->contests);
  free(b->findings);
  free(b->executors);
  digest_map_release(&b->by_contract);
  digest_map_release(&b->by_executor);
  digest_map_release(&b->by_root);
  digest_map_release(&b->by_intent);
  digest_map_release(&b->by_contest);
  digest_map_release(&b->by_finding);
  text_set_release(&b->texts);
  arena_release(&b->arena);
  *b = (struct board){.n_entries = 0};
}
