/* executor/file_digest.h: SHA-256 of large files, remembered.
 * A digest that was computed once is kept in CACHE/lynxbench/digests (CACHE: $XDG_CACHE_HOME, else $HOME/.cache), by device, inode, size,
 * mtime and ctime: a file that was changed has another mtime or ctime. Who wants to be sure computes it anew (file_digest_anew).
 * Result   64 hexadecimal digits, as sha256sum prints them
 * Errors   false: the file cannot be read, is larger than the budget and not remembered, or is above 1 GiB
 *          and mostly holes */
#ifndef EXECUTOR_FILE_DIGEST_H
#define EXECUTOR_FILE_DIGEST_H

#include "base/digest.h"

/* fd: open for reading. budget: bytes that may still be read for digests; what is read is taken from it, what is remembered is not. */
bool file_digest(int fd, int64_t *budget, char ret[DIGEST_HEX]);

/* Read whole, whatever was remembered; what was remembered and is wrong is replaced. */
bool file_digest_anew(int fd, char ret[DIGEST_HEX]);

/* RFC 6962's tree over leaves, whose order the caller gives: nodes are SHA-256(1, left, right), leaves SHA-256(0, data). */
struct digest_leaf {
  uint8_t hash[DIGEST_BYTES];
};
void digest_tree(const struct digest_leaf *leaves, size_t n, uint8_t ret[DIGEST_BYTES]);
void digest_leaf_of(const void *data, size_t length, struct digest_leaf *ret);

#endif
