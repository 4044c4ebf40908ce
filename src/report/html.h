/* report/html.h: self-contained HTML pages, of a bundle and of the difference of two executors: no network, no script, light and dark,
 * prints well.
 * Errors   LIMIT: the page would pass the buffer's limit; INPUT: the bundle's rows cannot be read */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "executor/difference.h"
#include "ledger/standing.h"
#include "result/claim.h"

/* standing: by a ledger; NULL: none was asked. inside: what goes into another page: no head, no end. */
enum lynx_status html_report(struct bundle *bundle, struct result *result, const struct standing *standing, bool inside, struct buffer *ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;

/* Parts of it: the executor by layer and owner, and how it differs at the other precisions. */
void html_executor(struct buffer *out, const struct result *result, const struct fact_list *facts, const char *precision);
enum lynx_status html_differences(struct buffer *out, struct bundle *bundle, struct result *result, const struct fact_list *first,
                                  struct lynx_error *error) LYNX_MUST_CHECK;

/* a_name, b_name: what was compared. contract: whose owners are named; NULL: the usual ones. */
bool html_diff(const struct difference_list *differences, const char *a_name, const char *b_name, const struct contract *contract,
               struct buffer *ret);

#endif
