/* base/signature.h: Ed25519 (RFC 8032), by OpenSSL. Private keys are PKCS#8 in PEM, as `openssl genpkey -algorithm ed25519` writes them,
 * with or without a passphrase.
 * Shapes   public key 32 bytes, signature 64 bytes; in text lower-case hexadecimal
 * Errors   INPUT: not an Ed25519 private key in PEM, or its passphrase is missing or wrong; LIMIT: OpenSSL refuses (memory)
 * Memory   a signing_key is released by its reader; PEM that the caller read is wiped by the caller */
#ifndef BASE_SIGNATURE_H
#define BASE_SIGNATURE_H

#include "base/buffer.h"

enum { SIGNATURE_KEY_BYTES = 32, SIGNATURE_BYTES = 64, SIGNATURE_KEY_HEX = 65, SIGNATURE_HEX = 129 };

struct signing_key; /* a private key, or the way to one */

enum lynx_status signing_key_make(struct signing_key **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* passphrase NULL: none is known. */
enum lynx_status signing_key_read(struct bytes pem, const char *passphrase, struct signing_key **ret,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* One that ssh-agent holds (base/key_agent.h); NULL: no memory. */
struct signing_key *signing_key_of_agent(const uint8_t public_key[SIGNATURE_KEY_BYTES]);
/* One that a PKCS#11 token holds, by its URI (RFC 7512), through OpenSSL's provider of that name; pin NULL: none is known. NOT_FOUND: there
 * is no such provider, token or Ed25519 key. */
enum lynx_status signing_key_of_token(const char *uri, const char *pin, struct signing_key **ret, struct lynx_error *error) LYNX_MUST_CHECK;
struct signing_key *signing_key_of_seed(const uint8_t seed[SIGNATURE_KEY_BYTES]); /* NULL: no memory */
/* PKCS#8 PEM, under the passphrase (AES-256) where there is one. */
enum lynx_status signing_key_write(const struct signing_key *key, const char *passphrase, struct buffer *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
void signing_key_public(const struct signing_key *key, uint8_t ret[SIGNATURE_KEY_BYTES]);
enum lynx_status signing_key_sign(const struct signing_key *key, struct bytes message, uint8_t ret[SIGNATURE_BYTES],
                                  struct lynx_error *error) LYNX_MUST_CHECK;
void signing_key_release(struct signing_key *key);

/* Is value the signature of message by that key? */
bool signature_valid(const uint8_t key[SIGNATURE_KEY_BYTES], const uint8_t value[SIGNATURE_BYTES], struct bytes message);
/* The public key as PEM, for `openssl pkeyutl -verify -rawin`. */
bool signature_public_pem(const uint8_t key[SIGNATURE_KEY_BYTES], struct buffer *ret);

/* The same in hexadecimal: one signature by a key without a passphrase. */
enum lynx_status signature_make(struct bytes private_pem, struct bytes message, char ret_key[SIGNATURE_KEY_HEX],
                                char ret_value[SIGNATURE_HEX], struct lynx_error *error) LYNX_MUST_CHECK;
/* False also for what is no key or no signature. */
bool signature_holds(const char *key, const char *value, struct bytes message);

#endif
