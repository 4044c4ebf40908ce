/* In whose code the threads are while they are on a processor: the innermost instruction's file, by the kernel's own clock.
 *
 * Source   perf_event_open, software clock, of each processor where that is allowed (root, or CAP_PERFMON), else of each thread that
 *          is there at the beginning; /proc/PID/maps says what lies at an address
 * Frames   "/path/of/library.so;function" or, where no symbol table names it, the file alone; "[kernel];network" and the like
 * (kernel_work.h);
 *          "[anonymous]" (code that a program made), with the name that its maker wrote into /tmp/perf-PID.map, where there is one;
 *          "[vdso]"
 * Limits   the innermost function only: who called it is not known. Software clocks do not tick while interrupts are off */
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
#include "telemetry/elf_symbols.h"
#include "telemetry/kernel_work.h"
#include "telemetry/process_tree.h"
#include "telemetry/profiler.h"

enum {
  RATE = 199,
  EVENTS_MAX = 512,
  RING_PAGES = 8,
  TABLE = 1 << 17,
  MAPS_MAX = 16 << 20,
  MADE_MAX = 64 << 20,
  NAMED_MOST = 20000000,
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
  bool by_processor, with_kernel;
  struct place *places; /* open addressing; n 0: free */
  size_t n_places;
  int64_t n_lost;
  struct kernel_symbols *symbols; /* NULL: kernel functions have no names here */
  struct process_tree tree;       /* as last read */
  pthread_t thread;
  atomic_bool stop;
};

static int open_event(pid_t pid, int processor, bool with_kernel) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof attr,
                                 .config = processor >= 0 ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK,
                                 .sample_freq = RATE,
                                 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | (with_kernel ? PERF_SAMPLE_CALLCHAIN : 0),
                                 .sample_max_stack = with_kernel ? CHAIN_MAX : 0,
                                 .exclude_callchain_user = 1,
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

static void count(struct native *n, uint32_t process, uint32_t thread, uint64_t address, enum kernel_work work) {
  if (!process_tree_holds(&n->tree, (int64_t)process)) return; /* somebody else's: not looked at */
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

struct sample_record {
  struct perf_event_header header;
  uint64_t address;
  uint32_t process, thread;
  uint64_t n_chain;              /* what follows is there where the kernel is seen */
  uint64_t chain[CHAIN_MAX + 8]; /* with the marks between kernel and program */
};

enum { RECORD_LEAST = offsetof(struct sample_record, n_chain) };

/* What the kernel was doing: the chain is its own functions, behind marks that are no addresses. */
static enum kernel_work work_of(const struct native *n, const struct sample_record *record) {
  size_t room = (record->header.size - offsetof(struct sample_record, chain)) / sizeof record->chain[0];
  bool told = n->with_kernel && record->header.size > offsetof(struct sample_record, chain) && record->n_chain <= room &&
              record->n_chain <= LYNX_COUNT(record->chain);
  return told ? kernel_work_of(n->symbols, record->chain, record->n_chain) : KERNEL_OTHER;
}

static void read_ring(struct native *n, const struct event *event) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = ring_bytes(n) - page;
  const unsigned char *data = (const unsigned char *)event->ring + page;
  uint64_t head = __atomic_load_n(&event->ring->data_head, __ATOMIC_ACQUIRE), tail = event->ring->data_tail;
  while (tail < head) {
    struct sample_record record = {.address = 0};
    unsigned char *to = (unsigned char *)&record;
    for (size_t i = 0; i < sizeof record.header; i++) to[i] = data[(tail + i) % size];
    if (record.header.size < sizeof record.header || record.header.size > size) break;
    bool sample = record.header.type == PERF_RECORD_SAMPLE && record.header.size >= RECORD_LEAST;
    for (size_t i = sizeof record.header; sample && i < sizeof record && i < record.header.size; i++) to[i] = data[(tail + i) % size];
    bool kernel = (record.header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (sample) count(n, record.process, record.thread, kernel ? 0 : record.address, kernel ? work_of(n, &record) : KERNEL_OTHER);
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
  kernel_symbols_free(n->symbols);
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

/* --- what lies at an address --- */

struct mapping {
  uint64_t from, to, offset;
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
    unsigned long long from, to, offset;
    char rights[8];
    int at = 0;
    if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &from, &to, rights, &offset, &at) < 4 || at == 0 || strchr(rights, 'x') == NULL)
      continue;
    m->items = xroom(m->items, m->n, &m->room, sizeof *m->items);
    m->items[m->n++] = (struct mapping){from, to, offset, line + at};
  }
}

static const struct mapping *mappings_find(const struct mappings *m, uint64_t address) {
  for (size_t low = 0, high = m->n; low < high;) {
    size_t middle = low + (high - low) / 2;
    const struct mapping *one = &m->items[middle];
    if (address >= one->to) low = middle + 1;
    else if (address < one->from) high = middle;
    else return one;
  }
  return NULL; /* the process ended, or unmapped it */
}

static int by_process(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* Of the places of one mapping, by address: what their file's symbol tables call them. */
struct naming {
  struct arena *arena;
  const char **names;
};

static void take_name(void *context, size_t i, const char *name) {
  const struct naming *naming = context;
  naming->names[i] = arena_copy(naming->arena, name);
}

/* The file as the process itself sees it. */
static void name_places(const struct native *n, const struct mapping *m, const struct place *places, size_t n_places, struct arena *arena,
                        const char **names) {
  char path[4200];
  struct naming naming = {arena, names};
  if (m->path[0] != '/' || strlen(m->path) >= 4096) return;
  (void)snprintf(path, sizeof path, "/proc/%u/root%s", places[0].process, m->path);
  int fd = root_open(n->root, path);
  if (fd < 0) return;
  uint64_t *offsets = xalloc(n_places, sizeof *offsets);
  for (size_t i = 0; i < n_places; i++) offsets[i] = places[i].address - m->from + m->offset;
  elf_symbols(fd, offsets, n_places, take_name, &naming);
  free(offsets);
  (void)close(fd);
}

/* --- names of code that a program made --- */

/* "START SIZE name", hexadecimal, a line each: what makers of code write for perf (CPython, oneDNN, V8, the JVM). Memory is used again: of
 * several lines that hold an address the last one is right. */
struct made_code {
  struct buffer text;
};

/* Where a place lies. */
struct located {
  const struct mapping *in;
  bool is_made;
};

static bool is_made_code(const char *path) {
  return path[0] == 0 || strncmp(path, "[anon:", 6) == 0 || strncmp(path, "/memfd:", 7) == 0;
}

/* In the process's own root, under the number that it has there. */
static void made_code_read(const struct root *root, uint32_t process, struct made_code *ret) {
  char path[96];
  buffer_init(&ret->text, MADE_MAX);
  (void)snprintf(path, sizeof path, "/proc/%u/root/tmp/perf-%lld.map", process, (long long)process_inner_pid(root, process));
  if (root_read(root, path, &ret->text, NULL) != LYNX_OK) buffer_clear(&ret->text);
}

/* The first place at or behind an address; places are of one process, by address. */
static size_t place_from(const struct place *places, size_t n, uint64_t address) {
  size_t low = 0;
  for (size_t high = n; low < high;) {
    size_t middle = low + (high - low) / 2;
    if (places[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Where no file's table names them. The text is cut. A map that would name places over and over is left at NAMED_MOST. */
static void made_code_name(struct made_code *made, const struct place *places, size_t n, const struct located *located,
                           const char **names) {
  char *rest = made->text.data, *end, *name;
  size_t named = 0;
  if (made->text.length == 0) return;
  for (char *line = strtok_r(rest, "\n", &rest); line != NULL && named < NAMED_MOST; line = strtok_r(NULL, "\n", &rest)) {
    uint64_t from = strtoull(line, &end, 16), size = strtoull(end, &name, 16);
    if (end == line || name == end || *name != ' ' || name[1] == 0 || size == 0 || from + size < from) continue;
    for (size_t i = place_from(places, n, from); i < n && places[i].address < from + size && named < NAMED_MOST; i++, named++)
      if (located[i].is_made) names[i] = name + 1;
  }
}

static void deliver_place(const struct place *p, const struct mapping *m, const char *name, const struct profiler_sink *sink) {
  char frame[4096];
  const char *path = m == NULL ? "[gone]" : is_made_code(m->path) ? "[anonymous]" : m->path;
  (void)text_sanitise(frame, sizeof frame - ELF_NAME_MAX - 2, path, strlen(path));
  for (char *c = frame; *c != 0; c++)
    if (*c == ';') *c = ':'; /* it divides frames */
  if (p->address == 0) (void)snprintf(frame, sizeof frame, "[kernel];%s", kernel_work_text(p->work));
  else if (name != NULL) {
    size_t length = strlen(frame);
    frame[length++] = ';';
    (void)text_sanitise(frame + length, ELF_NAME_MAX, name, strlen(name));
    for (char *c = frame + length; *c != 0; c++)
      if (*c == ';') *c = ':';
  }
  sink->stack(sink->context, "native", p->process, p->thread, frame, p->n);
}

/* All places of one process. */
static void deliver_process(const struct native *n, const struct place *places, size_t n_places, const struct profiler_sink *sink) {
  struct mappings maps;
  struct arena arena = {.blocks = NULL};
  const char **names = xalloc(n_places, sizeof *names);
  struct made_code made;
  struct located *located = xalloc(n_places, sizeof *located);
  mappings_read(n->root, places[0].process, &maps);
  made_code_read(n->root, places[0].process, &made);
  for (size_t i = 0, next; i < n_places; i = next) {
    const struct mapping *m = places[i].address != 0 ? mappings_find(&maps, places[i].address) : NULL;
    next = i + 1;
    while (m != NULL && next < n_places && places[next].address < m->to) next++;
    if (m != NULL) name_places(n, m, &places[i], next - i, &arena, &names[i]);
    for (size_t k = i; k < next; k++) {
      located[k] = (struct located){m, m != NULL && is_made_code(m->path)};
    }
  }
  made_code_name(&made, places, n_places, located, names);
  for (size_t i = 0; i < n_places; i++) deliver_place(&places[i], located[i].in, names[i], sink);
  buffer_release(&maps.text);
  buffer_release(&made.text);
  free(maps.items);
  free(located);
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
    deliver_process(n, &n->places[i], next - i, sink);
  }
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
