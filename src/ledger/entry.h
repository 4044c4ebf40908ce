/* ledger/entry.h: making an entry: what it speaks of, its members, the time, signed by a team.
 * Errors   LIMIT: it would pass ENVELOPE_MAX bytes
 * Memory   borrows everything until return */
#ifndef LEDGER_ENTRY_H
#define LEDGER_ENTRY_H

#include "ledger/envelope.h"

enum { ENTRY_SUBJECTS_MAX = 6, ENTRY_MEMBERS_MAX = 12 };

struct signer {
  char name[NOTE_NAME_MAX];
  struct signing_key *key;
};

struct entry {
  const char *kind;
  const char *ledger; /* the origin of the one that it may be entered in; NULL: of none */
  struct statement_subject subjects[ENTRY_SUBJECTS_MAX];
  size_t n_subjects;
  struct {
    const char *key, *value;
  } members[ENTRY_MEMBERS_MAX];
  size_t n_members;
  void (*write_more)(void *context, struct json_writer *json); /* further members; NULL */
  void *context;
};

void entry_subject(struct entry *entry, const char *name, const uint8_t digest[DIGEST_BYTES]);
/* A digest in hexadecimal, which must be one. */
void entry_subject_hex(struct entry *entry, const char *name, const char *hex);
void entry_member(struct entry *entry, const char *key, const char *value); /* value NULL: left out */
/* time: "2026-11-21T22:22:00Z", by the signer's clock; NULL: left out */
enum lynx_status entry_sign(const struct entry *entry, const char *time, const struct signer *signer, struct buffer *ret,
                            struct lynx_error *error) LYNX_MUST_CHECK;

#endif
