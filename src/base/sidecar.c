#include "base/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffixes[] = {"-journal", "-wal"};

/* Its name; false where nothing is there, not even a link. */
static bool is_beside(const char *path, const char *suffix, char name[PATH_MAX + 8], struct stat *info) {
  int n = snprintf(name, PATH_MAX + 8, "%s%s", path, suffix);
  return n > 0 && n < PATH_MAX + 8 && lstat(name, info) == 0;
}

enum lynx_status sidecar_refuse_all(const char *path, const char *next, struct lynx_error *error) {
  char name[PATH_MAX + 8];
  struct stat info;
  for (size_t i = 0; i < LYNX_COUNT(suffixes); i++) {
    if (!is_beside(path, suffixes[i], name, &info)) continue;
    lynx_error_at(error, path, 0, NULL);
    return lynx_fail(error, LYNX_INPUT,
                     "found %.200s beside it, which would change it, or other files, when it is opened; accepted: the file alone. %s", name,
                     next);
  }
  return LYNX_OK;
}

enum lynx_status sidecar_refuse_journal(const char *path, struct lynx_error *error) {
  char name[PATH_MAX + 8];
  struct stat info;
  if (!is_beside(path, suffixes[0], name, &info)) return LYNX_OK;
  lynx_error_at(error, path, 0, NULL);
  return lynx_fail(error, LYNX_INPUT,
                   "found %.200s beside it: lynxbench never makes one there, and opening it could delete other files. Accepted: none; "
                   "look where it comes from, and take it away",
                   name);
}

/* Whether SQLite could find a page in it. Source: «Database File Format», 4.1 (the WAL's header) */
static bool holds_pages(const char *name, off_t length) {
  enum { HEADER = 32, MAGIC = 4 };
  static const unsigned char magic[MAGIC] = {0x37, 0x7f, 0x06, 0x82}; /* the last bit: the order of bytes in its sums */
  unsigned char begin[MAGIC];
  if (length <= HEADER) return false;
  int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  bool known = fd >= 0 && pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof begin;
  if (fd >= 0) (void)close(fd);
  if (known) begin[MAGIC - 1] &= 0xfe;
  return !known || memcmp(begin, magic, sizeof begin) == 0;
}

enum sidecar_log sidecar_log_of(const char *path) {
  char log[PATH_MAX + 8], name[PATH_MAX + 8];
  struct stat info, of_index;
  if (!is_beside(path, "-wal", log, &info)) return SIDECAR_LOG_NONE;
  if (!S_ISREG(info.st_mode)) return SIDECAR_LOG_STRANGE;
  if (!holds_pages(log, info.st_size)) return SIDECAR_LOG_NONE;
  bool index = is_beside(path, "-shm", name, &of_index) && S_ISREG(of_index.st_mode);
  return index ? SIDECAR_LOG_SHARED : SIDECAR_LOG_ALONE;
}

void sidecar_uri(const char *path, const char *query, char *ret, size_t size) {
  size_t used = (size_t)snprintf(ret, size, "file:");
  for (const char *p = path; *p != 0 && used + 40 < size; p++) {
    bool plain = strchr("?#%", *p) == NULL;
    used += (size_t)snprintf(ret + used, size - used, plain ? "%c" : "%%%02X", (unsigned char)*p);
  }
  (void)snprintf(ret + used, size - used, "?%s", query);
}

/* The last bytes of a journal that names another one. */
static bool names_others(const char *name, off_t length) {
  static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  unsigned char end[8];
  if (length < (off_t)sizeof end) return false;
  int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  bool known = fd >= 0 && pread(fd, end, sizeof end, length - (off_t)sizeof end) == (ssize_t)sizeof end;
  if (fd >= 0) (void)close(fd);
  return !known || memcmp(end, magic, sizeof end) == 0;
}

enum lynx_status sidecar_check_own(const char *path, struct lynx_error *error) {
  char name[PATH_MAX + 8];
  struct stat info;
  for (size_t i = 0; i < LYNX_COUNT(suffixes); i++) {
    if (!is_beside(path, suffixes[i], name, &info)) continue;
    lynx_error_at(error, path, 0, NULL);
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid())
      return lynx_fail(error, LYNX_INPUT, "found %.200s, which is no plain file of this user; accepted: what a run of this user left",
                       name);
    if (i == 0 && names_others(name, info.st_size))
      return lynx_fail(error, LYNX_INPUT,
                       "found %.200s, a journal that names other files, which would be deleted; a run leaves no such thing", name);
  }
  return LYNX_OK;
}
