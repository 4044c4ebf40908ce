#include "ledger/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/root.h"

char *seen_path(const struct ledger *ledger, const char *folder, const char *ending, char *path, size_t size) {
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX], key[NOTE_KEY_TEXT_MAX];
  (void)note_key_text(&ledger_policy(ledger)->log, key);
  digest_of(key, strlen(key), digest);
  (void)snprintf(path, size, "%s/%.32s.%s", folder, digest_hex(digest, hex), ending);
  return path;
}

/* A file's address is its path from the root, however it was named. */
static char *address_path(const char *address, const char *folder, char *path, size_t size) {
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX], *real = strstr(address, "://") == NULL ? realpath(address, NULL) : NULL;
  const char *name = real != NULL ? real : address;
  digest_of(name, strlen(name), digest);
  (void)snprintf(path, size, "%s/%.32s.key", folder, digest_hex(digest, hex));
  free(real);
  return path;
}

void seen_forget(const char *address, const char *folder) {
  char path[4096];
  (void)unlink(address_path(address, folder, path, sizeof path)); /* mostly there is none */
}

static enum lynx_status hold_against(struct ledger *ledger, struct bytes remembered, const struct checkpoint *now,
                                     struct lynx_error *error) {
  struct note note;
  struct checkpoint then;
  struct merkle_proof proof;
  const struct merkle_source source = ledger_tree(ledger);
  struct lynx_error ignored = {0};
  if (note_parse(remembered, &note, &ignored) != LYNX_OK || checkpoint_parse(note.text, &then, &ignored) != LYNX_OK ||
      !note_signed_by(&note, &ledger_policy(ledger)->log, NULL) || then.size == 0)
    return lynx_fail(error, LYNX_INPUT, "what was remembered of this ledger is damaged, so nothing can be checked against it");
  if (then.size > now->size)
    return lynx_fail(error, LYNX_PROTOCOL,
                     "ROLLED BACK: the ledger has %" PRIu64 " entries, and had %" PRIu64 " when it was last seen from here", now->size,
                     then.size);
  enum lynx_status status = merkle_prove_consistency(&source, then.size, now->size, &proof, error);
  if (status != LYNX_OK) return status;
  if (merkle_consistency_holds(then.size, now->size, then.root, now->root, &proof)) return LYNX_OK;
  return lynx_fail(error, LYNX_PROTOCOL, "FORKED: its %" PRIu64 " entries do not continue the %" PRIu64 " that were last seen from here",
                   now->size, then.size);
}

static enum lynx_status remember(const char *path, const struct buffer *note, struct lynx_error *error) {
  file_make_parents(path, 0700);
  int why = file_replace(path, note->data, note->length);
  if (why == 0) return LYNX_OK;
  lynx_error_at(error, path, 0, NULL);
  return lynx_fail(error, LYNX_MACHINE, "what was seen of the ledger cannot be remembered: %s", strerror(why));
}

/* One ledger per address: another log key there is another ledger in its place. */
static enum lynx_status check_key(struct ledger *ledger, const char *path, struct lynx_error *error) {
  const struct root root = {""};
  struct buffer old, now;
  char key[NOTE_KEY_TEXT_MAX];
  buffer_init(&old, NOTE_KEY_TEXT_MAX);
  buffer_init(&now, NOTE_KEY_TEXT_MAX);
  bool known = buffer_text(&now, note_key_text(&ledger_policy(ledger)->log, key)); /* shorter than that: only memory can be missing */
  enum lynx_status status = known ? root_read(&root, path, &old, NULL) : LYNX_LIMIT;
  if (!known) status = lynx_fail(error, LYNX_LIMIT, "no memory for a log key");
  else if (status == LYNX_NOT_FOUND) status = remember(path, &now, error);
  else if (status != LYNX_OK) status = lynx_fail(error, LYNX_INPUT, "%s: what was remembered of this ledger cannot be read", path);
  else if (strcmp(old.data != NULL ? old.data : "", now.data) != 0)
    status = lynx_fail(error, LYNX_PROTOCOL,
                       "REPLACED: its log key is %.60s, and was another when it was last seen from here; if that was on purpose, remove %s",
                       key, path);
  buffer_release(&old);
  buffer_release(&now);
  return status;
}

/* One at a time: who is slow would write what it saw over what another saw after it. -1: there is no lock to be taken, since nothing can be
 * written there, which remembering reports. */
static int lock_memory(const struct ledger *ledger, const char *folder) {
  char path[4096];
  (void)seen_path(ledger, folder, "lock", path, sizeof path);
  file_make_parents(path, 0700);
  int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
    ;
  return fd;
}

/* The memory is read before the ledger is: what others add and remember meanwhile is in the ledger then, and no step back. */
static enum lynx_status check_memory(struct ledger *ledger, const char *folder, struct buffer *now, struct lynx_error *error) {
  const struct root root = {""};
  struct buffer old;
  struct checkpoint checkpoint;
  char path[4096];
  buffer_init(&old, NOTE_MAX);
  (void)seen_path(ledger, folder, "checkpoint", path, sizeof path);
  enum lynx_status found = root_read(&root, path, &old, NULL), status = ledger_refresh(ledger, error);
  if (status == LYNX_OK) status = ledger_checkpoint(ledger, now, &checkpoint, error);
  if (status == LYNX_OK && found == LYNX_OK)
    status = hold_against(ledger, (struct bytes){old.data != NULL ? old.data : "", old.length}, &checkpoint, error);
  else if (status == LYNX_OK && found != LYNX_NOT_FOUND)
    status = lynx_fail(error, LYNX_INPUT, "%s: what was remembered of this ledger cannot be read", path);
  bool same = old.length == now->length && old.data != NULL && now->data != NULL && memcmp(old.data, now->data, old.length) == 0;
  if (status == LYNX_OK && !same) status = remember(path, now, error);
  buffer_release(&old);
  return status;
}

enum lynx_status seen_check(struct ledger *ledger, const char *address, const char *folder, struct buffer *ret_note,
                            struct lynx_error *error) {
  struct buffer now;
  char key_path[4096];
  buffer_init(&now, NOTE_MAX);
  int lock = lock_memory(ledger, folder);
  enum lynx_status status = check_key(ledger, address_path(address, folder, key_path, sizeof key_path), error);
  if (status == LYNX_OK || status == LYNX_MACHINE) {
    enum lynx_status read = check_memory(ledger, folder, &now, error);
    if (read != LYNX_OK) status = read;
  }
  if (lock >= 0) (void)close(lock); /* and with it the lock */
  if (ret_note != NULL && !buffer_append(ret_note, now.data != NULL ? now.data : "", now.length))
    status = lynx_fail(error, LYNX_LIMIT, "no memory for a checkpoint");
  buffer_release(&now);
  return status;
}

/* --- what was checked --- */

void seen_remember_checked(struct ledger *ledger, const char *folder, uint64_t size) {
  const struct merkle_source source = ledger_tree(ledger);
  struct lynx_error unread = {0};
  struct buffer text;
  uint8_t root[DIGEST_BYTES];
  char path[4096], hex[DIGEST_HEX];
  if (size == 0 || merkle_root(&source, size, root, &unread) != LYNX_OK) return;
  buffer_init(&text, NOTE_MAX);
  if (buffer_printf(&text, "checked by lynxbench %s\n%" PRIu64 "\n%s\n", LYNX_VERSION, size, digest_hex(root, hex)))
    (void)remember(seen_path(ledger, folder, "checked", path, sizeof path), &text, &unread);
  buffer_release(&text);
}

void seen_trust_checked(struct ledger *ledger, const char *folder) {
  const struct root root = {""};
  struct buffer text;
  char path[4096], version[64], hex[DIGEST_HEX];
  uint64_t size = 0;
  uint8_t digest[DIGEST_BYTES];
  buffer_init(&text, NOTE_MAX);
  bool good = root_read(&root, seen_path(ledger, folder, "checked", path, sizeof path), &text, NULL) == LYNX_OK && text.data != NULL &&
              sscanf(text.data, "checked by lynxbench %63s\n%20" SCNu64 "\n%64s\n", version, &size, hex) == 3 &&
              strcmp(version, LYNX_VERSION) == 0 && strlen(hex) == DIGEST_HEX - 1 && hex_decode(hex, digest, DIGEST_BYTES);
  if (good) (void)ledger_trust(ledger, size, digest);
  buffer_release(&text);
}
