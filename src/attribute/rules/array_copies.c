/* Arrays are copied: libraries of tensors move numbers from place to place, which no further thread does faster. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_bound.h"
#include "attribute/live_module.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "executor/layer_map.h"

/* What NumPy and PyTorch ask of the C library in their loops is copies, and memory for them. */
static bool is_copy(const struct live_part *p) {
  return p->kind == LIVE_LIBRARY && p->attributed && p->layer == LAYER_FRAMEWORK && live_is_c_library(p->what);
}

static bool is_own(const struct live_caller *c) {
  enum layer layer;
  return layer_of_python_file(c->where, &layer) == PYTHON_FILE_KNOWN && layer == LAYER_APPLICATION;
}

/* Looks show whose calls run most, and do not distinguish which of them copy: these are the places to look at. */
static void say_callers(const struct live_lane *l, struct finding *ret) {
  size_t n = strlen(ret->evidence), shown = 0;
  for (size_t k = 0; k < l->n_callers && shown < 3; k++) {
    const struct live_caller *c = &l->callers[k];
    if (!is_own(c) || n + 120 > sizeof ret->evidence) continue;
    (void)snprintf(ret->evidence + n, sizeof ret->evidence - n, "%s%.60s (%.50s)", shown == 0 ? "; the calls that run are from " : ", ",
                   c->what, c->where);
    n = strlen(ret->evidence);
    shown++;
  }
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_kernels kernels = live_kernels_of(live, LIVE_COPYING);
  const struct live_work parts = live_work_of(live, is_copy), named = live_work_of_kernels(live, LIVE_COPYING);
  double sum = parts.processors + kernels.share;
  if (!(sum >= 0.05 && sum >= 0.25 * live->at.running) || parts.looks + named.looks < 12) return false;
  const struct live_lane *l = live_busiest(&live->at);
  ret->share = fmin(1, sum / live->at.running);
  (void)snprintf(ret->process, sizeof ret->process, "%s", l->program);
  (void)snprintf(ret->evidence, sizeof ret->evidence, "copies of arrays run %.0f %% of the server's running time%s%.100s", 100 * ret->share,
                 kernels.most_share > parts.processors ? ", most in " : ", in the C library for its tensor library",
                 kernels.most_share > parts.processors ? kernels.most : "");
  say_callers(l, ret);
  live_bound(live, parts.processors > named.processors ? &parts : &named, ret);
  return true;
}

const struct rule rule_array_copies;
const struct rule rule_array_copies = {
    .name = "array_copies",
    .summary = "arrays that are copied",
    .threshold = "5 % of the window, a quarter of the running time and 12 looks, in the C library for a tensor library, or in kernels of "
                 "PyTorch and NumPy that copy or join arrays",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Arrays are copied",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_FRAMEWORK,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK),
              .open = "which of the calls copies: looks do not distinguish them",
              .next = "write into arrays that are made once (a cache that grows by joining copies all of it for every token)",
              .confirm = "copy twice as much, or nothing, and `lynxbench verify` both",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
