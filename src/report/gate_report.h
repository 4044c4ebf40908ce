/* report/gate_report.h: what a gate decided: for a terminal, as JSON, as JUnit's XML, as Markdown, and as annotations of GitHub's
 * workflows. */
#ifndef REPORT_GATE_REPORT_H
#define REPORT_GATE_REPORT_H

#include "base/json.h"
#include "history/coincidence.h"
#include "history/gate.h"

struct gate_part {
  const char *precision;
  struct gate gate;
  struct coincidence since; /* from the baseline's newest run to the fresh one */
  const char **refusals;    /* why the fresh runs support no claim */
  size_t n_refusals;
};

struct gate_report {
  const char *contract, *fresh; /* the contract's name; the newest fresh bundle */
  const struct gate_plan *plan;
  const struct gate_part *parts;
  size_t n_parts;
  const char *host; /* where it was judged */
  int64_t at_ns;    /* when the fresh run began, by the wall clock */
  double seconds;   /* that measuring took; 0: nothing was measured for this */
};

/* "output throughput -14.0 % [-18.1, -9.7]: worse by more than the margin of 5 %", and what changed since the baseline, as sentences. */
void gate_put_figure(const struct gate_report *report, const struct gate_figure *figure, struct buffer *out);
void gate_put_since(const struct gate_part *part, struct buffer *out);

/* Of all parts; one that supports no claim is inconclusive. */
enum gate_verdict gate_verdict_of(const struct gate_report *report);

bool gate_text(const struct gate_report *report, bool color, struct buffer *ret);
bool gate_json(const struct gate_report *report, struct buffer *ret);
/* One test case for each figure; what is inconclusive is an error. By the schema of Ant's reports, the strictest one. */
bool gate_junit(const struct gate_report *report, struct buffer *ret);
bool gate_markdown(const struct gate_report *report, struct buffer *ret);
/* ::error and ::warning lines: one for each figure that does not pass. */
bool gate_annotations(const struct gate_report *report, struct buffer *ret);

#endif
