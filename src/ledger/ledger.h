/* ledger/ledger.h: the shared, append-only, tamper-evident log of what teams agreed on, started, measured, verified and contested.
 *
 * ledger keeps signed statements (envelope.h) in a Merkle tree (merkle.h) over a store (store.h), signs checkpoints of it (note.h), and
 * derives standing from it. It measures nothing and knows no contract from the inside: it compares digests.
 *
 * Entries  each is an envelope signed by one team of the policy then in force; entry 0 is the first policy. An entry speaks of others and
 *          of bundles and contracts by digest, never by number. The same bytes are taken once
 * Tree     the hash of every subtree of 2^0, 2^8, 2^16 ... leaves is kept: proofs of a million entries read some hundred hashes
 * Errors   NOT_FOUND; INPUT: an entry that the policy or its kind does not allow, with the reason; PROTOCOL: what the store holds
 *          contradicts itself or what its own checkpoint says; IO
 * Threads  a ledger belongs to one thread; several processes may have one open */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include "ledger/entry.h"
#include "ledger/merkle.h"
#include "ledger/policy.h"
#include "ledger/store.h"

struct ledger;

/* How many hashes, or entries, stand together where they are kept, served or copied. */
enum { LEDGER_TILE = 256 };

/* A new one at that address: its first policy makes `admin` the one team that may write, and is signed by it. */
struct ledger_start {
  const char *origin; /* its name to the world */
  const struct signer *admin;
  const struct signing_key *log_key;
};
enum lynx_status ledger_create(const char *address, const struct ledger_start *start, struct lynx_error *error) LYNX_MUST_CHECK;

/* log_key NULL: nothing is added. */
enum lynx_status ledger_open(const char *address, enum store_access access, const struct signing_key *log_key, struct ledger **ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;
/* Every entry of the tree of that size and root was checked before, from here: signatures of those that the ledger still holds are not
 * checked again; that they are the same bytes, and in the signed tree, is. False: the ledger does not continue that tree, and all is
 * checked. */
bool ledger_trust(struct ledger *ledger, uint64_t size, const uint8_t root[DIGEST_BYTES]);
/* After somebody else wrote to it. */
enum lynx_status ledger_refresh(struct ledger *ledger, struct lynx_error *error) LYNX_MUST_CHECK;
void ledger_close(struct ledger *ledger); /* accepts NULL */
struct store *ledger_store(struct ledger *ledger);
/* As of what was last read or written. */
const struct policy *ledger_policy(const struct ledger *ledger);

/* What was in force when entry `index` was added. */
const struct policy *ledger_policy_at(const struct ledger *ledger, uint64_t index);
/* When a quorum of the witnesses of that time had cosigned this note, which must be of this ledger's own tree; 0: none did. except: a team
 * whose word does not count; NULL. */
uint64_t ledger_vouched_at(struct ledger *ledger, struct bytes note, const char *except, struct checkpoint *ret);

/* Appends all of them or none, and signs the new checkpoint. ret_index[n]: where each stands; one that stands there already is not added
 * again (ret_index tells where it is). */
enum lynx_status ledger_add(struct ledger *ledger, const struct bytes *envelopes, size_t n, uint64_t *ret_index,
                            struct lynx_error *error) LYNX_MUST_CHECK;

/* What else decides of an entry that its team may add, and that is not there already: asked in the transaction, as of the policy then in
 * force. An error refuses all that is added with it. */
typedef enum lynx_status ledger_allow(void *context, struct ledger *ledger, struct bytes entry, struct lynx_error *error);
void ledger_ask(struct ledger *ledger, ledger_allow *allow, void *context);

/* A copy of another's log, under its checkpoint and without its key: begun, or continued, at that address. Takes all or nothing; PROTOCOL
 * where what is given is not what the checkpoint signs, or does not continue the copy. give: entries from `next` on, at most
 * LEDGER_TILE of them,
 * which live until it is asked again. */
struct ledger_copy {
  struct bytes note;
  enum lynx_status (*give)(void *context, uint64_t next, struct bytes *ret, size_t *ret_n, struct lynx_error *error);
  void *context;
};
enum lynx_status ledger_copy(const char *address, const struct ledger_copy *copy, uint64_t *ret_n_before,
                             struct lynx_error *error) LYNX_MUST_CHECK;

/* The newest checkpoint, with every cosignature that the ledger knows of; checked against the log's key. */
enum lynx_status ledger_checkpoint(struct ledger *ledger, struct buffer *ret_note, struct checkpoint *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
/* The newest one that the policy's quorum of witnesses cosigned; NOT_FOUND. ret_time_s: when the quorum was complete. */
enum lynx_status ledger_vouched_checkpoint(struct ledger *ledger, struct buffer *ret_note, struct checkpoint *ret, uint64_t *ret_time_s,
                                           struct lynx_error *error) LYNX_MUST_CHECK;
/* Keeps a cosigned form of a checkpoint of this ledger's, by witnesses of the policy that was last read. */
enum lynx_status ledger_put_cosigned(struct ledger *ledger, struct bytes note, struct lynx_error *error) LYNX_MUST_CHECK;

struct ledger_entry {
  uint64_t index;
  uint8_t leaf[DIGEST_BYTES];
  struct bytes bytes;
  struct envelope envelope;
  struct statement statement;
  const char *signer; /* the team's name */
};

/* As of the newest checkpoint that was looked at. The entry is in the tree that it signs, and signed by a team of the policy of its time.
 * Everything in it lives in the arena, but for the statement: statement_release. */
enum lynx_status ledger_read_entry(struct ledger *ledger, uint64_t index, struct arena *arena, struct ledger_entry *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;

/* The digest of the file that it records; NULL: it is no entry of a bundle. */
const uint8_t *ledger_entry_file(const struct ledger_entry *entry);
/* Where the entry of that hash stands. */
enum lynx_status ledger_find(struct ledger *ledger, const uint8_t leaf[DIGEST_BYTES], uint64_t *ret_index,
                             struct lynx_error *error) LYNX_MUST_CHECK;

enum { LEDGER_DIGITS_LEAST = 8 };
/* The one digest that begins with these digits, 8 at least, among those of entries ("") or of their subjects of that name ("bundle").
 * Errors   INPUT: no digits, too few, or more than one digest begins so; NOT_FOUND: none does */
enum lynx_status ledger_digest(struct ledger *ledger, const char *digits, const char *name, uint8_t ret[DIGEST_BYTES],
                               struct lynx_error *error) LYNX_MUST_CHECK;

/* The bytes alone, as they lie there; of all entries from one on, in few questions to the store. false: enough */
enum lynx_status ledger_entry_bytes(struct ledger *ledger, uint64_t index, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;
typedef bool ledger_bytes_visit(void *context, uint64_t index, struct bytes bytes);
enum lynx_status ledger_each_bytes(struct ledger *ledger, uint64_t from, ledger_bytes_visit *visit, void *context,
                                   struct lynx_error *error) LYNX_MUST_CHECK;

/* An entry that is visited was checked as ledger_read_entry does, and says itself what it was found by. What the index leaves out is not
 * found: an audit shows that it leaves out nothing. false: enough */
typedef bool ledger_visit(void *context, const struct ledger_entry *entry, const char *subject);
/* Every entry that speaks of a digest, in order; an entry's own hash is spoken of by itself, under the name "". */
enum lynx_status ledger_each_mention(struct ledger *ledger, const uint8_t digest[DIGEST_BYTES], ledger_visit *visit, void *context,
                                     struct lynx_error *error) LYNX_MUST_CHECK;
/* Read and checked by the batch: who takes a part at a time takes whole ones, or some of them are checked again. As many as a store gives in
 * its first two answers. */
enum { LEDGER_BATCH = 220 };
enum lynx_status ledger_each_entry(struct ledger *ledger, uint64_t from, ledger_visit *visit, void *context,
                                   struct lynx_error *error) LYNX_MUST_CHECK;

/* What the entries of bundles say of their runs, of one contract or of all (NULL), each contract's in the order of the ledger: as the index
 * has it, neither proved nor checked again; ledger_audit shows that it is what the entries say. false: enough */
struct ledger_run {
  uint64_t index;
  uint8_t contract[DIGEST_BYTES];
  struct bytes name; /* of the contract, by the summary; length 0: there is none */
  struct bytes said; /* JSON: {"name","bundle","file","summary"} as the entry has them; until it returns */
};
typedef bool ledger_run_visit(void *context, const struct ledger_run *run);
enum lynx_status ledger_each_run(struct ledger *ledger, const uint8_t *contract, ledger_run_visit *visit, void *context,
                                 struct lynx_error *error) LYNX_MUST_CHECK;

/* Hashes of subtrees, for proofs. */
struct merkle_source ledger_tree(struct ledger *ledger);

/* A proof of an entry as text: c2sp.org/tlog-proof@v1, with the checkpoint it leads to. */
enum lynx_status ledger_proof_text(struct ledger *ledger, uint64_t index, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Does the proof show that a log whose key this is holds an entry of that hash? */
enum lynx_status ledger_proof_check(struct bytes proof, const struct note_key *log, const uint8_t leaf[DIGEST_BYTES],
                                    struct checkpoint *ret_checkpoint, uint64_t *ret_index, struct lynx_error *error) LYNX_MUST_CHECK;

/* The whole of it from its bytes alone: every entry's hash, signature and admission under the policy of its time, every kept hash, the
 * newest checkpoint. The first thing that does not hold is the error. progress may be NULL. */
struct ledger_audit {
  uint64_t n_entries, n_hashes, n_signatures;
  struct checkpoint checkpoint;
};
enum lynx_status ledger_audit(struct ledger *ledger, bool signatures, struct ledger_audit *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
