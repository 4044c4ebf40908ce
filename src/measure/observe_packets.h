/* measure/observe_packets.h: an observation by the network's packets: every request that others send, and what the samplers see of the
 * executor meanwhile. Nothing is sent but, where the request asks for it, the readings of the server's counters.
 * Shapes   method.sessions windows of method.counted, one after the other: a request belongs to the window in which its last byte came.
 *          Those that are under way at the end are waited for, method.drain long
 * Errors   UNSUPPORTED: packets may not be read here; INPUT: the server is not on this machine */
#ifndef MEASURE_OBSERVE_PACKETS_H
#define MEASURE_OBSERVE_PACKETS_H

#include "measure/run_record.h"

/* Before the record is begun: from here on packets are read. */
enum lynx_status observe_packets_open(struct run *run);
enum lynx_status run_observe_packets(struct run *run);

#endif
