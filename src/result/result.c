#include "result/result.h"

#include <string.h>

#include "result/accuracy.h"
#include "result/executor_verdicts.h"
#include "result/plausibility.h"
#include "result/precision.h"
#include "result/rows.h"
#include "stats/compare.h"

struct keeping {
  struct result *result;
  struct session_list *sessions;
  struct lynx_error *error;
};

static enum lynx_status keep_session(void *context, const struct bundle_session *s) {
  const struct keeping *k = context;
  static const int64_t most_ns = (int64_t)1 << 58; /* of any of its lengths, so that sums of them cannot overflow */
  bool possible = s->rate_per_s >= 0 && s->rate_per_s <= 1e9 && s->warm_up_ns >= 0 && s->counted_ns > 0 && s->warm_up_ns <= most_ns &&
                  s->counted_ns <= most_ns && s->drain_ns >= 0 && s->drain_ns <= most_ns;
  if (!possible)
    return lynx_fail(k->error, LYNX_INPUT, "session %lld: found a rate or a window that no run has (docs/bundle.md)", (long long)s->id);
  k->sessions->items = arena_room(&k->result->arena, k->sessions->items, k->sessions->n_items, sizeof *s);
  k->sessions->items[k->sessions->n_items++] = bundle_session_copy(s, &k->result->arena);
  return LYNX_OK;
}

static enum lynx_status keep_condition(void *context, int64_t realtime_ns, enum event_kind kind, const char *text) {
  (void)realtime_ns;
  struct result *result = context;
  if (kind == EVENT_PRECISION || kind == EVENT_BUDGET) result->stopped = arena_copy(&result->arena, text);
  if (kind == EVENT_BUDGET) result->budget_ended = true;
  if (kind == EVENT_PART) result->part = arena_copy(&result->arena, text);
  if (kind == EVENT_CONDITION)
    result_add_text(&result->arena, &result->conditions, &result->n_conditions, arena_copy(&result->arena, text));
  return LYNX_OK;
}

static enum lynx_status read_contract(struct bundle *bundle, struct result *result, struct lynx_error *error) {
  const char *text = bundle_meta(bundle, "contract");
  if (text == NULL)
    return lynx_fail(error, LYNX_INPUT, "the bundle holds no contract (it was withheld, or the run ended before it was written)");
  if (contract_parse(text, strlen(text), &result->arena, &result->contract, &result->problems) != LYNX_OK)
    return lynx_fail(error, LYNX_INPUT, "the bundle's contract is not one that this build reads");
  contract_digest(&result->contract, result->contract_digest);
  result->grade = contract_grade(&result->problems);
  result->interval_confidence = look_confidence(result->contract.method.confidence, contract_looks(&result->contract));
  return LYNX_OK;
}

static const char *meta_of(struct bundle *bundle, struct result *result, const char *key) {
  const char *value = bundle_meta(bundle, key);
  return value != NULL ? arena_copy(&result->arena, value) : "";
}

enum lynx_status result_compute(struct bundle *bundle, const struct bundle_seal_info *seal, struct result *ret, struct lynx_error *error) {
  struct session_list sessions = {0};
  *ret = (struct result){.seal = *seal, .stopped = "", .part = "", .profile_taken = "", .profile_signed_by = ""};
  struct keeping keeping = {ret, &sessions, error};
  ret->load_hosts = meta_of(bundle, ret, "load_hosts");
  ret->imported = meta_of(bundle, ret, "imported");
  ret->ledger = meta_of(bundle, ret, "ledger_origin");
  ret->machine_before = meta_of(bundle, ret, "machine_speed_before");
  ret->machine_after = meta_of(bundle, ret, "machine_speed_after");
  ret->calibration = meta_of(bundle, ret, "calibration");
  enum lynx_status status = read_contract(bundle, ret, error);
  ret->holds_tokens = row_terms_of(bundle, &ret->contract).holds_tokens;
  if (status == LYNX_OK) status = bundle_each_session(bundle, keep_session, &keeping, error);
  for (size_t i = 0; i < sessions.n_items; i++) {
    const struct bundle_session *session = &sessions.items[i];
    ret->perturbed = ret->perturbed || session->purpose == PURPOSE_PERTURB;
    ret->observed = ret->observed || session->purpose == PURPOSE_OBSERVE;
    if (session->start_realtime_ns > 0 && (ret->started_ns == 0 || session->start_realtime_ns < ret->started_ns))
      ret->started_ns = session->start_realtime_ns;
  }
  if (status == LYNX_OK) {
    ret->n_precisions = ret->contract.precisions.n_items;
    ret->precisions = arena_alloc(&ret->arena, ret->n_precisions, sizeof *ret->precisions);
  }
  for (size_t i = 0; i < ret->n_precisions && status == LYNX_OK; i++)
    status = precision_compute(bundle, ret, &sessions, ret->contract.precisions.items[i], &ret->precisions[i], error);
  if (status == LYNX_OK) status = accuracy_judge(bundle, ret, error);
  if (status == LYNX_OK) status = executor_verdicts_judge(bundle, ret, error);
  if (status == LYNX_OK) status = plausibility_judge(bundle, ret, &sessions, error);
  if (status == LYNX_OK) status = bundle_each_event(bundle, keep_condition, ret, error);
  if (status == LYNX_OK && ret->perturbed)
    ret->part = "a perturbed run: resources were slowed, or settings swapped, on purpose, so that it supports no claim about the executor "
                "(`lynxbench perturb`, `bisect` or `experiment` shows what it says)";
  if (status == LYNX_OK && ret->observed)
    ret->part =
        "an observation: its requests are others', nothing of them was set, and nothing can be run again; a run under a contract of "
        "its own supports claims";
  if (status != LYNX_OK) result_release(ret);
  return status;
}

void result_release(struct result *result) {
  arena_release(&result->arena);
  *result = (struct result){0};
}
