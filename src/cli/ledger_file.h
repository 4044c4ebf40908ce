/* cli/ledger_file.h: a ledger opened for a command, and held against what was last seen of it from here. */
#ifndef CLI_LEDGER_FILE_H
#define CLI_LEDGER_FILE_H

#include "ledger/entry.h"
#include "ledger/ledger.h"

struct ledger_file {
  const char *address;
  struct ledger *ledger;
  struct signing_key *log_key;
};

/* --ledger's value, or LYNXBENCH_LEDGER; NULL: neither. */
const char *ledger_file_address(const char *option);
/* write: the log's key must be at hand (LEDGER.key beside a file, or LYNXBENCH_LOG_KEY). False: what is wrong was told. */
bool ledger_file_open(const char *address, bool write, struct ledger_file *ret);
void ledger_file_close(struct ledger_file *file);

/* Signs an entry as of now and adds it; ret_leaf may be NULL. False: told. */
bool ledger_file_add(struct ledger_file *file, const struct entry *entry, const struct signer *signer, uint64_t *ret_index,
                     uint8_t ret_leaf[DIGEST_BYTES]);
/* Adds envelopes that are signed already. */
bool ledger_file_add_signed(struct ledger_file *file, struct bytes envelope, uint64_t *ret_index);

#endif
