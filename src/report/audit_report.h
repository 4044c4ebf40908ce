/* report/audit_report.h: an audit for a terminal, as JSON, and as a page to attach. */
#ifndef REPORT_AUDIT_REPORT_H
#define REPORT_AUDIT_REPORT_H

#include "base/json.h"
#include "verify/audit.h"

bool text_audit(const struct audit *audit, bool color, struct buffer *ret);
bool json_audit(const struct audit *audit, struct buffer *ret);
/* when: in words */
bool html_audit(const struct audit *audit, const char *when, struct buffer *ret);

#endif
