/* report/html.h: self-contained HTML pages, of a bundle and of the difference of two executors: no network, no script, light and dark,
 * prints well.
 * Errors   LIMIT: the page would pass the buffer's limit; INPUT: the bundle's rows cannot be read */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "executor/difference.h"
#include "executor/disclose.h"
#include "ledger/standing.h"
#include "result/claim.h"

struct html_report_options {
  const struct standing *standing; /* by a ledger; NULL: none was asked */
  bool inside;                     /* what goes into another page: no head, no end */
  /* To whom it is shown. Below full, facts are withheld as in a capture, texts that name what such a fact would are, and the account of
   * the server's threads is left out: it names functions, files and other processes. */
  enum disclosure level;
};

enum lynx_status html_report(struct bundle *bundle, struct result *result, const struct html_report_options *options, struct buffer *ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;

/* Parts of it: the executor by layer and owner, and how it differs at the other precisions. */
void html_executor(struct buffer *out, const struct result *result, const struct fact_list *facts, const char *precision);
enum lynx_status html_differences(struct buffer *out, struct bundle *bundle, struct result *result, const struct fact_list *first,
                                  struct lynx_error *error) LYNX_MUST_CHECK;

/* a_name, b_name: what was compared. contract: whose owners are named; NULL: the usual ones. */
bool html_diff(const struct difference_list *differences, const char *a_name, const char *b_name, const struct contract *contract,
               struct buffer *ret);

#endif
