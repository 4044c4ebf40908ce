/* watch/tap.h: the packets of one TCP port, on one interface or on all, as the kernel hands them over in one ring: in the order of their
 * coming, whichever way they came. Nothing is sent.
 *
 * Needs    CAP_NET_RAW in the network namespace of the calling thread, to open; nothing afterwards
 * Order    open, then take whenever fd is readable (poll), close
 * Cost     16 MiB of kernel memory; some 0.1 µs a packet here, and to who sends and receives the packets 1 to 6 µs each, as for any tap
 * Limits   frames for other hosts, and segments without data, SYN, FIN or RST are left out by the kernel; what finds no room in the ring is counted in drops
 * Source   Linux: Documentation/networking/packet_mmap.rst (TPACKET_V3) and filter.rst; libpcap drops outgoing copies of the loopback
 *          interface likewise */
#ifndef WATCH_TAP_H
#define WATCH_TAP_H

#include "base/status.h"
#include "watch/packet.h"

struct tap {
  int fd; /* -1: closed */
  uint8_t *ring;
  uint32_t n_blocks, next;
};

typedef void tap_packet(void *context, int interface, enum packet_way way, const uint8_t *packet, size_t captured, size_t whole,
                        int64_t realtime_ns);

/* interface: 0: all, and those that come later. *ret_errno: why it failed. */
bool tap_open(int interface, uint16_t port, struct tap *ret, int *ret_errno);
void tap_take(struct tap *tap, tap_packet *packet, void *context);
/* Since the last question: how many the filter let through, and how many of them were lost. */
void tap_statistics(struct tap *tap, int64_t *ret_packets, int64_t *ret_dropped);
void tap_close(struct tap *tap);

#endif
