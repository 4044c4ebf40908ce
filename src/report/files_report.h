/* report/files_report.h: what two sides of result files say of a change (result/files_compared.h), for a terminal and as JSON. */
#ifndef REPORT_FILES_REPORT_H
#define REPORT_FILES_REPORT_H

#include "executor/difference.h"
#include "result/files_compared.h"

/* environments: what else differs between the two sides; NULL: it was not given. */
bool files_text(const struct files_compared *compared, const struct files_side *before, const struct files_side *after,
                const struct difference_list *environments, struct buffer *ret);
bool files_json(const struct files_compared *compared, const struct files_side *before, const struct files_side *after,
                const struct difference_list *environments, struct buffer *ret);

#endif
