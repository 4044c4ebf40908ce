/* experiment/delaying_proxy.h: a proxy on this machine between the load and a server on another one, which lengthens the way of every byte.
 *
 * Design   one thread; bytes wait in order, each way by itself, until they are due. Without a delay it still costs some 0.1 ms: in undisturbed
 *          blocks as in others
 * Limits   what the server closes is closed behind what is still under way; 1 MiB each way of one connection waits at most. TLS and HTTP
 *          pass as bytes
 * Errors   wire_open: false where there is no wire to lengthen, and why
 * Threads  wire_delay from any thread */
#ifndef EXPERIMENT_DELAYING_PROXY_H
#define EXPERIMENT_DELAYING_PROXY_H

#include "base/status.h"

struct wire;

/* The threshold of the finding `slow_wire`. */
#define WIRE_ROUND_TRIP_LEAST_NS INT64_C(1000000)

/* least_ns: a shorter round trip is none to lengthen. */
bool wire_open(const char *endpoint, int64_t least_ns, struct wire **ret, char *why, size_t size);
int wire_port(const struct wire *wire);                  /* on 127.0.0.1: where the load connects instead */
int64_t wire_round_trip_ns(const struct wire *wire);     /* to the server and back, the least that the kernel saw as it was opened */
void wire_delay(struct wire *wire, int64_t each_way_ns); /* from now on; 0: none */
void wire_close(struct wire *wire);

#endif
