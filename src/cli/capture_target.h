/* cli/capture_target.h: --endpoint and --pid of the commands that capture, checked alike. */
#ifndef CLI_CAPTURE_TARGET_H
#define CLI_CAPTURE_TARGET_H

#include "executor/capture.h"

/* False if one is wrong; it was told. Either may be NULL. */
bool capture_target(const char *command, const char *endpoint, const char *pid, const struct root *root, struct capture_request *ret);

#endif
