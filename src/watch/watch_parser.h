/* watch/watch_parser.h: the process that reads packets (watcher.h). */
#ifndef WATCH_WATCH_PARSER_H
#define WATCH_WATCH_PARSER_H

#include <sys/types.h>

#include "watch/watching.h"

/* In a process that was forked for it, from parent; never returns. records is written to, stop is at its end when all is over. */
_Noreturn void watch_parser_main(const struct watcher_request *request, pid_t parent, int records, int stop);

#endif
