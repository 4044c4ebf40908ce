/* watch/watching.h: what is to be watched, and how it goes: what both ends of the parser's pipe know. */
#ifndef WATCH_WATCHING_H
#define WATCH_WATCHING_H

#include "base/endpoint.h"
#include "watch/conversation.h"

/* An address on which somebody listens at the server's port: of a server on all addresses, zeros. IPv4 lies in the first four. */
struct watcher_listener {
  uint8_t address[16];
  bool is_v6;
};

struct watcher_request {
  const struct endpoint *endpoint;          /* of which the host and port say who is watched; nobody connects to it */
  int64_t pid;                              /* in whose network it is; 0: in ours */
  const char *interface;                    /* the only one; NULL: all */
  const struct watcher_listener *listeners; /* of them the one at the endpoint's address is the watched one; none: all are */
  size_t n_listeners;
  int64_t resolution_ns; /* to which times are rounded down; 1: not at all */
};

/* How the watching goes, once a second. */
struct watch_state {
  int64_t at_ns; /* of the wall clock */
  struct watch_counts counts;
  int64_t n_packets, n_dropped; /* since the last one */
  int64_t cpu_ns;               /* the parser's, since it began */
  int64_t oldest_asked_ns;      /* of what is under way; INT64_MAX: nothing is */
};

#endif
