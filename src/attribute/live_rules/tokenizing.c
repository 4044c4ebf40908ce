/* Text to tokens, or back, takes much of a busy thread. */
#include <stdio.h>
#include <string.h>

#include "attribute/live_rule.h"

static bool is_tokenizer(const struct live_part *p) {
  return live_tokenizes(p) ||
         (p->kind == LIVE_LIBRARY &&
          (strstr(p->what, "tokenizers") != NULL || strstr(p->what, "sentencepiece") != NULL || strstr(p->what, "tiktoken") != NULL));
}

static bool apply(const struct live *live, struct finding *ret) {
  double sum = 0, most = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      if (!is_tokenizer(p)) continue;
      sum += p->share;
      if (p->share <= most) continue;
      most = p->share;
      (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", p->what, p->where[0] != 0 ? p->where : "library");
      if (p->attributed) ret->contributing |= LAYER_BIT(p->layer);
    }
  if (sum < 0.05 || sum < 0.05 * live->at.running) return false;
  ret->share = sum / live->at.running;
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "functions and libraries whose names say so run %.0f %% of the server's running time, most of it in %.120s",
                 100 * ret->share, ret->named);
  return true;
}

const struct live_rule live_rule_tokenizing;
const struct live_rule live_rule_tokenizing = {
    .name = "tokenizing",
    .summary = "tokenizing in a busy thread",
    .threshold = "5 % of the window and of the running time, by names that hold token or bpe, or the known libraries",
    .apply = apply,
    .found = {.title = "Tokenizing takes much of the running time",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_APPLICATION,
              .contributing = LAYER_BIT(LAYER_APPLICATION),
              .open = "whether it is the tokenizer itself or what it is called with",
              .next = "use a compiled tokenizer, tokenize in another process, or in batches",
              .confirm = "send token ids instead of text",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
