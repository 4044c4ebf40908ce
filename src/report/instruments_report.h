/* report/instruments_report.h: why two instruments differ, as text and JSON. False: the buffer is full. */
#ifndef REPORT_INSTRUMENTS_REPORT_H
#define REPORT_INSTRUMENTS_REPORT_H

#include "result/instruments.h"

bool instruments_text(const struct instruments *r, const struct instrument *a, const struct instrument *b, struct buffer *ret);
bool instruments_json(const struct instruments *r, const struct instrument *a, const struct instrument *b, struct buffer *ret);

#endif
