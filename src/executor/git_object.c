#include "executor/git_object.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/digest.h"

enum { OBJECT_MAX = 1 << 20, DELTAS_MAX = 64, DEPTH_MAX = 200, PACKS_MAX = 10000 };
enum { TYPE_COMMIT = 1, TYPE_OFFSET_DELTA = 6, TYPE_NAME_DELTA = 7 };
enum { MODE_DIRECTORY = 0x4000 };

static uint32_t number_at(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* --- the index: "DIRC", version, number of entries; each entry 62 bytes of stat, name and flags, then the path --- */

bool git_index_open(const void *data, size_t length, struct git_index *ret) {
  *ret = (struct git_index){.data = data, .length = length, .at = 12};
  if (length < 12 || memcmp(data, "DIRC", 4) != 0) return false;
  ret->version = number_at(ret->data + 4);
  ret->n = number_at(ret->data + 8);
  return ret->version >= 2 && ret->version <= 4 && ret->n <= GIT_ENTRIES_MAX;
}

/* How far back: groups of 7 bits, the highest first, each but the last with 0x80 and counted from 1. */
static bool read_distance(const uint8_t **at, const uint8_t *end, uint64_t *ret) {
  *ret = 0;
  for (int i = 0; i < 9 && *at < end; i++) {
    uint8_t byte = *(*at)++;
    *ret = (*ret << 7 | (byte & 0x7f)) + ((byte & 0x80) != 0);
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

/* Versions 2 and 3: the path, and 1 to 8 zeros up to a multiple of 8 bytes. Version 4: what differs from the last one, and one zero. */
static bool read_path(struct git_index *index, size_t begin) {
  size_t kept = 0, length = strlen(index->path);
  if (index->version == 4) {
    const uint8_t *at = index->data + index->at;
    uint64_t strip; /* bytes of the last path that go */
    if (!read_distance(&at, index->data + index->length, &strip) || strip > length) return false;
    index->at = (size_t)(at - index->data);
    kept = length - strip;
  }
  size_t n = strnlen((const char *)index->data + index->at, index->length - index->at);
  if (index->at + n >= index->length || kept + n == 0 || kept + n >= sizeof index->path) return false;
  memcpy(index->path + kept, index->data + index->at, n + 1);
  index->at = index->version == 4 ? index->at + n + 1 : begin + (index->at - begin + n + 8) / 8 * 8;
  return index->at <= index->length;
}

/* After the entries: extensions of a name of 4 letters, their length and contents; then 20 bytes of checksum. One that must be understood
 * begins with a small letter; of these, collapsed directories show in the entries themselves. */
static bool ends_well(const struct git_index *index) {
  size_t at = index->at;
  while (index->length - at > 8 + GIT_NAME) {
    const uint8_t *name = index->data + at;
    size_t n = number_at(name + 4);
    if (name[0] >= 'a' && memcmp(name, "sdir", 4) != 0) return false;
    if (n > index->length - at - 8) return false;
    at += 8 + n;
  }
  return true;
}

int git_index_next(struct git_index *index, struct git_entry *ret) {
  if (index->i == index->n) return ends_well(index) ? 0 : -1;
  size_t begin = index->at;
  if (begin > index->length || index->length - begin < 64) return -1;
  const uint8_t *entry = index->data + begin;
  bool extended = index->version >= 3 && (entry[60] & 0x40) != 0;
  *ret = (struct git_entry){.ctime_s = number_at(entry),
                            .ctime_ns = number_at(entry + 4),
                            .mtime_s = number_at(entry + 8),
                            .mtime_ns = number_at(entry + 12),
                            .mode = number_at(entry + 24),
                            .size = number_at(entry + 36),
                            .name = entry + 40,
                            .conflict = (entry[60] & 0x30) != 0,
                            .left_out = extended && (entry[62] & 0x40) != 0,
                            .intended = extended && (entry[62] & 0x20) != 0};
  index->at += extended ? 64 : 62;
  if (!read_path(index, begin)) return -1;
  ret->path = index->path;
  index->i++;
  return 1;
}

/* --- the tree of an index --- */

struct item {
  const char *path;
  uint32_t mode;
  const uint8_t *name;
};

/* A tree object: "MODE NAME", a zero, 20 bytes, for each entry; of a directory, the name of its own tree. Paths are in git's order, in
 * which what lies in one directory stands together. skip: bytes of the path that are the directory's. */
static bool write_tree(const struct item *items, size_t n, size_t skip, int depth, uint8_t ret[GIT_NAME]) {
  struct buffer tree;
  char head[40], mode[16];
  bool good = depth < DEPTH_MAX;
  buffer_init(&tree, 256 << 20);
  for (size_t i = 0, next; i < n && good; i = next) {
    const char *path = items[i].path + skip, *slash = strchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : strlen(path);
    uint8_t directory[GIT_NAME];
    const uint8_t *name = items[i].name;
    next = i + 1;
    good = length > 0;
    if (slash != NULL && good) {
      while (next < n && strncmp(items[next].path + skip, path, length + 1) == 0) next++;
      good = write_tree(items + i, next - i, skip + length + 1, depth + 1, directory);
      name = directory;
    }
    (void)snprintf(mode, sizeof mode, "%o ", slash != NULL ? MODE_DIRECTORY : items[i].mode);
    good = good && buffer_text(&tree, mode) && buffer_append(&tree, path, length) && buffer_append(&tree, "", 1) &&
           buffer_append(&tree, name, GIT_NAME);
  }
  int used = snprintf(head, sizeof head, "tree %zu", tree.length);
  if (good) digest_sha1((const struct bytes[]){{head, (size_t)used + 1}, {tree.data != NULL ? tree.data : "", tree.length}}, 2, ret);
  buffer_release(&tree);
  return good;
}

bool git_index_tree(const void *data, size_t length, uint8_t ret[GIT_NAME]) {
  struct git_index index;
  struct git_entry entry;
  if (!git_index_open(data, length, &index)) return false;
  struct arena arena = {0};
  struct item *items = xalloc(index.n + 1, sizeof *items);
  size_t n = 0;
  int more;
  bool good = true;
  while (good && (more = git_index_next(&index, &entry)) != 0) {
    good = more > 0 && !entry.conflict && entry.mode != MODE_DIRECTORY && (n == 0 || strcmp(items[n - 1].path, entry.path) < 0);
    if (good && !entry.intended) items[n++] = (struct item){arena_copy(&arena, entry.path), entry.mode, entry.name};
  }
  good = good && write_tree(items, n, 0, 0, ret);
  free(items);
  arena_release(&arena);
  return good;
}

/* --- objects --- */

/* As much of what was compressed as there is room for. False where the stream is damaged, or holds less than asked for. */
static bool inflate_some(const uint8_t *data, size_t length, size_t wanted, struct buffer *ret) {
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = length > UINT32_MAX ? UINT32_MAX : (uInt)length};
  char chunk[8192];
  int code = inflateInit(&stream);
  bool good = code == Z_OK;
  while (good && code == Z_OK && ret->length < wanted) {
    size_t left = wanted - ret->length;
    stream.next_out = (Bytef *)chunk;
    stream.avail_out = (uInt)(left < sizeof chunk ? left : sizeof chunk);
    size_t room = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    good = (code == Z_OK || code == Z_STREAM_END) && buffer_append(ret, chunk, room - stream.avail_out);
  }
  (void)inflateEnd(&stream);
  return good && ret->length == wanted;
}

/* A number in groups of 7 bits, the lowest first. */
static bool read_size(const uint8_t **at, const uint8_t *end, size_t *ret) {
  *ret = 0;
  for (int shift = 0; *at < end && shift < 56; shift += 7) {
    uint8_t byte = *(*at)++;
    *ret |= (size_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

/* Sizes of base and result, then codes: with the highest bit, a piece of the base (the other bits say which bytes of its offset and size
 * follow); without it, so many new bytes. */
static bool apply_delta(const struct buffer *base, const struct buffer *delta, struct buffer *ret) {
  const uint8_t *at = (const uint8_t *)delta->data, *end = at + delta->length;
  size_t base_size, size;
  if (!read_size(&at, end, &base_size) || !read_size(&at, end, &size) || base_size != base->length || size > OBJECT_MAX) return false;
  while (at < end) {
    uint8_t code = *at++;
    if (code == 0) return false;
    if ((code & 0x80) == 0) {
      if ((size_t)(end - at) < code || !buffer_append(ret, at, code)) return false;
      at += code;
      continue;
    }
    size_t from = 0, n = 0;
    for (int i = 0; i < 7; i++) {
      if ((code & 1 << i) == 0) continue;
      if (at == end) return false;
      if (i < 4) from |= (size_t)*at++ << 8 * i;
      else n |= (size_t)*at++ << 8 * (i - 4);
    }
    if (n == 0) n = 0x10000;
    if (from > base->length || n > base->length - from || !buffer_append(ret, base->data + from, n)) return false;
  }
  return ret->length == size;
}

static bool pack_object(const struct git_pack *pack, uint64_t offset, int depth, struct buffer *ret, int *ret_type);

/* The base of a delta: so many bytes before it, or by its name. */
static bool find_base(const struct git_pack *pack, uint64_t offset, int type, const uint8_t **at, uint64_t *ret) {
  const uint8_t *end = pack->data + pack->length;
  uint64_t back;
  if (type == TYPE_NAME_DELTA) {
    if (end - *at < GIT_NAME || pack->idx == NULL || !git_pack_find(pack->idx, pack->idx_length, *at, ret)) return false;
    *at += GIT_NAME;
    return true;
  }
  if (!read_distance(at, end, &back) || back == 0 || back > offset) return false;
  *ret = offset - back;
  return true;
}

static bool pack_object(const struct git_pack *pack, uint64_t offset, int depth, struct buffer *ret, int *ret_type) {
  if (depth > DELTAS_MAX || offset < 12 || offset >= pack->length) return false;
  const uint8_t *at = pack->data + offset, *end = pack->data + pack->length;
  int type = *at >> 4 & 7;
  size_t size = *at & 0xf, higher = 0;
  bool continues = (*at++ & 0x80) != 0;
  if (continues && (!read_size(&at, end, &higher) || higher > OBJECT_MAX)) return false;
  size |= higher << 4;
  if (size > OBJECT_MAX || type == 0 || type == 5) return false;
  if (type != TYPE_OFFSET_DELTA && type != TYPE_NAME_DELTA) {
    *ret_type = type;
    return inflate_some(at, (size_t)(end - at), size, ret);
  }
  uint64_t base_at;
  struct buffer base, delta;
  buffer_init(&base, OBJECT_MAX);
  buffer_init(&delta, OBJECT_MAX);
  bool good = find_base(pack, offset, type, &at, &base_at) && pack_object(pack, base_at, depth + 1, &base, ret_type) &&
              inflate_some(at, (size_t)(end - at), size, &delta) && delta.length > 0 && apply_delta(&base, &delta, ret);
  buffer_release(&base);
  buffer_release(&delta);
  return good;
}

bool git_pack_object(const struct git_pack *pack, uint64_t offset, struct buffer *ret, int *ret_type) {
  return pack->length >= 12 && memcmp(pack->data, "PACK", 4) == 0 && pack_object(pack, offset, 0, ret, ret_type);
}

struct mapped {
  void *data;
  size_t length;
};

/* A file that shrinks meanwhile ends the probe's process by a signal, and the capture goes on (executor/probe_run.h). */
static bool map_file(const struct root *root, const char *path, struct mapped *ret) {
  struct stat info;
  int fd = root_open(root, path);
  *ret = (struct mapped){MAP_FAILED, 0};
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    ret->length = (size_t)info.st_size;
    ret->data = mmap(NULL, ret->length, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  if (fd >= 0) (void)close(fd);
  return ret->data != MAP_FAILED;
}

/* A pack's index, version 2: magic and version; 256 counts of names up to each first byte; names in order; 4 bytes of checksum each; 4
 * bytes of offset each, where the highest bit says that 8 bytes stand in a further table. */
bool git_pack_find(const uint8_t *idx, size_t length, const uint8_t name[GIT_NAME], uint64_t *ret) {
  static const uint8_t magic[] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
  if (length < 8 + 1024 || memcmp(idx, magic, sizeof magic) != 0) return false;
  const uint8_t *counts = idx + 8, *names = counts + 1024;
  size_t n = number_at(counts + 1020), low = name[0] > 0 ? number_at(counts + 4 * (size_t)(name[0] - 1)) : 0,
         high = number_at(counts + 4 * (size_t)name[0]);
  if (n > (length - 1032) / 28 || high > n) return false;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = memcmp(names + GIT_NAME * middle, name, GIT_NAME);
    if (order == 0) {
      const uint8_t *offsets = names + 24 * n;
      uint32_t offset = number_at(offsets + 4 * middle);
      *ret = offset;
      if ((offset & 0x80000000u) == 0) return true;
      size_t at = 1032 + 28 * n + 8 * (size_t)(offset & 0x7fffffffu);
      if (at + 8 > length) return false;
      *ret = (uint64_t)number_at(idx + at) << 32 | number_at(idx + at + 4);
      return true;
    }
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

struct search {
  const struct root *root;
  const char *git;
  const uint8_t *name;
  struct buffer *ret;
  bool found;
};

static void look_into_pack(void *context, const char *file) {
  struct search *search = context;
  size_t n = strlen(file);
  struct mapped idx, pack;
  char path[4600];
  uint64_t offset = 0;
  int type = 0;
  if (search->found || n < 5 || strcmp(file + n - 4, ".idx") != 0) return;
  (void)snprintf(path, sizeof path, "%s/objects/pack/%.200s", search->git, file);
  if (!map_file(search->root, path, &idx)) return;
  if (git_pack_find(idx.data, idx.length, search->name, &offset)) {
    (void)snprintf(path, sizeof path, "%s/objects/pack/%.*s.pack", search->git, (int)(n - 4 > 200 ? 200 : n - 4), file);
    if (map_file(search->root, path, &pack)) {
      const struct git_pack both = {pack.data, idx.data, pack.length, idx.length};
      search->found = git_pack_object(&both, offset, search->ret, &type) && type == TYPE_COMMIT;
      (void)munmap(pack.data, pack.length);
    }
  }
  (void)munmap(idx.data, idx.length);
}

/* A loose object: "commit SIZE", a zero, the contents, compressed. Only their beginning is needed. */
static bool read_loose(const struct root *root, const char *git, const char *hex, struct buffer *ret) {
  static const char begins[] = "commit ";
  char path[4600];
  struct buffer packed, plain;
  buffer_init(&packed, OBJECT_MAX);
  buffer_init(&plain, OBJECT_MAX);
  (void)snprintf(path, sizeof path, "%s/objects/%.2s/%s", git, hex, hex + 2);
  bool good = root_read(root, path, &packed, NULL) == LYNX_OK && packed.length > 0;
  enum { HEAD_ROOM = 80 };
  good = good && inflate_some((const uint8_t *)packed.data, packed.length, HEAD_ROOM, &plain) &&
         memcmp(plain.data, begins, strlen(begins)) == 0;
  const char *end = good ? memchr(plain.data, 0, plain.length) : NULL;
  good = end != NULL && buffer_append(ret, end + 1, plain.length - (size_t)(end + 1 - plain.data));
  buffer_release(&packed);
  buffer_release(&plain);
  return good;
}

bool git_commit_tree(const struct root *root, const char *git, const uint8_t commit[GIT_NAME], uint8_t ret[GIT_NAME]) {
  char hex[2 * GIT_NAME + 1], path[4600];
  struct buffer text;
  buffer_init(&text, OBJECT_MAX);
  struct search search = {.root = root, .git = git, .name = commit, .ret = &text};
  (void)hex_encode(commit, GIT_NAME, hex);
  bool good = read_loose(root, git, hex, &text);
  if (!good) {
    (void)snprintf(path, sizeof path, "%s/objects/pack", git);
    (void)root_list(root, path, PACKS_MAX, look_into_pack, &search);
    good = search.found;
  }
  good = good && text.length >= 5 + 2 * GIT_NAME && memcmp(text.data, "tree ", 5) == 0;
  if (good) (void)snprintf(hex, sizeof hex, "%.*s", 2 * GIT_NAME, text.data + 5);
  good = good && hex_decode(hex, ret, GIT_NAME);
  buffer_release(&text);
  return good;
}
