/* cli/text_file.h: a text that another tool wrote, as people have it: plain, packed with gzip, with a byte-order mark.
 * Result   what it holds, ended by a 0, never NULL; its digest is that of the file's own bytes
 * Errors   false, and reported: unreadable; above the limit, packed or unpacked; not gzip inside; UTF-16; a byte 0 */
#ifndef CLI_TEXT_FILE_H
#define CLI_TEXT_FILE_H

#include "base/buffer.h"
#include "base/digest.h"

/* ret_digest may be NULL. On true ret is the caller's to release. */
bool text_file_read(const char *path, size_t limit, struct buffer *ret, char ret_digest[DIGEST_HEX]);

#endif
