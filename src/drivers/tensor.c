#include "drivers/tensor.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "base/random.h"
#include "base/root.h"

enum { FILE_MAX_BYTES = 1 << 30, LINES_MAX = 100000 };

static const struct {
  const char *name;
  size_t bytes;
} types[TENSOR_TYPE_COUNT] = {
    [TENSOR_BOOL] = {"BOOL", 1},     [TENSOR_UINT8] = {"UINT8", 1}, [TENSOR_UINT16] = {"UINT16", 2}, [TENSOR_UINT32] = {"UINT32", 4},
    [TENSOR_UINT64] = {"UINT64", 8}, [TENSOR_INT8] = {"INT8", 1},   [TENSOR_INT16] = {"INT16", 2},   [TENSOR_INT32] = {"INT32", 4},
    [TENSOR_INT64] = {"INT64", 8},   [TENSOR_FP16] = {"FP16", 2},   [TENSOR_BF16] = {"BF16", 2},     [TENSOR_FP32] = {"FP32", 4},
    [TENSOR_FP64] = {"FP64", 8},     [TENSOR_BYTES] = {"BYTES", 0},
};

const char *tensor_type_text(enum tensor_type type) {
  return types[type].name;
}

bool tensor_type_parse(const char *text, enum tensor_type *ret) {
  for (int i = 0; i < TENSOR_TYPE_COUNT; i++) {
    if (strcmp(types[i].name, text) != 0) continue;
    *ret = (enum tensor_type)i;
    return true;
  }
  return false;
}

size_t tensor_type_bytes(enum tensor_type type) {
  return types[type].bytes;
}

/* --- open dimensions --- */

/* Takes one "name=size" off the text; false at its end. A size of -1: not so written. */
static bool next_size(const char **text, struct bytes *ret_name, int64_t *ret_size) {
  const char *p = *text;
  while (*p == ' ' || *p == ',') p++;
  if (*p == 0) return false;
  const char *end = strchr(p, ',');
  size_t n = end != NULL ? (size_t)(end - p) : strlen(p);
  const char *equals = memchr(p, '=', n);
  *text = p + n;
  *ret_name = (struct bytes){p, equals != NULL ? (size_t)(equals - p) : n};
  *ret_size = -1;
  while (n > 0 && p[n - 1] == ' ') n--;
  if (equals != NULL && (!number_int64(equals + 1, n - (size_t)(equals + 1 - p), ret_size) || *ret_size < 1)) *ret_size = -1;
  return true;
}

enum lynx_status tensor_sizes_check(const struct tensor_sizes *sizes, struct lynx_error *error) {
  struct bytes name;
  int64_t size;
  for (const char *p = sizes->text != NULL ? sizes->text : ""; next_size(&p, &name, &size);)
    if (size < 1)
      return lynx_fail(error, LYNX_INPUT, "workload.options.sizes: '%.*s' is not a dimension's name, = and a size, such as batch=8",
                       (int)(name.length < 60 ? name.length : 60), name.ptr);
  return LYNX_OK;
}

int64_t tensor_size_of(const struct tensor_sizes *sizes, const char *tensor, size_t index, const char *symbol) {
  char place[300];
  struct bytes name;
  int64_t size, any = 1;
  (void)snprintf(place, sizeof place, "%s.%zu", tensor, index);
  for (const char *p = sizes->text != NULL ? sizes->text : ""; next_size(&p, &name, &size);) {
    if (bytes_equal(name, place) || (symbol != NULL && symbol[0] != 0 && bytes_equal(name, symbol))) return size;
    if (bytes_equal(name, "*")) any = size;
  }
  return any;
}

/* --- values --- */

static enum lynx_status count_elements(const struct tensor *t, size_t *ret, struct lynx_error *error) {
  size_t n = 1;
  for (size_t i = 0; i < t->n_dims; i++)
    if (t->dims[i] < 0 || __builtin_mul_overflow(n, (size_t)t->dims[i], &n) || n > TENSOR_SET_MAX)
      return lynx_fail(error, LYNX_LIMIT, "tensor '%.100s' has more than %d elements, or an open dimension", t->name, TENSOR_SET_MAX);
  *ret = n;
  return LYNX_OK;
}

bool tensor_bytes(const struct tensor *t, size_t text_length, size_t *ret) {
  size_t n = 0, each = t->type == TENSOR_BYTES ? text_length + 4 : types[t->type].bytes;
  return count_elements(t, &n, NULL) == LYNX_OK && !__builtin_mul_overflow(n, each, ret) && *ret <= TENSOR_SET_MAX;
}

/* To the nearest half, ties to even; what is too large becomes infinite, and is told by the caller. */
static uint16_t half_of(float value) {
  uint32_t bits, sign;
  memcpy(&bits, &value, sizeof bits);
  sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits >= 0x7f800000) return (uint16_t)(sign | 0x7c00 | (bits > 0x7f800000 ? 0x200 : 0));
  int exponent = (int)(bits >> 23) - 127;
  if (exponent > 15) return (uint16_t)(sign | 0x7c00);
  if (exponent < -25) return (uint16_t)sign;
  uint32_t fraction = (bits & 0x7fffff) | 0x800000,
           shift = exponent < -14 ? (uint32_t)(-1 - exponent) : 13; /* below -14: without a leading one */
  uint32_t kept = fraction >> shift, rest = fraction & (((uint32_t)1 << shift) - 1), tie = (uint32_t)1 << (shift - 1);
  kept += rest > tie || (rest == tie && (kept & 1) != 0);
  return (uint16_t)(sign +
                    (exponent < -14 ? kept : kept + ((uint32_t)(exponent + 14) << 10))); /* a carry goes into the exponent, as it should */
}

static uint16_t brain_half_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void put_float(enum tensor_type type, char *to, double value) {
  float single = (float)value;
  uint16_t half;
  switch (type) {
    case TENSOR_FP64: memcpy(to, &value, sizeof value); break;
    case TENSOR_FP16:
      half = half_of(single);
      memcpy(to, &half, sizeof half);
      break;
    case TENSOR_BF16:
      half = brain_half_of(single);
      memcpy(to, &half, sizeof half);
      break;
    default: memcpy(to, &single, sizeof single);
  }
}

static bool is_float(enum tensor_type type) {
  return type == TENSOR_FP16 || type == TENSOR_BF16 || type == TENSOR_FP32 || type == TENSOR_FP64;
}

/* The largest integer that the type holds exactly, for bounds. */
static int64_t greatest_of(enum tensor_type type) {
  if (type == TENSOR_BOOL) return 1;
  size_t bits = 8 * types[type].bytes;
  bool is_signed = type >= TENSOR_INT8 && type <= TENSOR_INT64;
  return bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - (is_signed ? 1 : 0))) - 1;
}

static enum lynx_status fill_bytes(struct tensor *t, size_t n, struct bytes text, struct arena *arena, struct lynx_error *error) {
  size_t each = text.length + 4, all;
  if (__builtin_mul_overflow(n, each, &all) || all > TENSOR_SET_MAX)
    return lynx_fail(error, LYNX_LIMIT, "tensor '%.100s' would hold more than %d bytes of text", t->name, TENSOR_SET_MAX);
  char *data = arena_alloc(arena, all + 1, 1);
  uint32_t length = (uint32_t)text.length;
  for (size_t i = 0; i < n; i++) {
    memcpy(data + i * each, &length, 4);
    if (text.length > 0) memcpy(data + i * each + 4, text.ptr, text.length);
  }
  t->data = (struct bytes){data, all};
  return LYNX_OK;
}

enum lynx_status tensor_fill(struct tensor *t, uint64_t seed, int64_t integers_below, struct bytes text, struct arena *arena,
                             struct lynx_error *error) {
  size_t n = 0;
  enum lynx_status status = count_elements(t, &n, error);
  if (status != LYNX_OK) return status;
  if (t->type == TENSOR_BYTES) return fill_bytes(t, n, text, arena, error);
  size_t each = types[t->type].bytes;
  if (n > TENSOR_SET_MAX / each) return lynx_fail(error, LYNX_LIMIT, "tensor '%.100s' has more than %d bytes", t->name, TENSOR_SET_MAX);
  struct random_stream random;
  random_init(&random, seed, t->name);
  char *data = arena_alloc(arena, n * each + 1, 1);
  int64_t greatest = greatest_of(t->type), below = integers_below - 1 < greatest ? integers_below : greatest + 1;
  for (size_t i = 0; i < n; i++) {
    uint64_t value = random_below(&random, is_float(t->type) ? 1024 : (uint64_t)below);
    if (is_float(t->type)) put_float(t->type, data + i * each, ((double)value - 512) / 512);
    else memcpy(data + i * each, &value, each); /* little-endian: the low bytes come first */
  }
  t->data = (struct bytes){data, n * each};
  return LYNX_OK;
}

const struct tensor *tensor_find(const struct tensor_set *set, const char *name) {
  for (size_t i = 0; i < set->n_items; i++)
    if (strcmp(set->items[i].name, name) == 0) return &set->items[i];
  return NULL;
}

/* --- a file of requests --- */

struct flattening {
  struct tensor *tensor;
  struct buffer *out;
  size_t n;
  struct lynx_error *error;
};

/* Data may be nested as the shape is, or flat. */
static enum lynx_status flatten(struct flattening *f, const json_t *value, int depth) {
  enum tensor_type type = f->tensor->type;
  if (json_is_array(value)) {
    if (depth > TENSOR_DIMS) return lynx_fail(f->error, LYNX_INPUT, "tensor '%.100s': data nested too deeply", f->tensor->name);
    enum lynx_status status = LYNX_OK;
    for (size_t i = 0; i < json_array_size(value) && status == LYNX_OK; i++) status = flatten(f, json_array_get(value, i), depth + 1);
    return status;
  }
  char element[8];
  bool good = false;
  f->n++;
  if (type == TENSOR_BYTES && json_is_string(value)) {
    uint32_t length = (uint32_t)json_string_length(value);
    good = buffer_append(f->out, &length, 4) && buffer_append(f->out, json_string_value(value), length);
  } else if (type == TENSOR_BOOL && json_is_boolean(value)) {
    element[0] = json_is_true(value) ? 1 : 0;
    good = buffer_append(f->out, element, 1);
  } else if (type != TENSOR_BYTES && type != TENSOR_BOOL && (is_float(type) ? json_is_number(value) : json_is_integer(value))) {
    double number = json_number_value(value);
    int64_t whole = json_is_integer(value) ? (int64_t)json_integer_value(value) : 0, greatest = is_float(type) ? 0 : greatest_of(type);
    bool is_signed = type >= TENSOR_INT8 && type <= TENSOR_INT64;
    if (!is_float(type) && (whole > greatest || whole < (is_signed ? -greatest - 1 : 0)))
      return lynx_fail(f->error, LYNX_INPUT, "tensor '%.100s': %lld does not fit into %s", f->tensor->name, (long long)whole,
                       types[type].name);
    double largest = type == TENSOR_FP16 ? 65504 : type == TENSOR_FP64 ? DBL_MAX : FLT_MAX;
    if (is_float(type) && !(number >= -largest && number <= largest))
      return lynx_fail(f->error, LYNX_INPUT, "tensor '%.100s': %g does not fit into %s", f->tensor->name, number, types[type].name);
    if (is_float(type)) put_float(type, element, number);
    else memcpy(element, &whole, types[type].bytes);
    good = buffer_append(f->out, element, types[type].bytes);
  }
  if (good) return LYNX_OK;
  if (f->out->overflowed) return lynx_fail(f->error, LYNX_LIMIT, "tensor '%.100s' has more than %d bytes", f->tensor->name, TENSOR_SET_MAX);
  return lynx_fail(f->error, LYNX_INPUT, "tensor '%.100s': element %zu is not what %s holds", f->tensor->name, f->n - 1, types[type].name);
}

static enum lynx_status read_tensor(const json_t *object, struct arena *arena, struct tensor *ret, struct lynx_error *error) {
  const char *name = json_get_text(object, "name", NULL), *type = json_get_text(object, "datatype", NULL);
  const json_t *shape = json_object_get(object, "shape"), *data = json_object_get(object, "data");
  if (name == NULL || type == NULL || !json_is_array(shape) || json_array_size(shape) > TENSOR_DIMS || !json_is_array(data))
    return lynx_fail(error, LYNX_INPUT, "a tensor without name, datatype, shape (at most %d numbers) or data", TENSOR_DIMS);
  *ret = (struct tensor){.name = arena_copy(arena, name), .n_dims = json_array_size(shape)};
  if (!tensor_type_parse(type, &ret->type))
    return lynx_fail(error, LYNX_INPUT, "tensor '%.100s': there is no datatype '%.40s'", name, type);
  for (size_t i = 0; i < ret->n_dims; i++) {
    const json_t *dim = json_array_get(shape, i);
    ret->dims[i] = json_is_integer(dim) ? (int64_t)json_integer_value(dim) : -1;
  }
  size_t n = 0;
  struct buffer out;
  buffer_init(&out, TENSOR_SET_MAX);
  struct flattening f = {.tensor = ret, .out = &out, .error = error};
  enum lynx_status status = count_elements(ret, &n, error);
  if (status == LYNX_OK) status = flatten(&f, data, 0);
  if (status == LYNX_OK && f.n != n)
    status = lynx_fail(error, LYNX_INPUT, "tensor '%.100s' has %zu elements, and its shape asks for %zu", name, f.n, n);
  if (status == LYNX_OK) ret->data = (struct bytes){arena_text(arena, out.data != NULL ? out.data : "", out.length), out.length};
  buffer_release(&out);
  return status;
}

static enum lynx_status read_line(const char *line, size_t length, struct arena *arena, struct tensor_set *ret, struct lynx_error *error) {
  json_t *root = json_parse(line, length, FILE_MAX_BYTES, error);
  if (root == NULL) return LYNX_INPUT;
  const json_t *inputs = json_object_get(root, "inputs");
  size_t n = json_array_size(inputs);
  enum lynx_status status = LYNX_OK;
  if (n == 0 || n > TENSORS_MAX) status = lynx_fail(error, LYNX_INPUT, "no list \"inputs\" of 1 to %d tensors", TENSORS_MAX);
  ret->items = arena_alloc(arena, n + 1, sizeof *ret->items);
  for (size_t i = 0; i < n && status == LYNX_OK; i++) {
    status = read_tensor(json_array_get(inputs, i), arena, &ret->items[i], error);
    ret->n_items++;
  }
  json_decref(root);
  return status;
}

enum lynx_status tensor_parse(const char *text, size_t length, struct arena *arena, struct tensor_set **ret, size_t *ret_n,
                              struct lynx_error *error) {
  struct tensor_set *sets = NULL;
  size_t n = 0;
  int line = 0;
  enum lynx_status status = LYNX_OK;
  for (size_t at = 0; at < length && status == LYNX_OK;) {
    const char *end = memchr(text + at, '\n', length - at);
    size_t one = end != NULL ? (size_t)(end - text) - at : length - at;
    line++;
    if (one > 0 && n == LINES_MAX) status = lynx_fail(error, LYNX_LIMIT, "more than %d requests", LINES_MAX);
    else if (one > 0) {
      if (n % 64 == 0) sets = xgrow(sets, n + 64, sizeof *sets);
      sets[n] = (struct tensor_set){0};
      struct lynx_error why = {0};
      status = read_line(text + at, one, arena, &sets[n++], &why);
      if (status != LYNX_OK) {
        lynx_error_at(error, NULL, line, NULL);
        (void)lynx_fail(error, status, "%s", why.message);
      }
    }
    at += one + 1;
  }
  if (status == LYNX_OK && n == 0) status = lynx_fail(error, LYNX_INPUT, "no line {\"inputs\": [...]} in it");
  if (status == LYNX_OK) {
    lynx_assert(sets != NULL);
    *ret = arena_alloc(arena, n, sizeof **ret);
    memcpy(*ret, sets, n * sizeof **ret);
    *ret_n = n;
  }
  free(sets);
  return status;
}

enum lynx_status tensor_read_file(const char *path, struct arena *arena, struct tensor_set **ret, size_t *ret_n, struct lynx_error *error) {
  const struct root root = {""};
  struct buffer text;
  struct lynx_error why = {0};
  buffer_init(&text, FILE_MAX_BYTES);
  enum lynx_status status = root_read(&root, path, &text, error);
  if (status == LYNX_OK && (status = tensor_parse(text.data != NULL ? text.data : "", text.length, arena, ret, ret_n, &why)) != LYNX_OK) {
    lynx_error_at(error, path, why.line, NULL);
    (void)lynx_fail(error, status, "%s", why.message);
  }
  buffer_release(&text);
  return status;
}
