/* tests/fuzz/file.h: an input as a file, for readers that open one by its name. It lies in memory, and is gone with the process. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_path[64];

static inline void fuzz_file_remove(void) {
  (void)unlink(fuzz_path);
}

/* NULL: it cannot be written. */
static inline const char *fuzz_file(const void *data, size_t size) {
  if (fuzz_path[0] == 0) {
    (void)snprintf(fuzz_path, sizeof fuzz_path, "%s/lynx-fuzz-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    (void)atexit(fuzz_file_remove);
  }
  int fd = open(fuzz_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool good = fd >= 0 && write(fd, data, size) == (ssize_t)size;
  if (fd >= 0) (void)close(fd);
  return good ? fuzz_path : NULL;
}

#endif
