/* report/factorial_report.h: the effects and interactions of a factorial experiment, for people and for programs. */
#ifndef REPORT_FACTORIAL_REPORT_H
#define REPORT_FACTORIAL_REPORT_H

#include "base/json.h"
#include "experiment/factored.h"

bool factorial_text(const struct factored *factored, const struct contract *contract, bool color, struct buffer *ret);
/* Members of an object that is open. */
void factorial_json(const struct factored *factored, const struct contract *contract, struct json_writer *json);
/* A page with a plot of the effects, and one of every run. */
bool factorial_html(const struct factored *factored, const struct contract *contract, struct buffer *ret);

#endif
