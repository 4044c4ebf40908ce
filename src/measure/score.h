/* measure/score.h: the contract's scorer, a command that reads a line {"prompt", "output", "reference"} per sampled answer and writes
 * one number from 0 to 1 per line.
 * Errors   UNSUPPORTED: it cannot be started, takes longer than 10 minutes, ends with another code than 0, writes something else, or
 *          the user stops the run meanwhile */
#ifndef MEASURE_SCORE_H
#define MEASURE_SCORE_H

#include <stdatomic.h>

#include "measure/inputs.h"
#include "record/bundle.h"

typedef enum lynx_status score_row(void *context, int64_t input, double score);

enum lynx_status score_answers(const struct contract *contract, struct bundle *bundle, const struct inputs *inputs, int64_t session,
                               const char *out_path, const atomic_int *stop, score_row *row, void *context,
                               struct lynx_error *error) LYNX_MUST_CHECK;

#endif
