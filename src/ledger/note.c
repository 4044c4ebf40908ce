#include "ledger/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/number.h"

static const char dash[] = "\xe2\x80\x94 "; /* the em dash that begins a signature line */
enum { DASH_BYTES = 4 };

bool note_name_valid(const char *name) {
  static const char accepted[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
  size_t n = strlen(name);
  return n > 0 && n < NOTE_NAME_MAX && strspn(name, accepted) == n && name[0] != '.' && name[0] != '-' && name[0] != '/';
}

void note_key_make(const char *name, uint8_t type, const uint8_t public_key[SIGNATURE_KEY_BYTES], struct note_key *ret) {
  uint8_t digest[DIGEST_BYTES];
  *ret = (struct note_key){.type = type};
  (void)snprintf(ret->name, sizeof ret->name, "%s", name);
  memcpy(ret->public_key, public_key, SIGNATURE_KEY_BYTES);
  const struct bytes parts[] = {bytes_of(ret->name), {"\n", 1}, {(const char *)&type, 1}, {(const char *)public_key, SIGNATURE_KEY_BYTES}};
  digest_parts(parts, LYNX_COUNT(parts), digest);
  memcpy(ret->id, digest, sizeof ret->id);
}

char *note_key_id_text(const struct note_key *key, char text[NOTE_KEY_TEXT_MAX]) {
  char id[9];
  (void)snprintf(text, NOTE_KEY_TEXT_MAX, "%s+%s", key->name, hex_encode(key->id, sizeof key->id, id));
  return text;
}

char *note_key_text(const struct note_key *key, char text[NOTE_KEY_TEXT_MAX]) {
  uint8_t typed[1 + SIGNATURE_KEY_BYTES] = {key->type};
  char id[NOTE_KEY_TEXT_MAX];
  struct buffer encoded;
  memcpy(typed + 1, key->public_key, SIGNATURE_KEY_BYTES);
  buffer_init(&encoded, NOTE_KEY_TEXT_MAX);
  (void)base64_encode(&encoded, typed, sizeof typed); /* 44 characters */
  (void)snprintf(text, NOTE_KEY_TEXT_MAX, "%.140s+%.44s", note_key_id_text(key, id), encoded.data);
  buffer_release(&encoded);
  return text;
}

enum lynx_status note_key_parse(const char *text, struct note_key *ret, struct lynx_error *error) {
  const char *plus = strchr(text, '+'), *second = plus != NULL ? strchr(plus + 1, '+') : NULL;
  char name[NOTE_NAME_MAX] = "", id[16] = "";
  uint8_t claimed[4];
  struct buffer decoded;
  buffer_init(&decoded, 256);
  bool good = second != NULL && (size_t)(plus - text) < sizeof name && second - plus == 9;
  if (good) {
    memcpy(name, text, (size_t)(plus - text));
    memcpy(id, plus + 1, 8);
  }
  size_t length = good ? strcspn(second + 1, "\r\n") : 0;
  good = good && length < NOTE_KEY_TEXT_MAX && hex_decode(id, claimed, 4) && name[0] != 0 && strpbrk(name, " \t\r\n") == NULL &&
         strspn(second + 1 + length, "\r\n") == strlen(second + 1 + length) && base64_decode(&decoded, second + 1, length) &&
         decoded.length == 1 + SIGNATURE_KEY_BYTES && (decoded.data[0] == NOTE_ED25519 || decoded.data[0] == NOTE_COSIGNATURE);
  if (good) note_key_make(name, (uint8_t)decoded.data[0], (const uint8_t *)decoded.data + 1, ret);
  buffer_release(&decoded);
  if (!good)
    return lynx_fail(error, LYNX_INPUT,
                     "not a public key of the form NAME+8 hex digits+BASE64 (an Ed25519 key, as `lynxbench ledger key` writes)");
  if (memcmp(ret->id, claimed, 4) != 0)
    return lynx_fail(error, LYNX_INPUT, "the key's id %s is not that of its name and bytes: it was altered or copied in part", id);
  return LYNX_OK;
}

enum lynx_status note_parse(struct bytes bytes, struct note *ret, struct lynx_error *error) {
  if (bytes.length > NOTE_MAX) return lynx_fail(error, LYNX_LIMIT, "a signed note of more than %d bytes", NOTE_MAX);
  for (size_t i = 0; i < bytes.length;) {
    size_t n = utf8_length((const unsigned char *)bytes.ptr + i, bytes.length - i);
    if (n == 0 || ((unsigned char)bytes.ptr[i] < 32 && bytes.ptr[i] != '\n'))
      return lynx_fail(error, LYNX_INPUT, "byte %zu is no text: a signed note is UTF-8 without control characters", i);
    i += n;
  }
  /* The last empty line separates: the text may hold others. */
  size_t at = bytes.length;
  while (at > 1 && !(bytes.ptr[at - 1] == '\n' && bytes.ptr[at - 2] == '\n')) at--;
  if (at <= 1 || at == bytes.length || bytes.ptr[bytes.length - 1] != '\n')
    return lynx_fail(error, LYNX_INPUT, "not a signed note: text, an empty line and signature lines are expected");
  *ret = (struct note){{bytes.ptr, at - 1}, {bytes.ptr + at, bytes.length - at}};
  size_t n_lines = 0;
  for (const char *p = ret->signatures.ptr, *end = p + ret->signatures.length; p < end; n_lines++) {
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    const char *blank = line_end - p > DASH_BYTES ? memchr(p + DASH_BYTES, ' ', (size_t)(line_end - p) - DASH_BYTES) : NULL;
    if (n_lines >= NOTE_SIGNATURES_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d signatures", NOTE_SIGNATURES_MAX);
    if (blank == NULL || memcmp(p, dash, DASH_BYTES) != 0 || blank == p + DASH_BYTES)
      return lynx_fail(error, LYNX_INPUT, "signature line %zu is not of the form: em dash, name, base64", n_lines + 1);
    struct buffer decoded;
    buffer_init(&decoded, NOTE_MAX);
    bool good = base64_decode(&decoded, blank + 1, (size_t)(line_end - blank - 1)) && decoded.length > 4;
    buffer_release(&decoded);
    if (!good) return lynx_fail(error, LYNX_INPUT, "signature line %zu does not hold a signature in base64", n_lines + 1);
    p = line_end + 1;
  }
  return LYNX_OK;
}

/* What a witness signs. */
static bool cosigned_text(uint64_t time_s, struct bytes text, struct buffer *ret) {
  return buffer_printf(ret, "cosignature/v1\ntime %" PRIu64 "\n", time_s) && buffer_append(ret, text.ptr, text.length);
}

static bool value_holds(const struct note *note, const struct note_key *key, const struct buffer *value, uint64_t *ret_time_s) {
  const uint8_t *p = (const uint8_t *)value->data;
  if (key->type == NOTE_ED25519) return value->length == 4 + SIGNATURE_BYTES && signature_valid(key->public_key, p + 4, note->text);
  if (value->length != 4 + 8 + SIGNATURE_BYTES) return false;
  uint64_t time_s = 0;
  for (int i = 0; i < 8; i++) time_s = time_s << 8 | p[4 + i];
  struct buffer text;
  buffer_init(&text, 2 * NOTE_MAX);
  bool holds = cosigned_text(time_s, note->text, &text) && signature_valid(key->public_key, p + 12, (struct bytes){text.data, text.length});
  buffer_release(&text);
  if (holds && ret_time_s != NULL) *ret_time_s = time_s;
  return holds;
}

bool note_signed_by(const struct note *note, const struct note_key *key, uint64_t *ret_time_s) {
  size_t n_name = strlen(key->name);
  for (const char *p = note->signatures.ptr, *end = p + note->signatures.length; p < end;) {
    const char *line_end = memchr(p, '\n', (size_t)(end - p)); /* note_parse saw to it */
    const char *name = p + DASH_BYTES, *blank = memchr(name, ' ', (size_t)(line_end - name));
    p = line_end + 1;
    if ((size_t)(blank - name) != n_name || memcmp(name, key->name, n_name) != 0) continue;
    struct buffer value;
    buffer_init(&value, NOTE_MAX);
    bool ours = base64_decode(&value, blank + 1, (size_t)(line_end - blank - 1)) && memcmp(value.data, key->id, 4) == 0;
    bool holds = ours && value_holds(note, key, &value, ret_time_s);
    buffer_release(&value);
    if (ours) return holds; /* a key signs once: a line of its that does not hold spoils the note */
  }
  return false;
}

/* The text of what may be a note already: up to its last empty line, if signature lines follow. */
static size_t text_length(const struct buffer *note) {
  struct note parsed = {{NULL, 0}, {NULL, 0}};
  struct lynx_error ignored = {0};
  return note_parse((struct bytes){note->data, note->length}, &parsed, &ignored) == LYNX_OK ? parsed.text.length : note->length;
}

static enum lynx_status put_line(struct buffer *note, const char *name, const void *value, size_t length, bool first,
                                 struct lynx_error *error) {
  bool good = buffer_printf(note, "%s%s%s ", first ? "\n" : "", dash, name) && base64_encode(note, value, length) &&
              buffer_text(note, "\n");
  return good ? LYNX_OK : lynx_fail(error, LYNX_LIMIT, "a signed note of more than %zu bytes", note->limit);
}

enum lynx_status note_sign(struct buffer *note, const char *name, const struct signing_key *key, struct lynx_error *error) {
  size_t length = text_length(note);
  uint8_t value[4 + SIGNATURE_BYTES], public_key[SIGNATURE_KEY_BYTES];
  struct note_key own;
  signing_key_public(key, public_key);
  note_key_make(name, NOTE_ED25519, public_key, &own);
  memcpy(value, own.id, 4);
  enum lynx_status status = signing_key_sign(key, (struct bytes){note->data, length}, value + 4, error);
  return status == LYNX_OK ? put_line(note, name, value, sizeof value, length == note->length, error) : status;
}

enum lynx_status note_cosign(struct buffer *note, const char *name, const struct signing_key *key, uint64_t time_s,
                             struct lynx_error *error) {
  size_t length = text_length(note);
  uint8_t value[4 + 8 + SIGNATURE_BYTES], public_key[SIGNATURE_KEY_BYTES];
  struct note_key own;
  struct buffer text;
  signing_key_public(key, public_key);
  note_key_make(name, NOTE_COSIGNATURE, public_key, &own);
  memcpy(value, own.id, 4);
  for (int i = 0; i < 8; i++) value[4 + i] = (uint8_t)(time_s >> (56 - 8 * i));
  buffer_init(&text, 2 * NOTE_MAX);
  enum lynx_status status = cosigned_text(time_s, (struct bytes){note->data, length}, &text)
                                ? signing_key_sign(key, (struct bytes){text.data, text.length}, value + 12, error)
                                : lynx_fail(error, LYNX_LIMIT, "no memory for a signature");
  buffer_release(&text);
  return status == LYNX_OK ? put_line(note, name, value, sizeof value, length == note->length, error) : status;
}

/* The next line without its end; false if there is none that ends. */
static bool next_line(struct bytes *rest, struct bytes *ret) {
  const char *end = rest->length > 0 ? memchr(rest->ptr, '\n', rest->length) : NULL;
  if (end == NULL) return false;
  *ret = (struct bytes){rest->ptr, (size_t)(end - rest->ptr)};
  *rest = (struct bytes){end + 1, rest->length - ret->length - 1};
  return true;
}

enum lynx_status checkpoint_parse(struct bytes text, struct checkpoint *ret, struct lynx_error *error) {
  struct bytes rest = text, origin, size, root, more;
  struct buffer decoded;
  char digits[24] = "", again[24];
  *ret = (struct checkpoint){0};
  bool good = next_line(&rest, &origin) && next_line(&rest, &size) && next_line(&rest, &root) && origin.length > 0 &&
              origin.length < sizeof ret->origin && size.length < sizeof digits;
  if (good) {
    memcpy(ret->origin, origin.ptr, origin.length);
    memcpy(digits, size.ptr, size.length);
    uint64_t value = 0;
    for (const char *p = digits; *p >= '0' && *p <= '9'; p++) value = value * 10 + (uint64_t)(*p - '0');
    (void)snprintf(again, sizeof again, "%" PRIu64, value); /* no sign, no leading zero, nothing that overflowed */
    good = strcmp(again, digits) == 0;
    ret->size = value;
  }
  buffer_init(&decoded, 64);
  good = good && base64_decode(&decoded, root.ptr, root.length) && decoded.length == DIGEST_BYTES;
  if (good) memcpy(ret->root, decoded.data, DIGEST_BYTES);
  buffer_release(&decoded);
  while (good && rest.length > 0) good = next_line(&rest, &more) && more.length > 0;
  return good ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "not a checkpoint: origin, size and root in base64, a line each, are expected");
}

bool checkpoint_text(const struct checkpoint *checkpoint, struct buffer *ret) {
  return buffer_printf(ret, "%s\n%" PRIu64 "\n", checkpoint->origin, checkpoint->size) &&
         base64_encode(ret, checkpoint->root, DIGEST_BYTES) && buffer_text(ret, "\n");
}
