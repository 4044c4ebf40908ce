/* ledger/envelope.h: DSSE envelopes, and the in-toto statements in them: what a team signs, and what the ledger keeps.
 * Shapes   {"payloadType":"application/vnd.in-toto+json","payload":BASE64,"signatures":[{"keyid":NAME+ID,"sig":BASE64}]};
 *          the payload is a statement: subjects with SHA-256 digests, a predicateType urn:lynxbench:KIND:2, a predicate whose `ledger` is
 *          the origin of the ledger that it may be entered in; KIND:1, of lynxbench up to 0.2, names none
 * Errors   INPUT: not such an envelope or statement; LIMIT: more than ENVELOPE_MAX bytes
 * Limits   the bytes that came are kept and hashed, never written anew. A key id is a hint: which key signed is found by trying keys
 * Source   DSSE protocol (secure-systems-lab/dsse), in-toto Statement v1 */
#ifndef LEDGER_ENVELOPE_H
#define LEDGER_ENVELOPE_H

#include "base/arena.h"
#include "base/json.h"
#include "ledger/note.h"

enum { ENVELOPE_MAX = 65535, ENVELOPE_SIGNATURES_MAX = 8, STATEMENT_SUBJECTS_MAX = 32 };

struct envelope_signature {
  const char *key_id; /* "" where there is none */
  uint8_t value[SIGNATURE_BYTES];
};

struct envelope {
  struct bytes payload_type, payload;
  struct envelope_signature signatures[ENVELOPE_SIGNATURES_MAX];
  size_t n_signatures; /* those of another length than Ed25519's are passed over */
};

/* "DSSEv1", then each part with its length in bytes: what is signed. */
bool envelope_signed_bytes(struct bytes payload_type, struct bytes payload, struct buffer *ret);
enum lynx_status envelope_parse(struct bytes bytes, struct arena *arena, struct envelope *ret, struct lynx_error *error) LYNX_MUST_CHECK;
bool envelope_signed_by(const struct envelope *envelope, const uint8_t public_key[SIGNATURE_KEY_BYTES]);
/* Are these bytes what envelope_make writes? Then no byte can change without a part changing. */
bool envelope_plain(struct bytes bytes, const struct envelope *envelope);
enum lynx_status envelope_make(struct bytes payload_type, struct bytes payload, const char *name, const struct signing_key *key,
                               struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;

struct statement_subject {
  const char *name;
  uint8_t digest[DIGEST_BYTES];
};

struct statement {
  const char *kind;   /* "contract", "signature", ... */
  int format;         /* 1 or 2 */
  const char *ledger; /* the origin of the ledger that it is for; "": it names none */
  struct statement_subject subjects[STATEMENT_SUBJECTS_MAX];
  size_t n_subjects;
  const json_t *predicate;
  json_t *whole; /* json_decref by statement_release */
};

extern const char statement_payload_type[];

enum lynx_status statement_parse(const struct envelope *envelope, struct arena *arena, struct statement *ret,
                                 struct lynx_error *error) LYNX_MUST_CHECK;
void statement_release(struct statement *statement);
/* Of a bundle's entry: the length of its file; -1: it does not say (format 1). */
int64_t statement_file_bytes(const struct statement *statement);
/* The first subject of that name, or NULL. */
const uint8_t *statement_subject_named(const struct statement *statement, const char *name);
/* When it was signed, by the signer's clock: seconds since 1970, of "2026-11-28T02:15:44Z". False: it has no such time. */
bool statement_time(const struct statement *statement, int64_t *ret_s);
/* The intent that a bundle's entry says it answers, as the bytes that it is compared by. False: it names none; admission_check refuses what
 * is not written as a digest. */
bool statement_intent(const struct statement *statement, uint8_t ret[DIGEST_BYTES]);

/* Writing one: begin, then the predicate's members by the writer, then end. ledger NULL: it names none. */
void statement_begin(struct json_writer *json, struct buffer *out, const char *kind, const char *ledger,
                     const struct statement_subject *subjects, size_t n);
bool statement_end(struct json_writer *json);

#endif
