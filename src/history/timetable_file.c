#include "history/timetable_file.h"

#include "base/clock.h"
#include "base/root.h"

enum { LOG_MAX = 64 << 20 };

enum lynx_status timetable_file_read(const char *path, struct timetable_log *ret, struct lynx_error *error) {
  static const struct root root = {""};
  struct buffer text;
  buffer_init(&text, LOG_MAX);
  enum lynx_status status = root_read_file(&root, path, &text, error); /* a pipe in its place is not waited for */
  bool any = status == LYNX_OK && text.data != NULL;
  timetable_log_read((struct bytes){any ? text.data : "", any ? text.length : 0}, clock_realtime_s(&clock_system), ret);
  buffer_release(&text);
  return status;
}
