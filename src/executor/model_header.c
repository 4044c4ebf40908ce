#include "executor/model_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/json.h"

enum { HEADER_MAX = 32 << 20, TENSORS_MAX = 2000000, RANK_MAX = 16 };

static void count(struct model_header *h, const char *type, uint64_t n_parameters) {
  size_t i = 0;
  h->n_tensors++;
  h->n_parameters += n_parameters;
  while (i < h->n_types && strcmp(h->types[i].name, type) != 0) i++;
  if (i == MODEL_TYPES_MAX) return;
  if (i == h->n_types) (void)text_sanitise(h->types[h->n_types++].name, sizeof h->types[i].name, type, strlen(type));
  h->types[i].n_parameters += n_parameters;
}

static void keep(char *ret, size_t size, const char *text, size_t n) {
  if (ret[0] == 0) (void)text_sanitise(ret, size, text, n);
}

/* A product that overflows is a lie about a size: it counts as none. */
static uint64_t product(const uint64_t *sizes, size_t n) {
  uint64_t result = 1;
  for (size_t i = 0; i < n; i++)
    if (__builtin_mul_overflow(result, sizes[i], &result)) return 0;
  return result;
}

/* --- safetensors --- */

static bool read_safetensors(const uint8_t *data, size_t n, struct model_header *h) {
  uint64_t length = 0;
  if (n < 10) return false;
  for (int i = 7; i >= 0; i--) length = length << 8 | data[i];
  if (length < 2 || length > n - 8 || length > HEADER_MAX || data[8] != '{') return false;
  json_t *json = json_parse((const char *)data + 8, (size_t)length, HEADER_MAX, NULL);
  const char *name;
  json_t *tensor;
  json_object_foreach(json, name, tensor) {
    const char *type = json_get_text(tensor, "dtype", "");
    const json_t *shape = json_object_get(tensor, "shape");
    uint64_t sizes[RANK_MAX];
    size_t rank = json_array_size(shape);
    if (strcmp(name, "__metadata__") == 0 || type[0] == 0 || rank > RANK_MAX) continue;
    for (size_t i = 0; i < rank; i++) {
      json_int_t one = json_integer_value(json_array_get(shape, i));
      sizes[i] = one > 0 ? (uint64_t)one : 0;
    }
    count(h, type, product(sizes, rank));
  }
  bool good = json_is_object(json);
  json_decref(json);
  if (good) keep(h->format, sizeof h->format, "safetensors", 11);
  return good;
}

/* --- GGUF --- */

struct cursor {
  const uint8_t *data;
  size_t n, at;
  bool good;
};

static uint64_t take(struct cursor *c, size_t width) {
  uint64_t value = 0;
  if (!c->good || c->n - c->at < width) {
    c->good = false;
    return 0;
  }
  for (size_t i = width; i > 0; i--) value = value << 8 | c->data[c->at + i - 1];
  c->at += width;
  return value;
}

static struct bytes take_text(struct cursor *c) {
  uint64_t length = take(c, 8);
  if (!c->good || length > c->n - c->at) {
    c->good = false;
    return (struct bytes){"", 0};
  }
  struct bytes text = {(const char *)c->data + c->at, (size_t)length};
  c->at += (size_t)length;
  return text;
}

enum { GGUF_STRING = 8, GGUF_ARRAY = 9 };

static size_t gguf_width(uint64_t type) {
  static const uint8_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < sizeof widths ? widths[type] : 0;
}

static void skip_array(struct cursor *c) {
  uint64_t type = take(c, 4), n = take(c, 8);
  size_t width = gguf_width(type);
  if (type == GGUF_STRING)
    for (uint64_t i = 0; i < n && c->good; i++) (void)take_text(c);
  else if (width == 0 || n > (c->n - c->at) / width) c->good = false; /* arrays of arrays are not used by any writer */
  else c->at += (size_t)n * width;
}

static bool ends_with(struct bytes key, const char *end) {
  size_t n = strlen(end);
  return key.length >= n && memcmp(key.ptr + key.length - n, end, n) == 0;
}

static void keep_pair(struct model_header *h, struct bytes key, struct bytes text, uint64_t number) {
  char digits[24];
  (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
  if (bytes_equal(key, "general.architecture")) keep(h->architecture, sizeof h->architecture, text.ptr, text.length);
  if (bytes_equal(key, "general.name")) keep(h->name, sizeof h->name, text.ptr, text.length);
  if (bytes_equal(key, "general.file_type")) keep(h->file_type, sizeof h->file_type, digits, strlen(digits));
  if (bytes_equal(key, "tokenizer.ggml.model")) keep(h->tokenizer, sizeof h->tokenizer, text.ptr, text.length);
  if (ends_with(key, ".context_length")) keep(h->context, sizeof h->context, digits, strlen(digits));
  if (bytes_equal(key, "tokenizer.chat_template")) {
    uint8_t digest[DIGEST_BYTES];
    char hex[DIGEST_HEX];
    digest_of(text.ptr, text.length, digest);
    keep(h->chat_template, sizeof h->chat_template, digest_hex(digest, hex), DIGEST_HEX - 1);
  }
}

static const char *gguf_type(uint64_t type) {
  static const char *const names[] = {"F32",   "F16",    "Q4_0", "Q4_1", "",     "",        "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",   "Q2_K",
                                      "Q3_K",  "Q4_K",   "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
                                      "IQ2_S", "IQ4_XS", "I8",   "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16"};
  return type < LYNX_COUNT(names) && names[type][0] != 0 ? names[type] : type == 39 ? "MXFP4" : "other";
}

static bool read_gguf(const uint8_t *data, size_t n, struct model_header *h) {
  struct cursor c = {data, n < HEADER_MAX ? n : HEADER_MAX, 4, true};
  uint64_t version = take(&c, 4), n_tensors = take(&c, 8), n_pairs = take(&c, 8);
  if (!c.good || version < 2 || version > 3 || n_tensors > TENSORS_MAX || n_pairs > TENSORS_MAX) return false;
  for (uint64_t i = 0; i < n_pairs && c.good; i++) {
    struct bytes key = take_text(&c), text = {"", 0};
    uint64_t type = take(&c, 4), number = 0;
    if (type == GGUF_STRING) text = take_text(&c);
    else if (type == GGUF_ARRAY) skip_array(&c);
    else if (gguf_width(type) == 0) c.good = false;
    else number = take(&c, gguf_width(type));
    if (c.good) keep_pair(h, key, text, number);
  }
  for (uint64_t i = 0; i < n_tensors && c.good; i++) {
    uint64_t sizes[RANK_MAX], rank;
    (void)take_text(&c);
    rank = take(&c, 4);
    if (rank > RANK_MAX) return false;
    for (uint64_t k = 0; k < rank; k++) sizes[k] = take(&c, 8);
    uint64_t type = take(&c, 4);
    (void)take(&c, 8);
    if (c.good) count(h, gguf_type(type), product(sizes, (size_t)rank));
  }
  keep(h->format, sizeof h->format, "GGUF", 4);
  return c.good;
}

/* --- ONNX: protocol buffers, of which only the fields that matter are looked at --- */

struct field {
  uint64_t number, value; /* value: of a varint */
  struct cursor inside;   /* of a length-delimited one */
  unsigned wire;
};

static uint64_t take_varint(struct cursor *c) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint64_t byte = take(c, 1);
    value |= (byte & 0x7f) << shift;
    if (!c->good || (byte & 0x80) == 0) return value;
  }
  c->good = false;
  return 0;
}

static bool next_field(struct cursor *c, struct field *ret) {
  if (!c->good || c->at >= c->n) return false;
  uint64_t tag = take_varint(c), length;
  *ret = (struct field){.number = tag >> 3, .wire = (unsigned)(tag & 7)};
  switch (ret->wire) {
    case 0: ret->value = take_varint(c); break;
    case 1: (void)take(c, 8); break;
    case 5: (void)take(c, 4); break;
    case 2:
      length = take_varint(c);
      if (!c->good || length > c->n - c->at) c->good = false;
      else {
        ret->inside = (struct cursor){c->data + c->at, (size_t)length, 0, true};
        c->at += (size_t)length;
      }
      break;
    default: c->good = false;
  }
  return c->good && ret->number != 0;
}

static const char *onnx_type(uint64_t type) {
  static const char *const names[] = {"",    "F32", "U8",  "I8",   "U16",  "I16",     "I32",     "I64",     "STRING",  "BOOL", "F16", "F64",
                                      "U32", "U64", "C64", "C128", "BF16", "F8_E4M3", "F8_E4M3", "F8_E5M2", "F8_E5M2", "U4",   "I4",  "F4"};
  return type < LYNX_COUNT(names) && names[type][0] != 0 ? names[type] : "other";
}

/* TensorProto: 1 dims, 2 data_type */
static void read_tensor(struct cursor c, struct model_header *h) {
  uint64_t n = 1, type = 0;
  struct field f;
  while (next_field(&c, &f)) {
    if (f.number == 1 && f.wire == 0 && __builtin_mul_overflow(n, f.value, &n)) n = 0;
    if (f.number == 1 && f.wire == 2)
      while (f.inside.good && f.inside.at < f.inside.n)
        if (__builtin_mul_overflow(n, take_varint(&f.inside), &n)) n = 0;
    if (f.number == 2 && f.wire == 0) type = f.value;
  }
  count(h, onnx_type(type), n);
}

/* ModelProto: 1 ir_version, 2 producer_name, 3 producer_version, 7 graph, 8 opset_import {1 domain, 2 version}; GraphProto: 5 initializer
 */
static bool read_onnx(const uint8_t *data, size_t n, struct model_header *h) {
  struct cursor c = {data, n, 0, true};
  struct field f, g;
  bool graph = false, version = false;
  char producer[120] = "";
  while (next_field(&c, &f)) {
    size_t used = strlen(producer);
    if (f.number == 1 && f.wire == 0) version = true;
    if ((f.number == 2 || f.number == 3) && f.wire == 2 && f.inside.n < 60 && used < 60)
      (void)snprintf(producer + used, sizeof producer - used, "%s%.*s", used > 0 ? " " : "", (int)f.inside.n, (const char *)f.inside.data);
    if (f.number == 8 && f.wire == 2) {
      bool standard = true;
      uint64_t opset = 0;
      while (next_field(&f.inside, &g)) {
        if (g.number == 1 && g.wire == 2 && g.inside.n > 0) standard = false;
        if (g.number == 2 && g.wire == 0) opset = g.value;
      }
      if (standard && h->opset[0] == 0) (void)snprintf(h->opset, sizeof h->opset, "%llu", (unsigned long long)opset);
    }
    if (f.number == 7 && f.wire == 2) {
      graph = true;
      uint64_t n_initializers = 0;
      while (n_initializers < TENSORS_MAX && next_field(&f.inside, &g))
        if (g.number == 5 && g.wire == 2) {
          read_tensor(g.inside, h);
          n_initializers++;
        }
    }
  }
  keep(h->producer, sizeof h->producer, producer, strlen(producer));
  if (c.good && graph && version) keep(h->format, sizeof h->format, "ONNX", 4);
  return c.good && graph && version;
}

bool model_header_read(const uint8_t *data, size_t n, struct model_header *ret) {
  struct model_header before = *ret;
  bool good = n >= 24 && memcmp(data, "GGUF", 4) == 0 ? read_gguf(data, n, ret)
              : n >= 10 && data[8] == '{'             ? read_safetensors(data, n, ret)
                                                      : read_onnx(data, n, ret);
  if (!good) *ret = before; /* half of a damaged file is not counted */
  ret->n_files += good;
  return good;
}

static int by_share(const void *a, const void *b) {
  const struct model_type *x = a, *y = b;
  if (x->n_parameters != y->n_parameters) return x->n_parameters > y->n_parameters ? -1 : 1;
  return strcmp(x->name, y->name);
}

char *model_types_text(const struct model_header *header, char *text, size_t size) {
  struct model_type sorted[MODEL_TYPES_MAX];
  size_t used = 0;
  memcpy(sorted, header->types, sizeof sorted);
  qsort(sorted, header->n_types, sizeof *sorted, by_share);
  text[0] = 0;
  for (size_t i = 0; i < header->n_types && used + 1 < size; i++) {
    (void)snprintf(text + used, size - used, "%s%s %.1f %%", i > 0 ? ", " : "", sorted[i].name,
                   header->n_parameters > 0 ? 100 * (double)sorted[i].n_parameters / (double)header->n_parameters : 0);
    used = strlen(text);
  }
  (void)snprintf(text + used, size - used, " of %.4g %s parameters",
                 header->n_parameters >= 1000000000 ? (double)header->n_parameters / 1e9 : (double)header->n_parameters / 1e6,
                 header->n_parameters >= 1000000000 ? "G" : "M");
  return text;
}
