/* report/upgrade_report.h: would an upgrade help: the verdict first, then what to do, then what it rests on. And the table of devices. */
#ifndef REPORT_UPGRADE_REPORT_H
#define REPORT_UPGRADE_REPORT_H

#include "base/json.h"
#include "decide/upgrade_judgement.h"
#include "result/result.h"

/* What was asked, and of which run. */
struct upgrade_report {
  const struct upgrade_question *question;
  const struct upgrade_judgement *judgement;
  const struct sensitivities *measured;
  const struct result *result;
  bool by_price; /* what is wanted is a ratio of prices, not a margin */
};

bool upgrade_report_text(const struct upgrade_report *report, bool color, struct buffer *ret);
void upgrade_report_json(const struct upgrade_report *report, struct json_writer *json);
bool device_table_text(struct buffer *ret);
void device_table_json(struct json_writer *json);

#endif
