/* measure/part.h: one of several load hosts that bring a contract's load together. Each runs the same contract by itself; nobody commands.
 *
 * Split    exactly: of N hosts with E load threads each, thread i of host k takes every (N E)-th arrival from the (k + N i)-th on, of one
 *          schedule that all of them make from the contract and its seed; concurrency is shared out likewise
 * Start    session s begins on every host at start + s * part_period_ns by its own wall clock; how far that may be off is what the kernel
 *          says of it, and stands in the record
 * Whole    measure/merge.h
 * Errors   INPUT: a contract whose load cannot be shared, or one that is no duration long; MACHINE: the start has passed */
#ifndef MEASURE_PART_H
#define MEASURE_PART_H

#include "contract/contract.h"
#include "drivers/drivers.h"

struct run_part {
  int64_t number, count; /* number from 1; count 0: the only one */
  int64_t start_realtime_ns;
};

enum lynx_status part_check(const struct run_part *part, const struct contract *contract, const struct driver *driver,
                            struct lynx_error *error) LYNX_MUST_CHECK;
/* From one session's zero to the next one's. */
int64_t part_period_ns(const struct contract *contract);
/* What goes into the record: number, count, start, host, and how far the kernel says that its clock may be off. */
void part_write(const struct run_part *part, struct buffer *ret);

#endif
