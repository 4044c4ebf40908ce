#include "ledger/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/root.h"

static char *seen_path(const struct ledger *ledger, const char *folder, char *path, size_t size) {
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX], key[NOTE_KEY_TEXT_MAX];
  (void)note_key_text(&ledger_policy(ledger)->log, key);
  digest_of(key, strlen(key), digest);
  (void)snprintf(path, size, "%s/%.32s.checkpoint", folder, digest_hex(digest, hex));
  return path;
}

static enum lynx_status hold_against(struct ledger *ledger, struct bytes remembered, const struct checkpoint *now,
                                     struct lynx_error *error) {
  struct note note;
  struct checkpoint then;
  struct merkle_proof proof;
  const struct merkle_source source = ledger_tree(ledger);
  struct lynx_error ignored = {0};
  if (note_parse(remembered, &note, &ignored) != LYNX_OK || checkpoint_parse(note.text, &then, &ignored) != LYNX_OK ||
      !note_signed_by(&note, &ledger_policy(ledger)->log, NULL))
    return LYNX_OK; /* a damaged memory accuses nobody */
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
  char temporary[4200];
  (void)snprintf(temporary, sizeof temporary, "%.4090s.%d.tmp", path, (int)getpid());
  int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool good = fd >= 0 && write(fd, note->data, note->length) == (ssize_t)note->length && fsync(fd) == 0;
  int why = errno;
  if (fd >= 0) (void)close(fd); /* synced */
  if (good && rename(temporary, path) != 0) good = false, why = errno;
  if (good) return LYNX_OK;
  (void)unlink(temporary); /* it may not be there */
  lynx_error_at(error, path, 0, NULL);
  return lynx_fail(error, LYNX_IO, "what was seen of the ledger cannot be remembered: %s", strerror(why));
}

static void make_folders(const char *folder) {
  char path[4200];
  (void)snprintf(path, sizeof path, "%s/", folder);
  for (char *p = path + 1; *p != 0; p++) {
    if (*p != '/') continue;
    *p = 0;
    (void)mkdir(path, 0755); /* what is wrong shows when the file is written */
    *p = '/';
  }
}

enum lynx_status seen_check(struct ledger *ledger, const char *folder, struct lynx_error *error) {
  const struct root root = {""};
  struct buffer old, now;
  struct checkpoint checkpoint;
  char path[4096];
  buffer_init(&old, NOTE_MAX);
  buffer_init(&now, NOTE_MAX);
  (void)seen_path(ledger, folder, path, sizeof path);
  enum lynx_status status = ledger_checkpoint(ledger, &now, &checkpoint, error);
  if (status == LYNX_OK && root_read(&root, path, &old, NULL) == LYNX_OK)
    status = hold_against(ledger, (struct bytes){old.data, old.length}, &checkpoint, error);
  bool same = old.length == now.length && old.length > 0 && memcmp(old.data, now.data, old.length) == 0;
  if (status == LYNX_OK && !same) {
    make_folders(folder);
    status = remember(path, &now, error);
  }
  buffer_release(&old);
  buffer_release(&now);
  return status;
}
