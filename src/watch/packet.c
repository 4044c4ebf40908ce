#include "watch/packet.h"

#include <string.h>

enum { IPV4_HEAD = 20, IPV6_HEAD = 40, TCP_HEAD = 20, PROTOCOL_TCP = 6, EXTENSIONS_MAX = 8 };

static uint16_t get_16(const uint8_t *p) {
  return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get_32(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Where TCP begins, and where the packet ends, which padding may follow; false: no TCP, or a part of a packet. */
static bool read_v4(const uint8_t *p, size_t captured, size_t whole, struct segment *ret, size_t *ret_at, size_t *ret_end) {
  if (captured < IPV4_HEAD) return false;
  size_t head = (size_t)(p[0] & 15) * 4, total = get_16(p + 2);
  if (total == 0) total = whole; /* longer than 16 bits can say: handed over in one piece by the card or to it */
  if (head < IPV4_HEAD || total < head || total > whole || p[9] != PROTOCOL_TCP || (get_16(p + 6) & 0x3fff) != 0) return false;
  memcpy(ret->from.address, p + 12, 4);
  memcpy(ret->to.address, p + 16, 4);
  *ret_at = head;
  *ret_end = total;
  return true;
}

static bool read_v6(const uint8_t *p, size_t captured, size_t whole, struct segment *ret, size_t *ret_at, size_t *ret_end) {
  if (captured < IPV6_HEAD) return false;
  size_t length = get_16(p + 4), at = IPV6_HEAD;
  uint8_t next = p[6];
  *ret_end = length == 0 ? whole : IPV6_HEAD + length;
  if (*ret_end > whole) return false;
  for (int i = 0; i < EXTENSIONS_MAX && (next == 0 || next == 43 || next == 60); i++) {
    if (at + 8 > captured) return false;
    next = p[at];
    at += ((size_t)p[at + 1] + 1) * 8;
  }
  memcpy(ret->from.address, p + 8, 16);
  memcpy(ret->to.address, p + 24, 16);
  ret->is_v6 = true;
  *ret_at = at;
  return next == PROTOCOL_TCP && at <= *ret_end;
}

bool packet_read(const uint8_t *packet, size_t captured, size_t whole, struct segment *ret) {
  size_t at = 0, end = 0;
  *ret = (struct segment){.data = NULL};
  if (captured < 1 || captured > whole) return false;
  int version = packet[0] >> 4;
  bool good = version == 4   ? read_v4(packet, captured, whole, ret, &at, &end)
              : version == 6 ? read_v6(packet, captured, whole, ret, &at, &end)
                             : false;
  if (!good || at + TCP_HEAD > captured || at + TCP_HEAD > end) return false;
  const uint8_t *tcp = packet + at;
  size_t head = (size_t)(tcp[12] >> 4) * 4;
  if (head < TCP_HEAD || at + head > end || at + head > captured) return false;
  ret->from.port = get_16(tcp);
  ret->to.port = get_16(tcp + 2);
  ret->sequence = get_32(tcp + 4);
  ret->acknowledged = get_32(tcp + 8);
  ret->flags = tcp[13];
  size_t data = at + head, there = end < captured ? end : captured;
  ret->data = (const char *)packet + data;
  ret->length = there > data ? there - data : 0;
  ret->missing = end - data - ret->length;
  return true;
}
