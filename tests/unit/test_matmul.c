/* Every precision against a plain product in double; and what the library says that it executes. */
#include <stdlib.h>

#include "base/random.h"
#include "reference/matmul.h"
#include "reference/safetensors.h"
#include "tests/check.h"

static float uniform(struct random_stream *r) {
  return (float)(random_next(r) >> 40) / 8388608.0f - 1;
}

/* By what oneDNN asks for, whether natively or not, and what it may use (ONEDNN_MAX_CPU_ISA): bf16 from AVX-512 on. */
static bool processor_has(enum precision precision) {
#if defined(__x86_64__)
  const char *most = getenv("ONEDNN_MAX_CPU_ISA");
  static const char *const below[] = {"SSE41", "AVX", "AVX2", "AVX2_VNNI"};
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512dq");
  for (size_t i = 0; i < LYNX_COUNT(below) && most != NULL; i++) wide = wide && strcmp(most, below[i]) != 0;
  return precision != PRECISION_BF16 || wide;
#else
  return precision == PRECISION_F32;
#endif
}

/* of_8_bits, of_7_bits: six standard deviations of the rounding of 64 products, by the bits of the weights. */
static void product(struct onednn *onednn, enum precision precision, double of_8_bits, double of_7_bits) {
  enum { N_OUT = 96, N_IN = 64 };
  static float w[N_OUT * N_IN], x[MATMUL_ROWS_MAX * N_IN], y[MATMUL_ROWS_MAX * N_OUT];
  struct random_stream r;
  struct matmul *m;
  struct lynx_error error = {0};
  random_init(&r, 3, "matmul");
  for (int i = 0; i < N_OUT * N_IN; i++) w[i] = uniform(&r);
  for (int i = 0; i < MATMUL_ROWS_MAX * N_IN; i++) x[i] = uniform(&r);
  enum lynx_status status = matmul_create(onednn, precision, w, N_OUT, N_IN, &m, &error);
  CHECK_INT(status, processor_has(precision) ? LYNX_OK : LYNX_UNSUPPORTED);
  if (status != LYNX_OK) {
    CHECK_CONTAINS(error.message, "oneDNN");
    return;
  }
  (void)printf("%s: %s, %s, weights of %d bits\n", precision_text(precision), primitive_status(precision, matmul_primitive(m)),
               matmul_primitive(m), matmul_weight_bits(m));
  double tolerance = matmul_weight_bits(m) == 7 ? of_7_bits : of_8_bits;
  static const int rows[] = {1, 2, 4, 5, 16, 17, MATMUL_ROWS_MAX}; /* compiled shapes, and sizes that are padded to one */
  for (size_t k = 0; k < LYNX_COUNT(rows); k++) {
    matmul_run(m, x, rows[k], y);
    double worst = 0;
    for (int row = 0; row < rows[k]; row++)
      for (int o = 0; o < N_OUT; o++) {
        double exact = 0;
        for (int i = 0; i < N_IN; i++) exact += (double)x[row * N_IN + i] * w[o * N_IN + i];
        worst = fmax(worst, fabs(exact - y[row * N_OUT + o]));
      }
    CHECK(worst < tolerance);
    CHECK(precision == PRECISION_F32 || worst > 1e-6); /* it really is a lower precision */
  }
  matmul_close(m);
}

static void names(void) {
  CHECK_TEXT(primitive_status(PRECISION_BF16, "brg:avx512_core_amx_bf16"), "native");
  CHECK_TEXT(primitive_status(PRECISION_BF16, "brg:avx512_core"), "emulated");
  CHECK_TEXT(primitive_status(PRECISION_BF16, "ref:any"), "emulated");
  CHECK_TEXT(primitive_status(PRECISION_INT8, "brg:avx512_core_vnni"), "native");
  CHECK_TEXT(primitive_status(PRECISION_INT8, "gemm:jit"), "emulated");
}

static void tensors(void) {
  static const char good[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},\"__metadata__\":{\"dim\":\"7\"}}";
  static const char *const bad[] = {
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,9]}}",  /* offsets that do not fit the shape */
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[4,12]}}", /* past the end */
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1,2],\"data_offsets\":[0,8]}}",
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", /* overflows */
      "{\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
      "[1]",
  };
  char data[512];
  struct tensor_file file;
  struct lynx_error error = {0};
  for (size_t i = 0; i <= LYNX_COUNT(bad); i++) {
    const char *header = i < LYNX_COUNT(bad) ? bad[i] : good;
    uint64_t n = strlen(header);
    memcpy(data, &n, 8);
    memcpy(data + 8, header, n);
    const float values[] = {1.5f, -2};
    memcpy(data + 8 + n, values, 8);
    enum lynx_status status = tensor_file_parse(data, 16 + n, &file, &error);
    CHECK_INT(status == LYNX_OK, i == LYNX_COUNT(bad));
    if (status != LYNX_OK) continue;
    CHECK_NEAR(tensor_file_find(&file, "a")->values[1], -2, 0);
    CHECK_INT(tensor_file_meta(&file, "dim", 0), 7);
    tensor_file_release(&file);
  }
  uint64_t huge = UINT64_MAX;
  memcpy(data, &huge, 8);
  CHECK_INT(tensor_file_parse(data, 100, &file, &error), LYNX_INPUT);
  CHECK_INT(tensor_file_parse(data, 3, &file, &error), LYNX_INPUT);
}

int main(void) {
  struct onednn *onednn;
  struct lynx_error error = {0};
  CHECK_INT(onednn_open(&onednn, &error), LYNX_OK);
  product(onednn, PRECISION_F32, 1e-4, 0);
  product(onednn, PRECISION_BF16, 0.15, 0); /* 64 products of two numbers with 8 bits each */
  product(onednn, PRECISION_INT8, 0.09, 0.142);
  onednn_close(onednn);
  names();
  tensors();
  return check_end();
}
