#include "ledger/entry.h"

#include <string.h>

void entry_subject(struct entry *entry, const char *name, const uint8_t digest[DIGEST_BYTES]) {
  lynx_assert(entry->n_subjects < ENTRY_SUBJECTS_MAX);
  struct statement_subject *s = &entry->subjects[entry->n_subjects++];
  s->name = name;
  memcpy(s->digest, digest, DIGEST_BYTES);
}

void entry_subject_hex(struct entry *entry, const char *name, const char *hex) {
  uint8_t digest[DIGEST_BYTES];
  lynx_assert(hex_decode(hex, digest, DIGEST_BYTES));
  entry_subject(entry, name, digest);
}

void entry_member(struct entry *entry, const char *key, const char *value) {
  if (value == NULL) return;
  lynx_assert(entry->n_members < ENTRY_MEMBERS_MAX);
  entry->members[entry->n_members].key = key;
  entry->members[entry->n_members++].value = value;
}

enum lynx_status entry_sign(const struct entry *entry, const char *time, const struct signer *signer, struct buffer *ret,
                            struct lynx_error *error) {
  struct buffer payload;
  struct json_writer json;
  buffer_init(&payload, ENVELOPE_MAX);
  statement_begin(&json, &payload, entry->kind, entry->ledger, entry->subjects, entry->n_subjects);
  if (time != NULL) json_put_text(&json, "time", time);
  for (size_t i = 0; i < entry->n_members; i++) json_put_text(&json, entry->members[i].key, entry->members[i].value);
  if (entry->write_more != NULL) entry->write_more(entry->context, &json);
  enum lynx_status status = LYNX_OK;
  if (!statement_end(&json)) status = lynx_fail(error, LYNX_LIMIT, "the statement would pass %d bytes: shorten its text", ENVELOPE_MAX);
  if (status == LYNX_OK)
    status = envelope_make(bytes_of(statement_payload_type), (struct bytes){payload.data, payload.length}, signer->name, signer->key, ret,
                           error);
  buffer_release(&payload);
  return status;
}
