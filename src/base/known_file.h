/* base/known_file.h: what a file is that a command cannot use, by what it begins with: people give what they have. */
#ifndef BASE_KNOWN_FILE_H
#define BASE_KNOWN_FILE_H

#include <stddef.h>

/* "a git-lfs pointer, not the file itself: `git lfs pull` fetches it"; NULL: not known, or just what `command` takes. head: what it begins
 * with, unpacked. */
const char *known_file_text(const char *head, size_t length, const char *command);
/* The same of a file, packed as it is. */
const char *known_file_at(const char *path, const char *command);

#endif
