/* report/verification_report.h: a verification for a terminal, and as JSON. */
#ifndef REPORT_VERIFICATION_REPORT_H
#define REPORT_VERIFICATION_REPORT_H

#include "base/json.h"
#include "verify/verification.h"

/* configuration NULL: there was no re-run yet, the plan is told. */
bool text_verification(const struct decision_report *report, const struct configuration *configuration, bool color, struct buffer *ret);
/* Members of the open object: also what a verification's entry in the ledger holds. */
void json_verification(const struct decision_report *report, const struct configuration *configuration, struct json_writer *json);
/* All of it as one text: `lynxbench verify --json`. again_root NULL: there was no re-run yet. */
bool json_verification_whole(const char *sealed_root, const char *again_root, const struct decision_report *report,
                             const struct configuration *configuration, struct buffer *ret);

#endif
