/* measure/merge_trace.h: a run, and a trace that a profiler wrote of its server meanwhile or in a run like it (PyTorch's Python package, ONNX
 * Runtime's option, Nsight Systems), as one bundle: the trace's account is beside the run's.
 *
 * Result   the run's rows as they are; the trace's as measure/trace_account.h says, in its last complete session. The original's root is in
 *          the record
 * Errors   INPUT: a run with withheld sections, or a part of one; no complete session; no trace */
#ifndef MEASURE_MERGE_TRACE_H
#define MEASURE_MERGE_TRACE_H

#include "measure/trace_account.h"

struct merge_trace_outcome {
  enum bundle_end end;
  char why[256], root[DIGEST_HEX];
  struct trace_account account;
};

enum lynx_status merge_trace(const char *run_path, const char *trace_path, const char *out, struct merge_trace_outcome *ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;

#endif
