#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_private.h"

static bool take_newest(void *context, struct bytes key, struct bytes value) {
  struct ledger_newest *newest = context;
  newest->found = key.length == INDEX_BYTES + COUNT_BYTES && buffer_append(&newest->note, value.ptr, value.length);
  if (!newest->found) return false;
  newest->size = ledger_key_number(key, 0, INDEX_BYTES);
  newest->count = ledger_key_number(key, INDEX_BYTES, COUNT_BYTES);
  return false;
}

enum lynx_status ledger_newest(struct ledger *l, const struct ledger_key *size, struct ledger_newest *ret, struct lynx_error *error) {
  struct store_range range = {.space = STORE_CHECKPOINT, .backwards = true};
  if (size != NULL) range.prefix = ledger_key_bytes(size);
  *ret = (struct ledger_newest){.found = false};
  buffer_init(&ret->note, NOTE_MAX);
  enum lynx_status status = l->store->table->list(l->store, &range, take_newest, ret, error);
  if (status == LYNX_OK && !ret->found) status = lynx_fail(error, LYNX_NOT_FOUND, "the ledger has no such checkpoint");
  if (status != LYNX_OK) buffer_release(&ret->note);
  return status;
}

enum lynx_status ledger_check_note(const struct note_key *log, const char *origin, struct bytes bytes, struct note *ret_note,
                                   struct checkpoint *ret, struct lynx_error *error) {
  enum lynx_status status = note_parse(bytes, ret_note, error);
  if (status == LYNX_OK) status = checkpoint_parse(ret_note->text, ret, error);
  if (status == LYNX_OK && !note_signed_by(ret_note, log, NULL))
    status = lynx_fail(error, LYNX_PROTOCOL, "the checkpoint of size %" PRIu64 " is not signed by the log's key %s", ret->size, log->name);
  if (status == LYNX_OK && origin != NULL && strcmp(ret->origin, origin) != 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "the checkpoint is of another log: '%s'", ret->origin);
  return status;
}

static enum lynx_status check_newest(struct ledger *l, struct bytes bytes, struct note *ret_note, struct checkpoint *ret,
                                     struct lynx_error *error) {
  struct digest digest = {.state = {0}};
  uint8_t found[DIGEST_BYTES];
  digest_init(&digest);
  digest_update(&digest, l->policy.log.public_key, sizeof l->policy.log.public_key);
  digest_update(&digest, l->policy.origin, strlen(l->policy.origin) + 1);
  digest_update(&digest, bytes.ptr, bytes.length);
  digest_final(&digest, found);
  if (memcmp(found, l->checked, sizeof found) == 0) {
    enum lynx_status status = note_parse(bytes, ret_note, error);
    return status == LYNX_OK ? checkpoint_parse(ret_note->text, ret, error) : status;
  }
  enum lynx_status status = ledger_check_note(&l->policy.log, l->policy.origin, bytes, ret_note, ret, error);
  if (status == LYNX_OK) memcpy(l->checked, found, sizeof found);
  return status;
}

enum lynx_status ledger_checkpoint(struct ledger *ledger, struct buffer *ret_note, struct checkpoint *ret, struct lynx_error *error) {
  struct ledger_newest newest;
  struct note note;
  enum lynx_status status = ledger_newest(ledger, NULL, &newest, error);
  if (status != LYNX_OK) return status;
  status = check_newest(ledger, (struct bytes){newest.note.data, newest.note.length}, &note, ret, error);
  if (status == LYNX_OK && ret->size == 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "a checkpoint of no entries: a ledger has one at least, its policy");
  if (status == LYNX_OK && newest.size != ret->size)
    status = lynx_fail(error, LYNX_PROTOCOL, "a checkpoint of size %" PRIu64 " lies under another size", ret->size);
  if (status == LYNX_OK && ret_note != NULL && !buffer_append(ret_note, newest.note.data, newest.note.length))
    status = lynx_fail(error, LYNX_LIMIT, "no memory for a checkpoint");
  buffer_release(&newest.note);
  return status;
}

struct vouched {
  struct ledger *ledger;
  struct buffer *note;
  struct checkpoint *checkpoint;
  uint64_t time_s;
};

/* Is this checkpoint of the tree that this ledger holds? A log key that signs two histories may bring a note of the other one. */
static bool is_of_this_tree(struct ledger *l, const struct checkpoint *checkpoint) {
  const struct merkle_source source = ledger_tree(l);
  uint8_t root[DIGEST_BYTES];
  struct lynx_error ignored = {0};
  return checkpoint->size > 0 && checkpoint->size <= l->edge.size && strcmp(checkpoint->origin, l->policy.origin) == 0 &&
         merkle_root(&source, checkpoint->size, root, &ignored) == LYNX_OK && memcmp(root, checkpoint->root, sizeof root) == 0;
}

uint64_t ledger_vouched_at(struct ledger *ledger, struct bytes bytes, const char *except, struct checkpoint *ret) {
  struct note note;
  struct lynx_error ignored = {0};
  uint64_t time_s = 0;
  if (ledger_check_note(&ledger->policy.log, ledger->policy.origin, bytes, &note, ret, &ignored) != LYNX_OK ||
      !is_of_this_tree(ledger, ret))
    return 0;
  struct policy *policy = xalloc(1, sizeof *policy);
  *policy = *ledger_policy_at(ledger, ret->size);
  for (size_t i = 0; i < policy->n_teams; i++)
    if (except != NULL && strcmp(policy->teams[i].key.name, except) == 0) policy->teams[i].witness = false;
  (void)policy_cosigned(policy, &note, &time_s);
  free(policy);
  return time_s;
}

static bool take_vouched(void *context, struct bytes key, struct bytes value) {
  struct vouched *v = context;
  if (key.length != INDEX_BYTES + COUNT_BYTES || ledger_key_number(key, INDEX_BYTES, COUNT_BYTES) == 0)
    return true; /* no cosignature in it */
  v->time_s = ledger_vouched_at(v->ledger, value, NULL, v->checkpoint);
  return v->time_s == 0 || !buffer_append(v->note, value.ptr, value.length);
}

enum lynx_status ledger_vouched_checkpoint(struct ledger *ledger, struct buffer *ret_note, struct checkpoint *ret, uint64_t *ret_time_s,
                                           struct lynx_error *error) {
  const struct store_range range = {.space = STORE_CHECKPOINT, .backwards = true};
  struct vouched v = {.ledger = ledger, .note = ret_note, .checkpoint = ret};
  enum lynx_status status = ledger->store->table->list(ledger->store, &range, take_vouched, &v, error);
  if (status == LYNX_OK && v.time_s == 0)
    status = lynx_fail(error, LYNX_NOT_FOUND,
                       "no checkpoint is cosigned by a quorum of %" PRId64 " witnesses; `lynxbench ledger witness` cosigns",
                       ledger->policy.quorum);
  if (status == LYNX_OK) *ret_time_s = v.time_s;
  return status;
}

enum lynx_status ledger_sign_checkpoint(struct ledger *l, struct lynx_error *error) {
  struct checkpoint checkpoint = {.size = l->edge.size};
  struct buffer note;
  struct ledger_key key = ledger_key_checkpoint(l->edge.size, 0);
  (void)snprintf(checkpoint.origin, sizeof checkpoint.origin, "%s", l->policy.origin);
  merkle_edge_root(&l->edge, checkpoint.root);
  buffer_init(&note, NOTE_MAX);
  (void)checkpoint_text(&checkpoint, &note); /* some 200 bytes */
  enum lynx_status status = note_sign(&note, l->policy.origin, l->log_key, error);
  if (status == LYNX_OK) status = ledger_append(l, STORE_CHECKPOINT, &key, (struct bytes){note.data, note.length}, error);
  buffer_release(&note);
  return status;
}

/* The lines of `more` that are not in `note` yet and are those of witnesses. */
static enum lynx_status merge_cosignatures(const struct policy *policy, struct buffer *note, const struct note *more, size_t *ret_n_new,
                                           struct lynx_error *error) {
  *ret_n_new = 0;
  for (size_t i = 0; i < policy->n_teams; i++) {
    const struct policy_team *team = &policy->teams[i];
    struct note_key key;
    struct note known;
    char name[NOTE_NAME_MAX + 16];
    note_key_make(team->key.name, NOTE_COSIGNATURE, team->key.public_key, &key);
    enum lynx_status status = note_parse((struct bytes){note->data, note->length}, &known, error);
    if (status != LYNX_OK) return status;
    if (!team->witness || note_signed_by(&known, &key, NULL) || !note_signed_by(more, &key, NULL)) continue;
    (void)snprintf(name, sizeof name, "\xe2\x80\x94 %s ", key.name);
    for (const char *p = more->signatures.ptr, *end = p + more->signatures.length; p < end;) {
      const char *line_end = memchr(p, '\n', (size_t)(end - p));
      struct buffer one;
      struct note alone;
      struct lynx_error ignored = {0};
      buffer_init(&one, NOTE_MAX);
      bool its = strncmp(p, name, strlen(name)) == 0 && buffer_append(&one, more->text.ptr, more->text.length) && buffer_text(&one, "\n") &&
                 buffer_append(&one, p, (size_t)(line_end + 1 - p)) &&
                 note_parse((struct bytes){one.data, one.length}, &alone, &ignored) == LYNX_OK && note_signed_by(&alone, &key, NULL);
      buffer_release(&one);
      if (its && !buffer_append(note, p, (size_t)(line_end + 1 - p))) return lynx_fail(error, LYNX_LIMIT, "too many cosignatures");
      *ret_n_new += its;
      p = line_end + 1;
      if (its) break;
    }
  }
  return LYNX_OK;
}

enum lynx_status ledger_put_cosigned(struct ledger *ledger, struct bytes bytes, struct lynx_error *error) {
  struct note given, known;
  struct checkpoint checkpoint, own;
  struct ledger_newest newest = {.found = false};
  size_t n_new = 0;
  const struct store_table *table = ledger->store->table;
  enum lynx_status status = ledger_check_note(&ledger->policy.log, ledger->policy.origin, bytes, &given, &checkpoint, error);
  if (status != LYNX_OK) return status;
  status = table->begin(ledger->store, error);
  if (status != LYNX_OK) return status;
  const struct ledger_key size = ledger_key_size(checkpoint.size);
  status = ledger_newest(ledger, &size, &newest, error);
  if (status == LYNX_OK)
    status = ledger_check_note(&ledger->policy.log, ledger->policy.origin, (struct bytes){newest.note.data, newest.note.length}, &known,
                               &own, error);
  if (status == LYNX_OK && memcmp(own.root, checkpoint.root, DIGEST_BYTES) != 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "FORK: the log's key signed two trees of size %" PRIu64 "; keep both notes as evidence",
                       checkpoint.size);
  if (status == LYNX_OK) status = merge_cosignatures(&ledger->policy, &newest.note, &given, &n_new, error);
  if (status == LYNX_OK && n_new > 0) {
    struct ledger_key key = ledger_key_checkpoint(checkpoint.size, newest.count + 1);
    status = ledger_append(ledger, STORE_CHECKPOINT, &key, (struct bytes){newest.note.data, newest.note.length}, error);
  }
  buffer_release(&newest.note);
  if (status == LYNX_OK) return table->commit(ledger->store, error);
  table->abort(ledger->store);
  return status;
}
