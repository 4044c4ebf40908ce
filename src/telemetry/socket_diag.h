/* telemetry/socket_diag.h: the kernel's sockets by netlink (sock_diag): in /proc/net/tcp it goes through all connections, milliseconds where
 * there may be many.
 * Limits   of this process's own network namespace; an answer that stops coming for 100 ms is not waited for */
#ifndef TELEMETRY_SOCKET_DIAG_H
#define TELEMETRY_SOCKET_DIAG_H

#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stddef.h>

/* One socket's message, without netlink's head. */
typedef void socket_diag_take(void *context, const char *message, size_t n);

/* TCP, of AF_INET or AF_INET6, in these states (a bit for each). False: not all of them were told. */
bool socket_diag_connections(unsigned char family, unsigned states, socket_diag_take *take, void *context);
/* The same; their messages hold what socket_diag_info reads. */
bool socket_diag_connections_told(unsigned char family, unsigned states, socket_diag_take *take, void *context);
bool socket_diag_info(const char *message, size_t n, struct tcp_info *ret);
/* One of them, by its ends, through a socket of netlink that socket_diag_open gave (to be closed); -1: none. False: the kernel knows no
 * such connection, or does not answer within 20 ms. */
int socket_diag_open(void);
bool socket_diag_one(int asks, unsigned char family, const struct inet_diag_sockid *id, struct tcp_info *ret);
/* Less than a segment waits there though the window of the network has room, and what was sent is not acknowledged: Nagle's algorithm
 * (RFC 9293, 3.7.4). */
bool socket_holds_back(const struct tcp_info *info);
/* Connected ones of the Unix domain, each with its peer. */
bool socket_diag_streams(socket_diag_take *take, void *context);

#endif
