/* report/ranks_report.h: all ranks of one job, for a terminal, as a page and as JSON: which rank the others wait for, where the time went
 * on the ranks, collectives by group, and own time by rank and step as a heat map. */
#ifndef REPORT_RANKS_REPORT_H
#define REPORT_RANKS_REPORT_H

#include "attribute/rank_job.h"
#include "report/attribution_report.h"

/* view: whose owners, and how many ranks are listed; its attribution is not looked at. */
bool ranks_text(const struct rank_job *job, const struct attribution_view *view, bool color, struct buffer *ret);
bool ranks_json(const struct rank_job *job, const struct attribution_view *view, struct buffer *ret);
bool ranks_html(const struct rank_job *job, const struct attribution_view *view, struct buffer *ret);

#endif
