/* reference/safetensors.h: a safetensors file as named tensors of f32.
 * Format   u64 little-endian length of the header; a JSON header {name: {dtype, shape, data_offsets}}; the data
 * Errors   INPUT: lengths, offsets or shapes that do not fit the file; UNSUPPORTED: dtypes other than BF16 and F32
 * Memory   tensor data is converted to f32 and owned by the result.   Limits  1 GiB, 10000 tensors */
#ifndef REFERENCE_SAFETENSORS_H
#define REFERENCE_SAFETENSORS_H

#include "base/arena.h"

struct tensor {
  const char *name;
  int64_t shape[4];
  int n_dims;
  size_t n_values;
  float *values;
};

struct tensor_file {
  struct arena arena;
  struct tensor *tensors;
  size_t n_tensors;
  const char **meta_keys, **meta_values;
  size_t n_meta;
};

enum lynx_status tensor_file_parse(const char *data, size_t length, struct tensor_file *ret, struct lynx_error *error) LYNX_MUST_CHECK;
const struct tensor *tensor_file_find(const struct tensor_file *file, const char *name);
int64_t tensor_file_meta(const struct tensor_file *file, const char *key, int64_t fallback);
void tensor_file_release(struct tensor_file *file);

#endif
