#include "measure/observe_counters.h"

#include <time.h>

#include "measure/run_record.h"

enum { READ_EVERY_MS = 1000 };

enum lynx_status run_observe_counters(struct run *run) {
  const struct contract *c = &run->contract;
  int64_t begun = clock_now(run->request->clock), length = c->method.counted_ns, now = 0;
  struct bundle_session row = {.id = 0,
                               .precision = c->precisions.items[0],
                               .purpose = PURPOSE_OBSERVE,
                               .executor = EXECUTOR_ALREADY_RUNNING,
                               .end = SESSION_RUNNING,
                               .why = "",
                               .start_realtime_ns = run_realtime(run),
                               .counted_ns = length,
                               .schedule_digest = "",
                               .executed_json = "",
                               .instrument_json = "{}"};
  if (!service_metrics(&run->service, &run->metrics))
    return lynx_fail(run->error, LYNX_UNSUPPORTED,
                     "%s gives no metrics at /metrics: there is nothing to observe it by; `lynxbench profile` reads its logs instead",
                     c->executor.endpoint);
  run->next_session = 1;
  run->n_sessions_planned = 1;
  enum lynx_status status = LYNX_OK;
  bundle_put_session(run->bundle, &row);
  bundle_put_meta(run->bundle, "metrics_before", run->metrics.data);
  while (status == LYNX_OK && now < length && !run_is_over(run)) {
    const struct timespec step = {.tv_nsec = 100000000};
    run_put_metrics(run, 0, now);
    status = bundle_commit(run->bundle, run->error);
    struct run_progress progress = {.step = "observe",
                                    .precision = row.precision,
                                    .purpose = PURPOSE_OBSERVE,
                                    .session = 1,
                                    .n_sessions = 1,
                                    .elapsed_s = (double)now / 1e9,
                                    .total_s = (double)length / 1e9};
    if (run->request->progress != NULL) run->request->progress(run->request->context, &progress);
    for (int i = 0; i < READ_EVERY_MS / 100 && !run_is_over(run); i++) (void)nanosleep(&step, NULL);
    if (status == LYNX_OK && !service_metrics(&run->service, &run->metrics)) {
      run->outcome->executor_failed = true;
      status = lynx_fail(run->error, LYNX_IO, "%s stopped giving its metrics after %.0f s", c->executor.endpoint, (double)now / 1e9);
    }
    now = clock_now(run->request->clock) - begun;
  }
  if (status != LYNX_OK) return status;
  run_put_metrics(run, 0, now);
  bundle_put_meta(run->bundle, "metrics_after", run->metrics.data);
  row.end = run_is_over(run) ? SESSION_INTERRUPTED : SESSION_COMPLETE;
  row.counted_ns = now > 0 ? now : 1;
  bundle_put_session(run->bundle, &row);
  return bundle_commit(run->bundle, run->error);
}
