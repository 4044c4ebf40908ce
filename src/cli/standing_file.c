#include "cli/standing_file.h"

#include "cli/command.h"
#include "cli/ledger_file.h"

static enum lynx_status take_start(void *context, const struct bundle_session *session) {
  int64_t *earliest = context, start_s = session->start_realtime_ns / 1000000000;
  if (start_s < *earliest) *earliest = start_s;
  return LYNX_OK;
}

bool standing_file_ask(struct ledger *ledger, const struct bundle_file *file, struct standing *ret) {
  const struct result *r = &file->result;
  const char *intent = bundle_meta(file->bundle, "ledger_intent"), *note = bundle_meta(file->bundle, "ledger_checkpoint");
  struct lynx_error error = {0};
  struct standing_question q = {.signatories = (const char *const *)r->contract.signatories.items,
                                .n_signatories = r->contract.signatories.n_items,
                                .intent = intent != NULL ? intent : "",
                                .checkpoint = bytes_of(note != NULL ? note : ""),
                                .run_start_s = INT64_MAX};
  bool good = hex_decode(r->contract_digest, q.contract, DIGEST_BYTES);
  (void)hex_decode(r->seal.root, q.bundle, DIGEST_BYTES); /* an unsealed one has none, and is in no ledger */
  good = good && bundle_each_session(file->bundle, take_start, &q.run_start_s, &error) == LYNX_OK &&
         standing_of(ledger, &q, ret, &error) == LYNX_OK;
  if (!good) (void)report_error(&error);
  return good;
}

bool standing_file_read(const char *option, const struct bundle_file *file, struct standing *ret, bool *ret_known) {
  const char *address = ledger_file_address(option);
  struct ledger_file ledger;
  *ret_known = false;
  *ret = (struct standing){.recorded = false};
  if (address == NULL) return true;
  if (!ledger_file_open(address, false, &ledger)) return false;
  *ret_known = standing_file_ask(ledger.ledger, file, ret);
  ledger_file_close(&ledger);
  return *ret_known;
}
