/* ledger/store.h: where a ledger's bytes lie. Spaces of keys and values, to which one can only add: there is no update and no delete.
 *
 * One table per kind of store (store_*.c); one conformance suite for all (tests/unit/test_store.c). A store knows nothing of what the
 * bytes mean: ledger.c does.
 *
 * Order    open; begin, append ..., commit or abort; get and list at any time; close. begin waits until no other writer is at work
 * Crash    what commit returned for is on disk; what it did not is not there at all
 * Errors   NOT_FOUND: no such key, no such store; INPUT: the key exists, or what is there is no store of ours; IO: disk, server. What is
 *          wrong with an append is said by it or by the next call, at the latest by commit, after which nothing of the transaction is kept
 * Threads  a store belongs to one thread; several processes may write to one */
#ifndef LEDGER_STORE_H
#define LEDGER_STORE_H

#include "base/buffer.h"

enum store_space {
  STORE_ENTRY,      /* index: envelope */
  STORE_HASH,       /* level, index: hash of a whole subtree */
  STORE_MENTION,    /* digest, index: under which name that entry speaks of the digest */
  STORE_CHECKPOINT, /* size, count: signed note */
  STORE_BLOB,       /* digest, part: bytes of a bundle */
  STORE_RUN,        /* contract, index: what that bundle's entry says of its run; intent, index: it answers it */
  STORE_SPACES
};

enum { STORE_FORMAT = 2, STORE_ABI = 4, STORE_KEY_MAX = 64, STORE_VALUE_MAX = 1 << 20 };

struct store;

/* A reader changes nothing: not the store, and not what lies beside it. */
enum store_access { STORE_READ, STORE_WRITE, STORE_CREATE };

/* false: enough. key and value live until it returns. */
typedef bool store_visit(void *context, struct bytes key, struct bytes value);

struct store_range {
  enum store_space space;
  struct bytes prefix; /* of the keys wanted */
  struct bytes from;   /* the first key wanted, or the last one when going backwards; length 0: none */
  bool backwards;
};

/* The same as the least and the greatest key, for stores that sort keys by their bytes. */
struct store_bounds {
  char least[STORE_KEY_MAX], most[STORE_KEY_MAX + 1];
  size_t n_least, n_most;
};
void store_bounds_of(const struct store_range *range, struct store_bounds *ret);
/* It goes on from this key. */
void store_bounds_from(struct store_bounds *bounds, bool backwards, struct bytes key);

struct store_table {
  unsigned abi;
  const char *name, *summary, *scheme; /* how its addresses begin; "": a path */
  enum lynx_status (*open)(const char *address, enum store_access access, struct store **ret, struct lynx_error *error);
  /* What is read from here to abort is as of one moment, whatever others write meanwhile. */
  enum lynx_status (*snapshot)(struct store *store, struct lynx_error *error);
  enum lynx_status (*begin)(struct store *store, struct lynx_error *error);
  enum lynx_status (*append)(struct store *store, enum store_space space, struct bytes key, struct bytes value, struct lynx_error *error);
  enum lynx_status (*commit)(struct store *store, struct lynx_error *error);
  void (*abort)(struct store *store);
  enum lynx_status (*get)(struct store *store, enum store_space space, struct bytes key, struct buffer *ret, struct lynx_error *error);
  enum lynx_status (*list)(struct store *store, const struct store_range *range, store_visit *visit, void *context,
                           struct lynx_error *error);
  /* What others wrote since is seen from here on; in a transaction, nothing. */
  enum lynx_status (*renew)(struct store *store, struct lynx_error *error);
  void (*close)(struct store *store); /* accepts NULL */
};

/* Every store begins with its table. */
struct store {
  const struct store_table *table;
};

extern const struct store_table *const stores[]; /* ends in NULL */
enum lynx_status store_open(const char *address, enum store_access access, struct store **ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
