#include "executor/difference.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/disclose.h"

/* --- why it may matter --- */

/* The first pattern that fits a key is taken: the narrow ones stand first. */
static const struct {
  const char *pattern;
  enum weight weight;
  const char *reason;
} reasons[] = {
    {"hole.*", WEIGHT_OFTEN, "what cannot be seen cannot be excluded"},
    /* accelerator */
    {"gpu.*.name", WEIGHT_OFTEN, "another GPU has other bandwidth and arithmetic (the vendor's data sheets)"},
    {"gpu.*.power-limit", WEIGHT_OFTEN, "a power cap lowers clocks under load (NVML reference, power management)"},
    {"gpu.*.clock.*-most", WEIGHT_OFTEN, "clock limits bound arithmetic and bandwidth (NVML reference, clocks)"},
    {"gpu.*.mig*", WEIGHT_OFTEN, "a MIG slice has a share of processors and memory (NVIDIA MIG user guide)"},
    {"gpu.*.ecc*", WEIGHT_SOMETIMES, "ECC costs memory capacity and, on GDDR, bandwidth (NVML reference, ECC)"},
    {"gpu.*.pcie-*", WEIGHT_OFTEN, "a narrower or slower link slows copies between host and GPU (PCI Express base specification)"},
    {"gpu.*.nvlink", WEIGHT_OFTEN, "links bound tensor-parallel collectives (NCCL user guide, topology)"},
    {"gpu.*.common-ancestor", WEIGHT_SOMETIMES, "the path between GPUs bounds collectives (NCCL user guide, topology)"},
    {"gpu.*.persistence-mode", WEIGHT_SELDOM, "without it the driver is loaded again for a first use (NVIDIA driver persistence)"},
    {"gpu.*.memory", WEIGHT_OFTEN, "memory bounds batch and context"},
    {"gpu.*.vbios", WEIGHT_SELDOM, "firmware sets clock and power tables"},
    {"gpu.*.clock.*-application*", WEIGHT_OFTEN, "clocks that somebody set hold arithmetic and bandwidth there (NVML reference, clocks)"},
    {"gpu.count", WEIGHT_OFTEN, "another number of GPUs"},
    {"amd-gpu.count", WEIGHT_OFTEN, "another number of GPUs"},
    {"amd-gpu.*.links", WEIGHT_OFTEN, "links bound collectives (RCCL documentation, topology)"},
    {"amd-gpu.*.performance-level", WEIGHT_OFTEN,
     "a level set by hand holds clocks (kernel: gpu/amdgpu, power_dpm_force_performance_level)"},
    {"amd-gpu.*", WEIGHT_OFTEN, "another GPU, or another setting of it"},
    {"accelerator.*.link-width*", WEIGHT_OFTEN, "a narrower link slows copies (PCI Express base specification)"},
    {"accelerator.*.link-speed*", WEIGHT_OFTEN, "a slower link slows copies (PCI Express base specification)"},
    {"accelerator.*", WEIGHT_OFTEN, "another accelerator, or another setting of it"},
    {"infiniband.*.rate", WEIGHT_OFTEN, "the link bounds collectives across hosts"},
    {"infiniband.*.firmware", WEIGHT_SELDOM, "firmware of the network card"},
    {"cpu.isa", WEIGHT_OFTEN, "libraries choose kernels by instruction set (oneDNN: CPU dispatcher control)"},
    {"cpu.model", WEIGHT_OFTEN, "another processor"},
    {"cpu.microcode", WEIGHT_SOMETIMES, "microcode carries mitigations that cost time (kernel: hw-vuln)"},
    {"cpu.smt", WEIGHT_SOMETIMES, "siblings share execution units (kernel: cpu/smt)"},
    {"cpu.online", WEIGHT_OFTEN, "another number of processors"},
    {"topology.*", WEIGHT_OFTEN, "cores, caches and memory nodes bound what runs side by side (hwloc)"},
    /* system */
    {"cpu.governor", WEIGHT_OFTEN, "the governor decides how soon clocks rise (kernel: admin-guide/pm/cpufreq)"},
    {"cpu.no-turbo", WEIGHT_OFTEN, "without turbo the highest clocks are out of reach (kernel: intel_pstate)"},
    {"cpu.boost", WEIGHT_OFTEN, "without boost the highest clocks are out of reach (kernel: cpufreq)"},
    {"cpu.*frequency*", WEIGHT_OFTEN, "frequency limits bound everything that runs on the processor (kernel: cpufreq)"},
    {"cpu.energy-preference", WEIGHT_SOMETIMES, "a hint to save energy delays clocks (kernel: intel_pstate, EPP)"},
    {"cpu.idle-*", WEIGHT_SOMETIMES, "deep sleep takes time to wake from (kernel: admin-guide/pm/cpuidle)"},
    {"cpu.pstate*", WEIGHT_SOMETIMES, "the driver that sets clocks (kernel: intel_pstate)"},
    {"cpu.isolated", WEIGHT_SOMETIMES, "isolated processors are not disturbed, and not used by default (kernel parameters, isolcpus)"},
    {"mitigation.*", WEIGHT_SOMETIMES, "mitigations cost system calls and context switches (kernel: hw-vuln)"},
    {"kernel.command-line", WEIGHT_SOMETIMES, "parameters of the kernel (kernel: admin-guide/kernel-parameters)"},
    {"kernel.clock-source", WEIGHT_SOMETIMES, "a clock that is not the TSC makes every time stamp a system call (vdso(7))"},
    {"kernel.*", WEIGHT_SOMETIMES, "another kernel: scheduler, memory and network code"},
    {"memory.transparent-huge-pages*", WEIGHT_SOMETIMES,
     "huge pages save address translation, and compaction stalls (kernel: mm/transhuge)"},
    {"memory.numa-balancing", WEIGHT_SOMETIMES, "pages are moved, and faulted to learn where from (kernel: sysctl/kernel)"},
    {"memory.size", WEIGHT_SOMETIMES, "another amount of memory"},
    {"memory.speed*", WEIGHT_OFTEN, "decoding is bound by memory bandwidth where weights lie in main memory"},
    {"memory.modules", WEIGHT_OFTEN, "empty channels lower bandwidth (the board's manual)"},
    {"memory.*", WEIGHT_SELDOM, "settings of virtual memory (kernel: sysctl/vm)"},
    {"cgroup.cpu-max", WEIGHT_OFTEN, "a quota stops every thread until the next period (kernel: cgroup-v2, cpu.max)"},
    {"cgroup.cpu-quota", WEIGHT_OFTEN, "a quota stops every thread until the next period (kernel: sched-bwc)"},
    {"cgroup.memory-*", WEIGHT_SOMETIMES, "reclaim begins at the limit (kernel: cgroup-v2, memory.high)"},
    {"cgroup.*", WEIGHT_SOMETIMES, "limits of the control group (kernel: cgroup-v2)"},
    {"process.cpus-allowed", WEIGHT_OFTEN, "the processors that its threads may use (sched_setaffinity(2))"},
    {"process.memories-allowed", WEIGHT_SOMETIMES, "the memory nodes that it may use (set_mempolicy(2))"},
    {"driver.*", WEIGHT_SOMETIMES, "another driver: launch cost, memory management, which runtime it serves"},
    {"machine.virtual", WEIGHT_OFTEN, "a hypervisor takes time and hides hardware"},
    {"storage.*", WEIGHT_SELDOM, "the disk matters while a model is loaded, or where it is read as it runs"},
    {"network.*", WEIGHT_SELDOM, "the network matters between client, proxy and server"},
    {"os.libc", WEIGHT_SELDOM, "memory copies and allocation"},
    /* framework and runtime */
    {"cuda.verdict", WEIGHT_OFTEN, "driver, CUDA and framework fit one another otherwise (CUDA compatibility guide)"},
    {"torch.cuda", WEIGHT_OFTEN, "PyTorch built for another CUDA brings other kernels (PyTorch: get started)"},
    {"torch.hip", WEIGHT_OFTEN, "PyTorch built for another ROCm brings other kernels"},
    {"torch.*", WEIGHT_OFTEN, "another PyTorch: kernels, compiler, allocator"},
    {"graph.execution", WEIGHT_OFTEN, "eager execution pays for each launch (PyTorch: torch.compile, CUDA graphs)"},
    {"python.package.torch*", WEIGHT_OFTEN, "another PyTorch: kernels, compiler, allocator"},
    {"python.package.vllm*", WEIGHT_OFTEN, "another server: scheduler and kernels (its release notes)"},
    {"python.package.sglang*", WEIGHT_OFTEN, "another server: scheduler and kernels (its release notes)"},
    {"python.package.flash*", WEIGHT_OFTEN, "attention kernels"},
    {"python.package.xformers*", WEIGHT_OFTEN, "attention kernels"},
    {"python.package.triton*", WEIGHT_OFTEN, "the compiler of kernels"},
    {"python.package.onnxruntime*", WEIGHT_OFTEN, "another runtime: kernels and graph optimisations"},
    {"python.package.tensorrt*", WEIGHT_OFTEN, "another runtime: kernels and graph optimisations"},
    {"python.package.nvidia-*", WEIGHT_OFTEN, "CUDA libraries that wheels bring along"},
    {"python.package.transformers*", WEIGHT_SOMETIMES, "model code, and what attention it chooses"},
    {"python.package.tokenizers*", WEIGHT_SOMETIMES, "tokenising is part of the time to first token"},
    {"python.package.numpy*", WEIGHT_SOMETIMES, "numerical kernels on the host"},
    {"python.package.*", WEIGHT_SELDOM, "another version of a dependency"},
    {"python.version*", WEIGHT_SOMETIMES, "the interpreter runs the host side of every step"},
    {"library.*", WEIGHT_SOMETIMES, "another build of a library that is mapped: kernels, or how they are chosen"},
    {"environment.OMP_*", WEIGHT_OFTEN, "threads of kernels on the processor (OpenMP: environment variables)"},
    {"environment.MKL_*", WEIGHT_OFTEN, "threads and instruction set of MKL"},
    {"environment.ONEDNN_*", WEIGHT_OFTEN, "instruction set and caches of oneDNN (CPU dispatcher control)"},
    {"environment.CUDA_LAUNCH_BLOCKING", WEIGHT_OFTEN, "every launch waits for its end (CUDA C++ programming guide)"},
    {"environment.CUDA_VISIBLE_DEVICES", WEIGHT_OFTEN, "which GPUs, and in which order"},
    {"environment.NCCL_*", WEIGHT_OFTEN, "collectives (NCCL: environment variables)"},
    {"environment.LD_PRELOAD", WEIGHT_OFTEN, "a library put in front of all others"},
    {"environment.*", WEIGHT_SOMETIMES, "a variable that libraries read"},
    /* serving and application */
    {"serving.server", WEIGHT_OFTEN, "another server"},
    {"serving.version", WEIGHT_OFTEN, "another server: scheduler and kernels (its release notes)"},
    {"serving.*", WEIGHT_OFTEN, "a setting of the server: batching, cache, parallelism, execution"},
    {"process.argument.*", WEIGHT_OFTEN, "an argument of the server"},
    {"process.build-id", WEIGHT_SOMETIMES, "another build of the program that serves"},
    {"process.executable", WEIGHT_SELDOM, "another place of the program; its build id says whether it is another program"},
    {"process.limit.*", WEIGHT_SELDOM, "limits of the process (getrlimit(2))"},
    {"model.digest", WEIGHT_SOMETIMES, "other weights: the same time at the same shape, another answer"},
    {"model.tensor-types", WEIGHT_OFTEN, "the types of the weights decide bytes and kernels"},
    {"model.quantisation", WEIGHT_OFTEN, "the types of the weights decide bytes and kernels"},
    {"model.size", WEIGHT_SOMETIMES, "the bytes that each step reads"},
    {"model.*", WEIGHT_SOMETIMES, "another model, tokenizer or template"},
    {"code.*", WEIGHT_SOMETIMES, "other serving code"},
    /* facility and procurement */
    {"power.*", WEIGHT_OFTEN, "a power cap lowers clocks under load (kernel: powercap)"},
    {"sensor.*", WEIGHT_SOMETIMES, "a limit of a sensor"},
    {"declared.*", WEIGHT_SOMETIMES, "somebody declared it otherwise"},
};

static void give_reason(struct difference *d) {
  d->reason = "";
  for (size_t i = 0; i < LYNX_COUNT(reasons); i++) {
    if (fnmatch(reasons[i].pattern, fact_without_role(d->key), 0) != 0) continue;
    d->weight = reasons[i].weight;
    d->reason = reasons[i].reason;
    return;
  }
}

const char *weight_text(enum weight weight) {
  static const char *const names[] = {
      [WEIGHT_UNKNOWN] = "not known", [WEIGHT_SELDOM] = "seldom", [WEIGHT_SOMETIMES] = "sometimes", [WEIGHT_OFTEN] = "often"};
  return names[weight];
}

/* --- versions --- */

/* A number is newer than none, none newer than letters ("2.0" after "2.0rc1"); what follows "+" is a build, not a version. */
int version_compare(const char *a, const char *b) {
  for (;;) {
    while (*a == '.' || *a == '-' || *a == '_') a++;
    while (*b == '.' || *b == '-' || *b == '_') b++;
    bool ends_a = *a == 0 || *a == '+' || *a == ';' || *a == ' ', ends_b = *b == 0 || *b == '+' || *b == ';' || *b == ' ';
    if (ends_a && ends_b) return 0;
    if (ends_a) return isdigit((unsigned char)*b) ? -1 : 1;
    if (ends_b) return isdigit((unsigned char)*a) ? 1 : -1;
    if (isdigit((unsigned char)*a) != 0 && isdigit((unsigned char)*b) != 0) {
      a += strspn(a, "0");
      b += strspn(b, "0");
      size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
      if (n != m) return n < m ? -1 : 1;
      int order = strncmp(a, b, n);
      if (order != 0) return order < 0 ? -1 : 1;
      a += n;
      b += m;
    } else if (*a == *b) {
      a++;
      b++;
    } else if (isdigit((unsigned char)*a) != 0) return 1;
    else if (isdigit((unsigned char)*b) != 0) return -1;
    else return *a < *b ? -1 : 1;
  }
}

/* "1.2", "535.129.03", "2.4.1+cu121", "version 2.6; build id ...": at least one dot between digits, and a digit first. */
static const char *version_in(const char *value) {
  if (strncmp(value, "version ", 8) == 0) value += 8;
  size_t n = strspn(value, "0123456789");
  return n > 0 && n < 10 && value[n] == '.' && isdigit((unsigned char)value[n + 1]) != 0 ? value : NULL;
}

static bool has_versions(const char *key) {
  static const char *const patterns[] = {"*version*",  "library.*", "python.package.*", "driver.*",  "kernel.release",
                                         "torch.cuda", "torch.hip", "*.vbios",          "*firmware", "os.libc"};
  for (size_t i = 0; i < LYNX_COUNT(patterns); i++)
    if (fnmatch(patterns[i], fact_without_role(key), 0) == 0) return true;
  return false;
}

static enum version_order order_versions(const char *key, const struct fact *a, const struct fact *b) {
  const char *x = version_in(a->value), *y = version_in(b->value);
  if (!has_versions(key) || !fact_is_known(a) || !fact_is_known(b) || x == NULL || y == NULL) return VERSION_NONE;
  int order = version_compare(x, y);
  return order == 0 ? VERSION_NONE : order > 0 ? VERSION_A_NEWER : VERSION_B_NEWER;
}

/* --- differences --- */

static const char *value_text(struct arena *arena, const struct fact *fact) {
  if (fact->status == FACT_READ)
    return fact->unit[0] != 0 ? arena_printf(arena, "%s %s", fact->value, fact->unit) : arena_copy(arena, fact->value);
  return arena_printf(arena, "(%s) %s", fact_status_text(fact->status), fact->value);
}

static int order(const struct fact *a, const struct fact *b) {
  if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
  return strcmp(a->key, b->key);
}

/* A withheld fact is the same as an open one whose salted digest it shows. */
static bool shows(const struct fact *withheld, const struct fact *open, const char *salt) {
  char digest[DIGEST_HEX];
  if (withheld->status != FACT_WITHHELD || (!fact_is_known(open) && open->status != FACT_WITHHELD) || salt[0] == 0) return false;
  fact_digest(open, salt, digest);
  return strcmp(digest, withheld->value) == 0;
}

/* Arguments that are not shown: their source names the salt. */
static bool of_one_salt(const struct fact *a, const struct fact *b) {
  return strstr(a->source, "; salt ") != NULL && strcmp(a->source, b->source) == 0;
}

/* Read or declared, a value is the same value; and why there is none is no part of what is compared. */
static bool same_fact(const struct fact *a, const struct fact *b, const char *salt) {
  if (shows(a, b, salt) || shows(b, a, salt)) return true;
  if (fact_is_known(a) && fact_is_known(b)) return strcmp(a->value, b->value) == 0 && strcmp(a->unit, b->unit) == 0;
  if (!fact_is_known(a) && a->status != FACT_WITHHELD) return a->status == b->status;
  return a->status == b->status && strcmp(a->value, b->value) == 0 && strcmp(a->unit, b->unit) == 0;
}

static void note_holes(struct difference_list *list, const struct fact_list *facts, const char *whose) {
  for (size_t i = 0; i < facts->n_items; i++) {
    if (strncmp(fact_without_role(facts->items[i].key), "hole.", 5) != 0) continue;
    list->holes = xgrow(list->holes, list->n_holes + 1, sizeof *list->holes);
    list->holes[list->n_holes++] = arena_printf(&list->arena, "%s: %s", whose, facts->items[i].value);
  }
}

/* qsort hands no context on: the greatest weight of each layer stands beside each difference while it is sorted. */
struct ranked {
  struct difference difference;
  enum weight greatest;
};

static int by_weight(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  if (x->greatest != y->greatest) return x->greatest > y->greatest ? -1 : 1;
  if (x->difference.layer != y->difference.layer) return x->difference.layer < y->difference.layer ? -1 : 1;
  if (x->difference.weight != y->difference.weight) return x->difference.weight > y->difference.weight ? -1 : 1;
  return strcmp(x->difference.key, y->difference.key);
}

static void sort_by_weight(struct difference_list *list) {
  enum weight greatest[LAYER_COUNT] = {WEIGHT_UNKNOWN};
  struct ranked *all = xalloc(list->n_items + 1, sizeof *all);
  for (size_t i = 0; i < list->n_items; i++) {
    const struct difference *d = &list->items[i];
    if (d->of == FACT_IDENTITY && d->weight > greatest[d->layer]) greatest[d->layer] = d->weight;
  }
  for (size_t i = 0; i < list->n_items; i++) all[i] = (struct ranked){list->items[i], greatest[list->items[i].layer]};
  if (list->n_items > 0) qsort(all, list->n_items, sizeof *all, by_weight);
  for (size_t i = 0; i < list->n_items; i++) list->items[i] = all[i].difference;
  free(all);
}

/* Libraries are loaded when they are first needed: that one is there and the other has none is how far each had come. Another build of
 * the same library is another executor. */
static enum fact_kind of_kind(const struct fact *a, const struct fact *b, int where) {
  const struct fact *named = where <= 0 ? a : b;
  if (where != 0 && strncmp(fact_without_role(named->key), "library.", 8) == 0 && named->kind == FACT_IDENTITY) return FACT_STATE;
  return where == 0 && a->kind == FACT_IDENTITY ? b->kind : named->kind;
}

void capture_diff(const struct fact_list *a, const struct fact_list *b, struct difference_list *ret) {
  *ret = (struct difference_list){.items = xalloc(a->n_items + b->n_items + 1, sizeof *ret->items)};
  for (size_t i = 0, k = 0; i < a->n_items || k < b->n_items;) {
    const struct fact *x = i < a->n_items ? &a->items[i] : NULL, *y = k < b->n_items ? &b->items[k] : NULL;
    int where = x == NULL ? 1 : y == NULL ? -1 : order(x, y);
    i += where <= 0;
    k += where >= 0;
    const struct fact *named = where <= 0 ? x : y;
    lynx_assert(named != NULL); /* one of the two lists had more */
    bool same = where == 0 && same_fact(x, y, a->salt[0] != 0 ? a->salt : b->salt);
    if (where == 0 && !same && x->status == FACT_WITHHELD && y->status == FACT_WITHHELD && !of_one_salt(x, y)) {
      ret->n_not_comparable++;
      continue;
    }
    if (same && named->kind == FACT_IDENTITY) ret->n_same[named->layer]++;
    if (same) continue;
    struct difference *d = &ret->items[ret->n_items++];
    *d = (struct difference){.kind = where == 0  ? DIFFERENCE_CHANGED
                                     : where < 0 ? DIFFERENCE_ONLY_A
                                                 : DIFFERENCE_ONLY_B,
                             .layer = named->layer,
                             .of = of_kind(x, y, where),
                             .key = arena_copy(&ret->arena, named->key),
                             .order = where == 0 ? order_versions(named->key, x, y) : VERSION_NONE,
                             .a = where <= 0 ? value_text(&ret->arena, x) : NULL,
                             .b = where >= 0 ? value_text(&ret->arena, y) : NULL};
    give_reason(d);
    /* A pool of threads grows while it runs, so it is no part of the identity; two servers that differ in it are set up differently. */
    d->told = d->of == FACT_IDENTITY || strcmp(fact_without_role(d->key), "process.threads") == 0;
    if (d->of != FACT_IDENTITY) continue;
    ret->n_identity++;
    ret->n_identity_of[d->layer]++;
  }
  note_holes(ret, a, "A");
  note_holes(ret, b, "B");
  sort_by_weight(ret);
}

bool fact_key_is_read(const char *key, char *ret_near, size_t size) {
  size_t n = strlen(key), used = 0;
  ret_near[0] = 0;
  for (size_t i = 0; i < LYNX_COUNT(reasons); i++) {
    const char *pattern = reasons[i].pattern;
    if (strncmp(pattern, "declared.", 9) == 0) continue;
    if (fnmatch(pattern, key, 0) == 0) return true;
    bool near = strncmp(pattern, key, n) == 0 && (pattern[n] == '.' || pattern[n] == '-') && strchr(pattern, '*') == NULL;
    if (near && used + strlen(pattern) + 3 < size)
      used += (size_t)snprintf(ret_near + used, size - used, "%s%s", used > 0 ? ", " : "", pattern);
  }
  return false;
}

void difference_list_release(struct difference_list *list) {
  free(list->items);
  free(list->holes);
  arena_release(&list->arena);
  *list = (struct difference_list){0};
}
