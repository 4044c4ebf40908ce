#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ledger/ledger_private.h"

static enum lynx_status take_entries(struct ledger *l, const struct ledger_copy *copy, uint64_t size, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  while (l->edge.size < size && status == LYNX_OK) {
    struct bytes given[LEDGER_TILE];
    size_t n = 0;
    status = copy->give(copy->context, l->edge.size, given, &n, error);
    if (status == LYNX_OK && n == 0) status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is not given", l->edge.size);
    for (size_t i = 0; i < n && l->edge.size < size && status == LYNX_OK; i++) {
      uint64_t index, due = l->edge.size;
      status = ledger_add_one(l, given[i], &index, error);
      if (status == LYNX_OK && index != due)
        status = lynx_fail(error, LYNX_PROTOCOL, "entry %" PRIu64 " is entry %" PRIu64 " once more", due, index);
      char field[40];
      (void)snprintf(field, sizeof field, "entry %" PRIu64, due);
      if (status != LYNX_OK) lynx_error_at(error, NULL, 0, field);
    }
  }
  return status;
}

/* The tree as it is now must be the one that the note signs, by the key that the log's own policy names. */
static enum lynx_status take_note(struct ledger *l, struct bytes bytes, uint64_t n_before, struct lynx_error *error) {
  struct note note;
  struct checkpoint checkpoint;
  uint8_t root[DIGEST_BYTES];
  struct ledger_newest newest;
  struct lynx_error none = {0};
  enum lynx_status status = ledger_check_note(&l->policy.log, l->policy.origin, bytes, &note, &checkpoint, error);
  if (status != LYNX_OK) return status;
  merkle_edge_root(&l->edge, root);
  if (checkpoint.size < n_before)
    return lynx_fail(error, LYNX_PROTOCOL, "ROLLED BACK: the log has %" PRIu64 " entries, and had %" PRIu64 " when it was copied",
                     checkpoint.size, n_before);
  if (memcmp(root, checkpoint.root, sizeof root) != 0)
    return lynx_fail(error, LYNX_PROTOCOL, "FORKED: the log's %" PRIu64 " entries do not continue the %" PRIu64 " that were copied",
                     checkpoint.size, n_before);
  const struct ledger_key size = ledger_key_size(checkpoint.size);
  bool known = ledger_newest(l, &size, &newest, &none) == LYNX_OK;
  uint64_t count = known ? newest.count + 1 : 0;
  bool same = known && newest.note.length == bytes.length && memcmp(newest.note.data, bytes.ptr, bytes.length) == 0;
  if (known) buffer_release(&newest.note);
  /* Cosignatures are looked for in notes with a count above 0. */
  if (!known) {
    struct buffer bare;
    const char *end = memchr(note.signatures.ptr, '\n', note.signatures.length);
    buffer_init(&bare, NOTE_MAX);
    (void)buffer_append(&bare, bytes.ptr, (size_t)(end + 1 - bytes.ptr)); /* no longer than what it is part of */
    struct ledger_key first = ledger_key_checkpoint(checkpoint.size, count++);
    status = ledger_append(l, STORE_CHECKPOINT, &first, (struct bytes){bare.data, bare.length}, error);
    same = bare.length == bytes.length;
    buffer_release(&bare);
  }
  struct ledger_key key = ledger_key_checkpoint(checkpoint.size, count);
  return status == LYNX_OK && !same ? ledger_append(l, STORE_CHECKPOINT, &key, bytes, error) : status;
}

enum lynx_status ledger_copy(const char *address, const struct ledger_copy *copy, uint64_t *ret_n_before, struct lynx_error *error) {
  struct ledger *l = xalloc(1, sizeof *l);
  struct note note;
  struct checkpoint checkpoint = {.size = 0};
  struct lynx_error none = {0};
  *ret_n_before = 0;
  enum lynx_status status = note_parse(copy->note, &note, error);
  if (status == LYNX_OK) status = checkpoint_parse(note.text, &checkpoint, error);
  if (status == LYNX_OK) {
    status = store_open(address, STORE_WRITE, &l->store, &none);
    bool begun = status != LYNX_NOT_FOUND;
    if (!begun) status = store_open(address, STORE_CREATE, &l->store, error);
    else if (status != LYNX_OK) *error = none;
    if (status == LYNX_OK) status = l->store->table->begin(l->store, error);
    if (status == LYNX_OK) {
      struct ledger_newest newest;
      struct lynx_error empty = {0};
      /* A copy whose first transaction never ended is an empty one. */
      if (begun && ledger_newest(l, NULL, &newest, &empty) == LYNX_OK) {
        buffer_release(&newest.note);
        status = ledger_refresh(l, error);
      }
      *ret_n_before = l->edge.size;
      if (status == LYNX_OK) status = take_entries(l, copy, checkpoint.size, error);
      if (status == LYNX_OK) status = take_note(l, copy->note, *ret_n_before, error);
      if (status == LYNX_OK) status = l->store->table->commit(l->store, error);
      else l->store->table->abort(l->store);
    }
  }
  ledger_close(l);
  return status;
}
