/* base/digest.h: SHA-256, by OpenSSL. Result 32 bytes; hexadecimal text of 64 digits and a 0.
 * Memory   none: OpenSSL's plain SHA-256 is used rather than its EVP layer, which allocates (and, in 3.0, crashes where an
 *          allocation of its own start-up fails: tests/e2e/test_fail.py found that) */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/buffer.h"

enum { DIGEST_BYTES = 32, DIGEST_HEX = 65 };

struct digest {
  uint64_t state[16]; /* room for OpenSSL's SHA256_CTX */
};

void digest_init(struct digest *digest);
void digest_update(struct digest *digest, const void *data, size_t length);
void digest_final(struct digest *digest, uint8_t ret[DIGEST_BYTES]);

void digest_of(const void *data, size_t length, uint8_t ret[DIGEST_BYTES]);
void digest_parts(const struct bytes *parts, size_t n, uint8_t ret[DIGEST_BYTES]); /* one after the other */
char *digest_hex(const uint8_t digest[DIGEST_BYTES], char text[DIGEST_HEX]);

/* SHA-1 of the parts, one after the other: git names its objects so. Nothing of ours rests on it. */
void digest_sha1(const struct bytes *parts, size_t n, uint8_t ret[20]);

/* Lower-case hexadecimal of any bytes: text holds 2 * length + 1. */
char *hex_encode(const uint8_t *data, size_t length, char *text);
/* Exactly that many bytes of lower-case hexadecimal, or false. */
bool hex_decode(const char *text, uint8_t *ret, size_t length);

#endif
