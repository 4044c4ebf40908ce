/* base/file.h: writing files so that they are there whole or not at all.
 * Errors   0, or errno's value: the caller knows what it means to whom
 * Crash    file_replace, file_replace_private and file_create_private return 0 once the bytes are on disk */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* All of it, however often the system takes less. False: errno tells why. */
bool file_write_all(int fd, const void *data, size_t length);
enum { FILE_WAIT_S = 10 };
/* Opens what the user named for reading, a pipe too: one through which nothing comes for FILE_WAIT_S gives -1 and ETIMEDOUT, instead of
 * waiting for ever for somebody to write. What comes later is waited for. */
int file_open_to_read(const char *path);
/* The same for writing in place, as into a device or a pipe: ETIMEDOUT where nobody reads it for FILE_WAIT_S. */
int file_open_to_write(const char *path);
/* What a plain file begins with, size bytes at most; 0: none of it can be had. Nothing else is opened: who opens a pipe and goes away ends
 * its writer, and what the kernel makes (/proc/kmsg) has no size, and is gone once it was read. */
size_t file_head(const char *path, void *ret, size_t size);
/* For a descriptor that is open already. False: ETIMEDOUT. Of what is no pipe: true. */
bool file_wait_for_first_byte(int fd);
/* errno's words; of ETIMEDOUT, what it means here. */
const char *file_error_text(int code);
/* A name beside it that nobody can foresee and no earlier process left: PATH.RANDOM.tmp. False: too long, or no random bytes. */
bool file_temporary_name(const char *path, char *ret, size_t size);
/* To a temporary name beside it, synced, renamed; of the owner and mode of what stood there, as far as this process may. */
int file_replace(const char *path, const void *data, size_t length);
/* The same, for its owner alone, whoever could read what stood there. */
int file_replace_private(const char *path, const void *data, size_t length);
/* A new file that its owner alone may read; EEXIST: it is never overwritten. */
int file_create_private(const char *path, const void *data, size_t length);
/* Makes the folders that lead to path, with that mode; what cannot be made shows when the file is written. */
void file_make_parents(const char *path, unsigned mode);

#endif
