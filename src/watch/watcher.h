/* watch/watcher.h: the packets of a running service, read by a process of their own, and the requests that they were.
 *
 * The parser reads what strangers send. It has the packet sockets, a pipe to write to and one that tells it to end; it is in a cage
 * (base/cage.h), as another user than root, and can ask for nothing. What it writes are records of fixed shape, which are checked here.
 *
 * Order    open; take as often as every tenth of a second; end; close
 * Needs    CAP_NET_RAW; for the network of another process's namespace CAP_SYS_ADMIN and the right to trace it
 * Errors   open: UNSUPPORTED (rights, the kernel), INPUT (no such interface; the server's address is not of this machine)
 * Limits   TLS, HTTP/2 and Unix sockets are counted, and not read */
#ifndef WATCH_WATCHER_H
#define WATCH_WATCHER_H

#include "watch/watching.h"

struct watcher_visit {
  void *context;
  void (*request)(void *context, const struct watched_request *request); /* its events live until this returns */
  void (*state)(void *context, const struct watch_state *state);
};

struct watcher;

enum lynx_status watcher_open(const struct watcher_request *request, struct watcher **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* What has come since; waits for nothing. False: the parser has ended, and everything was taken. */
bool watcher_take(struct watcher *watcher, const struct watcher_visit *visit);
/* What is under way is reported as unfinished, and the rest is taken. False: the parser does not end (it is stopped, or has no processor). */
bool watcher_end(struct watcher *watcher, const struct watcher_visit *visit);
int64_t watcher_refused(const struct watcher *watcher); /* requests that cannot be as they were written, and were left out */
void watcher_close(struct watcher *watcher);            /* accepts NULL */

#endif
