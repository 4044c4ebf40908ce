/* cli/schedule_units.h: a schedule as systemd's units, a line for cron, and a Kubernetes CronJob.
 * Errors   false: a text that has no place there (a line end), which was reported */
#ifndef CLI_SCHEDULE_UNITS_H
#define CLI_SCHEDULE_UNITS_H

#include "history/timetable.h"

enum { SCHEDULE_PATH = 4200 };

struct schedule_plan {
  struct timetable timetable;
  const char *contract, *folder;   /* whole paths */
  const char *ledger, *key;        /* NULL: none; whole paths, or an address */
  const char *program, *working;   /* this program; where the contract's own paths begin */
  const char *busy_at_most, *wait; /* as they were given; NULL */
  int64_t offset_s;                /* at random, at most */
};

/* Its first line says which schedule it is, for `schedule list`. */
bool schedule_service(const struct schedule_plan *plan, struct buffer *ret);
bool schedule_timer(const struct schedule_plan *plan, struct buffer *ret);
bool schedule_cron_line(const struct schedule_plan *plan, struct buffer *ret);
bool schedule_kubernetes(const struct schedule_plan *plan, struct buffer *ret);

/* What the first line of a unit says. */
struct schedule_mark {
  struct timetable timetable;
  char contract[SCHEDULE_PATH], folder[SCHEDULE_PATH];
};

/* False: the unit at path is none of ours. */
bool schedule_read_mark(const char *path, struct schedule_mark *ret);

#define SCHEDULE_MARK "# lynxbench schedule: "

#endif
