#include "cli/ledger_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/state.h"
#include "cli/team_key.h"
#include "ledger/seen.h"

const char *ledger_file_address(const char *option) {
  const char *own = getenv("LYNXBENCH_LEDGER");
  return option != NULL ? option : own != NULL && own[0] != 0 ? own : NULL;
}

static bool tell(const char *address, struct lynx_error *error) {
  lynx_error_at(error, address, 0, NULL);
  (void)report_error(error);
  return false;
}

/* No key at hand is no error: the ledger is then read. */
static bool load_log_key(const char *address, struct signing_key **ret) {
  const char *own = getenv("LYNXBENCH_LOG_KEY");
  char path[4200];
  struct buffer text;
  struct lynx_error error = {0};
  (void)snprintf(path, sizeof path, "%s.key", address);
  *ret = NULL;
  if (own == NULL && access(path, R_OK) != 0) return true;
  if (!read_file(own != NULL ? own : path, 65536, &text)) return false;
  enum lynx_status status = signing_key_read((struct bytes){text.data != NULL ? text.data : "", text.length}, NULL, ret, &error);
  if (text.data != NULL) explicit_bzero(text.data, text.length);
  buffer_release(&text);
  return status == LYNX_OK || tell(own != NULL ? own : path, &error);
}

bool ledger_file_open(const char *address, bool write, struct ledger_file *ret) {
  struct lynx_error error = {0};
  char seen[4200];
  *ret = (struct ledger_file){.address = address};
  if (!load_log_key(address, &ret->log_key)) return false;
  enum lynx_status status = ledger_open(address, ret->log_key, &ret->ledger, &error);
  if (status == LYNX_OK && state_path("ledgers", seen, sizeof seen)) status = seen_check(ret->ledger, seen, &error);
  if (status == LYNX_IO) { /* what cannot be remembered is told, and no reason not to read */
    (void)tell(address, &error);
    status = ret->ledger != NULL ? LYNX_OK : LYNX_IO;
  }
  if (status == LYNX_OK && write && ret->log_key == NULL)
    status = lynx_fail(&error, LYNX_INPUT,
                       "the log's key is not at hand (%s.key, or LYNXBENCH_LOG_KEY): this ledger can be read here, not added to", address);
  if (status == LYNX_OK) return true;
  if (error.status != LYNX_OK) (void)tell(address, &error);
  ledger_file_close(ret);
  return false;
}

void ledger_file_close(struct ledger_file *file) {
  ledger_close(file->ledger);
  signing_key_release(file->log_key);
  *file = (struct ledger_file){.ledger = NULL};
}

bool ledger_file_add_signed(struct ledger_file *file, struct bytes envelope, uint64_t *ret_index) {
  struct lynx_error error = {0};
  char seen[4200];
  enum lynx_status status = ledger_add(file->ledger, &envelope, 1, ret_index, &error);
  if (status == LYNX_OK && state_path("ledgers", seen, sizeof seen)) {
    struct lynx_error memory = {0};
    if (seen_check(file->ledger, seen, &memory) != LYNX_OK) (void)tell(file->address, &memory); /* it is added all the same */
  }
  return status == LYNX_OK || tell(file->address, &error);
}

bool ledger_file_add(struct ledger_file *file, const struct entry *entry, const struct signer *signer, uint64_t *ret_index,
                     uint8_t ret_leaf[DIGEST_BYTES]) {
  struct buffer envelope;
  struct lynx_error error = {0};
  char now[40];
  buffer_init(&envelope, ENVELOPE_MAX);
  enum lynx_status status = entry_sign(entry, clock_text(now, clock_system.realtime_ns(clock_system.context)), signer, &envelope, &error);
  bool good = status == LYNX_OK ? ledger_file_add_signed(file, (struct bytes){envelope.data, envelope.length}, ret_index)
                                : tell(file->address, &error);
  if (good && ret_leaf != NULL) merkle_leaf((struct bytes){envelope.data, envelope.length}, ret_leaf);
  buffer_release(&envelope);
  return good;
}
