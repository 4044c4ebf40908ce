#include "executor/model_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/root.h"

bool model_is_weights(const char *file_name) {
  static const char *const ends[] = {".safetensors", ".gguf", ".onnx", ".onnx.data", ".pt", ".pth", ".bin", ".engine", ".plan"};
  size_t n = strlen(file_name);
  for (size_t i = 0; i < LYNX_COUNT(ends); i++) {
    size_t end = strlen(ends[i]);
    if (n > end && strcmp(file_name + n - end, ends[i]) == 0 && (strcmp(ends[i], ".bin") != 0 || strstr(file_name, "model") != NULL))
      return true;
  }
  return false;
}

void model_leaf(const char *file_name, const char hex[DIGEST_HEX], struct digest_leaf *ret) {
  char leaf[512];
  (void)snprintf(leaf, sizeof leaf, "%.400s", file_name);
  (void)snprintf(leaf + strlen(leaf) + 1, sizeof leaf - strlen(leaf) - 1, "%s", hex);
  digest_leaf_of(leaf, strlen(leaf) + 1 + strlen(hex), ret);
}

struct names {
  struct arena arena;
  const char *items[MODEL_FILES_MAX];
  size_t n, n_seen;
};

static void keep_name(void *context, const char *name) {
  struct names *names = context;
  if (!model_is_weights(name)) return;
  names->n_seen++;
  if (names->n < MODEL_FILES_MAX) names->items[names->n++] = arena_copy(&names->arena, name);
}

static enum lynx_status read_leaf(const char *folder, const char *name, struct digest_leaf *ret, struct lynx_error *error) {
  char path[PATH_MAX + 300], hex[DIGEST_HEX];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return lynx_fail(error, errno == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "%s: %s", path, strerror(errno));
  bool good = file_digest_anew(fd, hex);
  (void)close(fd); /* only read from */
  if (!good) return lynx_fail(error, LYNX_IO, "%s: no plain file, not readable to its end, mostly holes, or written to meanwhile", path);
  model_leaf(name, hex, ret);
  return LYNX_OK;
}

enum lynx_status model_digest_anew(const char *path, char ret[DIGEST_HEX], size_t *ret_n, struct lynx_error *error) {
  struct root here = {""};
  struct names names = {.n = 0};
  struct stat info;
  char folder[PATH_MAX];
  if (stat(path, &info) != 0) return lynx_fail(error, errno == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "%s: %s", path, strerror(errno));
  (void)snprintf(folder, sizeof folder, "%s", path);
  if (S_ISDIR(info.st_mode)) (void)root_list(&here, folder, 10000, keep_name, &names);
  else { /* by the name that was given: in a cache it may be a link to a file whose name is its digest */
    char *slash = strrchr(folder, '/');
    names.items[names.n++] = arena_copy(&names.arena, slash != NULL ? slash + 1 : folder);
    names.n_seen = 1;
    (void)snprintf(slash != NULL ? slash : folder, 2, "%s", slash == folder ? "/" : slash != NULL ? "" : ".");
  }
  enum lynx_status status = LYNX_OK;
  if (names.n == 0) status = lynx_fail(error, LYNX_INPUT, "%s holds no weight files (safetensors, gguf, onnx, pt, bin, ...)", path);
  if (names.n_seen > names.n) status = lynx_fail(error, LYNX_LIMIT, "%s holds more than %d weight files", path, MODEL_FILES_MAX);
  struct digest_leaf *leaves = xalloc(names.n + 1, sizeof *leaves);
  for (size_t i = 0; i < names.n && status == LYNX_OK; i++) status = read_leaf(folder, names.items[i], &leaves[i], error);
  if (status == LYNX_OK) {
    uint8_t root[DIGEST_BYTES];
    digest_tree(leaves, names.n, root);
    (void)digest_hex(root, ret);
  }
  *ret_n = names.n;
  free(leaves);
  arena_release(&names.arena);
  return status;
}
