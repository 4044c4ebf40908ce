/* Where the bytes of a trace come from: a file, plain or gzip, or memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "trace/trace.h"

enum { PACKED_MAX = 1 << 17 };

/* What was read ahead to sniff at comes out first. */
struct source {
  int descriptor;
  struct bytes memory; /* where descriptor is -1 */
  int64_t done;
  bool packed, unpacked_all, in_member;
  z_stream inflate;
  unsigned char in[PACKED_MAX];
  char *head;
  size_t head_at, head_length;
};

static ptrdiff_t read_raw(struct source *s, void *to, size_t room, struct lynx_error *error) {
  if (s->descriptor < 0) {
    size_t n = s->memory.length < room ? s->memory.length : room;
    if (n > 0) memcpy(to, s->memory.ptr, n);
    s->memory = (struct bytes){s->memory.ptr + n, s->memory.length - n};
    s->done += (int64_t)n;
    return (ptrdiff_t)n;
  }
  for (;;) {
    ssize_t n = read(s->descriptor, to, room);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) (void)lynx_fail(error, LYNX_IO, "reading the trace: %s", strerror(errno));
    if (n > 0) s->done += n;
    return n;
  }
}

/* Members of a gzip file follow one another; what stands after the last, or is cut off, ends the text. */
static ptrdiff_t read_packed(struct source *s, char *to, size_t room, struct lynx_error *error) {
  s->inflate.next_out = (unsigned char *)to;
  s->inflate.avail_out = room > INT32_MAX ? INT32_MAX : (unsigned)room;
  unsigned before = s->inflate.avail_out;
  while (!s->unpacked_all && s->inflate.avail_out == before) {
    if (s->inflate.avail_in == 0) {
      ptrdiff_t n = read_raw(s, s->in, sizeof s->in, error);
      if (n < 0) return -1;
      if (n == 0) break;
      s->inflate.next_in = s->in;
      s->inflate.avail_in = (unsigned)n;
    }
    int code = inflate(&s->inflate, Z_NO_FLUSH);
    s->in_member = code != Z_STREAM_END;
    if (code == Z_STREAM_END && inflateReset(&s->inflate) != Z_OK) return -1;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) s->unpacked_all = true; /* what came so far is good */
  }
  return (ptrdiff_t)(before - s->inflate.avail_out);
}

static ptrdiff_t source_read(void *context, char *to, size_t room, struct lynx_error *error) {
  struct source *s = context;
  if (s->head_at < s->head_length) {
    size_t n = s->head_length - s->head_at < room ? s->head_length - s->head_at : room;
    memcpy(to, s->head + s->head_at, n);
    s->head_at += n;
    return (ptrdiff_t)n;
  }
  return s->packed ? read_packed(s, to, room, error) : read_raw(s, to, room, error);
}

static int64_t source_done(void *context) {
  return ((const struct source *)context)->done;
}

static void source_release(void *context) {
  struct source *s = context;
  if (s == NULL) return;
  if (s->packed) (void)inflateEnd(&s->inflate);
  if (s->descriptor >= 0) (void)close(s->descriptor);
  free(s->head);
  free(s);
}

static struct source *source_new(int descriptor, struct bytes memory, const char *path, struct trace_source *ret) {
  struct source *s = xalloc(1, sizeof *s);
  s->descriptor = descriptor;
  s->memory = memory;
  *ret = (struct trace_source){.context = s, .read = source_read, .done = source_done, .release = source_release, .path = path};
  return s;
}

/* Two bytes say whether it is packed; they are given back. */
static enum lynx_status look_for_gzip(struct source *s, struct lynx_error *error) {
  unsigned char first[2];
  size_t have = 0;
  while (have < sizeof first) {
    ptrdiff_t n = read_raw(s, first + have, sizeof first - have, error);
    if (n < 0) return LYNX_IO;
    if (n == 0) break;
    have += (size_t)n;
  }
  s->packed = have == 2 && first[0] == 0x1f && first[1] == 0x8b;
  if (s->packed && inflateInit2(&s->inflate, 15 + 16) != Z_OK) return lynx_fail(error, LYNX_LIMIT, "no memory to unpack the trace");
  if (s->packed) {
    memcpy(s->in, first, have);
    s->inflate.next_in = s->in;
    s->inflate.avail_in = (unsigned)have;
    return LYNX_OK;
  }
  s->head = xalloc(TRACE_HEAD, 1);
  memcpy(s->head, first, have);
  s->head_length = have;
  return LYNX_OK;
}

enum lynx_status trace_source_file(int take_descriptor, const char *path, struct trace_source *ret, struct lynx_error *error) {
  struct source *s = source_new(take_descriptor, (struct bytes){NULL, 0}, path, ret);
  enum lynx_status status = look_for_gzip(s, error);
  if (s->packed) ret->path = NULL; /* who opens the path itself would find it packed */
  if (status == LYNX_OK) return LYNX_OK;
  source_release(s);
  *ret = (struct trace_source){.context = NULL};
  return status;
}

void trace_source_memory(struct bytes bytes, struct trace_source *ret) {
  struct lynx_error error = {0};
  if (look_for_gzip(source_new(-1, bytes, NULL, ret), &error) != LYNX_OK) lynx_bug("memory cannot fail to be read", __FILE__, __LINE__);
}

enum lynx_status trace_source_head(struct trace_source *source, char head[TRACE_HEAD], size_t *ret_length, struct lynx_error *error) {
  struct source *s = source->context;
  if (s->head == NULL) s->head = xalloc(TRACE_HEAD, 1);
  while (s->head_length < TRACE_HEAD) {
    size_t at = s->head_at, length = s->head_length;
    s->head_at = s->head_length = 0; /* read behind what was kept */
    ptrdiff_t n = source_read(s, s->head + length, TRACE_HEAD - length, error);
    s->head_at = at;
    s->head_length = length + (n > 0 ? (size_t)n : 0);
    if (n < 0) return LYNX_IO;
    if (n == 0) break;
  }
  memcpy(head, s->head, s->head_length);
  *ret_length = s->head_length;
  return LYNX_OK;
}

char trace_first(const char *head, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (head[i] != ' ' && head[i] != '\t' && head[i] != '\r' && head[i] != '\n') return head[i];
  return 0;
}
