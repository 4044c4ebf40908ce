/* report/confirmation_report.h: what the experiment of a finding says, for people and for programs. */
#ifndef REPORT_CONFIRMATION_REPORT_H
#define REPORT_CONFIRMATION_REPORT_H

#include "ledger/standing.h"
#include "base/json.h"
#include "experiment/confirm.h"

struct confirmation_view {
  const struct confirm_plan *plan;
  const struct confirmation *confirmation;
  const struct sensitivities *all;
  const char *const *unprobed;
  size_t n_unprobed;
};

bool confirmation_text(const struct confirmation_view *view, bool color, struct buffer *ret);
void confirmation_json(const struct confirmation_view *view, struct json_writer *json);

/* What a ledger says of an experiment of this very finding, beside the account. False: it is of another. */
bool confirmation_apply(const struct standing_confirmation *confirmation, struct finding *finding);

#endif
