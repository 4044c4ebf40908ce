/* report/percent.h: a difference of ln in percent, with its interval: "-33.2 % [-34.2, -32.2]"; "not measured" where it is NaN. */
#ifndef REPORT_PERCENT_H
#define REPORT_PERCENT_H

#include "base/buffer.h"

/* low, high: NaN where there is no interval. */
void put_percent(struct buffer *out, double ln, double low, double high);

#endif
