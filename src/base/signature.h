/* base/signature.h: Ed25519 (RFC 8032), by OpenSSL. Keys are those of `openssl genpkey -algorithm ed25519`.
 * Shapes   public key 32 bytes, signature 64 bytes, both as lower-case hexadecimal text
 * Errors   INPUT: not an Ed25519 private key in PEM, or one under a passphrase; LIMIT: OpenSSL refuses (memory)
 * Memory   the private key is read from the caller's bytes and forgotten; the caller wipes them */
#ifndef BASE_SIGNATURE_H
#define BASE_SIGNATURE_H

#include "base/buffer.h"

enum { SIGNATURE_KEY_HEX = 65, SIGNATURE_HEX = 129 };

enum lynx_status signature_make(struct bytes private_pem, struct bytes message, char ret_key[SIGNATURE_KEY_HEX],
                                char ret_value[SIGNATURE_HEX], struct lynx_error *error) LYNX_MUST_CHECK;

/* Is value the signature of message by that key? False also for what is no key or no signature. */
bool signature_holds(const char *key, const char *value, struct bytes message);

#endif
