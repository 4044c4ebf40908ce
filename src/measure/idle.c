#include "measure/idle.h"

#include <math.h>
#include <time.h>

#include "telemetry/metrics.h"

enum { PROBES = 3, LOOK_MS = 50 };
static const double usual_factor = 2, slack_ns = 5e6;

/* --- by its own counts --- */

static double in_server(struct run *run) {
  if (!service_metrics(&run->service, &run->metrics)) return NAN;
  const struct bytes page = {run->metrics.data, run->metrics.length};
  double running = metrics_value(page, METRICS_RUNNING), waiting = metrics_value(page, METRICS_WAITING);
  return isnan(running) && isnan(waiting) ? NAN : (isnan(running) ? 0 : running) + (isnan(waiting) ? 0 : waiting);
}

/* --- by a probe request --- */

struct probe {
  bool ended, good;
};

static void take(void *context, const struct completion *completion) {
  struct probe *probe = context;
  if (completion->kind != COMPLETION_END || completion->slot != 0) return;
  probe->ended = true;
  probe->good = completion->end->outcome == OUTCOME_OK;
}

/* How long one request took, alone; infinite: it failed, or took longer than that. */
static double probe_ns(struct run *run, int64_t most_ns) {
  const struct driver *driver = run->driver;
  void *state = run->setup.states[0];
  struct probe probe = {.ended = false};
  int64_t begun = clock_now(run->request->clock), until = begun + most_ns;
  if (driver->issue(state, 0, run->idle.n_probes++ % run->inputs.n_items) != DRIVER_ACCEPTED) return INFINITY;
  while (!probe.ended && clock_now(run->request->clock) < until && atomic_load(run->request->stop) == 0)
    driver->reap(state, clock_now(run->request->clock) + (int64_t)LOOK_MS * 1000000, take, &probe);
  if (!probe.ended) driver->cancel(state, 0);
  return probe.good ? (double)(clock_now(run->request->clock) - begun) : INFINITY;
}

void idle_learn(struct run *run, bool by_probes) {
  if (run->idle.known || run->driver->in_process || run->request->part.count > 0) return;
  run->idle.level = in_server(run);
  run->idle.known = !isnan(run->idle.level) || by_probes;
  if (!isnan(run->idle.level) || !by_probes) return;
  double slowest = 0;
  for (int i = 0; i < PROBES && isfinite(slowest); i++) slowest = fmax(slowest, probe_ns(run, run->contract.method.request_timeout_ns));
  run->idle.usual_ns = slowest;
}

double idle_answer_ns(struct run *run) {
  if (run->driver->in_process || run->request->part.count > 0) return 0;
  if (run->idle.answer_ns <= 0)
    run->idle.answer_ns = run->idle.usual_ns > 0 ? run->idle.usual_ns : probe_ns(run, run->contract.method.request_timeout_ns);
  return run->idle.answer_ns;
}

enum session_began idle_wait(struct run *run, double *ret_waited_s, const char **ret_why) {
  int64_t begun = clock_now(run->request->clock), most_ns = run->contract.method.request_timeout_ns;
  const struct timespec step = {.tv_nsec = (long)LOOK_MS * 1000000};
  bool by_counts = run->idle.known && !isnan(run->idle.level),
       by_probe = run->idle.known && !by_counts && run->idle.usual_ns > 0 && isfinite(run->idle.usual_ns);
  *ret_waited_s = 0;
  *ret_why = "";
  if (!by_counts && !by_probe) return BEGAN_UNSEEN;
  if (most_ns < 10000000000) most_ns = 10000000000;
  double bound = usual_factor * run->idle.usual_ns + slack_ns, level = NAN, took = NAN;
  run_show_step(run, "waiting until idle", "");
  for (bool first = true;; first = false) {
    int64_t left = most_ns - (clock_now(run->request->clock) - begun);
    *ret_waited_s = (double)(clock_now(run->request->clock) - begun) / 1e9;
    if ((left <= 0 && !first) || run_is_over(run)) break;
    if (by_counts) {
      level = in_server(run);
      if (level <= run->idle.level) return BEGAN_IDLE_BY_COUNTS;
    } else if ((took = probe_ns(run, left > 0 ? left : 1)) <= bound) return BEGAN_IDLE_BY_PROBE;
    (void)nanosleep(&step, NULL);
  }
  *ret_why = by_counts
                 ? arena_printf(&run->arena,
                                "after %.0f s the server still counts %.0f requests that run or wait (%.0f before the run): it goes on "
                                "with those of the window before",
                                *ret_waited_s, level, run->idle.level)
                 : arena_printf(&run->arena,
                                "after %.0f s a single request takes %.3g ms, and took %.3g at most before the run: the executor goes on "
                                "with the window before",
                                *ret_waited_s, took / 1e6, run->idle.usual_ns / 1e6);
  return BEGAN_IN_BACKLOG;
}
