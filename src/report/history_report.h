/* report/history_report.h: figures over time: where they changed, and what changed with them; for a terminal, as JSON, as a table of
 * values, and as a page with plots. */
#ifndef REPORT_HISTORY_REPORT_H
#define REPORT_HISTORY_REPORT_H

#include "base/json.h"
#include "result/figure_text.h"
#include "history/coincidence.h"
#include "history/timetable.h"

struct history_report {
  const struct history *history;
  const struct coincidence *coincidences; /* one for each event */
  const struct change_plan *plan;
  const struct timetable_log *schedules; /* of the folders that the runs are from */
  size_t n_schedules;
  double least; /* a change is small where its whole interval lies within this share; 0: none is */
};

/* In its first line: the verdict. */
bool history_text(const struct history_report *report, bool color, struct buffer *ret);
bool history_json(const struct history_report *report, struct buffer *ret);
/* One row for each value. */
bool history_csv(const struct history_report *report, struct buffer *ret);
bool history_html(const struct history_report *report, struct buffer *ret);
/* One series as a plot, of two values or more. */
void history_plot(const struct history_report *report, size_t series, struct buffer *ret);

/* --- words that both forms share --- */

/* "output throughput -12.1 % [-13.0, -11.2]" */
void history_put_change(const struct history_report *report, const struct history_change *change, struct buffer *out);
/* "-12.1 % [-13.0, -11.2]" */
void history_put_size(const struct change *change, const char *unit, struct buffer *out);
void history_put_verdict(const struct history_report *report, struct buffer *out);
/* Of runs with a contract; a table's rows have none, and nothing is known of what ran. */
bool history_has_executor(const struct history_report *report, size_t event);
/* What changed there: one sentence, or more. */
void history_put_coincidence(const struct history_report *report, size_t event, struct buffer *out);
/* before, and what drifted there: the machine, the stack or the model; a sentence. unknown: also that it is not known. */
void history_put_drift(const struct history_report *report, size_t event, const char *before, bool unknown, struct buffer *out);
/* "lynxbench diff A B", as a shell takes it; what lies in a ledger is fetched first. */
void history_put_command(const char *command, const struct history_origin *a, const struct history_origin *b, struct buffer *out);
/* The facts of identity that changed, one line for each. */
void history_put_facts(const struct coincidence *coincidence, const char *indent, struct buffer *out);
/* Members of an object that is open: what changed with it, its rung, every fact, conditions. */
void history_json_facts(const struct coincidence *coincidence, struct json_writer *json);
/* What to do next; "" where nothing is known. */
void history_put_next(const struct history_report *report, size_t event, struct buffer *out);
void history_put_error(const struct history_report *report, struct buffer *out);
/* "2026-11-23", or "run 7" where no time is known. */
void history_put_time(const struct history_run *run, bool whole, struct buffer *out);
bool history_is_small(const struct history_report *report, const struct history_change *change);

#endif
