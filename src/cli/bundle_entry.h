/* cli/bundle_entry.h: a run in the ledger: its intent before it starts, its bundle after it was sealed. */
#ifndef CLI_BUNDLE_ENTRY_H
#define CLI_BUNDLE_ENTRY_H

#include "cli/ledger_file.h"
#include "contract/contract.h"
#include "measure/run.h"

/* What a run carries into its bundle, so that it can be shown later what stood in the ledger before it. */
struct run_link {
  char intent[DIGEST_HEX];
  struct buffer checkpoint;
  struct run_meta meta[3];
};

/* Adds the contract, where it is new, and the intent. Reads the checkpoint that vouches for what stood there before, or the newest.
 * False: reported. run_link_release in every case. */
bool run_link_begin(struct ledger_file *file, const struct contract *contract, const char *text, const struct signer *signer,
                    struct run_link *ret);
void run_link_release(struct run_link *link);

/* A contract's own words are in the ledger once, before what speaks of it. */
bool contract_entry_add(struct ledger_file *file, const char *digest, const char *name, const char *text, const struct signer *signer);

/* The file of a bundle that the ledger keeps, by its root (64 digits), to a path where nothing is yet. NOT_FOUND: it keeps none. */
enum lynx_status bundle_entry_get(struct ledger_file *file, const char *root, const char *out, struct lynx_error *error) LYNX_MUST_CHECK;

/* Adds the bundle's file and its entry. False: reported. */
bool bundle_entry_add(struct ledger_file *file, const char *path, const struct signer *signer, uint64_t *ret_index);

#endif
