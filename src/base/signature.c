#include "base/signature.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "base/digest.h"

enum { KEY_BYTES = 32, VALUE_BYTES = 64 };

/* A key under a passphrase is refused rather than asked for: there may be nobody at the terminal. */
static int no_passphrase(char *text, int size, int writing, void *context) {
  (void)text, (void)size, (void)writing, (void)context;
  return 0;
}

static bool sign(EVP_PKEY *key, struct bytes message, uint8_t public_key[KEY_BYTES], uint8_t value[VALUE_BYTES]) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  size_t key_length = KEY_BYTES, length = VALUE_BYTES;
  bool good = context != NULL && EVP_PKEY_get_raw_public_key(key, public_key, &key_length) == 1 && key_length == KEY_BYTES &&
              EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
              EVP_DigestSign(context, value, &length, (const uint8_t *)message.ptr, message.length) == 1 && length == VALUE_BYTES;
  EVP_MD_CTX_free(context);
  return good;
}

enum lynx_status signature_make(struct bytes private_pem, struct bytes message, char ret_key[SIGNATURE_KEY_HEX],
                                char ret_value[SIGNATURE_HEX], struct lynx_error *error) {
  uint8_t public_key[KEY_BYTES], value[VALUE_BYTES];
  BIO *bio = private_pem.length < 65536 ? BIO_new_mem_buf(private_pem.ptr, (int)private_pem.length) : NULL;
  EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
  enum lynx_status status = LYNX_OK;
  if (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519)
    status = lynx_fail(
        error, LYNX_INPUT,
        "not an Ed25519 private key in PEM without a passphrase; `openssl genpkey -algorithm ed25519 -out key.pem` makes one");
  else if (!sign(key, message, public_key, value)) status = lynx_fail(error, LYNX_LIMIT, "OpenSSL cannot sign: no memory");
  if (status == LYNX_OK) {
    (void)hex_encode(public_key, sizeof public_key, ret_key);
    (void)hex_encode(value, sizeof value, ret_value);
  }
  EVP_PKEY_free(key);
  (void)BIO_free(bio);
  return status;
}

/* Exactly n bytes of lower-case hexadecimal. */
static bool decode(const char *text, uint8_t *ret, size_t n) {
  static const char digits[] = "0123456789abcdef";
  if (strlen(text) != 2 * n || strspn(text, digits) != 2 * n) return false;
  for (size_t i = 0; i < n; i++)
    ret[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
  return true;
}

bool signature_holds(const char *key, const char *value, struct bytes message) {
  uint8_t public_key[KEY_BYTES], signature[VALUE_BYTES];
  if (!decode(key, public_key, sizeof public_key) || !decode(value, signature, sizeof signature)) return false;
  EVP_PKEY *parsed = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, sizeof public_key);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool good = parsed != NULL && context != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, parsed) == 1 &&
              EVP_DigestVerify(context, signature, sizeof signature, (const uint8_t *)message.ptr, message.length) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(parsed);
  return good;
}
