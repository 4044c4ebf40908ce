/* report/standing_report.h: how a result stands, by a ledger: for a terminal, as JSON, and as part of a page. */
#ifndef REPORT_STANDING_REPORT_H
#define REPORT_STANDING_REPORT_H

#include "base/json.h"
#include "ledger/standing.h"

/* One sentence, for under a claim. */
bool standing_sentence(const struct standing *standing, struct buffer *ret);
bool text_standing(const struct standing *standing, bool color, struct buffer *ret);
void json_standing(const struct standing *standing, struct json_writer *json); /* one object */
void html_standing(const struct standing *standing, struct buffer *ret);

#endif
