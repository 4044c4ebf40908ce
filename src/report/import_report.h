/* report/import_report.h: what `lynxbench import` read, as it stands in a bundle: every figure as its tool states it, beside what its own
 * requests yield; what contradicts; what is missing.
 * Errors   words that are no JSON of ours are left out, silently: an audit says so */
#ifndef REPORT_IMPORT_REPORT_H
#define REPORT_IMPORT_REPORT_H

#include "base/buffer.h"

/* json: of the bundle's meta `imported`; "" adds nothing. whole: with what it lacks, which are conditions of the result elsewhere. */
bool import_text(const char *json, bool whole, struct buffer *ret);
bool import_html(const char *json, struct buffer *ret);

#endif
