/* cli/serving_url.h: where a process that the user named listens.
 * Errors   false: it was reported, as the tool's */
#ifndef CLI_SERVING_URL_H
#define CLI_SERVING_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "executor/listening.h"

/* Of the process, or else of one that it started. */
bool serving_url(const char *tool, int64_t pid, char url[LISTENING_URL]);

#endif
