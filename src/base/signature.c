#include "base/signature.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/key_agent.h"

enum { PEM_MAX = 65536 };

struct signing_key {
  EVP_PKEY *own;                           /* NULL: ssh-agent holds it */
  uint8_t public_key[SIGNATURE_KEY_BYTES]; /* of one that it holds */
};

/* Takes the key; NULL: no memory, or there was none. */
static struct signing_key *wrap(EVP_PKEY *own) {
  struct signing_key *key = own != NULL ? calloc(1, sizeof *key) : NULL;
  if (key == NULL) EVP_PKEY_free(own);
  else key->own = own;
  return key;
}

static enum lynx_status no_memory(struct lynx_error *error) {
  return lynx_fail(error, LYNX_LIMIT, "OpenSSL refuses: no memory");
}

enum lynx_status signing_key_make(struct signing_key **ret, struct lynx_error *error) {
  *ret = wrap(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"));
  return *ret != NULL ? LYNX_OK : no_memory(error);
}

struct signing_key *signing_key_of_seed(const uint8_t seed[SIGNATURE_KEY_BYTES]) {
  return wrap(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGNATURE_KEY_BYTES));
}

struct signing_key *signing_key_of_agent(const uint8_t public_key[SIGNATURE_KEY_BYTES]) {
  struct signing_key *key = calloc(1, sizeof *key);
  if (key != NULL) memcpy(key->public_key, public_key, SIGNATURE_KEY_BYTES);
  return key;
}

/* Asked only where the key is under one; never asks a person: there may be nobody at the terminal. */
static int give_passphrase(char *text, int size, int writing, void *context) {
  const char *passphrase = context;
  (void)writing;
  size_t n = passphrase != NULL ? strlen(passphrase) : 0;
  if (n == 0 || n > (size_t)size) return -1;
  memcpy(text, passphrase, n);
  return (int)n;
}

enum lynx_status signing_key_read(struct bytes pem, const char *passphrase, struct signing_key **ret, struct lynx_error *error) {
  BIO *bio = pem.length < PEM_MAX ? BIO_new_mem_buf(pem.ptr, (int)pem.length) : NULL;
  EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, (void *)(uintptr_t)passphrase) : NULL;
  bool under_passphrase = memmem(pem.ptr, pem.length, "ENCRYPTED", 9) != NULL;
  (void)BIO_free(bio);
  *ret = NULL;
  if (key != NULL && EVP_PKEY_is_a(key, "ED25519") == 1) {
    *ret = wrap(key);
    return *ret != NULL ? LYNX_OK : no_memory(error);
  }
  EVP_PKEY_free(key);
  if (key == NULL && under_passphrase)
    return lynx_fail(error, LYNX_INPUT, "the key is under a passphrase, and %s",
                     passphrase != NULL ? "the one given does not open it" : "none was given");
  return lynx_fail(
      error, LYNX_INPUT,
      "not an Ed25519 private key in PEM; `lynxbench ledger key TEAM` makes one, or `openssl genpkey -algorithm ed25519 -out key.pem`");
}

enum lynx_status signing_key_write(const struct signing_key *key, const char *passphrase, struct buffer *ret, struct lynx_error *error) {
  BIO *bio = BIO_new(BIO_s_secmem());
  bool good = bio != NULL && key->own != NULL &&
              PEM_write_bio_PKCS8PrivateKey(bio, key->own, passphrase != NULL ? EVP_aes_256_cbc() : NULL, NULL, 0, give_passphrase,
                                            (void *)(uintptr_t)passphrase) == 1;
  char *data = NULL;
  long n = good ? BIO_get_mem_data(bio, &data) : 0;
  good = good && n > 0 && buffer_append(ret, data, (size_t)n);
  (void)BIO_free(bio);
  return good ? LYNX_OK : no_memory(error);
}

/* Its public half must be had as bytes, too: signatures name it. */
static bool is_usable(EVP_PKEY *key) {
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  size_t n = sizeof public_key;
  return EVP_PKEY_is_a(key, "ED25519") == 1 && EVP_PKEY_get_raw_public_key(key, public_key, &n) == 1 && n == sizeof public_key;
}

enum lynx_status signing_key_of_token(const char *uri, const char *pin, struct signing_key **ret, struct lynx_error *error) {
  EVP_PKEY *key = NULL;
  *ret = NULL;
  if (OSSL_PROVIDER_load(NULL, "default") == NULL || OSSL_PROVIDER_load(NULL, "pkcs11") == NULL)
    return lynx_fail(error, LYNX_NOT_FOUND,
                     "OpenSSL has no provider pkcs11 here: Debian 13 has it in the package pkcs11-provider, Debian 12 not");
  UI_METHOD *ask = UI_UTIL_wrap_read_pem_callback(give_passphrase, 0);
  OSSL_STORE_CTX *store = OSSL_STORE_open(uri, ask, (void *)(uintptr_t)pin, NULL, NULL);
  while (store != NULL && key == NULL && OSSL_STORE_eof(store) != 1) {
    OSSL_STORE_INFO *info = OSSL_STORE_load(store);
    if (info == NULL) continue;
    if (OSSL_STORE_INFO_get_type(info) == OSSL_STORE_INFO_PKEY) key = OSSL_STORE_INFO_get1_PKEY(info);
    if (key != NULL && !is_usable(key)) {
      EVP_PKEY_free(key);
      key = NULL;
    }
    OSSL_STORE_INFO_free(info);
  }
  (void)OSSL_STORE_close(store);
  UI_destroy_method(ask);
  if (key == NULL)
    return lynx_fail(error, LYNX_NOT_FOUND, "the token has no Ed25519 key at '%.120s', or its PIN was not given rightly", uri);
  *ret = wrap(key);
  return *ret != NULL ? LYNX_OK : no_memory(error);
}

void signing_key_public(const struct signing_key *key, uint8_t ret[SIGNATURE_KEY_BYTES]) {
  size_t n = SIGNATURE_KEY_BYTES;
  lynx_assert(key != NULL);
  if (key->own == NULL) memcpy(ret, key->public_key, SIGNATURE_KEY_BYTES);
  else lynx_assert(EVP_PKEY_get_raw_public_key(key->own, ret, &n) == 1 && n == SIGNATURE_KEY_BYTES);
}

enum lynx_status signing_key_sign(const struct signing_key *key, struct bytes message, uint8_t ret[SIGNATURE_BYTES],
                                  struct lynx_error *error) {
  if (key->own == NULL) {
    enum lynx_status status = key_agent_sign(key->public_key, message, ret, error);
    if (status != LYNX_OK || signature_valid(key->public_key, ret, message)) return status;
    return lynx_fail(error, LYNX_PROTOCOL, "what ssh-agent gave is no signature of that message by that key");
  }
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  size_t length = SIGNATURE_BYTES;
  bool good = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key->own) == 1 &&
              EVP_DigestSign(context, ret, &length, (const uint8_t *)message.ptr, message.length) == 1 && length == SIGNATURE_BYTES;
  EVP_MD_CTX_free(context);
  return good ? LYNX_OK : no_memory(error);
}

void signing_key_release(struct signing_key *key) {
  if (key == NULL) return;
  EVP_PKEY_free(key->own);
  free(key);
}

bool signature_valid(const uint8_t key[SIGNATURE_KEY_BYTES], const uint8_t value[SIGNATURE_BYTES], struct bytes message) {
  EVP_PKEY *parsed = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, SIGNATURE_KEY_BYTES);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool good = parsed != NULL && context != NULL && EVP_DigestVerifyInit(context, NULL, NULL, NULL, parsed) == 1 &&
              EVP_DigestVerify(context, value, SIGNATURE_BYTES, (const uint8_t *)message.ptr, message.length) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(parsed);
  return good;
}

bool signature_public_pem(const uint8_t key[SIGNATURE_KEY_BYTES], struct buffer *ret) {
  EVP_PKEY *parsed = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, SIGNATURE_KEY_BYTES);
  BIO *bio = BIO_new(BIO_s_mem());
  char *data = NULL;
  bool good = parsed != NULL && bio != NULL && PEM_write_bio_PUBKEY(bio, parsed) == 1;
  long n = good ? BIO_get_mem_data(bio, &data) : 0;
  good = good && n > 0 && buffer_append(ret, data, (size_t)n);
  (void)BIO_free(bio);
  EVP_PKEY_free(parsed);
  return good;
}

enum lynx_status signature_make(struct bytes private_pem, struct bytes message, char ret_key[SIGNATURE_KEY_HEX],
                                char ret_value[SIGNATURE_HEX], struct lynx_error *error) {
  struct signing_key *key;
  uint8_t public_key[SIGNATURE_KEY_BYTES], value[SIGNATURE_BYTES];
  enum lynx_status status = signing_key_read(private_pem, NULL, &key, error);
  if (status != LYNX_OK) return status;
  signing_key_public(key, public_key);
  status = signing_key_sign(key, message, value, error);
  signing_key_release(key);
  if (status == LYNX_OK) {
    (void)hex_encode(public_key, sizeof public_key, ret_key);
    (void)hex_encode(value, sizeof value, ret_value);
  }
  return status;
}

bool signature_holds(const char *key, const char *value, struct bytes message) {
  uint8_t public_key[SIGNATURE_KEY_BYTES], signature[SIGNATURE_BYTES];
  return hex_decode(key, public_key, sizeof public_key) && hex_decode(value, signature, sizeof signature) &&
         signature_valid(public_key, signature, message);
}
