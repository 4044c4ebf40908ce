#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "ledger/ledger_private.h"

static const char proof_head[] = "c2sp.org/tlog-proof@v1\n";

enum lynx_status ledger_proof_text(struct ledger *ledger, uint64_t index, struct buffer *ret, struct lynx_error *error) {
  struct merkle_proof proof;
  struct checkpoint checkpoint;
  struct buffer note;
  const struct merkle_source source = ledger_tree(ledger);
  buffer_init(&note, NOTE_MAX);
  enum lynx_status status = ledger_checkpoint(ledger, &note, &checkpoint, error);
  if (status == LYNX_OK && index >= checkpoint.size)
    status = lynx_fail(error, LYNX_NOT_FOUND, "there is no entry %" PRIu64 ": the ledger holds %" PRIu64, index, checkpoint.size);
  if (status == LYNX_OK) status = merkle_prove_inclusion(&source, index, checkpoint.size, &proof, error);
  bool good = status == LYNX_OK && buffer_printf(ret, "%sindex %" PRIu64 "\n", proof_head, index);
  for (size_t i = 0; good && i < proof.n; i++) good = base64_encode(ret, proof.hashes[i], DIGEST_BYTES) && buffer_text(ret, "\n");
  good = good && buffer_text(ret, "\n") && buffer_append(ret, note.data, note.length);
  buffer_release(&note);
  return status != LYNX_OK || good ? status : lynx_fail(error, LYNX_LIMIT, "no memory for a proof");
}

enum lynx_status ledger_proof_check(struct bytes bytes, const struct note_key *log, const uint8_t leaf[DIGEST_BYTES],
                                    struct checkpoint *ret_checkpoint, uint64_t *ret_index, struct lynx_error *error) {
  struct merkle_proof proof = {.n = 0};
  struct note note;
  size_t n_head = sizeof proof_head - 1;
  const char *p = bytes.ptr + n_head, *end = bytes.ptr + bytes.length;
  char line[80], again[80];
  uint64_t index = 0;
  bool good = bytes.length > n_head && memcmp(bytes.ptr, proof_head, n_head) == 0, ended = false;
  for (int i = 0; good && !ended; i++) {
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    size_t n = line_end != NULL ? (size_t)(line_end - p) : sizeof line;
    good = n < sizeof line && proof.n < MERKLE_PROOF_MAX;
    if (!good) break;
    memcpy(line, p, n);
    line[n] = 0;
    p = line_end + 1;
    if (i == 0) {
      good = sscanf(line, "index %20" SCNu64, &index) == 1 && snprintf(again, sizeof again, "index %" PRIu64, index) > 0 &&
             strcmp(again, line) == 0;
      continue;
    }
    ended = n == 0;
    struct buffer hash;
    buffer_init(&hash, 64);
    if (!ended) good = base64_decode(&hash, line, n) && hash.length == DIGEST_BYTES;
    if (!ended && good) memcpy(proof.hashes[proof.n++], hash.data, DIGEST_BYTES);
    buffer_release(&hash);
  }
  if (!good)
    return lynx_fail(error, LYNX_INPUT, "not a proof: %.22s, index, hashes, an empty line and a checkpoint are expected", proof_head);
  enum lynx_status status = ledger_check_note(log, NULL, (struct bytes){p, (size_t)(end - p)}, &note, ret_checkpoint, error);
  if (status != LYNX_OK) return status;
  *ret_index = index;
  if (merkle_inclusion_holds(index, ret_checkpoint->size, leaf, ret_checkpoint->root, &proof)) return LYNX_OK;
  return lynx_fail(error, LYNX_PROTOCOL, "the proof does not lead from this entry to the checkpoint of %" PRIu64 " entries",
                   ret_checkpoint->size);
}
