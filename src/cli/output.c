#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/root.h"
#include "base/secret.h"

const struct exit_meaning exit_codes[] = {{0, "done, and it holds"},
                                          {1, "done, and it does not hold: claim refused, audit failed, executors differ"},
                                          {2, "the input or the usage is wrong"},
                                          {3, "inconclusive, or nothing was measured"},
                                          {4, "invalid conditions: disk full, instrument-limited, abort SLO"},
                                          {5, "the executor cannot be reached, or failed"},
                                          {70, "a bug in lynxbench, or out of memory"},
                                          {130, "interrupted; what was measured is sealed as incomplete"}};
const size_t n_exit_codes = LYNX_COUNT(exit_codes);

int report_error(const struct lynx_error *error) {
  char text[1100], safe[1100];
  lynx_error_text(error, text, sizeof text);
  (void)fprintf(stderr, "lynxbench: %s\n",
                secret_mask(text_sanitise(safe, sizeof safe, text, strlen(text)))); /* a server's words may be in it */
  switch (error->status) {
    case LYNX_MACHINE: return EXIT_CONDITIONS;
    case LYNX_PROTOCOL: return EXIT_EXECUTOR;
    default: return EXIT_WRONG_INPUT;
  }
}

bool read_file(const char *path, size_t limit, struct buffer *ret) {
  const struct root root = {""};
  struct lynx_error error = {0};
  buffer_init(ret, limit);
  enum lynx_status status = root_read(&root, strcmp(path, "-") == 0 ? "/dev/stdin" : path, ret, &error);
  if (status == LYNX_OK) return true;
  (void)snprintf(error.file, sizeof error.file, "%s", path);
  if (status == LYNX_LIMIT)
    (void)snprintf(error.message, sizeof error.message, "larger than the %zu bytes that such a file may have", limit);
  if (status == LYNX_NOT_FOUND) (void)snprintf(error.message, sizeof error.message, "there is no such file (from this folder)");
  (void)report_error(&error);
  buffer_release(ret);
  return false;
}

/* A device, a pipe or a link is written through, not replaced. */
static int write_through(const char *path, const char *data, size_t length) {
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0) return errno;
  int why = file_write_all(fd, data, length) ? 0 : errno;
  return close(fd) != 0 && why == 0 ? errno : why;
}

static int keeper = -1;

void output_through(int fd) {
  keeper = fd;
}

int output_to_file(const char *path, const char *data, size_t length, bool is_new) {
  struct stat info;
  if (is_new) return file_create_private(path, data, length);
  bool in_place = lstat(path, &info) == 0 && !S_ISREG(info.st_mode);
  return in_place ? write_through(path, data, length) : file_replace(path, data, length);
}

static int hand_over(const char *path, const char *data, size_t length) {
  struct output_message message = {.length = length};
  int why = 0;
  if (strlen(path) >= sizeof message.path) return ENAMETOOLONG;
  memcpy(message.path, path, strlen(path));
  if (!file_write_all(keeper, &message, sizeof message) || !file_write_all(keeper, data, length)) return errno;
  ssize_t got = read(keeper, &why, sizeof why);
  return got == sizeof why ? why : EIO;
}

static bool write_file(const char *path, const char *data, size_t length, bool is_new) {
  int why = keeper >= 0 ? hand_over(path, data, length) : output_to_file(path, data, length, is_new);
  if (why != 0) (void)fprintf(stderr, "lynxbench: %s: cannot be written: %s; name another file\n", path, strerror(why));
  return why == 0;
}

bool write_new_output(const char *path, const char *data, size_t length) {
  return write_file(path, data, length, true);
}

bool make_folder(char *path, size_t size) {
  const char *base = getenv("TMPDIR");
  (void)snprintf(path, size, "%.4000s/lynxbench-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
  if (mkdtemp(path) != NULL) return true;
  (void)fprintf(stderr, "lynxbench: %s: cannot be made: %s; TMPDIR names another folder\n", path, strerror(errno));
  path[0] = 0;
  return false;
}

bool file_is_record(const char *path) {
  char head[16] = "";
  struct stat info;
  FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "re") : NULL;
  size_t n = file != NULL ? fread(head, 1, sizeof head, file) : 0;
  if (file != NULL) (void)fclose(file); /* it was read */
  return n == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

bool write_output(const char *path, const char *data, size_t length) {
  if (path != NULL && strcmp(path, "-") != 0) return write_file(path, data, length, false);
  (void)fflush(stdout); /* what was printed before comes before; a failure shows in the next line */
  bool good = file_write_all(STDOUT_FILENO, data, length);
  if (!good && errno != EPIPE) (void)fprintf(stderr, "lynxbench: standard output: %s\n", strerror(errno));
  return good;
}

bool write_buffer(const char *path, const struct buffer *buffer) {
  if (!buffer->overflowed) return write_output(path, buffer->data != NULL ? buffer->data : "", buffer->length);
  (void)fprintf(stderr, "lynxbench: the output would pass %zu bytes, or there is no memory for it\n", buffer->limit);
  return false;
}

bool color_wanted(FILE *to) {
  const char *no = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");
  if (no != NULL && no[0] != 0) return false;
  if (force != NULL && strcmp(force, "0") != 0) return true;
  return isatty(fileno(to)) && term != NULL && strcmp(term, "dumb") != 0;
}

static const char *folder_of(const char *path, char folder[4200]) {
  const char *slash = strrchr(path, '/');
  (void)snprintf(folder, 4200, "%.*s", slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path), slash == NULL ? "." : path);
  return folder;
}

bool output_is_possible(const char *tool, const char *option, const char *path) {
  char folder[4200];
  struct stat info, own;
  if (path == NULL || strcmp(path, "-") == 0) return true;
  bool there = stat(path, &info) == 0, is_folder = path[0] == 0 || (there && S_ISDIR(info.st_mode));
  bool elsewhere = there && lstat(path, &own) == 0 && !S_ISREG(own.st_mode); /* a device, or a link */
  if (!is_folder && elsewhere && access(path, W_OK) == 0) return true;
  if (!is_folder && access(folder_of(path, folder), W_OK | X_OK) == 0) return true;
  (void)fprintf(stderr, "lynxbench %s: --%s: found '%s': %s%s%s; accepted: a file in a folder that can be written to\n", tool, option, path,
                is_folder ? "no file can have that name" : strerror(errno), is_folder ? "" : ": ", is_folder ? "" : folder);
  return false;
}

bool output_is_free(const char *tool, const char *path) {
  char folder[4200];
  struct stat info;
  (void)folder_of(path, folder);
  if (lstat(path, &info) == 0) {
    (void)fprintf(stderr,
                  "lynxbench %s: %s: %s, and is not overwritten (records are never overwritten): name another with --out FILE.lynx\n", tool,
                  path, S_ISDIR(info.st_mode) ? "it is a folder" : "the file exists");
    return false;
  }
  if (access(folder, W_OK | X_OK) == 0) return true;
  (void)fprintf(stderr, "lynxbench %s: %s: nothing can be written to %s: %s; name another place with --out FILE.lynx\n", tool, path, folder,
                strerror(errno));
  return false;
}
