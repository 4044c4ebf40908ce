/* git's own files: an index, and packs with deltas. The first byte says which; of a pack the second is where an object is looked for. */
#include <string.h>

#include "executor/git_object.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void whole_index(const uint8_t *data, size_t size) {
  struct git_index index;
  struct git_entry entry;
  uint8_t tree[GIT_NAME];
  size_t n = 0;
  int more;
  if (!git_index_open(data, size, &index)) return;
  while ((more = git_index_next(&index, &entry)) == 1) {
    HOLDS(strlen(entry.path) < GIT_PATH_MAX);
    n++;
  }
  HOLDS(n <= GIT_ENTRIES_MAX && more <= 0);
  (void)git_index_tree(data, size, tree);
}

static void pack(const uint8_t *data, size_t size) {
  struct buffer object;
  int type = 0;
  uint64_t at;
  struct git_pack both = {.data = data + 1, .length = size - 1, .idx = data + 1, .idx_length = size - 1};
  buffer_init(&object, 1 << 20);
  if (git_pack_object(&both, data[0], &object, &type)) HOLDS(type >= 1 && type <= 4);
  buffer_release(&object);
  if (size > GIT_NAME) (void)git_pack_find(data + 1, size - 1, data + size - GIT_NAME, &at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  if (data[0] % 2 == 0) whole_index(data + 1, size - 1);
  else pack(data + 1, size - 1);
  return 0;
}
