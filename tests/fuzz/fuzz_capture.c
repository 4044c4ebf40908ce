/* Captures, and what other tools wrote of a machine, read: no crash, and writing what was read gives the same fingerprint. */
#include <string.h>

#include "executor/capture.h"
#include "executor/import.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
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
