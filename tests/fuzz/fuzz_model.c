/* Headers of model files: no crash, and what is counted adds up. */
#include <string.h>

#include "executor/model_header.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct model_header header = {.n_files = 0};
  char text[1200];
  bool good = model_header_read(data, size, &header);
  HOLDS(good == (header.n_files == 1));
  HOLDS(header.n_types <= MODEL_TYPES_MAX && (good || header.n_tensors == 0));
  HOLDS(strlen(model_types_text(&header, text, sizeof text)) < sizeof text);
  return 0;
}
