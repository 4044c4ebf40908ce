#include "telemetry/kernel_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { TEXT_MAX = 64 << 20, SYMBOLS_MAX = 1 << 20 };

#define PERF_CONTEXT_LEAST ((uint64_t)-4095) /* PERF_CONTEXT_MAX of linux/perf_event.h */

struct symbol {
  uint64_t address;
  uint8_t work;
};

struct kernel_symbols {
  struct symbol *items;
  size_t n, room;
};

const char *kernel_work_text(enum kernel_work work) {
  static const char *const names[KERNEL_WORK_COUNT] = {
      [KERNEL_OTHER] = "other",     [KERNEL_NETWORK] = "network",       [KERNEL_LOCKS] = "locks",        [KERNEL_YIELD] = "sched_yield",
      [KERNEL_MEMORY] = "memory",   [KERNEL_FILES] = "files",           [KERNEL_TIMERS] = "timers",      [KERNEL_PROCESSES] = "processes",
      [KERNEL_DEVICES] = "devices", [KERNEL_INTERRUPTS] = "interrupts", [KERNEL_SCHEDULER] = "scheduler"};
  return names[work];
}

/* Prefixes. Calls are written "sys_NAME", whatever the architecture puts before; read and write stand in neither list: what lies below them
 * tells. */
static const struct {
  const char *prefix;
  enum kernel_work work;
} table[] = {
    {"sys_send", KERNEL_NETWORK},
    {"sys_recv", KERNEL_NETWORK},
    {"sys_accept", KERNEL_NETWORK},
    {"sys_connect", KERNEL_NETWORK},
    {"sys_epoll", KERNEL_NETWORK},
    {"sys_poll", KERNEL_NETWORK},
    {"sys_ppoll", KERNEL_NETWORK},
    {"sys_select", KERNEL_NETWORK},
    {"sys_pselect", KERNEL_NETWORK},
    {"sys_shutdown", KERNEL_NETWORK},
    {"sys_socket", KERNEL_NETWORK},
    {"tcp_", KERNEL_NETWORK},
    {"udp_", KERNEL_NETWORK},
    {"inet_", KERNEL_NETWORK},
    {"inet6_", KERNEL_NETWORK},
    {"unix_", KERNEL_NETWORK},
    {"sock_", KERNEL_NETWORK},
    {"__sock_", KERNEL_NETWORK},
    {"net_rx_action", KERNEL_NETWORK},
    {"sys_futex", KERNEL_LOCKS},
    {"do_futex", KERNEL_LOCKS},
    {"futex_", KERNEL_LOCKS},
    {"sys_sched_yield", KERNEL_YIELD},
    {"do_sched_yield", KERNEL_YIELD},
    {"__do_sys_sched_yield", KERNEL_YIELD},
    {"asm_exc_page_fault", KERNEL_MEMORY},
    {"exc_page_fault", KERNEL_MEMORY},
    {"do_page_fault", KERNEL_MEMORY},
    {"do_user_addr_fault", KERNEL_MEMORY},
    {"handle_mm_fault", KERNEL_MEMORY},
    {"sys_mmap", KERNEL_MEMORY},
    {"sys_munmap", KERNEL_MEMORY},
    {"sys_mremap", KERNEL_MEMORY},
    {"sys_madvise", KERNEL_MEMORY},
    {"sys_mprotect", KERNEL_MEMORY},
    {"sys_brk", KERNEL_MEMORY},
    {"ext4_", KERNEL_FILES},
    {"xfs_", KERNEL_FILES},
    {"btrfs_", KERNEL_FILES},
    {"ovl_", KERNEL_FILES},
    {"nfs_", KERNEL_FILES},
    {"fuse_", KERNEL_FILES},
    {"generic_file_", KERNEL_FILES},
    {"filemap_", KERNEL_FILES},
    {"iomap_", KERNEL_FILES},
    {"shmem_file_", KERNEL_FILES},
    {"proc_reg_", KERNEL_FILES},
    {"seq_read", KERNEL_FILES},
    {"kernfs_", KERNEL_FILES},
    {"pipe_", KERNEL_FILES},
    {"anon_pipe_", KERNEL_FILES},
    {"sys_open", KERNEL_FILES},
    {"sys_close", KERNEL_FILES},
    {"sys_stat", KERNEL_FILES},
    {"sys_newfstat", KERNEL_FILES},
    {"sys_newstat", KERNEL_FILES},
    {"sys_getdents", KERNEL_FILES},
    {"sys_fsync", KERNEL_FILES},
    {"sys_fdatasync", KERNEL_FILES},
    {"sys_nanosleep", KERNEL_TIMERS},
    {"sys_clock_", KERNEL_TIMERS},
    {"sys_timer", KERNEL_TIMERS},
    {"sys_clone", KERNEL_PROCESSES},
    {"sys_fork", KERNEL_PROCESSES},
    {"sys_vfork", KERNEL_PROCESSES},
    {"sys_execve", KERNEL_PROCESSES},
    {"sys_exit", KERNEL_PROCESSES},
    {"sys_wait", KERNEL_PROCESSES},
    {"do_exit", KERNEL_PROCESSES},
    {"ret_from_fork", KERNEL_PROCESSES},
    {"sys_ioctl", KERNEL_DEVICES},
    {"asm_sysvec_", KERNEL_INTERRUPTS},
    {"sysvec_", KERNEL_INTERRUPTS},
    {"asm_common_interrupt", KERNEL_INTERRUPTS},
    {"common_interrupt", KERNEL_INTERRUPTS},
    {"irq_exit_rcu", KERNEL_INTERRUPTS},
    {"el0_irq", KERNEL_INTERRUPTS},
    {"el1h_64_irq", KERNEL_INTERRUPTS},
    {"el0_da", KERNEL_MEMORY},
    {"schedule", KERNEL_SCHEDULER},
    {"__schedule", KERNEL_SCHEDULER},
};

enum kernel_work kernel_work_of_function(const char *name) {
  static const char *const calls[] = {"__x64_", "__arm64_", "__ia32_", "__riscv_", "__s390x_", "__se_"};
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    size_t n = strlen(calls[i]);
    if (strncmp(name, calls[i], n) == 0 && strncmp(name + n, "sys_", 4) == 0) name += n;
  }
  for (size_t i = 0; i < LYNX_COUNT(table); i++)
    if (strncmp(name, table[i].prefix, strlen(table[i].prefix)) == 0) return table[i].work;
  return KERNEL_OTHER;
}

static int by_address(const void *a, const void *b) {
  const struct symbol *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* "ffffffff8143d590 T __x64_sys_futex", behind it perhaps "\t[module]"; the address is 0 where it may not be read. */
struct kernel_symbols *kernel_symbols_read(const struct root *root) {
  struct kernel_symbols *s = xalloc(1, sizeof *s);
  struct buffer text;
  buffer_init(&text, TEXT_MAX);
  if (root_read(root, "/proc/kallsyms", &text, NULL) == LYNX_OK) {
    char *rest = text.data;
    for (char *line = strsep(&rest, "\n"); line != NULL && s->n < SYMBOLS_MAX; line = strsep(&rest, "\n")) {
      char *end;
      uint64_t address = strtoull(line, &end, 16);
      if (address == 0 || end == line || end[0] != ' ' || strchr("tTwW", end[1]) == NULL || end[1] == 0 || end[2] != ' ') continue;
      end[3 + strcspn(end + 3, " \t")] = 0;
      s->items = xroom(s->items, s->n, &s->room, sizeof *s->items);
      s->items[s->n++] = (struct symbol){address, (uint8_t)kernel_work_of_function(end + 3)};
    }
  }
  buffer_release(&text);
  if (s->n > 0) {
    qsort(s->items, s->n, sizeof *s->items, by_address);
    return s;
  }
  kernel_symbols_free(s);
  return NULL;
}

void kernel_symbols_free(struct kernel_symbols *s) {
  if (s == NULL) return;
  free(s->items);
  free(s);
}

static enum kernel_work work_at(const struct kernel_symbols *s, uint64_t address) {
  size_t low = 0, high = s->n; /* the last symbol that is not behind it */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->items[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? (enum kernel_work)s->items[low - 1].work : KERNEL_OTHER;
}

enum kernel_work kernel_work_of(const struct kernel_symbols *symbols, const uint64_t *chain, size_t n) {
  for (size_t i = n; i > 0 && symbols != NULL; i--) {
    if (chain[i - 1] >= PERF_CONTEXT_LEAST) continue; /* a mark between kernel and program */
    enum kernel_work work = work_at(symbols, chain[i - 1]);
    if (work != KERNEL_OTHER) return work;
  }
  return KERNEL_OTHER;
}
