#include "base/digest.h"

#include <openssl/evp.h>

void digest_init(struct digest *digest) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  lynx_assert(context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
  digest->context = context;
}

void digest_update(struct digest *digest, const void *data, size_t length) {
  lynx_assert(EVP_DigestUpdate(digest->context, data, length) == 1);
}

void digest_final(struct digest *digest, uint8_t ret[DIGEST_BYTES]) {
  lynx_assert(EVP_DigestFinal_ex(digest->context, ret, NULL) == 1);
  digest_release(digest);
}

void digest_release(struct digest *digest) {
  EVP_MD_CTX_free(digest->context);
  digest->context = NULL;
}

void digest_of(const void *data, size_t length, uint8_t ret[DIGEST_BYTES]) {
  struct digest digest;
  digest_init(&digest);
  digest_update(&digest, data, length);
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

char *digest_hex(const uint8_t digest[DIGEST_BYTES], char text[DIGEST_HEX]) {
  return hex_encode(digest, DIGEST_BYTES, text);
}
