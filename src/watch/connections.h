/* watch/connections.h: all connections to the watched server, found by the packets' addresses.
 *
 * Limits   CONNECTIONS_MAX at once: beyond it, one that is idle leaves for each new one; where all are busy the new one is counted, and not
 *          followed. CONNECTIONS_BYTES_MAX of memory: beyond it the greatest one leaves. One that is silent for CONNECTION_IDLE_NS leaves if
 *          nothing is under way in it, and after CONNECTION_STUCK_NS in any case
 * Note     a bridge and its ports show the same packet: each direction of a connection belongs to the interface that saw it first, until that
 *          one is silent for CONNECTION_MOVED_NS. Answers may leave by another one than the requests came by */
#ifndef WATCH_CONNECTIONS_H
#define WATCH_CONNECTIONS_H

#include "watch/conversation.h"

#define CONNECTION_MOVED_NS INT64_C(1000000000)
#define CONNECTION_IDLE_NS INT64_C(120000000000)
#define CONNECTION_STUCK_NS INT64_C(3600000000000)
enum { CONNECTIONS_MAX = 16384, CONNECTIONS_BYTES_MAX = 256 << 20 };

struct connections;

/* port: the server's. seed: of the table's order, which strangers are not to know. */
struct connections *connections_open(uint16_t port, uint64_t seed, int64_t resolution_ns,
                                     void (*done)(void *context, const struct watched_request *request), void *context);
/* The server is at these addresses only; of none that is given, at any. IPv4's 127.0.0.0/8 is one. */
void connections_address(struct connections *all, const uint8_t address[16], bool is_v6);
void connections_loopback(struct connections *all);
void connections_packet(struct connections *all, int interface, enum packet_way way, const uint8_t *packet, size_t captured, size_t whole,
                        int64_t at_ns);
/* About once a second. */
void connections_age(struct connections *all, int64_t now_ns);
/* When the oldest request was asked that is under way; INT64_MAX: none is. */
int64_t connections_oldest(const struct connections *all);
const struct watch_counts *connections_counts(const struct connections *all);
void connections_close(struct connections *all, int64_t now_ns); /* what is under way is reported as unfinished */

#endif
