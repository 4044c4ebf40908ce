#include "experiment/gpu_turns.h"

#include <stdbool.h>

#include "stats/quantile.h"

enum { LEAST = 5 };
#define TURN_NS 1e6 /* less than one turn of anybody */
#define CHANGE_MOST_NS 2e6

void gpu_turns_add(struct gpu_turns *t, const struct gpu_taken *watcher, const struct gpu_taken *takes, size_t n_takes) {
  bool ours[GPU_GAPS_MAX] = {false};
  size_t n_gaps = watcher->n_gaps < GPU_GAPS_MAX ? watcher->n_gaps : GPU_GAPS_MAX;
  for (size_t i = 0; i < n_takes; i++)
    for (size_t k = 0; k < n_gaps && takes[i].n_gaps == 0; k++) { /* one that was interrupted says less */
      const struct gpu_gap *gap = &watcher->gaps[k];
      if (gap->from_ns > takes[i].from_ns || gap->to_ns < takes[i].to_ns || t->n_with == GPU_ROUNDS * GPU_TAKES) continue;
      t->with[t->n_with++] = (double)(gap->to_ns - gap->from_ns) - (double)(takes[i].to_ns - takes[i].from_ns);
      ours[k] = true;
    }
  for (size_t k = 0; k < n_gaps && t->n_without < GPU_ROUNDS * GPU_GAPS_MAX; k++)
    if (!ours[k]) t->without[t->n_without++] = (double)(watcher->gaps[k].to_ns - watcher->gaps[k].from_ns);
}

static double nth(double *values, size_t n, double q) {
  quantile_sort(values, n);
  return n > 0 ? values[(size_t)(q * (double)(n - 1))] : 0;
}

double gpu_turns_change_ns(struct gpu_turns *t) {
  if (t->n_with < LEAST) return 0;
  double least = nth(t->with, t->n_with, 0.1); /* where the server leaves the GPU free at times, some gaps hold our turn alone */
  double beside = 2 * (nth(t->with, t->n_with, 0.5) - nth(t->without, t->n_without, 0.5)), cost = least < TURN_NS ? least : beside;
  /* Where its turns are short, each gap may hold one, and look like ours alone. Both estimates are too great, if anything. */
  if (3 * t->n_without >= t->n_with && beside > 0 && beside < cost) cost = beside;
  return cost > 0 && cost < CHANGE_MOST_NS ? cost : 0;
}
