/* attribute/live_asks.h: what a server waits for by the connections that it made (telemetry/samplers/asks.c).
 * Limits   of the port to which most is asked; at four samples or more */
#ifndef ATTRIBUTE_LIVE_ASKS_H
#define ATTRIBUTE_LIVE_ASKS_H

#include "attribute/live_shape.h"

/* Was it seen, and is it another service that is asked, not a process of the server that works itself? ret: the threads of a serving process
 * that listens there and does little; NULL: somebody else does. */
bool live_asks_others(const struct live *live, const struct live_lane **ret);
/* Its connections there always wait for an answer, and are fewer than the requests in flight, while processors are idle. */
bool live_pool_full(const struct live *live);

#endif
