/* Packets of strangers: no crash, memory given back, and what is reported passes the reader's own checks. The input is packets: a byte of
 * side and flags, a byte of how far its sequence number jumps, two bytes of length, the data. */
#include <string.h>

#include "tests/fuzz/holds.h"
#include "watch/connections.h"
#include "watch/watch_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PORT = 8000 };

static void on_done(void *context, const struct watched_request *row) {
  static char bytes[sizeof *row + CONVERSATION_EVENTS_MAX];
  struct watched_request flat = *row, read;
  int64_t *n = context;
  if (row->events_length > CONVERSATION_EVENTS_MAX) return;
  memcpy(bytes, &flat, sizeof flat);
  if (row->events_length > 0) memcpy(bytes + sizeof flat, row->events, row->events_length);
  HOLDS(watch_record_request(bytes, sizeof flat + row->events_length, &read));
  (*n)++;
}

static void put_packet(struct connections *all, const uint8_t *head, uint32_t sequence, uint32_t acknowledged, const uint8_t *text,
                       size_t length, int64_t at_ns) {
  static uint8_t bytes[66000];
  bool from_client = (head[0] & 0x80) == 0;
  const unsigned from = from_client ? 40000 : PORT, to = from_client ? PORT : 40000;
  memset(bytes, 0, 40);
  bytes[0] = 0x45;
  bytes[2] = (uint8_t)((40 + length) >> 8);
  bytes[3] = (uint8_t)(40 + length);
  bytes[9] = 6;
  bytes[15] = from_client;
  bytes[19] = !from_client;
  bytes[20] = (uint8_t)(from >> 8), bytes[21] = (uint8_t)from;
  bytes[22] = (uint8_t)(to >> 8), bytes[23] = (uint8_t)to;
  for (int i = 0; i < 4; i++) {
    bytes[24 + i] = (uint8_t)(sequence >> (24 - 8 * i));
    bytes[28 + i] = (uint8_t)(acknowledged >> (24 - 8 * i));
  }
  bytes[32] = 0x50;
  bytes[33] = head[0] & 0x1f;
  if (length > 0) memcpy(bytes + 40, text, length);
  connections_packet(all, 1, PACKET_EITHER_WAY, bytes, 40 + length, 40 + length, at_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int64_t n = 0, at_ns = INT64_C(1700000000000000000);
  struct connections *all = connections_open(PORT, 3, size % 2 == 0 ? 1 : 1000000, on_done, &n);
  uint32_t next[2] = {100, 200};
  connections_packet(all, 1, PACKET_EITHER_WAY, data, size, size, at_ns); /* as one packet, too */
  for (size_t at = 0; at + 4 <= size;) {
    const uint8_t *head = data + at;
    size_t length = (size_t)head[2] << 8 | head[3], left = size - at - 4;
    int side = (head[0] & 0x80) != 0;
    if (length > left) length = left;
    if (length > 60000) length = 60000;
    uint32_t sequence = next[side] + (uint32_t)(int32_t)(int8_t)head[1];
    at_ns += (int64_t)(head[0] & 0x60) * 10000000;
    put_packet(all, head, sequence, next[!side], head + 4, length, at_ns);
    if (head[1] == 0) next[side] += (uint32_t)length + ((head[0] & 3) != 0);
    at += 4 + length;
  }
  connections_age(all, at_ns + 2 * STREAM_HOLE_NS);
  connections_close(all, at_ns + 3 * STREAM_HOLE_NS);
  return 0;
}
