/* Loaded (LD_PRELOAD) into an executor that lynxbench starts for an experiment: it slows the code of one library in proportion to its own
 * time, without knowing any of its calls.
 *
 * Method   each thread has a timer of its own processor time, of random length, a millisecond on average. Where that ends inside the
 *          library, the time since the last one is counted as the library's, and the thread computes on for the share that is asked for.
 *          A short call is lengthened by nothing or by much; over a second the share is right
 * Timers   the kernel's task clock (perf_event_open), of which a signal comes once, so that what is added starts no timer; where it may not
 *          be had, POSIX timers, which the scheduler's tick divides (1 to 10 ms): a program that goes in step with that is seen wrongly
 * Files    FOLDER/amount: one double, by how much of its own time the library is lengthened; FOLDER/PID: five integers of 64 bits: 1, 1
 *          where the library is mapped, looks that found it, its time and the time added, both in nanoseconds: as src/experiment/python
 * Where    LYNXBENCH_SLOW_LIBRARY=FOLDER|NAME; NAME: how the file's last part begins, up to a dot or a dash; or [anonymous] for code that
 *          was made at run time
 * Limits   the innermost frame decides: what the library calls in others is theirs. A thread that blocks the signal (the last
 *          but thirteen), or was not made by pthread_create, is not slowed; one that waits for all signals (sigwait) gets it. A program
 *          that closes every descriptor is slowed no more. A system call that waits may end early (EINTR), as under any profiler */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SLOTS = 4096, RANGES = 256, SIGNAL_BEFORE_LAST = 13, COUNTERS = 5, MAPS_BYTES = 32 << 10 };
enum { COUNT_VERSION, COUNT_FOUND, COUNT_LOOKS, COUNT_OWN_NS, COUNT_ADDED_NS };
#define EACH_NS 1000000           /* of the task clock, on average */
#define EACH_TICK_NS 5000000      /* of a POSIX timer */
#define MOST_NS INT64_C(50000000) /* of one look: more means that looks were held up */
#define SECOND INT64_C(1000000000)

struct slot {
  atomic_bool taken;
  int clock;                  /* of perf_event_open; -1: the timer is used */
  timer_t timer;              /* where there is no such clock */
  int64_t last_ns, length_ns; /* length: of the clock, as it was set last */
  uint64_t random;
};

/* What a look reads while another thread makes the next one. */
struct ranges {
  size_t n;
  struct {
    uintptr_t from, to;
  } at[RANGES];
};

static char folder[300], name[200];
static const volatile double *amount;
static _Atomic(int64_t) nowhere[COUNTERS], *counters = nowhere;
static struct ranges both[2];
static _Atomic(const struct ranges *) current = &both[0];
static struct slot slots[SLOTS];
static __thread struct slot *own_slot __attribute__((tls_model("initial-exec"))); /* a signal handler may read it */
static pthread_key_t key;
static bool ready;
static volatile bool over; /* the program wants the signal for itself */
static int (*next_action)(int, const struct sigaction *, struct sigaction *);
static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int64_t own_time(void) {
  struct timespec t;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * SECOND + t.tv_nsec : 0;
}

static uintptr_t instruction(const void *context) {
  const ucontext_t *c = context;
#if defined(__x86_64__)
  return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (uintptr_t)c->uc_mcontext.pc;
#else
  (void)c;
  return 0;
#endif
}

static bool is_inside(uintptr_t at) {
  const struct ranges *r = atomic_load(&current);
  for (size_t i = 0; i < r->n; i++)
    if (at >= r->at[i].from && at < r->at[i].to) return true;
  return false;
}

/* From half of a length to one and a half: what goes in step with a timer would be seen always, or never. (xorshift, Marsaglia 2003) */
static long draw_length(struct slot *slot, long mean) {
  slot->random ^= slot->random << 13;
  slot->random ^= slot->random >> 7;
  slot->random ^= slot->random << 17;
  return mean / 2 + (long)(slot->random % (uint64_t)mean);
}

static void arm(struct slot *slot) {
  uint64_t length = (uint64_t)draw_length(slot, EACH_NS);
  if (slot->clock >= 0) {
    slot->length_ns = (int64_t)length;
    (void)ioctl(slot->clock, PERF_EVENT_IOC_PERIOD, &length);
    (void)ioctl(slot->clock, PERF_EVENT_IOC_REFRESH, 1);
    return;
  }
  const struct itimerspec once = {.it_value = {.tv_nsec = draw_length(slot, EACH_TICK_NS)}};
  (void)timer_settime(slot->timer, 0, &once, NULL);
}

static int signal_number(void) {
  return SIGRTMAX - SIGNAL_BEFORE_LAST;
}

/* A clock of this thread that ends once, with a signal to it; -1: it may not be had. */
static int open_clock(pid_t thread) {
  struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                       .size = sizeof attributes,
                                       .config = PERF_COUNT_SW_TASK_CLOCK,
                                       .sample_period = EACH_NS,
                                       .disabled = 1,
                                       .exclude_hv = 1,
                                       .wakeup_events = 1};
  const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = thread};
  int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  attributes.exclude_kernel = fd < 0; /* all that a user may have (perf_event_paranoid 2) */
  if (fd < 0) fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return -1;
  if (fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, signal_number()) == 0 &&
      fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC) == 0)
    return fd;
  (void)close(fd);
  return -1;
}

static bool open_timer(struct slot *slot, pid_t thread) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal_number()};
  event._sigev_un._tid = thread;
  return timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &slot->timer) == 0;
}

/* A program may have closed it, and have something else under that number. */
static bool is_clock(int fd) {
  static const char mark[] = "anon_inode:[perf_event]";
  char path[40], target[sizeof mark + 8];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return readlink(path, target, sizeof target) == (ssize_t)sizeof mark - 1 && memcmp(target, mark, sizeof mark - 1) == 0;
}

static void close_slot(struct slot *slot) {
  own_slot = NULL;
  if (slot->clock < 0) (void)timer_delete(slot->timer);
  else if (is_clock(slot->clock)) (void)close(slot->clock);
  atomic_store(&slot->taken, false);
}

/* The timer of the thread that calls; it goes with the thread. */
static void watch_this_thread(void) {
  const pid_t thread = (pid_t)syscall(SYS_gettid);
  struct slot *slot = slots;
  while (slot < slots + SLOTS && atomic_exchange(&slot->taken, true)) slot++;
  if (slot == slots + SLOTS) return;
  slot->last_ns = own_time();
  slot->random = (uint64_t)thread * UINT64_C(0x9e3779b97f4a7c15) + 1;
  slot->clock = open_clock(thread);
  if (slot->clock < 0 && !open_timer(slot, thread)) {
    atomic_store(&slot->taken, false);
    return;
  }
  if (pthread_setspecific(key, slot) != 0) {
    close_slot(slot);
    return;
  }
  own_slot = slot;
  arm(slot);
}

static void leave_thread(void *context) {
  close_slot(context);
}

/* --- where the library lies --- */

/* A number in base 16 at `at`, which it passes. */
static uintptr_t read_hex(const char **at) {
  uintptr_t value = 0;
  for (;; (*at)++) {
    unsigned digit = **at >= '0' && **at <= '9' ? (unsigned)(**at - '0') : **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a' + 10) : 16;
    if (digit == 16) return value;
    value = value << 4 | digit;
  }
}

/* Is a line of /proc/self/maps code of it? "7f..-7f.. r-xp 0000 08:01 123  /lib/libx.so" */
static bool read_line(char *line, uintptr_t *ret_from, uintptr_t *ret_to) {
  const char *at = line;
  *ret_from = read_hex(&at);
  if (*at++ != '-') return false;
  *ret_to = read_hex(&at);
  if (at[0] != ' ' || strlen(at) < 6 || at[3] != 'x') return false;
  for (int field = 0; field < 4; field++) { /* rights, offset, device, inode */
    at += strspn(at, " ");
    at += strcspn(at, " ");
  }
  at += strspn(at, " ");
  char *gone = strstr(line, " (deleted)");
  if (gone != NULL) *gone = 0;
  const char *slash = strrchr(at, '/'), *last = slash != NULL ? slash + 1 : at;
  if (strcmp(name, "[anonymous]") == 0) return at[0] == 0 || strncmp(at, "[anon:", 6) == 0;
  size_t n = strlen(name); /* libz.so.1 is mapped as libz.so.1.2.13 */
  return strncmp(last, name, n) == 0 && (last[n] == 0 || last[n] == '.' || last[n] == '-');
}

/* By system calls alone, since a signal handler does it. One thread at a time. */
static void find_library(void) {
  static char text[MAPS_BYTES];
  struct ranges *next = &both[atomic_load(&current) == &both[0]];
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  size_t kept = 0;
  next->n = 0;
  for (ssize_t n = 1; fd >= 0 && n > 0;) {
    n = read(fd, text + kept, sizeof text - 1 - kept);
    size_t length = kept + (n > 0 ? (size_t)n : 0), at = 0;
    text[length] = 0;
    for (char *end; next->n < RANGES && (end = memchr(text + at, '\n', length - at)) != NULL; at = (size_t)(end - text) + 1) {
      *end = 0;
      next->n += read_line(text + at, &next->at[next->n].from, &next->at[next->n].to);
    }
    kept = length - at < sizeof text / 2 && next->n < RANGES ? length - at : 0;
    memmove(text, text + at, kept);
  }
  if (fd >= 0) (void)close(fd);
  atomic_store(&current, next);
  if (next->n > 0) atomic_store(&counters[COUNT_FOUND], 1);
}

/* Libraries come while a program runs. */
static void look_for_library(void) {
  static atomic_flag busy = ATOMIC_FLAG_INIT;
  static _Atomic(int64_t) due_ns;
  struct timespec t;
  if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return;
  int64_t now = (int64_t)t.tv_sec * SECOND + t.tv_nsec;
  if (now < atomic_load(&due_ns) || atomic_flag_test_and_set(&busy)) return;
  find_library();
  atomic_store(&due_ns, now + (atomic_load(&current)->n > 0 ? 2 * SECOND : SECOND / 5));
  atomic_flag_clear(&busy);
}

/* --- a look --- */

/* In the thread whose time it is; the signal is held back while it runs, and the timer begins again behind it: what is added counts as
 * nobody's. */
static void look(int number, siginfo_t *info, void *context) {
  int saved = errno;
  struct slot *slot = own_slot;
  (void)number;
  if (slot == NULL || over || (info->si_code != SI_TIMER && info->si_code <= 0)) return; /* sent by a program */
  look_for_library();
  /* A clock that does not end in the kernel ends later, by another length: what was computed there is nobody's here. */
  int64_t now = own_time(), passed = now - slot->last_ns < MOST_NS ? now - slot->last_ns : MOST_NS,
          since = slot->clock >= 0 && slot->length_ns < passed ? slot->length_ns : passed;
  if (is_inside(instruction(context))) {
    double share = amount != NULL ? *amount : 0;
    int64_t until = now + (share > 0 && share <= 10 ? (int64_t)(share * (double)since) : 0), after = now;
    while (after < until) after = own_time();
    atomic_fetch_add(&counters[COUNT_LOOKS], 1);
    atomic_fetch_add(&counters[COUNT_OWN_NS], since);
    atomic_fetch_add(&counters[COUNT_ADDED_NS], after - now);
  }
  slot->last_ns = own_time();
  arm(slot);
  errno = saved;
}

/* --- the process --- */

static void *map_file(const char *last, int flags, size_t size, int protection) {
  char path[400];
  (void)snprintf(path, sizeof path, "%s/%s", folder, last);
  int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return NULL;
  bool good = (flags & O_CREAT) == 0 || ftruncate(fd, (off_t)size) == 0;
  void *at = good ? mmap(NULL, size, protection, MAP_SHARED, fd, 0) : MAP_FAILED;
  (void)close(fd);
  return at != MAP_FAILED ? at : NULL;
}

static void begin_process(void) {
  char last[24];
  (void)snprintf(last, sizeof last, "%ld", (long)getpid());
  void *own = map_file(last, O_RDWR | O_CREAT, COUNTERS * sizeof *counters, PROT_READ | PROT_WRITE);
  counters = own != NULL ? own : nowhere;
  atomic_store(&counters[COUNT_VERSION], 1);
  atomic_store(&counters[COUNT_FOUND], atomic_load(&current)->n > 0); /* a child's is where its parent's was */
  watch_this_thread();
}

/* Timers are not inherited, and threads neither. Clocks are, as numbers that stay open: which of them the program closed is not known. */
static void begin_child(void) {
  memset(slots, 0, sizeof slots);
  own_slot = NULL;
  begin_process();
}

__attribute__((constructor)) static void begin(void) {
  const char *wanted = getenv("LYNXBENCH_SLOW_LIBRARY"), *bar = wanted != NULL ? strchr(wanted, '|') : NULL;
  struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  (void)sigfillset(&action.sa_mask); /* who jumps out of a handler does not jump out of a look */
  *(void **)&next_create = dlsym(RTLD_NEXT, "pthread_create");
  *(void **)&next_action = dlsym(RTLD_NEXT, "sigaction");
  if (bar == NULL || (size_t)(bar - wanted) >= sizeof folder || strlen(bar + 1) >= sizeof name || next_create == NULL ||
      next_action == NULL)
    return;
  (void)snprintf(folder, sizeof folder, "%.*s", (int)(bar - wanted), wanted);
  (void)snprintf(name, sizeof name, "%s", bar + 1);
  amount = map_file("amount", O_RDONLY, sizeof *amount, PROT_READ);
  if (amount == NULL || pthread_key_create(&key, leave_thread) != 0 || next_action(signal_number(), &action, NULL) != 0) return;
  ready = true;
  begin_process();
  (void)pthread_atfork(NULL, NULL, begin_child);
}

/* --- the program's own view of the signal --- */

static void stop_all(void) {
  const struct itimerspec never = {.it_value = {.tv_sec = 0}};
  over = true;
  for (struct slot *slot = slots; slot < slots + SLOTS; slot++) {
    if (!atomic_load(&slot->taken)) continue;
    if (slot->clock < 0) (void)timer_settime(slot->timer, 0, &never, NULL);
    else if (is_clock(slot->clock)) (void)ioctl(slot->clock, PERF_EVENT_IOC_DISABLE, 0);
  }
}

/* Who resets all signals would die of ours; who handles this one wants it for himself: then nothing is slowed any more. */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old) {
  if (next_action == NULL) *(void **)&next_action = dlsym(RTLD_NEXT, "sigaction");
  if (ready && !over && number == signal_number() && action != NULL) {
    bool plain = (action->sa_flags & SA_SIGINFO) == 0 && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
    if (plain && old != NULL) *old = (struct sigaction){.sa_handler = SIG_DFL};
    if (plain) return 0;
    stop_all();
  }
  return next_action(number, action, old);
}

__attribute__((visibility("default"))) sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  return sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/* --- new threads --- */

struct start {
  void *(*run)(void *);
  void *context;
};

static void *run_watched(void *context) {
  const struct start start = *(struct start *)context;
  free(context);
  watch_this_thread();
  return start.run(start.context);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *ret, const pthread_attr_t *how, void *(*run)(void *), void *context) {
  if (next_create == NULL) *(void **)&next_create = dlsym(RTLD_NEXT, "pthread_create");
  struct start *start = ready ? malloc(sizeof *start) : NULL;
  if (start == NULL) return next_create(ret, how, run, context);
  *start = (struct start){run, context};
  int error = next_create(ret, how, run_watched, start);
  if (error != 0) free(start);
  return error;
}
