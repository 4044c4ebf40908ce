/* history/timetable.h: when a contract is run again and again, and which of those times were kept.
 *
 * Times    seconds since 1970, UTC: daylight saving and time zones move nothing. A slot is a time at which a run is due
 * Log      one line of JSON for each thing that happened, appended:
 *          {"schedule", "every_s", "at_s", "slot_s", "time_s", "state", ...}. States: installed; removed; begun (bundle);
 *          ended (exit); skipped (why). A line that is cut off or is no such object is counted, and nothing more
 * Rule     a slot is kept if a run of it ended; interrupted if one began and none ended, or a signal ended it (exit
 *          code 130); skipped if none began and one says why; missed if nothing is known of it and its grace is over.
 *          Late: the run that counts began more than a tenth of the period, at most an hour, after it
 * Period   lines of several periods are each judged by their own, until the next one began
 * Limits   TIMETABLE_SLOTS_MAX slots, the newest; of a log with several periods eleven years
 */
#ifndef HISTORY_TIMETABLE_H
#define HISTORY_TIMETABLE_H

#include "base/arena.h"
#include "base/json.h"

enum { TIMETABLE_NAME_MAX = 61, TIMETABLE_SLOTS_MAX = 100000, TIMETABLE_LINE_MAX = 65536 };
#define TIMETABLE_LOG_ENDING ".schedule.jsonl"

struct timetable {
  char name[TIMETABLE_NAME_MAX]; /* letters, digits, - and _ */
  int64_t every_s;               /* whole hours that divide a day, a day, or a week */
  int64_t at_s;                  /* after the day's beginning, below every_s; of a week: after Monday's */
};

bool timetable_name_good(const char *name);
bool timetable_period_good(int64_t every_s, int64_t at_s);
/* "1h" ... "12h", "1d", "7d"; at "HH:MM", NULL: 00:00. What is accepted is in ret_accepted where it is false. */
bool timetable_parse(const char *every, const char *at, struct timetable *ret, const char **ret_accepted);

/* The newest slot that is not after now; the next is every_s later. */
int64_t timetable_slot(const struct timetable *timetable, int64_t now_s);
int64_t timetable_grace(const struct timetable *timetable);

/* As systemd's OnCalendar, and cron's first five fields; size >= 64. */
char *timetable_calendar(const struct timetable *timetable, char *text, size_t size);
char *timetable_cron(const struct timetable *timetable, char *text, size_t size);

enum slot_state { SLOT_KEPT, SLOT_FAILED, SLOT_INTERRUPTED, SLOT_SKIPPED, SLOT_MISSED, SLOT_RUNNING, SLOT_STATES };
const char *slot_state_text(enum slot_state state);

struct timetable_slot {
  int64_t slot_s, begun_s; /* begun_s 0: none began */
  int64_t exit;            /* of the last run that ended; -1 */
  enum slot_state state;
  bool late;
  const char *why, *bundle; /* "" */
};

struct timetable_log {
  struct arena arena;
  struct timetable schedule; /* as its newest line has it */
  struct timetable_slot *slots;
  size_t n_slots, n[SLOT_STATES], n_late, n_unread;
  size_t n_before; /* older slots that are counted and no more kept */
  bool known;      /* it has a line */
};

/* What its lines say, as of now. A log that says nothing has known false. */
void timetable_log_read(struct bytes text, int64_t now_s, struct timetable_log *ret);
/* The slot, if something is known of it; NULL. */
const struct timetable_slot *timetable_log_slot(const struct timetable_log *log, int64_t slot_s);
/* Only the newest slots are needed from here on. */
void timetable_log_shorten(struct timetable_log *log, size_t most);
void timetable_log_release(struct timetable_log *log);

#endif
