/* ledger/ledger_private.h: what the files of the ledger share: its state, the keys of its store, and the steps that more than one of them
 * takes. */
#ifndef LEDGER_LEDGER_PRIVATE_H
#define LEDGER_LEDGER_PRIVATE_H

#include "ledger/admission.h"
#include "ledger/ledger.h"

enum { STORED_LEVELS = 8, INDEX_BYTES = 8, COUNT_BYTES = 4, TILES_KEPT = 4 };

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
  struct {
    uint64_t size;
    uint8_t root[DIGEST_BYTES];
    bool holds;        /* the newest tree continues it */
  } trusted;           /* a tree whose every entry's signature was checked before, from here */
  ledger_allow *allow; /* NULL: nobody is asked */
  void *allow_context;
  uint8_t checked[DIGEST_BYTES]; /* of the newest note whose signature was checked, and the key: it is not checked again */
  struct tile {
    uint64_t index;
    unsigned level, n;
    bool proved; /* to be in the tree of that root */
    uint8_t root[DIGEST_BYTES];
    uint8_t hashes[LEDGER_TILE][DIGEST_BYTES];
  } tiles[TILES_KEPT]; /* read last, one per kept level */
};

/* --- ledger_keys.c: keys of the store; numbers are big-endian, so that they sort --- */

struct ledger_key {
  char bytes[STORE_KEY_MAX];
  size_t length;
};

struct ledger_key ledger_key_entry(uint64_t index);
struct ledger_key ledger_key_hash(unsigned level, uint64_t index);
struct ledger_key ledger_key_mention(const uint8_t digest[DIGEST_BYTES], uint64_t index);
struct ledger_key ledger_key_checkpoint(uint64_t size, uint64_t count);
/* What all keys of a level, or of a size, begin with. */
struct ledger_key ledger_key_level(unsigned level);
struct ledger_key ledger_key_size(uint64_t size);
struct bytes ledger_key_bytes(const struct ledger_key *key);
uint64_t ledger_key_number(struct bytes key, size_t at, size_t n_bytes);

enum lynx_status ledger_get(struct ledger *l, enum store_space space, const struct ledger_key *key, struct buffer *ret,
                            struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status ledger_append(struct ledger *l, enum store_space space, const struct ledger_key *key, struct bytes value,
                               struct lynx_error *error) LYNX_MUST_CHECK;

/* --- hash_tiles.c: the kept hashes --- */

enum lynx_status ledger_kept_hash(struct ledger *l, unsigned level, uint64_t index, uint8_t ret[DIGEST_BYTES],
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* A merkle_completed: keeps those of kept levels. */
enum lynx_status ledger_keep_hash(void *context, unsigned level, uint64_t index, const uint8_t hash[DIGEST_BYTES],
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* Is that leaf in the tree of the edge? A proof's neighbours in its tile are computed from the tile at hand, so that a proof of one leaf holds
 * for the whole tile: who reads entries in their order makes one for each tile. */
enum lynx_status ledger_prove_leaf(struct ledger *l, uint64_t index, const uint8_t leaf[DIGEST_BYTES], bool *ret_holds,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
void ledger_forget_tiles(struct ledger *l); /* after what was kept was taken back */

/* --- checkpoints.c --- */

struct ledger_newest {
  uint64_t size, count; /* count: how often cosignatures came to it */
  struct buffer note;
  bool found;
};

/* The newest note of all, or of one size (a ledger_key_size); NOT_FOUND. The caller releases ret->note. */
enum lynx_status ledger_newest(struct ledger *l, const struct ledger_key *size, struct ledger_newest *ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;
/* Parses a checkpoint and checks the log's signature; origin NULL: any. */
enum lynx_status ledger_check_note(const struct note_key *log, const char *origin, struct bytes bytes, struct note *ret_note,
                                   struct checkpoint *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Signs the tree as it now is. */
enum lynx_status ledger_sign_checkpoint(struct ledger *l, struct lynx_error *error) LYNX_MUST_CHECK;

/* --- run_index.c --- */

/* Where an entry is in the index of runs: by its contract, then by the intent that it answers. Returns how many. */
size_t ledger_run_keys(const struct statement *statement, uint64_t index, struct ledger_key ret[2]);
enum lynx_status ledger_put_run(struct ledger *l, const struct statement *statement, uint64_t index,
                                struct lynx_error *error) LYNX_MUST_CHECK;
/* As ledger_each_run, of the tree that is at hand. */
enum lynx_status ledger_list_runs(struct ledger *l, const uint8_t *contract, ledger_run_visit *visit, void *context,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* PROTOCOL: the index says something else of the entry than it says itself. ret_n: how many keys it has. */
enum lynx_status ledger_check_run(struct ledger *l, const struct statement *statement, uint64_t index, uint64_t *ret_n,
                                  struct lynx_error *error) LYNX_MUST_CHECK;

/* --- ledger.c --- */

/* The key under which the i-th subject is found, unless another name of the same digest came first: each digest is mentioned once. */
bool ledger_mentions(const struct statement *statement, size_t i, const uint8_t leaf[DIGEST_BYTES]);
/* What an entry that was admitted leaves in the store; leaf: its own. */
enum lynx_status ledger_put_one(struct ledger *l, struct bytes bytes, const struct statement *statement, const uint8_t leaf[DIGEST_BYTES],
                                struct lynx_error *error) LYNX_MUST_CHECK;
/* In a transaction: everything about one more entry but the checkpoint. *ret_index < edge.size before: it stands there already. */
enum lynx_status ledger_add_one(struct ledger *l, struct bytes bytes, uint64_t *ret_index, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
