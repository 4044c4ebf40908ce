/* report/fleet_report.h: how many executors a load needs: the number first, then what it rests on and what would change it. */
#ifndef REPORT_FLEET_REPORT_H
#define REPORT_FLEET_REPORT_H

#include "base/json.h"
#include "decide/fleet_answer.h"
#include "decide/fleet_read.h"

struct fleet_report {
  const struct result *result;
  const struct fleet_measured *measured;
  const struct fleet_load *load;
  const struct fleet_answer *answer;
  double limit_s;
  size_t spare; /* that may be lost */
};

bool fleet_report_text(const struct fleet_report *report, bool color, struct buffer *ret);
void fleet_report_json(const struct fleet_report *report, struct json_writer *json);

#endif
