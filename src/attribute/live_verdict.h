/* attribute/live_verdict.h: what bounds a live run, whether that is hardware or software, and the findings of the rules. */
#ifndef ATTRIBUTE_LIVE_VERDICT_H
#define ATTRIBUTE_LIVE_VERDICT_H

#include "attribute/live_shape.h"

/* Fills in bottleneck, bound and findings. */
void live_judge(struct live *live);

#endif
