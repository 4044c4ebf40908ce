/* A pool of threads has fewer than there are processors, by a setting, and is full. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "base/number.h"

#define IDLE 0.4 /* processors */
#define OVER 0.15

/* By process: of all that it runs; else of one lane. */
static const struct {
  const char *variable;
  bool by_process;
} settings[] = {{"GOMAXPROCS", true}, {"UV_THREADPOOL_SIZE", false}, {"TOKIO_WORKER_THREADS", false}, {"RAYON_NUM_THREADS", false}};

static bool is_full(double running, int64_t size) {
  return running >= LIVE_FULL * (double)size && running <= (double)size + OVER;
}

static const struct live_lane *full_pool(const struct live *live, int64_t size, bool by_process) {
  if (by_process) return is_full(live->at.running, size) ? live_busiest(&live->at) : NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    if (!live->at.lanes[i].main && is_full(live->at.lanes[i].running, size)) return &live->at.lanes[i];
  return NULL;
}

static bool found(const struct live *live, const char *variable, int64_t size, bool by_process, struct finding *ret) {
  const struct live_lane *lane = size > 0 && size < live->n_processors ? full_pool(live, size, by_process) : NULL;
  if (lane == NULL) return false;
  ret->share = fmin(1, live_idle_processors(live) / (double)live->n_processors);
  (void)snprintf(ret->process, sizeof ret->process, "%s", lane->program);
  (void)snprintf(ret->named, sizeof ret->named, "%.60s=%lld", variable, (long long)size);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%.60s is %lld on %lld processors: the threads that it allows run %.2f of the time of one, all that they can, and %.1f "
                 "processors are idle",
                 variable, (long long)size, (long long)live->n_processors, by_process ? live->at.running : lane->running,
                 live_idle_processors(live));
  return true;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  if (!(live_idle_processors(live) >= IDLE) || live_still_grows(live)) return false;
  for (size_t i = 0; i < LYNX_COUNT(settings); i++) {
    char key[80];
    (void)snprintf(key, sizeof key, "environment.%s", settings[i].variable);
    const char *value = live_fact(live, LAYER_RUNTIME, key);
    int64_t size;
    if (value != NULL && number_int64(value, strlen(value), &size) && found(live, settings[i].variable, size, settings[i].by_process, ret))
      return true;
  }
  return found(live, "GOMAXPROCS", live->go_processors, true, ret);
}

const struct rule rule_pool_size;
const struct rule rule_pool_size = {
    .name = "pool_size",
    .summary = "a pool of threads that is smaller than the machine",
    .threshold =
        "a setting below the number of processors, 85 % of what it allows in use, 0.4 of a processor idle, and a throughput that no "
        "longer grows",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "A pool of threads is smaller than the machine, and full",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_SERVING),
              .open = "whether what the pool does can go on side by side",
              .next = "set it to the number of processors, or leave it to its default",
              .confirm = "double it and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
