/* base/cage.h: gives up, for the rest of this process's life, what code that is not ours has no need of.
 * What is given up
 *           privileges by exec (no_new_privs); changes to files (Landlock: nothing is created, written by name, renamed or removed; what is
 *           open stays so); new programs and processes, sockets, signals to others, limits and priorities of others, tracing, mounts,
 *           namespaces, keys, modes, times and owners of files, shared memory, other users, io_uring, and typing into a terminal (seccomp:
 *           EPERM; calls that are newer than this list do not exist there); memory, processor time, core files, long files (limits)
 * Not       reading: whatever this user may read it may read on. Threads are allowed
 * Limits    what this kernel cannot do is left out
 * Source    Linux: Documentation/userspace-api/landlock.rst and seccomp_filter.rst */
#ifndef BASE_CAGE_H
#define BASE_CAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAGE_FOLDERS_MAX = 4, CAGE_FILES_MAX = 4 };

struct cage {
  int64_t memory_bytes, processor_s, file_bytes, open_files; /* file_bytes: of what is written; 0 each: as it is */
  const char *folders[CAGE_FOLDERS_MAX];                     /* in which files may be made, written and removed all the same */
  size_t n_folders;
  const char *files[CAGE_FILES_MAX]; /* that may be written; they are there already */
  size_t n_files;
  bool network; /* sockets may be connected */
  /* Above 0: nothing but to wait, to count, to use memory, and to write to this open file: nothing is opened, read by a call, or sent. */
  int alone_with;
};

void cage_enter(const struct cage *cage);
/* What this kernel cannot do of it, in words; "" if it can do all. */
const char *cage_lacks(void);

#endif
