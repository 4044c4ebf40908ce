/* executor/listening.h: the addresses on which processes listen, as URLs.
 * Limits   TCP of IPv4 and IPv6 */
#ifndef EXECUTOR_LISTENING_H
#define EXECUTOR_LISTENING_H

#include "base/root.h"

enum { LISTENING_MAX = 16, LISTENING_URL = 80 };

/* A line of /proc/net/tcp or tcp6. */
struct listening {
  char address[40]; /* as the kernel prints it: words of 32 bits in hexadecimal, each in the machine's own order */
  unsigned port;
  unsigned long long inode;
};

/* False: another state than listening, or no such line. */
bool listening_line(const char *line, struct listening *ret);
/* As bytes in the order of the network; IPv4, also where a socket of IPv6 has it, lies in the first four, with zeros behind. */
bool listening_address(const struct listening *listening, uint8_t ret[16], bool *ret_v6);

/* Are its addresses ours? A container's process may have a network of its own. True where that cannot be read. */
bool listening_here(const struct root *root, int64_t pid);

/* "http://127.0.0.1:8000" for each that the process itself listens on, adding to n of them; an address that stands for all is the
 * loopback's. Returns how many there are now. */
size_t listening_urls(const struct root *root, int64_t pid, char urls[LISTENING_MAX][LISTENING_URL], size_t n);

#endif
