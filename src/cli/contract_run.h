/* cli/contract_run.h: a contract's run as every command starts it, with this machine's records, Ctrl-C and progress; and the one table of
 * how a run ends, and with which exit code.
 * Order    init; then whole (contract_run_whole), or in parts: run_begin with .request, .run, .outcome and .error, rounds, contract_run_end.
 *          The command adds to .request what is its own, before that. After init, end follows in every case
 * Reports  what went wrong, on standard error, and what there is of the record */
#ifndef CLI_CONTRACT_RUN_H
#define CLI_CONTRACT_RUN_H

#include "cli/machine_record.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "measure/run.h"

struct contract_run {
  struct run_request request;
  struct screen screen;
  struct machine_records records;
  struct run *run;
  struct run_outcome outcome;
  struct lynx_error error;
  enum lynx_status status; /* of the last part that was done; what contract_run_end is told */
};

/* It is not moved afterwards: the request holds its screen's address. */
void contract_run_init(struct contract_run *r, bool quiet, const char *contract, size_t length, const char *out);
int contract_run_end(struct contract_run *r);   /* seals, says what went wrong, and frees; the exit code. EXIT_HOLDS: all of it was run */
int contract_run_whole(struct contract_run *r); /* the same, from its begin */

#endif
