/* decide/device.h: peak figures of accelerators, as makers and others publish them: dense, of the whole device.
 *
 * Units    TFLOP/s (int8: TOP/s), TB/s, GB, W; 0: the device has no such thing, or nobody says
 * Source   each row says where its figures were read and when. Of cells that only one secondary source gives `doubtful` has the bit
 * Limits   what is published is a peak: measured gains stay below its ratio nearly always (docs/decide.md) */
#ifndef DECIDE_DEVICE_H
#define DECIDE_DEVICE_H

#include "decide/upgrade.h"

enum device_figure { DEVICE_BF16, DEVICE_FP8, DEVICE_INT8, DEVICE_FP4, DEVICE_BANDWIDTH, DEVICE_CAPACITY, DEVICE_POWER, DEVICE_FIGURES };

struct device {
  const char *name, *architecture; /* of one architecture: the same code runs on both */
  double of[DEVICE_FIGURES];
  unsigned doubtful; /* bits 1 << enum device_figure */
  const char *source;
};

extern const struct device devices[];
extern const size_t n_devices;
extern const char devices_read_on[];                       /* the date */
const char *device_figure_text(enum device_figure figure); /* "arithmetic.bf16" */

const struct device *device_find(const char *name); /* letters and digits alone count: "h100 sxm" is H100-SXM; NULL */
/* Is the device that a machine names likely this one ("NVIDIA H100 80GB HBM3")? By the model's number, and words that tell one product from another. */
bool device_is(const struct device *device, const char *found);
/* What gets faster from one to the other, of what both have. */
void device_upgrade(const struct device *from, const struct device *to, struct upgrade *ret);

#endif
