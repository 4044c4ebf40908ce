/* report/live_report.h: a live run's attribution, for people (one screen, one page) and for programs. */
#ifndef REPORT_LIVE_REPORT_H
#define REPORT_LIVE_REPORT_H

#include "attribute/live_change.h"
#include "base/json.h"

/* bundle: its name, for the commands that come next. */
bool live_text(const struct live *live, const char *bundle, bool color, struct buffer *ret);
bool live_json(const struct live *live, struct buffer *ret);
bool live_html(const struct live *live, const char *bundle, struct buffer *ret);
/* The evidence alone, within another page. */
void live_html_section(const struct live *live, struct buffer *ret);

/* A picture of the busiest threads over the run, within a page. */
void live_over_time(const struct live *live, struct arena *arena, struct buffer *out);

/* Two runs, one against the other. */
bool live_change_text(const struct live_change *change, bool color, struct buffer *ret);
bool live_change_json(const struct live_change *change, struct buffer *ret);

#endif
