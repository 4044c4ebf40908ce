/* attribute/rank_job.h: all ranks of one job together: where the time went on each, which rank the others wait for, and in which step.
 * Order    rank_job_add for each rank, in any order; rank_job_finish once; then read-only
 * Result   the same whatever the order, and whether ranks came from traces or from lines (rank_share.h)
 * Own time of a step on one rank: what it takes, less what that rank waits in its collectives. Steps end together on all ranks of a job
 *          that runs in step, so that their length says nothing of a rank; its own time does
 * Memory   some 60 bytes for each collective of each rank, and 4 KB for each rank
 * Limits   65,536 ranks; steps beyond 512 share columns
 * Errors   INPUT: two say that they are the same rank */
#ifndef ATTRIBUTE_RANK_JOB_H
#define ATTRIBUTE_RANK_JOB_H

#include "attribute/rank_share.h"

enum { JOB_RANKS_MAX = 1 << 16, JOB_COLUMNS_MAX = 512 };

/* A part of the window, as a share of each rank's own. */
struct job_cause {
  struct attribution_cause cause; /* ns: of all ranks together */
  double mean, least, greatest;
  size_t least_at, greatest_at; /* index of the rank */
};

/* What a rule says of some of the ranks. */
struct job_finding {
  const struct rule *rule;
  int64_t n;
  double least, greatest;
  const char *named; /* where it is greatest; "" */
};

struct rank_job {
  struct rank_share **ranks; /* by rank */
  size_t n, room;
  int64_t world_size, n_missing, n_beyond; /* world_size: 0: not known; beyond: ranks that say a number that the job has not */
  bool worlds_differ;
  double waiting; /* share of what the traces show in which a rank waits in some collective: the mean of all ranks */
  struct job_cause causes[CAUSES_MAX];
  size_t n_causes;
  struct collectives collectives;
  struct finding straggler;
  bool has_straggler;
  struct job_finding findings[FINDINGS_MAX];
  size_t n_findings;
  /* Steps that all ranks show, in columns: column c holds the steps from first_step[c] on. */
  int64_t n_steps, first_step[JOB_COLUMNS_MAX];
  size_t n_columns;
  double *own_ns;    /* [rank * n_columns + column] */
  double *median_ns; /* [column], over the ranks */
};

enum lynx_status rank_job_add(struct rank_job *job, struct rank_share *take_share, struct lynx_error *error) LYNX_MUST_CHECK;
/* *ret_path: whose the error is. */
enum lynx_status rank_job_finish(struct rank_job *job, const char **ret_path, struct lynx_error *error) LYNX_MUST_CHECK;
void rank_job_release(struct rank_job *job);

/* Its own time in that column against the median of all ranks; NaN where that is 0. */
double rank_job_ratio(const struct rank_job *job, size_t rank, size_t column);

#endif
