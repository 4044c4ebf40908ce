#include "watch/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 18, N_BLOCKS = 64, FRAME_BYTES = 1 << 11, RETIRE_MS = 100, KEEP = 0x40000 };

/* From the IP header on. IPv4 without fragments, and IPv6 whose next header is TCP: one of the ports, and data or SYN, FIN, RST. IPv6 with
 * other headers in between is left to us. The loopback interface shows each packet twice, as it goes out and as it comes in: the first is
 * left out. */
static bool set_filter(int fd, uint16_t port) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_HATYPE)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARPHRD_LOOPBACK, 25, 0),
      /*  0 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      /*  1 */ BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
      /*  2 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 25, 0),
      /*  3 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40, 0, 23),
      /*  4 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
      /*  5 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 0, 21),
      /*  6 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
      /*  7 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 19, 0),
      /*  8 */ BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
      /*  9 */ BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
      /* 10 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 2, 0),
      /* 11 */ BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
      /* 12 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 14),
      /* 13 */ BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
      /* 14 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 7, 11, 0),
      /* 15 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2),
      /* 16 */ BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
      /* 17 */ BPF_STMT(BPF_ST, 0),
      /* 18 */ BPF_STMT(BPF_LD | BPF_B | BPF_IND, 12),
      /* 19 */ BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
      /* 20 */ BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
      /* 21 */ BPF_STMT(BPF_MISC | BPF_TAX, 0),
      /* 22 */ BPF_STMT(BPF_LD | BPF_MEM, 0),
      /* 23 */ BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
      /* 24 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 1),
      /* 25 */ BPF_STMT(BPF_RET | BPF_K, 0),
      /* 26 */ BPF_STMT(BPF_RET | BPF_K, KEEP),
      /* 27 */ BPF_STMT(BPF_RET | BPF_K, 0),
      /* 28: IPv6 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
      /* 29 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 3, 0),
      /* 30 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 17, 0),
      /* 31 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 43, 16, 0),
      /* 32 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 60, 15, 16),
      /* 33 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 40),
      /* 34 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 2, 0),
      /* 35 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 42),
      /* 36 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 12),
      /* 37 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 53),
      /* 38 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 7, 9, 0),
      /* 39 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
      /* 40 */ BPF_STMT(BPF_ST, 0),
      /* 41 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 52),
      /* 42 */ BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
      /* 43 */ BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
      /* 44 */ BPF_STMT(BPF_MISC | BPF_TAX, 0),
      /* 45 */ BPF_STMT(BPF_LD | BPF_MEM, 0),
      /* 46 */ BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
      /* 47 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      /* 48 */ BPF_STMT(BPF_RET | BPF_K, KEEP),
      /* 49 */ BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const struct sock_fprog program = {.len = LYNX_COUNT(code), .filter = code};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

static bool set_ring(struct tap *tap) {
  const int version = TPACKET_V3;
  const struct tpacket_req3 ring = {.tp_block_size = BLOCK_BYTES,
                                    .tp_block_nr = N_BLOCKS,
                                    .tp_frame_size = FRAME_BYTES,
                                    .tp_frame_nr = BLOCK_BYTES / FRAME_BYTES * N_BLOCKS,
                                    .tp_retire_blk_tov = RETIRE_MS};
  if (setsockopt(tap->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
      setsockopt(tap->fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) != 0)
    return false;
  void *mapped = mmap(NULL, (size_t)BLOCK_BYTES * N_BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, tap->fd, 0);
  if (mapped == MAP_FAILED) return false;
  (void)madvise(mapped, (size_t)BLOCK_BYTES * N_BLOCKS, MADV_DONTDUMP); /* texts pass through it */
  tap->ring = mapped;
  tap->n_blocks = N_BLOCKS;
  return true;
}

bool tap_open(int interface, uint16_t port, struct tap *ret, int *ret_errno) {
  const struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = interface};
  *ret = (struct tap){.fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0)}; /* of no protocol: nothing yet, until it is bound */
  bool good = ret->fd >= 0 && set_filter(ret->fd, port) && set_ring(ret);
  const int yes = 1;
  good = good && setsockopt(ret->fd, SOL_SOCKET, SO_LOCK_FILTER, &yes, sizeof yes) == 0; /* nobody takes it off again */
  good = good && bind(ret->fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0;
  *ret_errno = good ? 0 : errno;
  if (!good) tap_close(ret);
  return good;
}

static void take_block(const struct tpacket_block_desc *block, tap_packet *packet, void *context) {
  const uint8_t *at = (const uint8_t *)block + block->hdr.bh1.offset_to_first_pkt;
  for (uint32_t i = 0; i < block->hdr.bh1.num_pkts; i++) {
    const struct tpacket3_hdr *head = (const struct tpacket3_hdr *)(const void *)at;
    const struct sockaddr_ll *from = (const struct sockaddr_ll *)(const void *)(at + TPACKET_ALIGN(sizeof *head));
    enum packet_way way = from->sll_hatype == ARPHRD_LOOPBACK    ? PACKET_EITHER_WAY
                          : from->sll_pkttype == PACKET_OUTGOING ? PACKET_OUT_OF
                                                                 : PACKET_INTO;
    if (from->sll_pkttype == PACKET_HOST || from->sll_pkttype == PACKET_OUTGOING)
      packet(context, from->sll_ifindex, way, at + head->tp_net, head->tp_snaplen, head->tp_len,
             (int64_t)head->tp_sec * 1000000000 + head->tp_nsec);
    at += head->tp_next_offset;
  }
}

void tap_take(struct tap *tap, tap_packet *packet, void *context) {
  for (uint32_t i = 0; i < tap->n_blocks; i++) { /* at most once round */
    struct tpacket_block_desc *block = (struct tpacket_block_desc *)(void *)(tap->ring + (size_t)tap->next * BLOCK_BYTES);
    if ((__atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) return;
    take_block(block, packet, context);
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    tap->next = (tap->next + 1) % tap->n_blocks;
  }
}

void tap_statistics(struct tap *tap, int64_t *ret_packets, int64_t *ret_dropped) {
  struct tpacket_stats_v3 stats = {0};
  socklen_t length = sizeof stats;
  bool good = getsockopt(tap->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0;
  *ret_packets = good ? stats.tp_packets : 0; /* those that were dropped are among them */
  *ret_dropped = good ? stats.tp_drops : 0;
}

void tap_close(struct tap *tap) {
  if (tap->ring != NULL) (void)munmap(tap->ring, (size_t)BLOCK_BYTES * N_BLOCKS);
  if (tap->fd >= 0) (void)close(tap->fd);
  *tap = (struct tap){.fd = -1};
}
