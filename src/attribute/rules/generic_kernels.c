/* Most of the work is in code that a library keeps for processors without vectors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const char *isa = live_fact(live, LAYER_ACCELERATOR, "cpu.isa");
  if (isa == NULL || strstr(isa, "avx2") == NULL || !live_finds_kernels(live, LIVE_GENERIC, 0.1, ret)) return false;
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "%.0f %% of the running time is in functions that a library keeps for processors without vectors, most of it in %.160s; the "
      "processor has %.120s",
      100 * ret->share, ret->named, isa);
  return true;
}

const struct rule rule_generic_kernels;
const struct rule rule_generic_kernels = {
    .name = "generic_kernels",
    .summary = "libraries run code for processors without vectors",
    .threshold = "10 % of the running time in functions that their library keeps for such processors (by name: MKL, OpenBLAS, PyTorch, "
                 "oneDNN), on one that lists avx2",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "A library runs its generic code",
              .perturber = "library",
              .otherwise = "processor",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_RUNTIME),
              .open = "why the library chose it: a setting, a build for older processors, or one that does not know this processor",
              .next = "look at settings that cap instructions (ONEDNN_MAX_CPU_ISA, ATEN_CPU_CAPABILITY, MKL_CBWR, OPENBLAS_CORETYPE); use "
                      "a build of the library for this processor",
              .confirm = "use such a build, and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
