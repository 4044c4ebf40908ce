#include <inttypes.h>
#include <string.h>

#include "ledger/ledger_private.h"

/* Proofs read neighbours: the tiles of 256 kept hashes that were read last stay at hand. */
static bool take_hash(void *context, struct bytes key, struct bytes value) {
  struct tile *t = context;
  if (key.length != 1 + INDEX_BYTES || ledger_key_number(key, 1, INDEX_BYTES) != t->index * LEDGER_TILE + t->n ||
      value.length != DIGEST_BYTES)
    return false;
  memcpy(t->hashes[t->n++], value.ptr, DIGEST_BYTES);
  return t->n < LEDGER_TILE;
}

/* A tile only grows: what a proof was made of before must not be another thing now. */
static enum lynx_status load_tile(struct ledger *l, unsigned level, uint64_t index, struct tile *t, struct lynx_error *error) {
  struct ledger_key prefix = ledger_key_level(level), from = ledger_key_hash(level, index * LEDGER_TILE);
  const struct store_range range = {.space = STORE_HASH, .prefix = ledger_key_bytes(&prefix), .from = ledger_key_bytes(&from)};
  const struct tile before = *t;
  *t = (struct tile){.level = level, .index = index};
  enum lynx_status status = l->store->table->list(l->store, &range, take_hash, t, error);
  bool same = before.n == 0 || before.level != level || before.index != index ||
              (t->n >= before.n && memcmp(t->hashes, before.hashes, before.n * sizeof before.hashes[0]) == 0);
  if (status == LYNX_OK && !same)
    status = lynx_fail(error, LYNX_PROTOCOL, "hashes of level %u changed while the ledger was read: the file was altered", level);
  if (status != LYNX_OK) t->n = 0;
  return status;
}

enum lynx_status ledger_kept_hash(struct ledger *l, unsigned level, uint64_t index, uint8_t ret[DIGEST_BYTES], struct lynx_error *error) {
  struct tile *t = &l->tiles[level / STORED_LEVELS % TILES_KEPT];
  if (t->n == 0 || t->level != level || t->index != index / LEDGER_TILE || index % LEDGER_TILE >= t->n) {
    enum lynx_status status = load_tile(l, level, index / LEDGER_TILE, t, error);
    if (status != LYNX_OK) return status;
  }
  if (index % LEDGER_TILE >= t->n)
    return lynx_fail(error, LYNX_PROTOCOL, "the ledger does not hold the hash of level %u, number %" PRIu64, level, index);
  memcpy(ret, t->hashes[index % LEDGER_TILE], DIGEST_BYTES);
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
    status = ledger_kept_hash(l, level - above, (index << above) + i, hash, error);
    if (status == LYNX_OK) status = merkle_append(&part, hash, NULL, NULL, error);
  }
  if (status == LYNX_OK) merkle_edge_root(&part, ret);
  return status;
}

struct merkle_source ledger_tree(struct ledger *ledger) {
  return (struct merkle_source){read_hash, ledger};
}

enum lynx_status ledger_keep_hash(void *context, unsigned level, uint64_t index, const uint8_t hash[DIGEST_BYTES],
                                  struct lynx_error *error) {
  struct ledger *l = context;
  struct ledger_key key = ledger_key_hash(level, index);
  struct tile *t = &l->tiles[level / STORED_LEVELS % TILES_KEPT];
  if (level % STORED_LEVELS != 0) return LYNX_OK;
  /* The tile at hand grows as the store's does, so that proofs of what was just added need not read it again. */
  if (index % LEDGER_TILE == 0) *t = (struct tile){.level = level, .index = index / LEDGER_TILE};
  const bool of_tile = t->level == level && t->index == index / LEDGER_TILE;
  if (of_tile && t->n == index % LEDGER_TILE) memcpy(t->hashes[t->n++], hash, DIGEST_BYTES);
  else if (of_tile) t->n = 0;
  return ledger_append(l, STORE_HASH, &key, (struct bytes){(const char *)hash, DIGEST_BYTES}, error);
}

static bool has_leaf(const struct tile *t, uint64_t index, const uint8_t leaf[DIGEST_BYTES]) {
  const size_t at = (size_t)(index % LEDGER_TILE);
  return t->level == 0 && t->index == index / LEDGER_TILE && at < t->n && memcmp(t->hashes[at], leaf, DIGEST_BYTES) == 0;
}

enum lynx_status ledger_prove_leaf(struct ledger *l, uint64_t index, const uint8_t leaf[DIGEST_BYTES], bool *ret_holds,
                                   struct lynx_error *error) {
  struct tile *t = &l->tiles[0];
  const struct merkle_source source = ledger_tree(l);
  struct merkle_proof proof;
  uint8_t root[DIGEST_BYTES];
  merkle_edge_root(&l->edge, root);
  *ret_holds = t->proved && index < l->edge.size && memcmp(t->root, root, DIGEST_BYTES) == 0 && has_leaf(t, index, leaf);
  if (*ret_holds) return LYNX_OK;
  enum lynx_status status = merkle_prove_inclusion(&source, index, l->edge.size, &proof, error);
  *ret_holds = status == LYNX_OK && merkle_inclusion_holds(index, l->edge.size, leaf, root, &proof);
  /* The leaf itself was not read from the tile, whose own word for it counts only where it is the same. */
  t->proved = *ret_holds && has_leaf(t, index, leaf);
  if (t->proved) memcpy(t->root, root, DIGEST_BYTES);
  return status;
}

void ledger_forget_tiles(struct ledger *l) {
  for (int i = 0; i < TILES_KEPT; i++) l->tiles[i].n = 0;
}
