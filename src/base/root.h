/* base/root.h: the directory that stands for "/", so that a probe runs on a recorded machine as it does on this one.
 * Shapes   paths are absolute ("/proc/cpuinfo") and taken below the root
 * Errors   NOT_FOUND (absent), IO (denied or unreadable; errno's text in the message), LIMIT (larger than asked for)
 * Limits   everything read from /proc and /sys is hostile: callers give a greatest size */
#ifndef BASE_ROOT_H
#define BASE_ROOT_H

#include "base/buffer.h"

struct root {
  const char *path; /* "" for this machine */
};

/* A descriptor for reading, or -1 and errno. Paths below /proc/PID/root are resolved in that root, links included, only plain files and
 * directories are opened there, and root opens what the process's own user and groups may open. */
int root_open(const struct root *root, const char *path);

enum lynx_status root_read(const struct root *root, const char *path, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* The same, of a plain file alone: what else may be put in its place is INPUT, and a pipe is not waited for. */
enum lynx_status root_read_file(const struct root *root, const char *path, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;

/* Reads one short value without its final line end; false if absent or unreadable. */
bool root_read_line(const struct root *root, const char *path, char *text, size_t size);

/* What a symbolic link says; false if there is none. */
bool root_read_link(const struct root *root, const char *path, char *text, size_t size);

/* Calls visit with every name in a directory, in sorted order; at most limit names. False if it cannot be read. */
bool root_list(const struct root *root, const char *path, size_t limit, void (*visit)(void *context, const char *name), void *context);
/* Of those that end so; others do not count towards the limit. */
bool root_list_ending(const struct root *root, const char *path, const char *ending, size_t limit,
                      void (*visit)(void *context, const char *name), void *context);

/* The path in the outer file system. Returns text. */
char *root_path(const struct root *root, const char *path, char *text, size_t size);

#endif
