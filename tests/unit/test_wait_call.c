/* In which call a thread waits: by threads of this process that really do, and what a goroutine's list says of a program without one. */
#include "telemetry/wait_call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "telemetry/unwound.h"
#include "tests/machine.h"

static const struct root here = {""};

struct waiter {
  atomic_long thread;
  int fd;
  bool polls;
};

static void *wait_once(void *context) {
  struct waiter *w = context;
  struct epoll_event event = {.events = EPOLLIN};
  char byte;
  int set = epoll_create1(EPOLL_CLOEXEC);
  (void)epoll_ctl(set, EPOLL_CTL_ADD, w->fd, &event);
  atomic_store(&w->thread, syscall(SYS_gettid));
  if (w->polls) (void)epoll_wait(set, &event, 1, 20000);
  else (void)!read(w->fd, &byte, 1);
  (void)close(set);
  return NULL;
}

static bool waits(struct waiter *w, struct wait_call *ret) {
  const struct timespec step = {.tv_nsec = 5000000};
  for (int i = 0; i < 2000; i++) {
    long thread = atomic_load(&w->thread);
    if (thread != 0 && wait_call_read(&here, getpid(), thread, ret) && ret->waits) return true;
    (void)nanosleep(&step, NULL);
  }
  return false;
}

static void check_read(void) {
  int ends[2];
  struct wait_call call;
  struct stack_copy copy;
  pthread_t thread;
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  struct waiter w = {.fd = ends[0]};
  CHECK_INT(pthread_create(&thread, NULL, wait_once, &w), 0);
  CHECK(waits(&w, &call));
  CHECK_INT(call.number, SYS_read);
  CHECK_INT(wait_kind_of_call(call.number), WAIT_OTHER);
  CHECK_INT(wait_kind_of_file(&here, getpid(), call.number, call.arguments[0]), WAIT_NETWORK);
  CHECK_INT(wait_call_poll_ms(&call), -1);
  CHECK(stack_copy_read(&copy, getpid(), call.stack) && copy.n_bytes >= 2 * sizeof(uint64_t));
  CHECK(!stack_copy_read(&copy, getpid(), 16)); /* nothing is there */
  CHECK_INT(write(ends[1], "x", 1), 1);
  (void)pthread_join(thread, NULL);
  (void)close(ends[0]);
  (void)close(ends[1]);
}

static void check_poll(void) {
  int ends[2];
  struct wait_call call;
  pthread_t thread;
  CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  struct waiter w = {.fd = ends[0], .polls = true};
  CHECK_INT(pthread_create(&thread, NULL, wait_once, &w), 0);
  CHECK(waits(&w, &call));
  CHECK_INT(wait_kind_of_call(call.number), WAIT_NETWORK);
  CHECK_INT(wait_call_poll_ms(&call), 20000);
  CHECK_INT(write(ends[1], "x", 1), 1);
  (void)pthread_join(thread, NULL);
  (void)close(ends[0]);
  (void)close(ends[1]);
  CHECK(!wait_call_read(&here, getpid(), atomic_load(&w.thread), &call)); /* it is gone */
}

/* As the kernel writes it: numbers of the machine that made the file do not matter here. */
static void check_words(void) {
  struct wait_call call;
  machine_begin();
  const struct root root = {top};
  put("/proc/20/task/21/syscall", "running\n");
  CHECK(wait_call_read(&root, 20, 21, &call) && !call.waits);
  put("/proc/20/task/21/syscall", "-1 0x7ffc 0x7f00\n");
  CHECK(wait_call_read(&root, 20, 21, &call) && !call.waits);
  put("/proc/20/task/21/syscall", "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffc 0x7f00\n");
  CHECK(wait_call_read(&root, 20, 21, &call) && call.waits);
  CHECK_INT(call.number, 202);
  CHECK_INT(call.arguments[5], 6);
  CHECK_INT(call.stack, 0x7ffc);
  CHECK_INT(call.address, 0x7f00);
  CHECK_INT(wait_kind_of_file(&root, 20, SYS_read, 7), WAIT_OTHER); /* no such descriptor */
  CHECK_INT(wait_kind_of_file(&root, 20, SYS_read, UINT64_MAX), WAIT_OTHER);
  machine_end();
}

int main(void) {
  check_words();
  check_read();
  check_poll();
  return check_end();
}
