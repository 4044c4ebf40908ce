/* watch/watch_record.h: what the parser writes into its pipe, and how the reader checks it. Both ends are this program: fields are as they
 * lie in memory, and every one is looked at before it is used. */
#ifndef WATCH_WATCH_RECORD_H
#define WATCH_WATCH_RECORD_H

#include "watch/watching.h"

enum watch_record_kind { RECORD_READY = 1, RECORD_FAILED, RECORD_REQUEST, RECORD_STATE };

enum watch_failure { FAILED_NAMESPACE, FAILED_RIGHTS, FAILED_KERNEL, FAILED_INTERFACE, FAILED_ADDRESS, FAILED_COUNT };

struct watch_failed {
  int32_t failure, number; /* number: of errno */
};

struct watch_head {
  uint32_t kind;
  uint32_t length; /* of what follows */
};

/* A record is at most this long. */
enum { WATCH_RECORD_MAX = (8 << 20) + 65536 };

/* Is it one that a parser writes? Then *ret has it, with events that point into the bytes. */
bool watch_record_request(const char *data, size_t length, struct watched_request *ret);
bool watch_record_state(const char *data, size_t length, struct watch_state *ret);

#endif
