/* report/bisection_report.h: which facts carry the difference between two executors, for people and for programs. */
#ifndef REPORT_BISECTION_REPORT_H
#define REPORT_BISECTION_REPORT_H

#include "base/json.h"
#include "experiment/bisected.h"

bool bisection_text(const struct bisected *bisected, const struct contract *contract, bool color, struct buffer *ret);
/* Members of an object that is open. */
void bisection_json(const struct bisected *bisected, const struct contract *contract, struct json_writer *json);

/* Some facts carry it, and nothing is left open: they were told apart, each is needed, and the rest changes nothing. */
bool bisection_is_decided(const struct bisection *found);
/* A itself, or B, did not run. */
bool bisection_end_failed(const struct bisected *bisected);

#endif
