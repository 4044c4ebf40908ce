/* attribute/live_pace.h: do tokens come at a pace, or requests at a rate, that no work sets?
 * Rule     work takes longer where more of it shares the processors; a timer does not. Half of a processor idle, no full thread, and tokens
 *          that come nearly as fast with 1 in flight as at the knee (as fast, where a thread runs for half of the time or more); or 2 in flight that give no more than 1, and a server that hardly runs
 * Units    nanoseconds between tokens, medians */
#ifndef ATTRIBUTE_LIVE_PACE_H
#define ATTRIBUTE_LIVE_PACE_H

#include "attribute/live_shape.h"

struct live_pace {
  bool fixed;                 /* of the tokens of each answer */
  bool in_turn;               /* of requests, one after the other */
  double alone_ns, loaded_ns; /* NaN: there is no such step */
};

struct live_pace live_pace_of(const struct live *live);

#endif
