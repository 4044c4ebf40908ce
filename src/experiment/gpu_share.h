/* experiment/gpu_share.h: takes one GPU away from all who use it, for a part of the time: by a kernel of our own that only counts. GPUs give
 * processes turns (time slices): while that kernel has its turn, nobody else's runs.
 *
 * It is done by this same program as a child, which loads NVIDIA's driver library and ends when we do: nothing stays behind.
 * Measured  the kernel itself counts how long it ran, by the GPU's clock: where that clock jumps, others had a turn. What each change of
 *           turns costs beyond that is measured once, by two contexts of the child that watch each other
 * Units     share: of the time that others lose, changes of turns included; 0 to 0.8
 * Limits    no more than one process at a time has a turn only where neither MPS nor a partition of the GPU (MIG) is in use. It takes some
 *           500 MB of the GPU's memory, and is not done where less than GPU_FREE_LEAST is free
 * Errors    what keeps it from being done is said in open
 * Source    CUDA driver API (cuCtxCreate, cuLaunchKernel; NVIDIA, CUDA 12.9); PTX ISA, special register %globaltimer */
#ifndef EXPERIMENT_GPU_SHARE_H
#define EXPERIMENT_GPU_SHARE_H

#include "experiment/perturber.h"

#define GPU_SHARE_OPTION "--take-gpu"
#define GPU_FREE_LEAST ((size_t)2 << 30)

/* What that child is. bus: the GPU's address on the PCI bus, "0000:00:06.0". */
_Noreturn void gpu_share_main(const char *bus);

struct gpu_share;

/* NULL: not possible, and why. */
struct gpu_share *gpu_share_open(const struct perturbing *request, const char *bus, char *why, size_t size);
/* Until then; returns the share that others lost, as it was measured; 0: nothing was done. */
double gpu_share_hold(struct gpu_share *g, double share, const struct perturbing *request, int64_t until_ns);
void gpu_share_close(struct gpu_share *g); /* accepts NULL */

#endif
