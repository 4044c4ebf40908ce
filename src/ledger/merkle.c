#include "ledger/merkle.h"

#include <string.h>

void merkle_leaf(struct bytes data, uint8_t ret[DIGEST_BYTES]) {
  const struct bytes parts[2] = {{"\0", 1}, data};
  digest_parts(parts, 2, ret);
}

void merkle_node(const uint8_t left[DIGEST_BYTES], const uint8_t right[DIGEST_BYTES], uint8_t ret[DIGEST_BYTES]) {
  const struct bytes parts[3] = {{"\1", 1}, {(const char *)left, DIGEST_BYTES}, {(const char *)right, DIGEST_BYTES}};
  digest_parts(parts, 3, ret);
}

enum lynx_status merkle_append(struct merkle_edge *edge, const uint8_t leaf[DIGEST_BYTES], merkle_completed *completed, void *context,
                               struct lynx_error *error) {
  uint8_t hash[DIGEST_BYTES];
  enum lynx_status status = LYNX_OK;
  memcpy(hash, leaf, DIGEST_BYTES);
  int n = __builtin_popcountll(edge->size);
  unsigned level = 0;
  /* As a binary counter: every 1 at the end of the old size is a subtree that the new one joins from the right. */
  for (uint64_t index = edge->size;; index >>= 1, level++) {
    if (completed != NULL) status = completed(context, level, index, hash, error);
    if (status != LYNX_OK) return status;
    if ((index & 1) == 0) break;
    merkle_node(edge->hashes[--n], hash, hash);
  }
  memcpy(edge->hashes[n], hash, DIGEST_BYTES);
  edge->size++;
  return LYNX_OK;
}

void merkle_edge_root(const struct merkle_edge *edge, uint8_t ret[DIGEST_BYTES]) {
  int n = __builtin_popcountll(edge->size);
  if (n == 0) {
    digest_parts(NULL, 0, ret);
    return;
  }
  memcpy(ret, edge->hashes[n - 1], DIGEST_BYTES);
  for (int i = n - 1; i-- > 0;) merkle_node(edge->hashes[i], ret, ret);
}

static unsigned bit_length(uint64_t n) {
  return n == 0 ? 0 : 64 - (unsigned)__builtin_clzll(n);
}

/* The inner part of a path, where bits of the index say which side; then the border, where all neighbours stand left. */
static void climb(uint64_t index, unsigned n_inner, const uint8_t (*hashes)[DIGEST_BYTES], size_t n, uint8_t hash[DIGEST_BYTES]) {
  for (unsigned i = 0; i < n; i++)
    if (i < n_inner && (index >> i & 1) == 0) merkle_node(hash, hashes[i], hash);
    else merkle_node(hashes[i], hash, hash);
}

bool merkle_inclusion_holds(uint64_t index, uint64_t size, const uint8_t leaf[DIGEST_BYTES], const uint8_t root[DIGEST_BYTES],
                            const struct merkle_proof *proof) {
  if (index >= size) return false;
  unsigned n_inner = bit_length(index ^ (size - 1)), n_border = n_inner < 64 ? (unsigned)__builtin_popcountll(index >> n_inner) : 0;
  if (proof->n != n_inner + n_border) return false;
  uint8_t hash[DIGEST_BYTES];
  memcpy(hash, leaf, DIGEST_BYTES);
  climb(index, n_inner, proof->hashes, proof->n, hash);
  return memcmp(hash, root, DIGEST_BYTES) == 0;
}

bool merkle_consistency_holds(uint64_t size1, uint64_t size2, const uint8_t root1[DIGEST_BYTES], const uint8_t root2[DIGEST_BYTES],
                              const struct merkle_proof *proof) {
  if (size1 == 0 || size1 > size2) return false; /* everything follows from nothing: such a proof would show nothing */
  if (size1 == size2) return proof->n == 0 && memcmp(root1, root2, DIGEST_BYTES) == 0;
  unsigned shift = (unsigned)__builtin_ctzll(size1), inner = bit_length((size1 - 1) ^ (size2 - 1));
  lynx_assert(inner >= shift);
  unsigned n_inner = inner - shift;
  uint64_t mask = (size1 - 1) >> shift;
  unsigned n_border = n_inner < 64 ? (unsigned)__builtin_popcountll(mask >> n_inner) : 0;
  bool from_root = size1 == (uint64_t)1 << shift; /* the old tree is one whole subtree of the new one: its root is the seed */
  size_t first = from_root ? 0 : 1;
  if (proof->n != first + n_inner + n_border) return false;
  uint8_t old[DIGEST_BYTES], new[DIGEST_BYTES];
  memcpy(old, from_root ? root1 : proof->hashes[0], DIGEST_BYTES);
  memcpy(new, old, DIGEST_BYTES);
  for (unsigned i = 0; i < n_inner + n_border; i++)
    if (i >= n_inner || (mask >> i & 1) == 1) merkle_node(proof->hashes[first + i], old, old);
  climb(mask, n_inner, proof->hashes + first, n_inner + n_border, new);
  return memcmp(old, root1, DIGEST_BYTES) == 0 && memcmp(new, root2, DIGEST_BYTES) == 0;
}

/* The greatest power of two below n; n >= 2. */
static uint64_t split_of(uint64_t n) {
  lynx_assert(n >= 2);
  return (uint64_t)1 << (bit_length(n - 1) - 1);
}

/* The root over the leaves [begin, begin + n): whole subtrees are read, the ragged right edge is put together. */
static enum lynx_status range_root(const struct merkle_source *source, uint64_t begin, uint64_t n, uint8_t ret[DIGEST_BYTES],
                                   struct lynx_error *error) {
  struct merkle_edge edge = {.size = n};
  int k = 0;
  for (int level = 63; level >= 0; level--) {
    if ((n >> level & 1) == 0) continue;
    enum lynx_status status = source->read(source->context, (unsigned)level, begin >> level, edge.hashes[k++], error);
    if (status != LYNX_OK) return status;
    begin += (uint64_t)1 << level;
  }
  merkle_edge_root(&edge, ret);
  return LYNX_OK;
}

enum lynx_status merkle_root(const struct merkle_source *source, uint64_t size, uint8_t ret[DIGEST_BYTES], struct lynx_error *error) {
  return range_root(source, 0, size, ret, error);
}

enum lynx_status merkle_edge_read(const struct merkle_source *source, uint64_t size, struct merkle_edge *ret, struct lynx_error *error) {
  uint64_t begin = 0;
  int k = 0;
  *ret = (struct merkle_edge){.size = size};
  for (int level = 63; level >= 0; level--) {
    if ((size >> level & 1) == 0) continue;
    enum lynx_status status = source->read(source->context, (unsigned)level, begin >> level, ret->hashes[k++], error);
    if (status != LYNX_OK) return status;
    begin += (uint64_t)1 << level;
  }
  return LYNX_OK;
}

static void reverse(struct merkle_proof *proof, size_t from) {
  for (size_t i = from, k = proof->n; i + 1 < k; i++) {
    uint8_t kept[DIGEST_BYTES];
    memcpy(kept, proof->hashes[i], DIGEST_BYTES);
    memcpy(proof->hashes[i], proof->hashes[--k], DIGEST_BYTES);
    memcpy(proof->hashes[k], kept, DIGEST_BYTES);
  }
}

/* From the root down; the proof is written from the leaf up, so it is turned round at the end. */
enum lynx_status merkle_prove_inclusion(const struct merkle_source *source, uint64_t index, uint64_t size, struct merkle_proof *ret,
                                        struct lynx_error *error) {
  lynx_assert(index < size);
  uint64_t begin = 0;
  ret->n = 0;
  while (size > 1) {
    uint64_t left = split_of(size);
    bool go_left = index - begin < left;
    enum lynx_status status = range_root(source, go_left ? begin + left : begin, go_left ? size - left : left, ret->hashes[ret->n++],
                                         error);
    if (status != LYNX_OK) return status;
    begin += go_left ? 0 : left;
    size = go_left ? left : size - left;
  }
  reverse(ret, 0);
  return LYNX_OK;
}

/* SUBPROOF of RFC 6962, 2.1.2, as a loop. */
enum lynx_status merkle_prove_consistency(const struct merkle_source *source, uint64_t size1, uint64_t size2, struct merkle_proof *ret,
                                          struct lynx_error *error) {
  lynx_assert(size1 > 0 && size1 <= size2);
  enum lynx_status status = LYNX_OK;
  uint64_t begin = 0, m = size1, n = size2;
  bool whole = true; /* the old tree's root is known to whoever checks */
  ret->n = 0;
  while (m < n && status == LYNX_OK) {
    uint64_t left = split_of(n);
    bool go_left = m <= left;
    status = range_root(source, go_left ? begin + left : begin, go_left ? n - left : left, ret->hashes[ret->n++], error);
    if (go_left) n = left;
    else begin += left, m -= left, n -= left, whole = false;
  }
  if (status == LYNX_OK && !whole) status = range_root(source, begin, n, ret->hashes[ret->n++], error);
  reverse(ret, 0);
  return status;
}
