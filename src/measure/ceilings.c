#include "measure/ceilings.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/processors.h"
#include "measure/arithmetic.h"
#include "measure/latencies.h"
#include "telemetry/process_tree.h"

enum { TEAM_MAX = 1024, NODES_MAX = 64, REPEATS_MAX = 16, MEMORY_REPEATS = 10, ARITHMETIC_REPEATS = 5, ELEMENT = 8 };

#define LEAST_ARRAY (INT64_C(64) << 20)
#define ARITHMETIC_NS INT64_C(120000000)

const char *ceiling_unit_text(enum ceiling_unit unit) {
  static const char *const names[] = {[CEILING_BYTES] = "bytes/s", [CEILING_OPERATIONS] = "operations/s", [CEILING_SECONDS] = "s"};
  return names[unit];
}

struct measuring {
  const struct root *root;
  const atomic_int *stop;
  void (*progress)(void *context, const char *name);
  void *context;
  struct ceilings *ret;
  bool few; /* one memory figure, one type, one latency */
};

static bool begin_next(const struct measuring *m, const char *name) {
  if (m->progress != NULL) m->progress(m->context, name);
  return m->stop == NULL || atomic_load(m->stop) == 0;
}

/* --- threads that begin together --- */

struct team {
  int processors[TEAM_MAX];
  int n, repeats;
  pthread_barrier_t barrier;
  pthread_cond_t opened;
  enum { GATE_CLOSED, GATE_OPEN, GATE_NEVER } gate; /* never: not all could be started */
  /* Once before it is timed, then in every repeat; returns the amount that was done. */
  double (*work)(void *context, int index, int n, bool first);
  void *context;
  int64_t begun_ns[REPEATS_MAX], ended_ns[REPEATS_MAX]; /* of the first and of the last thread */
  double done[REPEATS_MAX];
  pthread_mutex_t lock;
};

struct member {
  struct team *team;
  int index;
};

static void *member_main(void *context) {
  const struct member *member = context;
  struct team *t = member->team;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(t->processors[member->index], &own);
  (void)pthread_setaffinity_np(pthread_self(), sizeof own, &own); /* one that went offline: wherever it may */
  (void)pthread_mutex_lock(&t->lock);
  while (t->gate == GATE_CLOSED) (void)pthread_cond_wait(&t->opened, &t->lock);
  bool never = t->gate == GATE_NEVER;
  (void)pthread_mutex_unlock(&t->lock);
  if (never) return NULL;
  (void)t->work(t->context, member->index, t->n, true);
  for (int k = 0; k < t->repeats; k++) {
    (void)pthread_barrier_wait(&t->barrier);
    int64_t begun_ns = clock_now(&clock_system);
    double done = t->work(t->context, member->index, t->n, false);
    int64_t ended_ns = clock_now(&clock_system);
    (void)pthread_mutex_lock(&t->lock);
    if (t->begun_ns[k] == 0 || begun_ns < t->begun_ns[k]) t->begun_ns[k] = begun_ns;
    if (ended_ns > t->ended_ns[k]) t->ended_ns[k] = ended_ns;
    t->done[k] += done;
    (void)pthread_mutex_unlock(&t->lock);
  }
  return NULL;
}

/* The rate of each repeat; false: threads could not be started. */
static bool team_run(struct team *t, double (*work)(void *context, int index, int n, bool first), void *context,
                     double rates[REPEATS_MAX]) {
  pthread_t *threads = xalloc((size_t)t->n, sizeof *threads);
  struct member *members = xalloc((size_t)t->n, sizeof *members);
  int started = 0;
  t->work = work;
  t->context = context;
  memset(t->begun_ns, 0, sizeof t->begun_ns);
  memset(t->ended_ns, 0, sizeof t->ended_ns);
  memset(t->done, 0, sizeof t->done);
  t->gate = GATE_CLOSED;
  (void)pthread_mutex_init(&t->lock, NULL); /* cannot fail without attributes; nor can the next */
  (void)pthread_cond_init(&t->opened, NULL);
  bool good = pthread_barrier_init(&t->barrier, NULL, (unsigned)t->n) == 0;
  for (; good && started < t->n; started++) {
    members[started] = (struct member){t, started};
    if (pthread_create(&threads[started], NULL, member_main, &members[started]) != 0) break;
  }
  (void)pthread_mutex_lock(&t->lock);
  t->gate = started == t->n ? GATE_OPEN : GATE_NEVER;
  (void)pthread_cond_broadcast(&t->opened);
  (void)pthread_mutex_unlock(&t->lock);
  for (int i = 0; i < started; i++) (void)pthread_join(threads[i], NULL);
  if (good) (void)pthread_barrier_destroy(&t->barrier);
  (void)pthread_cond_destroy(&t->opened);
  (void)pthread_mutex_destroy(&t->lock);
  good = good && started == t->n;
  for (int k = 0; k < t->repeats && good; k++) rates[k] = t->done[k] / ((double)(t->ended_ns[k] - t->begun_ns[k]) / 1e9);
  free(threads);
  free(members);
  return good;
}

static void add_ceiling(struct ceilings *c, const char *name, const char *with, enum ceiling_unit unit, int threads, const double *rates,
                        int n) {
  if (c->n == CEILINGS_MAX || n == 0) return;
  struct ceiling *one = &c->items[c->n++];
  *one = (struct ceiling){
      .with = with, .unit = unit, .value = rates[0], .least = rates[0], .greatest = rates[0], .threads = threads, .n = n};
  (void)snprintf(one->name, sizeof one->name, "%s", name);
  for (int k = 1; k < n; k++) {
    one->least = fmin(one->least, rates[k]);
    one->greatest = fmax(one->greatest, rates[k]);
  }
  one->value = one->greatest;
}

/* --- memory --- */

struct arrays {
  double *a, *b, *c;
  int64_t n; /* elements of each */
  bool copies;
};

static double stream(void *context, int index, int n, bool first) {
  const struct arrays *s = context;
  int64_t from = s->n * index / n, to = s->n * (index + 1) / n;
  double *restrict a = s->a;
  const double *restrict b = s->b, *restrict c = s->c;
  if (first) { /* pages lie where the thread runs that writes them first */
    for (int64_t i = from; i < to; i++) s->a[i] = 1, s->b[i] = 2, s->c[i] = 3;
    return 0;
  }
  if (s->copies) {
    memcpy(s->a + from, s->b + from, (size_t)(to - from) * ELEMENT);
    return (double)(to - from) * 2 * ELEMENT;
  }
  for (int64_t i = from; i < to; i++) a[i] = b[i] + 3.0 * c[i];
  return (double)(to - from) * 3 * ELEMENT;
}

/* "32768K" */
static int64_t size_of(const char *text) {
  int64_t size, unit;
  size_t n = strspn(text, "0123456789");
  unit = text[n] == 'K' ? 1024 : text[n] == 'M' ? 1024 * 1024 : 1;
  return number_int64(text, n, &size) && size < (INT64_C(1) << 40) / unit ? size * unit : 0;
}

/* All last caches of these processors together: each is counted by the first processor that shares it. */
static int64_t last_caches(const struct root *root, const struct team *team) {
  int64_t sum = 0;
  for (int k = 0; k < team->n; k++) {
    char path[128], text[64], shared[4096];
    int64_t own = 0, first;
    for (int i = 0; i < 8; i++) {
      (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", team->processors[k], i);
      if (!root_read_line(root, path, text, sizeof text)) break;
      if (size_of(text) < own) continue;
      own = size_of(text);
      (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", team->processors[k], i);
      if (!root_read_line(root, path, shared, sizeof shared)) shared[0] = 0;
    }
    bool leads = own > 0 && number_int64(shared, strspn(shared, "0123456789"), &first) && first == team->processors[k];
    sum += leads ? own : 0;
    if (own > sum) sum = own; /* its leader is not among these */
  }
  return sum;
}

static int64_t free_memory(const struct root *root) {
  struct buffer text;
  int64_t kb = 0;
  buffer_init(&text, 65536);
  const char *at = root_read(root, "/proc/meminfo", &text, NULL) == LYNX_OK ? strstr(text.data, "MemAvailable:") : NULL;
  if (at != NULL) kb = strtoll(at + 13, NULL, 10);
  buffer_release(&text);
  return kb * 1024;
}

static void measure_memory(const struct measuring *m, struct team *team, const char *suffix, int64_t bytes) {
  char name[CEILING_NAME];
  double rates[REPEATS_MAX];
  size_t size = (size_t)bytes;
  struct arrays s = {.n = bytes / ELEMENT};
  double *all = mmap(NULL, 3 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return;
  s.a = all;
  s.b = all + s.n;
  s.c = all + 2 * s.n;
  team->repeats = MEMORY_REPEATS;
  for (int copies = 0; copies < (m->few ? 1 : 2); copies++) {
    s.copies = copies == 1;
    (void)snprintf(name, sizeof name, "memory.%s%s", s.copies ? "copy" : "triad", suffix);
    if (!begin_next(m, name) || !team_run(team, stream, &s, rates)) break;
    add_ceiling(m->ret, name, "", CEILING_BYTES, team->n, rates, team->repeats);
  }
  (void)munmap(all, 3 * size);
}

/* --- arithmetic --- */

struct chains {
  const struct arithmetic *kernel;
  int64_t rounds;
};

static double compute(void *context, int index, int n, bool first) {
  struct chains *c = context;
  (void)index, (void)n;
  return first ? c->kernel->work(c->rounds / 8) : c->kernel->work(c->rounds); /* clocks rise at first */
}

static void measure_arithmetic(const struct measuring *m, struct team *team, const char *suffix) {
  const char *done = "";
  for (const struct arithmetic *k = arithmetic_all; k->type != NULL; k++) {
    char name[CEILING_NAME];
    double rates[REPEATS_MAX];
    struct chains chains = {k, 1 << 16};
    if (strcmp(done, k->type) == 0 || !k->can() || (m->few && strcmp(k->type, "f32") != 0)) continue;
    done = k->type; /* the widest */
    (void)snprintf(name, sizeof name, "arithmetic.%s%s", k->type, suffix);
    for (int64_t took_ns = 0; took_ns < ARITHMETIC_NS / 4; chains.rounds *= 2) {
      int64_t begun_ns = clock_now(&clock_system);
      (void)k->work(chains.rounds);
      took_ns = clock_now(&clock_system) - begun_ns;
    }
    team->repeats = ARITHMETIC_REPEATS;
    if (!begin_next(m, name) || !team_run(team, compute, &chains, rates)) return;
    add_ceiling(m->ret, name, k->instructions, CEILING_OPERATIONS, team->n, rates, team->repeats);
  }
}

/* --- latencies --- */

static void measure_latencies(const struct measuring *m, const struct team *team) {
  for (const struct latency *l = latencies_all; l->name != NULL; l++) {
    double seconds[LATENCY_SAMPLES];
    if (m->few && strcmp(l->name, "wake_up.thread") != 0) continue;
    if (!begin_next(m, l->name)) return;
    size_t n = l->measure(team->processors, team->n, seconds);
    if (n == 0 || m->ret->n == CEILINGS_MAX) continue;
    struct ceiling *one = &m->ret->items[m->ret->n++];
    *one = (struct ceiling){.with = l->with, .unit = l->is_rate ? CEILING_BYTES : CEILING_SECONDS, .threads = l->threads, .n = (int64_t)n};
    (void)snprintf(one->name, sizeof one->name, "%s", l->name);
    latency_summary(seconds, n, &one->least, &one->value, &one->greatest);
    if (l->is_rate) one->value = one->greatest;
  }
}

/* --- all of it --- */

static int fill_team(const cpu_set_t *among, int processors[TEAM_MAX]) {
  cpu_set_t own;
  int n = 0;
  if (sched_getaffinity(0, sizeof own, &own) != 0) return 0;
  for (int i = 0; i < CPU_SETSIZE && n < TEAM_MAX; i++)
    if (CPU_ISSET(i, &own) && (among == NULL || CPU_ISSET(i, among))) processors[n++] = i;
  return n;
}

static void measure_nodes(const struct measuring *m, struct team *team, int64_t bytes) {
  cpu_set_t nodes[NODES_MAX];
  int n_nodes = 0;
  for (; n_nodes < NODES_MAX; n_nodes++) {
    char path[96], text[4096];
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", n_nodes);
    if (!root_read_line(m->root, path, text, sizeof text)) break;
    if (processors_parse(text, &nodes[n_nodes], NULL) != LYNX_OK) CPU_ZERO(&nodes[n_nodes]); /* memory without processors */
  }
  for (int i = 0; i < n_nodes && n_nodes > 1; i++) {
    char suffix[16];
    (void)snprintf(suffix, sizeof suffix, ".node%d", i);
    team->n = fill_team(&nodes[i], team->processors);
    if (team->n > 0) measure_memory(m, team, suffix, bytes);
  }
}

static double busy_s(const struct root *root) {
  struct machine_ticks ticks;
  double hz = (double)sysconf(_SC_CLK_TCK);
  return hz > 0 && machine_ticks_read(root, &ticks) ? (double)ticks.busy / hz : NAN;
}

static double own_s(void) {
  struct rusage use;
  if (getrusage(RUSAGE_SELF, &use) != 0) return NAN;
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* Arrays that no cache holds, as far as memory is free. */
static int64_t array_bytes(const struct root *root, const struct team *team) {
  int64_t wanted = 4 * last_caches(root, team), most = free_memory(root) / 8, bytes = wanted > LEAST_ARRAY ? wanted : LEAST_ARRAY;
  if (most > 0 && bytes > most) bytes = most;
  return bytes - bytes % 4096;
}

static void measure_all(const struct measuring *m, struct team *team) {
  int n = team->n;
  int64_t bytes = array_bytes(m->root, team);
  measure_memory(m, team, "", bytes);
  if (!m->few) measure_nodes(m, team, bytes);
  team->n = fill_team(NULL, team->processors);
  measure_arithmetic(m, team, "");
  if (n > 1 && !m->few) {
    team->n = 1;
    measure_memory(m, team, ".one_thread", bytes);
    measure_arithmetic(m, team, ".one_thread");
    team->n = n;
  }
  measure_latencies(m, team);
}

static bool measure(struct measuring *m) {
  struct team *team = xalloc(1, sizeof *team);
  *m->ret = (struct ceilings){.others = NAN};
  int n = team->n = fill_team(NULL, team->processors);
  double busy = busy_s(m->root), own = own_s();
  int64_t begun_ns = clock_now(&clock_system);
  if (n > 0) measure_all(m, team);
  double passed_s = (double)(clock_now(&clock_system) - begun_ns) / 1e9;
  m->ret->others = ((busy_s(m->root) - busy) - (own_s() - own)) / (passed_s * (double)sysconf(_SC_NPROCESSORS_ONLN));
  if (m->ret->others < 0) m->ret->others = 0; /* ticks are coarser than our own count */
  free(team);
  return n > 0 && (m->stop == NULL || atomic_load(m->stop) == 0);
}

bool ceilings_measure(const struct root *root, const atomic_int *stop, void (*progress)(void *context, const char *name), void *context,
                      struct ceilings *ret) {
  struct measuring m = {.root = root, .stop = stop, .progress = progress, .context = context, .ret = ret};
  return measure(&m);
}

bool ceilings_measure_few(const struct root *root, const atomic_int *stop, struct ceilings *ret) {
  struct measuring m = {.root = root, .stop = stop, .ret = ret, .few = true};
  return measure(&m);
}
