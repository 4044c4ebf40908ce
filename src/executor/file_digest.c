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
#define HOLES_FROM (INT64_C(1) << 30)

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
    for (const char *at = text.data; at != NULL && (at = strstr(at, line)) != NULL; at++) { /* the last one was computed last */
      const char *hex = at + strlen(line);
      if ((at != text.data && at[-1] != '\n') || strspn(hex, "0123456789abcdef") != DIGEST_HEX - 1 || hex[DIGEST_HEX - 1] != '\n') continue;
      (void)snprintf(ret, DIGEST_HEX, "%.64s", hex);
      found = true;
    }
  buffer_release(&text);
  return found;
}

/* One write at the end of the file: two that do it at once do not mix. A cache that cannot be written costs time only. */
static void remember(const char *line, const char *hex) {
  char path[4096], whole[400];
  if (!cache_path(path, sizeof path, true)) return;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat info;
  if (fd < 0) return;
  if (fstat(fd, &info) == 0 && info.st_size > CACHE_MAX / 2) (void)!ftruncate(fd, 0); /* begun anew before it is too large to be read */
  int n = snprintf(whole, sizeof whole, "%s%s\n", line, hex);
  ssize_t written = write(fd, whole, (size_t)n);
  (void)written; /* a torn line is not recalled */
  (void)close(fd);
}

/* Weights do not compress: what lies on the disk in less than an eighth of its length has holes, whose zeros would be hashed for hours. */
static bool has_holes(const struct stat *info) {
  return info->st_size > HOLES_FROM && (int64_t)info->st_blocks * 512 < info->st_size / 8;
}

/* Exactly as much as the file was said to hold: one that grows meanwhile is not read for ever. */
static bool compute(int fd, int64_t size, struct digest *digest) {
  char *chunk = malloc(CHUNK);
  int64_t left = chunk != NULL ? size : 1;
  for (off_t at = 0; chunk != NULL && left > 0;) {
    ssize_t n = pread(fd, chunk, left < CHUNK ? (size_t)left : CHUNK, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    digest_update(digest, chunk, (size_t)n);
    at += n;
    left -= n;
  }
  free(chunk);
  return left == 0;
}

bool file_digest(int fd, int64_t *budget, char ret[DIGEST_HEX]) {
  struct stat info;
  char line[300];
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  identity(&info, line, sizeof line);
  if (recall(line, ret)) return true;
  if (info.st_size > *budget) return false;
  *budget -= info.st_size;
  return file_digest_anew(fd, ret);
}

bool file_digest_anew(int fd, char ret[DIGEST_HEX]) {
  struct stat info, after;
  char line[300], known[DIGEST_HEX];
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || has_holes(&info)) return false;
  identity(&info, line, sizeof line);
  struct digest digest = {{0}};
  uint8_t result[DIGEST_BYTES];
  digest_init(&digest);
  bool good = compute(fd, info.st_size, &digest);
  digest_final(&digest, result);
  digest_hex(result, ret);
  /* A file that is written to while it is read has no digest. */
  good = good && fstat(fd, &after) == 0 && after.st_size == info.st_size && after.st_mtim.tv_sec == info.st_mtim.tv_sec &&
         after.st_mtim.tv_nsec == info.st_mtim.tv_nsec;
  if (good && (!recall(line, known) || strcmp(known, ret) != 0)) remember(line, ret);
  return good;
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
