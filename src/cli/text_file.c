#include "cli/text_file.h"

#include <string.h>
#include <zlib.h>

#include "base/known_file.h"
#include "cli/output.h"

enum {
  GZIP_WINDOW = 15 + 16,
  PIECE = 65536,
  HEAD_MAX = 65536,
  BINARY_WITHIN = 100,
  BOMB_LEAST = 64 << 20,
  BOMB_TIMES = 100
}; /* zlib's number for gzip with the greatest window */

/* False: why not. A file may hold several members, one behind the other. */
static const char *unpack(const struct buffer *packed, struct buffer *ret) {
  z_stream stream = {.next_in = (unsigned char *)packed->data, .avail_in = (unsigned)packed->length};
  unsigned char piece[PIECE];
  const char *why = NULL;
  if (packed->length > UINT32_MAX || inflateInit2(&stream, GZIP_WINDOW) != Z_OK) return "it cannot be unpacked";
  for (bool whole = false; why == NULL && !whole;) {
    stream.next_out = piece;
    stream.avail_out = sizeof piece;
    int code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) why = code == Z_BUF_ERROR ? "the gzip file ends too early" : "it is no gzip file inside";
    else if (ret->length > BOMB_LEAST && ret->length / BOMB_TIMES > packed->length) why = "it unpacks to more than 100 times its size";
    else if (!buffer_append(ret, piece, sizeof piece - stream.avail_out)) why = "unpacked it is larger than such a file may be";
    else if (code == Z_STREAM_END) {
      whole = stream.avail_in == 0;
      if (!whole && inflateReset(&stream) != Z_OK) why = "it cannot be unpacked";
    }
  }
  (void)inflateEnd(&stream);
  return why;
}

/* NULL: it is a text; the byte-order mark of UTF-8 is taken away. */
static const char *check_text(struct buffer *text) {
  const unsigned char *head = (const unsigned char *)text->data;
  bool two = text->length >= 2, utf16 = two && ((head[0] == 0xff && head[1] == 0xfe) || (head[0] == 0xfe && head[1] == 0xff));
  if (utf16) return "found UTF-16; accepted: UTF-8 (`iconv -f UTF-16 -t UTF-8` makes it)";
  if (memchr(text->data, 0, text->length) != NULL) return "found a byte 0; accepted: text";
  if (text->length >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0) {
    memmove(text->data, text->data + 3, text->length - 2); /* its 0, too */
    text->length -= 3;
  }
  return NULL;
}

bool text_file_read(const char *path, size_t limit, struct buffer *ret, char ret_digest[DIGEST_HEX]) {
  uint8_t digest[DIGEST_BYTES];
  const char *why = NULL;
  if (!read_file(path, limit, ret)) return false;
  if (ret->data == NULL) (void)buffer_append(ret, "", 0);
  digest_of(ret->data, ret->length, digest);
  if (ret_digest != NULL) (void)digest_hex(digest, ret_digest);
  if (ret->length >= 2 && memcmp(ret->data, "\037\213", 2) == 0) {
    struct buffer unpacked;
    buffer_init(&unpacked, limit);
    why = unpack(ret, &unpacked);
    buffer_release(ret);
    *ret = unpacked;
    if (ret->data == NULL) (void)buffer_append(ret, "", 0);
  }
  if (why == NULL) why = check_text(ret);
  if (why == NULL) return true;
  size_t head = ret->length < HEAD_MAX ? ret->length : HEAD_MAX, first = head < BINARY_WITHIN ? head : BINARY_WITHIN;
  const char *other = memchr(ret->data, 0, first) != NULL ? known_file_text(ret->data, head, "") : NULL;
  if (other != NULL) complain("lynxbench: %s: it is %s\n", path, other);
  else complain("lynxbench: %s: %s\n", path, why);
  buffer_release(ret);
  return false;
}
