/* experiment/gpu_turns.h: what a GPU's change of turns costs, from what kernels of two contexts counted that only read its clock
 * (kernel/take_gpu.ptx): one long one, the watcher, and short ones beside it, the takes.
 *
 * Model     a GPU gives contexts turns, one after the other; a change to the next one takes some time in which nobody runs. While the GPU is
 *           free but for the two, a gap of the watcher that holds a take is as long as that and two changes. While a server always has
 *           work, each gap holds its turn as well: beside the gaps that hold it alone, one with a take is longer by the take and one change
 * Units     nanoseconds
 * Result    a change to somebody else and back: what a take costs others beyond its own length; 0: not known */
#ifndef EXPERIMENT_GPU_TURNS_H
#define EXPERIMENT_GPU_TURNS_H

#include <stddef.h>
#include <stdint.h>

enum { GPU_GAPS_MAX = 64, GPU_ROUNDS = 3, GPU_TAKES = 12 };

/* What a kernel leaves: how long it ran, when it began and ended, and each time at which it did not. */
struct gpu_taken {
  uint64_t busy_ns, from_ns, to_ns, n_gaps;
  struct gpu_gap {
    uint64_t from_ns, to_ns;
  } gaps[GPU_GAPS_MAX]; /* the first ones */
};

struct gpu_turns {
  double with[GPU_ROUNDS * GPU_TAKES]; /* of each take that one gap holds: what the gap is longer */
  double without[GPU_ROUNDS * GPU_GAPS_MAX];
  size_t n_with, n_without;
};

/* One round: at most GPU_ROUNDS of GPU_TAKES each. */
void gpu_turns_add(struct gpu_turns *turns, const struct gpu_taken *watcher, const struct gpu_taken *takes, size_t n_takes);
double gpu_turns_change_ns(struct gpu_turns *turns);

#endif
