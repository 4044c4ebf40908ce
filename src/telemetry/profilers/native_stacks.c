/* In whose code the threads are while they are on a processor: the innermost instruction's file, by the kernel's own clock.
 *
 * Source   perf_event_open, software clock, of each processor where that is allowed (root, or CAP_PERFMON), else of each thread that
 *          is there at the beginning; /proc/PID/maps says what lies at an address
 * Frames   "/path/of/library.so;function" or, where no symbol table names it, the file alone; "[kernel];network" and the like
 * (kernel_work.h);
 *          "[anonymous]" (code that a program made), with the name that its maker wrote into /tmp/perf-PID.map, where there is one;
 *          "[vdso]"
 * Calls    of all of a processor's looks, the program's stack too: who called what (kept_stacks.h)
 * Limits   who called is not known where only threads are looked at. Software clocks do not tick while interrupts are off */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/number.h"
#include "telemetry/code_names.h"
#include "telemetry/elf_symbols.h"
#include "telemetry/kept_stacks.h"
#include "telemetry/kernel_work.h"
#include "telemetry/process_tree.h"
#include "telemetry/profiler.h"

enum {
  RATE = 199,
  EVENTS_MAX = 512,
  RING_PAGES = 64, /* a look with its stack takes some 8 KiB */
  TABLE = 1 << 17,
  READ_EVERY_MS = 50,
  CHAIN_MAX = 48
};

struct place {
  uint32_t process, thread;
  uint64_t address; /* 0: in the kernel */
  int64_t n;
  enum kernel_work work;
};

struct event {
  int fd;
  struct perf_event_mmap_page *ring;
};

struct native {
  const struct root *root;
  int64_t pid;
  struct event events[EVENTS_MAX];
  size_t n_events;
  bool by_processor, with_kernel, with_stacks;
  size_t ring_pages;
  struct kept_stacks *kept; /* NULL: who called is not known */
  struct place *places;     /* open addressing; n 0: free */
  size_t n_places;
  int64_t n_lost;
  struct kernel_symbols *symbols; /* NULL: kernel functions have no names here */
  struct process_tree tree;       /* as last read */
  pthread_t thread;
  atomic_bool stop;
};

static int open_event(const struct native *n, pid_t pid, int processor) {
  uint64_t stack = n->with_stacks ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0;
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof attr,
                                 .config = processor >= 0 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK,
                                 .sample_freq = RATE,
                                 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | (n->with_kernel ? PERF_SAMPLE_CALLCHAIN : 0) | stack,
                                 .sample_max_stack = n->with_kernel ? CHAIN_MAX : 0,
                                 .sample_regs_user = stack != 0 ? unwound_register_mask() : 0,
                                 .sample_stack_user = stack != 0 ? UNWOUND_STACK_MAX : 0,
                                 .exclude_callchain_user = 1,
                                 .freq = 1,
                                 .exclude_kernel = !n->with_kernel,
                                 .exclude_hv = 1,
                                 .exclude_idle = 1};
  return (int)syscall(SYS_perf_event_open, &attr, pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

static size_t ring_bytes(const struct native *n) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return page * (1 + n->ring_pages);
}

static bool add_event(struct native *n, pid_t pid, int processor) {
  int fd = n->n_events < EVENTS_MAX ? open_event(n, pid, processor) : -1;
  if (fd < 0) return false;
  void *ring = mmap(NULL, ring_bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (ring == MAP_FAILED) {
    (void)close(fd);
    return false;
  }
  n->events[n->n_events++] = (struct event){fd, ring};
  return true;
}

static void add_thread(void *context, const char *name) {
  struct native *n = context;
  int64_t id;
  if (number_int64(name, strlen(name), &id) && id > 0 && id < INT32_MAX) (void)add_event(n, (pid_t)id, -1);
}

/* Every processor, with stacks where those can be had; else every thread that is there; with the kernel's time, else without. */
static bool open_events(struct native *n) {
  static const struct {
    bool by_processor, with_kernel, with_stacks;
    size_t ring_pages;
  } ways[] = {{true, true, true, RING_PAGES}, {true, true, false, 8},  {true, false, true, RING_PAGES},
              {true, false, false, 8},        {false, true, false, 1}, {false, false, false, 1}};
  long n_processors = sysconf(_SC_NPROCESSORS_CONF);
  for (size_t w = 0; w < LYNX_COUNT(ways) && n->n_events == 0; w++) {
    if (ways[w].with_stacks && unwound_register_mask() == 0) continue;
    n->by_processor = ways[w].by_processor;
    n->with_kernel = ways[w].with_kernel;
    n->with_stacks = ways[w].with_stacks;
    n->ring_pages = ways[w].ring_pages;
    for (int i = 0; n->by_processor && i < n_processors; i++) (void)add_event(n, -1, i); /* one that is offline has none */
    for (size_t i = 0; !n->by_processor && i < n->tree.n; i++) process_threads(n->root, n->tree.pids[i], add_thread, n);
  }
  return n->n_events > 0;
}

/* --- what the rings hold --- */

static void count(struct native *n, uint32_t process, uint32_t thread, uint64_t address, enum kernel_work work) {
  uint64_t hash = (address ^ (uint64_t)work ^ ((uint64_t)thread << 32)) * UINT64_C(0x9e3779b97f4a7c15);
  for (size_t k = (size_t)(hash >> 40) % TABLE, tries = 0; tries < 64; k = (k + 1) % TABLE, tries++) {
    struct place *p = &n->places[k];
    if (p->n == 0 && n->n_places >= TABLE / 2) break;
    if (p->n == 0) {
      *p = (struct place){process, thread, address, 0, work};
      n->n_places++;
    }
    if (p->process != process || p->thread != thread || p->address != address || p->work != work) continue;
    p->n++;
    return;
  }
  n->n_lost++;
}

/* Where the next bytes of a record lie: it goes around the ring's end. */
struct reading {
  const unsigned char *ring;
  size_t size;
  uint64_t at, end;
};

static bool take(struct reading *r, void *to, size_t size) {
  unsigned char *bytes = to;
  if (r->end - r->at < size) return false;
  size_t from = (size_t)(r->at % r->size), first = r->size - from < size ? r->size - from : size;
  memcpy(bytes, r->ring + from, first);
  memcpy(bytes + first, r->ring, size - first);
  r->at += size;
  return true;
}

struct sample_head {
  uint64_t address;
  uint32_t process, thread;
};

/* What the kernel was doing: the chain is its own functions, behind marks that are no addresses. */
static enum kernel_work take_work(const struct native *n, struct reading *r) {
  uint64_t n_chain, chain[CHAIN_MAX + 8]; /* with the marks between kernel and program */
  if (!take(r, &n_chain, sizeof n_chain) || n_chain > LYNX_COUNT(chain) || !take(r, chain, (size_t)n_chain * sizeof chain[0])) {
    r->at = r->end;
    return KERNEL_OTHER;
  }
  return kernel_work_of(n->symbols, chain, n_chain);
}

/* The program's registers and the top of its stack; a thread of the kernel has none. */
static void keep_stack(struct native *n, struct reading *r, const struct sample_head *head, bool kernel, enum kernel_work work) {
  uint64_t abi, n_bytes, copied, registers[UNWOUND_REGISTERS_MAX];
  size_t n_registers = (size_t)__builtin_popcountll(unwound_register_mask());
  if (!take(r, &abi, sizeof abi) || abi != PERF_SAMPLE_REGS_ABI_64 || !take(r, registers, n_registers * sizeof registers[0])) return;
  if (!take(r, &n_bytes, sizeof n_bytes) || n_bytes == 0 || n_bytes > UNWOUND_STACK_MAX) return;
  struct reading behind = *r;
  behind.at += n_bytes;
  if (behind.at > r->end || !take(&behind, &copied, sizeof copied) || copied == 0 || copied > n_bytes) return;
  struct stack_copy *copy = kept_stacks_next(n->kept, head->process, kernel ? kernel_work_text(work) : NULL);
  if (copy == NULL) return;
  copy->thread = head->thread;
  copy->n_bytes = (uint32_t)copied;
  memcpy(copy->registers, registers, n_registers * sizeof registers[0]);
  (void)take(r, copy->bytes, (size_t)copied);
}

static void take_sample(struct native *n, struct reading *r, bool kernel) {
  struct sample_head head;
  if (!take(r, &head, sizeof head) || !process_tree_holds(&n->tree, (int64_t)head.process)) return; /* somebody else's: not looked at */
  enum kernel_work work = n->with_kernel ? take_work(n, r) : KERNEL_OTHER;
  if (!kernel) work = KERNEL_OTHER;
  count(n, head.process, head.thread, kernel ? 0 : head.address, work);
  if (n->with_stacks) keep_stack(n, r, &head, kernel, work);
}

static void read_ring(struct native *n, const struct event *event) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = ring_bytes(n) - page;
  uint64_t head = __atomic_load_n(&event->ring->data_head, __ATOMIC_ACQUIRE), tail = event->ring->data_tail;
  while (tail < head) {
    struct perf_event_header header;
    struct reading r = {(const unsigned char *)event->ring + page, size, tail, head};
    if (!take(&r, &header, sizeof header) || header.size < sizeof header || tail + header.size > head) break;
    r.end = tail + header.size;
    bool kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (header.type == PERF_RECORD_SAMPLE) take_sample(n, &r, kernel);
    else if (header.type == PERF_RECORD_LOST) n->n_lost++;
    tail += header.size;
  }
  __atomic_store_n(&event->ring->data_tail, tail, __ATOMIC_RELEASE);
}

static void *native_main(void *context) {
  struct native *n = context;
  const struct timespec step = {.tv_nsec = READ_EVERY_MS * 1000000L};
  for (int k = 0; !atomic_load(&n->stop); k++) {
    (void)nanosleep(&step, NULL);
    if (k % 10 == 0) process_tree_read(n->root, n->pid, &n->tree); /* a worker that was started meanwhile is one of them */
    for (size_t i = 0; i < n->n_events; i++) read_ring(n, &n->events[i]);
  }
  return NULL;
}

static void native_release(struct native *n) {
  for (size_t i = 0; i < n->n_events; i++) {
    (void)munmap(n->events[i].ring, ring_bytes(n));
    (void)close(n->events[i].fd);
  }
  kernel_symbols_free(n->symbols);
  free(n->kept);
  free(n->places);
  free(n);
}

static bool native_begin(const struct profiler_request *request, void **ret_state, char *why, size_t size) {
  struct native *n = xalloc(1, sizeof *n);
  n->root = request->root;
  n->pid = request->pid;
  n->places = xalloc(TABLE, sizeof *n->places);
  process_tree_read(n->root, n->pid, &n->tree);
  errno = 0;
  bool opened = open_events(n);
  if (opened && n->with_stacks) n->kept = kept_stacks_new("calls", "who calls each library");
  if (opened && n->with_kernel) n->symbols = kernel_symbols_read(n->root);
  if (opened && pthread_create(&n->thread, NULL, native_main, n) == 0) {
    *ret_state = n;
    return true;
  }
  (void)snprintf(why, size,
                 "in whose libraries the time is: perf_event_open is refused (%s); run as root, with CAP_PERFMON, or with "
                 "kernel.perf_event_paranoid at 2 or lower",
                 strerror(errno));
  native_release(n);
  return false;
}

/* --- what is handed over --- */

/* Without the ';' that divides frames. */
static size_t put_words(char *to, size_t size, const char *text) {
  (void)text_sanitise(to, size, text, strlen(text));
  for (char *c = to; *c != 0; c++)
    if (*c == ';') *c = ':';
  return strlen(to);
}

static void deliver_place(const struct place *p, const struct code_name *name, const struct profiler_sink *sink) {
  char frame[4096];
  if (p->address == 0) (void)snprintf(frame, sizeof frame, "[kernel];%s", kernel_work_text(p->work));
  else {
    size_t length = put_words(frame, sizeof frame - ELF_NAME_MAX - 2, name->module);
    if (name->function != NULL) {
      frame[length++] = ';';
      (void)put_words(frame + length, ELF_NAME_MAX, name->function);
    }
  }
  sink->stack(sink->context, "native", p->process, p->thread, frame, p->n);
}

static int by_process(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* All places of one process, by address; of each address once its name. */
static void deliver_places(const struct native *n, const struct place *places, size_t n_places, const struct profiler_sink *sink) {
  struct arena arena = {.blocks = NULL};
  uint64_t *addresses = xalloc(n_places, sizeof *addresses);
  struct code_name *names = xalloc(n_places, sizeof *names);
  size_t n_addresses = 0;
  for (size_t i = 0; i < n_places; i++)
    if (n_addresses == 0 || addresses[n_addresses - 1] != places[i].address) addresses[n_addresses++] = places[i].address;
  code_names(n->root, places[0].process, addresses, n_addresses, &arena, names);
  for (size_t i = 0, at = 0; i < n_places; i++) {
    while (addresses[at] != places[i].address) at++;
    deliver_place(&places[i], &names[at], sink);
  }
  free(addresses);
  free(names);
  arena_release(&arena);
}

static void deliver(struct native *n, const struct profiler_sink *sink) {
  size_t used = 0;
  for (size_t i = 0; i < TABLE; i++)
    if (n->places[i].n > 0) n->places[used++] = n->places[i];
  if (used > 0) qsort(n->places, used, sizeof *n->places, by_process);
  for (size_t i = 0, next; i < used; i = next) {
    for (next = i + 1; next < used && n->places[next].process == n->places[i].process;) next++;
    deliver_places(n, &n->places[i], next - i, sink);
  }
}

static void native_end(void *state, const struct profiler_sink *sink) {
  struct native *n = state;
  atomic_store(&n->stop, true);
  (void)pthread_join(n->thread, NULL);
  deliver(n, sink);
  if (n->kept != NULL) kept_stacks_finish(n->kept, n->root, sink);
  n->kept = NULL;
  if (!n->with_stacks) sink->note(sink->context, "who calls each library: stacks may be copied by root or with CAP_PERFMON only");
  if (!n->with_kernel) sink->note(sink->context, "time in the kernel: perf_event_open refuses it; run as root or with CAP_PERFMON");
  if (!n->by_processor)
    sink->note(sink->context, "threads that began during the session: only root or CAP_PERFMON may look at all of a processor");
  if (n->n_lost > 0) sink->value(sink->context, "profile.native.lost", (double)n->n_lost);
  native_release(n);
}

const struct profiler profiler_native_stacks;
const struct profiler profiler_native_stacks = {
    .name = "native_stacks", .summary = "in whose libraries the threads are, by perf_event_open", .begin = native_begin, .end = native_end};
