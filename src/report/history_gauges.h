/* report/history_gauges.h: the newest value of each figure and its last change of level, and what became of schedules, as gauges. */
#ifndef REPORT_HISTORY_GAUGES_H
#define REPORT_HISTORY_GAUGES_H

#include "report/gauges.h"
#include "report/history_report.h"

void history_gauges(const struct history_report *report, struct gauges *ret);

#endif
