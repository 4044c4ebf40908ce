#include "ledger/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

enum { STORED_LEVELS = 8, INDEX_BYTES = 8, COUNT_BYTES = 4, SUBJECT_MAX = 128, TILE_HASHES = 256, TILES_KEPT = 4 };

struct ledger {
  struct store *store;
  const struct signing_key *log_key;
  struct policy policy;
  struct policy_change {
    uint64_t index; /* of its entry: in force for the entries after it */
    struct policy policy;
  } * history;
  size_t n_history;
  struct merkle_edge edge; /* of the newest checkpoint that was looked at */
  bool has_edge;
  struct tile {
    uint64_t index;
    unsigned level, n;
    uint8_t hashes[TILE_HASHES][DIGEST_BYTES];
  } tiles[TILES_KEPT]; /* one per kept level */
};

/* --- keys of the store --- */

struct key {
  char bytes[STORE_KEY_MAX];
  size_t length;
};

static void key_put(struct key *key, const void *data, size_t length) {
  memcpy(key->bytes + key->length, data, length);
  key->length += length;
}

static void key_put_number(struct key *key, uint64_t value, int n_bytes) {
  for (int i = n_bytes; i-- > 0;) key->bytes[key->length++] = (char)(value >> (8 * i));
}

static uint64_t key_number(struct bytes key, size_t at, size_t n_bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < n_bytes; i++) value = value << 8 | (uint8_t)key.ptr[at + i];
  return value;
}

static struct bytes key_bytes(const struct key *key) {
  return (struct bytes){key->bytes, key->length};
}

static struct key entry_key(uint64_t index) {
  struct key key = {.length = 0};
  key_put_number(&key, index, INDEX_BYTES);
  return key;
}

static struct key hash_key(unsigned level, uint64_t index) {
  struct key key = {.length = 0};
  key_put_number(&key, level, 1);
  key_put_number(&key, index, INDEX_BYTES);
  return key;
}

static struct key mention_key(const uint8_t digest[DIGEST_BYTES], uint64_t index) {
  struct key key = {.length = 0};
  key_put(&key, digest, DIGEST_BYTES);
  key_put_number(&key, index, INDEX_BYTES);
  return key;
}

static struct key checkpoint_key(uint64_t size, uint64_t count) {
  struct key key = {.length = 0};
  key_put_number(&key, size, INDEX_BYTES);
  key_put_number(&key, count, COUNT_BYTES);
  return key;
}

static enum lynx_status store_get(struct ledger *l, enum store_space space, const struct key *key, struct buffer *ret,
                                  struct lynx_error *error) {
  return l->store->table->get(l->store, space, key_bytes(key), ret, error);
}

static enum lynx_status store_append(struct ledger *l, enum store_space space, const struct key *key, struct bytes value,
                                     struct lynx_error *error) {
  return l->store->table->append(l->store, space, key_bytes(key), value, error);
}

/* --- the tree --- */

/* Proofs read neighbours: the tiles of 256 kept hashes that were read last stay at hand. */
static bool take_hash(void *context, struct bytes key, struct bytes value) {
  struct tile *t = context;
  if (key.length != 1 + INDEX_BYTES || key_number(key, 1, INDEX_BYTES) != t->index * TILE_HASHES + t->n || value.length != DIGEST_BYTES)
    return false;
  memcpy(t->hashes[t->n++], value.ptr, DIGEST_BYTES);
  return t->n < TILE_HASHES;
}

static enum lynx_status read_stored(struct ledger *l, unsigned level, uint64_t index, uint8_t ret[DIGEST_BYTES], struct lynx_error *error) {
  struct tile *t = &l->tiles[level / STORED_LEVELS % TILES_KEPT];
  if (t->n == 0 || t->level != level || t->index != index / TILE_HASHES || index % TILE_HASHES >= t->n) {
    struct key prefix = {.length = 0}, from = hash_key(level, index / TILE_HASHES * TILE_HASHES);
    key_put_number(&prefix, level, 1);
    const struct store_range range = {.space = STORE_HASH, .prefix = key_bytes(&prefix), .from = key_bytes(&from)};
    *t = (struct tile){.level = level, .index = index / TILE_HASHES};
    enum lynx_status status = l->store->table->list(l->store, &range, take_hash, t, error);
    if (status != LYNX_OK) return status;
  }
  if (index % TILE_HASHES >= t->n)
    return lynx_fail(error, LYNX_PROTOCOL, "the ledger does not hold the hash of level %u, number %" PRIu64, level, index);
  memcpy(ret, t->hashes[index % TILE_HASHES], DIGEST_BYTES);
  return LYNX_OK;
}

/* Levels between the stored ones are put together from up to 128 hashes below. */
static enum lynx_status read_hash(void *context, unsigned level, uint64_t index, uint8_t ret[DIGEST_BYTES], struct lynx_error *error) {
  struct ledger *l = context;
  unsigned above = level % STORED_LEVELS;
  struct merkle_edge part = {0};
  enum lynx_status status = LYNX_OK;
  for (uint64_t i = 0; i < (uint64_t)1 << above && status == LYNX_OK; i++) {
    uint8_t hash[DIGEST_BYTES];
    status = read_stored(l, level - above, (index << above) + i, hash, error);
    if (status == LYNX_OK) status = merkle_append(&part, hash, NULL, NULL, error);
  }
  if (status == LYNX_OK) merkle_edge_root(&part, ret);
  return status;
}

struct merkle_source ledger_tree(struct ledger *ledger) {
  return (struct merkle_source){read_hash, ledger};
}

static enum lynx_status keep_hash(void *context, unsigned level, uint64_t index, const uint8_t hash[DIGEST_BYTES],
                                  struct lynx_error *error) {
  struct ledger *l = context;
  struct key key = hash_key(level, index);
  if (level % STORED_LEVELS != 0) return LYNX_OK;
  l->tiles[level / STORED_LEVELS % TILES_KEPT].n = 0; /* it is about to grow, or to be taken back */
  return store_append(l, STORE_HASH, &key, (struct bytes){(const char *)hash, DIGEST_BYTES}, error);
}

/* --- checkpoints --- */

struct newest {
  struct key key;
  struct buffer note;
  bool found;
};

static bool take_newest(void *context, struct bytes key, struct bytes value) {
  struct newest *newest = context;
  newest->found = key.length == INDEX_BYTES + COUNT_BYTES && buffer_append(&newest->note, value.ptr, value.length);
  if (newest->found) key_put(&newest->key, key.ptr, key.length);
  return false;
}

/* The newest note of all, or of one size. */
static enum lynx_status read_newest(struct ledger *l, const struct key *size, struct newest *ret, struct lynx_error *error) {
  struct store_range range = {.space = STORE_CHECKPOINT, .backwards = true};
  if (size != NULL) range.prefix = key_bytes(size);
  *ret = (struct newest){.found = false};
  buffer_init(&ret->note, NOTE_MAX);
  enum lynx_status status = l->store->table->list(l->store, &range, take_newest, ret, error);
  if (status == LYNX_OK && !ret->found) status = lynx_fail(error, LYNX_NOT_FOUND, "the ledger has no such checkpoint");
  if (status != LYNX_OK) buffer_release(&ret->note);
  return status;
}

static enum lynx_status check_note(const struct note_key *log, const char *origin, struct bytes bytes, struct note *ret_note,
                                   struct checkpoint *ret, struct lynx_error *error) {
  enum lynx_status status = note_parse(bytes, ret_note, error);
  if (status == LYNX_OK) status = checkpoint_parse(ret_note->text, ret, error);
  if (status == LYNX_OK && !note_signed_by(ret_note, log, NULL))
    status = lynx_fail(error, LYNX_PROTOCOL, "the checkpoint of size %" PRIu64 " is not signed by the log's key %s", ret->size, log->name);
  if (status == LYNX_OK && origin != NULL && strcmp(ret->origin, origin) != 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "the checkpoint is of another log: '%s'", ret->origin);
  return status;
}

enum lynx_status ledger_checkpoint(struct ledger *ledger, struct buffer *ret_note, struct checkpoint *ret, struct lynx_error *error) {
  struct newest newest;
  struct note note;
  enum lynx_status status = read_newest(ledger, NULL, &newest, error);
  if (status != LYNX_OK) return status;
  status = check_note(&ledger->policy.log, ledger->policy.origin, (struct bytes){newest.note.data, newest.note.length}, &note, ret, error);
  if (status == LYNX_OK && ret->size == 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "a checkpoint of no entries: a ledger has one at least, its policy");
  if (status == LYNX_OK && key_number(key_bytes(&newest.key), 0, INDEX_BYTES) != ret->size)
    status = lynx_fail(error, LYNX_PROTOCOL, "a checkpoint of size %" PRIu64 " lies under another size", ret->size);
  if (status == LYNX_OK && ret_note != NULL && !buffer_append(ret_note, newest.note.data, newest.note.length))
    status = lynx_fail(error, LYNX_LIMIT, "no memory for a checkpoint");
  buffer_release(&newest.note);
  return status;
}

struct vouched {
  struct ledger *ledger;
  struct buffer *note;
  struct checkpoint *checkpoint;
  uint64_t time_s;
};

/* Is this checkpoint of the tree that this ledger holds? A log key that signs two histories may bring a note of the other one. */
static bool is_of_this_tree(struct ledger *l, const struct checkpoint *checkpoint) {
  const struct merkle_source source = ledger_tree(l);
  uint8_t root[DIGEST_BYTES];
  struct lynx_error ignored = {0};
  return checkpoint->size > 0 && checkpoint->size <= l->edge.size && strcmp(checkpoint->origin, l->policy.origin) == 0 &&
         merkle_root(&source, checkpoint->size, root, &ignored) == LYNX_OK && memcmp(root, checkpoint->root, sizeof root) == 0;
}

uint64_t ledger_vouched_at(struct ledger *ledger, struct bytes bytes, const char *except, struct checkpoint *ret) {
  struct note note;
  struct lynx_error ignored = {0};
  uint64_t time_s = 0;
  if (check_note(&ledger->policy.log, ledger->policy.origin, bytes, &note, ret, &ignored) != LYNX_OK || !is_of_this_tree(ledger, ret))
    return 0;
  struct policy *policy = xalloc(1, sizeof *policy);
  *policy = *ledger_policy_at(ledger, ret->size);
  for (size_t i = 0; i < policy->n_teams; i++)
    if (except != NULL && strcmp(policy->teams[i].key.name, except) == 0) policy->teams[i].witness = false;
  (void)policy_cosigned(policy, &note, &time_s);
  free(policy);
  return time_s;
}

static bool take_vouched(void *context, struct bytes key, struct bytes value) {
  struct vouched *v = context;
  if (key.length != INDEX_BYTES + COUNT_BYTES || key_number(key, INDEX_BYTES, COUNT_BYTES) == 0) return true; /* no cosignature in it */
  v->time_s = ledger_vouched_at(v->ledger, value, NULL, v->checkpoint);
  return v->time_s == 0 || !buffer_append(v->note, value.ptr, value.length);
}

enum lynx_status ledger_vouched_checkpoint(struct ledger *ledger, struct buffer *ret_note, struct checkpoint *ret, uint64_t *ret_time_s,
                                           struct lynx_error *error) {
  const struct store_range range = {.space = STORE_CHECKPOINT, .backwards = true};
  struct vouched v = {.ledger = ledger, .note = ret_note, .checkpoint = ret};
  enum lynx_status status = LYNX_OK;
  status = ledger->store->table->list(ledger->store, &range, take_vouched, &v, error);
  if (status == LYNX_OK && v.time_s == 0)
    status = lynx_fail(error, LYNX_NOT_FOUND, "no checkpoint is cosigned by a quorum of %" PRId64 " witnesses; `lynxbench witness` cosigns",
                       ledger->policy.quorum);
  if (status == LYNX_OK) *ret_time_s = v.time_s;
  return status;
}

/* Signs the tree as it now is. */
static enum lynx_status put_checkpoint(struct ledger *l, struct lynx_error *error) {
  struct checkpoint checkpoint = {.size = l->edge.size};
  struct buffer note;
  struct key key = checkpoint_key(l->edge.size, 0);
  (void)snprintf(checkpoint.origin, sizeof checkpoint.origin, "%s", l->policy.origin);
  merkle_edge_root(&l->edge, checkpoint.root);
  buffer_init(&note, NOTE_MAX);
  (void)checkpoint_text(&checkpoint, &note); /* some 200 bytes */
  enum lynx_status status = note_sign(&note, l->policy.origin, l->log_key, error);
  if (status == LYNX_OK) status = store_append(l, STORE_CHECKPOINT, &key, (struct bytes){note.data, note.length}, error);
  buffer_release(&note);
  return status;
}

/* The lines of `more` that are not in `note` yet and are those of witnesses. */
static enum lynx_status merge_cosignatures(const struct policy *policy, struct buffer *note, const struct note *more, size_t *ret_n_new,
                                           struct lynx_error *error) {
  *ret_n_new = 0;
  for (size_t i = 0; i < policy->n_teams; i++) {
    const struct policy_team *team = &policy->teams[i];
    struct note_key key;
    struct note known;
    char name[NOTE_NAME_MAX + 16];
    note_key_make(team->key.name, NOTE_COSIGNATURE, team->key.public_key, &key);
    enum lynx_status status = note_parse((struct bytes){note->data, note->length}, &known, error);
    if (status != LYNX_OK) return status;
    if (!team->witness || note_signed_by(&known, &key, NULL) || !note_signed_by(more, &key, NULL)) continue;
    (void)snprintf(name, sizeof name, "\xe2\x80\x94 %s ", key.name);
    for (const char *p = more->signatures.ptr, *end = p + more->signatures.length; p < end;) {
      const char *line_end = memchr(p, '\n', (size_t)(end - p));
      struct buffer one;
      struct note alone;
      struct lynx_error ignored = {0};
      buffer_init(&one, NOTE_MAX);
      bool its = strncmp(p, name, strlen(name)) == 0 && buffer_append(&one, more->text.ptr, more->text.length) && buffer_text(&one, "\n") &&
                 buffer_append(&one, p, (size_t)(line_end + 1 - p)) &&
                 note_parse((struct bytes){one.data, one.length}, &alone, &ignored) == LYNX_OK && note_signed_by(&alone, &key, NULL);
      buffer_release(&one);
      if (its && !buffer_append(note, p, (size_t)(line_end + 1 - p))) return lynx_fail(error, LYNX_LIMIT, "too many cosignatures");
      *ret_n_new += its;
      p = line_end + 1;
      if (its) break;
    }
  }
  return LYNX_OK;
}

enum lynx_status ledger_put_cosigned(struct ledger *ledger, struct bytes bytes, struct lynx_error *error) {
  struct note given, known;
  struct checkpoint checkpoint, own;
  struct newest newest = {.found = false};
  struct key size = {.length = 0};
  size_t n_new = 0;
  const struct store_table *table = ledger->store->table;
  enum lynx_status status = check_note(&ledger->policy.log, ledger->policy.origin, bytes, &given, &checkpoint, error);
  if (status != LYNX_OK) return status;
  status = table->begin(ledger->store, error);
  if (status != LYNX_OK) return status;
  key_put_number(&size, checkpoint.size, INDEX_BYTES);
  status = read_newest(ledger, &size, &newest, error);
  if (status == LYNX_OK)
    status = check_note(&ledger->policy.log, ledger->policy.origin, (struct bytes){newest.note.data, newest.note.length}, &known, &own,
                        error);
  if (status == LYNX_OK && memcmp(own.root, checkpoint.root, DIGEST_BYTES) != 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "FORK: the log's key signed two trees of size %" PRIu64 "; keep both notes as evidence",
                       checkpoint.size);
  if (status == LYNX_OK) status = merge_cosignatures(&ledger->policy, &newest.note, &given, &n_new, error);
  if (status == LYNX_OK && n_new > 0) {
    struct key key = checkpoint_key(checkpoint.size, key_number(key_bytes(&newest.key), INDEX_BYTES, COUNT_BYTES) + 1);
    status = store_append(ledger, STORE_CHECKPOINT, &key, (struct bytes){newest.note.data, newest.note.length}, error);
  }
  buffer_release(&newest.note);
  if (status == LYNX_OK) return table->commit(ledger->store, error);
  table->abort(ledger->store);
  return status;
}

/* --- what may be an entry --- */

static const struct kind_rule {
  const char *kind, *needs[3]; /* subjects of these names */
} kinds[] = {{"policy", {"policy"}},
             {"contract", {"contract"}},
             {"signature", {NULL}}, /* of whatever it names */
             {"intent", {"contract"}},
             {"bundle", {"bundle", "file", "contract"}},
             {"verification", {"bundle", "contract"}},
             {"contest", {"bundle"}},
             {"withdrawal", {"entry"}},
             {"finding", {"bundle"}},
             {"iteration", {"bundle"}}};

static enum lynx_status check_kind(const struct statement *statement, struct lynx_error *error) {
  size_t k = 0;
  while (k < LYNX_COUNT(kinds) && strcmp(kinds[k].kind, statement->kind) != 0) k++;
  if (k == LYNX_COUNT(kinds))
    return lynx_fail(error, LYNX_INPUT,
                     "an entry of kind '%.60s'; accepted: policy, contract, signature, intent, bundle, verification, contest, withdrawal, "
                     "finding, iteration",
                     statement->kind);
  for (size_t i = 0; i < LYNX_COUNT(kinds[k].needs) && kinds[k].needs[i] != NULL; i++)
    if (statement_subject_named(statement, kinds[k].needs[i]) == NULL)
      return lynx_fail(error, LYNX_INPUT, "an entry of kind %s needs a subject named '%s'", statement->kind, kinds[k].needs[i]);
  if (statement->n_subjects == 0) return lynx_fail(error, LYNX_INPUT, "an entry that speaks of nothing: a subject is needed");
  uint8_t reserved[DIGEST_BYTES];
  policy_subject(reserved);
  for (size_t i = 0; i < statement->n_subjects; i++)
    if (memcmp(statement->subjects[i].digest, reserved, DIGEST_BYTES) == 0 && strcmp(statement->kind, "policy") != 0)
      return lynx_fail(error, LYNX_INPUT, "an entry of kind %s speaks of the policy: only a policy does", statement->kind);
  for (size_t i = 0; i < statement->n_subjects; i++)
    if (statement->subjects[i].name[0] == 0 || strlen(statement->subjects[i].name) >= SUBJECT_MAX)
      return lynx_fail(error, LYNX_INPUT, "a subject without a name, or with one of more than %d bytes", SUBJECT_MAX - 1);
  return LYNX_OK;
}

/* A change of policy: what it becomes. */
static enum lynx_status check_policy(const struct policy *now, const struct policy_team *signer, const struct statement *statement,
                                     struct policy *ret, struct lynx_error *error) {
  uint8_t digest[DIGEST_BYTES];
  policy_subject(digest);
  enum lynx_status status = policy_parse(statement->predicate, ret, error);
  if (status != LYNX_OK) return status;
  if (memcmp(statement_subject_named(statement, "policy"), digest, DIGEST_BYTES) != 0)
    return lynx_fail(error, LYNX_INPUT, "a policy that speaks of another subject");
  if (now->number == 0) return LYNX_OK; /* the first */
  if (signer == NULL || !signer->admin)
    return lynx_fail(error, LYNX_INPUT, "%s is no admin of this ledger: only they change its policy",
                     signer != NULL ? signer->key.name : "nobody");
  if (ret->number != now->number + 1)
    return lynx_fail(error, LYNX_INPUT, "a policy numbered %" PRId64 " where %" PRId64 " is due: another change came first; do it again",
                     ret->number, now->number + 1);
  if (strcmp(ret->origin, now->origin) != 0 || memcmp(&ret->log, &now->log, sizeof ret->log) != 0)
    return lynx_fail(error, LYNX_INPUT, "a policy keeps the ledger's origin and log key");
  return LYNX_OK;
}

struct admission {
  struct envelope envelope;
  struct statement statement;
  const struct policy_team *signer;
};

/* Everything about an entry that does not need the ledger's other entries. *policy changes when the entry changes it. */
static enum lynx_status admit(struct policy *policy, struct bytes bytes, struct arena *arena, struct admission *ret,
                              struct lynx_error *error) {
  struct policy next;
  *ret = (struct admission){.signer = NULL};
  enum lynx_status status = envelope_parse(bytes, arena, &ret->envelope, error);
  if (status == LYNX_OK && !envelope_plain(bytes, &ret->envelope))
    status = lynx_fail(error, LYNX_INPUT,
                       "the envelope is not written as lynxbench writes it: a byte of it was altered, or another program made it");
  if (status == LYNX_OK) status = statement_parse(&ret->envelope, arena, &ret->statement, error);
  if (status == LYNX_OK) status = check_kind(&ret->statement, error);
  bool is_policy = status == LYNX_OK && strcmp(ret->statement.kind, "policy") == 0, first = policy->number == 0;
  if (status == LYNX_OK && first && !is_policy) status = lynx_fail(error, LYNX_INPUT, "a ledger's first entry is its policy");
  if (status == LYNX_OK && first) {
    status = check_policy(policy, NULL, &ret->statement, &next, error);
    if (status == LYNX_OK && next.number != 1) status = lynx_fail(error, LYNX_INPUT, "the first policy is numbered 1");
  }
  if (status == LYNX_OK) ret->signer = policy_signer(first ? &next : policy, &ret->envelope);
  if (status == LYNX_OK && ret->signer == NULL) {
    const char *claimed = ret->envelope.n_signatures > 0 ? ret->envelope.signatures[0].key_id : "nobody";
    status = lynx_fail(error, LYNX_INPUT,
                       "not signed by a team of this ledger (it names %.100s): its bytes were altered, or an admin adds the key with "
                       "`lynxbench log policy`",
                       claimed);
  }
  if (status == LYNX_OK && first && (ret->signer == NULL || !ret->signer->admin))
    status = lynx_fail(error, LYNX_INPUT, "the first policy is signed by one of its admins");
  if (status == LYNX_OK && is_policy && !first) status = check_policy(policy, ret->signer, &ret->statement, &next, error);
  if (status == LYNX_OK && is_policy && ret->signer != NULL) {
    const char *name = ret->signer->key.name;
    name = arena_copy(arena, name);
    *policy = next;
    ret->signer = policy_team_named(policy, name); /* NULL if it took itself out */
  }
  return status;
}

enum lynx_status ledger_accepts(const struct policy *policy, struct bytes envelope, struct lynx_error *error) {
  struct policy copy = *policy;
  struct arena arena = {0};
  struct admission admission;
  enum lynx_status status = admit(&copy, envelope, &arena, &admission, error);
  statement_release(&admission.statement);
  arena_release(&arena);
  return status;
}

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

enum lynx_status ledger_read_entry(struct ledger *ledger, uint64_t index, struct arena *arena, struct ledger_entry *ret,
                                   struct lynx_error *error) {
  struct buffer value;
  struct key key = entry_key(index);
  buffer_init(&value, ENVELOPE_MAX);
  *ret = (struct ledger_entry){0};
  enum lynx_status status = store_get(ledger, STORE_ENTRY, &key, &value, error);
  if (status == LYNX_OK)
    status = parse_entry(index, (struct bytes){arena_text(arena, value.data != NULL ? value.data : "", value.length), value.length}, arena,
                         ret, error);
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
  m->indices[m->n] = key_number(key, DIGEST_BYTES, INDEX_BYTES);
  m->names[m->n] = xalloc(value.length + 1, 1);
  memcpy(m->names[m->n++], value.ptr, value.length);
  return true;
}

static enum lynx_status list_mentions(struct ledger *l, const uint8_t digest[DIGEST_BYTES], struct mentions *ret,
                                      struct lynx_error *error) {
  const struct store_range range = {.space = STORE_MENTION, .prefix = {(const char *)digest, DIGEST_BYTES}};
  *ret = (struct mentions){0};
  return l->store->table->list(l->store, &range, take_mention, ret, error);
}

static void mentions_release(struct mentions *m) {
  for (size_t i = 0; i < m->n; i++) free(m->names[i]);
  free(m->names);
  free(m->indices);
}

/* Where the entry of that hash stands: it is spoken of by itself, under no name. */
static bool find_in(const struct mentions *m, uint64_t *ret_index) {
  for (size_t i = 0; i < m->n; i++)
    if (m->names[i][0] == 0) {
      *ret_index = m->indices[i];
      return true;
    }
  return false;
}

enum lynx_status ledger_find(struct ledger *ledger, const uint8_t leaf[DIGEST_BYTES], uint64_t *ret_index, struct lynx_error *error) {
  struct mentions mentions;
  char hex[DIGEST_HEX];
  enum lynx_status status = list_mentions(ledger, leaf, &mentions, error);
  if (status == LYNX_OK && !find_in(&mentions, ret_index))
    status = lynx_fail(error, LYNX_NOT_FOUND, "there is no entry of digest %.16s", digest_hex(leaf, hex));
  mentions_release(&mentions);
  return status;
}

/* Nothing is taken from the index of mentions that the signed statement does not say itself, and nothing from the store that is not in the
 * tree or not signed by a team of the policy of its time: whoever owns the file could have put it there. */
static enum lynx_status check_entry(struct ledger *l, const struct ledger_entry *entry, const uint8_t *digest, const char *subject,
                                    struct lynx_error *error) {
  const struct merkle_source source = ledger_tree(l);
  struct merkle_proof proof;
  uint8_t root[DIGEST_BYTES];
  if (entry->index >= l->edge.size)
    return lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " lies beyond the newest checkpoint", entry->index);
  bool said = digest == NULL || (subject[0] == 0 && memcmp(entry->leaf, digest, DIGEST_BYTES) == 0);
  for (size_t i = 0; i < entry->statement.n_subjects && !said; i++)
    said = strcmp(entry->statement.subjects[i].name, subject) == 0 &&
           memcmp(entry->statement.subjects[i].digest, digest, DIGEST_BYTES) == 0;
  if (!said)
    return lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " does not say what the ledger's index says of it: the file was altered",
                     entry->index);
  enum lynx_status status = merkle_prove_inclusion(&source, entry->index, l->edge.size, &proof, error);
  merkle_edge_root(&l->edge, root);
  if (status == LYNX_OK && !merkle_inclusion_holds(entry->index, l->edge.size, entry->leaf, root, &proof))
    status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is not the one in the signed tree: the file was altered", entry->index);
  if (status == LYNX_OK && policy_signer(ledger_policy_at(l, entry->index), &entry->envelope) == NULL)
    status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is not signed by a team of the policy of its time", entry->index);
  return status;
}

static enum lynx_status visit_entry(struct ledger *l, uint64_t index, const uint8_t *digest, const char *subject, ledger_visit *visit,
                                    void *context, bool *ret_go_on, struct lynx_error *error) {
  struct arena arena = {0};
  struct ledger_entry entry;
  enum lynx_status status = ledger_read_entry(l, index, &arena, &entry, error);
  if (status == LYNX_OK) status = check_entry(l, &entry, digest, subject, error);
  if (status == LYNX_OK) *ret_go_on = visit(context, &entry, subject);
  statement_release(&entry.statement);
  arena_release(&arena);
  return status;
}

enum lynx_status ledger_each_mention(struct ledger *ledger, const uint8_t digest[DIGEST_BYTES], ledger_visit *visit, void *context,
                                     struct lynx_error *error) {
  struct mentions mentions;
  bool go_on = true;
  enum lynx_status status = list_mentions(ledger, digest, &mentions, error);
  for (size_t i = 0; i < mentions.n && status == LYNX_OK && go_on; i++)
    status = visit_entry(ledger, mentions.indices[i], digest, mentions.names[i], visit, context, &go_on, error);
  mentions_release(&mentions);
  return status;
}

enum lynx_status ledger_each_entry(struct ledger *ledger, uint64_t from, ledger_visit *visit, void *context, struct lynx_error *error) {
  struct checkpoint checkpoint;
  bool go_on = true;
  enum lynx_status status = ledger_checkpoint(ledger, NULL, &checkpoint, error);
  for (uint64_t i = from; status == LYNX_OK && go_on && i < checkpoint.size; i++)
    status = visit_entry(ledger, i, NULL, "", visit, context, &go_on, error);
  return status;
}

/* --- opening --- */

static void add_history(struct ledger *l, uint64_t index) {
  l->history = xgrow(l->history, l->n_history + 1, sizeof *l->history);
  l->history[l->n_history].index = index;
  l->history[l->n_history++].policy = l->policy;
}

/* The policy and how it came about: from the first one on, each signed by an admin of the one before. */
static enum lynx_status read_policy(struct ledger *l, struct lynx_error *error) {
  uint8_t digest[DIGEST_BYTES];
  struct mentions mentions;
  policy_subject(digest);
  enum lynx_status status = list_mentions(l, digest, &mentions, error);
  l->policy = (struct policy){.number = 0};
  l->n_history = 0;
  for (size_t i = 0; i < mentions.n && status == LYNX_OK; i++) {
    struct arena arena = {0};
    struct ledger_entry entry;
    struct admission admission = {.signer = NULL};
    status = ledger_read_entry(l, mentions.indices[i], &arena, &entry, error);
    if (status == LYNX_OK && strcmp(entry.statement.kind, "policy") == 0) {
      status = admit(&l->policy, entry.bytes, &arena, &admission, error);
      if (status == LYNX_OK) add_history(l, entry.index);
    }
    statement_release(&admission.statement);
    statement_release(&entry.statement);
    arena_release(&arena);
  }
  if (status == LYNX_OK && (l->n_history == 0 || l->history[0].index != 0))
    status = lynx_fail(error, LYNX_INPUT, "a ledger without a policy: it was not begun, or entries are gone");
  mentions_release(&mentions);
  return status;
}

/* In force when entry `index` was added; the first policy vouches for itself. */
const struct policy *ledger_policy_at(const struct ledger *ledger, uint64_t index) {
  size_t i = ledger->n_history;
  while (i > 1 && ledger->history[i - 1].index >= index) i--;
  return i > 0 ? &ledger->history[i - 1].policy : &ledger->policy;
}

/* Each of them must be in the tree, too. */
static enum lynx_status check_history(struct ledger *l, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < l->n_history && status == LYNX_OK; i++) {
    struct arena arena = {0};
    struct ledger_entry entry;
    status = ledger_read_entry(l, l->history[i].index, &arena, &entry, error);
    if (status == LYNX_OK) status = check_entry(l, &entry, NULL, "", error);
    statement_release(&entry.statement);
    arena_release(&arena);
  }
  return status;
}

/* The tree and the policy as the newest checkpoint has them. */
static enum lynx_status refresh(struct ledger *l, struct lynx_error *error) {
  struct checkpoint checkpoint;
  uint8_t root[DIGEST_BYTES];
  const struct merkle_source source = ledger_tree(l);
  enum lynx_status status = ledger_checkpoint(l, NULL, &checkpoint, error);
  if (status == LYNX_OK && l->has_edge && checkpoint.size == l->edge.size) return LYNX_OK;
  if (status == LYNX_OK) status = read_policy(l, error);
  if (status == LYNX_OK) status = merkle_edge_read(&source, checkpoint.size, &l->edge, error);
  if (status != LYNX_OK) return status;
  merkle_edge_root(&l->edge, root);
  if (memcmp(root, checkpoint.root, DIGEST_BYTES) != 0)
    return lynx_fail(error, LYNX_PROTOCOL, "the tree of %" PRIu64 " entries is not the one that its checkpoint signs: the file was altered",
                     checkpoint.size);
  status = check_history(l, error);
  l->has_edge = status == LYNX_OK;
  return status;
}

static enum lynx_status open_checked(struct ledger *l, struct lynx_error *error) {
  uint8_t own[SIGNATURE_KEY_BYTES];
  enum lynx_status status = read_policy(l, error); /* whose key signs checkpoints */
  if (status == LYNX_OK) status = refresh(l, error);
  if (status != LYNX_OK || l->log_key == NULL) return status;
  signing_key_public(l->log_key, own);
  if (memcmp(own, l->policy.log.public_key, sizeof own) != 0)
    return lynx_fail(error, LYNX_INPUT, "the log key at hand is not this ledger's (%s)", l->policy.log.name);
  return LYNX_OK;
}

enum lynx_status ledger_open(const char *address, const struct signing_key *log_key, struct ledger **ret, struct lynx_error *error) {
  struct ledger *l = xalloc(1, sizeof *l);
  l->log_key = log_key;
  enum lynx_status status = store_open(address, false, &l->store, error);
  if (status == LYNX_OK) status = open_checked(l, error);
  if (status == LYNX_OK) *ret = l;
  else {
    lynx_error_at(error, address, 0, NULL);
    ledger_close(l);
  }
  return status;
}

enum lynx_status ledger_refresh(struct ledger *ledger, struct lynx_error *error) {
  return refresh(ledger, error);
}

void ledger_close(struct ledger *ledger) {
  if (ledger == NULL) return;
  if (ledger->store != NULL) ledger->store->table->close(ledger->store);
  free(ledger->history);
  free(ledger);
}

struct store *ledger_store(struct ledger *ledger) {
  return ledger->store;
}

const struct policy *ledger_policy(const struct ledger *ledger) {
  return &ledger->policy;
}

/* --- adding --- */

/* A withdrawal takes back a contest, and only one's own. */
static enum lynx_status check_withdrawal(struct ledger *l, const struct admission *a, struct lynx_error *error) {
  struct arena arena = {0};
  struct ledger_entry entry = {0};
  uint64_t index;
  const uint8_t *leaf = statement_subject_named(&a->statement, "entry");
  lynx_assert(leaf != NULL && a->signer != NULL); /* admit saw to it */
  enum lynx_status status = ledger_find(l, leaf, &index, error);
  if (status == LYNX_OK) status = ledger_read_entry(l, index, &arena, &entry, error);
  if (status == LYNX_OK && (strcmp(entry.statement.kind, "contest") != 0 || strcmp(entry.signer, a->signer->key.name) != 0))
    status = lynx_fail(error, LYNX_INPUT, "entry %" PRIu64 " is a %s by %s: a team withdraws contests of its own", entry.index,
                       entry.statement.kind, entry.signer);
  statement_release(&entry.statement);
  arena_release(&arena);
  return status;
}

static enum lynx_status put_mentions(struct ledger *l, const struct statement *statement, const uint8_t leaf[DIGEST_BYTES], uint64_t index,
                                     struct lynx_error *error) {
  struct key key = mention_key(leaf, index);
  enum lynx_status status = store_append(l, STORE_MENTION, &key, (struct bytes){"", 0}, error);
  for (size_t i = 0; i < statement->n_subjects && status == LYNX_OK; i++) {
    const struct statement_subject *s = &statement->subjects[i];
    bool before = memcmp(s->digest, leaf, DIGEST_BYTES) == 0;
    for (size_t k = 0; k < i; k++) before = before || memcmp(statement->subjects[k].digest, s->digest, DIGEST_BYTES) == 0;
    key = mention_key(s->digest, index);
    if (!before) status = store_append(l, STORE_MENTION, &key, bytes_of(s->name), error);
  }
  return status;
}

static enum lynx_status add_one(struct ledger *l, struct bytes bytes, uint64_t *ret_index, struct lynx_error *error) {
  struct arena arena = {0};
  struct admission a = {.signer = NULL};
  struct mentions mentions = {0};
  struct key key = entry_key(l->edge.size);
  uint8_t leaf[DIGEST_BYTES];
  merkle_leaf(bytes, leaf);
  enum lynx_status status = list_mentions(l, leaf, &mentions, error);
  *ret_index = l->edge.size;
  bool known = find_in(&mentions, ret_index); /* a replay: it stands there already, and stays one entry */
  mentions_release(&mentions);
  if (status != LYNX_OK || known) return status;
  status = admit(&l->policy, bytes, &arena, &a, error);
  if (status == LYNX_OK && strcmp(a.statement.kind, "withdrawal") == 0) status = check_withdrawal(l, &a, error);
  if (status == LYNX_OK) status = store_append(l, STORE_ENTRY, &key, bytes, error);
  if (status == LYNX_OK) status = put_mentions(l, &a.statement, leaf, l->edge.size, error);
  if (status == LYNX_OK && strcmp(a.statement.kind, "policy") == 0) add_history(l, l->edge.size);
  if (status == LYNX_OK) status = merkle_append(&l->edge, leaf, keep_hash, l, error);
  statement_release(&a.statement);
  arena_release(&arena);
  return status;
}

static enum lynx_status add_all(struct ledger *l, const struct bytes *envelopes, size_t n, uint64_t *ret_index, struct lynx_error *error) {
  uint64_t before = l->edge.size;
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < n && status == LYNX_OK; i++) status = add_one(l, envelopes[i], &ret_index[i], error);
  return status == LYNX_OK && l->edge.size > before ? put_checkpoint(l, error) : status;
}

enum lynx_status ledger_add(struct ledger *ledger, const struct bytes *envelopes, size_t n, uint64_t *ret_index, struct lynx_error *error) {
  const struct store_table *table = ledger->store->table;
  if (ledger->log_key == NULL)
    return lynx_fail(error, LYNX_INPUT, "the log's key is not at hand: this ledger can be read here, not added to");
  enum lynx_status status = table->begin(ledger->store, error);
  if (status != LYNX_OK) return status;
  status = refresh(ledger, error);
  if (status == LYNX_OK) status = add_all(ledger, envelopes, n, ret_index, error);
  if (status == LYNX_OK) status = table->commit(ledger->store, error);
  else table->abort(ledger->store);
  if (status != LYNX_OK) {
    ledger->has_edge = false; /* what was added in memory is not so */
    for (int i = 0; i < TILES_KEPT; i++) ledger->tiles[i].n = 0;
  }
  return status;
}

/* --- copying --- */

enum { GIVEN_MAX = 256 };

static enum lynx_status take_entries(struct ledger *l, const struct ledger_copy *copy, uint64_t size, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  while (l->edge.size < size && status == LYNX_OK) {
    struct bytes given[GIVEN_MAX];
    size_t n = 0;
    status = copy->give(copy->context, l->edge.size, given, &n, error);
    if (status == LYNX_OK && n == 0) status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is not given", l->edge.size);
    for (size_t i = 0; i < n && l->edge.size < size && status == LYNX_OK; i++) {
      uint64_t index, due = l->edge.size;
      status = add_one(l, given[i], &index, error);
      if (status == LYNX_OK && index != due)
        status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is entry %" PRIu64 " once more", due, index);
      char field[40];
      (void)snprintf(field, sizeof field, "entry %" PRIu64, due);
      if (status != LYNX_OK) lynx_error_at(error, NULL, 0, field);
    }
  }
  return status;
}

/* The tree as it is now must be the one that the note signs, by the key that the log's own policy names. */
static enum lynx_status take_note(struct ledger *l, struct bytes bytes, uint64_t n_before, struct lynx_error *error) {
  struct note note;
  struct checkpoint checkpoint;
  uint8_t root[DIGEST_BYTES];
  struct key key = {.length = 0};
  struct newest newest;
  struct lynx_error none = {0};
  enum lynx_status status = check_note(&l->policy.log, l->policy.origin, bytes, &note, &checkpoint, error);
  if (status != LYNX_OK) return status;
  merkle_edge_root(&l->edge, root);
  if (checkpoint.size < n_before)
    return lynx_fail(error, LYNX_PROTOCOL, "ROLLED BACK: the log has %" PRIu64 " entries, and had %" PRIu64 " when it was copied",
                     checkpoint.size, n_before);
  if (memcmp(root, checkpoint.root, sizeof root) != 0)
    return lynx_fail(error, LYNX_PROTOCOL, "FORKED: the log's %" PRIu64 " entries do not continue the %" PRIu64 " that were copied",
                     checkpoint.size, n_before);
  key_put_number(&key, checkpoint.size, INDEX_BYTES);
  bool known = read_newest(l, &key, &newest, &none) == LYNX_OK;
  uint64_t count = known ? key_number(key_bytes(&newest.key), INDEX_BYTES, COUNT_BYTES) + 1 : 0;
  bool same = known && newest.note.length == bytes.length && memcmp(newest.note.data, bytes.ptr, bytes.length) == 0;
  if (known) buffer_release(&newest.note);
  /* Cosignatures are looked for in notes with a count above 0. */
  if (!known) {
    struct buffer bare;
    const char *end = memchr(note.signatures.ptr, '\n', note.signatures.length);
    buffer_init(&bare, NOTE_MAX);
    (void)buffer_append(&bare, bytes.ptr, (size_t)(end + 1 - bytes.ptr)); /* no longer than what it is part of */
    struct key first = checkpoint_key(checkpoint.size, count++);
    status = store_append(l, STORE_CHECKPOINT, &first, (struct bytes){bare.data, bare.length}, error);
    same = bare.length == bytes.length;
    buffer_release(&bare);
  }
  key = checkpoint_key(checkpoint.size, count);
  return status == LYNX_OK && !same ? store_append(l, STORE_CHECKPOINT, &key, bytes, error) : status;
}

enum lynx_status ledger_copy(const char *address, const struct ledger_copy *copy, uint64_t *ret_n_before, struct lynx_error *error) {
  struct ledger *l = xalloc(1, sizeof *l);
  struct note note;
  struct checkpoint checkpoint = {.size = 0};
  struct lynx_error none = {0};
  *ret_n_before = 0;
  enum lynx_status status = note_parse(copy->note, &note, error);
  if (status == LYNX_OK) status = checkpoint_parse(note.text, &checkpoint, error);
  if (status == LYNX_OK) {
    status = store_open(address, false, &l->store, &none);
    bool begun = status != LYNX_NOT_FOUND;
    if (!begun) status = store_open(address, true, &l->store, error);
    else if (status != LYNX_OK) *error = none;
    if (status == LYNX_OK) status = l->store->table->begin(l->store, error);
    if (status == LYNX_OK) {
      struct newest newest;
      struct lynx_error empty = {0};
      /* A copy whose first transaction never ended is an empty one. */
      if (begun && read_newest(l, NULL, &newest, &empty) == LYNX_OK) {
        buffer_release(&newest.note);
        status = open_checked(l, error);
      }
      *ret_n_before = l->edge.size;
      if (status == LYNX_OK) status = take_entries(l, copy, checkpoint.size, error);
      if (status == LYNX_OK) status = take_note(l, copy->note, *ret_n_before, error);
      if (status == LYNX_OK) status = l->store->table->commit(l->store, error);
      else l->store->table->abort(l->store);
    }
  }
  ledger_close(l);
  return status;
}

/* --- creating --- */

static enum lynx_status first_policy(const struct ledger_start *start, struct policy *ret, struct buffer *envelope,
                                     struct lynx_error *error) {
  struct buffer payload;
  struct json_writer json;
  struct statement_subject subject = {.name = "policy"};
  uint8_t key[SIGNATURE_KEY_BYTES];
  *ret = (struct policy){.number = 1, .n_teams = 1};
  if (!note_name_valid(start->origin) || !note_name_valid(start->admin))
    return lynx_fail(error, LYNX_INPUT, "origin '%.60s' or team '%.60s' is no name: letters, digits and . _ - / are accepted",
                     start->origin, start->admin);
  (void)snprintf(ret->origin, sizeof ret->origin, "%s", start->origin);
  signing_key_public(start->log_key, key);
  note_key_make(start->origin, NOTE_ED25519, key, &ret->log);
  signing_key_public(start->key, key);
  note_key_make(start->admin, NOTE_ED25519, key, &ret->teams[0].key);
  ret->teams[0].admin = true;
  policy_subject(subject.digest);
  buffer_init(&payload, ENVELOPE_MAX);
  statement_begin(&json, &payload, "policy", &subject, 1);
  policy_write(ret, &json);
  enum lynx_status status = statement_end(&json) ? LYNX_OK : lynx_fail(error, LYNX_LIMIT, "no memory for a policy");
  if (status == LYNX_OK)
    status = envelope_make(bytes_of(statement_payload_type), (struct bytes){payload.data, payload.length}, start->admin, start->key,
                           envelope, error);
  buffer_release(&payload);
  return status;
}

enum lynx_status ledger_create(const char *address, const struct ledger_start *start, struct lynx_error *error) {
  struct ledger *l = xalloc(1, sizeof *l);
  struct policy policy;
  struct buffer envelope;
  uint64_t index;
  buffer_init(&envelope, ENVELOPE_MAX);
  enum lynx_status status = first_policy(start, &policy, &envelope, error);
  if (status == LYNX_OK) status = store_open(address, true, &l->store, error);
  l->log_key = start->log_key;
  if (status == LYNX_OK) status = l->store->table->begin(l->store, error);
  if (status == LYNX_OK) {
    struct bytes bytes = {envelope.data, envelope.length};
    status = add_all(l, &bytes, 1, &index, error);
    if (status == LYNX_OK) status = l->store->table->commit(l->store, error);
    else l->store->table->abort(l->store);
  }
  buffer_release(&envelope);
  ledger_close(l);
  return status;
}

/* --- proofs as text --- */

static const char proof_head[] = "c2sp.org/tlog-proof@v1\n";

enum lynx_status ledger_proof_text(struct ledger *ledger, uint64_t index, struct buffer *ret, struct lynx_error *error) {
  struct merkle_proof proof;
  struct checkpoint checkpoint;
  struct buffer note;
  const struct merkle_source source = ledger_tree(ledger);
  buffer_init(&note, NOTE_MAX);
  enum lynx_status status = ledger_checkpoint(ledger, &note, &checkpoint, error);
  if (status == LYNX_OK && index >= checkpoint.size)
    status = lynx_fail(error, LYNX_NOT_FOUND, "there is no entry %" PRIu64 ": the ledger holds %" PRIu64, index, checkpoint.size);
  if (status == LYNX_OK) status = merkle_prove_inclusion(&source, index, checkpoint.size, &proof, error);
  bool good = status == LYNX_OK && buffer_printf(ret, "%sindex %" PRIu64 "\n", proof_head, index);
  for (size_t i = 0; good && i < proof.n; i++) good = base64_encode(ret, proof.hashes[i], DIGEST_BYTES) && buffer_text(ret, "\n");
  good = good && buffer_text(ret, "\n") && buffer_append(ret, note.data, note.length);
  buffer_release(&note);
  return status != LYNX_OK || good ? status : lynx_fail(error, LYNX_LIMIT, "no memory for a proof");
}

enum lynx_status ledger_proof_check(struct bytes bytes, const struct note_key *log, const uint8_t leaf[DIGEST_BYTES],
                                    struct checkpoint *ret_checkpoint, uint64_t *ret_index, struct lynx_error *error) {
  struct merkle_proof proof = {.n = 0};
  struct note note;
  size_t n_head = sizeof proof_head - 1;
  const char *p = bytes.ptr + n_head, *end = bytes.ptr + bytes.length;
  char line[80], again[80];
  uint64_t index = 0;
  bool good = bytes.length > n_head && memcmp(bytes.ptr, proof_head, n_head) == 0, ended = false;
  for (int i = 0; good && !ended; i++) {
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    size_t n = line_end != NULL ? (size_t)(line_end - p) : sizeof line;
    good = n < sizeof line && proof.n < MERKLE_PROOF_MAX;
    if (!good) break;
    memcpy(line, p, n);
    line[n] = 0;
    p = line_end + 1;
    if (i == 0) {
      good = sscanf(line, "index %20" SCNu64, &index) == 1 && snprintf(again, sizeof again, "index %" PRIu64, index) > 0 &&
             strcmp(again, line) == 0;
      continue;
    }
    ended = n == 0;
    struct buffer hash;
    buffer_init(&hash, 64);
    if (!ended) good = base64_decode(&hash, line, n) && hash.length == DIGEST_BYTES;
    if (!ended && good) memcpy(proof.hashes[proof.n++], hash.data, DIGEST_BYTES);
    buffer_release(&hash);
  }
  if (!good)
    return lynx_fail(error, LYNX_INPUT, "not a proof: %.22s, index, hashes, an empty line and a checkpoint are expected", proof_head);
  enum lynx_status status = check_note(log, NULL, (struct bytes){p, (size_t)(end - p)}, &note, ret_checkpoint, error);
  if (status != LYNX_OK) return status;
  *ret_index = index;
  if (merkle_inclusion_holds(index, ret_checkpoint->size, leaf, ret_checkpoint->root, &proof)) return LYNX_OK;
  return lynx_fail(error, LYNX_PROTOCOL, "the proof does not lead from this entry to the checkpoint of %" PRIu64 " entries",
                   ret_checkpoint->size);
}

/* --- audit --- */

struct auditing {
  struct ledger *ledger;
  struct ledger_audit *result;
  struct merkle_edge edge;
  struct policy policy;
  uint8_t leaves[256][DIGEST_BYTES]; /* of the entries since the last comparison */
  bool signatures;
  uint64_t n_mentions, n_listed;
  enum lynx_status status;
  struct lynx_error *error;
};

struct comparing {
  struct auditing *audit;
  uint64_t first, n;
};

static bool compare_leaf(void *context, struct bytes key, struct bytes value) {
  struct comparing *c = context;
  uint64_t index = key.length == 1 + INDEX_BYTES ? key_number(key, 1, INDEX_BYTES) : UINT64_MAX;
  if (index != c->first + c->n || index >= c->audit->edge.size || value.length != DIGEST_BYTES ||
      memcmp(value.ptr, c->audit->leaves[index % 256], DIGEST_BYTES) != 0)
    return false;
  return ++c->n < 256 && index + 1 < c->audit->edge.size;
}

/* The kept hashes of the last up to 256 entries. */
static enum lynx_status compare_leaves(struct auditing *a) {
  uint64_t first = (a->edge.size - 1) / 256 * 256;
  struct comparing c = {a, first, 0};
  struct key prefix = {.length = 0}, from = hash_key(0, first);
  key_put_number(&prefix, 0, 1);
  const struct store_range range = {.space = STORE_HASH, .prefix = key_bytes(&prefix), .from = key_bytes(&from)};
  enum lynx_status status = a->ledger->store->table->list(a->ledger->store, &range, compare_leaf, &c, a->error);
  a->result->n_hashes += c.n;
  if (status == LYNX_OK && first + c.n != a->edge.size)
    status = lynx_fail(a->error, LYNX_PROTOCOL, "entry %" PRIu64 " is not the one whose hash the ledger kept", first + c.n);
  return status;
}

static enum lynx_status compare_above(void *context, unsigned level, uint64_t index, const uint8_t hash[DIGEST_BYTES],
                                      struct lynx_error *error) {
  struct auditing *a = context;
  uint8_t kept[DIGEST_BYTES];
  if (level == 0 || level % STORED_LEVELS != 0) return LYNX_OK;
  enum lynx_status status = read_stored(a->ledger, level, index, kept, error);
  a->result->n_hashes++;
  if (status == LYNX_OK && memcmp(kept, hash, DIGEST_BYTES) != 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "the hash of level %u, number %" PRIu64 " is not that of its entries", level, index);
  return status;
}

/* What standing is found by: an entry that nobody finds would be as good as gone. */
static enum lynx_status check_mentions(struct auditing *a, const struct statement *statement, const uint8_t leaf[DIGEST_BYTES],
                                       uint64_t index) {
  struct buffer name;
  buffer_init(&name, STORE_VALUE_MAX);
  struct key key = mention_key(leaf, index);
  enum lynx_status status = store_get(a->ledger, STORE_MENTION, &key, &name, a->error);
  bool right = name.length == 0;
  a->n_mentions++;
  for (size_t i = 0; i < statement->n_subjects && status == LYNX_OK; i++) {
    const struct statement_subject *s = &statement->subjects[i];
    bool before = memcmp(s->digest, leaf, DIGEST_BYTES) == 0;
    for (size_t k = 0; k < i; k++) before = before || memcmp(statement->subjects[k].digest, s->digest, DIGEST_BYTES) == 0;
    if (before) continue; /* as put_mentions has it: the first name counts */
    key = mention_key(s->digest, index);
    buffer_clear(&name);
    status = store_get(a->ledger, STORE_MENTION, &key, &name, a->error);
    right = right && name.length == strlen(s->name) && (name.length == 0 || memcmp(name.data, s->name, name.length) == 0);
    a->n_mentions++;
  }
  if (status == LYNX_OK && !right)
    status = lynx_fail(a->error, LYNX_PROTOCOL, "the index does not say of entry %" PRIu64 " what the entry says", index);
  buffer_release(&name);
  return status;
}

static bool audit_entry(void *context, struct bytes key, struct bytes value) {
  struct auditing *a = context;
  uint8_t leaf[DIGEST_BYTES];
  uint64_t index = a->edge.size;
  if (key.length != INDEX_BYTES || key_number(key, 0, INDEX_BYTES) != index) {
    a->status = lynx_fail(a->error, LYNX_PROTOCOL, "entry %" PRIu64 " is missing", index);
    return false;
  }
  if (index >= a->result->checkpoint.size) {
    a->status = lynx_fail(a->error, LYNX_PROTOCOL, "entry %" PRIu64 " lies beyond the newest checkpoint", index);
    return false;
  }
  merkle_leaf(value, leaf);
  memcpy(a->leaves[index % 256], leaf, DIGEST_BYTES);
  if (a->signatures) {
    struct arena arena = {0};
    struct admission admission;
    a->status = admit(&a->policy, value, &arena, &admission, a->error);
    if (a->status == LYNX_OK) a->status = check_mentions(a, &admission.statement, leaf, index);
    statement_release(&admission.statement);
    arena_release(&arena);
    a->result->n_signatures++;
  }
  if (a->status == LYNX_OK) a->status = merkle_append(&a->edge, leaf, compare_above, a, a->error);
  if (a->status == LYNX_OK && a->edge.size % 256 == 0) a->status = compare_leaves(a);
  if (a->status != LYNX_OK) {
    char field[40];
    (void)snprintf(field, sizeof field, "entry %" PRIu64, index);
    lynx_error_at(a->error, NULL, 0, field);
  }
  return a->status == LYNX_OK;
}

static bool count_mention(void *context, struct bytes key, struct bytes value) {
  struct auditing *a = context;
  (void)key, (void)value;
  a->n_listed++;
  return true;
}

enum lynx_status ledger_audit(struct ledger *ledger, bool signatures, struct ledger_audit *ret, struct lynx_error *error) {
  const struct store_range range = {.space = STORE_ENTRY};
  struct auditing *a = xalloc(1, sizeof *a);
  uint8_t root[DIGEST_BYTES];
  *a = (struct auditing){.ledger = ledger, .result = ret, .signatures = signatures, .error = error};
  *ret = (struct ledger_audit){0};
  enum lynx_status status = ledger_checkpoint(ledger, NULL, &ret->checkpoint, error);
  if (status == LYNX_OK) status = ledger->store->table->list(ledger->store, &range, audit_entry, a, error);
  if (status == LYNX_OK) status = a->status;
  if (status == LYNX_OK && a->edge.size % 256 != 0) status = compare_leaves(a);
  merkle_edge_root(&a->edge, root);
  if (status == LYNX_OK && (a->edge.size != ret->checkpoint.size || memcmp(root, ret->checkpoint.root, DIGEST_BYTES) != 0))
    status = lynx_fail(error, LYNX_PROTOCOL,
                       "%" PRIu64 " entries do not give the tree that the checkpoint of size %" PRIu64
                       " signs: entries are missing or altered",
                       a->edge.size, ret->checkpoint.size);
  ret->n_entries = a->edge.size;
  const struct store_range index = {.space = STORE_MENTION};
  if (status == LYNX_OK && signatures) status = ledger->store->table->list(ledger->store, &index, count_mention, a, error);
  if (status == LYNX_OK && a->n_listed != a->n_mentions)
    status = lynx_fail(error, LYNX_PROTOCOL, "the index holds %" PRIu64 " mentions, the entries make %" PRIu64, a->n_listed, a->n_mentions);
  free(a);
  return status;
}
