#define OPENSSL_SUPPRESS_DEPRECATED /* digest.h says why the plain functions */
#include "base/digest.h"

#include <openssl/sha.h>
#include <string.h>

#include "base/buffer.h"

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct digest), "struct digest has room for OpenSSL's");

static SHA256_CTX *context_of(struct digest *digest) {
  return (SHA256_CTX *)(void *)digest->state;
}

void digest_init(struct digest *digest) {
  (void)SHA256_Init(context_of(digest)); /* the three cannot fail: they allocate nothing and check nothing */
}

void digest_update(struct digest *digest, const void *data, size_t length) {
  (void)SHA256_Update(context_of(digest), data, length);
}

void digest_final(struct digest *digest, uint8_t ret[DIGEST_BYTES]) {
  (void)SHA256_Final(ret, context_of(digest));
}

void digest_sha1(const struct bytes *parts, size_t n, uint8_t ret[20]) {
  SHA_CTX sha;
  (void)SHA1_Init(&sha);
  for (size_t i = 0; i < n; i++) (void)SHA1_Update(&sha, parts[i].ptr, parts[i].length);
  (void)SHA1_Final(ret, &sha);
}

void digest_of(const void *data, size_t length, uint8_t ret[DIGEST_BYTES]) {
  struct digest digest = {{0}};
  digest_init(&digest);
  digest_update(&digest, data, length);
  digest_final(&digest, ret);
}

void digest_parts(const struct bytes *parts, size_t n, uint8_t ret[DIGEST_BYTES]) {
  struct digest digest = {{0}};
  digest_init(&digest);
  for (size_t i = 0; i < n; i++) digest_update(&digest, parts[i].ptr, parts[i].length);
  digest_final(&digest, ret);
}

char *hex_encode(const uint8_t *data, size_t length, char *text) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < length; i++) {
    text[2 * i] = digits[data[i] >> 4];
    text[2 * i + 1] = digits[data[i] & 15];
  }
  text[2 * length] = 0;
  return text;
}

bool hex_decode(const char *text, uint8_t *ret, size_t length) {
  static const char digits[] = "0123456789abcdef";
  if (strlen(text) != 2 * length || strspn(text, digits) != 2 * length) return false;
  for (size_t i = 0; i < length; i++)
    ret[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
  return true;
}

char *digest_hex(const uint8_t digest[DIGEST_BYTES], char text[DIGEST_HEX]) {
  return hex_encode(digest, DIGEST_BYTES, text);
}
