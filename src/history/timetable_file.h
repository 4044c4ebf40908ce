/* history/timetable_file.h: a schedule's log of times, from its file, as of now.
 * Errors   NOT_FOUND, IO, LIMIT; INPUT: it is no plain file; *ret then knows of nothing, and is released as any other
 */
#ifndef HISTORY_TIMETABLE_FILE_H
#define HISTORY_TIMETABLE_FILE_H

#include "history/timetable.h"

enum lynx_status timetable_file_read(const char *path, struct timetable_log *ret, struct lynx_error *error);

#endif
