/* drivers/tensor.h: the inputs of models that take tensors: made to shape and type from a seed, or read from a file of requests.
 * Shapes   dims[n_dims], row-major; one set of tensors per request
 * Units    data in the machine's byte order (little-endian, as the protocols have it); BYTES: each element a 4-byte length and the bytes
 * Errors   INPUT: a type, shape or element that is not so, with the tensor's name; LIMIT: more than TENSOR_SET_MAX bytes
 * Source   Open Inference Protocol v2, tensor data and datatypes */
#ifndef DRIVERS_TENSOR_H
#define DRIVERS_TENSOR_H

#include "base/arena.h"
#include "base/buffer.h"

enum { TENSOR_DIMS = 8, TENSORS_MAX = 64, TENSOR_SET_MAX = 256 << 20 };

enum tensor_type {
  TENSOR_BOOL,
  TENSOR_UINT8,
  TENSOR_UINT16,
  TENSOR_UINT32,
  TENSOR_UINT64,
  TENSOR_INT8,
  TENSOR_INT16,
  TENSOR_INT32,
  TENSOR_INT64,
  TENSOR_FP16,
  TENSOR_BF16,
  TENSOR_FP32,
  TENSOR_FP64,
  TENSOR_BYTES,
  TENSOR_TYPE_COUNT
};

const char *tensor_type_text(enum tensor_type type); /* "FP32" */
bool tensor_type_parse(const char *text, enum tensor_type *ret);
size_t tensor_type_bytes(enum tensor_type type); /* of an element; 0 for BYTES */

struct tensor {
  const char *name;
  enum tensor_type type;
  int64_t dims[TENSOR_DIMS]; /* -1: any, in what a model declares */
  size_t n_dims;
  struct bytes data;
};

struct tensor_set {
  struct tensor *items;
  size_t n_items;
};

/* "batch=8, sequence=128": what to put where a model leaves a dimension open. A name of the model's, "INPUT.INDEX", or "*" for all. */
struct tensor_sizes {
  const char *text; /* NULL: 1 everywhere */
};
enum lynx_status tensor_sizes_check(const struct tensor_sizes *sizes, struct lynx_error *error) LYNX_MUST_CHECK;
/* symbol: the model's name for the dimension; "" or NULL: none. */
int64_t tensor_size_of(const struct tensor_sizes *sizes, const char *tensor, size_t index, const char *symbol);

/* Values for a declared tensor (every dimension > 0): floats in [-1, 1), integers in [0, integers_below), BYTES the text. */
enum lynx_status tensor_fill(struct tensor *tensor, uint64_t seed, int64_t integers_below, struct bytes text, struct arena *arena,
                             struct lynx_error *error) LYNX_MUST_CHECK;

/* How many bytes tensor_fill makes of a declared tensor, with texts of that length; false: more than there is room for. */
bool tensor_bytes(const struct tensor *tensor, size_t text_length, size_t *ret);

/* A file with a request a line: {"inputs": [{"name", "shape", "datatype", "data"}, ...]}. */
enum lynx_status tensor_read_file(const char *path, struct arena *arena, struct tensor_set **ret, size_t *ret_n,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
/* The same of its bytes. */
enum lynx_status tensor_parse(const char *text, size_t length, struct arena *arena, struct tensor_set **ret, size_t *ret_n,
                              struct lynx_error *error) LYNX_MUST_CHECK;
/* The set's tensor of that name; NULL: none. */
const struct tensor *tensor_find(const struct tensor_set *set, const char *name);

#endif
