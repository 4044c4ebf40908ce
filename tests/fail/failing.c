/* Preloaded into a program, makes the world fail on demand:
 *   LYNX_FAIL_MALLOC=n   the n-th allocation gives NULL
 *   LYNX_FAIL_WRITE=n    from the n-th write to a bundle or ledger (or its log) on, the disk is full
 *   LYNX_KILL_WRITE=n    the n-th such write does not return: the program is killed half way through it
 *   LYNX_FAIL_SYNC=n     the n-th fsync or fdatasync fails
 *   LYNX_FAIL_RENAME=n   the n-th rename fails
 *   LYNX_CLOCK_STEP=s    the wall clock jumps by s seconds when SIGUSR2 arrives
 *   LYNX_FAIL_COUNT=file how many allocations, such writes, syncs and renames there were, written at exit */
#undef _FILE_OFFSET_BITS /* pwrite and pwrite64 are two names here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static atomic_long n_malloc, n_write, n_sync, n_rename;
static int count_fd = -1;
static long fail_malloc = -1, fail_write = -1, kill_write = -1, fail_sync = -1, fail_rename = -1, step_s;
static volatile sig_atomic_t stepped;

static void step(int signal_number) {
  (void)signal_number;
  stepped = 1;
}

__attribute__((constructor)) static void begin(void) {
  const char *text;
  if ((text = getenv("LYNX_FAIL_MALLOC")) != NULL) fail_malloc = atol(text);
  if ((text = getenv("LYNX_FAIL_WRITE")) != NULL) fail_write = atol(text);
  if ((text = getenv("LYNX_KILL_WRITE")) != NULL) kill_write = atol(text);
  if ((text = getenv("LYNX_FAIL_SYNC")) != NULL) fail_sync = atol(text);
  if ((text = getenv("LYNX_FAIL_RENAME")) != NULL) fail_rename = atol(text);
  if ((text = getenv("LYNX_CLOCK_STEP")) != NULL) {
    step_s = atol(text);
    (void)signal(SIGUSR2, step);
  }
  if ((text = getenv("LYNX_FAIL_COUNT")) != NULL) count_fd = open(text, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* before any cage */
  atomic_store(&n_malloc, 0);
}

/* Of a command that reads in another process, the one with the most allocations counts: it is the one that reads. */
__attribute__((destructor)) static void end(void) {
  char line[100] = "";
  int fd = count_fd;
  if (fd < 0) return;
  if (pread(fd, line, sizeof line - 1, 0) > 0 && atol(line) > atomic_load(&n_malloc)) return;
  int n = snprintf(line, sizeof line, "%ld %ld %ld %ld\n", atomic_load(&n_malloc), atomic_load(&n_write), atomic_load(&n_sync),
                   atomic_load(&n_rename));
  if (ftruncate(fd, 0) != 0 || pwrite(fd, line, (size_t)n, 0) != n) abort();
}

static int out_of_memory(void) {
  return atomic_fetch_add(&n_malloc, 1) + 1 == fail_malloc;
}

__attribute__((visibility("default"))) void *malloc(size_t n) {
  return out_of_memory() ? NULL : __libc_malloc(n);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t m) {
  return out_of_memory() ? NULL : __libc_calloc(n, m);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n) {
  return out_of_memory() ? NULL : __libc_realloc(p, n);
}

/* A bundle, a ledger, or the log that SQLite keeps beside each. */
static int is_ours(int fd) {
  char link[64], path[512];
  if (snprintf(link, sizeof link, "/proc/self/fd/%d", fd) < 0) return 0;
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return (strstr(path, ".lynx") != NULL && strstr(path, ".log") == NULL) || strstr(path, ".ledger") != NULL;
}

static int disk_full(int fd, const void *data, size_t n, off_t at) {
  if (!is_ours(fd)) return 0;
  if (kill_write > 0 && atomic_load(&n_write) + 1 == kill_write) {
    if (lseek(fd, at, SEEK_SET) < 0 || write(fd, data, n / 2) < 0) abort(); /* half of it is there */
    (void)raise(SIGKILL);
  }
  if (fail_write < 0 || atomic_fetch_add(&n_write, 1) + 1 < fail_write) {
    if (fail_write < 0) atomic_fetch_add(&n_write, 1);
    return 0;
  }
  errno = ENOSPC;
  return 1;
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
  return disk_full(fd, data, n, (off_t)at) ? -1 : real(fd, data, n, at);
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
  return disk_full(fd, data, n, (off_t)at) ? -1 : real(fd, data, n, at);
}

static int input_output_error(atomic_long *n, long at) {
  if (atomic_fetch_add(n, 1) + 1 != at) return 0;
  errno = EIO;
  return 1;
}

__attribute__((visibility("default"))) int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fsync");
  return input_output_error(&n_sync, fail_sync) ? -1 : real(fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
  static int (*real)(int);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fdatasync");
  return input_output_error(&n_sync, fail_sync) ? -1 : real(fd);
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "rename");
  return input_output_error(&n_rename, fail_rename) ? -1 : real(from, to);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (stepped && id == CLOCK_REALTIME && result == 0) t->tv_sec += step_s;
  return result;
}
