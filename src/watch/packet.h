/* watch/packet.h: one IP packet as the tap saw it, taken apart down to its TCP segment.
 *
 * watch turns the packets of a service that others use into requests, and sends nothing. It knows bytes, times and flows; no run, no
 * bundle. Everything that it reads is written by strangers: bounded, and trusted for nothing but what it says.
 *
 * Shapes   a packet from its IP header on, of which `captured` bytes are there and `whole` were on the wire
 * Result   false: no TCP segment that can be read (another protocol, a fragment, cut headers, lengths that contradict one another)
 * Memory   data points into the packet
 * Source   RFC 791, RFC 8200 (hop-by-hop, routing and destination options are passed over), RFC 9293
 * Note     checksums are not verified: those of packets that this host sends are often computed later, by the card */
#ifndef WATCH_PACKET_H
#define WATCH_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

/* Through which side of the machine: the loopback interface has one only. */
enum packet_way { PACKET_EITHER_WAY, PACKET_INTO, PACKET_OUT_OF };

struct packet_side {
  uint8_t address[16]; /* IPv4 in the first four, then zeros */
  uint16_t port;
};

struct segment {
  struct packet_side from, to;
  bool is_v6;
  uint32_t sequence, acknowledged;
  uint8_t flags;
  const char *data;
  size_t length;  /* of data that is there */
  size_t missing; /* bytes of it that the tap did not keep */
};

bool packet_read(const uint8_t *packet, size_t captured, size_t whole, struct segment *ret);

#endif
