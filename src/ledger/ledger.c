#include "ledger/ledger.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/side_by_side.h"
#include "ledger/entry.h"
#include "ledger/ledger_private.h"

/* --- reading --- */
static enum lynx_status parse_entry(uint64_t index, struct bytes bytes, struct arena *arena, struct ledger_entry *ret,
                                    struct lynx_error *error) {
  *ret = (struct ledger_entry){.index = index, .bytes = bytes};
  merkle_leaf(bytes, ret->leaf);
  enum lynx_status status = envelope_parse(bytes, arena, &ret->envelope, error);
  if (status == LYNX_OK) status = statement_parse(&ret->envelope, arena, &ret->statement, error);
  if (status != LYNX_OK) return status;
  char *name = arena_copy(arena, ret->envelope.n_signatures > 0 ? ret->envelope.signatures[0].key_id : "");
  name[strcspn(name, "+")] = 0;
  ret->signer = name;
  return LYNX_OK;
}

enum lynx_status ledger_entry_bytes(struct ledger *ledger, uint64_t index, struct buffer *ret, struct lynx_error *error) {
  struct ledger_key key = ledger_key_entry(index);
  return ledger_get(ledger, STORE_ENTRY, &key, ret, error);
}

struct bytes_walk {
  ledger_bytes_visit *visit;
  void *context;
};

static bool take_bytes(void *context, struct bytes key, struct bytes value) {
  const struct bytes_walk *w = context;
  return key.length != INDEX_BYTES || w->visit(w->context, ledger_key_number(key, 0, INDEX_BYTES), value);
}

enum lynx_status ledger_each_bytes(struct ledger *ledger, uint64_t from, ledger_bytes_visit *visit, void *context,
                                   struct lynx_error *error) {
  const struct ledger_key first = ledger_key_entry(from);
  const struct store_range range = {.space = STORE_ENTRY, .from = ledger_key_bytes(&first)};
  struct bytes_walk walk = {visit, context};
  return ledger->store->table->list(ledger->store, &range, take_bytes, &walk, error);
}

/* What needs no store: what it says, and whether a team of the policy of its time signed it. */
static enum lynx_status parse_signed(const struct ledger *l, uint64_t index, struct bytes bytes, struct arena *arena,
                                     struct ledger_entry *ret, bool *ret_signed, struct lynx_error *error) {
  enum lynx_status status = parse_entry(index, bytes, arena, ret, error);
  bool trusted = l->trusted.holds && index < l->trusted.size;
  *ret_signed = status == LYNX_OK && (trusted || policy_signer(ledger_policy_at(l, index), &ret->envelope) != NULL);
  return status;
}

/* Nothing is taken from the store that is not in the tree, or not signed by a team of the policy of its time: whoever owns the file could
 * have put it there. */
static enum lynx_status check_entry(struct ledger *l, const struct ledger_entry *entry, bool is_signed, struct lynx_error *error) {
  bool holds = false;
  enum lynx_status status = ledger_prove_leaf(l, entry->index, entry->leaf, &holds, error);
  if (status == LYNX_OK && !holds)
    status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is not the one in the signed tree: the file was altered", entry->index);
  if (status == LYNX_OK && !is_signed)
    status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is not signed by a team of the policy of its time", entry->index);
  return status;
}

enum lynx_status ledger_read_entry(struct ledger *ledger, uint64_t index, struct arena *arena, struct ledger_entry *ret,
                                   struct lynx_error *error) {
  struct buffer value;
  bool is_signed;
  *ret = (struct ledger_entry){0};
  if (index >= ledger->edge.size)
    return lynx_fail(error, LYNX_NOT_FOUND, "there is no entry %" PRIu64 ": the ledger holds %" PRIu64, index, ledger->edge.size);
  buffer_init(&value, ENVELOPE_MAX);
  enum lynx_status status = ledger_entry_bytes(ledger, index, &value, error);
  const struct bytes bytes = {arena_text(arena, value.data != NULL ? value.data : "", value.length), value.length};
  if (status == LYNX_OK) status = parse_signed(ledger, index, bytes, arena, ret, &is_signed, error);
  if (status == LYNX_OK) status = check_entry(ledger, ret, is_signed, error);
  buffer_release(&value);
  return status;
}

struct mentions {
  uint64_t *indices;
  char **names;
  size_t n, capacity;
};

static bool take_mention(void *context, struct bytes key, struct bytes value) {
  struct mentions *m = context;
  if (key.length != DIGEST_BYTES + INDEX_BYTES) return true;
  if (m->n == m->capacity) {
    m->capacity = m->capacity > 0 ? 2 * m->capacity : 16;
    m->indices = xgrow(m->indices, m->capacity, sizeof *m->indices);
    m->names = xgrow(m->names, m->capacity, sizeof *m->names);
  }
  m->indices[m->n] = ledger_key_number(key, DIGEST_BYTES, INDEX_BYTES);
  m->names[m->n] = xalloc(value.length + 1, 1);
  memcpy(m->names[m->n++], value.ptr, value.length);
  return true;
}

/* space: STORE_MENTION; STORE_RUN, for an intent: who answers it, under no name. */
static enum lynx_status list_mentions(struct ledger *l, enum store_space space, const uint8_t digest[DIGEST_BYTES], struct mentions *ret,
                                      struct lynx_error *error) {
  const struct store_range range = {.space = space, .prefix = {(const char *)digest, DIGEST_BYTES}};
  *ret = (struct mentions){0};
  return l->store->table->list(l->store, &range, take_mention, ret, error);
}

static void mentions_release(struct mentions *m) {
  for (size_t i = 0; i < m->n; i++) free(m->names[i]);
  free(m->names);
  free(m->indices);
}

struct beginning {
  const char *digits, *name;
  uint8_t *digest;
  size_t n; /* different ones, 2 at most */
};

static bool take_beginning(void *context, struct bytes key, struct bytes value) {
  struct beginning *b = context;
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  if (key.length != DIGEST_BYTES + INDEX_BYTES || !bytes_equal(value, b->name)) return true;
  memcpy(digest, key.ptr, DIGEST_BYTES);
  if (strncmp(digest_hex(digest, hex), b->digits, strlen(b->digits)) != 0) return true; /* an odd digit */
  if (b->n > 0 && memcmp(b->digest, digest, DIGEST_BYTES) == 0) return true;
  if (b->n++ == 0) memcpy(b->digest, digest, DIGEST_BYTES);
  return b->n < 2;
}

enum lynx_status ledger_digest(struct ledger *l, const char *digits, const char *name, uint8_t ret[DIGEST_BYTES],
                               struct lynx_error *error) {
  static const char hexadecimal[] = "0123456789abcdefABCDEF";
  uint8_t prefix[DIGEST_BYTES] = {0};
  char lower[DIGEST_HEX] = "", even[DIGEST_HEX] = "";
  size_t n = strlen(digits);
  if (n < LEDGER_DIGITS_LEAST || n > DIGEST_HEX - 1 || strspn(digits, hexadecimal) != n)
    return lynx_fail(error, LYNX_INPUT,
                     "found '%.80s'; accepted: the digest that the entry of %s names, 64 digits, or its first %d and more", digits,
                     name[0] != 0 ? "a bundle" : "that", LEDGER_DIGITS_LEAST);
  for (size_t i = 0; i < n; i++) lower[i] = (char)tolower((unsigned char)digits[i]);
  memcpy(even, lower, n / 2 * 2);
  lynx_assert(hex_decode(even, prefix, n / 2));
  struct beginning b = {.digits = lower, .name = name, .digest = ret};
  const struct store_range range = {.space = STORE_MENTION, .prefix = {(const char *)prefix, n / 2}};
  enum lynx_status status = l->store->table->list(l->store, &range, take_beginning, &b, error);
  if (status == LYNX_OK && b.n == 0) return lynx_fail(error, LYNX_NOT_FOUND, "there is no digest that begins with %.64s", digits);
  if (status == LYNX_OK && b.n > 1)
    return lynx_fail(error, LYNX_INPUT, "found %.64s, with which more than one digest begins; accepted: more digits of it", digits);
  return status;
}

const uint8_t *ledger_entry_file(const struct ledger_entry *entry) {
  return strcmp(entry->statement.kind, "bundle") == 0 ? statement_subject_named(&entry->statement, "file") : NULL;
}

/* The entry of that hash is spoken of by itself, under no name. */
enum lynx_status ledger_find(struct ledger *ledger, const uint8_t leaf[DIGEST_BYTES], uint64_t *ret_index, struct lynx_error *error) {
  struct mentions mentions;
  char hex[DIGEST_HEX];
  size_t i = 0;
  enum lynx_status status = list_mentions(ledger, STORE_MENTION, leaf, &mentions, error);
  while (i < mentions.n && mentions.names[i][0] != 0) i++;
  if (status == LYNX_OK && i == mentions.n)
    status = lynx_fail(error, LYNX_NOT_FOUND, "there is no entry of digest %.16s", digest_hex(leaf, hex));
  if (status == LYNX_OK) *ret_index = mentions.indices[i];
  mentions_release(&mentions);
  return status;
}

/* Nor is anything taken from the index of mentions that the signed statement does not say itself. */
static bool says(const struct ledger_entry *entry, const uint8_t digest[DIGEST_BYTES], const char *subject) {
  bool said = subject[0] == 0 && memcmp(entry->leaf, digest, DIGEST_BYTES) == 0;
  for (size_t i = 0; i < entry->statement.n_subjects && !said; i++)
    said = strcmp(entry->statement.subjects[i].name, subject) == 0 &&
           memcmp(entry->statement.subjects[i].digest, digest, DIGEST_BYTES) == 0;
  return said;
}

/* digest NULL: it was not found by one. */
static enum lynx_status visit_entry(struct ledger *l, uint64_t index, const uint8_t *digest, const char *subject, ledger_visit *visit,
                                    void *context, bool *ret_go_on, struct lynx_error *error) {
  struct arena arena = {0};
  struct ledger_entry entry;
  enum lynx_status status = ledger_read_entry(l, index, &arena, &entry, error);
  if (status == LYNX_OK && digest != NULL && !says(&entry, digest, subject))
    status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " does not say what the ledger's index says of it: the file was altered",
                       index);
  if (status == LYNX_OK) *ret_go_on = visit(context, &entry, subject);
  statement_release(&entry.statement);
  arena_release(&arena);
  return status;
}

/* As of the tree that is at hand: while entries are added it is ahead of the newest checkpoint. */
static enum lynx_status each_mention(struct ledger *ledger, const uint8_t digest[DIGEST_BYTES], ledger_visit *visit, void *context,
                                     struct lynx_error *error) {
  struct mentions mentions = {0};
  bool go_on = true;
  enum lynx_status status = list_mentions(ledger, STORE_MENTION, digest, &mentions, error);
  for (size_t i = 0; i < mentions.n && status == LYNX_OK && go_on; i++)
    if (mentions.indices[i] < ledger->edge.size)
      status = visit_entry(ledger, mentions.indices[i], digest, mentions.names[i], visit, context, &go_on, error);
  mentions_release(&mentions);
  return status;
}

/* As of the newest checkpoint: others may be writing. */
enum lynx_status ledger_each_mention(struct ledger *ledger, const uint8_t digest[DIGEST_BYTES], ledger_visit *visit, void *context,
                                     struct lynx_error *error) {
  enum lynx_status status = ledger_refresh(ledger, error);
  return status == LYNX_OK ? each_mention(ledger, digest, visit, context, error) : status;
}

/* --- all of them, in their order --- */

/* Entries of a batch are copied, so that nothing of the store is held while they are visited. So many of them are worth a thread. */
enum { ENTRIES_FOR_THREAD = 16, THREADS_MOST = 8 };
enum { AHEAD_MOST_S = 600 };

struct entry_batch {
  const struct ledger *ledger;
  uint64_t first, end; /* end: of the tree */
  size_t n;
  struct entry_read {
    struct arena arena;
    struct bytes bytes;
    struct ledger_entry entry;
    bool is_signed;
    enum lynx_status status;
    struct lynx_error error;
  } items[LEDGER_BATCH];
};

/* From the first one on without a gap: what is missing is found missing when it is read by itself. */
static bool take_into_batch(void *context, uint64_t index, struct bytes bytes) {
  struct entry_batch *batch = context;
  if (index != batch->first + batch->n || index >= batch->end || bytes.length > ENVELOPE_MAX) return false;
  struct entry_read *to = &batch->items[batch->n++];
  to->bytes = (struct bytes){arena_text(&to->arena, bytes.ptr, bytes.length), bytes.length};
  return batch->n < LEDGER_BATCH;
}

static void read_in_batch(void *context, size_t i) {
  struct entry_batch *batch = context;
  struct entry_read *e = &batch->items[i];
  e->status = parse_signed(batch->ledger, batch->first + i, e->bytes, &e->arena, &e->entry, &e->is_signed, &e->error);
}

static enum lynx_status visit_batch(struct ledger *l, struct entry_batch *batch, ledger_visit *visit, void *context, bool *go_on,
                                    struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  const size_t threads = side_by_side_threads(THREADS_MOST), worth = batch->n / ENTRIES_FOR_THREAD;
  side_by_side(batch->n, worth < threads ? worth : threads, read_in_batch, batch);
  for (size_t i = 0; i < batch->n && status == LYNX_OK && *go_on; i++) {
    const struct entry_read *e = &batch->items[i];
    status = e->status;
    if (status != LYNX_OK) *error = e->error;
    else status = check_entry(l, &e->entry, e->is_signed, error);
    if (status == LYNX_OK) *go_on = visit(context, &e->entry, "");
  }
  return status;
}

static void release_batch(struct entry_batch *batch) {
  for (size_t i = 0; i < batch->n; i++) {
    statement_release(&batch->items[i].entry.statement);
    arena_release(&batch->items[i].arena);
  }
  free(batch);
}

enum lynx_status ledger_each_entry(struct ledger *ledger, uint64_t from, ledger_visit *visit, void *context, struct lynx_error *error) {
  bool go_on = true;
  enum lynx_status status = ledger_refresh(ledger, error);
  while (status == LYNX_OK && go_on && from < ledger->edge.size) {
    struct entry_batch *batch = xalloc(1, sizeof *batch);
    batch->ledger = ledger, batch->first = from, batch->end = ledger->edge.size;
    status = ledger_each_bytes(ledger, from, take_into_batch, batch, error);
    if (status == LYNX_OK && batch->n == 0) status = visit_entry(ledger, from, NULL, "", visit, context, &go_on, error);
    else if (status == LYNX_OK) status = visit_batch(ledger, batch, visit, context, &go_on, error);
    from += batch->n > 0 ? batch->n : 1;
    release_batch(batch);
  }
  return status;
}

enum lynx_status ledger_each_run(struct ledger *ledger, const uint8_t *contract, ledger_run_visit *visit, void *context,
                                 struct lynx_error *error) {
  enum lynx_status status = ledger_refresh(ledger, error);
  return status == LYNX_OK ? ledger_list_runs(ledger, contract, visit, context, error) : status;
}

/* --- opening --- */

static void add_history(struct ledger *l, uint64_t index) {
  l->history = xgrow(l->history, l->n_history + 1, sizeof *l->history);
  l->history[l->n_history].index = index;
  l->history[l->n_history++].policy = l->policy;
}

/* The policy of a ledger of that size, and how it came about: from the first one on, each signed by an admin of the one before. */
static enum lynx_status read_policy(struct ledger *l, uint64_t size, struct lynx_error *error) {
  uint8_t digest[DIGEST_BYTES];
  struct mentions mentions;
  policy_subject(digest);
  enum lynx_status status = list_mentions(l, STORE_MENTION, digest, &mentions, error);
  l->policy = (struct policy){.number = 0};
  l->n_history = 0;
  for (size_t i = 0; i < mentions.n && mentions.indices[i] < size && status == LYNX_OK; i++) {
    struct arena arena = {0};
    struct buffer bytes;
    struct admission admission = {.signer = NULL};
    buffer_init(&bytes, ENVELOPE_MAX);
    status = ledger_entry_bytes(l, mentions.indices[i], &bytes, error);
    if (status == LYNX_OK)
      status = admission_check(&l->policy, (struct bytes){bytes.data != NULL ? bytes.data : "", bytes.length}, &arena, &admission, error);
    if (status == LYNX_OK && strcmp(admission.statement.kind, "policy") == 0) add_history(l, mentions.indices[i]);
    statement_release(&admission.statement);
    buffer_release(&bytes);
    arena_release(&arena);
  }
  if (status == LYNX_OK && (l->n_history == 0 || l->history[0].index != 0))
    status = lynx_fail(
        error, LYNX_INPUT,
        "a ledger without a policy: its making was cut short (remove it and its .key, and `lynxbench ledger create` it again), "
        "or entries are gone");
  mentions_release(&mentions);
  return status;
}

/* Each of them must be in the tree, too. */
static enum lynx_status check_history(struct ledger *l, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < l->n_history && status == LYNX_OK; i++) {
    struct arena arena = {0};
    struct ledger_entry entry;
    status = ledger_read_entry(l, l->history[i].index, &arena, &entry, error);
    statement_release(&entry.statement);
    arena_release(&arena);
  }
  return status;
}

/* The tree and the policies of that checkpoint; what is wrong with them leaves nothing behind that a later call could take for checked. */
static enum lynx_status read_tree(struct ledger *l, const struct checkpoint *checkpoint, struct lynx_error *error) {
  const struct merkle_source source = ledger_tree(l);
  uint8_t root[DIGEST_BYTES];
  enum lynx_status status = read_policy(l, checkpoint->size, error);
  if (status == LYNX_OK) status = merkle_edge_read(&source, checkpoint->size, &l->edge, error);
  if (status != LYNX_OK) return status;
  merkle_edge_root(&l->edge, root);
  if (memcmp(root, checkpoint->root, DIGEST_BYTES) != 0)
    return lynx_fail(error, LYNX_PROTOCOL, "the tree of %" PRIu64 " entries is not the one that its checkpoint signs: the file was altered",
                     checkpoint->size);
  return check_history(l, error);
}

/* Whose key signs checkpoints is what the first policy says. */
static void renew_trust(struct ledger *l) {
  const struct merkle_source source = ledger_tree(l);
  struct merkle_proof proof;
  struct lynx_error unread = {0}; /* then all is checked again */
  uint8_t now[DIGEST_BYTES];
  const uint64_t size = l->trusted.size;
  l->trusted.holds = false;
  if (size == 0 || !l->has_edge || size > l->edge.size) return;
  merkle_edge_root(&l->edge, now);
  l->trusted.holds = merkle_prove_consistency(&source, size, l->edge.size, &proof, &unread) == LYNX_OK &&
                     merkle_consistency_holds(size, l->edge.size, l->trusted.root, now, &proof);
}

bool ledger_trust(struct ledger *ledger, uint64_t size, const uint8_t root[DIGEST_BYTES]) {
  ledger->trusted.size = size;
  memcpy(ledger->trusted.root, root, DIGEST_BYTES);
  renew_trust(ledger);
  return ledger->trusted.holds;
}

enum lynx_status ledger_refresh(struct ledger *ledger, struct lynx_error *error) {
  struct checkpoint checkpoint;
  enum lynx_status status = ledger->store->table->renew(ledger->store, error);
  if (status == LYNX_OK && ledger->n_history == 0) status = read_policy(ledger, 1, error);
  if (status != LYNX_OK) ledger->n_history = 0;
  if (status == LYNX_OK) status = ledger_checkpoint(ledger, NULL, &checkpoint, error);
  if (status != LYNX_OK || (ledger->has_edge && checkpoint.size == ledger->edge.size)) return status;
  const struct merkle_edge edge = ledger->edge;
  const struct policy policy = ledger->policy;
  struct policy_change *history = ledger->history;
  const size_t n_history = ledger->n_history;
  ledger->history = NULL;
  status = read_tree(ledger, &checkpoint, error);
  if (status == LYNX_OK) {
    ledger->has_edge = true;
    free(history);
    renew_trust(ledger);
    return status;
  }
  free(ledger->history); /* as before: of a tree that was refused nothing is believed, the next time either */
  ledger->history = history;
  ledger->n_history = n_history;
  ledger->edge = edge;
  ledger->policy = policy;
  ledger_forget_tiles(ledger);
  return status;
}

static enum lynx_status check_log_key(const struct ledger *l, struct lynx_error *error) {
  uint8_t own[SIGNATURE_KEY_BYTES];
  if (l->log_key == NULL) return LYNX_OK;
  signing_key_public(l->log_key, own);
  if (memcmp(own, l->policy.log.public_key, sizeof own) == 0) return LYNX_OK;
  return lynx_fail(error, LYNX_INPUT, "the log key at hand is not this ledger's (%s)", l->policy.log.name);
}

enum lynx_status ledger_open(const char *address, enum store_access access, const struct signing_key *log_key, struct ledger **ret,
                             struct lynx_error *error) {
  struct ledger *l = xalloc(1, sizeof *l);
  l->log_key = log_key;
  enum lynx_status status = store_open(address, access, &l->store, error);
  if (status == LYNX_OK) status = ledger_refresh(l, error);
  if (status == LYNX_OK) status = check_log_key(l, error);
  if (status == LYNX_OK) *ret = l;
  else {
    lynx_error_at(error, address, 0, NULL);
    ledger_close(l);
  }
  return status;
}

void ledger_close(struct ledger *ledger) {
  if (ledger == NULL) return;
  if (ledger->store != NULL) ledger->store->table->close(ledger->store);
  free(ledger->history);
  free(ledger);
}

/* --- adding --- */
/* A withdrawal takes back a contest, and only one's own. */
static enum lynx_status check_withdrawal(struct ledger *l, const struct admission *a, struct lynx_error *error) {
  struct arena arena = {0};
  struct ledger_entry entry = {0};
  uint64_t index;
  const uint8_t *leaf = statement_subject_named(&a->statement, "entry");
  lynx_assert(leaf != NULL && a->signer != NULL); /* admission_check saw to it */
  enum lynx_status status = ledger_find(l, leaf, &index, error);
  if (status == LYNX_OK) status = ledger_read_entry(l, index, &arena, &entry, error);
  if (status == LYNX_OK && (strcmp(entry.statement.kind, "contest") != 0 || strcmp(entry.signer, a->signer->key.name) != 0))
    status = lynx_fail(error, LYNX_INPUT, "entry %" PRIu64 " is a %s by %s: a team withdraws contests of its own", entry.index,
                       entry.statement.kind, entry.signer);
  statement_release(&entry.statement);
  arena_release(&arena);
  return status;
}

struct rivalry {
  const struct statement *statement; /* that wants to be added */
  const char *only_by;               /* entries of this team count; NULL: of any */
  uint64_t index;                    /* the entry of another bundle under the same intent */
  bool found;
};

static bool take_rival(void *context, const struct ledger_entry *entry, const char *subject) {
  struct rivalry *r = context;
  uint8_t theirs[DIGEST_BYTES], ours[DIGEST_BYTES];
  bool answer = statement_intent(&entry->statement, theirs) && statement_intent(r->statement, ours) &&
                memcmp(theirs, ours, DIGEST_BYTES) == 0;
  const uint8_t *their_bundle = statement_subject_named(&entry->statement, "bundle"),
                *our_bundle = statement_subject_named(r->statement, "bundle");
  (void)subject;
  lynx_assert(entry->signer != NULL); /* what is visited was signed by a team */
  r->found = answer && their_bundle != NULL && our_bundle != NULL && memcmp(their_bundle, our_bundle, DIGEST_BYTES) != 0 &&
             (r->only_by == NULL || strcmp(entry->signer, r->only_by) == 0);
  r->index = entry->index;
  return !r->found;
}

/* The entries that answer an intent: they are few, however many runs its contract has. */
static enum lynx_status each_answer(struct ledger *l, const uint8_t intent[DIGEST_BYTES], struct rivalry *r, struct lynx_error *error) {
  struct mentions answers;
  bool go_on = true;
  enum lynx_status status = list_mentions(l, STORE_RUN, intent, &answers, error);
  for (size_t i = 0; i < answers.n && status == LYNX_OK && go_on; i++)
    if (answers.names[i][0] == 0 && answers.indices[i] < l->edge.size)
      status = visit_entry(l, answers.indices[i], NULL, "", take_rival, r, &go_on, error);
  mentions_release(&answers);
  return status;
}

/* A clock may be behind, and an entry may wait for its ledger; nobody signs tomorrow. Of an entry that is added now, not of a copy. */
static enum lynx_status check_time(const struct admission *a, struct lynx_error *error) {
  int64_t time_s;
  if (!statement_time(&a->statement, &time_s) || time_s <= clock_realtime_s(&clock_system) + AHEAD_MOST_S) return LYNX_OK;
  return lynx_fail(error, LYNX_INPUT,
                   "time: found '%.40s', which is to come by this ledger's clock; accepted: at most %d minutes ahead of it",
                   json_get_text(a->statement.predicate, "time", ""), AHEAD_MOST_S / 60);
}

/* One intent has at most one bundle. Whoever declared the intent is kept from a second one of its own only: else a stranger who came
 * first with another bundle could keep the true one out. */
static enum lynx_status check_intent(struct ledger *l, const struct admission *a, struct lynx_error *error) {
  struct rivalry r = {.statement = &a->statement};
  struct arena arena = {0};
  struct ledger_entry intent = {0};
  struct lynx_error none = {0};
  uint8_t leaf[DIGEST_BYTES];
  uint64_t index;
  char hex[DIGEST_HEX];
  if (!statement_intent(&a->statement, leaf)) return LYNX_OK;
  bool known = ledger_find(l, leaf, &index, &none) == LYNX_OK && ledger_read_entry(l, index, &arena, &intent, &none) == LYNX_OK;
  if (known && a->signer != NULL && strcmp(intent.signer, a->signer->key.name) == 0) r.only_by = a->signer->key.name;
  enum lynx_status status = each_answer(l, leaf, &r, error);
  if (status == LYNX_OK && r.found)
    status = lynx_fail(error, LYNX_INPUT,
                       "entry %" PRIu64
                       " is another bundle under the same intent, %.16s: one run has one bundle; accepted: the same bundle, or "
                       "one of a run whose own intent was recorded",
                       r.index, digest_hex(leaf, hex));
  statement_release(&intent.statement);
  arena_release(&arena);
  return status;
}

bool ledger_mentions(const struct statement *statement, size_t i, const uint8_t leaf[DIGEST_BYTES]) {
  const uint8_t *digest = statement->subjects[i].digest;
  bool before = memcmp(digest, leaf, DIGEST_BYTES) == 0;
  for (size_t k = 0; k < i; k++) before = before || memcmp(statement->subjects[k].digest, digest, DIGEST_BYTES) == 0;
  return !before;
}

static enum lynx_status put_mentions(struct ledger *l, const struct statement *statement, const uint8_t leaf[DIGEST_BYTES], uint64_t index,
                                     struct lynx_error *error) {
  struct ledger_key key = ledger_key_mention(leaf, index);
  enum lynx_status status = ledger_append(l, STORE_MENTION, &key, (struct bytes){"", 0}, error);
  for (size_t i = 0; i < statement->n_subjects && status == LYNX_OK; i++) {
    key = ledger_key_mention(statement->subjects[i].digest, index);
    if (ledger_mentions(statement, i, leaf)) status = ledger_append(l, STORE_MENTION, &key, bytes_of(statement->subjects[i].name), error);
  }
  return status;
}

enum lynx_status ledger_put_one(struct ledger *l, struct bytes bytes, const struct statement *statement, const uint8_t leaf[DIGEST_BYTES],
                                struct lynx_error *error) {
  const struct ledger_key key = ledger_key_entry(l->edge.size);
  enum lynx_status status = ledger_append(l, STORE_ENTRY, &key, bytes, error);
  if (status == LYNX_OK) status = put_mentions(l, statement, leaf, l->edge.size, error);
  if (status == LYNX_OK) status = ledger_put_run(l, statement, l->edge.size, error);
  if (status == LYNX_OK && strcmp(statement->kind, "policy") == 0) add_history(l, l->edge.size);
  return status == LYNX_OK ? merkle_append(&l->edge, leaf, ledger_keep_hash, l, error) : status;
}

enum lynx_status ledger_add_one(struct ledger *l, struct bytes bytes, uint64_t *ret_index, struct lynx_error *error) {
  struct arena arena = {0};
  struct admission a = {.signer = NULL};
  struct lynx_error finding = {0};
  uint8_t leaf[DIGEST_BYTES];
  merkle_leaf(bytes, leaf);
  enum lynx_status status = ledger_find(l, leaf, ret_index, &finding);
  if (status == LYNX_OK) return LYNX_OK; /* a replay: it stands there already, and stays one entry */
  if (status != LYNX_NOT_FOUND) {
    *error = finding;
    return status;
  }
  *ret_index = l->edge.size;
  status = admission_check(&l->policy, bytes, &arena, &a, error);
  if (status == LYNX_OK && strcmp(a.statement.kind, "withdrawal") == 0) status = check_withdrawal(l, &a, error);
  if (status == LYNX_OK && l->log_key != NULL) status = check_time(&a, error);
  if (status == LYNX_OK && l->log_key != NULL) status = check_intent(l, &a, error); /* a copy takes what its log signed */
  if (status == LYNX_OK && l->allow != NULL) status = l->allow(l->allow_context, l, bytes, error);
  if (status == LYNX_OK) status = ledger_put_one(l, bytes, &a.statement, leaf, error);
  statement_release(&a.statement);
  arena_release(&arena);
  return status;
}

static enum lynx_status add_all(struct ledger *l, const struct bytes *envelopes, size_t n, uint64_t *ret_index, struct lynx_error *error) {
  uint64_t before = l->edge.size;
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < n && status == LYNX_OK; i++) status = ledger_add_one(l, envelopes[i], &ret_index[i], error);
  return status == LYNX_OK && l->edge.size > before ? ledger_sign_checkpoint(l, error) : status;
}

/* begun: there is something to go on from. */
static enum lynx_status add_in_transaction(struct ledger *l, bool begun, const struct bytes *envelopes, size_t n, uint64_t *ret_index,
                                           struct lynx_error *error) {
  const struct store_table *table = l->store->table;
  enum lynx_status status = table->begin(l->store, error);
  if (status != LYNX_OK) return status;
  if (begun) status = ledger_refresh(l, error);
  if (status == LYNX_OK) status = add_all(l, envelopes, n, ret_index, error);
  if (status == LYNX_OK) status = table->commit(l->store, error);
  else table->abort(l->store);
  if (status != LYNX_OK) {
    l->has_edge = false; /* what was added in memory is not so */
    ledger_forget_tiles(l);
  }
  return status;
}

void ledger_ask(struct ledger *ledger, ledger_allow *allow, void *context) {
  ledger->allow = allow;
  ledger->allow_context = context;
}

enum lynx_status ledger_add(struct ledger *ledger, const struct bytes *envelopes, size_t n, uint64_t *ret_index, struct lynx_error *error) {
  if (ledger->log_key == NULL)
    return lynx_fail(error, LYNX_INPUT, "the log's key is not at hand: this ledger can be read here, not added to");
  return add_in_transaction(ledger, true, envelopes, n, ret_index, error);
}

/* --- creating --- */

static enum lynx_status first_policy(const struct ledger_start *start, struct policy *ret, struct lynx_error *error) {
  uint8_t key[SIGNATURE_KEY_BYTES];
  *ret = (struct policy){.number = 1, .n_teams = 1};
  if (!note_name_valid(start->origin) || !note_name_valid(start->admin->name))
    return lynx_fail(error, LYNX_INPUT, "origin '%.60s' or team '%.60s' is no name: letters, digits and . _ - / are accepted",
                     start->origin, start->admin->name);
  (void)snprintf(ret->origin, sizeof ret->origin, "%s", start->origin);
  signing_key_public(start->log_key, key);
  note_key_make(start->origin, NOTE_ED25519, key, &ret->log);
  signing_key_public(start->admin->key, key);
  note_key_make(start->admin->name, NOTE_ED25519, key, &ret->teams[0].key);
  ret->teams[0].admin = true;
  return LYNX_OK;
}

enum lynx_status ledger_create(const char *address, const struct ledger_start *start, struct lynx_error *error) {
  struct ledger *l = xalloc(1, sizeof *l);
  struct policy policy;
  struct entry entry;
  struct buffer envelope;
  uint64_t index;
  l->log_key = start->log_key;
  buffer_init(&envelope, ENVELOPE_MAX);
  enum lynx_status status = first_policy(start, &policy, error);
  policy_entry(&policy, &entry);
  if (status == LYNX_OK) status = entry_sign(&entry, NULL, start->admin, &envelope, error);
  const struct bytes bytes = {envelope.data, envelope.length};
  if (status == LYNX_OK) status = store_open(address, STORE_CREATE, &l->store, error);
  if (status == LYNX_OK) status = add_in_transaction(l, false, &bytes, 1, &index, error);
  buffer_release(&envelope);
  ledger_close(l);
  return status;
}
