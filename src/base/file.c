#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/random.h"

enum { PATH_BYTES = 4200 };

bool file_write_all(int fd, const void *data, size_t length) {
  for (const char *p = data; length > 0;) {
    ssize_t n = write(fd, p, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    length -= (size_t)n;
  }
  return true;
}

bool file_wait_for_first_byte(int fd) {
  struct stat info;
  struct pollfd wait = {.fd = fd, .events = POLLIN};
  if (fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return true;
  int n = 0;
  while ((n = poll(&wait, 1, FILE_WAIT_S * 1000)) < 0 && errno == EINTR)
    ;
  if (n == 0) errno = ETIMEDOUT;
  return n > 0;
}

static int leave_with(int fd, int reason) {
  (void)close(fd); /* nothing was written or read */
  errno = reason;
  return -1;
}

int file_open_to_read(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  struct stat info;
  if (!file_wait_for_first_byte(fd)) return leave_with(fd, ETIMEDOUT);
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd; /* never waited for, but where the kernel makes it (/proc/kmsg) */
  return fcntl(fd, F_SETFL, 0) == 0 ? fd : leave_with(fd, errno);
}

size_t file_head(const char *path, void *ret, size_t size) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0) return 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  ssize_t n = fd >= 0 ? read(fd, ret, size) : 0;
  if (fd >= 0) (void)close(fd); /* only read */
  return n > 0 ? (size_t)n : 0;
}

int file_open_to_write(const char *path) {
  const struct timespec look = {.tv_nsec = 50000000};
  int fd = -1;
  for (int k = 0; k < FILE_WAIT_S * 20 && fd < 0; k++) {
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno != ENXIO) return -1; /* ENXIO: nobody reads it yet */
    if (fd < 0) (void)nanosleep(&look, NULL);
  }
  if (fd < 0) {
    errno = ETIMEDOUT;
    return -1;
  }
  return fcntl(fd, F_SETFL, 0) == 0 ? fd : leave_with(fd, errno);
}

const char *file_error_text(int code) {
  return code == ETIMEDOUT ? "a pipe that nobody uses at its other end; it was waited for 10 s" : strerror(code);
}

bool file_temporary_name(const char *path, char *ret, size_t size) {
  uint8_t random[8];
  char hex[2 * sizeof random + 1];
  if (!random_salt(random, sizeof random)) return false;
  int n = snprintf(ret, size, "%s.%s.tmp", path, hex_encode(random, sizeof random, hex));
  return n > 0 && (size_t)n < size;
}

/* Into a file that is not there yet, of the owner of another; NULL: of this process. Half of it is taken away again. */
static int create(const char *path, unsigned mode, const struct stat *as, const void *data, size_t length) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return errno;
  bool owned = as == NULL || fchown(fd, as->st_uid, as->st_gid) == 0; /* who may not give it away keeps it */
  if (as != NULL && owned) (void)fchmod(fd, mode);
  int why = file_write_all(fd, data, length) && fsync(fd) == 0 ? 0 : errno;
  if (close(fd) != 0 && why == 0) why = errno;
  if (why != 0) (void)unlink(path);
  return why;
}

static int replace(const char *path, unsigned mode, const struct stat *as, const void *data, size_t length) {
  char temporary[PATH_BYTES];
  if (!file_temporary_name(path, temporary, sizeof temporary)) return ENAMETOOLONG;
  int why = create(temporary, mode, as, data, length);
  if (why != 0) return why;
  if (rename(temporary, path) == 0) return 0;
  why = errno;
  (void)unlink(temporary);
  return why;
}

int file_replace(const char *path, const void *data, size_t length) {
  struct stat info;
  bool there = lstat(path, &info) == 0 && S_ISREG(info.st_mode); /* who could not read it cannot now, and who could still can */
  return replace(path, there ? info.st_mode & 0777 : 0644, there ? &info : NULL, data, length);
}

int file_replace_private(const char *path, const void *data, size_t length) {
  return replace(path, 0600, NULL, data, length);
}

int file_create_private(const char *path, const void *data, size_t length) {
  return create(path, 0600, NULL, data, length);
}

void file_make_parents(const char *path, unsigned mode) {
  char part[PATH_BYTES];
  size_t n = strlen(path);
  if (n >= sizeof part) return;
  memcpy(part, path, n + 1);
  for (char *p = part + 1; n > 0 && *p != 0; p++) {
    if (*p != '/') continue;
    *p = 0;
    (void)mkdir(part, mode);
    *p = '/';
  }
}
