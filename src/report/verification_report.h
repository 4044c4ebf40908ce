/* report/verification_report.h: a verification for a terminal, and as JSON. */
#ifndef REPORT_VERIFICATION_REPORT_H
#define REPORT_VERIFICATION_REPORT_H

#include "base/json.h"
#include "verify/configuration.h"
#include "verify/decision.h"

/* configuration NULL: there was no re-run yet, the plan is told. */
bool text_verification(const struct decision_report *report, const struct configuration *configuration, bool color, struct buffer *ret);
/* Members of the open object: also what a verification's entry in the ledger holds. */
void json_verification(const struct decision_report *report, const struct configuration *configuration, struct json_writer *json);

#endif
