/* cli/ledger_file.h: a ledger opened for a command, and held against what was last seen of it from here. */
#ifndef CLI_LEDGER_FILE_H
#define CLI_LEDGER_FILE_H

#include "ledger/entry.h"
#include "ledger/ledger.h"

struct ledger_file {
  const char *address; /* as it may be shown: without a password */
  const char *real;
  char shown[512];
  bool remote;     /* a URL: `ledger` is a checked copy of it, and what is added is sent there */
  char copy[4200]; /* its file */
  struct ledger *ledger;
  struct signing_key *log_key;
  enum lynx_status status; /* of opening it */
};

/* The address as it may be shown: "postgresql://user:***@host/" in place of a password. text is used where something is left out. */
const char *ledger_file_shown(const char *address, char *text, size_t size);

/* Is this a ledger's file, or the address of one? */
bool ledger_file_is(const char *path);
/* --ledger's value, or LYNXBENCH_LEDGER; NULL: neither. */
const char *ledger_file_address(const char *option);
/* What opening it gave: PROTOCOL where it was altered, rolled back, forked or replaced. */
int ledger_file_code(const struct ledger_file *file);
/* Holds it against what was seen again, strictly, and gives the checkpoint that holds. False: reported. */
bool ledger_file_seen(struct ledger_file *file, struct buffer *ret_note);
/* What was checked of it before, from here, is not checked again (seen.h); every entry up to that size was checked. */
void ledger_file_trust(struct ledger_file *file);
void ledger_file_checked(struct ledger_file *file, uint64_t size);
enum ledger_use {
  LEDGER_READS, /* nothing is changed, in the ledger and beside it */
  LEDGER_KEEPS, /* what needs no key of the log: cosignatures, files of a copy */
  LEDGER_ADDS   /* the log's key must be there: LEDGER.key beside a file, or LYNXBENCH_LOG_KEY */
};
/* False: what is wrong was reported. */
bool ledger_file_open(const char *address, enum ledger_use use, struct ledger_file *ret);
/* Reads anew what others wrote meanwhile. */
enum lynx_status ledger_file_update(struct ledger_file *file, struct lynx_error *error) LYNX_MUST_CHECK;
void ledger_file_close(struct ledger_file *file);

/* Where an entry stands, by its number or its digest of 64 digits. False: reported. */
bool ledger_file_find(const struct ledger_file *file, const char *text, uint64_t *ret);

/* Signs an entry as of now and adds it; ret_leaf may be NULL. False: reported. */
bool ledger_file_add(struct ledger_file *file, const struct entry *entry, const struct signer *signer, uint64_t *ret_index,
                     uint8_t ret_leaf[DIGEST_BYTES]);
/* Keeps a bundle's file, before its entry is added where the ledger is at hand, after it where it is remote (the server takes what an entry
 * names): call it at both times. */
bool ledger_file_put_blob(struct ledger_file *file, const char *path, bool before, uint8_t ret_digest[DIGEST_BYTES]);
/* Adds envelopes that are signed already. */
bool ledger_file_add_signed(struct ledger_file *file, struct bytes envelope, uint64_t *ret_index);

#endif
