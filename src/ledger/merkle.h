/* ledger/merkle.h: the Merkle tree of a log (RFC 6962, 2.1): hashes, roots, and the two proofs.
 * Shapes   a hash is DIGEST_BYTES; a proof at most MERKLE_PROOF_MAX hashes, lowest level first
 * Result   a check returns false for whatever does not hold: lengths, indices and hashes alike
 * Source   RFC 6962, 2.1.1 and 2.1.2; the checks of proofs by bit patterns as RFC 9162, 2.1.3.2 and 2.1.4.2 have them
 * Threads  pure */
#ifndef LEDGER_MERKLE_H
#define LEDGER_MERKLE_H

#include "base/digest.h"

enum { MERKLE_PROOF_MAX = 64 };

struct merkle_proof {
  uint8_t hashes[MERKLE_PROOF_MAX][DIGEST_BYTES];
  size_t n;
};

void merkle_leaf(struct bytes data, uint8_t ret[DIGEST_BYTES]);
void merkle_node(const uint8_t left[DIGEST_BYTES], const uint8_t right[DIGEST_BYTES], uint8_t ret[DIGEST_BYTES]);

/* The perfect subtrees along the right edge, greatest first: all that appending needs. Zeroed: the empty tree. */
struct merkle_edge {
  uint64_t size;
  uint8_t hashes[64][DIGEST_BYTES];
};

/* Tells of every subtree that this leaf completed, from level 0 up: index counts subtrees of that level from the left. */
typedef enum lynx_status merkle_completed(void *context, unsigned level, uint64_t index, const uint8_t hash[DIGEST_BYTES],
                                          struct lynx_error *error);
enum lynx_status merkle_append(struct merkle_edge *edge, const uint8_t leaf[DIGEST_BYTES], merkle_completed *completed, void *context,
                               struct lynx_error *error) LYNX_MUST_CHECK; /* completed may be NULL */
void merkle_edge_root(const struct merkle_edge *edge, uint8_t ret[DIGEST_BYTES]);

bool merkle_inclusion_holds(uint64_t index, uint64_t size, const uint8_t leaf[DIGEST_BYTES], const uint8_t root[DIGEST_BYTES],
                            const struct merkle_proof *proof);
bool merkle_consistency_holds(uint64_t size1, uint64_t size2, const uint8_t root1[DIGEST_BYTES], const uint8_t root2[DIGEST_BYTES],
                              const struct merkle_proof *proof);

/* The hash of a whole subtree of 2^level leaves. */
typedef enum lynx_status merkle_read(void *context, unsigned level, uint64_t index, uint8_t ret[DIGEST_BYTES], struct lynx_error *error);

struct merkle_source {
  merkle_read *read;
  void *context;
};

/* size 0: the hash of nothing. */
enum lynx_status merkle_root(const struct merkle_source *source, uint64_t size, uint8_t ret[DIGEST_BYTES],
                             struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status merkle_edge_read(const struct merkle_source *source, uint64_t size, struct merkle_edge *ret,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* index < size */
enum lynx_status merkle_prove_inclusion(const struct merkle_source *source, uint64_t index, uint64_t size, struct merkle_proof *ret,
                                        struct lynx_error *error) LYNX_MUST_CHECK;
/* 0 < size1 <= size2 */
enum lynx_status merkle_prove_consistency(const struct merkle_source *source, uint64_t size1, uint64_t size2, struct merkle_proof *ret,
                                          struct lynx_error *error) LYNX_MUST_CHECK;

#endif
