/* attribute/live_profile.h: how each lane's running time divides by layer, from the profilers' looks. */
#ifndef ATTRIBUTE_LIVE_PROFILE_H
#define ATTRIBUTE_LIVE_PROFILE_H

#include "attribute/live_shape.h"
#include "record/bundle.h"

struct live_profile;

struct live_profile *live_profile_new(struct live *live);
/* The stacks of a session in which profilers ran. */
void live_profile_add(struct live_profile *profile, struct bundle *bundle, const struct bundle_session *session);
/* Fills in the parts of live->at's lanes, what they wait in, and live->lock_held; frees the profile. */
void live_profile_finish(struct live_profile *take_profile);

#endif
