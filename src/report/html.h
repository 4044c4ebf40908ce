/* report/html.h: one self-contained HTML page of a bundle: no network, no script, light and dark, prints well.
 * Errors   LIMIT: the page would pass the buffer's limit; INPUT: the bundle's rows cannot be read */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "result/claim.h"

enum lynx_status html_report(struct bundle *bundle, struct result *result, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
