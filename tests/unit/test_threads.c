#include <stdio.h>
#include <string.h>

#include "telemetry/process_tree.h"
#include "telemetry/sampler.h"
#include "tests/machine.h"

extern const struct sampler sampler_threads, sampler_neighbours;

/* state, then 50 numbers that stat has after it; user, system and processor at their places. */
static void put_stat(const char *path, const char *name, int pid, char state, int user, int system_ticks, int processor) {
  char text[600];
  int n = snprintf(text, sizeof text, "%d (%s) %c", pid, name, state);
  for (int field = 4; field <= 52; field++)
    n += snprintf(text + n, sizeof text - (size_t)n, " %d", field == 14 ? user : field == 15 ? system_ticks : field == 39 ? processor : 1);
  put(path, text);
}

struct seen {
  int n_names, n_activities, n_values;
  struct thread_activity last;
  char name[64], program[64], series[100];
  int64_t n_processors;
  double value;
};

static void see_value(void *context, const char *series, double value) {
  struct seen *s = context;
  s->n_values++;
  (void)snprintf(s->series, sizeof s->series, "%s", series);
  s->value = value;
}

static void see_name(void *context, const struct thread_name *name) {
  struct seen *s = context;
  s->n_names++;
  (void)snprintf(s->name, sizeof s->name, "%s", name->name);
  (void)snprintf(s->program, sizeof s->program, "%s", name->program);
  s->n_processors = name->n_processors;
}

static void see_activity(void *context, const struct thread_activity *activity) {
  struct seen *s = context;
  s->n_activities++;
  s->last = *activity;
}

/* Process 10 started 20; 20's second thread runs, waits for a lock, then in a call that only its place names. */
static void check_threads(const struct root *root) {
  struct seen seen = {.n_names = 0};
  const struct sampler_sink sink = {&seen, see_value, see_name, see_activity};
  void *state;
  put("/proc/10/task/10/children", "20 ");
  put("/proc/10/task/10/schedstat", "5000 0 1\n");
  put_stat("/proc/10/stat", "api", 10, 'S', 1, 1, 0);
  put("/proc/20/task/20/schedstat", "7000 0 1\n");
  put_stat("/proc/20/stat", "engine) S (x", 20, 'S', 1, 1, 0);
  put("/proc/20/task/21/schedstat", "1000000000 200000000 9\n");
  put("/proc/20/maps", "7f0000000000-7f0000001000 r--p 00000000 08:01 7 /usr/lib/libgomp-a34b.so.1.0.0\n"
                       "7f0000001000-7f0000002000 r-xp 00001000 08:01 7 /usr/lib/libgomp-a34b.so.1.0.0\n");
  put_stat("/proc/20/task/21/stat", "pool\n1", 21, 'R', 100, 10, 1);
  put("/proc/20/task/21/status", "Name:\tpool\nCpus_allowed_list:\t0-3,7\nvoluntary_ctxt_switches:\t1\n");
  CHECK(sampler_threads.open(root, &state));
  sampler_threads.watch(state, 10);
  sampler_threads.sample(state, 1000000000, &sink);
  CHECK_INT(seen.n_activities, 0); /* nothing to compare with yet */
  put("/proc/20/task/21/schedstat", "1300000000 300000000 12\n");
  sampler_threads.sample(state, 2000000000, &sink);
  CHECK_INT(seen.n_names, 1);
  CHECK_TEXT(seen.program, "engine) S (x");
  CHECK_TEXT(seen.name, "pool?1");
  CHECK_INT(seen.n_processors, 5);
  CHECK_INT(seen.n_activities, 1);
  CHECK_INT(seen.last.thread, 21);
  CHECK_INT(seen.last.process, 20);
  CHECK_INT(seen.last.running_ns, 300000000);
  CHECK_INT(seen.last.ready_ns, 100000000);
  CHECK_INT(seen.last.span_ns, 1000000000);
  CHECK_INT(seen.last.system_ns, 0);                /* since when is not known yet */
  put("/proc/20/task/21/syscall", "202 0x0 0x0\n"); /* futex, as this architecture numbers it */
#if defined __x86_64__
  sampler_threads.look(state);
#endif
  put("/proc/20/task/21/syscall", "202 0x0 0x0 0x7ffc10 0x7f0000001200\n"); /* in a pool's code: for work, not for a lock */
#if defined __x86_64__
  sampler_threads.look(state);
#endif
  put("/proc/20/task/21/syscall", "9999 0x0 0x0\n");
  put("/proc/20/task/21/wchan", "hrtimer_nanosleep");
  sampler_threads.look(state);
  put("/proc/20/task/21/syscall", "running\n");
  sampler_threads.look(state);
  put_stat("/proc/20/task/21/stat", "pool", 21, 'S', 100, 15, 1);
  put("/proc/20/task/21/schedstat", "1400000000 300000000 12\n");
  sampler_threads.sample(state, 3000000000, &sink);
#if defined __x86_64__
  CHECK_INT(seen.last.looks[WAIT_LOCK], 1);
  CHECK_INT(seen.last.looks[WAIT_OTHER], 1);
#endif
  CHECK_INT(seen.last.looks[WAIT_TIMER], 1);
  CHECK(seen.last.system_ns > 0 && seen.last.system_ns <= seen.last.running_ns);
  put("/proc/20/task/21/schedstat", "7 7 7\n"); /* another thread of the same number: it begins again */
  int before = seen.n_activities;
  sampler_threads.sample(state, 4000000000, &sink);
  CHECK_INT(seen.n_activities, before);
  put("/proc/20/task/21/schedstat", "garbage\n");
  sampler_threads.sample(state, 5000000000, &sink);
  CHECK_INT(seen.n_activities, before);
  sampler_threads.close(state);
}

static void check_neighbours(const struct root *root) {
  struct seen seen = {.n_names = 0};
  const struct sampler_sink sink = {&seen, see_value, see_name, see_activity};
  void *state;
  put_stat("/proc/99/stat", "postgres", 99, 'R', 100, 0, 0);
  CHECK(sampler_neighbours.open(root, &state));
  sampler_neighbours.watch(state, 10);
  sampler_neighbours.sample(state, 1000000000, &sink);
  put_stat("/proc/99/stat", "postgres", 99, 'R', 150, 0, 0);
  put_stat("/proc/20/stat", "engine", 20, 'R', 9000, 0, 0); /* one of its own is no neighbour */
  sampler_neighbours.sample(state, 2000000000, &sink);
  CHECK_INT(seen.n_values, 1);
  CHECK_TEXT(seen.series, "neighbour.postgres.99");
  CHECK(seen.value > 0.1 && seen.value < 5); /* 50 ticks in a second */
  sampler_neighbours.close(state);
}

int main(void) {
  machine_begin();
  const struct root root = {top};
  check_threads(&root);
  check_neighbours(&root);
  machine_end();
  return check_end();
}
