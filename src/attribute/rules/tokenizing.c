/* Text to tokens, or back, takes much of a busy thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

enum { LEAST_LOOKS = 8 };

static bool is_tokenizer(const struct live_part *p) {
  return live_tokenizes(p) ||
         (p->kind == LIVE_LIBRARY &&
          (strstr(p->what, "tokenizers") != NULL || strstr(p->what, "sentencepiece") != NULL || strstr(p->what, "tiktoken") != NULL));
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct result_precision *run = live->precision;
  double sum = 0, most = 0, rate = run->request_rate.estimate, first = run->latency[METRIC_TIME_TO_FIRST_TOKEN].at[0].quantile.estimate;
  int64_t looks = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      if (!is_tokenizer(p)) continue;
      sum += p->share;
      looks += p->n;
      if (p->share <= most) continue;
      most = p->share;
      (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", p->what, p->where[0] != 0 ? p->where : "library");
      (void)snprintf(ret->process, sizeof ret->process, "%s", live->at.lanes[i].program);
      if (p->attributed) ret->contributing |= LAYER_BIT(p->layer);
    }
  double each_ns = rate > 0 ? sum / rate * 1e9 : 0; /* processor time for each request */
  bool of_running = sum >= 0.05 && sum >= 0.05 * live->at.running, of_first = looks >= LEAST_LOOKS && first > 0 && each_ns >= 0.1 * first;
  if (!of_running && !of_first) return false;
  ret->share = fmin(1, sum / live->at.running);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "functions and libraries whose names say so run %.1f %% of the server's running time, %.3g ms for each request (its first "
                 "token takes %.3g ms), most of it in %.120s",
                 100 * ret->share, each_ns / 1e6, first > 0 ? first / 1e6 : 0, ret->named);
  const struct live_work work = live_work_of(live, is_tokenizer);
  live_bound(live, &work, ret);
  return true;
}

const struct rule rule_tokenizing;
const struct rule rule_tokenizing = {
    .name = "tokenizing",
    .summary = "tokenizing in a busy thread",
    .threshold = "5 % of the window and of the running time, or for each request 10 % of the median time to the first token, 8 looks "
                 "having found it; by names that hold tokeniz, detok or bpe, or the known libraries",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Tokenizing, or its reverse, takes much of the running time",
              .perturber = "function",
              .otherwise = "processor",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_APPLICATION,
              .contributing = LAYER_BIT(LAYER_APPLICATION),
              .open = "whether it is the tokenizer itself or what it is called with",
              .next = "do it in compiled code, in another process, or for many tokens at a time",
              .confirm = "send token ids instead of text; for its reverse, slow the function named",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
