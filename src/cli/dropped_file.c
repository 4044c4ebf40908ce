#include "cli/dropped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "cli/output.h"

enum { FIELD = 4300, SAID_MAX = 64 << 10, LINE_MAX_BYTES = 700 };

struct dropping {
  const char *folder;
  const atomic_int *stop;
  char file[FIELD], page[FIELD], said[FIELD], imported[FIELD];
  int64_t until_ns;
};

static bool copy_to(const char *path, int from) {
  struct stat info;
  off_t at = 0;
  int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool good = to >= 0 && fstat(from, &info) == 0;
  while (good && at < info.st_size) {
    ssize_t n = sendfile(to, from, &at, (size_t)(info.st_size - at));
    good = n > 0 || (n < 0 && errno == EINTR);
  }
  if (to >= 0) good = close(to) == 0 && good;
  return good;
}

/* The exit code; 127: it took too long. */
static int try(const struct dropping *d, const char *const *arguments) {
  static const char *const environment[] = {"PATH=/usr/bin:/bin", "LYNXBENCH_MEMORY_AT_MOST=" DROPPED_MEMORY, NULL};
  struct child child = {.pid = 0};
  struct lynx_error error = {0};
  int64_t left = d->until_ns - clock_now(&clock_system);
  (void)unlink(d->said);
  const struct child_request request = {.arguments = arguments, .environment = environment, .output_path = d->said};
  if (left <= 0 || child_start(&child, &request, &error) != LYNX_OK) return 127;
  bool ended = child_wait(&child, left, d->stop);
  int code = ended ? child.exit_code : 127;
  child_stop(&child, 0);
  return code;
}

/* Text in which the copy's place is called what it is to a reader. */
static bool put_renamed(const struct dropping *d, const char *text, size_t length, struct buffer *ret) {
  const char *names[] = {d->imported, d->file};
  bool good = true;
  for (const char *at = text, *end = text + length; at < end && good;) {
    const char *next = memmem(at, (size_t)(end - at), d->folder, strlen(d->folder));
    good = buffer_append(ret, at, (size_t)((next != NULL ? next : end) - at));
    at = next != NULL ? next : end;
    size_t n = 0;
    for (size_t i = 0; i < LYNX_COUNT(names) && n == 0 && at < end; i++)
      if (strncmp(at, names[i], strlen(names[i])) == 0) n = strlen(names[i]);
    if (at < end) good = good && buffer_text(ret, n > 0 ? "the file" : "(here)");
    at += n > 0 ? n : at < end ? strlen(d->folder) : 0;
  }
  return good;
}

static bool take_page(const struct dropping *d, struct buffer *ret) {
  struct buffer text;
  struct stat info;
  if (stat(d->page, &info) != 0 || info.st_size == 0 || !read_file(d->page, PAGE_BYTES_MAX, &text)) return false;
  bool good = put_renamed(d, text.data, text.length, ret);
  buffer_release(&text);
  return good;
}

/* The first line of what was said. */
static void add_reason(const struct dropping *d, const char *as, int code, struct buffer *ret) {
  static const char program[] = "lynxbench: ";
  struct buffer text;
  (void)buffer_printf(ret, "As %s: ", as);
  if (code != 127 && read_file(d->said, SAID_MAX, &text)) {
    const char *said = text.length > 0 ? text.data : "";
    if (strncmp(said, program, strlen(program)) == 0) said += strlen(program);
    size_t n = strcspn(said, "\n");
    (void)put_renamed(d, said, n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES, ret);
    buffer_release(&text);
  } else (void)buffer_text(ret, "it took too long.");
  (void)buffer_text(ret, "\n");
}

enum looked_kind dropped_file_look(const char *folder, int fd, const atomic_int *stop, struct buffer *ret_inside, struct buffer *ret_why) {
  struct dropping d = {.folder = folder, .stop = stop, .until_ns = clock_now(&clock_system) + (int64_t)DROPPED_S * 1000000000};
  enum looked_kind kind = LOOKED_UNKNOWN;
  int code = 0;
  (void)snprintf(d.file, sizeof d.file, "%.4200s/dropped", folder);
  (void)snprintf(d.page, sizeof d.page, "%.4200s/dropped.html", folder);
  (void)snprintf(d.said, sizeof d.said, "%.4200s/dropped.said", folder);
  (void)snprintf(d.imported, sizeof d.imported, "%.4200s/dropped.lynx", folder);
  const char *const report[] = {"/proc/self/exe", "show", d.file, "--inside", "--html", d.page, NULL};
  const char *const attribute[] = {"/proc/self/exe", "attribute", d.file, "--inside", "--html", d.page, "--quiet", NULL};
  const char *const import[] = {"/proc/self/exe", "import", d.file, "--out", d.imported, NULL};
  const char *const imported[] = {"/proc/self/exe", "show", d.imported, "--inside", "--html", d.page, NULL};
  if (access(folder, W_OK | X_OK) != 0) (void)buffer_text(ret_why, "The server's temporary folder is gone: it must be started again.\n");
  else if (!copy_to(d.file, fd)) (void)buffer_text(ret_why, "There is no room for it here.\n");
  else if ((code = try(&d, report)) <= 1 && take_page(&d, ret_inside)) kind = LOOKED_BUNDLE;
  else {
    add_reason(&d, "a bundle", code, ret_why);
    if ((code = try(&d, attribute)) <= 3 && take_page(&d, ret_inside)) kind = LOOKED_TRACE;
    else {
      add_reason(&d, "a trace", code, ret_why);
      if ((code = try(&d, import)) <= 1 && try(&d, imported) <= 1 && take_page(&d, ret_inside)) kind = LOOKED_RESULT;
      else add_reason(&d, "another tool's result", code, ret_why);
    }
  }
  const char *const files[] = {d.file, d.page, d.said, d.imported};
  for (size_t i = 0; i < LYNX_COUNT(files); i++) (void)unlink(files[i]);
  return kind;
}
