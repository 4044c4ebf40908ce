#include "verify/audit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/model_digest.h"
#include "ledger/blob.h"
#include "load/events.h"
#include "load/schedule.h"
#include "result/arrivals.h"
#include "result/claim.h"
#include "result/summary.h"
#include "verify/bundle_standing.h"
#include "verify/remade.h"

const char *audit_verdict_text(enum audit_verdict verdict) {
  static const char *const texts[] = {[AUDIT_PASSED] = "passed", [AUDIT_FAILED] = "FAILED", [AUDIT_NOT_ESTABLISHED] = "not established"};
  return texts[verdict];
}

void audit_add(struct audit *audit, enum audit_verdict verdict, const char *name, const char *text) {
  audit->checks = arena_room(&audit->arena, audit->checks, audit->n_checks, sizeof *audit->checks);
  audit->checks[audit->n_checks++] = (struct audit_check){name, arena_copy(&audit->arena, text), verdict};
  audit->n_passed += verdict == AUDIT_PASSED;
  audit->n_failed += verdict == AUDIT_FAILED;
  audit->n_not_established += verdict == AUDIT_NOT_ESTABLISHED;
}

void audit_release(struct audit *audit) {
  arena_release(&audit->arena);
  *audit = (struct audit){.n_checks = 0};
}

/* --- a bundle: seal, contract, figures --- */

static void check_seal(struct audit *a, const struct bundle_seal_info *seal) {
  if (seal->root[0] == 0) audit_add(a, AUDIT_FAILED, "seal", "the bundle carries no seal: the run was cut off, or the seal was taken away");
  else
    audit_add(a, AUDIT_PASSED, "seal",
              arena_printf(&a->arena, "every section's digest and the root %s are those of the rows as they stand; the run ended %s (%s)",
                           seal->root, bundle_end_text(seal->end), seal->why));
  if (seal->n_withheld > 0)
    audit_add(a, AUDIT_NOT_ESTABLISHED, "withheld",
              arena_printf(&a->arena, "%d section%s withheld (%s): the digests stand, what they were of cannot be examined",
                           seal->n_withheld, seal->n_withheld == 1 ? " is" : "s are", seal->withheld));
}

static void check_contract(struct audit *a, struct bundle *bundle, const struct result *r) {
  const char *claimed = bundle_meta(bundle, "contract_digest");
  if (claimed == NULL || strcmp(claimed, r->contract_digest) != 0)
    audit_add(a, AUDIT_FAILED, "contract",
              arena_printf(&a->arena, "the contract's words have the digest %.16s, the record says %.16s", r->contract_digest,
                           claimed != NULL ? claimed : "nothing"));
  else
    audit_add(a, AUDIT_PASSED, "contract",
              arena_printf(&a->arena, "the contract '%s' is in the record, with its digest %s; grade %s (A: nothing is left unstated)",
                           r->contract.name, r->contract_digest, grade_text(r->grade)));
}

static void check_figures(struct audit *a, struct result *r, struct bytes published) {
  struct buffer own;
  int64_t n_counted = 0;
  for (size_t i = 0; i < r->n_precisions; i++) n_counted += r->precisions[i].n_counted;
  buffer_init(&own, 64 << 20);
  bool good = result_write(r, &own);
  while (published.length > 0 && (published.ptr[published.length - 1] == '\n' || published.ptr[published.length - 1] == ' '))
    published.length--;
  while (good && own.length > 0 && own.data[own.length - 1] == '\n') own.length--;
  const char *what = arena_printf(&a->arena, "the figures were recomputed from %" PRId64 " counted requests", n_counted);
  if (published.ptr == NULL)
    audit_add(a, AUDIT_PASSED, "figures", arena_printf(&a->arena, "%s; none was handed in to compare them with (--figures)", what));
  else if (good && own.length == published.length && memcmp(own.data, published.ptr, own.length) == 0)
    audit_add(a, AUDIT_PASSED, "figures", arena_printf(&a->arena, "%s, and are those that were published, byte for byte", what));
  else {
    size_t at = 0;
    while (good && at < own.length && at < published.length && own.data[at] == published.ptr[at]) at++;
    size_t from = at > 60 ? at - 60 : 0;
    char ours[128], theirs[128];
    audit_add(a, AUDIT_FAILED, "figures",
              arena_printf(&a->arena, "%s, and are not those that were published: byte %zu: the rows give '...%s', published is '...%s'",
                           what, at, text_sanitise(ours, 100, own.data + from, own.length - from),
                           text_sanitise(theirs, 100, published.ptr + from, published.length > from ? published.length - from : 0)));
  }
  buffer_release(&own);
}

/* --- times and totals --- */

static void check_rows(struct audit *a, const struct result *r) {
  const struct result_plausibility *p = &r->plausibility;
  const char *impossible = plausibility_text(p, &a->arena);
  if (!p->judged) {
    audit_add(a, AUDIT_NOT_ESTABLISHED, "rows",
              r->imported[0] != 0 ? "another tool's rows: their times and events are what its file says"
                                  : "the requests are withheld: times and schedule cannot be examined, nor figures recomputed");
    return;
  }
  if (impossible != NULL) audit_add(a, AUDIT_FAILED, "rows", impossible);
  else
    audit_add(a, AUDIT_PASSED, "rows",
              arena_printf(&a->arena,
                           "in all %" PRId64 " requests (%" PRId64
                           " events, %.0f tokens) no token precedes its request, times stand in order, first and last tokens are those of "
                           "the events",
                           p->n_requests, p->n_events, p->n_tokens));
  if (p->n_overlapping > 0)
    audit_add(
        a, AUDIT_NOT_ESTABLISHED, "sessions",
        arena_printf(
            &a->arena,
            "%" PRId64 " of %" PRId64
            " sessions begin, by the wall clock, before the one before them was over: it was set back meanwhile, or the times are not true",
            p->n_overlapping, p->n_sessions));
  else
    audit_add(a, AUDIT_PASSED, "sessions",
              arena_printf(&a->arena, "%" PRId64 " sessions, one after the other by the clock", p->n_sessions));
  if (p->n_schedules_other > 0) return; /* told: the rows are impossible */
  if (p->n_schedules_same > 0)
    audit_add(a, AUDIT_PASSED, "schedule",
              arena_printf(&a->arena, "in %zu session%s the requests are those that the contract and the seed fix, made again here",
                           p->n_schedules_same, LYNX_S(p->n_schedules_same)));
  else
    audit_add(a, AUDIT_NOT_ESTABLISHED, "schedule",
              "no session had arrivals that the contract and a seed fix (closed loops have none, replays come out of a file): that no "
              "request was left out rests on the seal alone");
}

static void check_prompts(struct audit *a, struct bundle *bundle, const struct result *r, bool withheld) {
  static const enum audit_verdict verdicts[] = {
      [PROMPTS_SAME] = AUDIT_PASSED, [PROMPTS_OTHER] = AUDIT_FAILED, [PROMPTS_NOT_REMADE] = AUDIT_NOT_ESTABLISHED};
  const char *text = withheld ? "they are withheld" : "another tool's file does not hold them";
  bool there = !withheld && r->imported[0] == 0;
  enum prompts_remade remade = there ? prompts_remake(bundle, &r->contract, &a->arena, &text) : PROMPTS_NOT_REMADE;
  audit_add(a, verdicts[remade], "prompts",
            remade == PROMPTS_NOT_REMADE ? arena_printf(&a->arena, "whether they are those of the contract is not examined: %s", text)
                                         : text);
}

/* --- rules --- */

static void check_rules(struct audit *a, struct result *r, bool facts_withheld) {
  for (size_t i = 0; i < r->n_precisions; i++) {
    struct claim claim;
    claim_build(r, i, &claim);
    if (r->precisions[i].unavailable) continue;
    if (claim.sentence != NULL) audit_add(a, AUDIT_PASSED, "claim", claim.sentence);
    for (size_t k = 0; k < claim.n_reasons; k++)
      audit_add(a, AUDIT_FAILED, "claim",
                arena_printf(&a->arena, "%s: by the contract's own rules no claim can be made: %s", claim.precision, claim.reasons[k]));
    for (size_t k = 0; k < claim.n_caveats; k++)
      audit_add(a, AUDIT_NOT_ESTABLISHED, "claim", arena_printf(&a->arena, "%s: %s", claim.precision, claim.caveats[k]));
  }
  for (size_t i = 0; i < r->n_departures; i++)
    audit_add(a, AUDIT_FAILED, "executor", arena_printf(&a->arena, "out of contract: %s", r->departures[i]));
  for (size_t i = 0; i < r->n_changed; i++)
    audit_add(a, AUDIT_FAILED, "executor", arena_printf(&a->arena, "changed between start and end: %s", r->changed[i]));
  if (r->part[0] != 0) audit_add(a, AUDIT_FAILED, "conditions", r->part);
  for (size_t i = 0; i < r->n_conditions; i++) audit_add(a, AUDIT_FAILED, "conditions", r->conditions[i]);
  for (size_t i = 0; i < r->n_holes; i++)
    audit_add(a, AUDIT_NOT_ESTABLISHED, "executor", arena_printf(&a->arena, "not captured: %s", r->holes[i]));
  if (facts_withheld) audit_add(a, AUDIT_NOT_ESTABLISHED, "executor", "what was captured of it is withheld");
  else if (r->n_departures + r->n_changed == 0)
    audit_add(a, AUDIT_PASSED, "executor", "what was captured is within the contract's bounds, and was the same at the end");
}

/* --- the ledger's word --- */

struct found_entry {
  struct audit *audit;
  bool found;
  uint8_t file[DIGEST_BYTES];
  uint64_t index;
  uint8_t leaf[DIGEST_BYTES];
  int64_t analysis;
  char *summary; /* as the entry has it; NULL: it has none */
};

static bool take_bundle_entry(void *context, const struct ledger_entry *entry, const char *subject) {
  struct found_entry *f = context;
  const uint8_t *file = ledger_entry_file(entry);
  if (file == NULL || strcmp(subject, "bundle") != 0) return true;
  f->found = true;
  f->index = entry->index;
  memcpy(f->file, file, DIGEST_BYTES);
  memcpy(f->leaf, entry->leaf, DIGEST_BYTES);
  const json_t *summary = json_object_get(entry->statement.predicate, "summary");
  f->summary = json_dumps(summary, JSON_COMPACT | JSON_SORT_KEYS);
  f->analysis = json_get_int(summary, "analysis", 0);
  audit_add(f->audit, AUDIT_PASSED, "signature", /* or it would not have been visited */
            arena_printf(&f->audit->arena, "the bundle is signed by %s, in entry %" PRIu64, entry->signer, entry->index));
  return false;
}

static void check_inclusion(struct audit *a, struct ledger *ledger, const struct found_entry *f) {
  struct buffer proof, vouched;
  struct checkpoint checkpoint;
  struct lynx_error error = {0}, none = {0};
  uint64_t index = 0, time_s = 0;
  buffer_init(&proof, NOTE_MAX);
  buffer_init(&vouched, NOTE_MAX);
  bool good = ledger_proof_text(ledger, f->index, &proof, &error) == LYNX_OK &&
              ledger_proof_check((struct bytes){proof.data, proof.length}, &ledger_policy(ledger)->log, f->leaf, &checkpoint, &index,
                                 &error) == LYNX_OK;
  audit_add(a, good ? AUDIT_PASSED : AUDIT_FAILED, "inclusion",
            good ? arena_printf(&a->arena, "entry %" PRIu64 " is in the tree of %" PRIu64 " entries that %s signed", index, checkpoint.size,
                                checkpoint.origin)
                 : error.message);
  if (ledger_vouched_checkpoint(ledger, &vouched, &checkpoint, &time_s, &none) == LYNX_OK && checkpoint.size > f->index)
    audit_add(a, AUDIT_PASSED, "witnesses",
              arena_printf(&a->arena, "a quorum of %" PRId64 " cosigned the tree of %" PRIu64 " entries, with this one",
                           ledger_policy(ledger)->quorum, checkpoint.size));
  else
    audit_add(
        a, AUDIT_NOT_ESTABLISHED, "witnesses",
        "no quorum of witnesses cosigned a tree with this entry: that its keeper shows everybody the same history is the keeper's word");
  buffer_release(&proof);
  buffer_release(&vouched);
}

static void check_file(struct audit *a, const char *path, const struct found_entry *f) {
  uint8_t digest[DIGEST_BYTES];
  int64_t length;
  struct lynx_error error = {0};
  if (blob_digest_file(path, digest, &length, &error) != LYNX_OK) audit_add(a, AUDIT_FAILED, "file", error.message);
  else if (memcmp(digest, f->file, DIGEST_BYTES) == 0)
    audit_add(a, AUDIT_PASSED, "file", "the file is, byte for byte, the one that was recorded");
  else
    audit_add(a, AUDIT_NOT_ESTABLISHED, "file",
              "the file's bytes are not those that were recorded, its rows are: a section was withheld, or SQLite wrote the file again");
}

/* What followers of the ledger read instead of the bundle. */
static void check_summary(struct audit *a, struct result *r, const struct found_entry *f) {
  struct summary summary;
  struct buffer text;
  struct json_writer json;
  struct lynx_error error = {0};
  if (f->summary == NULL) return; /* an entry of before */
  buffer_init(&text, 1 << 20);
  summary_make(r, &summary);
  json_begin_object(&json, &text);
  summary_write(&summary, &json);
  json_close(&json);
  json_t *own = json_finish(&json) ? json_parse(text.data, text.length, 1 << 20, &error) : NULL;
  char *sorted = own != NULL ? json_dumps(own, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  bool same = sorted != NULL && strcmp(sorted, f->summary) == 0, other = f->analysis != ANALYSIS_VERSION;
  audit_add(a,
            same    ? AUDIT_PASSED
            : other ? AUDIT_NOT_ESTABLISHED
                    : AUDIT_FAILED,
            "summary",
            other  ? "the entry's figures, which `history` reads, are of another analysis version"
            : same ? "the entry's figures, which `history` reads, are the bundle's"
                   : "the entry's figures, which `history` reads, are not the bundle's");
  free(sorted);
  json_decref(own);
  buffer_release(&text);
}

static void check_standing(struct audit *a, struct ledger *ledger, struct bundle *bundle, const struct result *r) {
  struct standing s;
  struct lynx_error error = {0};
  if (bundle_standing(ledger, bundle, r, &s, &error) != LYNX_OK) {
    audit_add(a, AUDIT_FAILED, "standing", error.message);
    return;
  }
  bool agreed = s.agreement == AGREEMENT_BY_ORDER || s.agreement == AGREEMENT_WITNESSED;
  audit_add(a,
            agreed                            ? AUDIT_PASSED
            : s.agreement == AGREEMENT_NOBODY ? AUDIT_NOT_ESTABLISHED
                                              : AUDIT_FAILED,
            "agreement", arena_printf(&a->arena, "the contract %s", agreement_text(s.agreement)));
  for (size_t i = 0; i < s.n_missing; i++)
    audit_add(a, AUDIT_FAILED, "agreement", arena_printf(&a->arena, "%s did not sign before the run's intent", s.missing[i]));
  for (size_t i = 0; i < s.n_signatures; i++)
    if (s.signatures[i].reservation[0] != 0)
      audit_add(a, AUDIT_NOT_ESTABLISHED, "agreement",
                arena_printf(&a->arena, "%s signed with a reservation: %s", s.signatures[i].team, s.signatures[i].reservation));
  audit_add(a, s.n_abandoned == 0 && s.n_started > 0 ? AUDIT_PASSED : AUDIT_NOT_ESTABLISHED, "runs",
            arena_printf(&a->arena, "%zu runs of the contract were started, %zu sealed, %zu abandoned%s", s.n_started, s.n_sealed,
                         s.n_abandoned,
                         s.n_abandoned > 0  ? ": what those would have shown is not known"
                         : s.n_started == 0 ? ": this run's intent was not recorded beforehand"
                                            : ""));
  for (size_t i = 0; i < s.n_rivals; i++)
    audit_add(a, AUDIT_FAILED, "runs",
              arena_printf(&a->arena, "entry %" PRIu64 " by %s is another bundle, %.16s, under the same intent: one run has one bundle",
                           s.rivals[i].index, s.rivals[i].by, s.rivals[i].bundle));
  if (s.n_open > 0)
    audit_add(a, AUDIT_NOT_ESTABLISHED, "contests",
              arena_printf(&a->arena, "%zu contest%s open", s.n_open, s.n_open == 1 ? " is" : "s are"));
  audit_add(a,
            s.n_not_reproduced > 0 ? AUDIT_FAILED
            : s.n_reproduced > 0   ? AUDIT_PASSED
                                   : AUDIT_NOT_ESTABLISHED,
            "verifications",
            arena_printf(&a->arena, "reproduced by %zu, not reproduced by %zu, inconclusive %zu", s.n_reproduced, s.n_not_reproduced,
                         s.n_inconclusive));
  standing_release(&s);
}

static void check_ledger(struct audit *a, const struct audit_bundle_request *request, struct bundle *bundle, struct result *r) {
  struct found_entry f = {.audit = a};
  struct lynx_error error = {0};
  uint8_t root[DIGEST_BYTES];
  if (request->ledger == NULL) {
    audit_add(a, AUDIT_NOT_ESTABLISHED, "signature",
              "who sealed it, and when: no ledger was asked (--ledger). An unsigned bundle can be altered and sealed again by anybody, and "
              "all of the above would still pass");
    return;
  }
  if (!hex_decode(r->seal.root, root, DIGEST_BYTES)) return; /* told: there is no seal */
  if (ledger_each_mention(request->ledger, root, take_bundle_entry, &f, &error) != LYNX_OK)
    audit_add(a, AUDIT_FAILED, "ledger", error.message);
  else if (!f.found)
    audit_add(a, AUDIT_FAILED, "ledger",
              arena_printf(&a->arena, "no entry of %s speaks of this bundle: it was never recorded, or altered and sealed again",
                           ledger_policy(request->ledger)->origin));
  else {
    check_inclusion(a, request->ledger, &f);
    check_file(a, request->path, &f);
    check_summary(a, r, &f);
  }
  free(f.summary);
  check_standing(a, request->ledger, bundle, r);
}

/* One precision's hosts: how many say a digest of the model, and how many of these the one that was found. */
static void count_digests(struct audit *a, struct bundle *bundle, const char *precision, const char *found, size_t *ret_known,
                          size_t *ret_same, const char **ret_other) {
  struct fact_list facts = {0};
  *ret_known = *ret_same = 0;
  if (bundle_start_facts(bundle, precision, &facts, NULL) == LYNX_OK)
    for (size_t i = 0; i < facts.n_items; i++) {
      const struct fact *fact = &facts.items[i];
      if (strcmp(fact_without_role(fact->key), "model.digest") != 0 || fact->status != FACT_READ) continue;
      (*ret_known)++;
      if (strcmp(fact->value, found) == 0) (*ret_same)++;
      else *ret_other = arena_printf(&a->arena, "%.80s of %s is %.64s", fact->key, precision, fact->value);
    }
  fact_list_release(&facts);
}

/* A digest was read on the machine that ran the model, or remembered there: who has the files can compute it anew. Precisions may have
 * models of their own; the hosts of one precision may not. */
static void check_model(struct audit *a, struct bundle *bundle, const struct result *r, const char *path) {
  char found[DIGEST_HEX] = "";
  size_t n_files = 0, n_known = 0, n_right = 0, n_mixed = 0;
  struct lynx_error error = {0};
  const char *other = "";
  for (size_t p = 0; p < r->n_precisions; p++) {
    size_t known, same;
    count_digests(a, bundle, r->precisions[p].name, found, &known, &same, &other);
    n_known += known;
  }
  if (path == NULL || n_known == 0) { /* nothing to hold against one another: a model of a terabyte is not read for that */
    if (path != NULL) audit_add(a, AUDIT_NOT_ESTABLISHED, "model", "the run's capture holds no digest of the model (or withholds it)");
    else if (n_known > 0)
      audit_add(a, AUDIT_NOT_ESTABLISHED, "model",
                "the model's digest is what the run's machine said: with its files at hand, --model PATH computes it again");
    return;
  }
  if (model_digest_anew(path, found, &n_files, &error) != LYNX_OK) {
    audit_add(a, AUDIT_NOT_ESTABLISHED, "model", arena_printf(&a->arena, "its files: %s", error.message));
    return;
  }
  other = "";
  for (size_t p = 0; p < r->n_precisions; p++) {
    size_t known, same;
    count_digests(a, bundle, r->precisions[p].name, found, &known, &same, &other);
    n_right += same > 0 && same == known;
    n_mixed += same > 0 && same < known;
  }
  const char *files = arena_printf(&a->arena, "%zu weight file%s of %s, read again,", n_files, LYNX_S(n_files), path);
  if (n_mixed > 0)
    audit_add(a, AUDIT_FAILED, "model", arena_printf(&a->arena, "%s are what one host served; another did not: %s", files, other));
  else if (n_right > 0)
    audit_add(a, AUDIT_PASSED, "model",
              arena_printf(&a->arena, "%s have the digest of the record%s%s", files,
                           other[0] != 0 ? "; another precision has others: " : "", other));
  else audit_add(a, AUDIT_FAILED, "model", arena_printf(&a->arena, "%s have the digest %s; %s", files, found, other));
}

void audit_bundle(const struct audit_bundle_request *request, struct audit *ret) {
  struct bundle *bundle = NULL;
  struct bundle_seal_info seal;
  struct result result;
  struct lynx_error error = {0};
  char text[1100];
  *ret = (struct audit){.subject = request->path};
  enum lynx_status status = bundle_open(request->path, &bundle, &seal, &error);
  if (status == LYNX_OK) {
    check_seal(ret, &seal);
    status = result_compute(bundle, &seal, &result, &error);
  }
  if (status != LYNX_OK) {
    lynx_error_text(&error, text, sizeof text);
    audit_add(ret, AUDIT_FAILED, bundle == NULL ? "seal" : "figures", text);
    bundle_close(bundle);
    return;
  }
  check_contract(ret, bundle, &result);
  check_figures(ret, &result, request->figures);
  check_rows(ret, &result);
  check_prompts(ret, bundle, &result, seal_withholds(&seal, "input"));
  check_rules(ret, &result, seal_withholds(&seal, "fact"));
  check_model(ret, bundle, &result, request->model);
  check_ledger(ret, request, bundle, &result);
  audit_add(ret, AUDIT_NOT_ESTABLISHED, "the world",
            "that what is recorded took place as recorded: a record shows that it is consistent, and since when it is there; a re-run "
            "(`lynxbench verify`) shows more");
  result_release(&result);
  bundle_close(bundle);
}

/* --- a ledger --- */

struct walk {
  struct ledger *ledger;
  struct audit *audit;
  uint64_t n_bundles, n_missing, n_contracts, n_contracts_wrong, n_intents, n_format_1;
  struct answer { /* a bundle's entry that names an intent */
    char intent[DIGEST_HEX];
    const char *by;
    uint8_t bundle[DIGEST_BYTES];
    uint64_t index;
  } * answers;
  size_t n_answers, room_answers;
};

static int by_intent(const void *a, const void *b) {
  const struct answer *x = a, *y = b;
  int order = strcmp(x->intent, y->intent);
  if (order == 0) order = strcmp(x->by, y->by);
  return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* One intent has at most one bundle by each team. That of another team than the intent's answers nothing (ledger/standing.h), so that whoever
 * comes first with another bundle spoils no run. */
static void check_answers(struct audit *a, struct walk *w) {
  size_t n_twice = 0;
  const struct answer *first = w->answers;
  if (w->n_answers > 0) qsort(w->answers, w->n_answers, sizeof *w->answers, by_intent);
  for (size_t i = 1; i < w->n_answers; i++) {
    const struct answer *now = &w->answers[i];
    if (strcmp(first->intent, now->intent) != 0 || strcmp(first->by, now->by) != 0) first = now;
    else if (memcmp(first->bundle, now->bundle, DIGEST_BYTES) != 0 && n_twice++ < 10)
      audit_add(a, AUDIT_FAILED, "intents",
                arena_printf(&a->arena, "entries %" PRIu64 " and %" PRIu64 " are two bundles of %s under one intent, %.16s", first->index,
                             now->index, now->by, now->intent));
  }
  if (n_twice > 10) audit_add(a, AUDIT_FAILED, "intents", arena_printf(&a->arena, "%zu more of these", n_twice - 10));
  if (n_twice == 0)
    audit_add(a, AUDIT_PASSED, "intents",
              arena_printf(&a->arena, "no team entered two bundles under one intent (%zu name one)", w->n_answers));
  free(w->answers);
}

static bool take_entry(void *context, const struct ledger_entry *entry, const char *subject) {
  struct walk *w = context;
  const uint8_t *file = ledger_entry_file(entry);
  (void)subject;
  w->n_bundles += file != NULL;
  w->n_missing += file != NULL && !blob_known(ledger_store(w->ledger), file);
  w->n_format_1 += entry->statement.format == 1;
  w->n_intents += strcmp(entry->statement.kind, "intent") == 0;
  uint8_t intent[DIGEST_BYTES];
  const uint8_t *bundle = statement_subject_named(&entry->statement, "bundle");
  if (statement_intent(&entry->statement, intent) && bundle != NULL) {
    w->answers = xroom(w->answers, w->n_answers, &w->room_answers, sizeof *w->answers);
    struct answer *answer = &w->answers[w->n_answers++];
    *answer = (struct answer){.index = entry->index, .by = arena_copy(&w->audit->arena, entry->signer)};
    (void)digest_hex(intent, answer->intent);
    memcpy(answer->bundle, bundle, DIGEST_BYTES);
  }
  if (strcmp(entry->statement.kind, "contract") != 0) return true;
  w->n_contracts++;
  w->n_contracts_wrong += !contract_text_has(json_get_text(entry->statement.predicate, "text", ""),
                                             statement_subject_named(&entry->statement, "contract"));
  return true;
}

static void audit_snapshot(struct ledger *ledger, struct audit *ret) {
  struct ledger_audit tree;
  struct lynx_error error = {0}, walking = {0}, none = {0};
  struct walk w = {.ledger = ledger, .audit = ret};
  struct buffer note;
  struct checkpoint vouched;
  uint64_t time_s;
  char text[1100];
  if (ledger_refresh(ledger, &error) != LYNX_OK || ledger_audit(ledger, true, &tree, &error) != LYNX_OK) {
    lynx_error_text(&error, text, sizeof text);
    audit_add(ret, AUDIT_FAILED, "tree", text);
    return;
  }
  audit_add(ret, AUDIT_PASSED, "tree",
            arena_printf(&ret->arena,
                         "%" PRIu64 " entries give the tree that %s signed; every kept hash (%" PRIu64 ") is that of its entries",
                         tree.n_entries, tree.checkpoint.origin, tree.n_hashes));
  audit_add(
      ret, AUDIT_PASSED, "signatures",
      arena_printf(
          &ret->arena,
          "every entry is signed by a team that the policy of its time admitted; every change of policy by an admin of the one before"));
  if (ledger_each_entry(ledger, 0, take_entry, &w, &walking) != LYNX_OK) audit_add(ret, AUDIT_FAILED, "entries", walking.message);
  audit_add(ret, w.n_contracts_wrong == 0 ? AUDIT_PASSED : AUDIT_NOT_ESTABLISHED, "contracts",
            arena_printf(&ret->arena, "%" PRIu64 " contracts; the words of %" PRIu64 " do not have the digest they are entered under",
                         w.n_contracts, w.n_contracts_wrong));
  audit_add(ret, w.n_missing == 0 ? AUDIT_PASSED : AUDIT_NOT_ESTABLISHED, "bundles",
            arena_printf(&ret->arena, "%" PRIu64 " bundles; the files of %" PRIu64 " are not kept here; %" PRIu64 " runs were started",
                         w.n_bundles, w.n_missing, w.n_intents));
  check_answers(ret, &w);
  if (w.n_format_1 > 0)
    audit_add(ret, AUDIT_NOT_ESTABLISHED, "format",
              arena_printf(&ret->arena,
                           "%" PRIu64 " entries are of format 1, which names no ledger: each may have been signed for another one",
                           w.n_format_1));
  buffer_init(&note, NOTE_MAX);
  if (ledger_vouched_checkpoint(ledger, &note, &vouched, &time_s, &none) == LYNX_OK)
    audit_add(ret, vouched.size == tree.n_entries ? AUDIT_PASSED : AUDIT_NOT_ESTABLISHED, "witnesses",
              arena_printf(&ret->arena, "a quorum of %" PRId64 " cosigned the first %" PRIu64 " entries", ledger_policy(ledger)->quorum,
                           vouched.size));
  else
    audit_add(ret, AUDIT_NOT_ESTABLISHED, "witnesses",
              "no quorum of witnesses cosigned a checkpoint: who keeps the log and its key could show others another history, or write a "
              "new one");
  buffer_release(&note);
}

void audit_ledger(struct ledger *ledger, const char *address, struct audit *ret) {
  struct store *store = ledger_store(ledger);
  struct lynx_error error = {0};
  *ret = (struct audit){.subject = address};
  if (store->table->snapshot(store, &error) == LYNX_OK) audit_snapshot(ledger, ret);
  else audit_add(ret, AUDIT_FAILED, "tree", error.message);
  store->table->abort(store);
}
