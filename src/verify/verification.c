#include "verify/verification.h"

#include <string.h>

static enum lynx_status check_re_run(const struct result *sealed, const struct result *again, struct lynx_error *error) {
  if (sealed->seal.end != BUNDLE_COMPLETE)
    return lynx_fail(error, LYNX_INPUT, "the sealed bundle is incomplete (%s): there is no result to verify", sealed->seal.why);
  if (strcmp(again->contract_digest, sealed->contract_digest) != 0)
    return lynx_fail(error, LYNX_INPUT, "a run of another contract (%.16s, not %.16s): it verifies nothing", again->contract_digest,
                     sealed->contract_digest);
  if (again->seal.end != BUNDLE_COMPLETE) return lynx_fail(error, LYNX_INPUT, "an incomplete run: it decides nothing");
  if (strcmp(again->seal.root, sealed->seal.root) == 0)
    return lynx_fail(error, LYNX_INPUT, "the sealed result itself: it verifies nothing");
  return LYNX_OK;
}

/* A copy that withholds what would make it invalid cannot be told from one that is valid. */
static enum lynx_status check_whole(const struct result *again, struct arena *arena, struct lynx_error *error) {
  static const char *const needed[] = {"fact", "session", "request", "event", "sample"};
  for (size_t i = 0; i < LYNX_COUNT(needed); i++)
    if (seal_withholds(&again->seal, needed[i]))
      return lynx_fail(error, LYNX_INPUT,
                       "the section '%s' is withheld from this copy, and what it holds decides whether the re-run counts", needed[i]);
  const char *impossible = plausibility_text(&again->plausibility, arena);
  if (impossible != NULL) return lynx_fail(error, LYNX_INPUT, "no run can have written these rows: %.400s", impossible);
  return LYNX_OK;
}

static void add(struct verification *v, const char *words, const char *what) {
  result_add_text(&v->arena, &v->conditions, &v->n_conditions, arena_printf(&v->arena, "%s%s", words, what));
}

/* A re-run under bad conditions says nothing against the sealed result. */
static void add_conditions(const struct result *r, struct verification *v) {
  for (size_t i = 0; i < r->n_changed; i++) add(v, "changed during the re-run: ", r->changed[i]);
  for (size_t i = 0; i < r->n_departures; i++) add(v, "the re-run is out of contract: ", r->departures[i]);
  for (size_t i = 0; i < r->n_precisions; i++)
    if (r->precisions[i].instrument_limited)
      add(v, r->precisions[i].name,
          ": the instrument's own lateness can have changed the re-run's figures (method.instrument_error_at_most)");
  if (r->part[0] != 0) add(v, "the re-run is ", r->part);
  for (size_t i = 0; i < r->n_conditions; i++) add(v, "condition: ", r->conditions[i]);
}

enum lynx_status verification_make(const struct verification_side *sealed, const struct verification_side *again, struct verification *ret,
                                   struct lynx_error *error) {
  *ret = (struct verification){.conditions = NULL};
  enum lynx_status status = check_re_run(sealed->result, again->result, error);
  if (status == LYNX_OK) status = check_whole(again->result, &ret->arena, error);
  if (status != LYNX_OK) return status;
  add_conditions(again->result, ret);
  if (ret->n_conditions > 0)
    return lynx_fail(error, LYNX_LIMIT, "the re-run's conditions make it invalid, it decides nothing: %s", ret->conditions[0]);
  decision_make(sealed->result, again->result, &ret->report);
  status = configuration_compare(sealed->bundle, again->bundle, sealed->result, &ret->configuration, error);
  if (status == LYNX_OK && !ret->configuration.same) ret->report.decision = DECISION_OTHER_CONFIGURATION;
  return status;
}

void verification_release(struct verification *v) {
  decision_release(&v->report);
  configuration_release(&v->configuration);
  arena_release(&v->arena);
  *v = (struct verification){.conditions = NULL};
}
