#include "cli/trace_files.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/output.h"

struct reading {
  pthread_mutex_t lock;
  int64_t bytes, began_ns, told_ns;
  int64_t done[TRACES_MAX];
  size_t n;
  bool terminal;
};

struct reading_one {
  struct reading *all;
  size_t index;
};

static bool show_progress(void *context, int64_t done) {
  const struct reading_one *one = context;
  struct reading *r = one->all;
  int64_t now = clock_now(&clock_system), sum = 0;
  (void)pthread_mutex_lock(&r->lock);
  r->done[one->index] = done;
  if (now - r->told_ns >= (r->terminal ? 200000000 : 5000000000)) {
    for (size_t i = 0; i < r->n; i++) sum += r->done[i];
    double rate = (double)sum * 1e9 / (double)(now - r->began_ns);
    r->told_ns = now;
    complain("%sread %.0f of %.0f MB, %.0f MB/s, %.0f s left", r->terminal ? text_colors[TEXT_ERASE_LINE] : "", (double)sum / 1e6,
             (double)r->bytes / 1e6, rate / 1e6, rate > 0 ? (double)(r->bytes - sum) / rate : 0);
    if (!r->terminal) complain("\n");
    (void)fflush(stderr);
  }
  (void)pthread_mutex_unlock(&r->lock);
  return true;
}

static enum lynx_status open_trace(const char *path, struct trace_source *ret, int64_t *ret_bytes, struct lynx_error *error) {
  struct stat info;
  int descriptor = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : file_open_to_read(path);
  if (descriptor < 0 || fstat(descriptor, &info) != 0)
    return lynx_fail(error, errno == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "cannot be read: %s", file_error_text(errno));
  *ret_bytes = (int64_t)info.st_size;
  if (!S_ISDIR(info.st_mode)) return trace_source_file(descriptor, S_ISREG(info.st_mode) ? path : NULL, ret, error);
  (void)close(descriptor);
  return lynx_fail(error, LYNX_INPUT, "a directory; accepted: a trace, or several");
}

bool trace_files_add(struct attribution *attribution, const char *const *paths, size_t n, bool quiet) {
  struct lynx_error error = {0};
  struct trace_source sources[TRACES_MAX] = {{.context = NULL}};
  struct attribution_input inputs[TRACES_MAX];
  struct reading_one ones[TRACES_MAX];
  struct reading reading = {
      .lock = PTHREAD_MUTEX_INITIALIZER, .terminal = isatty(STDERR_FILENO) == 1, .began_ns = clock_now(&clock_system), .n = n};
  size_t opened = 0, failed = 0;
  enum lynx_status status = LYNX_OK;
  reading.told_ns = reading.began_ns;
  for (; opened < n; opened++) {
    int64_t bytes = 0;
    failed = opened;
    status = open_trace(paths[opened], &sources[opened], &bytes, &error);
    if (status != LYNX_OK) break;
    reading.bytes += bytes;
    ones[opened] = (struct reading_one){&reading, opened};
    inputs[opened] = (struct attribution_input){.path = paths[opened],
                                                .source = &sources[opened],
                                                .bytes = bytes,
                                                .progress = quiet ? NULL : show_progress,
                                                .context = &ones[opened]};
  }
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (status == LYNX_OK) status = attribution_add(attribution, inputs, n, processors > 0 ? (size_t)processors : 1, &failed, &error);
  for (size_t i = 0; i < opened; i++)
    if (sources[i].release != NULL) sources[i].release(sources[i].context);
  if (reading.told_ns != reading.began_ns && reading.terminal) complain("\r\033[K");
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, paths[failed], 0, NULL);
  (void)report_error(&error);
  return false;
}
