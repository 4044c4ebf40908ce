#include "experiment/bisected.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "result/rows.h"
#include "stats/special.h"

enum { PLAN_MAX = 1 << 20, SESSIONS_MAX = 100000 };

const char bisected_key[] = "bisect";

/* 60 numbers would not fit: sixteen hexadecimal digits beyond ten facts. */
void bisected_target(uint64_t facts, char ret[TARGET_NAME]) {
  ret[0] = 0;
  if (facts == 0) return;
  if (__builtin_popcountll(facts) > 10) {
    (void)snprintf(ret, TARGET_NAME, "facts: 0x%llx", (unsigned long long)facts);
    return;
  }
  size_t length = (size_t)snprintf(ret, TARGET_NAME, "facts:");
  for (int i = 0; i < SWAPS_MAX; i++)
    if (facts >> i & 1) length += (size_t)snprintf(ret + length, TARGET_NAME - length, " %d", i + 1);
}

double bisected_figure(const struct session_response *r) {
  return !r->found ? NAN : r->open_load ? -r->y[RESPONSE_END_TO_END] : r->y[RESPONSE_THROUGHPUT];
}

bool bisected_write_plan(const struct swap_list *swaps, const struct bisection_plan *plan, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  json_open_object(&json);
  json_put_double(&json, "least", plan->least);
  json_put_double(&json, "confidence", plan->confidence);
  json_put_int(&json, "sessions_at_most", plan->sessions_at_most);
  json_put_int(&json, "seed", (int64_t)plan->seed);
  json_key(&json, "facts");
  json_open_array(&json);
  for (size_t i = 0; i < swaps->n; i++) {
    json_open_object(&json);
    json_put_text(&json, "name", swaps->items[i].name);
    json_put_text(&json, "a", swaps->items[i].a);
    json_put_text(&json, "b", swaps->items[i].b);
    json_put_text(&json, "layer", swaps->items[i].has_layer ? layer_text(swaps->items[i].layer) : NULL);
    json_close(&json);
  }
  json_close(&json);
  json_close(&json);
  return json_finish(&json);
}

bool bisected_is(struct bundle *bundle) {
  return bundle_meta(bundle, bisected_key) != NULL;
}

/* --- the plan --- */

static const char *clean(struct arena *arena, const json_t *object, const char *key) {
  char text[400];
  const char *found = json_get_text(object, key, "");
  (void)text_sanitise(text, sizeof text, found, strlen(found));
  return arena_copy(arena, text);
}

static enum lynx_status read_plan(const char *text, struct bisected *ret, struct lynx_error *error) {
  json_t *root = json_parse(text, strlen(text), PLAN_MAX, error);
  if (root == NULL) return LYNX_INPUT;
  const json_t *facts = json_object_get(root, "facts");
  ret->swaps.n = json_array_size(facts);
  ret->plan = (struct bisection_plan){.n_facts = ret->swaps.n,
                                      .least = json_get_double(root, "least", NAN),
                                      .confidence = json_get_double(root, "confidence", NAN),
                                      .sessions_at_most = json_get_int(root, "sessions_at_most", 0),
                                      .seed = (uint64_t)json_get_int(root, "seed", 0)};
  const struct bisection_plan *p = &ret->plan;
  bool good = p->n_facts >= 1 && p->n_facts <= SWAPS_MAX && p->least > 0 && p->least < 10 && p->confidence >= 0.5 &&
              p->confidence <= 0.9999 && p->sessions_at_most >= 1 && p->sessions_at_most <= SESSIONS_MAX;
  for (size_t i = 0; good && i < ret->swaps.n; i++) {
    const json_t *fact = json_array_get(facts, i);
    struct swap *swap = &ret->swaps.items[i];
    *swap = (struct swap){.name = clean(&ret->arena, fact, "name"), .a = clean(&ret->arena, fact, "a"), .b = clean(&ret->arena, fact, "b")};
    swap->has_layer = layer_parse(json_get_text(fact, "layer", ""), &swap->layer);
  }
  json_decref(root);
  return good ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "its plan is broken: found '%.200s'", text);
}

/* --- again, on what was recorded --- */

struct replay {
  struct bisected *bisected;
  struct bundle *bundle;
  const struct contract *contract;
  struct recorded {
    int64_t id;
    bool complete;
    const char *why; /* it failed */
  } * sessions;
  size_t n, room, at;
  double sum[2]; /* of A's figures, and of B's */
  size_t count[2];
};

static enum lynx_status keep_session(void *context, const struct bundle_session *s) {
  struct replay *r = context;
  if (s->purpose != PURPOSE_PERTURB || r->n == SESSIONS_MAX) return LYNX_OK;
  r->sessions = xroom(r->sessions, r->n, &r->room, sizeof *r->sessions);
  struct recorded recorded = {s->id, s->end == SESSION_COMPLETE, NULL};
  if (recorded.complete) r->bisected->seconds += (double)s->counted_ns / 1e9;
  if (s->end == SESSION_FAILED) {
    char why[600];
    (void)text_sanitise(why, sizeof why, s->why, strlen(s->why));
    recorded.why = arena_copy(&r->bisected->arena, why);
  }
  r->sessions[r->n++] = recorded;
  return LYNX_OK;
}

/* One that failed was tried a second time before it counted as one that cannot run. */
static enum bisection_measured measure(void *context, uint64_t facts, int64_t round, double *ret) {
  struct replay *r = context;
  struct session_response response;
  char target[TARGET_NAME];
  (void)round;
  if (r->at < r->n && !r->sessions[r->at].complete) r->at++;
  if (r->at == r->n) return BISECTION_NO_MORE;
  const struct recorded *s = &r->sessions[r->at++];
  if (!s->complete) {
    if (r->bisected->failed == NULL) r->bisected->failed_facts = facts;
    if (r->bisected->failed == NULL) r->bisected->failed = s->why != NULL ? s->why : "its session did not end";
    return BISECTION_CANNOT_RUN;
  }
  bisected_target(facts, target);
  if (session_response_read(r->bundle, r->contract, s->id, &response, NULL) != LYNX_OK || strcmp(response.target, target) != 0)
    return BISECTION_NO_MORE; /* not what this search would have run */
  *ret = bisected_figure(&response);
  r->bisected->response = response.open_load ? RESPONSE_END_TO_END : RESPONSE_THROUGHPUT;
  uint64_t all = ((uint64_t)1 << r->bisected->plan.n_facts) - 1;
  if (isfinite(*ret) && (facts == 0 || facts == all)) {
    r->sum[facts != 0] += *ret;
    r->count[facts != 0]++;
  }
  return BISECTION_MEASURED;
}

static double level_of(const struct replay *r, int side) {
  double mean = r->count[side] > 0 ? r->sum[side] / (double)r->count[side] : NAN;
  if (r->bisected->response == RESPONSE_END_TO_END) mean = -mean - 9 * special_log(10); /* of nanoseconds */
  return fabs(mean) < 600 ? special_exp(mean) : NAN;
}

enum lynx_status bisected_read(struct bundle *bundle, const struct contract *contract, struct bisected *ret, struct lynx_error *error) {
  const char *plan = bundle_meta(bundle, bisected_key);
  *ret = (struct bisected){.response = RESPONSE_THROUGHPUT};
  if (plan == NULL) return lynx_fail(error, LYNX_INPUT, "it is no bisection; accepted: a bundle that `lynxbench bisect` wrote");
  enum lynx_status status = read_plan(plan, ret, error);
  struct replay r = {.bisected = ret, .bundle = bundle, .contract = contract};
  if (status == LYNX_OK) status = bundle_each_session(bundle, keep_session, &r, error);
  ret->plan.measure = measure;
  ret->plan.context = &r;
  ret->tokens = row_terms_of(bundle, contract).holds_tokens;
  if (status == LYNX_OK) bisection_run(&ret->plan, &ret->found);
  ret->level_a = level_of(&r, 0);
  ret->level_b = level_of(&r, 1);
  free(r.sessions);
  return status;
}

void bisected_release(struct bisected *bisected) {
  arena_release(&bisected->arena);
}
