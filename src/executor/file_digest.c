#include "executor/file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/root.h"

enum { CHUNK = 1 << 20, CACHE_MAX = 16 << 20 };

/* Device, inode, size, mtime, ctime: what a line of the cache begins with. */
static void identity(const struct stat *info, char *text, size_t size) {
  (void)snprintf(text, size, "%llx %llx %lld %lld.%09ld %lld.%09ld ", (unsigned long long)info->st_dev, (unsigned long long)info->st_ino,
                 (long long)info->st_size, (long long)info->st_mtim.tv_sec, info->st_mtim.tv_nsec, (long long)info->st_ctim.tv_sec,
                 info->st_ctim.tv_nsec);
}

static bool cache_path(char *path, size_t size, bool make) {
  const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (base == NULL || base[0] != '/') {
    if (home == NULL || home[0] != '/') return false;
    (void)snprintf(path, size, "%.3000s/.cache", home);
  } else (void)snprintf(path, size, "%.3000s", base);
  if (make) (void)mkdir(path, 0700);
  (void)snprintf(path + strlen(path), size - strlen(path), "/lynxbench");
  if (make) (void)mkdir(path, 0700);
  (void)snprintf(path + strlen(path), size - strlen(path), "/digests");
  return true;
}

static bool recall(const char *line, char ret[DIGEST_HEX]) {
  char path[4096];
  struct buffer text;
  bool found = false;
  if (!cache_path(path, sizeof path, false)) return false;
  buffer_init(&text, CACHE_MAX);
  if (root_read(&(struct root){""}, path, &text, NULL) == LYNX_OK)
    for (const char *at = text.data; at != NULL && (at = strstr(at, line)) != NULL && !found; at++) {
      const char *hex = at + strlen(line);
      found = (at == text.data || at[-1] == '\n') && strspn(hex, "0123456789abcdef") == DIGEST_HEX - 1 && hex[DIGEST_HEX - 1] == '\n';
      if (found) (void)snprintf(ret, DIGEST_HEX, "%.64s", hex);
    }
  buffer_release(&text);
  return found;
}

/* One write at the end of the file: two that do it at once do not mix. A cache that cannot be written costs time only. */
static void remember(const char *line, const char *hex) {
  char path[4096], whole[400];
  if (!cache_path(path, sizeof path, true)) return;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  int n = snprintf(whole, sizeof whole, "%s%s\n", line, hex);
  ssize_t written = write(fd, whole, (size_t)n);
  (void)written; /* a torn line is not recalled */
  (void)close(fd);
}

static bool compute(int fd, struct digest *digest) {
  char *chunk = malloc(CHUNK);
  ssize_t n = chunk != NULL ? 1 : -1;
  while (n > 0) {
    n = read(fd, chunk, CHUNK);
    if (n < 0 && errno == EINTR) n = 1;
    else if (n > 0) digest_update(digest, chunk, (size_t)n);
  }
  free(chunk);
  return n == 0;
}

static bool take_digest(const char *path, int64_t *budget, bool again, char ret[DIGEST_HEX]) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  char line[300];
  bool good = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (good) {
    identity(&info, line, sizeof line);
    if (again || !recall(line, ret)) {
      struct digest digest = {{0}};
      uint8_t result[DIGEST_BYTES];
      struct stat after;
      good = info.st_size <= *budget;
      if (good) *budget -= info.st_size;
      digest_init(&digest);
      good = good && compute(fd, &digest);
      digest_final(&digest, result);
      digest_hex(result, ret);
      /* A file that is written to while it is read has no digest. */
      good = good && fstat(fd, &after) == 0 && after.st_size == info.st_size && after.st_mtim.tv_sec == info.st_mtim.tv_sec &&
             after.st_mtim.tv_nsec == info.st_mtim.tv_nsec;
      if (good) remember(line, ret);
    }
  }
  if (fd >= 0) (void)close(fd);
  return good;
}

bool file_digest(const char *path, int64_t *budget, char ret[DIGEST_HEX]) {
  return take_digest(path, budget, false, ret);
}

bool file_digest_again(const char *path, int64_t *budget, char ret[DIGEST_HEX]) {
  return take_digest(path, budget, true, ret);
}

void digest_leaf_of(const void *data, size_t length, struct digest_leaf *ret) {
  struct digest digest = {{0}};
  digest_init(&digest);
  digest_update(&digest, "\0", 1);
  digest_update(&digest, data, length);
  digest_final(&digest, ret->hash);
}

void digest_tree(const struct digest_leaf *leaves, size_t n, uint8_t ret[DIGEST_BYTES]) {
  struct digest digest = {{0}};
  digest_init(&digest);
  if (n == 1) {
    memcpy(ret, leaves[0].hash, DIGEST_BYTES);
    return;
  }
  if (n > 1) {
    uint8_t left[DIGEST_BYTES], right[DIGEST_BYTES];
    size_t k = 1;
    while (2 * k < n) k *= 2; /* the greatest power of two below n */
    digest_tree(leaves, k, left);
    digest_tree(leaves + k, n - k, right);
    digest_update(&digest, "\1", 1);
    digest_update(&digest, left, sizeof left);
    digest_update(&digest, right, sizeof right);
  }
  digest_final(&digest, ret);
}
