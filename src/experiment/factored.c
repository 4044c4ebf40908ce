#include "experiment/factored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

enum { PLAN_MAX = 1 << 20 };

const char factored_key[] = "experiment";

bool factored_write_plan(const struct swap_list *swaps, const struct factored_plan *plan, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_int(&json, "runs", (int64_t)plan->n_runs);
  json_put_int(&json, "rounds", (int64_t)plan->n_rounds);
  json_put_double(&json, "confidence", plan->confidence);
  json_put_int(&json, "seed", (int64_t)plan->seed);
  if (plan->by_plan) json_put_bool(&json, "by_plan", true);
  if (plan->hard != 0) json_put_int(&json, "hard", (int64_t)plan->hard);
  json_key(&json, "facts");
  swap_list_json(swaps, &json);
  json_close(&json);
  return json_finish(&json);
}

bool factored_is(struct bundle *bundle) {
  return bundle_meta(bundle, factored_key) != NULL;
}

static enum lynx_status read_plan(const char *text, struct factored *ret, struct lynx_error *error) {
  json_t *root = json_parse(text, strlen(text), PLAN_MAX, error);
  if (root == NULL) return LYNX_INPUT;
  bool good = swap_list_read(json_object_get(root, "facts"), &ret->arena, &ret->swaps);
  int64_t runs = json_get_int(root, "runs", 0), rounds = json_get_int(root, "rounds", 0);
  ret->plan = (struct factored_plan){.n_facts = ret->swaps.n,
                                     .n_runs = runs > 0 && runs <= FACTORIAL_RUNS_MAX ? (size_t)runs : 0,
                                     .n_rounds = rounds > 0 && rounds <= FACTORED_ROUNDS_MAX ? (size_t)rounds : 0,
                                     .confidence = json_get_double(root, "confidence", NAN),
                                     .seed = (uint64_t)json_get_int(root, "seed", 0),
                                     .hard = (uint64_t)json_get_int(root, "hard", 0),
                                     .by_plan = json_get_bool(root, "by_plan", false)};
  json_decref(root);
  good = good && ret->plan.n_rounds > 0 && ret->plan.confidence >= 0.5 && ret->plan.confidence <= 0.9999 &&
         factorial_design(ret->plan.n_facts, ret->plan.n_runs, &ret->design) && ret->plan.hard >> ret->plan.n_facts == 0;
  if (good) ret->design.hard = ret->plan.hard;
  return good ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "its plan is broken: found '%.200s'", text);
}

enum lynx_status factored_read(struct bundle *bundle, const struct contract *contract, struct factored *ret, struct lynx_error *error) {
  const char *plan = bundle_meta(bundle, factored_key);
  struct mixtures mixtures = {.n = 0};
  *ret = (struct factored){.n_rounds = 0};
  if (plan == NULL) return lynx_fail(error, LYNX_INPUT, "it is no experiment; accepted: a bundle that `lynxbench experiment` wrote");
  enum lynx_status status = read_plan(plan, ret, error);
  if (status == LYNX_OK) status = mixtures_open(bundle, contract, &ret->arena, &mixtures, error);
  if (status == LYNX_OK) {
    double *y = xalloc(ret->plan.n_rounds * ret->design.n_runs, sizeof *y), grain;
    ret->n_rounds = factorial_run(&ret->design, ret->plan.n_rounds, ret->plan.seed, mixtures_next, &mixtures, y, &grain);
    if (ret->n_rounds > 0) factorial_analyse(&ret->design, y, ret->n_rounds, grain, ret->plan.confidence, &ret->found);
    free(y);
  }
  ret->seen = mixtures.seen;
  mixtures_close(&mixtures);
  return status;
}

void factored_release(struct factored *factored) {
  arena_release(&factored->arena);
}
