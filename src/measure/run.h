/* measure/run.h: one run of a contract, from its logged intent to its seal.
 * Order    of sessions: number by number, every precision in each, so that drift meets all of them alike
 * Errors   INPUT (contract or files), IO (the executor cannot be reached or failed; status executor_failed), MACHINE (the
 *          record cannot be written: disk full). What there is is sealed as failed or interrupted wherever the disk allows it
 * Threads  the load engines have their own; everything else happens on the caller's */
#ifndef MEASURE_RUN_H
#define MEASURE_RUN_H

#include "measure/run_request.h"

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
