#include "history/timetable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

enum { LOG_MAX = 64 << 20 };

/* Whatever stands there meanwhile: a pipe is not waited for. */
static enum lynx_status read_log(const char *path, struct buffer *ret, struct lynx_error *error) {
  char chunk[16384];
  struct stat info;
  ssize_t n = 0;
  enum lynx_status status = LYNX_OK;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  lynx_error_at(error, path, 0, NULL);
  if (fd < 0) return lynx_fail(error, errno == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "%s", strerror(errno));
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) status = lynx_fail(error, LYNX_INPUT, "is no file");
  while (status == LYNX_OK && ((n = read(fd, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR)))
    if (n > 0 && !buffer_append(ret, chunk, (size_t)n)) status = lynx_fail(error, LYNX_LIMIT, "larger than %zu bytes", ret->limit);
  if (status == LYNX_OK && n < 0) status = lynx_fail(error, LYNX_IO, "%s", strerror(errno));
  (void)close(fd); /* only read from */
  return status;
}

enum lynx_status timetable_file_read(const char *path, struct timetable_log *ret, struct lynx_error *error) {
  struct buffer text;
  buffer_init(&text, LOG_MAX);
  enum lynx_status status = read_log(path, &text, error);
  bool any = status == LYNX_OK && text.data != NULL;
  timetable_log_read((struct bytes){any ? text.data : "", any ? text.length : 0}, clock_realtime_s(&clock_system), ret);
  buffer_release(&text);
  return status;
}
