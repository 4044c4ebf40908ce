/* attribute/live_stops.h: stops that hit all answers in flight at once, from the times of their tokens: how many, how long, how regular,
 * what of the tail they are, and what the server's threads did meanwhile.
 * Order    live_stops_new; live_stops_add for each counted session; live_stops_finish, which fills and frees
 * Method   a gap is long at three times the median gap, and 5 ms. A stop is a stretch in which two answers or more are under way or waited
 *          for, and all that are under way are in long gaps, two median gaps long at least (stats/stretches.h). What a thread did in them: the line through its half
 *          seconds' states by how much of each was a stop
 * Limits   answers without a stream of tokens show none; beyond GAPS_MAX gaps nothing is said */
#ifndef ATTRIBUTE_LIVE_STOPS_H
#define ATTRIBUTE_LIVE_STOPS_H

#include "attribute/live_shape.h"
#include "record/bundle.h"

#define LIVE_STOPS_OF_PROMPTS 0.6 /* of the stops: they are of other answers' prompts */

struct live_stopping;

struct live_stopping *live_stops_new(struct live *live);
bool live_stops_add(struct live_stopping *stopping, struct bundle *bundle, const struct bundle_session *session);
void live_stops_finish(struct live_stopping *stopping);
/* Do they matter, by the thresholds of the rule `stops`? */
bool live_stops_matter(const struct live_stops *stops);
const char *live_stopped_text(int state); /* "runs", "waits for a disk" */
/* "12 times in 30 s all answers stop at once, 0.21 s on average ..."; for the finding and the page. */
const char *live_stops_text(const struct live *live, struct arena *arena);

#endif
