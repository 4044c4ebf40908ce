#include "attribute/live_module.h"

#include <stdlib.h>
#include <string.h>

#include "executor/layer_map.h"

const char *live_module_file(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

bool live_is_interpreter(const char *module) {
  const char *file = live_module_file(module);
  return strncmp(file, "libpython", 9) == 0 || strncmp(file, "python", 6) == 0 || strstr(module, "/lib-dynload/") != NULL;
}

bool live_is_c_library(const char *file) {
  static const char *const begins[] = {"libc.so", "libc-2.", "libc.musl", "ld-musl"};
  for (size_t i = 0; i < LYNX_COUNT(begins); i++)
    if (strncmp(file, begins[i], strlen(begins[i])) == 0) return true;
  return false;
}

static bool holds_library(const struct live *live, const char *part) {
  for (size_t i = 0; i < live->facts.n_items; i++)
    if (strstr(live->facts.items[i].key, part) != NULL) return true;
  return false;
}

struct live_part live_kernel_part(void) {
  return (struct live_part){
      .kind = LIVE_KERNEL, .what = "the kernel", .where = "", .would = "", .inside = "", .attributed = true, .layer = LAYER_SYSTEM};
}

bool live_is_kernel(const char *module) {
  return strcmp(module, "[kernel]") == 0;
}

bool live_is_spinning(const char *function) {
  static const char *const words[] = {"sched_yield",
                                      "spin_wait",
                                      "spinwait",
                                      "spin_lock",
                                      "spinlock",
                                      "spin_until",
                                      "spin_while",
                                      "spin_loop",
                                      "do_spin",
                                      "busy_wait",
                                      "busywait",
                                      "memory_fence",
                                      "gomp_team_barrier_wait",
                                      "gomp_barrier_wait",
                                      "__kmp_wait",
                                      "__kmp_hyper_barrier",
                                      "kmp_flag",
                                      "__kmp_fork_barrier"};
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strcasestr(function, words[i]) != NULL) return true;
  return false;
}

/* What libraries keep for processors without vectors: MKL's default and SSE branches (but for its kernels for AMD's), OpenBLAS's old cores,
 * PyTorch's kernels without AVX2, oneDNN's reference code. */
static bool is_generic(const char *function) {
  static const char *const parts[] = {"_PRESCOTT", "_NEHALEM", "_KATMAI", "_CORE2", "_PENRYN", "_GENERIC", "6native7DEFAULT"};
  static const char *const branches[] = {"mkl_blas_def_", "mkl_blas_mc3_", "mkl_blas_cnr_"};
  static const char *const reference[] = {"ref_matmul", "ref_inner_product", "ref_convolution", "ref_gemm"};
  for (size_t i = 0; i < LYNX_COUNT(parts); i++)
    if (strstr(function, parts[i]) != NULL) return true;
  for (size_t i = 0; i < LYNX_COUNT(branches); i++)
    if (strncmp(function, branches[i], strlen(branches[i])) == 0)
      return strstr(function, "_zen") == NULL && strstr(function, "_bdz") == NULL;
  for (size_t i = 0; i < LYNX_COUNT(reference) && strstr(function, "dnnl") != NULL; i++)
    if (strstr(function, reference[i]) != NULL) return true;
  return false;
}

/* PyTorch's copies into another type and NumPy's; those within one type; PyTorch's own matrix product, for types
 * that the libraries below it have none for; half precision by single. */
static const struct {
  const char *part, *name;
  enum live_kernel_kind kind;
} kernel_names[] = {{"11copy_kernel", "copy_kernel", LIVE_CONVERTING},
                    {"float_copy_kernel", "float_copy_kernel", LIVE_CONVERTING},
                    {"float_bfloat16_copy_kernel", "float_bfloat16_copy_kernel", LIVE_CONVERTING},
                    {"_contig_cast_", NULL, LIVE_CONVERTING},
                    {"direct_copy_kernel", "direct_copy_kernel", LIVE_COPYING},
                    {"cat_serial_kernel", "cat_serial_kernel", LIVE_COPYING},
                    {"_to_contig", NULL, LIVE_COPYING},
                    {"contig_to_", NULL, LIVE_COPYING},
                    {"strided_to_strided", NULL, LIVE_COPYING},
                    {"cpublas_gemm_impl", "cpublas_gemm_impl", LIVE_FALLBACK},
                    {"fp16_dot_with_fp32_arith", "fp16_dot_with_fp32_arith", LIVE_FALLBACK},
                    {"fp16_gemv", "fp16_gemv", LIVE_FALLBACK},
                    {"__extendhfsf2", NULL, LIVE_FALLBACK},
                    {"__truncsfhf2", NULL, LIVE_FALLBACK},
                    {"__truncsfbf2", NULL, LIVE_FALLBACK}};

enum live_kernel_kind live_kernel_kind_of(const char *function, const char **ret_name) {
  *ret_name = function;
  if (is_generic(function)) return LIVE_GENERIC;
  for (size_t i = 0; i < LYNX_COUNT(kernel_names); i++) {
    if (strstr(function, kernel_names[i].part) == NULL) continue;
    if (kernel_names[i].name != NULL) *ret_name = kernel_names[i].name;
    return kernel_names[i].kind;
  }
  return LIVE_ORDINARY;
}

/* What is spun in the kernel is a wait that the program chose. */
static struct live_part part_of_kernel(struct live *live, const char *doing) {
  struct live_part part = live_kernel_part();
  part.spins = strcmp(doing, "sched_yield") == 0;
  if (doing[0] != 0 && strcmp(doing, "other") != 0) part.what = arena_printf(&live->arena, "the kernel: %s", doing);
  return part;
}

bool live_perf_python(const char *function, const char **ret_name, size_t *ret_length, const char **ret_file) {
  static const char begins[] = "py::";
  size_t n = sizeof begins - 1;
  const char *colon = strncmp(function, begins, n) == 0 ? strchr(function + n, ':') : NULL;
  if (colon == NULL || colon == function + n) return false;
  *ret_name = function + n;
  *ret_length = (size_t)(colon - *ret_name);
  *ret_file = colon + 1;
  return true;
}

static struct live_part part_of_perf_python(struct live *live, const char *name, size_t length, const char *file) {
  struct live_part part = {.kind = LIVE_PYTHON, .where = live_words(&live->arena, file), .would = "", .inside = ""};
  part.what = live_words(&live->arena, arena_text(&live->arena, name, length));
  part.attributed = layer_of_python_file(part.where, &part.layer) == PYTHON_FILE_KNOWN;
  if (!part.attributed) part.would = "whose package that is";
  part.spins = live_is_spinning(part.what);
  return part;
}

/* Whose code is in that module? */
struct live_part live_module_part(struct live *live, const char *module, const char *function) {
  struct live_part part = {.kind = LIVE_LIBRARY, .what = live_module_file(module), .where = "", .would = "", .inside = ""};
  if (live_is_kernel(module)) return part_of_kernel(live, function);
  part.spins = live_is_spinning(function);
  if (part.spins) part.where = arena_printf(&live->arena, "spinning in %s", live_symbol_text(&live->arena, function));
  bool made = strcmp(module, "[anonymous]") == 0;
  const char *name, *python;
  size_t length;
  if (made && live_perf_python(function, &name, &length, &python)) return part_of_perf_python(live, name, length, python);
  if (made) {
    part.what = "code made at run time";
    part.attributed = holds_library(live, "libdnnl") || holds_library(live, "libtorch_cpu");
    part.layer = LAYER_RUNTIME;
    part.where = part.attributed ? "oneDNN's kernels, as that library is loaded" : "";
    part.would = part.attributed ? "" : "the compiler's own map of its code (perf-PID.map)";
    return part;
  }
  part.attributed = layer_of_library(part.what, &part.layer);
  if (!part.attributed && strstr(module, "-packages/") != NULL)
    part.attributed = layer_of_python_file(module, &part.layer) == PYTHON_FILE_KNOWN;
  if (part.attributed) return part;
  bool program = strstr(part.what, ".so") == NULL && module[0] == '/';
  part.kind = program ? LIVE_PROGRAM : LIVE_LIBRARY;
  part.would = program ? "its owner: whose program it is, no map of libraries says" : "whose library it is: no map of libraries has it";
  return part;
}
