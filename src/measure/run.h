/* measure/run.h: one run of a contract, from its logged intent to its seal.
 * Order    of sessions: number by number, every precision in each, so that drift meets all of them alike
 * Errors   INPUT (contract or files), IO (the executor cannot be reached or failed; status executor_failed), MACHINE (the
 *          record cannot be written: disk full). What there is is sealed as failed or interrupted wherever the disk allows it
 * Threads  the load engines have their own; everything else happens on the caller's */
#ifndef MEASURE_RUN_H
#define MEASURE_RUN_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/root.h"
#include "contract/contract.h"
#include "measure/part.h"
#include "record/bundle.h"

struct run_progress {
  const char *step; /* "starting", "warm-up", "counted", "drain", "accuracy", "sealing" */
  const char *precision;
  enum purpose purpose;
  double rate_per_s;           /* offered; 0: a closed loop */
  int64_t session, n_sessions; /* of all precisions; from 1; n_sessions 0: not known beforehand */
  double elapsed_s, total_s;   /* of this session's windows */
  long long n_issued, n_done, n_failed, n_tokens;
  int in_flight;
};

/* Kept with the run, in the bundle's section meta. */
struct run_meta {
  const char *key, *value;
};

struct run_request {
  const char *contract_text;
  size_t contract_length;
  const char *out_path;
  const char *calibration;     /* of this machine, as JSON: kept with the run; NULL: none */
  bool observe;                /* send nothing: watch what the service does for others */
  const struct run_meta *meta; /* further ones, such as what stood in a ledger before */
  size_t n_meta;
  int64_t sessions;        /* at least so many, instead of method.sessions; 0: as the contract says */
  const char *endpoint;    /* where this executor is, instead of executor.endpoint; NULL */
  struct run_part part;    /* count 0: the only load host */
  const char *interleaved; /* an id that both runs carry whose sessions alternate; NULL */
  const struct root *root;
  const struct lynx_clock *clock;
  const atomic_int *stop;                                               /* 0 run; 1 drain, then seal as interrupted; 2 abort, then seal */
  void (*progress)(void *context, const struct run_progress *progress); /* about ten times a second */
  void (*note)(void *context, const char *text);                        /* something worth a line */
  void *context;
};

struct run_outcome {
  enum bundle_end end;
  char why[256];
  char root[DIGEST_HEX];
  bool sealed, executor_failed, aborted_by_slo;
};

/* The same in steps, for whoever interleaves several runs: begin, rounds (one session of each precision), end. run_end seals, with
 * the status that what came before returned, and releases; it follows run_begin in every case. */
struct run;
enum lynx_status run_begin(const struct run_request *request, struct run **ret, struct run_outcome *ret_outcome,
                           struct lynx_error *error) LYNX_MUST_CHECK;
const struct contract *run_contract_of(const struct run *run);
enum lynx_status run_round(struct run *run, int64_t number, bool last) LYNX_MUST_CHECK;
enum lynx_status run_end(struct run *run, enum lynx_status status) LYNX_MUST_CHECK;

enum lynx_status run_contract(const struct run_request *request, struct run_outcome *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
