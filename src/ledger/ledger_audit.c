#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/side_by_side.h"
#include "ledger/ledger_private.h"

/* Entries are checked so many at a time, side by side: what costs time is their signatures. */
enum { AUDIT_BATCH = 128, THREADS_MOST = 8 };

struct auditing {
  struct ledger *ledger;
  struct ledger_audit *result;
  struct merkle_edge edge;
  struct policy policy;
  uint8_t leaves[LEDGER_TILE][DIGEST_BYTES]; /* of the entries since the last comparison */
  bool signatures;
  uint64_t n_mentions, n_runs, n_listed; /* keys that the entries make; those of one index that are there */
  struct audited {
    struct arena arena;
    struct bytes bytes;
    struct admission admission;
    enum lynx_status status;
    struct lynx_error error;
  } batch[AUDIT_BATCH];
  size_t n_batch, n_checked; /* n_checked: of them, which need not be checked again */
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

/* By the policy of before the batch: what a policy among them changes, whoever comes after it is checked by again. */
static void check_one(void *context, size_t i) {
  struct auditing *a = context;
  struct audited *e = &a->batch[a->n_checked + i];
  struct policy *own = arena_alloc(&e->arena, 1, sizeof *own);
  *own = a->policy;
  e->error = *a->error;
  e->status = admission_check(own, e->bytes, &e->arena, &e->admission, &e->error);
}

static void check_batch(struct auditing *a) {
  side_by_side(a->n_batch - a->n_checked, side_by_side_threads(THREADS_MOST), check_one, a);
}

/* Is its policy the one by which those after it are to be checked? */
static enum lynx_status take_policy(struct auditing *a, struct audited *e, size_t i) {
  if (e->status != LYNX_OK || strcmp(e->admission.statement.kind, "policy") != 0) return e->status;
  struct admission again;
  enum lynx_status status = admission_check(&a->policy, e->bytes, &e->arena, &again, &e->error);
  statement_release(&again.statement);
  for (size_t k = i + 1; k < a->n_batch; k++) statement_release(&a->batch[k].admission.statement);
  a->n_checked = i + 1;
  check_batch(a);
  return status;
}

static enum lynx_status take_checked(struct auditing *a, size_t i) {
  struct audited *e = &a->batch[i];
  uint8_t leaf[DIGEST_BYTES];
  uint64_t index = a->edge.size, n_runs = 0;
  merkle_leaf(e->bytes, leaf);
  memcpy(a->leaves[index % LEDGER_TILE], leaf, DIGEST_BYTES);
  enum lynx_status status = LYNX_OK;
  if (a->signatures) {
    status = take_policy(a, e, i);
    if (status != LYNX_OK) *a->error = e->error;
    if (status == LYNX_OK) status = check_mentions(a, &e->admission.statement, leaf, index);
    if (status == LYNX_OK) status = ledger_check_run(a->ledger, &e->admission.statement, index, &n_runs, a->error);
    a->n_runs += n_runs;
    a->result->n_signatures++;
  }
  if (status == LYNX_OK) status = merkle_append(&a->edge, leaf, compare_above, a, a->error);
  if (status == LYNX_OK && a->edge.size % LEDGER_TILE == 0) status = compare_leaves(a);
  if (status == LYNX_OK) return status;
  char field[40];
  (void)snprintf(field, sizeof field, "entry %" PRIu64, index);
  lynx_error_at(a->error, NULL, 0, field);
  return status;
}

static enum lynx_status finish_batch(struct auditing *a) {
  a->n_checked = 0;
  if (a->signatures) check_batch(a);
  for (size_t i = 0; i < a->n_batch && a->status == LYNX_OK; i++) a->status = take_checked(a, i);
  for (size_t i = 0; i < a->n_batch; i++) {
    statement_release(&a->batch[i].admission.statement);
    arena_release(&a->batch[i].arena);
    a->batch[i] = (struct audited){.status = LYNX_OK};
  }
  a->n_batch = 0;
  return a->status;
}

static bool audit_entry(void *context, struct bytes key, struct bytes value) {
  struct auditing *a = context;
  uint64_t index = a->edge.size + a->n_batch;
  bool missing = key.length != INDEX_BYTES || ledger_key_number(key, 0, INDEX_BYTES) != index, beyond = index >= a->result->checkpoint.size;
  if (missing || beyond) { /* what came before it is said first */
    if (finish_batch(a) == LYNX_OK)
      a->status = lynx_fail(a->error, LYNX_PROTOCOL,
                            missing ? "entry %" PRIu64 " is missing" : "entry %" PRIu64 " lies beyond the newest checkpoint", index);
    return false;
  }
  struct audited *e = &a->batch[a->n_batch++];
  e->bytes = a->signatures ? (struct bytes){arena_text(&e->arena, value.ptr, value.length), value.length} : value;
  return (a->signatures && a->n_batch < AUDIT_BATCH) || finish_batch(a) == LYNX_OK; /* without them there is nothing to be done at a time */
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
  if (status == LYNX_OK && a->status == LYNX_OK) status = finish_batch(a);
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
