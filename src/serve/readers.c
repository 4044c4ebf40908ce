#include "serve/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/random.h"
#include "base/root.h"

enum { FILE_MAX = 4 << 20, LOOK_EVERY_S = 1 };

static const char token_begin[] = "lynxr-", time_format[] = "%Y-%m-%dT%H:%M:%SZ";

bool reader_name_is_good(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
  return name[0] != 0 && strlen(name) < READER_NAME_MAX && strspn(name, letters) == strlen(name);
}

char *reader_time_text(int64_t at_s, char text[32]) {
  time_t at = (time_t)at_s;
  struct tm utc;
  if (gmtime_r(&at, &utc) == NULL || strftime(text, 32, time_format, &utc) == 0) text[0] = 0;
  return text;
}

/* A day that no calendar has would be another one's. */
static bool parse_time(const char *text, int64_t *ret) {
  struct tm utc = {.tm_isdst = 0};
  char again[32];
  const char *end = strptime(text, time_format, &utc);
  *ret = (int64_t)timegm(&utc);
  return end != NULL && *end == 0 && strcmp(reader_time_text(*ret, again), text) == 0;
}

static void digest_token(const char *token, uint8_t ret[DIGEST_BYTES]) {
  digest_of(token, strlen(token), ret);
}

bool reader_make(const char *name, int64_t until_s, struct reader *ret, char ret_token[READER_TOKEN_MAX]) {
  uint8_t bytes[32];
  char hex[65];
  *ret = (struct reader){.until_s = until_s};
  (void)snprintf(ret->name, sizeof ret->name, "%s", name);
  if (!random_salt(bytes, sizeof bytes)) return false;
  (void)snprintf(ret_token, READER_TOKEN_MAX, "%s%s", token_begin, hex_encode(bytes, sizeof bytes, hex));
  digest_token(ret_token, ret->digest);
  explicit_bzero(bytes, sizeof bytes);
  explicit_bzero(hex, sizeof hex);
  return true;
}

/* --- the file --- */

/* NULL: it is one; else what is wrong with it. */
static const char *parse_line(char *line, struct reader *ret) {
  static const char blanks[] = " \t\r";
  char *rest = line, *name = strtok_r(line, blanks, &rest), *digest = strtok_r(NULL, blanks, &rest), *until = strtok_r(NULL, blanks, &rest);
  if (name == NULL || !reader_name_is_good(name)) return "the name; accepted: letters, digits and . _ - @, fewer than 64";
  (void)snprintf(ret->name, sizeof ret->name, "%s", name);
  if (digest == NULL || !hex_decode(digest, ret->digest, DIGEST_BYTES)) return "the second field; accepted: a token's SHA-256, 64 digits";
  if (until == NULL || !parse_time(until, &ret->until_s)) return "the third field; accepted: an end such as 2027-02-25T12:00:00Z";
  const char *root = strtok_r(NULL, blanks, &rest), *level = strtok_r(NULL, blanks, &rest);
  uint8_t digest_of_root[DIGEST_BYTES];
  if (root == NULL) return NULL;
  if (!hex_decode(root, digest_of_root, DIGEST_BYTES)) return "the fourth field; accepted: none, or the root of a bundle, 64 digits";
  (void)digest_hex(digest_of_root, ret->root);
  if (level == NULL || strlen(level) >= sizeof ret->level || strspn(level, "abcdefghijklmnopqrstuvwxyz") != strlen(level))
    return "the fifth field; accepted: full, shared, public";
  (void)snprintf(ret->level, sizeof ret->level, "%s", level);
  return strtok_r(NULL, blanks, &rest) != NULL ? "a sixth field; accepted: three in each line, or five" : NULL;
}

static enum lynx_status parse(char *text, const char *path, struct reader_list *ret, struct lynx_error *error) {
  size_t room = 0;
  int number = 0;
  for (char *line = text, *end; line != NULL; line = end) {
    struct reader reader = {.until_s = 0};
    end = strchr(line, '\n');
    if (end != NULL) *end++ = 0;
    number++;
    if (line[strspn(line, " \t\r")] == 0 || line[0] == '#') continue;
    const char *wrong = parse_line(line, &reader);
    if (wrong == NULL && ret->n == READERS_MAX) wrong = "one reader more than are accepted";
    if (wrong != NULL) {
      lynx_error_at(error, path, number, NULL);
      return lynx_fail(error, LYNX_INPUT, "found wrong: %s", wrong);
    }
    ret->items = xroom(ret->items, ret->n, &room, sizeof *ret->items);
    ret->items[ret->n++] = reader;
  }
  return LYNX_OK;
}

enum lynx_status reader_list_read(const char *path, struct reader_list *ret, struct lynx_error *error) {
  static const struct root root = {""};
  struct buffer text;
  *ret = (struct reader_list){.n = 0};
  buffer_init(&text, FILE_MAX);
  enum lynx_status status = root_read(&root, path, &text, error);
  if (status == LYNX_OK && text.length > 0) {
    if (memchr(text.data, 0, text.length) != NULL) status = lynx_fail(error, LYNX_INPUT, "it holds a byte of 0");
    else status = parse(text.data, path, ret, error);
  }
  lynx_error_at(error, path, 0, NULL);
  buffer_release(&text);
  if (status != LYNX_OK) {
    free(ret->items);
    *ret = (struct reader_list){.n = 0};
  }
  return status;
}

static bool is_of(const char *line, const char *name) {
  size_t n = strlen(name);
  line += strspn(line, " \t");
  return strncmp(line, name, n) == 0 && (line[n] == ' ' || line[n] == '\t');
}

static bool copy_lines(const char *from, const char *but, struct buffer *ret, size_t *ret_n) {
  bool good = true;
  for (const char *line = from; *line != 0 && good;) {
    size_t length = strcspn(line, "\n");
    bool gone = but != NULL && is_of(line, but);
    *ret_n += gone;
    if (!gone) good = buffer_append(ret, line, length) && buffer_text(ret, "\n");
    line += length + (line[length] == '\n');
  }
  return good;
}

/* Open and ours alone: another change that went on has been seen to its end. -1: errno says why. */
static int open_locked(const char *path, bool make) {
  for (;;) {
    struct stat opened, now = {.st_ino = 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (make ? O_CREAT : 0), 0600);
    if (fd < 0) return -1;
    bool locked = flock(fd, LOCK_EX) == 0 && fstat(fd, &opened) == 0;
    if (locked && stat(path, &now) == 0 && opened.st_ino == now.st_ino && opened.st_dev == now.st_dev) return fd;
    int why = errno;
    (void)close(fd); /* it was replaced while this waited */
    errno = why;
    if (!locked) return -1;
  }
}

static bool change(const char *before, const struct reader *add, const char *withdraw, struct buffer *ret, size_t *ret_n) {
  char hex[DIGEST_HEX], until[32];
  if (before[0] == 0 &&
      !buffer_text(ret, "# who may read what `lynxbench serve --readers` serves: name, SHA-256 of the token, until when\n"))
    return false;
  return copy_lines(before, withdraw, ret, ret_n) &&
         (add == NULL ||
          buffer_printf(ret, "%s %s %s%s%s%s%s\n", add->name, digest_hex(add->digest, hex), reader_time_text(add->until_s, until),
                        add->root[0] != 0 ? " " : "", add->root, add->root[0] != 0 ? " " : "", add->level));
}

static enum lynx_status change_locked(const char *path, const struct reader *add, const char *withdraw, size_t *ret_n,
                                      struct lynx_error *error) {
  static const struct root root = {""};
  struct reader_list list;
  struct buffer before, text;
  enum lynx_status status = reader_list_read(path, &list, error);
  if (status != LYNX_OK) return status;
  free(list.items); /* it is well formed */
  lynx_error_at(error, path, 0, NULL);
  if (add != NULL && list.n == READERS_MAX)
    return lynx_fail(error, LYNX_LIMIT, "found %d readers; accepted: no more. Withdraw some that are over", READERS_MAX);
  buffer_init(&before, FILE_MAX);
  buffer_init(&text, FILE_MAX);
  status = root_read(&root, path, &before, error);
  if (status == LYNX_OK && !change(before.length > 0 ? before.data : "", add, withdraw, &text, ret_n))
    status = lynx_fail(error, LYNX_LIMIT, "too many readers");
  int failed = status == LYNX_OK ? file_replace(path, text.data, text.length) : 0;
  if (failed != 0) status = lynx_fail(error, LYNX_IO, "it cannot be written: %s", strerror(failed));
  buffer_release(&before);
  buffer_release(&text);
  return status;
}

enum lynx_status reader_file_change(const char *path, const struct reader *add, const char *withdraw, size_t *ret_n,
                                    struct lynx_error *error) {
  char *real = realpath(path, NULL); /* what a link leads to is what is served */
  *ret_n = 0;
  int fd = open_locked(real != NULL ? real : path, add != NULL);
  enum lynx_status status;
  if (fd < 0) {
    lynx_error_at(error, path, 0, NULL);
    status = lynx_fail(error, errno == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "%s", strerror(errno));
  } else status = change_locked(real != NULL ? real : path, add, withdraw, ret_n, error);
  if (fd >= 0) (void)close(fd);
  free(real);
  return status;
}

/* --- while it is served --- */

struct readers {
  pthread_mutex_t lock;
  char *path;
  struct reader_list list;
  int64_t looked_s;
  struct stat seen;
  bool broken;
  void (*tell)(const char *text);
};

static bool is_as_seen(const struct readers *r, const struct stat *now) {
  return now->st_ino == r->seen.st_ino && now->st_dev == r->seen.st_dev && now->st_size == r->seen.st_size &&
         now->st_ctim.tv_sec == r->seen.st_ctim.tv_sec && now->st_ctim.tv_nsec == r->seen.st_ctim.tv_nsec;
}

/* Of a file that is not as it should be, nobody is admitted; it is tried again at the next look. */
static enum lynx_status read_again(struct readers *r, struct lynx_error *error) {
  struct reader_list list;
  struct stat now = {.st_size = -1};
  bool there = stat(r->path, &now) == 0;
  if (there && is_as_seen(r, &now)) return LYNX_OK;
  enum lynx_status status = reader_list_read(r->path, &list, error);
  free(r->list.items);
  r->list = list;
  r->seen = now;
  if (status != LYNX_OK) r->seen.st_size = -1;
  return status;
}

/* Said when it changes, and no oftener. */
static void look(struct readers *r) {
  struct lynx_error error = {0};
  bool broken = read_again(r, &error) != LYNX_OK;
  char text[1024];
  if (broken && !r->broken)
    (void)text_format(text, sizeof text, "all requests are refused until this file is fixed: %s:%d: %s", r->path, error.line,
                      error.message);
  else if (!broken && r->broken) (void)text_format(text, sizeof text, "%s: %zu readers are let in again", r->path, r->list.n);
  if (broken != r->broken) r->tell(text);
  r->broken = broken;
}

enum lynx_status readers_open(const char *path, void (*tell)(const char *text), struct readers **ret, struct lynx_error *error) {
  struct readers *r = xalloc(1, sizeof *r);
  r->path = xcopy(path);
  r->seen.st_size = -1;
  r->tell = tell;
  (void)pthread_mutex_init(&r->lock, NULL);
  enum lynx_status status = read_again(r, error);
  if (status == LYNX_OK) *ret = r;
  else readers_close(r);
  return status;
}

size_t readers_count(struct readers *r) {
  (void)pthread_mutex_lock(&r->lock);
  size_t n = r->list.n;
  (void)pthread_mutex_unlock(&r->lock);
  return n;
}

void readers_close(struct readers *r) {
  if (r == NULL) return;
  (void)pthread_mutex_destroy(&r->lock);
  free(r->list.items);
  free(r->path);
  free(r);
}

/* Digests of tokens that nobody can guess: how long a comparison takes tells nothing about a token. */
static bool find(struct readers *r, const char *token, int64_t now_s, bool link, struct reader *ret) {
  uint8_t digest[DIGEST_BYTES];
  bool good = false;
  if (strlen(token) >= READER_TOKEN_MAX) return false;
  digest_token(token, digest);
  (void)pthread_mutex_lock(&r->lock);
  if (now_s < r->looked_s || now_s >= r->looked_s + LOOK_EVERY_S) {
    look(r); /* the list is empty where it cannot be read */
    r->looked_s = now_s;
  }
  for (size_t i = 0; i < r->list.n && !good; i++) {
    *ret = r->list.items[i];
    good = memcmp(ret->digest, digest, sizeof digest) == 0 && now_s < ret->until_s && (ret->root[0] != 0) == link;
  }
  (void)pthread_mutex_unlock(&r->lock);
  return good;
}

bool readers_admit(struct readers *r, const char *token, int64_t now_s, int64_t *ret_until_s) {
  struct reader found;
  if (!find(r, token, now_s, false, &found)) return false;
  *ret_until_s = found.until_s;
  return true;
}

bool readers_link(struct readers *r, const char *token, int64_t now_s, struct reader *ret) {
  return find(r, token, now_s, true, ret);
}
