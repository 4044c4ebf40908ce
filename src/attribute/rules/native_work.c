/* Native code does much work of a kind that a model has none of: JSON, hashes, compression, files, its heap. */
#include <math.h>
#include <stdio.h>

#include "attribute/code_kind.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"

enum { LEAST_LOOKS = 12 };
#define LEAST 0.2 /* of all that the server runs */
#define LEAST_RUNTIME                                                                                                                      \
  0.12             /* the same of memory and its collection, which no request asks for, where somebody of the program's own is seen */
#define WHOLE 0.85 /* where it does nothing else, that is what it is for */

/* Of that kind, for whomever. */
static double all_of(const struct live *live, const struct code_work *work) {
  double sum = 0;
  for (size_t i = 0; i < live->n_natives; i++)
    if (live->natives[i].work == work) sum += live->natives[i].share;
  return sum;
}

/* An event loop that does such work itself keeps all else from going on meanwhile, also where its pool does the same. */
static bool is_purpose(const struct live *live, const struct live_native *n) {
  const struct live_lane *lane = &live->at.lanes[n->lane];
  if (n->asker[0] != 0) return false; /* somebody of the program's own wants it: that is a place to look at */
  return all_of(live, n->work) >= WHOLE * live->at.running && !(lane->main && lane->busiest >= LIVE_FULL && live->at.n_lanes > 1);
}

static bool matters(const struct live *live, const struct live_native *n) {
  double least = n->work != NULL && n->work->of_runtime && n->asker[0] != 0 ? LEAST_RUNTIME : LEAST;
  return n->work != NULL && n->n >= LEAST_LOOKS && n->share >= 0.05 && n->share >= least * live->at.running && !is_purpose(live, n);
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_native *best = NULL;
  for (size_t i = 0; i < live->n_natives; i++)
    if (matters(live, &live->natives[i]) && (best == NULL || live->natives[i].share > best->share)) best = &live->natives[i];
  if (best == NULL) return false;
  const struct live_lane *lane = &live->at.lanes[best->lane];
  double of_running = fmin(1, best->share / fmax(live->at.running, 1e-9));
  bool full = live_busiest(&live->at)->busiest >= LIVE_FULL || live_idle_processors(live) < 0.2 * (double)live->n_processors;
  /* Where nothing is full it is a part of a request's time (Little 1961), and others may be greater. */
  ret->share = full || !(live->in_flight > 0) ? of_running : fmin(of_running, best->share / live->in_flight);
  ret->contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(best->work->of_runtime ? LAYER_RUNTIME : LAYER_SERVING);
  if (best->work->of_runtime) ret->symptom = LAYER_RUNTIME;
  (void)snprintf(ret->process, sizeof ret->process, "%s", lane->program);
  if (best->asker[0] != 0) (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", best->asker, best->where);
  (void)snprintf(ret->evidence, sizeof ret->evidence, "%s takes %.0f %% of what the server runs, in %.100s%s%.120s%s", best->work->name,
                 100 * of_running, best->inside, best->asker[0] != 0 ? ", for " : "", best->asker,
                 best->asker[0] != 0 ? ""
                                     : "; its stacks name no function of the program's own (those of Node.js do with --perf-basic-prof)");
  (void)snprintf(ret->next, sizeof ret->next, "%s", best->work->next);
  (void)snprintf(ret->open, sizeof ret->open, "%s", best->work->question);
  return true;
}

const struct rule rule_native_work;
const struct rule rule_native_work = {
    .name = "native_work",
    .summary = "native code that does other work than a model's",
    .threshold =
        "a fifth of what the server runs (of memory and its collection 12 %, where a function of the program's own is seen), 5 % of the "
        "window and 12 looks, in functions whose names are of one kind, for one function "
        "of the program's own: a gateway that only passes texts on may have as much, and it is for its owner to say",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Work beside the model takes much of the running time",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_APPLICATION,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SERVING),
              .open = "",
              .next = "",
              .confirm = "leave that work out, or do twice as much of it, and `lynxbench verify` both",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
