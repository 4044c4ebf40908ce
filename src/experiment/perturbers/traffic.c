/* Threads of lynxbench stream through memory on processors of the same node that the server may not use. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/processors.h"
#include "experiment/perturber.h"
#include "stats/quantile.h"
#include "telemetry/node_map.h"
#include "telemetry/process_tree.h"

enum { HOGS_MAX = 64, ROUNDS = 9, PASSES = 4, FEW_WORDS = 1024 };
#define PERIOD_NS INT64_C(20000000)
#define WORDS_LEAST (INT64_C(64) << 17) /* 64 MiB of words of 8 bytes */
#define WORDS_MOST (INT64_C(128) << 17)
#define MEMORY_SHARE 4  /* at most that part of what is free is taken */
#define FELT_LEAST 1.03 /* below it blocks would tell nothing */
#define NEAR_MOST 1.05  /* what a loop within the nearest cache may feel: more means that the processors share a core */

struct hog {
  pthread_t thread;
  struct memory *of;
  int processor;
};

struct memory {
  struct perturbing request;
  cpu_set_t server;
  struct hog hogs[HOGS_MAX];
  size_t n, n_words;
  double share, given[LEVELS_MAX];
  atomic_bool over;
};

/* Every line is read and written, so that the whole of it travels twice. */
static void stream(volatile double *words, size_t n) {
  for (size_t i = 0; i < n; i += 8)
    for (size_t k = 0; k < 8; k++) words[i + k] = 0.5 * words[i + k] + 1;
}

/* As many words, of a few lines that stay in the nearest cache. */
static void compute(volatile double *few, size_t n) {
  for (size_t i = 0; i < n; i += FEW_WORDS) stream(few, FEW_WORDS);
}

/* It gives way to everybody else on its processor, the client among them. */
static void *eat(void *context) {
  const struct hog *hog = context;
  struct memory *m = hog->of;
  double *words = calloc(m->n_words, sizeof *words);
  bool there = perturber_bind(hog->processor, SCHED_IDLE);
  const size_t part = m->n_words / 256 / 8 * 8;
  for (size_t at = 0; words != NULL && there && !atomic_load(&m->over);) {
    int64_t from = clock_now(&clock_system), busy = (int64_t)((double)PERIOD_NS * m->share);
    while (clock_now(&clock_system) - from < busy && !atomic_load(&m->over)) {
      stream(words + at, part);
      at = at + 2 * part <= m->n_words ? at + part : 0;
    }
    const struct timespec rest = {.tv_nsec = (long)(PERIOD_NS - busy)};
    if (PERIOD_NS > busy) (void)nanosleep(&rest, NULL);
  }
  free(words);
  return NULL;
}

static size_t begin_hogs(struct memory *m, double share) {
  size_t n = 0;
  m->share = share;
  atomic_store(&m->over, false);
  while (n < m->n && pthread_create(&m->hogs[n].thread, NULL, eat, &m->hogs[n]) == 0) n++;
  return n;
}

static void end_hogs(struct memory *m, size_t n) {
  atomic_store(&m->over, true);
  for (size_t i = 0; i < n; i++) (void)pthread_join(m->hogs[i].thread, NULL);
}

/* --- how much of it is felt --- */

static double own_ns(void) {
  struct timespec t;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec * 1e9 + (double)t.tv_nsec : NAN;
}

struct probe {
  const struct memory *of;
  double *words, few[FEW_WORDS];
  size_t at;
  double memory_ns, near_ns;
};

/* On the server's processors, by its own processor time: a part of the memory, then as much in the nearest cache. */
static void look(struct probe *p) {
  size_t part = p->of->n_words / PASSES / 8 * 8;
  double from = own_ns();
  stream(p->words + p->at, part);
  p->memory_ns = own_ns() - from;
  p->at = p->at + 2 * part <= p->of->n_words ? p->at + part : 0;
  from = own_ns();
  compute(p->few, part);
  p->near_ns = own_ns() - from;
}

static double middle(double *values) {
  quantile_sort(values, ROUNDS);
  return values[ROUNDS / 2];
}

/* False: nothing can be measured. */
static bool measure_level(struct memory *m, struct probe *probe, size_t level, double share, double *ret_near) {
  double memory[ROUNDS], near[ROUNDS];
  for (size_t i = 0; i < ROUNDS && !atomic_load(m->request.stop); i++) {
    look(probe);
    double quiet = probe->memory_ns, plain = probe->near_ns;
    size_t n = begin_hogs(m, share);
    perturber_sleep(clock_now(&clock_system) + PERIOD_NS);
    look(probe);
    end_hogs(m, n);
    undo_beat(m->request.undo);
    memory[i] = probe->memory_ns / quiet;
    near[i] = probe->near_ns / plain;
    if (n != m->n || !isfinite(memory[i]) || !isfinite(near[i])) return false;
  }
  if (atomic_load(m->request.stop)) return false;
  m->given[level] = middle(memory);
  *ret_near = fmax(*ret_near, middle(near));
  return true;
}

struct measuring {
  struct memory *of;
  bool done;
  double near;
};

/* On a thread of its own, which is bound to the server's processors. */
static void *measure(void *context) {
  struct measuring *g = context;
  struct memory *m = g->of;
  struct probe probe = {.of = m, .words = calloc(m->n_words, sizeof *probe.words)};
  const struct sched_param none = {.sched_priority = 0};
  (void)sched_setscheduler(0, SCHED_OTHER, &none);
  g->done = probe.words != NULL && sched_setaffinity(0, sizeof m->server, &m->server) == 0;
  for (size_t l = 0; l < 2 && g->done; l++) g->done = measure_level(m, &probe, l, l == 0 ? 0.5 : 1, &g->near);
  free(probe.words);
  return NULL;
}

/* --- where --- */

/* The other processors of a core, which share more than the memory. */
static bool shares_a_core(const struct root *root, int processor, const cpu_set_t *with) {
  char path[96], line[256];
  cpu_set_t siblings;
  (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
  if (!root_read_line(root, path, line, sizeof line) || processors_parse(line, &siblings, NULL) != LYNX_OK) return false;
  cpu_set_t both;
  CPU_AND(&both, &siblings, with);
  return CPU_COUNT(&both) > 0;
}

struct looking {
  struct memory *memory;
  int64_t pid;
};

static void add_thread(void *context, const char *name) {
  const struct looking *l = context;
  cpu_set_t one;
  long long thread = atoll(name);
  if (thread > 0 && sched_getaffinity((pid_t)thread, sizeof one, &one) == 0) CPU_OR(&l->memory->server, &l->memory->server, &one);
}

/* Of all its threads: a pool may run where the first thread may not. */
static void see_server(struct memory *m) {
  for (size_t i = 0; i < m->request.n_processes; i++) {
    struct looking l = {m, m->request.processes[i].pid};
    process_threads(m->request.root, l.pid, add_thread, &l);
  }
}

/* Each has as much memory as the probe. */
static size_t most_hogs(const struct memory *m) {
  long free_pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  double fit = free_pages > 0 ? (double)free_pages * (double)page / MEMORY_SHARE / (8 * (double)m->n_words) : 0;
  return fit < 2 ? 0 : fit - 1 > HOGS_MAX ? HOGS_MAX : (size_t)(fit - 1);
}

static void choose(struct memory *m) {
  struct node_map *nodes = xalloc(1, sizeof *nodes);
  cpu_set_t ours;
  const size_t most = most_hogs(m);
  bool beside_it[NODES_MAX] = {false};
  node_map_read(m->request.root, nodes);
  see_server(m);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &m->server) && node_map_of(nodes, i) >= 0) beside_it[node_map_of(nodes, i)] = true;
  if (sched_getaffinity(0, sizeof ours, &ours) != 0) CPU_ZERO(&ours);
  for (int i = 0; i < CPU_SETSIZE && m->n < most; i++) {
    int node = node_map_of(nodes, i);
    bool beside = node < 0 || beside_it[node];
    if (beside && CPU_ISSET(i, &ours) && !CPU_ISSET(i, &m->server) && !shares_a_core(m->request.root, i, &m->server))
      m->hogs[m->n++] = (struct hog){.of = m, .processor = i};
  }
  free(nodes);
}

/* Half as many, and again, while the processors themselves are felt: a virtual machine does not say which of them share a core, and its
 * host may have room for some. */
static bool is_felt(struct memory *m, char *why, size_t size) {
  struct measuring g = {.of = m};
  do {
    pthread_t thread;
    if (g.near > 0) m->n /= 2;
    g = (struct measuring){.of = m};
    if (pthread_create(&thread, NULL, measure, &g) == 0) (void)pthread_join(thread, NULL);
  } while (g.done && g.near > NEAR_MOST && m->n > 1);
  if (!g.done) (void)snprintf(why, size, "memory: how much slower it became could not be measured");
  else if (g.near > NEAR_MOST)
    (void)snprintf(why, size,
                   "memory: on the server's processors a loop that needs no memory took %.2f times as long beside the traffic: they share "
                   "more than the memory",
                   g.near);
  else if (!(m->given[1] >= FELT_LEAST))
    (void)snprintf(
        why, size,
        "memory: %zu processor%s that the server may not use make memory %.2f times as slow, which is too little: give the server "
        "fewer processors",
        m->n, LYNX_S(m->n), m->given[1]);
  else return true;
  return false;
}

static size_t memory_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct memory *m = xalloc(1, sizeof *m);
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  int64_t wanted = cache > 0 ? 2 * cache / 8 : 0;
  m->request = *request;
  *ret_state = m;
  m->n_words = (size_t)(wanted < WORDS_LEAST ? WORDS_LEAST : wanted > WORDS_MOST ? WORDS_MOST : wanted);
  choose(m);
  if (most == 0 || m->n == 0) {
    (void)snprintf(
        why, size,
        "memory: the server may use every processor beside its memory, so that traffic would take its processors, too (start it on "
        "fewer: taskset); or too little memory is free");
    return 0;
  }
  if (!is_felt(m, why, size)) return 0;
  target_name(ret, "memory", "its bandwidth");
  return 1;
}

static double memory_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct memory *m = state;
  size_t level = slowness < 2 ? 0 : 1, n = begin_hogs(m, slowness < 2 ? 0.5 : 1);
  (void)target;
  (void)perturber_wait(&m->request, until_ns);
  end_hogs(m, n);
  return n == m->n ? m->given[level] : 1;
}

static bool memory_whose(const char *what, enum layer *ret) {
  (void)what;
  *ret = LAYER_ACCELERATOR;
  return true;
}

const struct perturber perturber_traffic;
const struct perturber perturber_traffic = {
    .name = "memory",
    .summary = "traffic on the memory that the server uses",
    .does = "threads of lynxbench stream through memory, on processors that the server may not use; they end with it",
    .levels = {1.5, 2},
    .open = memory_open,
    .hold = memory_hold,
    .close = free,
    .whose = memory_whose};
