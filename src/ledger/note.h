/* ledger/note.h: signed notes, their keys, and checkpoints (C2SP signed-note, tlog-checkpoint, tlog-cosignature).
 * Shapes   a note is text that ends in a line end, an empty line, and signature lines "— NAME BASE64"; a checkpoint is a note whose text
 *          is origin, size, root in base64, a line each, and perhaps more lines
 * Keys     NAME+8 hex digits+BASE64(type byte, public key); a note's signature begins with the same 4 bytes of the key's digest
 * Errors   INPUT: not such a text, with what is wrong
 * Memory   parsed notes borrow the caller's bytes */
#ifndef LEDGER_NOTE_H
#define LEDGER_NOTE_H

#include "base/digest.h"
#include "base/signature.h"

enum {
  NOTE_NAME_MAX = 128,
  NOTE_KEY_TEXT_MAX = 256,
  NOTE_MAX = 65536,
  NOTE_SIGNATURES_MAX = 64,
  NOTE_ED25519 = 1,    /* signs the text */
  NOTE_COSIGNATURE = 4 /* signs a time and the text: a witness's */
};

struct note_key {
  char name[NOTE_NAME_MAX];
  uint8_t id[4], type, public_key[SIGNATURE_KEY_BYTES];
};

/* Letters, digits and . _ - / between; no blanks, no plus sign: fit to be a key's name and a file's. */
bool note_name_valid(const char *name);
void note_key_make(const char *name, uint8_t type, const uint8_t public_key[SIGNATURE_KEY_BYTES], struct note_key *ret);
enum lynx_status note_key_parse(const char *text, struct note_key *ret, struct lynx_error *error) LYNX_MUST_CHECK;
char *note_key_text(const struct note_key *key, char text[NOTE_KEY_TEXT_MAX]);
/* NAME+8 hex digits */
char *note_key_id_text(const struct note_key *key, char text[NOTE_KEY_TEXT_MAX]);

struct note {
  struct bytes text;       /* with its final line end */
  struct bytes signatures; /* the lines after the empty one */
};

enum lynx_status note_parse(struct bytes bytes, struct note *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* ret_time_s: when a witness signed; may be NULL. */
bool note_signed_by(const struct note *note, const struct note_key *key, uint64_t *ret_time_s);
/* Appends a signature line to what is a text yet, or a note already. */
enum lynx_status note_sign(struct buffer *note, const char *name, const struct signing_key *key, struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status note_cosign(struct buffer *note, const char *name, const struct signing_key *key, uint64_t time_s,
                             struct lynx_error *error) LYNX_MUST_CHECK;

struct checkpoint {
  char origin[256];
  uint64_t size;
  uint8_t root[DIGEST_BYTES];
};

enum lynx_status checkpoint_parse(struct bytes text, struct checkpoint *ret, struct lynx_error *error) LYNX_MUST_CHECK;
bool checkpoint_text(const struct checkpoint *checkpoint, struct buffer *ret);

#endif
