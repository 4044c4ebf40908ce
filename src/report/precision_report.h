/* report/precision_report.h: may the precision be lowered: the verdict, then each task. */
#ifndef REPORT_PRECISION_REPORT_H
#define REPORT_PRECISION_REPORT_H

#include "base/json.h"
#include "decide/precision_judgement.h"

struct precision_report {
  const struct precision_judgement *judgement;
  const char *before, *after; /* names of files or folders */
  double confidence;
};

bool precision_report_text(const struct precision_report *report, bool color, struct buffer *ret);
void precision_report_json(const struct precision_report *report, struct json_writer *json);

#endif
