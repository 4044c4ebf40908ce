/* measure/run_perturb.h: sessions in which somebody else slows the executor's resources, block by block. */
#ifndef MEASURE_RUN_PERTURB_H
#define MEASURE_RUN_PERTURB_H

#include "measure/run_record.h"

enum lynx_status run_perturb(struct run *run);

/* One session of an executor of its own: this command in this environment, in place of the contract's. *ret_complete false with OK: it did
 * not start, or did not last (the session is marked as failed, with the reason), or the run is over. captures: what it is goes into the
 * record as the executor's facts. */
enum lynx_status run_variant(struct run *run, const struct text_list *command, const struct text_list *environment, int64_t number,
                             bool captures, bool *ret_complete) LYNX_MUST_CHECK;

/* Before the first session: the first n of an earlier run of the same plan are this run's too. */
enum lynx_status run_resume(struct run *run, struct bundle *earlier, const char *root, int64_t n) LYNX_MUST_CHECK;

#endif
