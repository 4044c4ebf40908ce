/* Where the threads wait while they are not on a processor: the functions that are open in them, in native code as in Python's own.
 *
 * Source   /proc/PID/task/TID/syscall for the call, the stack pointer and the instruction; process_vm_readv for the stack above it. The
 *          same call at the same place before and after: else it did not wait all the while, and the look is void
 * Series   profile.go.processors: on how many a Go program runs at once, as it has set that itself
 * Rows     source "waits", as those of kept_stacks.h; the innermost frame is what it waits for: "lock ([kernel])", of an event loop with
 *          a timer that is due "poll 20 ms ([kernel])", of a goroutine (goroutines.h) "goroutine ([kernel])"
 * Frames   registers that are kept through the call are not known. The frame pointer is taken from the first pair on the stack that
 *          looks like one: a place further up, and an address of code behind it
 * Cost     its own processor time: where that comes to BUDGET of a processor, looks become rarer. Nothing is stopped
 * Rights   those of a debugger
 * Limits   x86-64: elsewhere a function that returns by a register would be lost. LOOKS_MAX threads at a look, in turn */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/random.h"
#include "telemetry/goroutines.h"
#include "telemetry/kept_stacks.h"
#include "telemetry/mappings.h"
#include "telemetry/process_tree.h"
#include "telemetry/profiler.h"
#include "telemetry/timed_wait.h"
#include "telemetry/wait_call.h"

enum {
  EVERY_NS = 80000000,
  LOOKS_MAX = 32,
  TREE_EVERY = 10 /* looks */,
  TIMED_MAX = 256,
  CODE_MAX = 8,
  POLL_MOST_MS = 1000,
  FRAME_MOST = 1 << 20
};

#define BUDGET 0.005 /* of a processor */

struct looked_thread {
  int64_t process, thread;
};

struct waiting {
  const struct root *root;
  int64_t pid;
  struct kept_stacks *kept;
  struct process_tree tree;
  struct looked_thread *threads;
  size_t n_threads, threads_room, next;
  struct timed_thread {
    int64_t thread;
    struct timed_wait wait;
  } timed[TIMED_MAX];
  size_t n_timed;
  struct process_code {
    int64_t process;
    struct mappings mappings;
  } code[CODE_MAX];
  size_t n_code;
  struct goroutines *goroutines;
  struct random_stream random;
  struct arena words;
  pthread_t looker;
  atomic_bool stop;
};

/* --- one look --- */

static const struct mappings *code_of(struct waiting *w, int64_t process) {
  for (size_t i = 0; i < w->n_code; i++)
    if (w->code[i].process == process) return &w->code[i].mappings;
  if (w->n_code == CODE_MAX) return NULL;
  w->code[w->n_code].process = process;
  mappings_read(w->root, process, &w->code[w->n_code].mappings);
  return &w->code[w->n_code++].mappings;
}

/* A place further up on the stack, and behind it an address of code. */
static uint64_t frame_of(struct waiting *w, int64_t process, const struct stack_copy *copy, uint64_t stack) {
  const struct mappings *code = code_of(w, process);
  uint64_t pair[2];
  for (size_t at = 0; code != NULL && at + sizeof pair <= copy->n_bytes; at += sizeof pair[0]) {
    memcpy(pair, copy->bytes + at, sizeof pair);
    if (pair[0] > stack + at && pair[0] - stack < FRAME_MOST && pair[0] % 16 == 0 && mappings_find(code, pair[1]) != NULL)
      return stack + at;
  }
  return 0;
}

/* A deadline in a futex at which it ends again and again is a timer. */
static bool is_sleep(struct waiting *w, const struct looked_thread *t, const struct wait_call *call) {
  double left_ns = timed_wait_left_ns(t->process, call->line);
  if (!(left_ns >= 0)) return false;
  size_t i = 0;
  while (i < w->n_timed && w->timed[i].thread != t->thread) i++;
  if (i == TIMED_MAX) return false;
  if (i == w->n_timed) w->timed[w->n_timed++] = (struct timed_thread){.thread = t->thread};
  timed_wait_add(&w->timed[i].wait, left_ns);
  return timed_wait_is_sleep(&w->timed[i].wait);
}

static const char *doing_text(struct waiting *w, const struct looked_thread *t, const struct wait_call *call) {
  enum wait_kind kind = wait_kind_of_call(call->number);
  int64_t ms = wait_call_poll_ms(call);
  if (kind == WAIT_OTHER) kind = wait_kind_of_file(w->root, t->process, call->number, call->arguments[0]);
  if (kind == WAIT_OTHER) {
    char path[128], line[256];
    (void)snprintf(path, sizeof path, "/proc/%lld/task/%lld/wchan", (long long)t->process, (long long)t->thread);
    if (root_read_line(w->root, path, line, sizeof line)) kind = wait_kind_of_place(line);
  }
  if (kind == WAIT_LOCK && is_sleep(w, t, call)) kind = WAIT_TIMER;
  return ms > 0 && ms <= POLL_MOST_MS ? arena_printf(&w->words, "poll %lld ms", (long long)ms) : wait_kind_text(kind);
}

static void look_at(struct waiting *w, const struct looked_thread *t) {
  static _Thread_local struct stack_copy copy;
  struct wait_call before, after;
  if (!wait_call_read(w->root, t->process, t->thread, &before) || !before.waits) return;
  if (!stack_copy_read(&copy, t->process, before.stack) || !wait_call_read(w->root, t->process, t->thread, &after) || !after.waits) return;
  if (memcmp(before.arguments, after.arguments, sizeof before.arguments) != 0 || before.number != after.number ||
      before.stack != after.stack || before.address != after.address)
    return;
  copy.thread = (uint32_t)t->thread;
  unwound_set_registers(&copy, before.stack, before.address, frame_of(w, t->process, &copy, before.stack));
  struct stack_copy *kept = kept_stacks_next(w->kept, (uint32_t)t->process, doing_text(w, t, &before));
  if (kept != NULL) *kept = copy;
}

/* --- all of them --- */

struct listing {
  struct waiting *waiting;
  int64_t process;
};

static void take_thread(void *context, const char *name) {
  struct listing *l = context;
  struct waiting *w = l->waiting;
  int64_t id;
  if (!number_int64(name, strlen(name), &id) || id <= 0 || id > INT32_MAX) return;
  w->threads = xroom(w->threads, w->n_threads, &w->threads_room, sizeof *w->threads);
  w->threads[w->n_threads++] = (struct looked_thread){l->process, id};
}

static void list_threads(struct waiting *w) {
  process_tree_read(w->root, w->pid, &w->tree);
  w->n_threads = 0;
  for (size_t i = 0; i < w->tree.n; i++) {
    struct listing listing = {w, w->tree.pids[i]};
    process_threads(w->root, listing.process, take_thread, &listing);
    goroutines_find(w->goroutines, w->root, listing.process);
  }
}

static void look_at_some(struct waiting *w) {
  size_t n = w->n_threads < LOOKS_MAX ? w->n_threads : LOOKS_MAX;
  for (size_t i = 0; i < n; i++) look_at(w, &w->threads[w->next++ % w->n_threads]);
}

static double seconds(clockid_t clock) {
  struct timespec t = {.tv_sec = 0};
  (void)clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *look_main(void *context) {
  struct waiting *w = context;
  double began = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_THREAD_CPUTIME_ID);
  for (int k = 0; !atomic_load(&w->stop); k++) {
    /* at random, so that what is regular is met at all of its moments */
    const struct timespec step = {.tv_nsec = (long)(EVERY_NS / 2 + random_below(&w->random, EVERY_NS))};
    (void)nanosleep(&step, NULL);
    if (seconds(CLOCK_THREAD_CPUTIME_ID) - used > BUDGET * (seconds(CLOCK_MONOTONIC) - began)) continue;
    if (k % TREE_EVERY == 0 || w->n_threads == 0) list_threads(w);
    if (w->n_threads > 0) look_at_some(w);
    goroutines_look(w->goroutines, w->kept);
  }
  return NULL;
}

static void waiting_release(struct waiting *w) {
  for (size_t i = 0; i < w->n_code; i++) mappings_release(&w->code[i].mappings);
  arena_release(&w->words);
  goroutines_free(w->goroutines);
  free(w->threads);
  free(w);
}

static bool waiting_begin(const struct profiler_request *request, void **ret_state, char *why, size_t size) {
  struct wait_call call;
#if !defined __x86_64__
  (void)snprintf(why, size, "where native code waits: stacks of threads that wait are read on x86-64 alone");
  return false;
#endif
  if (!wait_call_read(request->root, request->pid, request->pid, &call)) {
    (void)snprintf(why, size, "where native code waits: /proc/%lld/syscall may not be read; run as root, or with CAP_SYS_PTRACE",
                   (long long)request->pid);
    return false;
  }
  struct waiting *w = xalloc(1, sizeof *w);
  w->root = request->root;
  w->pid = request->pid;
  random_init(&w->random, 1, "looks at waits");
  w->goroutines = goroutines_new();
  w->kept = kept_stacks_new("waits", "where native code waits");
  if (pthread_create(&w->looker, NULL, look_main, w) == 0) {
    *ret_state = w;
    return true;
  }
  (void)snprintf(why, size, "where native code waits: no thread can be started");
  kept_stacks_finish(w->kept, w->root, &(const struct profiler_sink){.context = NULL});
  waiting_release(w);
  return false;
}

static void waiting_end(void *state, const struct profiler_sink *sink) {
  struct waiting *w = state;
  atomic_store(&w->stop, true);
  (void)pthread_join(w->looker, NULL);
  int64_t processors = goroutines_processors(w->goroutines);
  if (processors > 0) sink->value(sink->context, "profile.go.processors", (double)processors);
  kept_stacks_finish(w->kept, w->root, sink);
  waiting_release(w);
}

const struct profiler profiler_wait_stacks;
const struct profiler profiler_wait_stacks = {
    .name = "wait_stacks", .summary = "in which functions the threads wait, by /proc", .begin = waiting_begin, .end = waiting_end};
