/* measure/merge.h: the parts of a run that several load hosts made, as one bundle.
 *
 * Order    any; the parts say which they are
 * Result   one session for each that all parts have: every arrival once, from whichever host sent it; complete where it is complete in all
 *          parts. Each part's root, host and clock stand in the record. A part that is missing or incomplete makes the whole incomplete,
 *          and what there is is kept
 * Errors   INPUT: not parts of one run, one of them twice, two hosts that sent one arrival */
#ifndef MEASURE_MERGE_H
#define MEASURE_MERGE_H

#include "record/bundle.h"

enum { MERGE_PARTS_MAX = 64 }; /* as many as a command line of ours takes */

struct merge_outcome {
  enum bundle_end end;
  char why[256], root[DIGEST_HEX];
  int64_t n_parts, n_requests;
  double clock_off_at_most_s; /* the greatest of the parts'; negative: one is not known */
  bool clocks_synchronised;   /* by every kernel's word */
};

enum lynx_status merge_parts(const char *const *paths, size_t n, const char *out, struct merge_outcome *ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;

#endif
