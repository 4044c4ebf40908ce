/* The tree of RFC 6962: Certificate Transparency's eight leaves; 98 + 98 proofs, most of them wrong; and, for every pair of sizes up to 70,
 * proofs made here that hold, and no longer hold with any one bit changed. */
#include "ledger/merkle.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/root.h"
#include "tests/check.h"

static const struct {
  const char *leaf;
  size_t length;
  const char *root_begins; /* of the tree that ends with this leaf */
} leaves[] = {{"", 0, "6e340b9c"},         {"\0", 1, "fac54203"},
              {"\x10", 1, "aeb6bcfe"},     {"\x20\x21", 2, "d37ee418"},
              {"\x30\x31", 2, "4e3bbb1f"}, {"\x40\x41\x42\x43", 4, "76e67dad"},
              {"PQRSTUVW", 8, "ddb89be4"}, {"`abcdefghijklmno", 16, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"}};

static void check_roots(void) {
  struct merkle_edge edge = {0};
  struct lynx_error error = {0};
  uint8_t hash[DIGEST_BYTES];
  char text[DIGEST_HEX];
  merkle_edge_root(&edge, hash);
  CHECK_TEXT(digest_hex(hash, text), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (size_t i = 0; i < LYNX_COUNT(leaves); i++) {
    merkle_leaf((struct bytes){leaves[i].leaf, leaves[i].length}, hash);
    CHECK_INT(merkle_append(&edge, hash, NULL, NULL, &error), LYNX_OK);
    merkle_edge_root(&edge, hash);
    CHECK(strncmp(digest_hex(hash, text), leaves[i].root_begins, strlen(leaves[i].root_begins)) == 0);
  }
  merkle_leaf(bytes_of("L123456"), hash);
  CHECK_TEXT(digest_hex(hash, text), "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56");
}

/* --- published proofs --- */

/* Some rows hold words in place of hashes («don't care»): any hash that is the same for the same words will do. */
static bool decode_hash(const char *text, uint8_t ret[DIGEST_BYTES]) {
  struct buffer decoded;
  buffer_init(&decoded, 256);
  bool good = text[0] != 0 && base64_decode(&decoded, text, strlen(text));
  if (good && decoded.length == DIGEST_BYTES) memcpy(ret, decoded.data, DIGEST_BYTES);
  else digest_of(text, strlen(text), ret);
  buffer_release(&decoded);
  return good;
}

static bool decode_proof(const json_t *array, struct merkle_proof *ret) {
  const json_t *one;
  size_t i;
  bool good = json_array_size(array) <= MERKLE_PROOF_MAX;
  ret->n = 0;
  if (good) json_array_foreach(array, i, one) good = good && decode_hash(json_string_value(one), ret->hashes[ret->n++]);
  return good;
}

static void check_published(const char *file, bool inclusion) {
  const struct root root = {""};
  struct buffer text;
  struct lynx_error error = {0};
  const json_t *row;
  size_t i;
  buffer_init(&text, 1 << 20);
  CHECK_INT(root_read(&root, file, &text, &error), LYNX_OK);
  json_t *rows = json_parse(text.data, text.length, text.length, &error);
  CHECK_INT(json_array_size(rows), 98);
  json_array_foreach(rows, i, row) {
    uint8_t one[DIGEST_BYTES], two[DIGEST_BYTES];
    struct merkle_proof proof;
    bool good = decode_proof(json_object_get(row, "proof"), &proof) &&
                decode_hash(json_get_text(row, inclusion ? "leafHash" : "root1", ""), one) &&
                decode_hash(json_get_text(row, inclusion ? "root" : "root2", ""), two);
    uint64_t a = (uint64_t)json_get_int(row, inclusion ? "leafIdx" : "size1", -1);
    uint64_t b = (uint64_t)json_get_int(row, inclusion ? "treeSize" : "size2", -1);
    good = good && (inclusion ? merkle_inclusion_holds(a, b, one, two, &proof) : merkle_consistency_holds(a, b, one, two, &proof));
    bool wanted = !json_get_bool(row, "wantErr", false);
    if (good != wanted) (void)printf("%s %zu: %s\n", file, i, json_get_text(row, "desc", "?"));
    CHECK(good == wanted);
  }
  json_decref(rows);
  buffer_release(&text);
}

/* --- our own --- */

enum { N = 70 };
static uint8_t tree[8][N][DIGEST_BYTES];

static enum lynx_status keep(void *context, unsigned level, uint64_t index, const uint8_t hash[DIGEST_BYTES], struct lynx_error *error) {
  (void)context, (void)error;
  memcpy(tree[level][index], hash, DIGEST_BYTES);
  return LYNX_OK;
}

static enum lynx_status give(void *context, unsigned level, uint64_t index, uint8_t ret[DIGEST_BYTES], struct lynx_error *error) {
  (void)context, (void)error;
  memcpy(ret, tree[level][index], DIGEST_BYTES);
  return LYNX_OK;
}

/* Any bit of a proof: one in each byte, which one going round. */
static void check_bits(uint64_t a, uint64_t b, const uint8_t one[DIGEST_BYTES], const uint8_t two[DIGEST_BYTES], struct merkle_proof *proof,
                       bool inclusion) {
  size_t n_held = 0;
  for (size_t i = 0; i < proof->n * DIGEST_BYTES; i++) {
    uint8_t *byte = &proof->hashes[i / DIGEST_BYTES][i % DIGEST_BYTES], bit = (uint8_t)(1 << (i % 8));
    *byte ^= bit;
    n_held += inclusion ? merkle_inclusion_holds(a, b, one, two, proof) : merkle_consistency_holds(a, b, one, two, proof);
    *byte ^= bit;
  }
  CHECK_INT(n_held, 0);
}

static void check_own(void) {
  const struct merkle_source source = {give, NULL};
  static uint8_t roots[N + 1][DIGEST_BYTES];
  struct merkle_edge edge = {0}, read;
  struct merkle_proof proof;
  struct lynx_error error = {0};
  for (uint64_t i = 0; i < N; i++) {
    uint8_t leaf[DIGEST_BYTES];
    merkle_leaf((struct bytes){(const char *)&i, sizeof i}, leaf);
    CHECK_INT(merkle_append(&edge, leaf, keep, NULL, &error), LYNX_OK);
    merkle_edge_root(&edge, roots[i + 1]);
    CHECK_INT(merkle_edge_read(&source, i + 1, &read, &error), LYNX_OK);
    CHECK(memcmp(&read, &edge, sizeof read.size + (size_t)__builtin_popcountll(i + 1) * DIGEST_BYTES) == 0);
  }
  for (uint64_t size = 1; size <= N; size++) {
    for (uint64_t i = 0; i < size; i++) {
      CHECK_INT(merkle_prove_inclusion(&source, i, size, &proof, &error), LYNX_OK);
      CHECK(merkle_inclusion_holds(i, size, tree[0][i], roots[size], &proof));
      if (size > 1) CHECK(!merkle_inclusion_holds((i + 1) % size, size, tree[0][i], roots[size], &proof));
      if (size % 9 == 0 && i % 7 == 0) check_bits(i, size, tree[0][i], roots[size], &proof, true);
    }
    for (uint64_t old = 1; old <= size; old++) {
      CHECK_INT(merkle_prove_consistency(&source, old, size, &proof, &error), LYNX_OK);
      CHECK(merkle_consistency_holds(old, size, roots[old], roots[size], &proof));
      if (old < size) CHECK(!merkle_consistency_holds(old, size, roots[old - 1 > 0 ? old - 1 : size], roots[size], &proof));
      if (size % 9 == 0 && old % 7 == 0) check_bits(old, size, roots[old], roots[size], &proof, false);
    }
  }
}

int main(void) {
  check_roots();
  check_published(RECORDED "/ledger/inclusion.json", true);
  check_published(RECORDED "/ledger/consistency.json", false);
  check_own();
  return check_end();
}
