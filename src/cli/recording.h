/* cli/recording.h: what a measurement has to do with a ledger, if anything: its intent stands there before anything is started, and what
 * was sealed is entered after it. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "cli/bundle_entry.h"
#include "cli/contract_file.h"
#include "cli/pen.h"
#include "cli/telling.h"

struct recording {
  bool wanted, begun;
  struct pen pen;
  struct run_link link;
  struct telling *telling; /* reports to the ledger's server; NULL: to nobody */
};

/* False: reported; recording_end is due all the same. Nothing is recorded where neither an option nor the environment names a ledger. */
bool recording_begin(const struct pen_wanted *wanted, const struct contract_file *file, struct recording *ret);

/* What was sealed, however it ended, is recorded; what was not leaves its intent as an abandoned run. */
bool recording_end(struct recording *recording, const char *path, bool sealed, bool quiet);

#endif
