#include "experiment/slowed_code.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { COUNTERS = 5, COUNTED_MAX = 100000 };

/* Generated from python/sitecustomize.py and preload/slow_library.c. */
extern const char slowed_function_module[];
extern const unsigned char slowed_library_object[];
extern const unsigned long slowed_library_object_size;

static bool write_file(const struct slowed_code *s, const char *name, const void *data, size_t length) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/%s", s->folder, name);
  return file_create_private(path, data, length) == 0;
}

/* "encode (/srv/app.py:188)" -> "encode|/srv/app.py|188"; "time.sleep in encode (...)" -> "time.sleep encode|..." */
static bool read_name(const char *named, char *ret, size_t size) {
  static const char sleeps[] = "time.sleep in ";
  const char *function = strncmp(named, sleeps, sizeof sleeps - 1) == 0 ? named + sizeof sleeps - 1 : named;
  const char *open = strstr(function, " ("), *close = strrchr(named, ')'), *colon = close;
  while (colon != NULL && colon > named && *colon != ':') colon--;
  if (strcmp(named, "time.sleep") == 0) {
    (void)snprintf(ret, size, "time.sleep||");
    return true;
  }
  if (open == NULL || close == NULL || colon <= open || colon >= close) return false;
  int n = snprintf(ret, size, "%s%.*s|%.*s|%.*s", function > named ? "time.sleep " : "", (int)(open - function), function,
                   (int)(colon - open - 2), open + 2, (int)(close - colon - 1), colon + 1);
  return n > 0 && (size_t)n < size;
}

static enum lynx_status open_folder(struct slowed_code *ret, struct lynx_error *error) {
  static const double none = 0;
  const char *temporary = getenv("TMPDIR");
  (void)snprintf(ret->folder, sizeof ret->folder, "%.200s/lynxbench-XXXXXX", temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
  if (mkdtemp(ret->folder) == NULL) {
    ret->folder[0] = 0;
    return lynx_fail(error, LYNX_IO, "no temporary folder can be made (TMPDIR)");
  }
  return write_file(ret, "amount", &none, sizeof none) ? LYNX_OK : lynx_fail(error, LYNX_IO, "nothing can be written to %s", ret->folder);
}

static enum lynx_status put_code(struct slowed_code *ret, const char *name, const void *data, size_t length, struct lynx_error *error) {
  if (write_file(ret, name, data, length)) return LYNX_OK;
  return lynx_fail(error, LYNX_IO, "nothing can be written to %s", ret->folder);
}

enum lynx_status slowed_function_open(const char *named, double locked, const char *path, struct slowed_code *ret,
                                      struct lynx_error *error) {
  *ret = (struct slowed_code){.folder = ""};
  if (!read_name(named, ret->slow, sizeof ret->slow))
    return lynx_fail(error, LYNX_INPUT, "found '%.200s'; accepted: a Python function as a finding names it: encode (/srv/app.py:188)",
                     named);
  enum lynx_status status = open_folder(ret, error);
  if (status == LYNX_OK) status = put_code(ret, "wanted", ret->slow, strlen(ret->slow), error);
  if (status == LYNX_OK) status = put_code(ret, "lock", &locked, sizeof locked, error);
  if (status == LYNX_OK) status = put_code(ret, "sitecustomize.py", slowed_function_module, strlen(slowed_function_module), error);
  ret->environment[0] = ret->path;
  (void)snprintf(ret->path, sizeof ret->path, "PYTHONPATH=%s%s%.4700s", ret->folder, path[0] != 0 ? ":" : "", path);
  if (status != LYNX_OK) slowed_code_close(ret);
  return status;
}

enum lynx_status slowed_library_open(const char *named, const char *preload, struct slowed_code *ret, struct lynx_error *error) {
  *ret = (struct slowed_code){.folder = ""};
  if (named[0] == 0 || strlen(named) >= 200 || strpbrk(named, "/|\n") != NULL)
    return lynx_fail(
        error, LYNX_INPUT,
        "found '%.200s'; accepted: the last part of a library's file, such as libtorch_cpu.so, or [anonymous] for code that was "
        "made at run time",
        named);
  if (strlen(preload) > 3900) return lynx_fail(error, LYNX_LIMIT, "LD_PRELOAD: found more than 3900 bytes");
  enum lynx_status status = open_folder(ret, error);
  if (status == LYNX_OK && strpbrk(ret->folder, " :|;\t\n") != NULL)
    status = lynx_fail(error, LYNX_INPUT, "TMPDIR: found %s; accepted: a path without blanks, colons and bars, as LD_PRELOAD takes it",
                       ret->folder);
  if (status == LYNX_OK) status = put_code(ret, "slow_library.so", slowed_library_object, slowed_library_object_size, error);
  ret->environment[0] = ret->slow;
  ret->environment[1] = ret->path;
  (void)snprintf(ret->slow, sizeof ret->slow, "LYNXBENCH_SLOW_LIBRARY=%s|%s", ret->folder, named);
  (void)snprintf(ret->path, sizeof ret->path, "LD_PRELOAD=%s/slow_library.so%s%.3900s", ret->folder, preload[0] != 0 ? ":" : "", preload);
  if (status != LYNX_OK) slowed_code_close(ret);
  return status;
}

/* The plain files of a folder, then the folder. */
static void remove_folder(const char *path) {
  DIR *files = opendir(path);
  for (const struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;)
    if (entry->d_name[0] != '.') (void)unlinkat(dirfd(files), entry->d_name, 0); /* what is no plain file stays, and the folder with it */
  if (files != NULL) (void)closedir(files);
  (void)rmdir(path);
}

void slowed_code_close(struct slowed_code *s) {
  char compiled[300];
  if (s->folder[0] == 0) return;
  (void)snprintf(compiled, sizeof compiled, "%s/__pycache__", s->folder);
  remove_folder(compiled);
  remove_folder(s->folder);
}

/* --- while it runs --- */

struct counting {
  const char *folder;
  struct slowed_counts sum;
};

static void add_process(void *context, const char *name) {
  struct counting *c = context;
  char path[400];
  int64_t counters[COUNTERS];
  if (name[0] < '1' || name[0] > '9') return;
  (void)snprintf(path, sizeof path, "%.260s/%.20s", c->folder, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  bool good = read(fd, counters, sizeof counters) == (ssize_t)sizeof counters && counters[0] == 1;
  (void)close(fd);
  if (!good) return;
  c->sum.found += counters[1] > 0 ? (double)counters[1] : 0;
  c->sum.gone += counters[1] < 0;
  c->sum.calls += (double)counters[2];
  c->sum.own_ns += (double)counters[3];
  c->sum.added_ns += (double)counters[4];
}

struct slowed_counts slowed_code_count(const char *folder) {
  struct counting c = {.folder = folder};
  static const struct root here = {""};
  (void)root_list(&here, folder, COUNTED_MAX, add_process, &c);
  return c.sum;
}

static bool set_amount(const char *folder, double amount) {
  char path[400];
  (void)snprintf(path, sizeof path, "%.260s/amount", folder);
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool good = write(fd, &amount, sizeof amount) == (ssize_t)sizeof amount;
  (void)close(fd);
  return good;
}

/* The executor is ours, and ends with us: there is nothing to undo. */
double slowed_code_hold(const char *folder, double slowness, const struct perturbing *request, int64_t until_ns) {
  struct slowed_counts before = slowed_code_count(folder);
  if (!set_amount(folder, slowness - 1)) return 1;
  (void)perturber_wait(request, until_ns);
  (void)set_amount(folder, 0);
  struct slowed_counts after = slowed_code_count(folder);
  double own = after.own_ns - before.own_ns, added = after.added_ns - before.added_ns;
  return own > 0 && added > 0 ? 1 + added / own : 1;
}
