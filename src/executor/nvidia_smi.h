/* executor/nvidia_smi.h: what `nvidia-smi -q -x` says of GPUs, as the facts that NVML gives under the same keys and in the same units.
 * Errors   INPUT: not such a text, with the line where it breaks off
 * Limits   what it has no element for (topology, NVLink) is not told */
#ifndef EXECUTOR_NVIDIA_SMI_H
#define EXECUTOR_NVIDIA_SMI_H

#include "base/fact.h"

enum lynx_status nvidia_smi_import(const char *text, size_t length, struct fact_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* One line of `nvidia-smi -q` without -x: where it stands ("FB Memory Usage/Total"), and its value. gpu -1: before the first GPU. */
void nvidia_smi_take(struct fact_list *list, int gpu, const char *path, const char *value);

#endif
