/* The server's program was built without optimisation: small functions of the language's library are called that a compiler leaves out. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

enum { LEAST_LOOKS = 12 };
#define LEAST 0.15

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double sum = 0;
  int64_t looks = 0;
  const struct live_native *most = NULL;
  for (size_t i = 0; i < live->n_natives; i++) {
    const struct live_native *n = &live->natives[i];
    if (n->work != NULL) continue;
    sum += n->share;
    looks += n->n;
    if (most == NULL) most = n;
  }
  if (most == NULL || looks < LEAST_LOOKS || sum < LEAST * live->at.running) return false;
  const struct live_lane *lane = &live->at.lanes[most->lane];
  ret->share = fmin(1, sum / fmax(live->at.running, 1e-9));
  (void)snprintf(ret->process, sizeof ret->process, "%s", lane->program);
  (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s), a debug build", most->asker[0] != 0 ? most->asker : lane->program,
                 most->where);
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "%.0f %% of what the server runs is in small functions such as %.100s, most for %.100s: an optimised (release) build has no "
      "calls of them, so that this is a debug build, and the functions around them are as slow",
      100 * ret->share, most->inside, most->asker[0] != 0 ? most->asker : lane->program);
  return true;
}

const struct rule rule_unoptimised;
const struct rule rule_unoptimised = {
    .name = "unoptimised",
    .summary = "a program that was built without optimisation",
    .threshold = "15 % of what the server runs, and 12 looks, in functions of C++'s and Rust's own libraries that compilers put into their "
                 "callers wherever they optimise: accessors, iterators, checks of debug builds",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "The server's program is a debug build",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_FRAMEWORK,
              .contributing = LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_APPLICATION),
              .open = "how much faster it is when it is built for use; often several times",
              .next = "build it with optimisation (-O2, `cargo build --release`, CMAKE_BUILD_TYPE=Release) and measure again",
              .confirm = "start the optimised program in its place, and `lynxbench verify` both",
              .bound_holds = "no bound: an optimised build is faster elsewhere, too"}};
