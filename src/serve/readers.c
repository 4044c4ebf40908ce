#include "serve/readers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static bool parse_time(const char *text, int64_t *ret) {
  struct tm utc = {.tm_isdst = 0};
  const char *end = strptime(text, time_format, &utc);
  *ret = (int64_t)timegm(&utc);
  return end != NULL && *end == 0;
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

static bool parse_line(char *line, struct reader *ret) {
  char *rest = line, *name = strtok_r(line, " \t", &rest), *digest = strtok_r(NULL, " \t", &rest), *until = strtok_r(NULL, " \t", &rest);
  if (until == NULL || strtok_r(NULL, " \t", &rest) != NULL || !reader_name_is_good(name)) return false;
  (void)snprintf(ret->name, sizeof ret->name, "%s", name);
  return hex_decode(digest, ret->digest, DIGEST_BYTES) && parse_time(until, &ret->until_s);
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
    if (!parse_line(line, &reader) || ret->n == READERS_MAX) {
      lynx_error_at(error, path, number, NULL);
      return lynx_fail(error, LYNX_INPUT,
                       "accepted: a name, a token's SHA-256 and an end such as 2027-02-25T12:00:00Z, in at most %d lines", READERS_MAX);
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

enum lynx_status reader_file_change(const char *path, const struct reader *add, const char *withdraw, size_t *ret_n,
                                    struct lynx_error *error) {
  static const struct root root = {""};
  struct reader_list list;
  struct buffer before, text;
  char hex[DIGEST_HEX], until[32];
  *ret_n = 0;
  bool new = access(path, F_OK) != 0 && errno == ENOENT &&add != NULL;
  enum lynx_status status = new ? LYNX_OK : reader_list_read(path, &list, error);
  if (status != LYNX_OK) return status;
  if (!new) free(list.items); /* it is well formed */
  buffer_init(&before, FILE_MAX);
  buffer_init(&text, FILE_MAX);
  if (!new) status = root_read(&root, path, &before, error);
  bool good = status == LYNX_OK;
  if (good && new)
    good = buffer_text(&text, "# who may read what `lynxbench serve --readers` serves: name, SHA-256 of the token, until when\n");
  if (good && before.length > 0) good = copy_lines(before.data, withdraw, &text, ret_n);
  if (good && add != NULL)
    good = buffer_printf(&text, "%s %s %s\n", add->name, digest_hex(add->digest, hex), reader_time_text(add->until_s, until));
  if (status == LYNX_OK && !good) status = lynx_fail(error, LYNX_LIMIT, "%s: too many readers", path);
  int failed = status == LYNX_OK ? file_replace_private(path, text.data, text.length) : 0;
  if (failed != 0) {
    lynx_error_at(error, path, 0, NULL);
    status = lynx_fail(error, LYNX_IO, "it cannot be written: %s", strerror(failed));
  }
  buffer_release(&before);
  buffer_release(&text);
  return status;
}

/* --- while it is served --- */

struct readers {
  pthread_mutex_t lock;
  char *path;
  struct reader_list list;
  int64_t looked_s;
  struct stat seen;
};

static bool is_as_seen(const struct readers *r, const struct stat *now) {
  return now->st_ino == r->seen.st_ino && now->st_dev == r->seen.st_dev && now->st_size == r->seen.st_size &&
         now->st_mtim.tv_sec == r->seen.st_mtim.tv_sec && now->st_mtim.tv_nsec == r->seen.st_mtim.tv_nsec;
}

/* Of a file that is not as it should be, nobody is admitted. */
static enum lynx_status read_again(struct readers *r, struct lynx_error *error) {
  struct reader_list list;
  struct stat now = {.st_size = -1};
  bool there = stat(r->path, &now) == 0;
  if (there && is_as_seen(r, &now)) return LYNX_OK;
  r->seen = now;
  enum lynx_status status = reader_list_read(r->path, &list, error);
  free(r->list.items);
  r->list = list;
  return status;
}

enum lynx_status readers_open(const char *path, struct readers **ret, struct lynx_error *error) {
  struct readers *r = xalloc(1, sizeof *r);
  r->path = xcopy(path);
  r->seen.st_size = -1;
  (void)pthread_mutex_init(&r->lock, NULL);
  enum lynx_status status = read_again(r, error);
  if (status == LYNX_OK) *ret = r;
  else readers_close(r);
  return status;
}

void readers_close(struct readers *r) {
  if (r == NULL) return;
  (void)pthread_mutex_destroy(&r->lock);
  free(r->list.items);
  free(r->path);
  free(r);
}

/* Digests of tokens that nobody can guess: how long a comparison takes tells nothing about a token. */
bool readers_admit(struct readers *r, const char *token, int64_t now_s, int64_t *ret_until_s) {
  uint8_t digest[DIGEST_BYTES];
  bool good = false;
  if (strlen(token) >= READER_TOKEN_MAX) return false;
  digest_token(token, digest);
  (void)pthread_mutex_lock(&r->lock);
  if (now_s < r->looked_s || now_s >= r->looked_s + LOOK_EVERY_S) {
    (void)read_again(r, &(struct lynx_error){0}); /* the list is empty then */
    r->looked_s = now_s;
  }
  for (size_t i = 0; i < r->list.n && !good; i++) {
    good = memcmp(r->list.items[i].digest, digest, sizeof digest) == 0 && now_s < r->list.items[i].until_s;
    *ret_until_s = r->list.items[i].until_s;
  }
  (void)pthread_mutex_unlock(&r->lock);
  return good;
}
