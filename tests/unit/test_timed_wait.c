/* Waits with a deadline: which of them are sleeps; by numbers, and by threads of this process that really wait. */
#include "telemetry/timed_wait.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"

struct waiter {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  int64_t wait_ns;
  atomic_long thread;
  atomic_bool done;
};

static void *wait_again(void *context) {
  struct waiter *w = context;
  atomic_store(&w->thread, syscall(SYS_gettid));
  (void)pthread_mutex_lock(&w->mutex);
  while (!atomic_load(&w->done)) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += w->wait_ns % 1000000000;
    until.tv_sec += w->wait_ns / 1000000000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&w->condition, &w->mutex, &until);
  }
  (void)pthread_mutex_unlock(&w->mutex);
  return NULL;
}

static bool read_call(long thread, char line[256]) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", thread);
  FILE *file = fopen(path, "re");
  bool good = file != NULL && fgets(line, 256, file) != NULL;
  if (file != NULL) (void)fclose(file);
  return good;
}

/* Looks at irregular times; wakes: somebody ends each wait long before its deadline. */
static struct timed_wait watch(int64_t wait_ns, bool wakes) {
  struct waiter w = {.wait_ns = wait_ns};
  struct timed_wait seen = {0};
  pthread_condattr_t attributes;
  pthread_t thread;
  char line[256];
  (void)pthread_condattr_init(&attributes);
  (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  (void)pthread_mutex_init(&w.mutex, NULL);
  (void)pthread_cond_init(&w.condition, &attributes);
  CHECK_INT(pthread_create(&thread, NULL, wait_again, &w), 0);
  for (int i = 0; i < 60; i++) {
    const struct timespec step = {.tv_nsec = 7000000 + (i * 7919 % 13) * 1000000};
    (void)nanosleep(&step, NULL);
    if (read_call(atomic_load(&w.thread), line)) {
      double left = timed_wait_left_ns(getpid(), line);
      if (!isnan(left)) timed_wait_add(&seen, left);
    }
    if (wakes) (void)pthread_cond_signal(&w.condition);
  }
  atomic_store(&w.done, true);
  (void)pthread_cond_signal(&w.condition);
  (void)pthread_join(thread, NULL);
  (void)pthread_cond_destroy(&w.condition);
  (void)pthread_mutex_destroy(&w.mutex);
  (void)pthread_condattr_destroy(&attributes);
  return seen;
}

int main(void) {
  struct timed_wait even = {0}, woken = {0}, python = {0}, few = {0};
  for (int i = 0; i < 100; i++) {
    timed_wait_add(&even, 5e5 * i);
    timed_wait_add(&woken, 1e9 - 1e6 * (i % 20));
    timed_wait_add(&python, 5e4 * i);
  }
  for (int i = 0; i < 7; i++) timed_wait_add(&few, 1e7 * i);
  CHECK(timed_wait_is_sleep(&even));
  CHECK(!timed_wait_is_sleep(&woken));
  CHECK(!timed_wait_is_sleep(&python)); /* CPython's own interval */
  CHECK(!timed_wait_is_sleep(&few));
  CHECK(isnan(timed_wait_left_ns(getpid(), "running")));
  CHECK(isnan(timed_wait_left_ns(getpid(), "7 0x0 0x89 0x0 0x0 0x0")));
  CHECK(isnan(timed_wait_left_ns(getpid(), "202 0x0 0x89 0x0 0x10 0x0"))); /* nothing lies there */
  char line[256];
  if (!read_call(syscall(SYS_gettid), line)) {
    (void)puts("skipped: the kernel does not say in which call a thread is (CONFIG_HAVE_ARCH_TRACEHOOK)");
    return check_end();
  }
  struct timed_wait slept = watch(40000000, false), waked = watch(2000000000, true);
  CHECK(slept.n >= 20 && slept.most_ns <= 4e7);
  CHECK(timed_wait_is_sleep(&slept));
  CHECK(waked.n >= 20 && waked.most_ns > 1e9);
  CHECK(!timed_wait_is_sleep(&waked));
  return check_end();
}
