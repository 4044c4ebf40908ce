#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ledger/ledger_private.h"

struct auditing {
  struct ledger *ledger;
  struct ledger_audit *result;
  struct merkle_edge edge;
  struct policy policy;
  uint8_t leaves[LEDGER_TILE][DIGEST_BYTES]; /* of the entries since the last comparison */
  bool signatures;
  uint64_t n_mentions, n_runs, n_listed; /* keys that the entries make; those of one index that are there */
  enum lynx_status status;
  struct lynx_error *error;
};

struct comparing {
  struct auditing *audit;
  uint64_t first, n;
};

static bool compare_leaf(void *context, struct bytes key, struct bytes value) {
  struct comparing *c = context;
  uint64_t index = key.length == 1 + INDEX_BYTES ? ledger_key_number(key, 1, INDEX_BYTES) : UINT64_MAX;
  if (index != c->first + c->n || index >= c->audit->edge.size || value.length != DIGEST_BYTES ||
      memcmp(value.ptr, c->audit->leaves[index % LEDGER_TILE], DIGEST_BYTES) != 0)
    return false;
  return ++c->n < LEDGER_TILE && index + 1 < c->audit->edge.size;
}

/* The kept hashes of the last up to LEDGER_TILE entries. */
static enum lynx_status compare_leaves(struct auditing *a) {
  uint64_t first = (a->edge.size - 1) / LEDGER_TILE * LEDGER_TILE;
  struct comparing c = {a, first, 0};
  struct ledger_key prefix = ledger_key_level(0), from = ledger_key_hash(0, first);
  const struct store_range range = {.space = STORE_HASH, .prefix = ledger_key_bytes(&prefix), .from = ledger_key_bytes(&from)};
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
  enum lynx_status status = ledger_kept_hash(a->ledger, level, index, kept, error);
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
  struct ledger_key key = ledger_key_mention(leaf, index);
  enum lynx_status status = ledger_get(a->ledger, STORE_MENTION, &key, &name, a->error);
  bool right = name.length == 0;
  a->n_mentions++;
  for (size_t i = 0; i < statement->n_subjects && status == LYNX_OK; i++) {
    const struct statement_subject *s = &statement->subjects[i];
    if (!ledger_mentions(statement, i, leaf)) continue;
    key = ledger_key_mention(s->digest, index);
    buffer_clear(&name);
    status = ledger_get(a->ledger, STORE_MENTION, &key, &name, a->error);
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
  if (key.length != INDEX_BYTES || ledger_key_number(key, 0, INDEX_BYTES) != index) {
    a->status = lynx_fail(a->error, LYNX_PROTOCOL, "entry %" PRIu64 " is missing", index);
    return false;
  }
  if (index >= a->result->checkpoint.size) {
    a->status = lynx_fail(a->error, LYNX_PROTOCOL, "entry %" PRIu64 " lies beyond the newest checkpoint", index);
    return false;
  }
  merkle_leaf(value, leaf);
  memcpy(a->leaves[index % LEDGER_TILE], leaf, DIGEST_BYTES);
  if (a->signatures) {
    struct arena arena = {0};
    struct admission admission;
    a->status = admission_check(&a->policy, value, &arena, &admission, a->error);
    uint64_t n_runs = 0;
    if (a->status == LYNX_OK) a->status = check_mentions(a, &admission.statement, leaf, index);
    if (a->status == LYNX_OK) a->status = ledger_check_run(a->ledger, &admission.statement, index, &n_runs, a->error);
    a->n_runs += n_runs;
    statement_release(&admission.statement);
    arena_release(&arena);
    a->result->n_signatures++;
  }
  if (a->status == LYNX_OK) a->status = merkle_append(&a->edge, leaf, compare_above, a, a->error);
  if (a->status == LYNX_OK && a->edge.size % LEDGER_TILE == 0) a->status = compare_leaves(a);
  if (a->status != LYNX_OK) {
    char field[40];
    (void)snprintf(field, sizeof field, "entry %" PRIu64, index);
    lynx_error_at(a->error, NULL, 0, field);
  }
  return a->status == LYNX_OK;
}

static bool count_key(void *context, struct bytes key, struct bytes value) {
  struct auditing *a = context;
  (void)key, (void)value;
  a->n_listed++;
  return true;
}

/* An index holds no more than the entries make. */
static enum lynx_status check_count(struct auditing *a, enum store_space space, const char *name, uint64_t n) {
  const struct store_range range = {.space = space};
  a->n_listed = 0;
  enum lynx_status status = a->ledger->store->table->list(a->ledger->store, &range, count_key, a, a->error);
  if (status == LYNX_OK && a->n_listed != n)
    status = lynx_fail(a->error, LYNX_PROTOCOL, "the index holds %" PRIu64 " %s, the entries make %" PRIu64, a->n_listed, name, n);
  return status;
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
  if (status == LYNX_OK && a->edge.size % LEDGER_TILE != 0) status = compare_leaves(a);
  merkle_edge_root(&a->edge, root);
  if (status == LYNX_OK && (a->edge.size != ret->checkpoint.size || memcmp(root, ret->checkpoint.root, DIGEST_BYTES) != 0))
    status = lynx_fail(error, LYNX_PROTOCOL,
                       "%" PRIu64 " entries do not give the tree that the checkpoint of size %" PRIu64
                       " signs: entries are missing or altered",
                       a->edge.size, ret->checkpoint.size);
  ret->n_entries = a->edge.size;
  if (status == LYNX_OK && signatures) status = check_count(a, STORE_MENTION, "mentions", a->n_mentions);
  if (status == LYNX_OK && signatures) status = check_count(a, STORE_RUN, "keys of runs", a->n_runs);
  free(a);
  return status;
}
