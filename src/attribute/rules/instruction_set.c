/* A setting keeps a library from the processor's instructions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static const struct {
  const char *variable, *library; /* whose code must run for the setting to matter */
} settings[] = {{"ONEDNN_MAX_CPU_ISA", "dnn"},
                {"DNNL_MAX_CPU_ISA", "dnn"},
                {"ONEDNN_MAX_CPU_ISA", "libtorch"},
                {"DNNL_MAX_CPU_ISA", "libtorch"},
                {"ONEDNN_MAX_CPU_ISA", "code made at run time"},
                {"ATEN_CPU_CAPABILITY", "libtorch"},
                {"OPENBLAS_CORETYPE", "openblas"},
                {"MKL_ENABLE_INSTRUCTIONS", "mkl"},
                {"MKL_ENABLE_INSTRUCTIONS", "libtorch"}};

static int rank_of_value(const char *value) {
  static const struct {
    const char *part;
    int rank;
  } ranks[] = {{"amx", 4},  {"sapphire", 4}, {"avx512", 3}, {"avx10", 4},       {"skylakex", 3}, {"cooperlake", 3}, {"zen", 2},
               {"avx2", 2}, {"haswell", 2},  {"avx", 1},    {"sandybridge", 1}, {"sse", 0},      {"nehalem", 0},    {"default", 0}};
  for (size_t i = 0; i < LYNX_COUNT(ranks); i++)
    if (strcasestr(value, ranks[i].part) != NULL) return ranks[i].rank;
  return 9;
}

static int rank_of_machine(const char *isa) {
  return isa == NULL ? -1 : strstr(isa, "amx") != NULL ? 4 : strstr(isa, "avx512") != NULL ? 3 : strstr(isa, "avx2") != NULL ? 2 : 0;
}

/* Does it run at all? */
static double share_of(const struct live *live, const char *library) {
  double sum = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++)
      if (strstr(live->at.lanes[i].parts[k].what, library) != NULL) sum += live->at.lanes[i].parts[k].share;
  return live->at.running > 0 ? sum / live->at.running : 0;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const char *isa = live_fact(live, LAYER_ACCELERATOR, "cpu.isa");
  for (size_t i = 0; i < LYNX_COUNT(settings); i++) {
    char key[80];
    (void)snprintf(key, sizeof key, "environment.%s", settings[i].variable);
    const char *value = live_fact(live, LAYER_RUNTIME, key);
    if (value == NULL) value = live_fact(live, LAYER_FRAMEWORK, key);
    if (value == NULL || rank_of_value(value) >= rank_of_machine(isa)) continue;
    double share = share_of(live, settings[i].library);
    if (share < 0.1 || strstr(ret->named, settings[i].variable) != NULL) continue;
    ret->share = fmax(ret->share, share); /* of one library there may be several settings: which of them binds is not known */
    size_t n = strlen(ret->named);
    (void)snprintf(ret->named + n, sizeof ret->named - n, "%s%s=%.40s", n > 0 ? ", " : "", settings[i].variable, value);
  }
  if (ret->share <= 0) return false;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%.160s: set, while the processor has %.160s, and %.0f %% of the running time is in that library", ret->named, isa,
                 100 * ret->share);
  return true;
}

const struct rule rule_instruction_set;
const struct rule rule_instruction_set = {
    .name = "instruction_set",
    .summary = "an instruction set below the processor's",
    .threshold = "a setting below what the processor lists, of a library that has 10 % of the running time",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "A setting keeps a library from the processor's instructions",
              .perturber = "setting",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_RUNTIME),
              .open = "how much faster the wider instructions are here",
              .next = "take the setting out",
              .confirm = "take the setting out and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
