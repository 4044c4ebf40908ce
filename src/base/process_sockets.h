/* base/process_sockets.h: the sockets that a process has open, by the numbers that /proc/net and netlink call inodes. */
#ifndef BASE_PROCESS_SOCKETS_H
#define BASE_PROCESS_SOCKETS_H

#include "base/root.h"

/* Adds to the n of them that are there; how many there are then, most at most. None where its descriptors may not be read. */
size_t process_sockets(const struct root *root, int64_t pid, unsigned long long *inodes, size_t n, size_t most);

#endif
