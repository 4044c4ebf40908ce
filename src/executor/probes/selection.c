/* Which kernels a library selects on this processor, where it can be asked: the file that the serving process has mapped is loaded into a
 * process of ours that has its variables, and asked. The serving process is left alone.
 * Limits   loading runs the library's own start: only a file of ours or root's that nobody else may write to is loaded, from our own mount
 *          namespace */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/probe.h"

static const char *selection_applies(const struct probe_target *target) {
  char theirs[64], ours[64], path[64];
  const char *why_not = probe_needs_process(target);
  if (why_not != NULL) return why_not;
  if (target->root->path[0] != 0) return "libraries are asked on this machine only, not on a recorded one";
  (void)snprintf(path, sizeof path, "/proc/%lld/ns/mnt", (long long)target->pid);
  if (!root_read_link(target->root, path, theirs, sizeof theirs) || !root_read_link(target->root, "/proc/self/ns/mnt", ours, sizeof ours) ||
      strcmp(theirs, ours) != 0)
    return "the serving process lives among other files (a container): its libraries are not loaded from there";
  return NULL;
}

/* --- what each kind of library can say; false where it is another kind, or does not say --- */

static bool ask_onednn(void *library, char *ret, size_t size) {
  /* Releases 2 and 3 number them differently; what both leave out is told as a number. */
  static const struct {
    unsigned isa;
    const char *name;
  } names[] = {{0x1, "sse41"},
               {0x3, "avx"},
               {0x7, "avx2"},
               {0xf, "avx2_vnni"},
               {0x1f, "avx2_vnni_2"},
               {0x27, "avx512_core"},
               {0x67, "avx512_core_vnni"},
               {0xe7, "avx512_core_bf16"},
               {0x1ef, "avx512_core_fp16"},
               {0x3e7, "avx512_core_amx"},
               {0x407, "avx2_vnni"},
               {0xfef, "avx512_core_amx"},
               {0x1fef, "avx512_core_amx_fp16"}};
  unsigned (*effective)(void) = (unsigned (*)(void))dlsym(library, "dnnl_get_effective_cpu_isa");
  if (effective == NULL) return false;
  unsigned isa = effective();
  (void)snprintf(ret, size, "0x%x", isa);
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (names[i].isa == isa) (void)snprintf(ret, size, "%s", names[i].name);
  return true;
}

/* Distributions give OpenBLAS's symbols prefixes and suffixes of their own, so that several can live in one process. */
static bool ask_openblas(void *library, char *ret, size_t size) {
  static const char *const names[] = {"openblas_get_corename", "openblas_get_corename64_", "openblas_get_corename_64",
                                      "scipy_openblas_get_corename64_", "scipy_openblas_get_corename"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    const char *(*core)(void) = (const char *(*)(void))dlsym(library, names[i]);
    if (core == NULL) continue;
    (void)snprintf(ret, size, "%s", core());
    return true;
  }
  return false;
}

static bool ask_blis(void *library, char *ret, size_t size) {
  int (*query)(void) = (int (*)(void))dlsym(library, "bli_arch_query_id");
  const char *(*name)(int) = (const char *(*)(int))dlsym(library, "bli_arch_string");
  if (query == NULL || name == NULL) return false;
  (void)snprintf(ret, size, "%s", name(query()));
  return true;
}

/* Its own library, and those that hold it (PyTorch): the branch of its kernels, by the numbers of conditional reproducibility. */
static bool ask_mkl(void *library, char *ret, size_t size) {
  static const char *const branches[] = {
      [3] = "compatible", [4] = "SSE2",        [6] = "SSSE3",   [7] = "SSE4.1",         [8] = "SSE4.2",    [9] = "AVX",
      [10] = "AVX2",      [11] = "AVX512 MIC", [12] = "AVX512", [13] = "AVX512 MIC E1", [14] = "AVX512 E1"};
  unsigned (*branch)(void) = (unsigned (*)(void))dlsym(library, "MKL_CBWR_Get_Auto_Branch");
  if (branch == NULL) branch = (unsigned (*)(void))dlsym(library, "mkl_serv_cbwr_get_auto_branch");
  if (branch == NULL) return false;
  unsigned found = branch();
  if (found < LYNX_COUNT(branches) && branches[found] != NULL) (void)snprintf(ret, size, "MKL %s", branches[found]);
  else (void)snprintf(ret, size, "MKL branch %u", found);
  return true;
}

/* What it was compiled for. */
static bool ask_ggml(void *library, char *ret, size_t size) {
  static const char *const features[] = {
      "sse3",        "ssse3",    "avx",  "avx_vnni", "avx2",    "f16c",    "fma",         "bmi2", "avx512", "avx512_vbmi", "avx512_vnni",
      "avx512_bf16", "amx_int8", "neon", "arm_fma",  "fp16_va", "dotprod", "matmul_int8", "sve",  "sme",    "vsx",         "llamafile"};
  size_t used = 0;
  ret[0] = 0;
  for (size_t i = 0; i < LYNX_COUNT(features); i++) {
    char name[48];
    (void)snprintf(name, sizeof name, "ggml_cpu_has_%s", features[i]);
    int (*has)(void) = (int (*)(void))dlsym(library, name);
    if (has == NULL || has() == 0 || used + strlen(features[i]) + 2 > size) continue;
    used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? " " : "", features[i]);
  }
  return used > 0;
}

/* PyTorch's own kernels: at::get_cpu_capability(). It returns a C++ string, which on x86-64 is written where the first argument says. */
static bool ask_torch(void *library, char *ret, size_t size) {
#if defined __x86_64__ && defined __LP64__
  struct {
    const char *text;
    size_t length;
    char room[16];
  } string = {NULL, 0, ""};
  void *(*capability)(void *) = (void *(*)(void *))dlsym(library, "_ZN2at18get_cpu_capabilityB5cxx11Ev");
  if (capability == NULL) return false;
  (void)capability(&string);
  if (string.text == NULL || string.length >= size) return false;
  (void)snprintf(ret, size, "%s", string.text);
  return true;
#else
  (void)library, (void)ret, (void)size;
  return false;
#endif
}

static const struct {
  const char *holds; /* in the library's name */
  bool (*ask)(void *library, char *ret, size_t size);
  const char *key, *call;
} askable[] = {{"libdnnl", ask_onednn, "selects", "dnnl_get_effective_cpu_isa"},
               {"openblas", ask_openblas, "selects", "openblas_get_corename"},
               {"libblis", ask_blis, "selects", "bli_arch_query_id"},
               {"libmkl_rt", ask_mkl, "selects", "MKL_CBWR_Get_Auto_Branch"},
               {"libtorch_cpu", ask_mkl, "selects-mkl", "mkl_serv_cbwr_get_auto_branch"},
               {"libtorch_cpu", ask_torch, "selects", "at::get_cpu_capability"},
               {"libggml-cpu", ask_ggml, "built-for", "ggml_cpu_has_..."}};

/* NULL: yes. */
static const char *may_not_load(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return "it does not lie where it was mapped from";
  if (info.st_uid != 0 && info.st_uid != geteuid()) return "it belongs to another user, and is not loaded into a process of ours";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it, and it is not loaded into a process of ours";
  return NULL;
}

/* Ours that steer libraries are taken away, theirs are put in their place; and no threads are started for a question. */
static void take_environment(const struct fact_list *facts) {
  static const char *const steer[] = {"OPENBLAS_", "MKL_", "ONEDNN_", "DNNL_", "BLIS_", "ATEN_", "GGML_"};
  for (size_t i = 0; i < LYNX_COUNT(steer); i++)
    for (char **variable = environ; *variable != NULL;) {
      char name[200];
      (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(*variable, "="), *variable);
      if (strncmp(name, steer[i], strlen(steer[i])) == 0 && unsetenv(name) == 0) variable = environ;
      else variable++;
    }
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *fact = &facts->items[i];
    if (strncmp(fact->key, "environment.", 12) != 0 || !fact_is_known(fact)) continue;
    for (size_t k = 0; k < LYNX_COUNT(steer); k++)
      if (strncmp(fact->key + 12, steer[k], strlen(steer[k])) == 0) (void)setenv(fact->key + 12, fact->value, 1);
  }
  (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
  (void)setenv("OMP_NUM_THREADS", "1", 1);
}

static void ask(const struct probe_target *target, struct fact_list *facts, const char *key, const char *path, size_t kind) {
  char name[330], answer[300];
  (void)snprintf(name, sizeof name, "%.*s.%s", (int)(strlen(key) - strlen(".path")), key, askable[kind].key);
  const char *why_not = may_not_load(path);
  void *library = why_not == NULL ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
  if (why_not == NULL && library == NULL) why_not = dlerror();
  if (library != NULL && askable[kind].ask(library, answer, sizeof answer))
    probe_fact(target, facts, LAYER_RUNTIME, FACT_IDENTITY, name, answer, "", askable[kind].call);
  else /* state: who looks does not change what the executor is */
    probe_missing(target, facts, LAYER_RUNTIME, FACT_STATE, name, FACT_UNSUPPORTED,
                  why_not != NULL ? why_not : "this build of it has no such call", askable[kind].call);
}

static void selection_collect(const struct probe_target *target, struct fact_list *facts) {
  static const char end[] = ".path";
  size_t n = facts->n_items;
  take_environment(facts);
  for (size_t i = 0; i < n; i++) {
    const char *key = facts->items[i].key, *path = facts->items[i].value;
    size_t length = strlen(key);
    if (strncmp(key, "library.", 8) != 0 || length < sizeof end || strcmp(key + length - strlen(end), end) != 0) continue;
    for (size_t kind = 0; kind < LYNX_COUNT(askable); kind++)
      if (strstr(key, askable[kind].holds) != NULL) ask(target, facts, key, path, kind);
  }
}

const struct probe probe_selection;
const struct probe probe_selection = {.name = "selection",
                                      .summary = "which kernels libraries select on this processor, where they can be asked",
                                      .reads = "the mapped libraries, loaded into a process of ours",
                                      .stage = 2,
                                      .layer = LAYER_RUNTIME,
                                      .applies = selection_applies,
                                      .collect = selection_collect};
