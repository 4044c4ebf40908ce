/* base/base64.h: base64 with padding (RFC 4648).
 * Errors   decoding accepts the ordinary and the URL-safe alphabet, not mixed; anything else, missing padding or bits left over: false */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buffer.h"

bool base64_encode(struct buffer *out, const void *data, size_t length);
bool base64_decode(struct buffer *out, const char *text, size_t length);

#endif
