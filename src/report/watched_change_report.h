/* report/watched_change_report.h: what changed between two watches, as text and as JSON. */
#ifndef REPORT_WATCHED_CHANGE_REPORT_H
#define REPORT_WATCHED_CHANGE_REPORT_H

#include "result/watched_change.h"

/* "Mostly other demand: ...": one sentence; text of the arena. */
const char *watched_change_sentence(const struct watched_change *change, struct arena *arena);
bool watched_change_text(const struct watched_change *change, bool color, struct buffer *ret);
bool watched_change_json(const struct watched_change *change, struct buffer *ret);

#endif
