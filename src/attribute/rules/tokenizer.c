/* The device waits while text becomes tokens, or tokens text. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  ret->share = state_share(a, STATE_TOKENIZER, STATE_TOKENIZER);
  if (ret->share < 0.05) return false;
  ret->bounded = a->device >= 0;
  ret->bound = ret->share;
  ret->bound_holds = ret->bounded ? "of this window, if the rest stays as it is"
                                  : "none: on the host alone, what tokenizes and what computes share the processor";
  state_named(e, STATE_TOKENIZER, STATE_TOKENIZER, ret);
  if (a->device < 0) ret->symptom = LAYER_APPLICATION;
  (void)snprintf(ret->evidence, sizeof ret->evidence, "a function whose name says tokenize%s%s%s is open%s: %.1f %% of the window",
                 ret->named[0] != 0 ? " (" : "", ret->named, ret->named[0] != 0 ? ")" : "",
                 a->device >= 0 ? " while the device has nothing queued" : "", 100 * ret->share);
  return true;
}

const struct rule rule_tokenizer;
const struct rule rule_tokenizer = {.name = "tokenizer",
                                    .summary = "the device waits for tokenizing",
                                    .threshold = "5 % of the window: as for the data loader",
                                    .needs = NEEDS_TRACE,
                                    .apply = apply,
                                    .found = {.rung = RUNG_ACCOUNTED,
                                              .title = "waits for its tokenizer",
                                              .symptom = LAYER_ACCELERATOR,
                                              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SERVING),
                                              .open = "whether it is the tokenizer itself or what it is called with",
                                              .next = "tokenize in another process or thread, in batches, or with a compiled tokenizer",
                                              .confirm = "send token ids instead of text"}};
