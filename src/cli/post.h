/* cli/post.h: JSON sent to an address of the user's choice: a hook, a collector.
 * Limits   10 s; certificates of LYNXBENCH_CA_FILE, else the system's
 * Errors   IO: it could not be sent, or its answer's status is 300 or above
 */
#ifndef CLI_POST_H
#define CLI_POST_H

#include "base/status.h"

enum lynx_status post_json(const char *url, const char *body, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
