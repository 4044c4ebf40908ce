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
#include "base/file.h"

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

/* --- as whom a process's files are opened --- */

enum { GROUPS_MAX = 256 };

struct who {
  uid_t user;
  gid_t group, groups[GROUPS_MAX];
  size_t n_groups;
};

/* By which a process opens files: the fourth of the numbers of Uid and Gid. */
static bool who_is(const char *process, struct who *ret) {
  char path[80], line[8192];
  unsigned user, group;
  int seen = 0;
  (void)snprintf(path, sizeof path, "%.60s/status", process);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  *ret = (struct who){.n_groups = 0};
  while (fgets(line, sizeof line, file) != NULL) {
    char *rest = line + strlen("Groups:");
    if (sscanf(line, "Uid: %*u %*u %*u %u", &user) == 1) ret->user = user, seen++;
    if (sscanf(line, "Gid: %*u %*u %*u %u", &group) == 1) ret->group = group, seen++;
    if (strncmp(line, "Groups:", strlen("Groups:")) != 0) continue;
    for (char *end; ret->n_groups < GROUPS_MAX; rest = end) {
      unsigned long id = strtoul(rest, &end, 10);
      if (end == rest) break;
      ret->groups[ret->n_groups++] = (gid_t)id;
    }
  }
  (void)fclose(file); /* it was read */
  return seen == 2;
}

/* Of this thread alone: the library's calls would change them all. */
static bool become(const struct who *who) {
  if (syscall(SYS_setgroups, who->n_groups, who->groups) != 0) return false;
  (void)syscall(SYS_setfsgid, who->group);
  (void)syscall(SYS_setfsuid, who->user);
  return (uid_t)syscall(SYS_setfsuid, (uid_t)-1) == who->user && (gid_t)syscall(SYS_setfsgid, (gid_t)-1) == who->group;
}

static bool ourselves(struct who *ret) {
  *ret = (struct who){.user = geteuid(), .group = getegid()};
  int n = getgroups(GROUPS_MAX, ret->groups);
  ret->n_groups = n > 0 ? (size_t)n : 0;
  return n >= 0;
}

/* Root reads on behalf of a process what that process may read, and no more: it may have named any file as its own. */
static int open_as(const char *process, int directory, const char *path) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_IN_ROOT};
  struct who own, other;
  bool privileged = geteuid() == 0 && process != NULL;
  errno = EACCES;
  if (privileged && (!ourselves(&own) || !who_is(process, &other))) return -1;
  bool changes = privileged && other.user != 0;
  bool good = !changes || become(&other);
  int fd = good ? (int)syscall(SYS_openat2, directory, path, &how, sizeof how) : -1, reason = good ? errno : EACCES;
  bool back = !changes || become(&own);
  lynx_assert(back);
  errno = reason;
  return fd;
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
  char process[40]; /* "/proc/42" */
  (void)snprintf(process, sizeof process, "%.*s", (int)(inner - strlen("/root")), path);
  int fd = open_as(root->path[0] == 0 ? process : NULL, directory, at + 1), reason = errno;
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

static enum lynx_status read_all(int fd, const char *path, struct buffer *ret, struct lynx_error *error) {
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
  if (status == LYNX_OK && ret->data == NULL) (void)buffer_append(ret, "", 0);
  return status;
}

/* plain: a file alone. Else a pipe that was named on purpose is waited for. */
static enum lynx_status read_path(const struct root *root, const char *path, bool plain, struct buffer *ret, struct lynx_error *error) {
  struct stat info = {.st_mode = 0};
  enum lynx_status status;
  int fd = root_open(root, path);
  if (fd < 0) {
    status = errno == ENOENT || errno == ENOTDIR ? LYNX_NOT_FOUND : LYNX_IO;
    lynx_error_at(error, path, 0, NULL);
    return lynx_fail(error, status, "%s", strerror(errno));
  }
  bool known = fstat(fd, &info) == 0;
  if (plain && !(known && S_ISREG(info.st_mode))) {
    lynx_error_at(error, path, 0, NULL);
    status = lynx_fail(error, LYNX_INPUT, "is no file");
  } else {
    bool pipe = known && S_ISFIFO(info.st_mode), comes = !pipe || file_wait_for_first_byte(fd);
    if (!comes) lynx_error_at(error, path, 0, NULL);
    if (pipe) (void)fcntl(fd, F_SETFL, 0);
    status = comes ? read_all(fd, path, ret, error) : lynx_fail(error, LYNX_IO, "%s", file_error_text(errno));
  }
  (void)close(fd); /* only read from: nothing can be lost */
  return status;
}

enum lynx_status root_read(const struct root *root, const char *path, struct buffer *ret, struct lynx_error *error) {
  return read_path(root, path, false, ret, error);
}

enum lynx_status root_read_file(const struct root *root, const char *path, struct buffer *ret, struct lynx_error *error) {
  return read_path(root, path, true, ret, error);
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
  return root_list_ending(root, path, "", limit, visit, context);
}

bool root_list_ending(const struct root *root, const char *path, const char *ending, size_t limit, void (*visit)(void *, const char *),
                      void *context) {
  int fd = root_open(root, path);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  if (dir == NULL && fd >= 0) (void)close(fd);
  if (dir == NULL) return false;
  char **names = NULL;
  size_t n = 0;
  for (struct dirent *entry; n < limit && (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.' || !text_ends_with(entry->d_name, ending)) continue;
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
