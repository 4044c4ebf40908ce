#include "verify/bundle_standing.h"

static enum lynx_status take_start(void *context, const struct bundle_session *session) {
  int64_t *earliest = context, start_s = session->start_realtime_ns / 1000000000;
  if (start_s < *earliest) *earliest = start_s;
  return LYNX_OK;
}

enum lynx_status bundle_standing(struct ledger *ledger, struct bundle *bundle, const struct result *result, struct standing *ret,
                                 struct lynx_error *error) {
  const char *intent = bundle_meta(bundle, "ledger_intent"), *note = bundle_meta(bundle, "ledger_checkpoint");
  struct standing_question q = {.signatories = (const char *const *)result->contract.signatories.items,
                                .n_signatories = result->contract.signatories.n_items,
                                .checkpoint = bytes_of(note != NULL ? note : ""),
                                .run_start_s = INT64_MAX};
  q.has_intent = intent != NULL && hex_decode(intent, q.intent, DIGEST_BYTES);
  lynx_assert(hex_decode(result->contract_digest, q.contract, DIGEST_BYTES));
  (void)hex_decode(result->seal.root, q.bundle, DIGEST_BYTES); /* an unsealed one has none, and is in no ledger */
  enum lynx_status status = bundle_each_session(bundle, take_start, &q.run_start_s, error);
  return status == LYNX_OK ? standing_of(ledger, &q, ret, error) : status;
}
