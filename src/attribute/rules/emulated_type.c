/* The model computes in a number type that the processors have no arithmetic for: each product is made in another type, with conversions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

#define COMPUTES 0.1 /* of the running time in libraries that compute: below it the type does not matter */

/* What the server was told, or says, or finds in the model where it was told nothing. */
static const char *type_of(const struct live *live) {
  static const char *const keys[] = {"process.argument.--dtype", "process.argument.--torch-dtype", "process.argument.--precision"};
  const struct result_precision *p = live->precision;
  const char *said = p->executed_json != NULL && p->executed_json[0] != 0 ? p->executed : NULL;
  for (size_t i = 0; i < LYNX_COUNT(keys) && (said == NULL || said[0] == 0); i++) said = live_fact(live, LAYER_SERVING, keys[i]);
  if (said == NULL || strcmp(said, "auto") != 0) return said; /* without a word it may compute in float32, whatever the model is in */
  return live_fact(live, LAYER_APPLICATION, "model.declared-type");
}

/* By what runs, where nobody says the type: kernels that stand in for those that are missing. */
static bool by_kernels(const struct live *live, const char *isa, struct finding *ret) {
  bool has = strstr(isa, "avx512_fp16") != NULL || strstr(isa, "asimdhp") != NULL;
  if (has || !live_finds_kernels(live, LIVE_FALLBACK, COMPUTES, ret)) return false;
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "%.0f %% of the running time is in functions that stand in where a library has no kernel for the number type, most of it in "
      "%.160s; the processors have %.120s",
      100 * ret->share, ret->named, isa);
  return true;
}

static bool by_words(const struct live *live, const char *isa, struct finding *ret) {
  static const struct {
    const char *name, *type, *needs[3];
  } types[] = {{"bf16", "bfloat16", {"avx512_bf16", "amx_bf16", "bf16"}},
               {"bfloat16", "bfloat16", {"avx512_bf16", "amx_bf16", "bf16"}},
               {"float16", "float16", {"avx512_fp16", "amx_fp16", "asimdhp"}},
               {"fp16", "float16", {"avx512_fp16", "amx_fp16", "asimdhp"}},
               {"half", "float16", {"avx512_fp16", "amx_fp16", "asimdhp"}}};
  const char *said = type_of(live);
  if (said == NULL) return false;
  for (size_t i = 0; i < LYNX_COUNT(types); i++) {
    bool has = false;
    if (strcasestr(said, types[i].name) == NULL) continue;
    for (size_t k = 0; k < LYNX_COUNT(types[i].needs); k++) has = has || strstr(isa, types[i].needs[k]) != NULL;
    ret->share = live_computing_share(live);
    if (has || !(ret->share >= COMPUTES)) return false;
    (void)snprintf(ret->named, sizeof ret->named, "%s", types[i].type);
    (void)snprintf(ret->evidence, sizeof ret->evidence,
                   "it computes in %s, and the processors have no arithmetic of that type (%.120s); %.0f %% of the running time is in "
                   "libraries that compute",
                   types[i].type, isa, 100 * ret->share);
    return true;
  }
  return false;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const char *isa = live_fact(live, LAYER_ACCELERATOR, "cpu.isa"), *accelerators = live_fact(live, LAYER_ACCELERATOR, "accelerator.count");
  if (isa == NULL || (accelerators != NULL && strcmp(accelerators, "0") != 0)) return false;
  return by_words(live, isa, ret) || by_kernels(live, isa, ret);
}

const struct rule rule_emulated_type;
const struct rule rule_emulated_type = {
    .name = "emulated_type",
    .summary = "a number type that the processors have no arithmetic for",
    .threshold =
        "by the server's words, its --dtype or the model's own type, on processors that list no instructions for it; 10 % of the "
        "running time in libraries that compute; no accelerator. Or that share in functions that stand in for missing kernels, by name "
        "(PyTorch, half precision)",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "It computes in a number type that these processors only emulate",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_RUNTIME,
              .contributing = LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_SERVING) | LAYER_BIT(LAYER_ACCELERATOR),
              .open = "how much slower the emulation is here: where memory is the bound, a smaller type may still gain",
              .next = "serve in float32, or in a type that they have (int8), or on processors that have this one",
              .confirm = "start the server in float32 (--set=--dtype=float32) and measure again",
              .bound_holds = "no bound: the other type moves more bytes"}};
