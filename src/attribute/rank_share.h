/* attribute/rank_share.h: what is kept of one rank's trace to see a job of many: some KB for each thousand collectives, in place of the
 * trace. Written as one line of JSON, so that ranks are read where they ran, and seen together later.
 * Order    rank_share_take of a trace whose account is made, or rank_share_read of a line; then read-only; rank_share_release
 * Limits   4,194,304 collectives and 65,536 steps a rank; steps and collectives beyond are left out, and `full` says so
 * Errors   INPUT: not such a line, or one that does not add up; another version by name */
#ifndef ATTRIBUTE_RANK_SHARE_H
#define ATTRIBUTE_RANK_SHARE_H

#include "attribute/attribution.h"
#include "base/json.h"

enum { RANK_SHARE_VERSION = 1 };
#define RANK_SHARE_MARK "{\"lynxbench_rank\":" /* what each line begins with */

struct rank_step {
  int64_t number, start_ns, duration_ns; /* number: the profiler's own, else from 0 */
};

struct rank_finding {
  const char *id; /* of its rule */
  const char *named;
  double share;
};

struct rank_share {
  struct arena arena;
  const char *path, *reader, *device_name; /* device_name: "" where it is not known */
  int64_t bytes, n_spans, world_size;      /* world_size: 0: not known */
  int64_t device, wall_ns;                 /* of its account */
  int64_t shown_ns;                        /* what the trace shows of the device where that is more than the window; else the window */
  int64_t n_lost;                          /* events that were skipped, or are missing */
  enum account_window window;
  struct attribution_cause causes[CAUSES_MAX]; /* they sum to the wall */
  size_t n_causes;
  struct rank_step *steps; /* in order of time, none in another */
  size_t n_steps;
  struct rank_calls calls;
  struct rank_finding findings[FINDINGS_MAX];
  size_t n_findings;
  bool full;
};

/* false: the trace does not say which rank it is of, or holds no time account. */
bool rank_share_take(const struct attributed_trace *trace, struct rank_share *ret);
void rank_share_write(const struct rank_share *share, struct buffer *out); /* a line, with its end */
enum lynx_status rank_share_read(const char *line, size_t length, struct rank_share *ret, struct lynx_error *error) LYNX_MUST_CHECK;
void rank_share_release(struct rank_share *share);

#endif
