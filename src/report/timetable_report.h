/* report/timetable_report.h: what became of each time at which a contract was due (history/timetable.h), in words and as JSON. */
#ifndef REPORT_TIMETABLE_REPORT_H
#define REPORT_TIMETABLE_REPORT_H

#include "history/timetable.h"

/* "daily at 02:00 UTC", "every 6 h, at 02:05 UTC and so on", "Mondays at 06:00 UTC" */
void timetable_put_when(const struct timetable *timetable, struct buffer *out);
/* "2026-11-24T02:00Z"; size >= 32. */
char *timetable_time(int64_t at_s, char *text, size_t size);
/* Worth a line: late, or neither kept nor running. */
bool timetable_slot_is_told(const struct timetable_slot *slot);
/* A line that counts, then one for each slot that was not kept, or late: the newest TIMETABLE_SLOTS_SHOWN. */
enum { TIMETABLE_SLOTS_SHOWN = 10 };
void timetable_put_log(const struct timetable_log *log, struct buffer *out);
/* Members of an object that is open: name, every_s, at_s, counts, and every slot that was not kept, or late. */
void timetable_json_log(const struct timetable_log *log, struct json_writer *json);

#endif
