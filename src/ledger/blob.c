#include "ledger/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

enum { KEY_BYTES = DIGEST_BYTES + 4 };

static struct bytes part_key(const uint8_t digest[DIGEST_BYTES], uint32_t part, char text[KEY_BYTES]) {
  memcpy(text, digest, DIGEST_BYTES);
  for (int i = 0; i < 4; i++) text[DIGEST_BYTES + i] = (char)(part >> (24 - 8 * i));
  return (struct bytes){text, KEY_BYTES};
}

/* Every part of the file, in order. */
typedef enum lynx_status take_part(void *context, uint32_t part, struct bytes bytes, struct lynx_error *error);

static enum lynx_status each_part(const char *path, take_part *take, void *context, struct lynx_error *error) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  lynx_error_at(error, path, 0, NULL);
  if (fd < 0) return lynx_fail(error, errno == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "cannot be opened: %s", strerror(errno));
  enum lynx_status status = LYNX_OK;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > BLOB_MAX)
    status = lynx_fail(error, LYNX_LIMIT, "not a file, or one of more than %lld bytes", (long long)BLOB_MAX);
  char *bytes = xalloc(BLOB_PART, 1);
  for (uint32_t part = 0; status == LYNX_OK; part++) {
    size_t n = 0;
    ssize_t got = 1;
    while (n < BLOB_PART && got > 0) {
      got = read(fd, bytes + n, BLOB_PART - n);
      if (got > 0) n += (size_t)got;
      if (got < 0 && errno == EINTR) got = 1;
    }
    if (got < 0) status = lynx_fail(error, LYNX_IO, "cannot be read: %s", strerror(errno));
    if (status == LYNX_OK && (n > 0 || part == 0)) status = take(context, part, (struct bytes){bytes, n}, error);
    if (n < BLOB_PART) break;
  }
  free(bytes);
  (void)close(fd); /* it was read */
  return status;
}

struct digesting {
  struct digest digest;
  int64_t length;
};

static enum lynx_status digest_part(void *context, uint32_t part, struct bytes bytes, struct lynx_error *error) {
  struct digesting *d = context;
  (void)part, (void)error;
  digest_update(&d->digest, bytes.ptr, bytes.length);
  d->length += (int64_t)bytes.length;
  return LYNX_OK;
}

enum lynx_status blob_digest_file(const char *path, uint8_t ret[DIGEST_BYTES], int64_t *ret_length, struct lynx_error *error) {
  struct digesting d = {.length = 0};
  digest_init(&d.digest);
  enum lynx_status status = each_part(path, digest_part, &d, error);
  digest_final(&d.digest, ret);
  *ret_length = d.length;
  return status;
}

struct putting {
  struct store *store;
  const uint8_t *digest;
  struct digest again; /* a file may be written to meanwhile */
};

enum lynx_status blob_part(struct store *store, const uint8_t digest[DIGEST_BYTES], uint32_t part, struct buffer *ret,
                           struct lynx_error *error) {
  char key[KEY_BYTES];
  return store->table->get(store, STORE_BLOB, part_key(digest, part, key), ret, error);
}

/* -1: there is none. */
static int64_t part_length(struct store *store, const uint8_t digest[DIGEST_BYTES], uint32_t part) {
  struct buffer bytes;
  struct lynx_error ignored = {0};
  buffer_init(&bytes, BLOB_PART);
  int64_t length = blob_part(store, digest, part, &bytes, &ignored) == LYNX_OK ? (int64_t)bytes.length : -1;
  buffer_release(&bytes);
  return length;
}

static enum lynx_status put_part(void *context, uint32_t part, struct bytes bytes, struct lynx_error *error) {
  struct putting *p = context;
  char key[KEY_BYTES];
  digest_update(&p->again, bytes.ptr, bytes.length);
  if (part_length(p->store, p->digest, part) >= 0) return LYNX_OK; /* an end in the middle of blob_put_in_steps left it */
  return p->store->table->append(p->store, STORE_BLOB, part_key(p->digest, part, key), bytes, error);
}

bool blob_known(struct store *store, const uint8_t digest[DIGEST_BYTES]) {
  return part_length(store, digest, 0) >= 0;
}

int64_t blob_length(struct store *store, const uint8_t digest[DIGEST_BYTES]) {
  uint32_t there = 0, beyond = 1;
  if (!blob_known(store, digest)) return -1;
  while (part_length(store, digest, beyond) >= 0) there = beyond, beyond *= 2;
  while (beyond - there > 1) {
    uint32_t middle = there + (beyond - there) / 2;
    if (part_length(store, digest, middle) >= 0) there = middle;
    else beyond = middle;
  }
  return (int64_t)there * BLOB_PART + part_length(store, digest, there);
}

static enum lynx_status each_part_of_bytes(struct bytes bytes, take_part *take, void *context, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  size_t at = 0;
  for (uint32_t part = 0; status == LYNX_OK && (at < bytes.length || part == 0); part++) {
    size_t n = bytes.length - at < BLOB_PART ? bytes.length - at : BLOB_PART;
    status = take(context, part, (struct bytes){bytes.ptr + at, n}, error);
    at += n;
  }
  return status;
}

/* From a file, or (path NULL) from bytes. */
static enum lynx_status put(struct store *store, const uint8_t digest[DIGEST_BYTES], const char *path, struct bytes bytes,
                            struct lynx_error *error) {
  struct putting p = {.store = store, .digest = digest};
  uint8_t again[DIGEST_BYTES];
  enum lynx_status status = store->table->begin(store, error);
  if (status != LYNX_OK) return status;
  digest_init(&p.again);
  bool known = blob_known(store, digest);
  if (!known) status = path != NULL ? each_part(path, put_part, &p, error) : each_part_of_bytes(bytes, put_part, &p, error);
  digest_final(&p.again, again);
  if (status == LYNX_OK && !known && memcmp(again, digest, DIGEST_BYTES) != 0)
    status = lynx_fail(error, LYNX_INPUT, "the bytes do not have that digest: they are others, or the file was written to meanwhile");
  if (status == LYNX_OK) return store->table->commit(store, error);
  store->table->abort(store);
  return status;
}

enum lynx_status blob_put_file(struct store *store, const char *path, uint8_t ret[DIGEST_BYTES], struct lynx_error *error) {
  int64_t length;
  enum lynx_status status = blob_digest_file(path, ret, &length, error);
  return status == LYNX_OK ? put(store, ret, path, (struct bytes){NULL, 0}, error) : status;
}

enum lynx_status blob_put_as(struct store *store, const uint8_t digest[DIGEST_BYTES], const char *path, struct lynx_error *error) {
  return put(store, digest, path, (struct bytes){NULL, 0}, error);
}

/* Parts [first, end) that are not there yet. */
static enum lynx_status put_step(struct store *store, const uint8_t digest[DIGEST_BYTES], int fd, uint32_t first, uint32_t end,
                                 struct lynx_error *error) {
  char key[KEY_BYTES], *bytes = xalloc(BLOB_PART, 1);
  enum lynx_status status = store->table->begin(store, error);
  bool begun = status == LYNX_OK;
  for (uint32_t part = end; status == LYNX_OK && part-- > first;) {
    ssize_t n = pread(fd, bytes, BLOB_PART, (off_t)part * BLOB_PART);
    if (n < 0) status = lynx_fail(error, LYNX_IO, "cannot be read: %s", strerror(errno));
    else if (part_length(store, digest, part) < 0)
      status = store->table->append(store, STORE_BLOB, part_key(digest, part, key), (struct bytes){bytes, (size_t)n}, error);
  }
  free(bytes);
  if (status == LYNX_OK) return store->table->commit(store, error);
  if (begun) store->table->abort(store);
  return status;
}

/* The first part comes last: a file is known by it. */
enum lynx_status blob_put_in_steps(struct store *store, const uint8_t digest[DIGEST_BYTES], const char *path, struct lynx_error *error) {
  enum { PARTS_AT_ONCE = 32 };
  uint8_t found[DIGEST_BYTES];
  int64_t length;
  enum lynx_status status = blob_digest_file(path, found, &length, error);
  if (status != LYNX_OK || blob_known(store, digest)) return status;
  if (memcmp(found, digest, DIGEST_BYTES) != 0) return lynx_fail(error, LYNX_INPUT, "the bytes do not have that digest");
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return lynx_fail(error, LYNX_IO, "cannot be opened: %s", strerror(errno));
  uint32_t n_parts = length > 0 ? (uint32_t)((length + BLOB_PART - 1) / BLOB_PART) : 1;
  for (uint32_t end = n_parts; end > 0 && status == LYNX_OK; end -= end < PARTS_AT_ONCE ? end : PARTS_AT_ONCE)
    status = put_step(store, digest, fd, end < PARTS_AT_ONCE ? 0 : end - PARTS_AT_ONCE, end, error);
  (void)close(fd); /* it was read */
  return status;
}

enum lynx_status blob_put_bytes(struct store *store, const uint8_t digest[DIGEST_BYTES], struct bytes bytes, struct lynx_error *error) {
  return put(store, digest, NULL, bytes, error);
}

struct getting {
  int fd;
  uint32_t next;
  struct digest digest;
  bool good;
};

static bool take_part_out(void *context, struct bytes key, struct bytes value) {
  struct getting *g = context;
  g->good = key.length == KEY_BYTES;
  for (int i = 0; i < 4 && g->good; i++) g->good = (uint8_t)key.ptr[DIGEST_BYTES + i] == (uint8_t)(g->next >> (24 - 8 * i));
  g->good = g->good && file_write_all(g->fd, value.ptr, value.length);
  if (g->good) digest_update(&g->digest, value.ptr, value.length);
  g->next++;
  return g->good;
}

enum lynx_status blob_get_file(struct store *store, const uint8_t digest[DIGEST_BYTES], const char *path, struct lynx_error *error) {
  char temporary[4200], hex[DIGEST_HEX];
  uint8_t found[DIGEST_BYTES];
  struct getting g = {.good = true};
  const struct store_range range = {.space = STORE_BLOB, .prefix = {(const char *)digest, DIGEST_BYTES}};
  if (!blob_known(store, digest))
    return lynx_fail(error, LYNX_NOT_FOUND, "the ledger keeps no file of digest %.16s", digest_hex(digest, hex));
  lynx_error_at(error, path, 0, NULL);
  if (!file_temporary_name(path, temporary, sizeof temporary)) return lynx_fail(error, LYNX_IO, "cannot be created: its name is too long");
  g.fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (g.fd < 0) return lynx_fail(error, LYNX_IO, "cannot be created: %s", strerror(errno));
  digest_init(&g.digest);
  enum lynx_status status = store->table->list(store, &range, take_part_out, &g, error);
  digest_final(&g.digest, found);
  if (status == LYNX_OK && (!g.good || fsync(g.fd) != 0)) status = lynx_fail(error, LYNX_IO, "cannot be written: %s", strerror(errno));
  (void)close(g.fd); /* synced */
  if (status == LYNX_OK && memcmp(found, digest, DIGEST_BYTES) != 0)
    status = lynx_fail(error, LYNX_PROTOCOL, "the file that the ledger keeps is not the one of digest %.16s: it was altered",
                       digest_hex(digest, hex));
  if (status == LYNX_OK && link(temporary, path) != 0)
    status = lynx_fail(error, errno == EEXIST ? LYNX_INPUT : LYNX_IO, "cannot be written: %s", strerror(errno));
  (void)unlink(temporary); /* a link to it stays */
  return status;
}
