#include <string.h>

#include "ledger/ledger_private.h"

static void key_put(struct ledger_key *key, const void *data, size_t length) {
  memcpy(key->bytes + key->length, data, length);
  key->length += length;
}

static void key_put_number(struct ledger_key *key, uint64_t value, int n_bytes) {
  for (int i = n_bytes; i-- > 0;) key->bytes[key->length++] = (char)(value >> (8 * i));
}

uint64_t ledger_key_number(struct bytes key, size_t at, size_t n_bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < n_bytes; i++) value = value << 8 | (uint8_t)key.ptr[at + i];
  return value;
}

struct bytes ledger_key_bytes(const struct ledger_key *key) {
  return (struct bytes){key->bytes, key->length};
}

struct ledger_key ledger_key_entry(uint64_t index) {
  struct ledger_key key = {.length = 0};
  key_put_number(&key, index, INDEX_BYTES);
  return key;
}

struct ledger_key ledger_key_level(unsigned level) {
  struct ledger_key key = {.length = 0};
  key_put_number(&key, level, 1);
  return key;
}

struct ledger_key ledger_key_hash(unsigned level, uint64_t index) {
  struct ledger_key key = ledger_key_level(level);
  key_put_number(&key, index, INDEX_BYTES);
  return key;
}

struct ledger_key ledger_key_mention(const uint8_t digest[DIGEST_BYTES], uint64_t index) {
  struct ledger_key key = {.length = 0};
  key_put(&key, digest, DIGEST_BYTES);
  key_put_number(&key, index, INDEX_BYTES);
  return key;
}

struct ledger_key ledger_key_size(uint64_t size) {
  struct ledger_key key = {.length = 0};
  key_put_number(&key, size, INDEX_BYTES);
  return key;
}

struct ledger_key ledger_key_checkpoint(uint64_t size, uint64_t count) {
  struct ledger_key key = ledger_key_size(size);
  key_put_number(&key, count, COUNT_BYTES);
  return key;
}

enum lynx_status ledger_get(struct ledger *l, enum store_space space, const struct ledger_key *key, struct buffer *ret,
                            struct lynx_error *error) {
  return l->store->table->get(l->store, space, ledger_key_bytes(key), ret, error);
}

enum lynx_status ledger_append(struct ledger *l, enum store_space space, const struct ledger_key *key, struct bytes value,
                               struct lynx_error *error) {
  return l->store->table->append(l->store, space, ledger_key_bytes(key), value, error);
}
