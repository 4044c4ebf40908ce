#include "cli/ledger_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/state.h"
#include "cli/command.h"
#include "cli/ledger_fetch.h"
#include "cli/team_key.h"
#include "ledger/blob.h"
#include "ledger/seen.h"
#include "ledger/tile.h"

const char *ledger_file_address(const char *option) {
  const char *own = getenv("LYNXBENCH_LEDGER");
  return option != NULL ? option : own != NULL && own[0] != 0 ? own : NULL;
}

/* An SQLite file of its own kind, or no file at all (a server's address). */
bool ledger_file_is(const char *path) {
  char head[72] = "";
  struct stat info;
  /* Of a pipe nothing may be taken away, nor of what the kernel makes, which has no size (/proc/kmsg). */
  bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  FILE *file = is_file ? fopen(path, "re") : NULL;
  size_t n = file != NULL ? fread(head, 1, sizeof head, file) : 0;
  if (file != NULL) (void)fclose(file); /* it was read */
  if (file == NULL) return strstr(path, "://") != NULL;
  return n == sizeof head && memcmp(head + 68, "LYNL", 4) == 0; /* SQLite's application id */
}

static bool tell(const char *address, struct lynx_error *error) {
  lynx_error_at(error, address, 0, NULL);
  (void)report_error(error);
  return false;
}

/* For who may add. A missing key is no error: the ledger is then read. */
static bool load_log_key(const char *address, struct signing_key **ret) {
  const char *own = getenv("LYNXBENCH_LOG_KEY");
  char path[4200], name[NOTE_NAME_MAX];
  (void)snprintf(path, sizeof path, "%s.key", address);
  *ret = NULL;
  if (own == NULL && access(path, R_OK) != 0) return true;
  return key_file_read(own != NULL ? own : path, NULL, name, ret);
}

/* A copy of a remote ledger lies with this user's state, under the digest of its address. */
static enum lynx_status update_copy(struct ledger_file *file, struct lynx_error *error) {
  struct tile_copy copied;
  enum lynx_status status = tile_pull(file->copy, ledger_fetch, (void *)(uintptr_t)file->real, NULL, &copied, error);
  if (status == LYNX_NOT_FOUND || status == LYNX_IO) lynx_error_at(error, file->address, 0, NULL);
  return status;
}

static enum lynx_status open_copy(struct ledger_file *file, struct lynx_error *error) {
  uint8_t digest[DIGEST_BYTES];
  char hex[DIGEST_HEX], name[80];
  digest_of(file->real, strlen(file->real), digest);
  (void)snprintf(name, sizeof name, "copies/%.32s.ledger", digest_hex(digest, hex));
  if (!state_path(name, file->copy, sizeof file->copy))
    return lynx_fail(error, LYNX_INPUT, "neither HOME nor XDG_STATE_HOME is set: there is no place for a copy of a remote ledger");
  file_make_parents(file->copy, 0700);
  enum lynx_status status = update_copy(file, error);
  return status == LYNX_OK ? ledger_open(file->copy, STORE_WRITE, NULL, &file->ledger, error) : status;
}

const char *ledger_file_shown(const char *address, char *text, size_t size) {
  const char *scheme = strstr(address, "://"), *at = scheme != NULL ? strchr(scheme + 3, '@') : NULL;
  const char *colon = at != NULL ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;
  if (colon == NULL) return address;
  (void)snprintf(text, size, "%.*s:***%s", (int)(colon - address), address, at);
  return text;
}

static enum lynx_status check_seen(struct ledger_file *file, struct buffer *ret_note, struct lynx_error *error) {
  char folder[4096];
  if (!state_path("ledgers", folder, sizeof folder))
    return lynx_fail(error, LYNX_MACHINE, "neither HOME nor XDG_STATE_HOME is set: what is seen of the ledger cannot be remembered");
  return seen_check(file->ledger, file->real, folder, ret_note, error);
}

void ledger_file_trust(struct ledger_file *file) {
  char folder[4096];
  if (state_path("ledgers", folder, sizeof folder)) seen_trust_checked(file->ledger, folder);
}

void ledger_file_checked(struct ledger_file *file, uint64_t size) {
  char folder[4096];
  if (state_path("ledgers", folder, sizeof folder)) seen_remember_checked(file->ledger, folder, size);
}

bool ledger_file_seen(struct ledger_file *file, struct buffer *ret_note) {
  struct lynx_error error = {0};
  return check_seen(file, ret_note, &error) == LYNX_OK || tell(file->address, &error);
}

int ledger_file_code(const struct ledger_file *file) {
  return file->status == LYNX_PROTOCOL ? EXIT_DOES_NOT_HOLD : file->status == LYNX_MACHINE ? EXIT_CONDITIONS : EXIT_WRONG_INPUT;
}

static bool lacks_key(const struct ledger_file *file, enum ledger_use use) {
  return !file->remote && use == LEDGER_ADDS && file->log_key == NULL;
}

static bool tell_lack(const struct ledger_file *file) {
  complain("lynxbench: %s: the log's key is not at hand (%s.key, or LYNXBENCH_LOG_KEY): this ledger can be read here, not added to\n",
           file->address, file->address);
  return false;
}

bool ledger_file_open(const char *address, enum ledger_use use, struct ledger_file *ret) {
  struct lynx_error error = {0}, memory = {0};
  *ret = (struct ledger_file){.real = address, .remote = ledger_is_url(address), .status = LYNX_INPUT};
  ret->address = ledger_file_shown(address, ret->shown, sizeof ret->shown);
  if (!ret->remote && use != LEDGER_READS && !load_log_key(address, &ret->log_key)) return false;
  /* Before it is opened to write: opening takes in what another writer left beside it. */
  if (lacks_key(ret, use) && file_is_record(address)) return tell_lack(ret);
  lynx_error_at(&error, ret->address, 0, NULL); /* before anybody names it with its password */
  enum lynx_status status = ret->remote
                                ? open_copy(ret, &error)
                                : ledger_open(address, use == LEDGER_READS ? STORE_READ : STORE_WRITE, ret->log_key, &ret->ledger, &error);
  if (status == LYNX_OK) {
    status = check_seen(ret, NULL, &memory);
    /* Who only reads may go on where nothing can be remembered, and is told; who writes or witnesses may not. */
    if (status != LYNX_OK) (void)tell(ret->address, &memory);
    if (status == LYNX_MACHINE && use != LEDGER_ADDS) status = LYNX_OK;
  } else {
    (void)tell(ret->address, &error);
    if (ret->remote && status == LYNX_PROTOCOL)
      complain("lynxbench: the copy that it does not continue is %s; remove it only if another ledger is served there on purpose\n",
               ret->copy);
  }
  if (status == LYNX_OK && lacks_key(ret, use)) {
    status = LYNX_INPUT;
    (void)tell_lack(ret);
  }
  if (status == LYNX_OK) return true;
  ledger_file_close(ret);
  ret->status = status;
  return false;
}

enum lynx_status ledger_file_update(struct ledger_file *file, struct lynx_error *error) {
  enum lynx_status status = file->remote ? update_copy(file, error) : LYNX_OK;
  return status == LYNX_OK ? ledger_refresh(file->ledger, error) : status;
}

void ledger_file_close(struct ledger_file *file) {
  ledger_close(file->ledger);
  signing_key_release(file->log_key);
  *file = (struct ledger_file){.ledger = NULL, .status = LYNX_INPUT};
}

bool ledger_file_find(const struct ledger_file *file, const char *text, uint64_t *ret) {
  uint8_t leaf[DIGEST_BYTES];
  int64_t index = -1;
  struct lynx_error error = {0};
  bool number = text[0] != 0 && number_int64(text, strlen(text), &index) && index >= 0;
  bool digits = strlen(text) >= LEDGER_DIGITS_LEAST && strspn(text, "0123456789abcdefABCDEF") == strlen(text);
  enum lynx_status status = digits ? ledger_digest(file->ledger, text, "", leaf, &error) : LYNX_NOT_FOUND;
  if (status == LYNX_OK) return ledger_find(file->ledger, leaf, ret, &error) == LYNX_OK || tell(file->address, &error);
  if (number && status == LYNX_NOT_FOUND) {
    *ret = (uint64_t)index;
    return true;
  }
  if (digits) return tell(file->address, &error);
  complain(
      "lynxbench: %s: found '%.80s', accepted: an entry's number, or its digest, 8 digits of it and more; `lynxbench ledger list` shows "
      "them\n",
      file->address, text);
  return false;
}

/* Sent, then looked for in the log: a server's word that it is there is not taken. */
static enum lynx_status add_remote(struct ledger_file *file, struct bytes envelope, uint64_t *ret_index, struct lynx_error *error) {
  struct buffer answer;
  uint8_t leaf[DIGEST_BYTES];
  buffer_init(&answer, 65536);
  merkle_leaf(envelope, leaf);
  enum lynx_status status = ledger_send(file->real, "add", envelope, NULL, &answer, error);
  buffer_release(&answer);
  if (status == LYNX_OK) status = ledger_file_update(file, error);
  if (status == LYNX_OK && ledger_find(file->ledger, leaf, ret_index, error) != LYNX_OK) status = LYNX_PROTOCOL;
  return status;
}

bool ledger_file_put_blob(struct ledger_file *file, const char *path, bool before, uint8_t ret_digest[DIGEST_BYTES]) {
  struct lynx_error error = {0};
  struct buffer answer;
  char name[80], hex[DIGEST_HEX];
  int64_t length;
  if (before == file->remote) return !before || blob_digest_file(path, ret_digest, &length, &error) == LYNX_OK || tell(path, &error);
  enum lynx_status status = blob_put_file(ledger_store(file->ledger), path, ret_digest, &error);
  if (status != LYNX_OK || before) return status == LYNX_OK || tell(path, &error);
  (void)snprintf(name, sizeof name, "blob/%s", digest_hex(ret_digest, hex));
  buffer_init(&answer, 65536);
  status = ledger_send(file->real, name, (struct bytes){"", 0}, path, &answer, &error);
  buffer_release(&answer);
  return status == LYNX_OK || tell(file->address, &error);
}

bool ledger_file_add_signed(struct ledger_file *file, struct bytes envelope, uint64_t *ret_index) {
  struct lynx_error error = {0}, memory = {0};
  enum lynx_status status = file->remote ? add_remote(file, envelope, ret_index, &error)
                                         : ledger_add(file->ledger, &envelope, 1, ret_index, &error);
  if (status == LYNX_OK && check_seen(file, NULL, &memory) != LYNX_OK) (void)tell(file->address, &memory); /* it is added all the same */
  return status == LYNX_OK || tell(file->address, &error);
}

bool ledger_file_add(struct ledger_file *file, const struct entry *entry, const struct signer *signer, uint64_t *ret_index,
                     uint8_t ret_leaf[DIGEST_BYTES]) {
  struct buffer envelope;
  struct lynx_error error = {0};
  char now[40];
  buffer_init(&envelope, ENVELOPE_MAX);
  struct entry own = *entry;
  own.ledger = ledger_policy(file->ledger)->origin;
  enum lynx_status status = entry_sign(&own, clock_text(now, clock_system.realtime_ns(clock_system.context)), signer, &envelope, &error);
  bool good = status == LYNX_OK ? ledger_file_add_signed(file, (struct bytes){envelope.data, envelope.length}, ret_index)
                                : tell(file->address, &error);
  if (good && ret_leaf != NULL) merkle_leaf((struct bytes){envelope.data, envelope.length}, ret_leaf);
  buffer_release(&envelope);
  return good;
}
