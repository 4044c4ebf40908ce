/* What the facts of other probes say together: do driver, CUDA runtime, framework build and GPU fit one another, and how the graph is
 * executed. Runs after the probes that it draws on. Sources: CUDA's compatibility guide (minor versions of one major run on any driver
 * of that major; a newer major does not) and its release notes for the first version that knows a compute capability. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/probe.h"

static const char *stack_applies(const struct probe_target *target) {
  (void)target;
  return NULL;
}

static const char *known(const struct fact_list *facts, const char *key) {
  const struct fact *fact = fact_find(facts, key);
  return fact != NULL && fact_is_known(fact) ? fact->value : NULL;
}

/* "12.4" -> 1204; 0 if it is none */
static int version_of(const char *text) {
  int major = 0, minor = 0;
  if (text == NULL || sscanf(text, "%d.%d", &major, &minor) < 1 || major < 1 || major > 99) return 0;
  return 100 * major + minor;
}

/* The first CUDA version that compiles for a capability, and the first that no longer does. */
static void cuda_of_capability(int capability, int *ret_first, int *ret_dropped) {
  static const struct {
    int capability, first, dropped;
  } rows[] = {{500, 700, 1300}, {600, 800, 1300}, {700, 900, 1300}, {705, 1000, 0},  {800, 1100, 0},
              {806, 1101, 0},   {809, 1108, 0},   {900, 1108, 0},   {1000, 1208, 0}, {1200, 1208, 0}};
  *ret_first = *ret_dropped = 0;
  for (size_t i = 0; i < LYNX_COUNT(rows); i++)
    if (capability >= rows[i].capability) {
      *ret_first = rows[i].first;
      *ret_dropped = rows[i].dropped;
    }
}

/* The CUDA runtime that is mapped: by its library's name, else by the wheel that carries it ("12.1.105"). */
static const char *cuda_runtime(const struct fact_list *facts) {
  static const char *const keys[] = {"python.package.nvidia-cuda-runtime-cu12", "python.package.nvidia-cuda-runtime-cu11",
                                     "python.package.nvidia-cuda-runtime", "library.libcudart.so"};
  for (size_t i = 0; i < LYNX_COUNT(keys); i++) {
    const char *value = known(facts, keys[i]);
    if (value != NULL) return strncmp(value, "version ", 8) == 0 ? value + 8 : value;
  }
  return NULL;
}

/* "none: built without" is known, and says no. */
static bool is_built_for(const struct fact_list *facts, const char *key) {
  const char *value = known(facts, key);
  return value != NULL && strncmp(value, "none", 4) != 0;
}

static void say_matrix(const struct probe_target *target, struct fact_list *facts) {
  static const char source[] = "driver.cuda, torch.cuda, library.libcudart, gpu.0.compute-capability";
  const char *gpus = known(facts, "gpu.count"), *built_text = known(facts, "torch.cuda"),
             *capability_text = known(facts, "gpu.0.compute-capability");
  int driver = version_of(known(facts, "driver.cuda")), built = version_of(built_text), capability = version_of(capability_text), first,
      dropped;
  const char *torch = known(facts, "torch.version"), *runtime = cuda_runtime(facts);
  if (runtime != NULL)
    probe_printf(target, facts, LAYER_FRAMEWORK, FACT_IDENTITY, "its wheel, or the mapped library's name", "cuda.runtime", "%.*s",
                 (int)strcspn(runtime, ";"), runtime);
  if (torch == NULL) return;
  if (built == 0 && gpus != NULL && atoi(gpus) > 0 && !is_built_for(facts, "torch.hip")) {
    probe_printf(target, facts, LAYER_FRAMEWORK, FACT_STATE, source, "cuda.verdict",
                 "PyTorch %s is built without CUDA: the %s GPUs of this machine are not used by it", torch, gpus);
    return;
  }
  if (built == 0 || driver == 0) return;
  cuda_of_capability(capability, &first, &dropped);
  const char *d = known(facts, "driver.cuda");
  if (built / 100 > driver / 100)
    probe_printf(target, facts, LAYER_FRAMEWORK, FACT_STATE, source, "cuda.verdict",
                 "does not fit: PyTorch is built for CUDA %s, the driver serves up to %s; a newer driver is needed", built_text, d);
  else if (capability > 0 && first > 0 && built < first)
    probe_printf(target, facts, LAYER_FRAMEWORK, FACT_STATE, source, "cuda.verdict",
                 "does not fit: CUDA %s is older than compute capability %s (CUDA %d.%d first knew it); kernels run through compatibility "
                 "code or not at all",
                 built_text, capability_text, first / 100, first % 100);
  else if (capability > 0 && dropped > 0 && built >= dropped)
    probe_printf(target, facts, LAYER_FRAMEWORK, FACT_STATE, source, "cuda.verdict",
                 "does not fit: CUDA %s no longer serves compute capability %s", built_text, capability_text);
  else if (built > driver)
    probe_printf(target, facts, LAYER_FRAMEWORK, FACT_STATE, source, "cuda.verdict",
                 "fits by minor-version compatibility: PyTorch is built for CUDA %s, the driver serves up to %s; what is compiled at run "
                 "time (PTX) may fail",
                 built_text, d);
  else
    probe_printf(target, facts, LAYER_FRAMEWORK, FACT_STATE, source, "cuda.verdict", "fits: PyTorch built for CUDA %s, driver up to %s%s%s",
                 built_text, d, capability > 0 ? ", compute capability " : "", capability > 0 ? capability_text : "");
}

/* The attention kernels and collectives that are there, by their packages; which one runs is the server's choice. */
static void say_graph(const struct probe_target *target, struct fact_list *facts) {
  const char *dynamo = known(facts, "environment.TORCHDYNAMO_DISABLE"), *eager = known(facts, "serving.setting.enforce-eager");
  if (known(facts, "torch.version") == NULL && eager == NULL) return;
  if (eager != NULL || (dynamo != NULL && strcmp(dynamo, "1") == 0))
    probe_fact(target, facts, LAYER_FRAMEWORK, FACT_IDENTITY, "graph.execution", "eager: asked for by flag or environment", "",
               "command line, environment");
  else
    probe_missing(target, facts, LAYER_FRAMEWORK, FACT_IDENTITY, "graph.execution", FACT_UNSUPPORTED,
                  "not told by flags or environment: the server's default applies; a trace would show it", "command line, environment");
}

static void stack_collect(const struct probe_target *target, struct fact_list *facts) {
  say_matrix(target, facts);
  say_graph(target, facts);
}

const struct probe probe_stack;
const struct probe probe_stack = {.name = "stack",
                                  .summary = "do driver, CUDA, framework and GPU fit one another; how the graph is executed",
                                  .reads = "the facts of other probes",
                                  .stage = 2,
                                  .layer = LAYER_FRAMEWORK,
                                  .applies = stack_applies,
                                  .collect = stack_collect};
