#include "reference/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

const int matmul_shapes[MATMUL_SHAPES] = {1, 4, 16, MATMUL_ROWS_MAX};

/* oneDNN multiplies bytes by VPMADDUBSW where a CPU has no VNNI: one operand is moved to 0..255, and the sum of two products is kept in 16
 * signed bits, so that 2 * 255 * 127 is cut to 32767. 2 * 255 * 63 = 32130 fits (oneDNN: "Nuances of int8 computations"). */
enum { INT8_MOST = 127, INT7_MOST = 63 };

struct matmul {
  enum precision precision;
  int n_out, n_in;
  struct product *products[MATMUL_SHAPES];
  struct packed *packed[MATMUL_SHAPES]; /* packed[i] may be another's: owner[i] says whose */
  int owner[MATMUL_SHAPES];
  int w_most;     /* int8: the largest magnitude of a weight, INT8_MOST or INT7_MOST */
  float *w_scale; /* int8: (n_out) */
  float *x_scale; /* int8: (rows) */
  void *x;        /* converted, padded: (MATMUL_ROWS_MAX, n_in) */
  void *y;        /* (MATMUL_ROWS_MAX, n_out): f32 or s32 */
};

static const char *const precision_names[] = {[PRECISION_F32] = "f32", [PRECISION_BF16] = "bf16", [PRECISION_INT8] = "int8"};

bool precision_parse(const char *text, enum precision *ret) {
  for (size_t i = 0; i < LYNX_COUNT(precision_names); i++) {
    if (strcmp(precision_names[i], text) != 0) continue;
    *ret = (enum precision)i;
    return true;
  }
  return false;
}

const char *precision_text(enum precision precision) {
  return precision_names[precision];
}

const char *primitive_status(enum precision precision, const char *primitive) {
  static const char *const bf16[] = {"bf16", "amx", "avx512_core_fp16", "avx10", "avx2_vnni_2", "sve", "acl"},
                           *const int8[] = {"vnni", "amx", "avx512_core_bf16", "avx512_core_fp16", "avx10", "sve", "acl"};
  if (precision == PRECISION_F32) return "native";
  for (size_t i = 0; i < 7; i++)
    if (strstr(primitive, precision == PRECISION_BF16 ? bf16[i] : int8[i]) != NULL) return "native";
  return "emulated";
}

static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16); /* round to nearest even; weights and activations are finite */
}

static void convert_bf16(const float *from, size_t n, uint16_t *to) {
  for (size_t i = 0; i < n; i++) to[i] = to_bf16(from[i]);
}

/* One row or output channel: symmetric, scale = largest magnitude / most. */
static float quantise(const float *from, int n, int most, int8_t *to) {
  float largest = 0;
  for (int i = 0; i < n; i++) largest = fabsf(from[i]) > largest ? fabsf(from[i]) : largest;
  float scale = largest / (float)most, inverse = largest > 0 ? (float)most / largest : 0;
  for (int i = 0; i < n; i++) to[i] = (int8_t)lrintf(from[i] * inverse);
  return scale;
}

static enum lynx_status pack_weights(struct matmul *m, const float *w, int shape, struct lynx_error *error) {
  size_t n = (size_t)m->n_out * (size_t)m->n_in;
  if (m->precision == PRECISION_F32) return product_pack(m->products[shape], w, &m->packed[shape], error);
  void *converted = xalloc(n, m->precision == PRECISION_BF16 ? 2 : 1);
  if (m->precision == PRECISION_BF16) convert_bf16(w, n, converted);
  else
    for (int row = 0; row < m->n_out; row++)
      m->w_scale[row] = quantise(w + (size_t)row * (size_t)m->n_in, m->n_in, m->w_most,
                                 (int8_t *)converted + (size_t)row * (size_t)m->n_in);
  enum lynx_status status = product_pack(m->products[shape], converted, &m->packed[shape], error);
  free(converted);
  return status;
}

/* --- are the sums of int8 right? --- */

/* The values at which sums are cut: every input and weight at its largest magnitude, with the signs of an output alike. */
static enum lynx_status sums_are_exact(struct matmul *m, int shape, int w_most, bool *ret, struct lynx_error *error) {
  size_t n_in = (size_t)m->n_in, n_out = (size_t)m->n_out, rows = (size_t)matmul_shapes[shape];
  int8_t *w = xalloc(n_out * n_in, 1), *x = m->x;
  int32_t *y = m->y;
  struct packed *packed = NULL;
  for (size_t i = 0; i < n_out * n_in; i++) w[i] = (int8_t)(i / n_in % 2 == 0 ? w_most : -w_most);
  for (size_t i = 0; i < rows * n_in; i++) x[i] = (int8_t)(i / n_in % 2 == 0 ? INT8_MOST : -INT8_MOST);
  enum lynx_status status = product_pack(m->products[shape], w, &packed, error);
  if (status == LYNX_OK) {
    product_run(m->products[shape], x, packed, y);
    *ret = true;
    for (size_t row = 0; row < rows; row++)
      for (size_t i = 0; i < n_out; i++) *ret = *ret && y[row * n_out + i] == (row % 2 == i % 2 ? 1 : -1) * w_most * INT8_MOST * m->n_in;
  }
  packed_release(packed);
  free(w);
  return status;
}

/* Eight bits where every shape sums them rightly, else seven: a product that is wrong in silence is none. */
static enum lynx_status choose_weight_bits(struct matmul *m, struct lynx_error *error) {
  static const int most[] = {INT8_MOST, INT7_MOST};
  bool exact = false;
  enum lynx_status status = LYNX_OK;
  for (size_t k = 0; k < LYNX_COUNT(most) && !exact && status == LYNX_OK; k++) {
    exact = true;
    m->w_most = most[k];
    for (int i = 0; i < MATMUL_SHAPES && exact && status == LYNX_OK; i++) status = sums_are_exact(m, i, m->w_most, &exact, error);
  }
  if (status == LYNX_OK && !exact)
    status = lynx_fail(error, LYNX_UNSUPPORTED, "oneDNN's int8 product (%s) sums wrongly on this CPU, with weights of seven bits too",
                       matmul_primitive(m));
  return status;
}

enum lynx_status matmul_create(struct onednn *onednn, enum precision precision, const float *w, int n_out, int n_in, struct matmul **ret,
                               struct lynx_error *error) {
  static const enum onednn_type types[] = {[PRECISION_F32] = ONEDNN_F32, [PRECISION_BF16] = ONEDNN_BF16, [PRECISION_INT8] = ONEDNN_S8};
  struct matmul *m = xalloc(1, sizeof *m);
  *m = (struct matmul){.precision = precision, .n_out = n_out, .n_in = n_in};
  m->w_scale = xalloc((size_t)n_out, sizeof *m->w_scale);
  m->x_scale = xalloc(MATMUL_ROWS_MAX, sizeof *m->x_scale);
  m->x = xalloc((size_t)MATMUL_ROWS_MAX * (size_t)n_in, 4);
  m->y = xalloc((size_t)MATMUL_ROWS_MAX * (size_t)n_out, 4);
  enum lynx_status status = LYNX_OK;
  const int last = MATMUL_SHAPES - 1;
  for (int i = last; i >= 0 && status == LYNX_OK; i--) { /* the largest chooses the layout; the others use it if they can */
    m->owner[i] = i;
    if (i < last &&
        product_create(onednn, types[precision], matmul_shapes[i], n_out, n_in, m->products[last], &m->products[i], NULL) == LYNX_OK &&
        product_shares_weights(m->products[i], m->products[last])) {
      m->owner[i] = last;
      continue;
    }
    product_close(m->products[i]);
    m->products[i] = NULL;
    status = product_create(onednn, types[precision], matmul_shapes[i], n_out, n_in, NULL, &m->products[i], error);
  }
  if (status == LYNX_OK && precision == PRECISION_INT8) status = choose_weight_bits(m, error);
  for (int i = 0; i < MATMUL_SHAPES && status == LYNX_OK; i++)
    if (m->owner[i] == i) status = pack_weights(m, w, i, error);
  if (status != LYNX_OK) {
    matmul_close(m);
    return status;
  }
  *ret = m;
  return LYNX_OK;
}

void matmul_run(struct matmul *m, const float *x, int rows, float *y) {
  lynx_assert(rows >= 1 && rows <= MATMUL_ROWS_MAX);
  int shape = 0;
  while (matmul_shapes[shape] < rows) shape++;
  size_t n_in = (size_t)m->n_in, n_out = (size_t)m->n_out, n = (size_t)rows * n_in, padded = (size_t)matmul_shapes[shape] * n_in;
  size_t width = m->precision == PRECISION_F32 ? 4 : m->precision == PRECISION_BF16 ? 2 : 1;
  if (m->precision == PRECISION_F32) memcpy(m->x, x, n * 4);
  else if (m->precision == PRECISION_BF16) convert_bf16(x, n, m->x);
  else
    for (int row = 0; row < rows; row++)
      m->x_scale[row] = quantise(x + (size_t)row * n_in, m->n_in, INT8_MOST, (int8_t *)m->x + (size_t)row * n_in);
  memset((char *)m->x + n * width, 0, (padded - n) * width);
  product_run(m->products[shape], m->x, m->packed[m->owner[shape]], m->y);
  if (m->precision != PRECISION_INT8) {
    memcpy(y, m->y, (size_t)rows * n_out * 4);
    return;
  }
  const int32_t *sums = m->y;
  for (int row = 0; row < rows; row++)
    for (size_t i = 0; i < n_out; i++) y[(size_t)row * n_out + i] = (float)sums[(size_t)row * n_out + i] * m->x_scale[row] * m->w_scale[i];
}

const char *matmul_primitive(const struct matmul *matmul) {
  return product_primitive(matmul->products[MATMUL_SHAPES - 1]);
}

int matmul_weight_bits(const struct matmul *matmul) {
  static const int bits[] = {[PRECISION_F32] = 32, [PRECISION_BF16] = 16, [PRECISION_INT8] = 8};
  return bits[matmul->precision] - (matmul->w_most == INT7_MOST);
}

void matmul_close(struct matmul *m) {
  if (m == NULL) return;
  for (int i = 0; i < MATMUL_SHAPES; i++) {
    product_close(m->products[i]);
    packed_release(m->packed[i]);
  }
  free(m->w_scale);
  free(m->x_scale);
  free(m->x);
  free(m->y);
  free(m);
}
