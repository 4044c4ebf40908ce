/* In whose code the threads are while they are on a processor: the innermost instruction's file, by the kernel's own clock.
 *
 * Source   perf_event_open, software clock, of each processor where that is allowed (root, or CAP_PERFMON), else of each thread that
 *          is there at the beginning; /proc/PID/maps says what lies at an address
 * Frames   one: "/path/of/library.so", "[kernel]", "[anonymous]" (code that a program made), "[vdso]"
 * Limits   the innermost frame only: who called it is not known. Software clocks do not tick while interrupts are off */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
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
#include "telemetry/process_tree.h"
#include "telemetry/profiler.h"

enum { RATE = 199, EVENTS_MAX = 512, RING_PAGES = 8, TABLE = 1 << 17, MAPS_MAX = 16 << 20, READ_EVERY_MS = 50 };

struct place {
  uint32_t process, thread;
  uint64_t address; /* 0: in the kernel */
  int64_t n;
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
  bool by_processor, with_kernel;
  struct place *places; /* open addressing; n 0: free */
  size_t n_places;
  int64_t n_lost;
  struct process_tree tree; /* as last read */
  pthread_t thread;
  atomic_bool stop;
};

static int open_event(pid_t pid, int processor, bool with_kernel) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof attr,
                                 .config = processor >= 0 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK,
                                 .sample_freq = RATE,
                                 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
                                 .freq = 1,
                                 .exclude_kernel = !with_kernel,
                                 .exclude_hv = 1,
                                 .exclude_idle = 1};
  return (int)syscall(SYS_perf_event_open, &attr, pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

static size_t ring_bytes(const struct native *n) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return page * (1 + (n->by_processor ? RING_PAGES : 1));
}

static bool add_event(struct native *n, pid_t pid, int processor) {
  int fd = n->n_events < EVENTS_MAX ? open_event(pid, processor, n->with_kernel) : -1;
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

/* Every processor; else every thread that is there; with the kernel's time, else without. */
static bool open_events(struct native *n) {
  long n_processors = sysconf(_SC_NPROCESSORS_CONF);
  for (int kernel = 1; kernel >= 0 && n->n_events == 0; kernel--) {
    n->with_kernel = kernel == 1;
    n->by_processor = true;
    for (int i = 0; i < n_processors; i++) (void)add_event(n, -1, i); /* one that is offline has none */
  }
  for (int kernel = 1; kernel >= 0 && n->n_events == 0; kernel--) {
    n->with_kernel = kernel == 1;
    n->by_processor = false;
    for (size_t i = 0; i < n->tree.n; i++) {
      char path[96];
      (void)snprintf(path, sizeof path, "/proc/%lld/task", (long long)n->tree.pids[i]);
      (void)root_list(n->root, path, THREADS_MAX, add_thread, n);
    }
  }
  return n->n_events > 0;
}

/* --- what the rings hold --- */

static void count(struct native *n, uint32_t process, uint32_t thread, uint64_t address) {
  if (!process_tree_holds(&n->tree, (int64_t)process)) return; /* somebody else's: not looked at */
  uint64_t hash = (address ^ ((uint64_t)thread << 32)) * UINT64_C(0x9e3779b97f4a7c15);
  for (size_t k = (size_t)(hash >> 40) % TABLE, tries = 0; tries < 64; k = (k + 1) % TABLE, tries++) {
    struct place *p = &n->places[k];
    if (p->n == 0 && n->n_places >= TABLE / 2) break;
    if (p->n == 0) {
      *p = (struct place){process, thread, address, 0};
      n->n_places++;
    }
    if (p->process != process || p->thread != thread || p->address != address) continue;
    p->n++;
    return;
  }
  n->n_lost++;
}

struct sample_record {
  struct perf_event_header header;
  uint64_t address;
  uint32_t process, thread;
};

static void read_ring(struct native *n, const struct event *event) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = ring_bytes(n) - page;
  const unsigned char *data = (const unsigned char *)event->ring + page;
  uint64_t head = __atomic_load_n(&event->ring->data_head, __ATOMIC_ACQUIRE), tail = event->ring->data_tail;
  while (tail < head) {
    struct sample_record record = {.address = 0};
    unsigned char *to = (unsigned char *)&record;
    for (size_t i = 0; i < sizeof record.header; i++) to[i] = data[(tail + i) % size];
    if (record.header.size < sizeof record.header || record.header.size > size) break;
    bool sample = record.header.type == PERF_RECORD_SAMPLE && record.header.size >= sizeof record;
    for (size_t i = sizeof record.header; sample && i < sizeof record; i++) to[i] = data[(tail + i) % size];
    bool kernel = (record.header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (sample) count(n, record.process, record.thread, kernel ? 0 : record.address);
    else if (record.header.type == PERF_RECORD_LOST) n->n_lost++;
    tail += record.header.size;
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
  if (open_events(n) && pthread_create(&n->thread, NULL, native_main, n) == 0) {
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

/* --- what lies at an address --- */

struct mapping {
  uint64_t from, to;
  const char *path; /* in the text */
};

struct mappings {
  struct buffer text;
  struct mapping *items;
  size_t n, room;
};

static void mappings_read(const struct root *root, uint32_t process, struct mappings *m) {
  char path[64];
  *m = (struct mappings){.n = 0};
  buffer_init(&m->text, MAPS_MAX);
  (void)snprintf(path, sizeof path, "/proc/%u/maps", process);
  if (root_read(root, path, &m->text, NULL) != LYNX_OK) return;
  char *rest = m->text.data;
  for (char *line = strtok_r(m->text.data, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    unsigned long long from, to;
    char rights[8];
    int at = 0;
    if (sscanf(line, "%llx-%llx %7s %*s %*s %*s %n", &from, &to, rights, &at) < 3 || at == 0 || strchr(rights, 'x') == NULL) continue;
    m->items = xroom(m->items, m->n, &m->room, sizeof *m->items);
    m->items[m->n++] = (struct mapping){from, to, line + at};
  }
}

static const char *mappings_find(const struct mappings *m, uint64_t address) {
  if (address == 0) return "[kernel]";
  for (size_t low = 0, high = m->n; low < high;) {
    size_t middle = low + (high - low) / 2;
    const struct mapping *one = &m->items[middle];
    if (address >= one->to) low = middle + 1;
    else if (address < one->from) high = middle;
    else return one->path[0] != 0 ? one->path : "[anonymous]";
  }
  return "[gone]"; /* the process ended, or unmapped it */
}

static int by_process(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  return x->process != y->process ? (x->process < y->process ? -1 : 1) : x->thread != y->thread ? (x->thread < y->thread ? -1 : 1) : 0;
}

static void deliver(struct native *n, const struct profiler_sink *sink) {
  size_t used = 0;
  struct mappings maps = {.n = 0};
  char frame[4096];
  for (size_t i = 0; i < TABLE; i++)
    if (n->places[i].n > 0) n->places[used++] = n->places[i];
  if (used > 0) qsort(n->places, used, sizeof *n->places, by_process);
  for (size_t i = 0; i < used; i++) {
    const struct place *p = &n->places[i];
    if (i == 0 || p->process != n->places[i - 1].process) {
      buffer_release(&maps.text);
      free(maps.items);
      mappings_read(n->root, p->process, &maps);
    }
    const char *path = mappings_find(&maps, p->address);
    (void)text_sanitise(frame, sizeof frame, path, strlen(path));
    sink->stack(sink->context, "native", p->process, p->thread, frame, p->n);
  }
  buffer_release(&maps.text);
  free(maps.items);
}

static void native_end(void *state, const struct profiler_sink *sink) {
  struct native *n = state;
  atomic_store(&n->stop, true);
  (void)pthread_join(n->thread, NULL);
  deliver(n, sink);
  if (!n->with_kernel) sink->note(sink->context, "time in the kernel: perf_event_open refuses it; run as root or with CAP_PERFMON");
  if (!n->by_processor)
    sink->note(sink->context, "threads that began during the session: only root or CAP_PERFMON may look at all of a processor");
  if (n->n_lost > 0) sink->value(sink->context, "profile.native.lost", (double)n->n_lost);
  native_release(n);
}

const struct profiler profiler_native_stacks;
const struct profiler profiler_native_stacks = {
    .name = "native_stacks", .summary = "in whose libraries the threads are, by perf_event_open", .begin = native_begin, .end = native_end};
