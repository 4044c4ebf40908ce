#include "base/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"

char *root_path(const struct root *root, const char *path, char *text, size_t size) {
  (void)snprintf(text, size, "%s%s", root->path, path);
  return text;
}

/* "/proc/42/root/etc/x" -> the length of "/proc/42/root"; 0 if it is no such path. */
static size_t process_root(const char *path) {
  if (strncmp(path, "/proc/", 6) != 0) return 0;
  size_t n = 6 + strspn(path + 6, "0123456789");
  return n > 6 && strncmp(path + n, "/root/", 6) == 0 ? n + 5 : 0;
}

int root_open(const struct root *root, const char *path) {
  char full[4096];
  size_t inner = process_root(path);
  root_path(root, path, full, sizeof full);
  if (inner == 0) return open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  /* What a link means there, it means in that root: not in ours, where it could name any file that we may read. And only plain files
   * are read: the process may have put a pipe in its place. */
  char *at = full + strlen(root->path) + inner;
  *at = 0;
  int directory = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_IN_ROOT};
  int fd = (int)syscall(SYS_openat2, directory, at + 1, &how, sizeof how), reason = errno;
  (void)close(directory);
  struct stat info;
  if (fd >= 0 && (fstat(fd, &info) != 0 || (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))) {
    (void)close(fd);
    fd = -1;
    reason = EINVAL;
  }
  errno = reason;
  return fd;
}

enum lynx_status root_read(const struct root *root, const char *path, struct buffer *ret, struct lynx_error *error) {
  int fd = root_open(root, path);
  if (fd < 0) {
    enum lynx_status status = errno == ENOENT || errno == ENOTDIR ? LYNX_NOT_FOUND : LYNX_IO;
    lynx_error_at(error, path, 0, NULL);
    return lynx_fail(error, status, "%s", strerror(errno));
  }
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode)) (void)fcntl(fd, F_SETFL, 0); /* a pipe that was named on purpose is waited for */
  enum lynx_status status = LYNX_OK;
  char chunk[16384];
  for (;;) {
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      lynx_error_at(error, path, 0, NULL);
      status = lynx_fail(error, LYNX_IO, "%s", strerror(errno));
    }
    if (n <= 0) break;
    if (!buffer_append(ret, chunk, (size_t)n)) {
      lynx_error_at(error, path, 0, NULL);
      status = lynx_fail(error, LYNX_LIMIT, "larger than %zu bytes", ret->limit);
      break;
    }
  }
  (void)close(fd); /* only read from: nothing can be lost */
  if (status == LYNX_OK && ret->data == NULL) (void)buffer_append(ret, "", 0);
  return status;
}

bool root_read_line(const struct root *root, const char *path, char *text, size_t size) {
  struct buffer whole;
  buffer_init(&whole, 65536);
  bool good = root_read(root, path, &whole, NULL) == LYNX_OK;
  if (good) {
    size_t length = strcspn(whole.data, "\n");
    text_sanitise(text, size, whole.data, length < whole.length ? length : whole.length);
  }
  buffer_release(&whole);
  return good;
}

bool root_read_link(const struct root *root, const char *path, char *text, size_t size) {
  char full[4096];
  ssize_t n = readlink(root_path(root, path, full, sizeof full), text, size - 1);
  if (n < 0) return false;
  text[n] = 0;
  return true;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

bool root_list(const struct root *root, const char *path, size_t limit, void (*visit)(void *, const char *), void *context) {
  int fd = root_open(root, path);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  if (dir == NULL && fd >= 0) (void)close(fd);
  if (dir == NULL) return false;
  char **names = NULL;
  size_t n = 0;
  for (struct dirent *entry; n < limit && (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    if (n % 64 == 0) names = xgrow(names, n + 64, sizeof *names);
    names[n++] = xcopy(entry->d_name);
  }
  (void)closedir(dir);
  if (n > 0) qsort(names, n, sizeof *names, compare_names);
  for (size_t i = 0; i < n; i++) {
    visit(context, names[i]);
    free(names[i]);
  }
  free(names);
  return true;
}
