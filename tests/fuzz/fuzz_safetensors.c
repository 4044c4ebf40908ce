/* Weights files of the reference executor. */
#include "reference/transformer.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct tensor_file file;
  struct transformer_shape shape;
  struct lynx_error error = {0};
  if (tensor_file_parse((const char *)data, size, &file, &error) != LYNX_OK) return 0;
  if (transformer_file_shape(&file, &shape, &error) == LYNX_OK) HOLDS(shape.dim % shape.heads == 0);
  tensor_file_release(&file);
  return 0;
}
