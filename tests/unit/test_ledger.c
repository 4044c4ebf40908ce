/* The ledger over a real store: what it takes and refuses, proofs of every entry, rollback and fork, every byte of it changed, standing. */
#include "ledger/ledger.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/root.h"
#include "ledger/blob.h"
#include "ledger/running.h"
#include "ledger/seen.h"
#include "ledger/standing.h"
#include "tests/check.h"

static char folder[64], path[100], seen_folder[100];
static struct signing_key *ml, *sre, *stranger, *log_key;
static uint8_t contract[DIGEST_BYTES], bundle[DIGEST_BYTES], file[DIGEST_BYTES];

static void remove_all(void) {
  char command[300];
  (void)snprintf(command, sizeof command, "rm -rf %s; mkdir -p %s", folder, folder);
  CHECK_INT(system(command), 0);
}

#define ORIGIN "lynxbench.example/test"

/* An envelope of a kind about up to three digests, with one member in the predicate. */
struct about {
  const char *kind, *key, *value;
  struct statement_subject subjects[3];
};

static const char *signed_at; /* of progress; NULL: now */

static void make(const struct about *about, const char *name, const struct signing_key *key, struct buffer *ret) {
  struct buffer payload;
  struct json_writer json;
  struct lynx_error error = {0};
  size_t n = 0;
  while (n < 3 && about->subjects[n].name != NULL) n++;
  buffer_init(&payload, ENVELOPE_MAX);
  buffer_init(ret, ENVELOPE_MAX);
  statement_begin(&json, &payload, about->kind, ORIGIN, about->subjects, n);
  if (about->key != NULL) json_put_text(&json, about->key, about->value);
  if (strcmp(about->kind, "bundle") == 0) json_put_text(&json, "bytes", "10");
  char now[40];
  if (strcmp(about->kind, "progress") == 0)
    json_put_text(&json, "time", signed_at != NULL ? signed_at : clock_text(now, clock_system.realtime_ns(clock_system.context)));
  CHECK(statement_end(&json));
  CHECK_INT(envelope_make(bytes_of(statement_payload_type), (struct bytes){payload.data, payload.length}, name, key, ret, &error), LYNX_OK);
  buffer_release(&payload);
}

static struct statement_subject subject(const char *name, const uint8_t digest[DIGEST_BYTES]) {
  struct statement_subject s = {.name = name};
  memcpy(s.digest, digest, DIGEST_BYTES);
  return s;
}

static enum lynx_status add(struct ledger *l, const struct about *about, const char *name, const struct signing_key *key,
                            uint64_t *ret_index, uint8_t ret_leaf[DIGEST_BYTES], struct lynx_error *error) {
  struct buffer envelope;
  make(about, name, key, &envelope);
  struct bytes bytes = {envelope.data, envelope.length};
  if (ret_leaf != NULL) merkle_leaf(bytes, ret_leaf);
  enum lynx_status status = ledger_add(l, &bytes, 1, ret_index, error);
  buffer_release(&envelope);
  return status;
}

static struct ledger *opened(const struct signing_key *key) {
  struct ledger *l = NULL;
  struct lynx_error error = {0};
  CHECK_INT(ledger_open(path, STORE_WRITE, key, &l, &error), LYNX_OK);
  if (l == NULL) (void)printf("%s: %s\n", error.file, error.message);
  return l;
}

static void begin(void) {
  struct lynx_error error = {0};
  const struct signer admin = {.name = "ml", .key = ml};
  const struct ledger_start start = {.origin = ORIGIN, .admin = &admin, .log_key = log_key};
  remove_all();
  CHECK_INT(ledger_create(path, &start, &error), LYNX_OK);
}

static enum lynx_status add_policy(struct ledger *l, struct policy *policy, const char *name, struct signing_key *key, uint64_t *ret_index,
                                   struct lynx_error *error) {
  struct signer signer = {.key = key};
  struct entry entry;
  struct buffer envelope;
  (void)snprintf(signer.name, sizeof signer.name, "%s", name);
  policy_entry(policy, &entry);
  buffer_init(&envelope, ENVELOPE_MAX);
  CHECK_INT(entry_sign(&entry, NULL, &signer, &envelope, error), LYNX_OK);
  const struct bytes bytes = {envelope.data, envelope.length};
  enum lynx_status status = ledger_add(l, &bytes, 1, ret_index, error);
  buffer_release(&envelope);
  return status;
}

/* The policy with sre in it, as a witness too. */
static void add_sre(struct ledger *l) {
  struct policy next = *ledger_policy(l);
  struct lynx_error error = {0};
  uint8_t key[SIGNATURE_KEY_BYTES];
  uint64_t index;
  next.number++;
  next.quorum = 1;
  signing_key_public(sre, key);
  note_key_make("sre", NOTE_ED25519, key, &next.teams[next.n_teams].key);
  next.teams[next.n_teams++].witness = true;
  CHECK_INT(add_policy(l, &next, "ml", ml, &index, &error), LYNX_OK);
  CHECK_INT(ledger_policy(l)->number, 2);
  CHECK_INT(ledger_policy(l)->n_teams, 2);
  /* The same once more is a replay; signed by sre, who is no admin, it is refused. */
  CHECK_INT(add_policy(l, &next, "ml", ml, &index, &error), LYNX_OK);
  CHECK_INT(index, 1);
  next.number++;
  CHECK_INT(add_policy(l, &next, "sre", sre, &index, &error), LYNX_INPUT);
  CHECK_CONTAINS(error.message, "no admin");
}

struct counting {
  size_t n;
};

static bool count_entry(void *context, const struct ledger_entry *entry, const char *subject) {
  (void)entry, (void)subject;
  ((struct counting *)context)->n++;
  return true;
}

/* Who has it open sees what others add meanwhile, a new policy too, and is not led to think that anything was altered. */
static void check_reader(struct ledger *writer) {
  struct ledger *reader = opened(NULL);
  struct policy next = *ledger_policy(writer);
  struct lynx_error error = {0};
  struct counting before = {0}, after = {0}, all = {0};
  struct checkpoint checkpoint;
  uint64_t index;
  const struct about about = {"finding", "n", "while somebody reads", {subject("bundle", bundle)}};
  CHECK_INT(ledger_each_mention(reader, bundle, count_entry, &before, &error), LYNX_OK);
  next.number++;
  CHECK_INT(add_policy(writer, &next, "ml", ml, &index, &error), LYNX_OK);
  CHECK_INT(add(writer, &about, "sre", sre, &index, NULL, &error), LYNX_OK);
  CHECK_INT(ledger_each_mention(reader, bundle, count_entry, &after, &error), LYNX_OK);
  CHECK_INT(after.n, before.n + 1);
  CHECK_INT(ledger_policy(reader)->number, next.number);
  CHECK_INT(ledger_each_entry(reader, 0, count_entry, &all, &error), LYNX_OK);
  CHECK_INT(ledger_checkpoint(reader, NULL, &checkpoint, &error), LYNX_OK);
  CHECK_INT(all.n, checkpoint.size);
  if (error.status != LYNX_OK) (void)printf("%s\n", error.message);
  ledger_close(reader);
}

static void check_refusals(struct ledger *l) {
  static const char reserved[] = "lynxbench ledger policy";
  uint8_t policy[DIGEST_BYTES];
  digest_of(reserved, sizeof reserved - 1, policy);
  const struct {
    struct about about;
    const char *name;
    const struct signing_key *key;
    const char *why;
  } rows[] = {
      {{"contract", NULL, NULL, {subject("contract", contract)}}, "stranger", stranger, "not signed by a team"},
      {{"contract", NULL, NULL, {subject("contract", contract)}}, "ml", stranger, "not signed by a team"},
      {{"contract", NULL, NULL, {subject("bundle", contract)}}, "ml", ml, "needs a subject named 'contract'"},
      {{"gossip", NULL, NULL, {subject("contract", contract)}}, "ml", ml, "kind 'gossip'"},
      {{"signature", NULL, NULL, {{0}}}, "ml", ml, "speaks of nothing"},
      {{"withdrawal", NULL, NULL, {subject("entry", contract)}}, "ml", ml, "there is no entry of digest"},
      {{"finding", NULL, NULL, {subject("bundle", bundle), subject("x", policy)}},
       "ml",
       ml,
       "only a policy does"}, /* who would be admin by it */
      {{"policy", NULL, NULL, {subject("policy", contract)}}, "ml", ml, "origin"},
      {{"bundle", NULL, NULL, {subject("bundle", bundle), subject("contract", contract)}}, "ml", ml, "needs a subject named 'file'"},
      {{"bundle", NULL, NULL, {subject("bundle", bundle), subject("file", bundle), subject("file", contract)}},
       "ml",
       ml,
       "subject named 'contract'"},
  };
  struct checkpoint before, after;
  uint64_t index;
  struct lynx_error error = {0};
  CHECK_INT(ledger_checkpoint(l, NULL, &before, &error), LYNX_OK);
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    struct lynx_error why = {0};
    CHECK(add(l, &rows[i].about, rows[i].name, rows[i].key, &index, NULL, &why) != LYNX_OK);
    CHECK_CONTAINS(why.message, rows[i].why);
  }
  CHECK_INT(ledger_checkpoint(l, NULL, &after, &error), LYNX_OK);
  CHECK_INT(after.size, before.size);
  struct ledger *reader = opened(NULL);
  const struct about about = {"contract", NULL, NULL, {subject("contract", contract)}};
  CHECK_INT(add(reader, &about, "ml", ml, &index, NULL, &error), LYNX_INPUT);
  CHECK_CONTAINS(error.message, "log's key is not at hand");
  ledger_close(reader);
}

static void check_proofs(struct ledger *l) {
  struct checkpoint checkpoint, proved;
  struct lynx_error error = {0};
  CHECK_INT(ledger_checkpoint(l, NULL, &checkpoint, &error), LYNX_OK);
  for (uint64_t i = 0; i < checkpoint.size; i++) {
    struct arena arena = {0};
    struct ledger_entry entry;
    struct buffer proof;
    uint64_t index = 0;
    buffer_init(&proof, NOTE_MAX);
    CHECK_INT(ledger_read_entry(l, i, &arena, &entry, &error), LYNX_OK);
    CHECK_INT(ledger_proof_text(l, i, &proof, &error), LYNX_OK);
    struct bytes bytes = {proof.data, proof.length};
    CHECK_INT(ledger_proof_check(bytes, &ledger_policy(l)->log, entry.leaf, &proved, &index, &error), LYNX_OK);
    CHECK_INT(index, i);
    size_t n_held = 0;
    for (size_t k = 0; k < proof.length && i % 5 == 0; k++) {
      struct lynx_error ignored = {0};
      proof.data[k] ^= 1;
      n_held += ledger_proof_check(bytes, &ledger_policy(l)->log, entry.leaf, &proved, &index, &ignored) == LYNX_OK;
      proof.data[k] ^= 1;
    }
    CHECK_INT(n_held, 0);
    for (size_t n = 0; n < proof.length; n++) {
      struct lynx_error ignored = {0};
      n_held += ledger_proof_check((struct bytes){proof.data, n}, &ledger_policy(l)->log, entry.leaf, &proved, &index, &ignored) == LYNX_OK;
    }
    CHECK_INT(n_held, 0);
    statement_release(&entry.statement);
    arena_release(&arena);
    buffer_release(&proof);
  }
}

/* The whole story of a contract, from its signatures to a contest that is withdrawn. */
static void check_standing(struct ledger *l) {
  static const char *const signatories[] = {"ml", "sre"};
  struct lynx_error error = {0};
  struct standing s;
  uint8_t intent[DIGEST_BYTES], contest[DIGEST_BYTES], abandoned[DIGEST_BYTES];
  char intent_hex[DIGEST_HEX];
  uint64_t index;
  struct buffer note;
  buffer_init(&note, NOTE_MAX);
  struct standing_question q = {.signatories = signatories, .n_signatories = 2, .run_start_s = 2000};
  memcpy(q.contract, contract, sizeof contract);
  memcpy(q.bundle, bundle, sizeof bundle);
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK(!s.recorded && s.agreement == AGREEMENT_MISSING && s.n_missing == 2 && s.n_started == 0);
  standing_release(&s);

  const struct about signs = {"signature", "reservation", "cooling is not ours", {subject("contract", contract)}};
  CHECK_INT(add(l, &signs, "ml", ml, &index, NULL, &error), LYNX_OK);
  CHECK_INT(add(l, &signs, "sre", sre, &index, NULL, &error), LYNX_OK);
  CHECK_INT(ledger_checkpoint(l, &note, &(struct checkpoint){0}, &error), LYNX_OK);
  CHECK_INT(note_cosign(&note, "sre", sre, 1000, &error), LYNX_OK);
  CHECK_INT(ledger_put_cosigned(l, (struct bytes){note.data, note.length}, &error), LYNX_OK);
  const struct about starts = {"intent", "run", "1", {subject("contract", contract)}},
                     other = {"intent", "run", "2", {subject("contract", contract)}};
  CHECK_INT(add(l, &starts, "ml", ml, &index, intent, &error), LYNX_OK);
  CHECK_INT(add(l, &other, "ml", ml, &index, abandoned, &error), LYNX_OK);
  (void)digest_hex(intent, intent_hex);
  const struct about seals = {
      "bundle", "intent", intent_hex, {subject("bundle", bundle), subject("file", file), subject("contract", contract)}};
  CHECK_INT(add(l, &seals, "ml", ml, &index, NULL, &error), LYNX_OK);
  memcpy(q.intent, intent, sizeof intent);
  q.has_intent = true;
  q.checkpoint = (struct bytes){note.data, note.length};
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK(s.recorded && s.agreement == AGREEMENT_WITNESSED && s.n_missing == 0 && s.n_signatures == 2);
  CHECK_TEXT(s.signatures[1].reservation, "cooling is not ours");
  CHECK_INT(s.n_started, 2);
  CHECK_INT(s.n_sealed, 1);
  CHECK_INT(s.n_abandoned, 1);
  standing_release(&s);
  /* A note that the log's key and the witness signed, of another tree of the same size, vouches for nothing here. */
  struct buffer other_note;
  struct note other_parsed;
  struct checkpoint other_tree;
  CHECK_INT(note_parse(q.checkpoint, &other_parsed, &error), LYNX_OK);
  CHECK_INT(checkpoint_parse(other_parsed.text, &other_tree, &error), LYNX_OK);
  other_tree.root[0] ^= 1;
  buffer_init(&other_note, NOTE_MAX);
  CHECK(checkpoint_text(&other_tree, &other_note));
  CHECK_INT(note_sign(&other_note, "lynxbench.example/test", log_key, &error), LYNX_OK);
  CHECK_INT(note_cosign(&other_note, "sre", sre, 1000, &error), LYNX_OK);
  q.checkpoint = (struct bytes){other_note.data, other_note.length};
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK_INT(s.agreement, AGREEMENT_BY_ORDER);
  standing_release(&s);
  buffer_release(&other_note);
  q.checkpoint = (struct bytes){note.data, note.length};
  q.run_start_s = 999; /* before the witness signed: only the order speaks */
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK_INT(s.agreement, AGREEMENT_BY_ORDER);
  standing_release(&s);
  q.run_start_s = 2000;

  /* The same run has no second bundle, however its intent is written; and a bundle that carries the intent of another has nothing of it. */
  char upper[DIGEST_HEX];
  for (size_t i = 0; i < sizeof upper; i++) upper[i] = (char)toupper(intent_hex[i]);
  const struct about
      again = {"bundle", "intent", intent_hex, {subject("bundle", contest), subject("file", file), subject("contract", contract)}},
      in_capitals = {"bundle", "intent", upper, {subject("bundle", contest), subject("file", file), subject("contract", contract)}},
      two = {"contest", "ground", "figure", {subject("bundle", bundle), subject("bundle", contest)}};
  const struct about no_time = {"contest", "time", "yesterday", {subject("bundle", bundle)}},
                     no_day = {"contest", "time", "2026-02-30T00:00:00Z", {subject("bundle", bundle)}},
                     odd_key = {"bundle",
                                "Intent",
                                intent_hex,
                                {subject("bundle", contest), subject("file", file), subject("contract", contract)}},
                     tomorrow = {"contest", "time", "2999-01-01T00:00:00Z", {subject("bundle", bundle)}};
  memset(contest, 7, sizeof contest);
  const struct {
    const struct about *about;
    const char *says;
  } refusals[] = {{&again, "another bundle under the same intent"},
                  {&in_capitals, "64 lower-case digits"},
                  {&two, "two subjects named 'bundle'"},
                  {&no_time, "a time of UTC"},
                  {&no_day, "a time of UTC"},
                  {&odd_key, "accepted: 'intent', in these letters"},
                  {&tomorrow, "is to come by this ledger's clock"}};
  for (size_t i = 0; i < LYNX_COUNT(refusals); i++) {
    struct lynx_error said = {0};
    CHECK_INT(add(l, refusals[i].about, i == 1 ? "sre" : "ml", i == 1 ? sre : ml, &index, NULL, &said), LYNX_INPUT);
    CHECK_CONTAINS(said.message, refusals[i].says);
  }
  memset(q.bundle, 7, sizeof q.bundle);
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK(!s.recorded && s.is_rival && s.n_rivals == 1 && s.agreement == AGREEMENT_OF_ANOTHER);
  CHECK(memcmp(s.rivals[0].bundle, digest_hex(bundle, upper), DIGEST_HEX) == 0);
  standing_release(&s);
  memcpy(q.bundle, bundle, sizeof bundle);

  const struct about contests = {"contest", "ground", "figure", {subject("bundle", bundle)}};
  CHECK_INT(add(l, &contests, "sre", sre, &index, contest, &error), LYNX_OK);
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK(s.n_contests == 1 && s.n_open == 1);
  CHECK_TEXT(s.contests[0].by, "sre");
  standing_release(&s);
  /* Who recorded the result does not close it, nor does a verification of something else; a bundle of another team seals no run of ml's. */
  const struct about own = {"verification",
                            "decision",
                            "reproduced",
                            {subject("bundle", bundle), subject("contract", contract), subject("contest", contest)}},
                     else_where = {"verification",
                                   "decision",
                                   "reproduced",
                                   {subject("bundle", file), subject("contract", contract), subject("contest", contest)}};
  char abandoned_hex[DIGEST_HEX];
  const struct about false_seal = {"bundle",
                                   "intent",
                                   digest_hex(abandoned, abandoned_hex),
                                   {subject("bundle", contest), subject("file", contest), subject("contract", contract)}};
  CHECK_INT(add(l, &own, "ml", ml, &index, NULL, &error), LYNX_OK);
  CHECK_INT(add(l, &else_where, "sre", sre, &index, NULL, &error), LYNX_OK);
  /* Nothing is agreed for a bundle that names ml's open intent and that ml has not entered: not while nobody has, nor when another team has. */
  memcpy(q.bundle, contest, sizeof q.bundle);
  memcpy(q.intent, abandoned, sizeof q.intent);
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK(!s.recorded && s.agreement == AGREEMENT_UNANSWERED);
  standing_release(&s);
  CHECK_INT(add(l, &false_seal, "sre", sre, &index, NULL, &error), LYNX_OK);
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK(s.recorded && s.agreement == AGREEMENT_UNANSWERED);
  standing_release(&s);
  memcpy(q.bundle, bundle, sizeof q.bundle);
  memcpy(q.intent, intent, sizeof q.intent);
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK_INT(s.n_open, 1);
  CHECK_INT(s.n_abandoned, 1);
  standing_release(&s);
  const struct about withdraws = {"withdrawal", "text", "my cable", {subject("entry", contest)}};
  struct lynx_error refused = {0};
  CHECK_INT(add(l, &withdraws, "ml", ml, &index, NULL, &refused), LYNX_INPUT); /* not ml's to withdraw */
  CHECK_CONTAINS(refused.message, "contests of its own");
  CHECK_INT(add(l, &withdraws, "sre", sre, &index, NULL, &error), LYNX_OK);
  const struct about verifies = {
      "verification", "decision", "reproduced", {subject("bundle", bundle), subject("verifying", file), subject("contract", contract)}};
  CHECK_INT(add(l, &verifies, "sre", sre, &index, NULL, &error), LYNX_OK);
  CHECK_INT(standing_of(l, &q, &s, &error), LYNX_OK);
  CHECK(s.n_contests == 1 && s.n_open == 0 && s.n_reproduced == 2);
  CHECK_CONTAINS(s.contests[0].closed, "withdrawn by sre");
  standing_release(&s);
  buffer_release(&note);
}

static void run_sql(const char *sql) {
  sqlite3 *db = NULL;
  char *why = NULL;
  CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
  CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK);
  if (why != NULL) (void)printf("%s: %s\n", sql, why);
  sqlite3_free(why);
  (void)sqlite3_close(db);
}

static enum lynx_status audit(struct lynx_error *error) {
  struct ledger *l = NULL;
  struct ledger_audit result;
  enum lynx_status status = ledger_open(path, STORE_WRITE, NULL, &l, error);
  if (status == LYNX_OK) status = ledger_audit(l, true, &result, error);
  ledger_close(l);
  return status;
}

/* With the guards taken away and put back, as somebody who owns the file could. */
static void check_tampering(void) {
#define OPEN "DROP TRIGGER entry_kept;DROP TRIGGER entry_stays;"
#define SHUT                                                                                                                               \
  "CREATE TRIGGER entry_kept BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;"                            \
  "CREATE TRIGGER entry_stays BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;"
  static const char *const deeds[] = {
      OPEN "UPDATE entry SET value=CAST(replace(CAST(value AS TEXT),'A','B') AS BLOB) WHERE key=x'0000000000000004';" SHUT, /* altered */
      OPEN "DELETE FROM entry WHERE key=x'0000000000000005';" SHUT,                                                         /* dropped */
      OPEN "DELETE FROM entry WHERE key=(SELECT max(key) FROM entry);" SHUT, /* the last one */
      OPEN
      "UPDATE entry SET value=(SELECT value FROM entry WHERE key=x'0000000000000003') WHERE key=x'0000000000000004';" SHUT, /* duplicated */
      OPEN "CREATE TEMP TABLE t AS SELECT key,value FROM entry WHERE key IN (x'0000000000000003',x'0000000000000004');"
           "UPDATE entry SET value=(SELECT value FROM t WHERE t.key<>entry.key) WHERE key IN (SELECT key FROM t);" SHUT, /* reordered */
      "INSERT INTO entry SELECT x'00000000000000ff',value FROM entry LIMIT 1;", /* beyond the end */
      "DROP TRIGGER hash_kept; UPDATE hash SET value=zeroblob(32) WHERE key=x'000000000000000003'; CREATE TRIGGER hash_kept BEFORE UPDATE "
      "ON hash BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;",
      "DROP TRIGGER mention_stays; DELETE FROM mention WHERE value=CAST('bundle' AS BLOB); CREATE TRIGGER mention_stays BEFORE DELETE ON "
      "mention BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;",
      "DROP TRIGGER checkpoint_kept; UPDATE checkpoint SET value=CAST(replace(CAST(value AS TEXT),'example','exbmple') AS BLOB); CREATE "
      "TRIGGER checkpoint_kept BEFORE UPDATE ON checkpoint BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;",
      "INSERT INTO mention SELECT CAST(substr(key,1,32)||x'0000000000000003' AS BLOB),value FROM mention WHERE value=CAST('bundle' AS "
      "BLOB) LIMIT 1;", /* an entry said to speak of what it does not */
      "DROP TRIGGER mention_kept; UPDATE mention SET value=CAST('x' AS BLOB) WHERE value=CAST('bundle' AS BLOB); CREATE TRIGGER "
      "mention_kept BEFORE UPDATE ON "
      "mention BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;", /* hidden from standing */
      "DROP TRIGGER run_stays; DELETE FROM run WHERE length(value)>0; CREATE TRIGGER run_stays BEFORE DELETE ON run BEGIN SELECT "
      "RAISE(ABORT,'a ledger is only added to');END;", /* hidden from who follows figures */
      "DROP TRIGGER run_kept; UPDATE run SET value=CAST(replace(CAST(value AS TEXT),'\"','\"x') AS BLOB); CREATE TRIGGER run_kept BEFORE "
      "UPDATE ON run BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;",
      "INSERT INTO run VALUES(zeroblob(40),CAST('' AS BLOB));",
      "CREATE TRIGGER extra AFTER INSERT ON entry BEGIN DELETE FROM mention; END;",
      OPEN};
  char keep[300], back[400];
  struct lynx_error good = {0};
  CHECK_INT(audit(&good), LYNX_OK);
  if (good.status != LYNX_OK) (void)printf("%s: %s\n", good.field, good.message);
  (void)snprintf(keep, sizeof keep, "cp %s %s/kept", path, folder);
  (void)snprintf(back, sizeof back, "rm -f %s-wal %s-shm; cp %s/kept %s", path, path, folder, path);
  run_sql("PRAGMA wal_checkpoint(TRUNCATE)");
  CHECK_INT(system(keep), 0);
  for (size_t i = 0; i < LYNX_COUNT(deeds); i++) {
    struct lynx_error error = {0};
    run_sql(deeds[i]);
    enum lynx_status status = audit(&error);
    if (status == LYNX_OK) (void)printf("not noticed: %s\n", deeds[i]);
    CHECK(status != LYNX_OK && error.message[0] != 0);
    CHECK_INT(system(back), 0);
  }
}

/* A ledger that goes back, or goes on from an earlier state in another way, is found out by whoever saw it. */
static void check_rollback(void) {
  char keep[300], back[400];
  struct lynx_error error = {0}, rolled = {0}, forked = {0};
  uint64_t index;
  (void)snprintf(keep, sizeof keep, "cp %s %s/kept", path, folder);
  (void)snprintf(back, sizeof back, "rm -f %s-wal %s-shm; cp %s/kept %s", path, path, folder, path);
  run_sql("PRAGMA wal_checkpoint(TRUNCATE)");
  CHECK_INT(system(keep), 0);
  struct ledger *l = opened(log_key);
  const struct about one = {"signature", "n", "1", {subject("contract", contract)}},
                     two = {"signature", "n", "2", {subject("contract", contract)}};
  CHECK_INT(seen_check(l, path, seen_folder, NULL, &error), LYNX_OK);
  CHECK_INT(add(l, &one, "ml", ml, &index, NULL, &error), LYNX_OK);
  CHECK_INT(seen_check(l, path, seen_folder, NULL, &error), LYNX_OK);
  ledger_close(l);
  CHECK_INT(system(back), 0);
  l = opened(log_key);
  CHECK_INT(seen_check(l, path, seen_folder, NULL, &rolled), LYNX_PROTOCOL);
  CHECK_CONTAINS(rolled.message, "ROLLED BACK");
  CHECK_INT(add(l, &two, "ml", ml, &index, NULL, &error), LYNX_OK);
  CHECK_INT(seen_check(l, path, seen_folder, NULL, &forked), LYNX_PROTOCOL);
  CHECK_CONTAINS(forked.message, "FORKED");
  ledger_close(l);
}

static void check_blobs(void) {
  char in[120], out[120], command[400];
  uint8_t digest[DIGEST_BYTES];
  struct lynx_error error = {0}, twice = {0}, none = {0};
  struct ledger *l = opened(log_key);
  (void)snprintf(in, sizeof in, "%s/in", folder);
  (void)snprintf(out, sizeof out, "%s/out", folder);
  (void)snprintf(command, sizeof command, "head -c 700000 /dev/urandom > %s", in);
  CHECK_INT(system(command), 0);
  CHECK_INT(blob_put_file(ledger_store(l), in, digest, &error), LYNX_OK);
  CHECK_INT(blob_put_file(ledger_store(l), in, digest, &error), LYNX_OK);
  CHECK(blob_known(ledger_store(l), digest));
  CHECK_INT(blob_get_file(ledger_store(l), digest, out, &error), LYNX_OK);
  (void)snprintf(command, sizeof command, "cmp %s %s", in, out);
  CHECK_INT(system(command), 0);
  CHECK_INT(blob_get_file(ledger_store(l), digest, out, &twice), LYNX_INPUT);
  digest[0] ^= 1;
  CHECK_INT(blob_get_file(ledger_store(l), digest, in, &none), LYNX_NOT_FOUND);
  ledger_close(l);
}

/* 67 parts are three steps. An end between two leaves a file that is not known, and is gone on with. */
static void check_blobs_in_steps(void) {
  char in[120], out[120], command[600], key[DIGEST_BYTES + 4];
  uint8_t digest[DIGEST_BYTES], other[DIGEST_BYTES];
  int64_t length;
  struct lynx_error error = {0}, wrong = {0};
  struct ledger *l = opened(log_key);
  struct store *store = ledger_store(l);
  (void)snprintf(in, sizeof in, "%s/long", folder);
  (void)snprintf(out, sizeof out, "%s/long.out", folder);
  (void)snprintf(command, sizeof command, "head -c 17500000 /dev/urandom > %s; tail -c 198496 %s > %s.last", in, in, in);
  CHECK_INT(system(command), 0);
  CHECK_INT(blob_digest_file(in, digest, &length, &error), LYNX_OK);
  memcpy(other, digest, sizeof other);
  other[0] ^= 1;
  CHECK_INT(blob_put_in_steps(store, other, in, &wrong), LYNX_INPUT);
  CHECK(!blob_known(store, other));
  /* what an end after the first part written, the last one, leaves */
  struct buffer last;
  (void)snprintf(command, sizeof command, "%s.last", in);
  buffer_init(&last, 1 << 20);
  CHECK_INT(root_read(&(struct root){""}, command, &last, &error), LYNX_OK);
  memcpy(key, digest, DIGEST_BYTES);
  memcpy(key + DIGEST_BYTES, "\0\0\0\102", 4);
  CHECK_INT(store->table->begin(store, &error), LYNX_OK);
  CHECK_INT(store->table->append(store, STORE_BLOB, (struct bytes){key, sizeof key}, (struct bytes){last.data, last.length}, &error),
            LYNX_OK);
  CHECK_INT(store->table->commit(store, &error), LYNX_OK);
  buffer_release(&last);
  CHECK(!blob_known(store, digest));
  CHECK_INT(blob_put_in_steps(store, digest, in, &error), LYNX_OK);
  CHECK_INT(blob_put_in_steps(store, digest, in, &error), LYNX_OK);
  CHECK_INT(blob_length(store, digest), 17500000);
  CHECK_INT(blob_get_file(store, digest, out, &error), LYNX_OK);
  (void)snprintf(command, sizeof command, "cmp %s %s", in, out);
  CHECK_INT(system(command), 0);
  ledger_close(l);
}

/* That many findings, from that number on, in one batch. */
static void add_findings(struct ledger *l, int from, size_t n) {
  struct buffer envelopes[200];
  struct bytes bytes[200];
  uint64_t index[200];
  struct lynx_error error = {0};
  lynx_assert(n <= LYNX_COUNT(bytes));
  for (size_t i = 0; i < n; i++) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", from + (int)i);
    const struct about about = {"finding", "n", text, {subject("bundle", bundle)}};
    make(&about, "ml", ml, &envelopes[i]);
    bytes[i] = (struct bytes){envelopes[i].data, envelopes[i].length};
  }
  CHECK_INT(ledger_add(l, bytes, n, index, &error), LYNX_OK);
  for (size_t i = 0; i < n; i++) buffer_release(&envelopes[i]);
}

static enum lynx_status read_at(struct ledger *l, uint64_t index) {
  struct arena arena = {0};
  struct ledger_entry entry;
  struct lynx_error error = {0};
  enum lynx_status status = ledger_read_entry(l, index, &arena, &entry, &error);
  statement_release(&entry.statement);
  arena_release(&arena);
  return status;
}

/* Puts the entry and the hash of `from` where `to` is. */
static void forge(int from, int to) {
  char sql[900];
  (void)snprintf(sql, sizeof sql,
                 "DROP TRIGGER entry_kept; DROP TRIGGER hash_kept;"
                 "UPDATE entry SET value=(SELECT value FROM entry WHERE key=x'%016x') WHERE key=x'%016x';"
                 "UPDATE hash SET value=(SELECT value FROM hash WHERE key=x'00%016x') WHERE key=x'00%016x';"
                 "CREATE TRIGGER entry_kept BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;"
                 "CREATE TRIGGER hash_kept BEFORE UPDATE ON hash BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END;",
                 (unsigned)from, (unsigned)to, (unsigned)from, (unsigned)to);
  run_sql(sql);
}

/* Who has it open while it is altered: what was refused once is refused again, and the tree of before is what it reads. */
static void check_refused_again(void) {
  struct counting counting = {0};
  struct lynx_error error = {0};
  begin();
  struct ledger *writer = opened(log_key), *reader = opened(NULL);
  add_findings(writer, 0, 2);
  ledger_close(writer);
  forge(1, 2);
  for (int i = 0; i < 3; i++) {
    CHECK_INT(ledger_refresh(reader, &error), LYNX_PROTOCOL);
    CHECK_INT(ledger_each_entry(reader, 0, count_entry, &counting, &error), LYNX_PROTOCOL);
  }
  CHECK_INT(counting.n, 0);
  CHECK(read_at(reader, 2) != LYNX_OK);
  CHECK_INT(read_at(reader, 0), LYNX_OK);
  ledger_close(reader);
}

/* A proof that was made of what a tile held before says nothing of what it holds now. */
static void check_tile_read_again(void) {
  struct counting counting = {0};
  struct lynx_error error = {0};
  begin();
  struct ledger *writer = opened(log_key);
  add_findings(writer, 0, 199);
  struct ledger *reader = opened(NULL);
  CHECK_INT(read_at(reader, 150), LYNX_OK);
  add_findings(writer, 199, 56);
  ledger_close(writer);
  forge(5, 150);
  enum lynx_status grown = ledger_refresh(reader, &error); /* the whole tile is one hash of the level above, which was not touched */
  CHECK(grown == LYNX_OK || grown == LYNX_PROTOCOL);
  CHECK(read_at(reader, 150) != LYNX_OK);
  CHECK(ledger_each_entry(reader, 0, count_entry, &counting, &error) != LYNX_OK);
  CHECK(counting.n <= 150);
  ledger_close(reader);
}

/* More than one kept level: 700 entries in batches, proofs among them, the audit. */
static void check_many(void) {
  struct ledger *l = opened(log_key);
  struct lynx_error error = {0};
  for (int batch = 0; batch < 7; batch++) add_findings(l, batch * 100, 100);
  struct ledger_audit result;
  CHECK_INT(ledger_audit(l, true, &result, &error), LYNX_OK);
  CHECK(result.n_entries > 700 && result.n_signatures == result.n_entries);
  for (uint64_t i = 0; i < result.n_entries; i += 37) {
    struct merkle_proof proof;
    uint8_t leaf[DIGEST_BYTES];
    const struct merkle_source tree = ledger_tree(l);
    CHECK_INT(tree.read(tree.context, 0, i, leaf, &error), LYNX_OK);
    CHECK_INT(merkle_prove_inclusion(&tree, i, result.n_entries, &proof, &error), LYNX_OK);
    CHECK(merkle_inclusion_holds(i, result.n_entries, leaf, result.checkpoint.root, &proof));
  }
  ledger_close(l);
}

/* What was checked before is read without its signatures: as that tree has it, and not otherwise. */
static void check_trust(void) {
  struct lynx_error error = {0};
  struct counting counting = {0};
  uint8_t root[DIGEST_BYTES], other[DIGEST_BYTES] = {1};
  begin();
  struct ledger *l = opened(log_key), *again = NULL;
  add_findings(l, 0, 150);
  const struct merkle_source source = ledger_tree(l);
  CHECK_INT(merkle_root(&source, 100, root, &error), LYNX_OK);
  CHECK(!ledger_trust(l, 100, other)); /* another tree: all is checked */
  CHECK(!ledger_trust(l, 100000, root));
  CHECK(ledger_trust(l, 100, root));
  seen_remember_checked(l, seen_folder, 151);
  add_findings(l, 150, 20);
  CHECK_INT(ledger_each_entry(l, 0, count_entry, &counting, &error), LYNX_OK); /* it still holds, of a tree that goes on */
  CHECK_INT(counting.n, 171);
  ledger_close(l);
  again = opened(NULL);
  seen_trust_checked(again, seen_folder);
  CHECK_INT(read_at(again, 50), LYNX_OK);
  forge(20, 60); /* another signed entry in its place, with its hash */
  CHECK(read_at(again, 60) != LYNX_OK);
  CHECK(ledger_each_entry(again, 0, count_entry, &counting, &error) != LYNX_OK);
  ledger_close(again);
}

/* Several entries at once, of which a later one speaks of an earlier: taken together, or not at all. */
static void check_batch(void) {
  struct ledger *l = NULL;
  struct lynx_error error = {0};
  struct buffer envelope[3];
  struct bytes bytes[3];
  uint8_t leaf[DIGEST_BYTES], one[DIGEST_BYTES], two[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  uint64_t indices[3] = {0};
  CHECK_INT(ledger_open(path, STORE_WRITE, log_key, &l, &error), LYNX_OK);
  digest_of("one", 3, one);
  digest_of("two", 3, two);
  const struct about intent = {"intent", "run", "batch", {subject("contract", contract)}};
  make(&intent, "ml", ml, &envelope[0]);
  merkle_leaf((struct bytes){envelope[0].data, envelope[0].length}, leaf);
  (void)digest_hex(leaf, hex);
  const struct about first = {"bundle", "intent", hex, {subject("bundle", one), subject("file", one), subject("contract", contract)}},
                     second = {"bundle", "intent", hex, {subject("bundle", two), subject("file", two), subject("contract", contract)}};
  make(&first, "ml", ml, &envelope[1]);
  make(&second, "ml", ml, &envelope[2]);
  for (int i = 0; i < 3; i++) bytes[i] = (struct bytes){envelope[i].data, envelope[i].length};
  CHECK_INT(ledger_add(l, bytes, 3, indices, &error), LYNX_INPUT); /* a run has one bundle */
  error = (struct lynx_error){0};
  CHECK_INT(ledger_add(l, bytes, 2, indices, &error), LYNX_OK);
  CHECK_INT(indices[1], indices[0] + 1);
  for (int i = 0; i < 3; i++) buffer_release(&envelope[i]);
  ledger_close(l);
}

/* --- what runs tell beside the log --- */

static enum lynx_status introduce(struct running *r, struct ledger *l, const struct about *about, const char *name,
                                  const struct signing_key *key) {
  struct buffer envelope;
  struct lynx_error error = {0};
  make(about, name, key, &envelope);
  enum lynx_status status = running_begin(r, l, (struct bytes){envelope.data, envelope.length}, &error);
  buffer_release(&envelope);
  return status;
}

static enum lynx_status tell(struct running *r, const uint8_t intent[DIGEST_BYTES], const char *secret, const char *more) {
  char text[600], hex[DIGEST_HEX];
  struct lynx_error error = {0};
  (void)snprintf(text, sizeof text, "{\"intent\": \"%s\", \"secret\": \"%s\", \"step\": \"counted\"%s}", digest_hex(intent, hex), secret,
                 more);
  return running_tell(r, bytes_of(text), &error);
}

static void check_running(struct ledger *l) {
  struct running *r = running_open();
  static struct running_run runs[RUNNING_MAX];
  struct lynx_error error = {0};
  uint8_t leaf[DIGEST_BYTES], digest[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  uint64_t index;
  digest_of("open sesame", 11, digest);
  (void)digest_hex(digest, hex);
  const struct about intent = {.kind = "intent", .key = "name", .value = "chat", .subjects = {subject("contract", contract)}};
  CHECK_INT(add(l, &intent, "ml", ml, &index, leaf, &error), LYNX_OK);
  const struct about good = {.kind = "progress", .key = "secret", .value = hex, .subjects = {subject("intent", leaf)}};
  const struct about other_kind = {.kind = "finding", .key = "secret", .value = hex, .subjects = {subject("intent", leaf)}};
  const struct about no_intent = {.kind = "progress", .key = "secret", .value = hex, .subjects = {subject("intent", contract)}};
  const struct about no_secret = {.kind = "progress", .subjects = {subject("intent", leaf)}};
  CHECK_INT(introduce(r, l, &good, "sre", sre), LYNX_INPUT); /* a team, but not the intent's */
  CHECK_INT(introduce(r, l, &good, "ml", stranger), LYNX_INPUT);
  CHECK_INT(introduce(r, l, &other_kind, "ml", ml), LYNX_INPUT);
  CHECK_INT(introduce(r, l, &no_intent, "ml", ml), LYNX_NOT_FOUND);
  CHECK_INT(introduce(r, l, &no_secret, "ml", ml), LYNX_INPUT);
  CHECK_INT(running_list(r, runs), 0);
  CHECK_INT(add(l, &good, "ml", ml, &index, NULL, &error), LYNX_INPUT); /* it is never entered */
  CHECK_INT(introduce(r, l, &good, "ml", ml), LYNX_OK);
  CHECK_INT(introduce(r, l, &good, "ml", ml), LYNX_INPUT); /* the first secret is the run's */
  CHECK_INT(tell(r, leaf, "open sesam", ""), LYNX_INPUT);
  CHECK_INT(tell(r, contract, "open sesame", ""), LYNX_INPUT);
  CHECK_INT(tell(r, leaf, "open sesame", ", \"in_flight\": -3, \"idle\": 7, \"tokens_per_s\": 12.5, \"session\": \"x\""), LYNX_OK);
  CHECK_INT(running_list(r, runs), 1);
  CHECK(strcmp(runs[0].by, "ml") == 0 && strcmp(runs[0].name, "chat") == 0 && strcmp(runs[0].step, "counted") == 0);
  CHECK_INT(runs[0].in_flight, 0);
  CHECK_INT(runs[0].session, 0);
  CHECK(isnan(runs[0].idle) && runs[0].tokens_per_s == 12.5);
  CHECK_INT(tell(r, leaf, "open sesame", ", \"over\": true"), LYNX_OK);
  CHECK_INT(running_list(r, runs), 0);
  CHECK_INT(tell(r, leaf, "open sesame", ""), LYNX_INPUT);
  CHECK_INT(introduce(r, l, &good, "ml", ml), LYNX_INPUT); /* it is over, and nobody who kept its first word brings it back */
  struct running *again = running_open();                  /* a server that was started again */
  signed_at = "2020-01-01T00:00:00Z";
  CHECK_INT(introduce(again, l, &good, "ml", ml), LYNX_INPUT);
  signed_at = NULL;
  CHECK_INT(introduce(again, l, &good, "ml", ml), LYNX_OK);
  running_close(again);
  running_close(r);
}

int main(void) {
  struct lynx_error error = {0};
  (void)snprintf(folder, sizeof folder, "/tmp/lynx-ledger-%d", (int)getpid());
  (void)snprintf(path, sizeof path, "%s/team.ledger", folder);
  (void)snprintf(seen_folder, sizeof seen_folder, "%s/state/seen", folder);
  CHECK_INT(signing_key_make(&ml, &error), LYNX_OK);
  CHECK_INT(signing_key_make(&sre, &error), LYNX_OK);
  CHECK_INT(signing_key_make(&stranger, &error), LYNX_OK);
  CHECK_INT(signing_key_make(&log_key, &error), LYNX_OK);
  digest_of("contract", 8, contract);
  digest_of("bundle", 6, bundle);
  digest_of("file", 4, file);
  begin();
  struct ledger *l = opened(log_key);
  add_sre(l);
  check_refusals(l);
  check_standing(l);
  check_reader(l);
  check_running(l);
  check_proofs(l);
  ledger_close(l);
  check_batch();
  check_tampering();
  check_rollback();
  check_blobs();
  check_blobs_in_steps();
  check_many();
  check_refused_again();
  check_tile_read_again();
  check_trust();
  remove_all();
  (void)rmdir(folder);
  signing_key_release(ml);
  signing_key_release(sre);
  signing_key_release(stranger);
  signing_key_release(log_key);
  return check_end();
}
