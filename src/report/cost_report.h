/* report/cost_report.h: what the work of a run costs, and of two which costs less: the verdict, then what it rests on. */
#ifndef REPORT_COST_REPORT_H
#define REPORT_COST_REPORT_H

#include "base/json.h"
#include "decide/cost.h"

enum { COST_RUNS = 2 };

struct cost_report {
  int n; /* runs: 1 or 2 */
  const char *names[COST_RUNS];
  const struct result *results[COST_RUNS];
  const struct cost_side *sides[COST_RUNS];
  const struct cost_comparison *comparison; /* NULL: one run, or a side has no figure */
  struct cost_doubt doubt;                  /* there is no figure, or nothing to compare */
};

bool cost_report_text(const struct cost_report *report, bool color, struct buffer *ret);
void cost_report_json(const struct cost_report *report, struct json_writer *json);

#endif
