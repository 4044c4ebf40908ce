/* cli/capture_target.h: what the commands that capture or read captures share: --endpoint and --pid, and a captured executor from a file.
 */
#ifndef CLI_CAPTURE_TARGET_H
#define CLI_CAPTURE_TARGET_H

#include "executor/capture.h"

/* False if one is wrong; it was reported. Either may be NULL. */
bool capture_target(const char *command, const char *endpoint, const char *pid, const struct root *root, struct capture_request *ret);

/* A capture, or what another tool captured, from text that was read from path. False if it is neither; it was reported. */
bool capture_text(const char *path, const struct buffer *text, struct fact_list *facts);
/* The same from the file. */
bool capture_file(const char *path, struct fact_list *facts);

enum { CAPTURE_FILE_MAX = 256 << 20 };

#endif
