/* cli/schedule_list.h: the schedules that are installed, and what became of their times. */
#ifndef CLI_SCHEDULE_LIST_H
#define CLI_SCHEDULE_LIST_H

#include <stdbool.h>

/* Of the units in a folder; named: by the user, so that it must be there. An exit code. */
int schedule_list(const char *folder, bool named, bool json);

#endif
