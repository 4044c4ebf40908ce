/* Captures read back: no crash, and writing what was read gives the same fingerprint. */
#include <string.h>

#include "executor/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fact_list facts = {0}, again = {0};
  struct lynx_error error = {0};
  struct buffer json;
  char first[DIGEST_HEX], second[DIGEST_HEX];
  buffer_init(&json, 64 << 20);
  if (capture_read((const char *)data, size, &facts, &error) == LYNX_OK) {
    lynx_assert(capture_write(&facts, "", &json));
    lynx_assert(capture_read(json.data, json.length, &again, &error) == LYNX_OK);
    capture_fingerprint(&facts, first);
    capture_fingerprint(&again, second);
    lynx_assert(strcmp(first, second) == 0);
  }
  buffer_release(&json);
  fact_list_release(&facts);
  fact_list_release(&again);
  return 0;
}
