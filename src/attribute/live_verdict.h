/* attribute/live_verdict.h: what bounds a live run, whether that is hardware or software, and the findings of the rules. */
#ifndef ATTRIBUTE_LIVE_VERDICT_H
#define ATTRIBUTE_LIVE_VERDICT_H

#include "attribute/live_shape.h"

/* Fills in bottleneck, bound and findings. */
void live_judge(struct live *live);
/* Why nothing of the serving process was seen, and what mends it: another host, no rights, or a container. In the arena. */
const char *live_unseen(const struct live *live, struct arena *arena);

#endif
