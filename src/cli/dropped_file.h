/* cli/dropped_file.h: a file that somebody brought to be looked at, shown and thrown away: a bundle, a trace, or another tool's result.
 *
 * What it is is found by trying: this same program, as a child in its cage, as `report`, `attribute` and `import` do.
 * Limits   DROPPED_MEMORY for each try; DROPPED_S seconds for all tries together
 * Threads  one at a time in a folder */
#ifndef CLI_DROPPED_FILE_H
#define CLI_DROPPED_FILE_H

#include <stdatomic.h>

#include "page/source.h"

enum { DROPPED_S = 40 };
#define DROPPED_MEMORY "1073741824" /* of each child, bytes */

/* folder: of the caller's own; fd: the file, from its beginning; stop not 0: it is given up. *ret_inside is a buffer that began. */
enum looked_kind dropped_file_look(const char *folder, int fd, const atomic_int *stop, struct buffer *ret_inside, struct buffer *ret_why);

#endif
