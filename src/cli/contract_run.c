#include "cli/contract_run.h"

#include <string.h>
#include <unistd.h>

enum ending { ENDED_WHOLE, ENDED_INTERRUPTED, ENDED_BY_SLO, ENDED_BY_EXECUTOR, ENDED_BY_RECORD, ENDED_BY_NAME, ENDED_BY_INPUT };

/* By the error's own status: -1. */
static const int exit_codes_of[] = {
    [ENDED_WHOLE] = EXIT_HOLDS,
    [ENDED_INTERRUPTED] = EXIT_INTERRUPTED,
    [ENDED_BY_SLO] = EXIT_CONDITIONS,    /* the contract's abort SLO */
    [ENDED_BY_EXECUTOR] = EXIT_EXECUTOR, /* it failed, or could not be started */
    [ENDED_BY_RECORD] = EXIT_CONDITIONS, /* the bundle could not be written: a full disk */
    [ENDED_BY_NAME] = EXIT_EXECUTOR,     /* something else that was asked of the network or of a file, once the run had begun */
    [ENDED_BY_INPUT] = -1,               /* nothing was begun */
};

static enum ending run_ending(const struct contract_run *r) {
  const char *path = r->request.out_path;
  if (r->outcome.executor_failed) return ENDED_BY_EXECUTOR;
  if (r->outcome.aborted_by_slo) return ENDED_BY_SLO;
  if (r->status == LYNX_OK) return r->outcome.end == BUNDLE_COMPLETE ? ENDED_WHOLE : ENDED_INTERRUPTED;
  if (r->status == LYNX_MACHINE || (r->status == LYNX_IO && strcmp(r->error.file, path) == 0)) return ENDED_BY_RECORD;
  return r->status == LYNX_IO && access(path, F_OK) == 0 ? ENDED_BY_NAME : ENDED_BY_INPUT;
}

void contract_run_init(struct contract_run *r, bool quiet, const char *contract, size_t length, const char *out) {
  static const struct root root = {""};
  *r = (struct contract_run){.run = NULL};
  screen_init(&r->screen, quiet);
  machine_records_load(&r->records);
  r->request = (struct run_request){.contract_text = contract,
                                    .contract_length = length,
                                    .out_path = out,
                                    .root = &root,
                                    .clock = &clock_system,
                                    .calibration = r->records.calibration,
                                    .envelope = r->records.envelope,
                                    .stop = screen_catch_interrupts(),
                                    .progress = screen_show,
                                    .note = screen_note,
                                    .context = &r->screen};
}

int contract_run_end(struct contract_run *r) {
  const char *path = r->request.out_path;
  if (r->run != NULL) r->status = run_end(r->run, r->status);
  r->run = NULL;
  clear_progress();
  machine_records_release(&r->records);
  int of_error = r->status != LYNX_OK ? report_error(&r->error) : EXIT_HOLDS, code = exit_codes_of[run_ending(r)];
  if (r->status != LYNX_OK && r->outcome.sealed)
    complain("What was measured was sealed as %s in %s\n", bundle_end_text(r->outcome.end), path);
  else if (r->status != LYNX_OK && r->status != LYNX_INPUT && access(path, F_OK) == 0)
    complain("%s holds what was recorded before; it is not sealed, and counts as incomplete\n", path);
  return code >= 0 ? code : of_error;
}

int contract_run_whole(struct contract_run *r) {
  r->status = run_contract(&r->request, &r->outcome, &r->error);
  return contract_run_end(r);
}
