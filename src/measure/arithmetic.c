#include "measure/arithmetic.h"

/* Twelve chains hide the latency of a multiply-add (4 to 5 cycles) on units that begin two in a cycle. */
#define CHAINS 12
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)

/* A function of one instruction: what the compiler must be let use, the first value of each chain, what is multiplied or added, the
 * multiply-add, operations of each. START and USE are the architecture's. */
#define KERNEL(NAME, ATTRIBUTES, A, B, STEP, OPERATIONS)                                                                                   \
  ATTRIBUTES static double NAME(int64_t rounds) {                                                                                          \
    __typeof__(A) a = (A);                                                                                                                 \
    __typeof__(B) b = (B);                                                                                                                 \
    EACH(START)                                                                                                                            \
    for (int64_t i = 0; i < rounds; i++) {                                                                                                 \
      EACH(STEP)                                                                                                                           \
    }                                                                                                                                      \
    EACH(USE)                                                                                                                              \
    return (double)rounds * CHAINS * (OPERATIONS);                                                                                         \
  }

static bool always(void) {
  return true;
}

#if defined __x86_64__
#include <immintrin.h>

/* Told nothing of their values, the compiler takes the chains for different ones; and each of them is used. */
#define USE(k) __asm__ volatile("" : : "x"(x##k));
#define START(k)                                                                                                                           \
  __typeof__(a) x##k = a;                                                                                                                  \
  __asm__ volatile("" : "+x"(x##k));

#define WITH(TARGET) __attribute__((target(TARGET)))
#define FMA_512S(k) x##k = _mm512_fmadd_ps(x##k, a, b);
#define FMA_512D(k) x##k = _mm512_fmadd_pd(x##k, a, b);
#define FMA_256S(k) x##k = _mm256_fmadd_ps(x##k, a, b);
#define FMA_256D(k) x##k = _mm256_fmadd_pd(x##k, a, b);
#define DOT_INT8(k) x##k = _mm512_dpbusd_epi32(x##k, a, b);
#define DOT_BF16(k) x##k = _mm512_dpbf16_ps(x##k, b, b);
#define SSE_S(k) x##k = _mm_add_ps(_mm_mul_ps(x##k, a), b);
#define SSE_D(k) x##k = _mm_add_pd(_mm_mul_pd(x##k, a), b);

KERNEL(f32_avx512, WITH("avx512f"), _mm512_set1_ps(0.999F), _mm512_set1_ps(0.001F), FMA_512S, 32)
KERNEL(f64_avx512, WITH("avx512f"), _mm512_set1_pd(0.999), _mm512_set1_pd(0.001), FMA_512D, 16)
KERNEL(f32_avx2, WITH("avx2,fma"), _mm256_set1_ps(0.999F), _mm256_set1_ps(0.001F), FMA_256S, 16)
KERNEL(f64_avx2, WITH("avx2,fma"), _mm256_set1_pd(0.999), _mm256_set1_pd(0.001), FMA_256D, 8)
KERNEL(f32_sse2, WITH("sse2"), _mm_set1_ps(0.999F), _mm_set1_ps(0.001F), SSE_S, 8)
KERNEL(f64_sse2, WITH("sse2"), _mm_set1_pd(0.999), _mm_set1_pd(0.001), SSE_D, 4)
KERNEL(int8_avx512_vnni, WITH("avx512f,avx512vnni"), _mm512_set1_epi8(1), _mm512_set1_epi8(2), DOT_INT8, 128)
KERNEL(bf16_avx512, WITH("avx512f,avx512bf16"), _mm512_set1_ps(0.001F), _mm512_cvtne2ps_pbh(a, a), DOT_BF16, 64)

static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") != 0;
}
static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static bool has_bf16(void) {
  return __builtin_cpu_supports("avx512bf16") != 0;
}
static bool has_vnni(void) {
  return __builtin_cpu_supports("avx512vnni") != 0;
}

const struct arithmetic arithmetic_all[] = {
    {"f32", "avx512f", has_avx512, f32_avx512},     {"f32", "avx2 and fma", has_avx2, f32_avx2},         {"f32", "sse2", always, f32_sse2},
    {"f64", "avx512f", has_avx512, f64_avx512},     {"f64", "avx2 and fma", has_avx2, f64_avx2},         {"f64", "sse2", always, f64_sse2},
    {"bf16", "avx512_bf16", has_bf16, bf16_avx512}, {"int8", "avx512_vnni", has_vnni, int8_avx512_vnni}, {NULL, NULL, NULL, NULL}};
#else

#if defined __aarch64__
#include <arm_neon.h>
#define USE(k) __asm__ volatile("" : : "w"(x##k));
#define START(k)                                                                                                                           \
  __typeof__(a) x##k = a;                                                                                                                  \
  __asm__ volatile("" : "+w"(x##k));
#define STEP_F32(k) x##k = vfmaq_f32(b, x##k, a);
#define STEP_F64(k) x##k = vfmaq_f64(b, x##k, a);
typedef float32x4_t vector_f32;
typedef float64x2_t vector_f64;
static const char vectors[] = "neon";
#else
static volatile double sink;
#define USE(k) sink = (double)x##k[0];
#define START(k) __typeof__(a) x##k = a + (k);
#define STEP_F32(k) x##k = x##k * a + b;
#define STEP_F64(k) x##k = x##k * a + b;
typedef float vector_f32 __attribute__((vector_size(16)));
typedef double vector_f64 __attribute__((vector_size(16)));
static const char vectors[] = "the compiler's vectors";
#endif

KERNEL(f32_vector, , (vector_f32){0} + 0.5F, (vector_f32){0} + 0.25F, STEP_F32, 8)
KERNEL(f64_vector, , (vector_f64){0} + 0.5F, (vector_f64){0} + 0.25F, STEP_F64, 4)

const struct arithmetic arithmetic_all[] = {
    {"f32", vectors, always, f32_vector}, {"f64", vectors, always, f64_vector}, {NULL, NULL, NULL, NULL}};
#endif
