/* measure/merge_samples.h: a run whose serving process is on another host, with what samplers saw of it there, as one bundle.
 *
 * Result   the run's rows as they are, but for the samples of the load host's own machine, whose names get "client." in front; of the
 *          file's rows those that lie within a session, by the two hosts' wall clocks. The original's root is in the record
 * Errors   INPUT: the process listens at another port; the run saw the serving process itself; no counted window lies within the samples; a withheld section; another address
 * Limits   one host; clocks that are apart shift what was seen by as much, which is said where the kernels do not call them right */
#ifndef MEASURE_MERGE_SAMPLES_H
#define MEASURE_MERGE_SAMPLES_H

#include "record/bundle.h"

struct merge_samples_outcome {
  enum bundle_end end;
  char why[256], root[DIGEST_HEX], host[128];
  int64_t n_values, n_activities, n_windows, n_covered; /* counted windows; of them, those that lie within the samples */
};

struct merge_samples_request {
  const char *run_path, *samples_path, *out;
  const char *samples; /* the file's text */
  size_t length;
  bool any_port; /* a forwarder is in between: the process may listen at another port than the run's endpoint */
};

enum lynx_status merge_samples(const struct merge_samples_request *request, struct merge_samples_outcome *ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;

#endif
