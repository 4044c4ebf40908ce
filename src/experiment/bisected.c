#include "experiment/bisected.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* METHOD: goes up with whatever changes which session comes next, for then what was recorded cannot be searched again. */
enum { PLAN_MAX = 1 << 20, METHOD = 1 };

const char bisected_key[] = "bisect";

bool bisected_write_plan(const struct swap_list *swaps, const struct bisection_plan *plan, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_int(&json, "method", METHOD);
  json_put_double(&json, "least", plan->least);
  json_put_double(&json, "confidence", plan->confidence);
  json_put_int(&json, "sessions_at_most", plan->sessions_at_most);
  json_put_int(&json, "seed", (int64_t)plan->seed);
  json_key(&json, "facts");
  swap_list_json(swaps, &json);
  json_close(&json);
  return json_finish(&json);
}

bool bisected_is(struct bundle *bundle) {
  return bundle_meta(bundle, bisected_key) != NULL;
}

int64_t bisected_sessions(struct bundle *bundle) {
  const char *plan = bundle_meta(bundle, bisected_key);
  json_t *root = plan != NULL ? json_parse(plan, strlen(plan), PLAN_MAX, NULL) : NULL;
  int64_t n = json_get_int(root, "sessions_at_most", 0);
  json_decref(root);
  return n;
}

/* --- the plan --- */

static enum lynx_status read_plan(const char *text, struct bisected *ret, struct lynx_error *error) {
  json_t *root = json_parse(text, strlen(text), PLAN_MAX, error);
  if (root == NULL) return LYNX_INPUT;
  int64_t method = json_get_int(root, "method", 0);
  bool good = method == METHOD && swap_list_read(json_object_get(root, "facts"), &ret->arena, &ret->swaps);
  ret->plan = (struct bisection_plan){.n_facts = ret->swaps.n,
                                      .least = json_get_double(root, "least", NAN),
                                      .confidence = json_get_double(root, "confidence", NAN),
                                      .sessions_at_most = json_get_int(root, "sessions_at_most", 0),
                                      .seed = (uint64_t)json_get_int(root, "seed", 0)};
  const struct bisection_plan *p = &ret->plan;
  good = good && p->least > 0 && p->least < 10 && p->confidence >= 0.5 && p->confidence <= 0.9999 && p->sessions_at_most >= 1 &&
         p->sessions_at_most <= MIXTURE_SESSIONS_MAX;
  json_decref(root);
  if (method != METHOD)
    return lynx_fail(error, LYNX_UNSUPPORTED, "it was searched by method %lld; this version knows method %d", (long long)method, METHOD);
  return good ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "its plan is broken: found '%.200s'", text);
}

/* --- again, on what was recorded --- */

struct replay {
  struct bisected *bisected;
  struct mixtures mixtures;
  double sum[2]; /* of A's figures, and of B's */
  size_t count[2];
};

static enum measured measure(void *context, uint64_t facts, int64_t round, struct session_figure *ret) {
  struct replay *r = context;
  enum measured measured = mixtures_next(&r->mixtures, facts, round, ret);
  uint64_t all = ((uint64_t)1 << r->bisected->plan.n_facts) - 1;
  if (measured == MEASURED && (facts == 0 || facts == all)) {
    r->sum[facts != 0] += ret->ln;
    r->count[facts != 0]++;
  }
  return measured;
}

static double level_of(const struct replay *r, int side) {
  return r->count[side] > 0 ? mixture_level(r->mixtures.seen.response, r->sum[side] / (double)r->count[side]) : NAN;
}

enum lynx_status bisected_read(struct bundle *bundle, const struct contract *contract, struct bisected *ret, struct lynx_error *error) {
  const char *plan = bundle_meta(bundle, bisected_key);
  *ret = (struct bisected){.level_a = NAN};
  if (plan == NULL) return lynx_fail(error, LYNX_INPUT, "it is no bisection; accepted: a bundle that `lynxbench bisect` wrote");
  struct replay r = {.bisected = ret};
  enum lynx_status status = read_plan(plan, ret, error);
  if (status == LYNX_OK) status = mixtures_open(bundle, contract, &ret->arena, &r.mixtures, error);
  ret->plan.measure = measure;
  ret->plan.context = &r;
  if (status == LYNX_OK) bisection_run(&ret->plan, &ret->found);
  ret->plan.context = NULL;
  ret->level_a = level_of(&r, 0);
  ret->level_b = level_of(&r, 1);
  ret->seen = r.mixtures.seen;
  mixtures_close(&r.mixtures);
  return status;
}

void bisected_release(struct bisected *bisected) {
  arena_release(&bisected->arena);
}
