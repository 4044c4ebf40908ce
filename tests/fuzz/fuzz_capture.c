/* Captures, and what other tools wrote of a machine, read: no crash, and writing what was read gives the same fingerprint. Git's index and
 * packs, which a probe reads: no crash, and a tree's name is the same twice. */
#include <string.h>

#include "executor/capture.h"
#include "executor/git_object.h"
#include "executor/import.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_git(const uint8_t *data, size_t size) {
  uint8_t first[GIT_NAME], second[GIT_NAME];
  struct buffer object;
  int type;
  if (git_index_tree(data, size, first)) HOLDS(git_index_tree(data, size, second) && memcmp(first, second, GIT_NAME) == 0);
  uint64_t found;
  if (size > 1052) (void)git_pack_find(data, size, data + 1032, &found);
  for (uint64_t offset = 12; offset < size && offset < 600; offset++) {
    buffer_init(&object, 1 << 20);
    const struct git_pack pack = {data, data, size, size};
    if (git_pack_object(&pack, offset, &object, &type)) HOLDS(type >= 1 && type <= 4);
    buffer_release(&object);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 4 && (memcmp(data, "DIRC", 4) == 0 || memcmp(data, "PACK", 4) == 0 || memcmp(data, "\377tOc", 4) == 0)) {
    read_git(data, size);
    return 0;
  }
  struct fact_list facts = {0}, again = {0};
  struct lynx_error error = {0};
  struct buffer json;
  char first[DIGEST_HEX], second[DIGEST_HEX];
  buffer_init(&json, 64 << 20);
  if (capture_import((const char *)data, size, &facts, &error) == LYNX_OK) {
    HOLDS(capture_write(&facts, &(struct capture_head){.taken_at = ""}, &json));
    HOLDS(capture_read(json.data, json.length, &again, &error) == LYNX_OK);
    capture_fingerprint(&facts, first);
    capture_fingerprint(&again, second);
    HOLDS(strcmp(first, second) == 0);
  }
  buffer_release(&json);
  fact_list_release(&facts);
  fact_list_release(&again);
  return 0;
}
