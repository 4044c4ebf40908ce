/* attribute/live_samples.h: what the samplers saw around the counted windows: means, increases and the least of their series.
 * Order    live_samples_new; live_samples_add for each counted session; live_samples_finish, which fills and frees */
#ifndef ATTRIBUTE_LIVE_SAMPLES_H
#define ATTRIBUTE_LIVE_SAMPLES_H

#include "attribute/live_shape.h"
#include "record/bundle.h"

struct live_samples *live_samples_new(struct live *live);
bool live_samples_add(struct live_samples *samples, struct bundle *bundle, const struct bundle_session *session);
void live_samples_finish(struct live_samples *samples);

#endif
