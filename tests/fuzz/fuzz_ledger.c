/* What comes out of ledgers of others: notes, keys, envelopes, statements, policies, proofs. First byte: which. What is read and written
 * again is the same. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/admission.h"
#include "ledger/ledger.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_note(struct bytes bytes) {
  struct note note;
  struct checkpoint checkpoint, again;
  struct lynx_error error = {0};
  struct buffer text;
  if (note_parse(bytes, &note, &error) != LYNX_OK || checkpoint_parse(note.text, &checkpoint, &error) != LYNX_OK) return;
  buffer_init(&text, NOTE_MAX);
  if (checkpoint_text(&checkpoint, &text)) {
    HOLDS(checkpoint_parse((struct bytes){text.data, text.length}, &again, &error) == LYNX_OK);
    HOLDS(again.size == checkpoint.size && memcmp(again.root, checkpoint.root, DIGEST_BYTES) == 0);
  }
  buffer_release(&text);
}

static void try_key(struct bytes bytes) {
  struct note_key key, again;
  struct lynx_error error = {0};
  char text[NOTE_KEY_TEXT_MAX], *copy = strndup(bytes.ptr, bytes.length);
  if (copy != NULL && note_key_parse(copy, &key, &error) == LYNX_OK)
    HOLDS(note_key_parse(note_key_text(&key, text), &again, &error) == LYNX_OK && memcmp(&key, &again, sizeof key) == 0);
  free(copy);
}

static bool same(struct bytes a, struct bytes b) {
  return a.length == b.length && memcmp(a.ptr, b.ptr, a.length) == 0;
}

/* An envelope as it is written here is read without a tree of it: to the same end as one with a blank in front, which is read as JSON. */
static void compare_readers(struct bytes bytes) {
  struct arena arena = {0};
  struct envelope plain, as_json;
  struct lynx_error error = {0};
  struct buffer blank;
  buffer_init(&blank, ENVELOPE_MAX);
  if (buffer_text(&blank, " ") && buffer_append(&blank, bytes.ptr, bytes.length)) {
    bool good = envelope_parse(bytes, &arena, &plain, &error) == LYNX_OK;
    HOLDS(good == (envelope_parse((struct bytes){blank.data, blank.length}, &arena, &as_json, &error) == LYNX_OK));
    HOLDS(!good || (same(plain.payload_type, as_json.payload_type) && same(plain.payload, as_json.payload) &&
                    plain.n_signatures == as_json.n_signatures));
    for (size_t i = 0; good && i < plain.n_signatures; i++)
      HOLDS(strcmp(plain.signatures[i].key_id, as_json.signatures[i].key_id) == 0 &&
            memcmp(plain.signatures[i].value, as_json.signatures[i].value, SIGNATURE_BYTES) == 0);
  }
  buffer_release(&blank);
  arena_release(&arena);
}

static void try_envelope(struct bytes bytes) {
  struct arena arena = {0};
  struct admission admission = {.signer = NULL};
  struct policy *policy = calloc(1, sizeof *policy);
  struct lynx_error error = {0};
  if (policy != NULL && admission_check(policy, bytes, &arena, &admission, &error) == LYNX_OK)
    HOLDS(envelope_plain(bytes, &admission.envelope) && policy->n_teams > 0 && policy->number == 1);
  statement_release(&admission.statement);
  if (admission.envelope.payload.length > 0 && statement_parse(&admission.envelope, &arena, &admission.statement, &error) == LYNX_OK)
    (void)(policy != NULL && policy_parse(admission.statement.predicate, policy, &error) == LYNX_OK);
  statement_release(&admission.statement);
  arena_release(&arena);
  free(policy);
}

static void try_proof(struct bytes bytes) {
  static const uint8_t leaf[DIGEST_BYTES];
  struct note_key log = {.name = "log", .type = NOTE_ED25519};
  struct checkpoint checkpoint;
  struct lynx_error error = {0};
  uint64_t index;
  HOLDS(ledger_proof_check(bytes, &log, leaf, &checkpoint, &index, &error) != LYNX_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  struct bytes bytes = {(const char *)data + 1, size - 1};
  switch (data[0] & 3) {
    case 0: try_note(bytes); break;
    case 1: try_key(bytes); break;
    case 2: compare_readers(bytes), try_envelope(bytes); break;
    default: try_proof(bytes); break;
  }
  return 0;
}
