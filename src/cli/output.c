#include "cli/output.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
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

/* The first write to standard output that failed; 0: none did, or nobody reads it any more (EPIPE). */
static int output_failed;
static const char own_name[] = "lynxbench ";
enum { CALLED_MAX = 200 };

static void say_list(FILE *to, const char *format, va_list args) {
  char small[512], *text = small;
  va_list again;
  va_copy(again, args);
  int n = text_vformat(small, sizeof small, format, args);
  if (n >= (int)sizeof small) {
    text = xalloc((size_t)n + 1, 1);
    (void)text_vformat(text, (size_t)n + 1, format, again);
  }
  va_end(again);
  say_own(to, text);
  if (text != small) free(text);
}

/* --- how the reader calls us --- */

static const char *called; /* NULL: by its name */
static bool (*is_command)(const char *word, size_t length);

void output_called(const char *argv0, bool (*of_ours)(const char *word, size_t length)) {
  bool plain = strchr(argv0, '/') != NULL && strlen(argv0) < CALLED_MAX;
  for (const char *p = argv0; *p != 0 && plain; p++) plain = isalnum((unsigned char)*p) != 0 || strchr("/._+-", *p) != NULL;
  called = plain ? argv0 : NULL;
  is_command = of_ours;
}

/* Is it, at p, a command to be typed? In prose no command's name follows; where it says whose message this is, a colon does. */
static bool is_step(const char *text, const char *p) {
  const char *word = p + strlen(own_name);
  size_t before = (size_t)(p - text), n = strspn(word, "abcdefghijklmnopqrstuvwxyz-");
  bool begins = before == 0 || strchr("\n`", p[-1]) != NULL;
  begins = begins || (before >= 2 && (strncmp(p - 2, ": ", 2) == 0 || strncmp(p - 2, "  ", 2) == 0 || strncmp(p - 2, "& ", 2) == 0));
  if (!begins || word[n] == ':') return false;
  if (is_command(word, n)) return true;
  return n > 2 && strncmp(word, "--", 2) == 0;
}

/* A next step is there to be pasted: it begins as this call did. */
static bool put_steps(FILE *to, const char *text) {
  const char *from = text;
  bool good = true;
  for (const char *p = strstr(text, own_name); p != NULL && good; p = strstr(p + 1, own_name)) {
    if (!is_step(text, p)) continue;
    good = fwrite(from, 1, (size_t)(p - from), to) == (size_t)(p - from) && fputs(called, to) >= 0;
    from = p + strlen(own_name) - 1; /* its blank stays */
  }
  return good && fputs(from, to) >= 0;
}

static bool put_text(FILE *to, const char *text) {
  return called == NULL || isatty(fileno(to)) == 0 ? fputs(text, to) >= 0 : put_steps(to, text);
}

/* A line of progress is on the terminal. */
static bool is_progressing;

void clear_progress(void) {
  if (is_progressing) (void)fputs(text_colors[TEXT_ERASE_LINE], stderr);
  is_progressing = false;
}

void say_progress(const char *line) {
  clear_progress();
  (void)fputs(line, stderr);
  is_progressing = true;
}

void say_own(FILE *to, const char *text) {
  int why = errno; /* who says something goes on with its own: isatty() of a file sets it */
  clear_progress();
  bool good = put_text(to, text);
  if (!good && to == stdout && output_failed == 0) output_failed = errno;
  errno = why;
}

void say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  say_list(stdout, format, args);
  va_end(args);
}

void complain(const char *format, ...) {
  va_list args;
  va_start(args, format);
  say_list(stderr, format, args);
  va_end(args);
}

void say_to(FILE *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  say_list(to, format, args);
  va_end(args);
}

void output_begin(void) {
  for (int fd = 0; fd < 3; fd++) /* a use of it fails all the same: it is opened the other way round */
    if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int output_finish(int code) {
  if (fflush(stdout) != 0 && output_failed == 0) output_failed = errno;
  if (output_failed == 0 || output_failed == EPIPE) return code;
  complain("lynxbench: standard output: %s: not all of it was written\n", strerror(output_failed));
  return code == EXIT_HOLDS || code == EXIT_DOES_NOT_HOLD || code == EXIT_INCONCLUSIVE ? EXIT_CONDITIONS : code;
}

int report_error(const struct lynx_error *error) {
  char text[1100], place[400] = "";
  struct lynx_error rest = *error;
  if (strstr(error->file, "://") == NULL) { /* a file's name is what its owner looks for; an address may hold a password */
    if (error->file[0] != 0) (void)snprintf(place, sizeof place, error->line > 0 ? "%.300s:%d: " : "%.300s: ", error->file, error->line);
    rest.file[0] = 0;
  }
  lynx_error_text(&rest, text, sizeof text);
  complain("lynxbench: %s%s\n", place, secret_mask(text)); /* a server's words may be in it */
  switch (error->status) {
    case LYNX_MACHINE: return EXIT_CONDITIONS;
    case LYNX_PROTOCOL: return EXIT_EXECUTOR;
    default: return EXIT_WRONG_INPUT;
  }
}

/* What need not be read to be refused: a file above the limit, and one with a hole, of which a terabyte costs its owner nothing. */
static enum lynx_status look_at_size(const char *path, size_t limit, struct lynx_error *error) {
  struct stat info;
  enum lynx_status status = LYNX_OK;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return LYNX_OK; /* whoever reads it says why */
  bool known = fstat(fd, &info) == 0;
  if (known && S_ISCHR(info.st_mode) && isatty(fd) == 0 && info.st_rdev != makedev(1, 3)) /* /dev/null */
    status = lynx_fail(error, LYNX_INPUT, "a device; accepted: a file or a pipe");
  if (known && S_ISREG(info.st_mode) && info.st_size > 0) {
    off_t hole = lseek(fd, 0, SEEK_HOLE);
    if ((uint64_t)info.st_size > limit) status = LYNX_LIMIT;
    else if (hole >= 0 && hole < info.st_size)
      status = lynx_fail(error, LYNX_INPUT, "nothing was ever written at byte %lld (a sparse file); a text without holes is accepted",
                         (long long)hole);
  }
  (void)close(fd);
  return status;
}

bool read_file(const char *path, size_t limit, struct buffer *ret) {
  const struct root root = {""};
  struct lynx_error error = {0};
  buffer_init(ret, limit);
  bool is_input = strcmp(path, "-") == 0;
  enum lynx_status status = is_input ? LYNX_OK : look_at_size(path, limit, &error);
  if (status == LYNX_OK) status = root_read(&root, is_input ? "/dev/stdin" : path, ret, &error);
  if (status == LYNX_OK) return true;
  (void)snprintf(error.file, sizeof error.file, "%s", path);
  if (status == LYNX_LIMIT)
    (void)snprintf(error.message, sizeof error.message, "larger than the %zu bytes that such a file may have", limit);
  if (status == LYNX_NOT_FOUND) (void)snprintf(error.message, sizeof error.message, "there is no such file (from this folder)");
  (void)report_error(&error);
  buffer_release(ret);
  return false;
}

static const char *folder_of(const char *path, char folder[4200]) {
  const char *slash = strrchr(path, '/');
  (void)snprintf(folder, 4200, "%.*s", slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path), slash == NULL ? "." : path);
  return folder;
}

/* A device, a pipe or a link is written through, not replaced. */
static int write_through(const char *path, const char *data, size_t length) {
  int fd = file_open_to_write(path);
  if (fd < 0) return errno;
  int why = file_write_all(fd, data, length) ? 0 : errno;
  return close(fd) != 0 && why == 0 ? errno : why;
}

/* A link or a pipe is followed where nobody else can have put it there: it and its folder are ours or root's, and others may not write to
 * the folder, or it is sticky. */
static bool may_write_through(const char *path, const struct stat *info) {
  char folder[4200];
  struct stat place;
  const uid_t self = geteuid();
  bool ours = info->st_uid == self || info->st_uid == 0;
  if (stat(folder_of(path, folder), &place) != 0) return false;
  return ours && (place.st_uid == self || place.st_uid == 0) &&
         ((place.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (place.st_mode & S_ISVTX) != 0);
}

static int keeper = -1;

void output_through(int fd) {
  keeper = fd;
}

int output_to_file(const char *path, const char *data, size_t length, bool is_new) {
  struct stat info;
  if (is_new) return file_create_private(path, data, length);
  bool in_place = lstat(path, &info) == 0 && !S_ISREG(info.st_mode);
  if (in_place && !may_write_through(path, &info)) return EXDEV;
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
  if (why != 0)
    complain("lynxbench: %s: cannot be written: %s; name another file\n", path,
             why == EXDEV ? "found a link or a pipe in a place where another user can put one" : file_error_text(why));
  return why == 0;
}

bool write_new_output(const char *path, const char *data, size_t length) {
  return write_file(path, data, length, true);
}

bool make_folder(char *path, size_t size) {
  const char *base = getenv("TMPDIR");
  (void)snprintf(path, size, "%.4000s/lynxbench-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
  if (mkdtemp(path) != NULL) return true;
  complain("lynxbench: %s: cannot be made: %s; TMPDIR names another folder\n", path, strerror(errno));
  path[0] = 0;
  return false;
}

bool file_is_record(const char *path) {
  char head[16];
  return file_head(path, head, sizeof head) == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

/* Bytes for another program, on a terminal all the same: what would mislead who looks becomes an escape of JSON, or a question mark; our
 * colours stay. */
static bool write_to_terminal(const char *data, size_t length) {
  struct buffer out;
  bool json = length > 0 && (data[0] == '{' || data[0] == '['), good = true;
  buffer_init(&out, SIZE_MAX / 8);
  for (size_t i = 0, n; i < length && good; i += n) {
    const unsigned char *p = (const unsigned char *)data + i;
    size_t color = 0;
    for (int k = 0; k < TEXT_COLORS && color == 0; k++)
      if (!json && strlen(text_colors[k]) <= length - i && memcmp(p, text_colors[k], strlen(text_colors[k])) == 0)
        color = strlen(text_colors[k]);
    n = color > 0 ? color : utf8_length(p, length - i);
    bool plain = color > 0 || (n > 0 && (*p == '\n' || *p == '\t' || !text_misleads(p, n)));
    if (plain) good = buffer_append(&out, p, n);
    else if (json && n == 2) good = buffer_printf(&out, "\\u%04x", (unsigned)((p[0] & 0x1f) << 6 | (p[1] & 0x3f)));
    else if (json && n == 3) good = buffer_printf(&out, "\\u%04x", (unsigned)((p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f)));
    else good = buffer_text(&out, "?");
    n += n == 0;
  }
  good = good && buffer_append(&out, "", 1);
  bool text = good && !json && called != NULL && strlen(out.data) + 1 == out.length;
  if (text) good = put_steps(stdout, out.data) && fflush(stdout) == 0;
  else good = good && file_write_all(STDOUT_FILENO, out.data, out.length - 1);
  buffer_release(&out);
  return good;
}

bool write_output(const char *path, const char *data, size_t length) {
  if (path != NULL && strcmp(path, "-") != 0) return write_file(path, data, length, false);
  if (fflush(stdout) != 0 && output_failed == 0) output_failed = errno; /* what was said before comes before */
  bool good = isatty(STDOUT_FILENO) ? write_to_terminal(data, length) : file_write_all(STDOUT_FILENO, data, length);
  if (!good && output_failed == 0) output_failed = errno;
  return good;
}

bool write_buffer(const char *path, const struct buffer *buffer) {
  if (!buffer->overflowed) return write_output(path, buffer->data != NULL ? buffer->data : "", buffer->length);
  complain("lynxbench: the output would pass %zu bytes, or there is no memory for it\n", buffer->limit);
  return false;
}

bool color_wanted(FILE *to) {
  const char *no = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");
  if (no != NULL && no[0] != 0) return false;
  if (force != NULL && strcmp(force, "0") != 0) return true;
  return isatty(fileno(to)) && term != NULL && strcmp(term, "dumb") != 0;
}

bool output_is_possible(const char *tool, const char *option, const char *path) {
  char folder[4200];
  struct stat info, own;
  if (path == NULL || strcmp(path, "-") == 0) return true;
  bool there = stat(path, &info) == 0, is_folder = path[0] == 0 || (there && S_ISDIR(info.st_mode));
  bool elsewhere = there && lstat(path, &own) == 0 && !S_ISREG(own.st_mode); /* a device, or a link */
  if (!is_folder && elsewhere && access(path, W_OK) == 0) return true;
  if (!is_folder && access(folder_of(path, folder), W_OK | X_OK) == 0) return true;
  complain("lynxbench %s: --%s: found '%s': %s%s%s; accepted: a file in a folder that can be written to\n", tool, option, path,
           is_folder ? "no file can have that name" : strerror(errno), is_folder ? "" : ": ", is_folder ? "" : folder);
  return false;
}

bool output_is_free(const char *tool, const char *path) {
  char folder[4200];
  struct stat info;
  (void)folder_of(path, folder);
  if (lstat(path, &info) == 0) {
    complain("lynxbench %s: %s: %s, and is not overwritten (records are never overwritten): name another with --out FILE.lynx\n", tool,
             path, S_ISDIR(info.st_mode) ? "it is a folder" : "the file exists");
    return false;
  }
  if (access(folder, W_OK | X_OK) == 0) return true;
  complain("lynxbench %s: %s: nothing can be written to %s: %s; name another place with --out FILE.lynx\n", tool, path, folder,
           strerror(errno));
  return false;
}
