/* ledger/blob.h: files kept in a ledger's store under their SHA-256, in parts.
 * Errors   NOT_FOUND: no such blob; PROTOCOL: its bytes are not those of its name; IO
 * Limits   BLOB_MAX bytes */
#ifndef LEDGER_BLOB_H
#define LEDGER_BLOB_H

#include "base/digest.h"
#include "ledger/store.h"

enum { BLOB_PART = 1 << 18 };
#define BLOB_MAX ((int64_t)8 << 30)
#define BLOB_SENT_MAX ((int64_t)1 << 30) /* over HTTP, in either direction */

/* The digest of a file's bytes; its length. */
enum lynx_status blob_digest_file(const char *path, uint8_t ret[DIGEST_BYTES], int64_t *ret_length,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* In a transaction of its own; what is there already is not written again. */
enum lynx_status blob_put_file(struct store *store, const char *path, uint8_t ret[DIGEST_BYTES], struct lynx_error *error) LYNX_MUST_CHECK;
/* Where the digest is known beforehand. INPUT: the bytes have another, and nothing is kept. */
enum lynx_status blob_put_as(struct store *store, const uint8_t digest[DIGEST_BYTES], const char *path,
                             struct lynx_error *error) LYNX_MUST_CHECK;
/* The same of a file that nobody writes to, in many short transactions, so that others come between them. It is known once it is whole;
 * what an end before that left is gone on with. */
enum lynx_status blob_put_in_steps(struct store *store, const uint8_t digest[DIGEST_BYTES], const char *path,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status blob_put_bytes(struct store *store, const uint8_t digest[DIGEST_BYTES], struct bytes bytes,
                                struct lynx_error *error) LYNX_MUST_CHECK;
bool blob_known(struct store *store, const uint8_t digest[DIGEST_BYTES]);
/* The part-th piece of BLOB_PART bytes (the last one is shorter), unchecked: whoever reads all of it checks the digest. NOT_FOUND: none */
enum lynx_status blob_part(struct store *store, const uint8_t digest[DIGEST_BYTES], uint32_t part, struct buffer *ret,
                           struct lynx_error *error) LYNX_MUST_CHECK;
/* Its length, by its parts; -1: none is kept. */
int64_t blob_length(struct store *store, const uint8_t digest[DIGEST_BYTES]);
/* To a temporary name beside it, checked, then renamed; an existing file is never overwritten. */
enum lynx_status blob_get_file(struct store *store, const uint8_t digest[DIGEST_BYTES], const char *path,
                               struct lynx_error *error) LYNX_MUST_CHECK;

#endif
