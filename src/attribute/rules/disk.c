/* Threads that work on requests wait for the disk. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

#define READS_LEAST_HZ 65536.0
#define FREE_LEAST 0.1 /* who waits for a lock waits for who holds it, and that one's wait for the disk is a part of it */

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double disk = 0, weighed = 0, running = 0;
  const struct live_lane *most = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    if (l->running < 0.1 * live->at.running) continue;
    disk += l->waits[WAIT_DISK];
    if (most == NULL || l->waits[WAIT_DISK] > most->waits[WAIT_DISK]) most = l;
    weighed += l->running * l->of_work[WAIT_DISK] / fmax(FREE_LEAST, 1 - l->of_work[WAIT_LOCK]);
    running += l->running;
  }
  if (disk < 0.1 || weighed < 0.1 * running) return false;
  live_name_wait(most, WAIT_DISK, ret);
  ret->share = fmin(1, weighed / running);
  const struct live_around *a = &live->around;
  /* A disk that nothing is read from is waited for by who writes, or has what was written made safe. */
  bool reads = a->read_hz > READS_LEAST_HZ || a->major_faults_hz >= 1, known = isfinite(a->read_hz) && isfinite(a->major_faults_hz);
  if (known && !reads)
    (void)snprintf(ret->next, sizeof ret->next,
                   "it reads almost nothing: find who writes or calls fsync for each request, and gather that, or do it behind the answer");
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "the working threads wait for the disk %.0f %% of the time; they read %.3g MB/s, and %.3g pages a second by touching them "
                 "(0: not reported); the busiest disk is busy %.0f %%%s%.200s",
                 100 * ret->share, isfinite(a->read_hz) ? a->read_hz / 1e6 : 0, isfinite(a->major_faults_hz) ? a->major_faults_hz : 0,
                 isfinite(a->disk_busy) ? 100 * a->disk_busy : 0, ret->named[0] != 0 ? "; they wait most in " : "", ret->named);
  return true;
}

const struct rule rule_disk;
const struct rule rule_disk = {
    .name = "disk",
    .summary = "waits for the disk",
    .threshold = "10 % of the working threads' time in which they wait for no lock; each weighs as much as it runs",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Threads that work on requests wait for the disk",
              .perturber = "disk",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_SYSTEM,
              .contributing = LAYER_BIT(LAYER_SYSTEM) | LAYER_BIT(LAYER_APPLICATION),
              .open = "which files those are",
              .next = "keep what is read in memory, or on a faster disk",
              .confirm = "read the files once before and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
