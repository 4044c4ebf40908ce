/* executor/device_text.h: what the tools of devices print as text, as people paste it: nvidia-smi (its table, and -q), rocm-smi, amd-smi
 * (its table, and static, metric, list), npu-smi info, hl-smi (its table, and its log).
 *
 * Shapes   keys as the probes' ("gpu.0.memory", "amd-gpu.0.vbios"); of Ascend and Gaudi "ascend.N." and "gaudi.N."; values in our units
 * Result   facts; a name that the tool cut off ("NVIDIA A100-SXM...") is none. What stands before each line alike ("> ", a host's name) and
 *          around the report (a prompt, another text) is passed over; of two reports of one tool the first is read
 * Errors   INPUT: a report without a device
 * Source   the tools' own output of many versions; rocm-smi's and amd-smi's writers, which are public */
#ifndef EXECUTOR_DEVICE_TEXT_H
#define EXECUTOR_DEVICE_TEXT_H

#include "base/fact.h"

/* The tool whose report is in it; NULL: none that is known. */
const char *device_text_tool(const char *text, size_t length);
/* Of each tool that it holds a report of. */
enum lynx_status device_text_import(const char *text, size_t length, struct fact_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
