#include "reference/safetensors.h"

#include <string.h>

#include "base/json.h"
#include "base/number.h"

enum { TENSORS_MAX = 10000, HEADER_MAX = 16 << 20 };

static enum lynx_status read_tensor(const char *name, const json_t *entry, const char *data, size_t length, struct tensor_file *file,
                                    struct lynx_error *error) {
  struct tensor *t = &file->tensors[file->n_tensors];
  const char *dtype = json_get_text(entry, "dtype", "");
  const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
  size_t width = strcmp(dtype, "F32") == 0 ? 4 : strcmp(dtype, "BF16") == 0 ? 2 : 0;
  if (width == 0) return lynx_fail(error, LYNX_UNSUPPORTED, "tensor %.80s has dtype '%.20s'; BF16 and F32 are read", name, dtype);
  size_t n = 1, n_dims = json_array_size(shape);
  if (!json_is_array(shape) || n_dims > 4 || json_array_size(offsets) != 2)
    return lynx_fail(error, LYNX_INPUT, "tensor %.80s lacks a shape of up to 4 dimensions or its two offsets", name);
  for (size_t i = 0; i < n_dims; i++) {
    t->shape[i] = (int64_t)json_integer_value(json_array_get(shape, i));
    if (t->shape[i] <= 0 || __builtin_mul_overflow(n, (size_t)t->shape[i], &n))
      return lynx_fail(error, LYNX_INPUT, "tensor %.80s has an impossible shape", name);
  }
  json_int_t from = json_integer_value(json_array_get(offsets, 0)), to = json_integer_value(json_array_get(offsets, 1));
  size_t bytes;
  if (from < 0 || to < from || (uint64_t)to > length || __builtin_mul_overflow(n, width, &bytes) || bytes != (size_t)(to - from))
    return lynx_fail(error, LYNX_INPUT, "tensor %.80s: its offsets do not fit its shape or the file", name);
  t->name = arena_copy(&file->arena, name);
  t->n_dims = (int)n_dims;
  t->n_values = n;
  t->values = arena_alloc(&file->arena, n, sizeof *t->values);
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = 0;
    if (width == 4) memcpy(&bits, data + from + 4 * i, 4);
    else {
      uint16_t high;
      memcpy(&high, data + from + 2 * i, 2);
      bits = (uint32_t)high << 16;
    }
    memcpy(&t->values[i], &bits, 4);
  }
  file->n_tensors++;
  return LYNX_OK;
}

static void read_meta(const json_t *entry, struct tensor_file *file) {
  file->meta_keys = arena_alloc(&file->arena, json_object_size(entry) + 1, sizeof *file->meta_keys);
  file->meta_values = arena_alloc(&file->arena, json_object_size(entry) + 1, sizeof *file->meta_values);
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)entry, key, value) {
    file->meta_keys[file->n_meta] = arena_copy(&file->arena, key);
    file->meta_values[file->n_meta++] = arena_copy(&file->arena, json_is_string(value) ? json_string_value(value) : "");
  }
}

enum lynx_status tensor_file_parse(const char *data, size_t length, struct tensor_file *ret, struct lynx_error *error) {
  *ret = (struct tensor_file){0};
  uint64_t header = 0;
  if (length >= 8) memcpy(&header, data, 8); /* little-endian, as this program's machines are */
  if (length < 8 || header > HEADER_MAX || header > length - 8)
    return lynx_fail(error, LYNX_INPUT, "not a safetensors file: its header does not fit into it");
  json_t *root = json_parse(data + 8, (size_t)header, HEADER_MAX, error);
  if (root == NULL) return LYNX_INPUT;
  enum lynx_status status = LYNX_OK;
  if (!json_is_object(root) || json_object_size(root) > TENSORS_MAX)
    status = lynx_fail(error, LYNX_INPUT, "not a safetensors file: its header is not an object of at most %d tensors", TENSORS_MAX);
  if (status == LYNX_OK) ret->tensors = arena_alloc(&ret->arena, json_object_size(root) + 1, sizeof *ret->tensors);
  const char *name;
  json_t *entry;
  json_object_foreach(root, name, entry) {
    if (status != LYNX_OK) break;
    if (strcmp(name, "__metadata__") == 0) read_meta(entry, ret);
    else status = read_tensor(name, entry, data + 8 + header, length - 8 - (size_t)header, ret, error);
  }
  json_decref(root);
  if (status != LYNX_OK) tensor_file_release(ret);
  return status;
}

const struct tensor *tensor_file_find(const struct tensor_file *file, const char *name) {
  for (size_t i = 0; i < file->n_tensors; i++)
    if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
  return NULL;
}

int64_t tensor_file_meta(const struct tensor_file *file, const char *key, int64_t fallback) {
  int64_t value;
  for (size_t i = 0; i < file->n_meta; i++)
    if (strcmp(file->meta_keys[i], key) == 0 && number_int64(file->meta_values[i], strlen(file->meta_values[i]), &value)) return value;
  return fallback;
}

void tensor_file_release(struct tensor_file *file) {
  arena_release(&file->arena);
  *file = (struct tensor_file){0};
}
