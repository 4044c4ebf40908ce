/* telemetry/process_tree.h: a process and those that it started, and they in turn, by the kernel's own lists.
 * Limits   PROCESS_TREE_MAX processes, THREADS_MAX threads of each; one that has ended has none */
#ifndef TELEMETRY_PROCESS_TREE_H
#define TELEMETRY_PROCESS_TREE_H

#include "base/root.h"

enum { PROCESS_TREE_MAX = 256, THREADS_MAX = 1024 };

struct process_tree {
  int64_t pids[PROCESS_TREE_MAX];
  size_t n;
};

void process_tree_read(const struct root *root, int64_t pid, struct process_tree *ret);
bool process_tree_holds(const struct process_tree *tree, int64_t pid);
/* Calls visit with the number of each device that they have open whose path is that prefix and a number below limit, again for each time. */
void process_tree_devices(const struct root *root, const struct process_tree *tree, const char *prefix, int limit,
                          void (*visit)(void *context, int number), void *context);

/* Calls visit with the number of each of its threads, as text; none where it has ended. */
void process_threads(const struct root *root, int64_t pid, void (*visit)(void *context, const char *thread), void *context);

/* What a process or a thread made the kernel fetch from disks, in calls or by touching a file's page, by its `io`; and all of a tree. False:
 * not one of them told (root, or the same user with the rights of a debugger). */
bool process_read_bytes(const struct root *root, const char *path, unsigned long long *ret);
bool process_tree_read_bytes(const struct root *root, const struct process_tree *tree, unsigned long long *ret);

/* What /proc says of a process or a thread in its `stat`. */
struct process_stat {
  char name[64]; /* sanitised */
  char state;
  unsigned long long minor_faults, major_faults; /* of its pages; major: those that were read from a disk */
  unsigned long long user_ticks, system_ticks;
  unsigned long long ended_ticks; /* of children that have ended and were waited for, and theirs */
  int64_t processor;
  int64_t parent, terminal;         /* terminal: 0 where it has none */
  unsigned long long started_ticks; /* after the machine began: with its number, which process it is */
};

/* Of all processors, since the machine began; busy: steal too, but neither idle nor waiting for I/O. */
struct machine_ticks {
  unsigned long long total, busy, steal;
};

bool machine_ticks_read(const struct root *root, struct machine_ticks *ret);

/* Of the process of that number, and of a file below /proc. */
bool process_read(const struct root *root, int64_t pid, struct process_stat *ret);
bool process_stat_read(const struct root *root, const char *path, struct process_stat *ret);

/* The number that a process has in its own container; its own where it is in none. */
int64_t process_inner_pid(const struct root *root, int64_t pid);
/* The one user of a process, real, effective, saved and for files; -1: they differ, as of a program that gains rights: what it was told may
 * be another's word, and what it may open is not that other's. */
int64_t process_user(const struct root *root, int64_t pid);

#endif
