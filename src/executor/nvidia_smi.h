/* executor/nvidia_smi.h: what `nvidia-smi -q -x` says of GPUs, as the facts that NVML gives under the same keys and in the same units.
 * Errors   INPUT: not such a text, with the line where it breaks off
 * Limits   what it has no element for (topology, NVLink) is not told */
#ifndef EXECUTOR_NVIDIA_SMI_H
#define EXECUTOR_NVIDIA_SMI_H

#include "base/fact.h"

enum lynx_status nvidia_smi_import(const char *text, size_t length, struct fact_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
