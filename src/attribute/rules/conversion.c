/* Numbers converted back and forth. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  ret->share = state_share(a, (enum account_state)(STATE_COMPUTE + WORK_CONVERSION), (enum account_state)(STATE_COMPUTE + WORK_CONVERSION));
  double layout = state_share(a, (enum account_state)(STATE_COMPUTE + WORK_LAYOUT), (enum account_state)(STATE_COMPUTE + WORK_LAYOUT));
  if (ret->share < 0.03 && ret->share + layout < 0.1) return false;
  int64_t longest = a->class_longest_ns[WORK_CONVERSION] > a->class_longest_ns[WORK_LAYOUT] ? a->class_longest_ns[WORK_CONVERSION]
                                                                                            : a->class_longest_ns[WORK_LAYOUT];
  if (2 * (double)longest > (ret->share + layout) * (double)a->wall_ns) return false; /* one of them is no habit */
  ret->bounded = true;
  ret->bound = ret->share + layout;
  ret->bound_holds = "of this window, if what the host does stays as it is: where the host is late, launches that are saved count too";
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%lld kernels or operators convert numbers%s (%.1f %% of the window), %lld change layout or copy (%.1f %%)",
                 (long long)a->class_n[WORK_CONVERSION], a->device_named ? " or move tensors, which they do not say" : "", 100 * ret->share,
                 (long long)a->class_n[WORK_LAYOUT], 100 * layout);
  ret->share += layout;
  return true;
}

const struct rule rule_conversion;
const struct rule rule_conversion = {
    .name = "conversion",
    .summary = "precision cast back and forth, layouts changed",
    .threshold =
        "conversions take 3 % of the window, or together with changes of layout 10 %, and no single one is half of that: our choice",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {
        .rung = RUNG_ACCOUNTED,
        .title = "converts numbers and layouts",
        .symptom = LAYER_RUNTIME,
        .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK),
        .open =
            "whether the conversions are asked for by the model, by automatic mixed precision, or forced by a kernel that lacks the type",
        .next = "keep one number type through the model; let the compiler fuse casts; use the layout that the kernels want",
        .confirm = "run the model whole in the narrower type, its accuracy gate held"}};
