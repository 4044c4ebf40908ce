/* drivers/route.h: a dialect is a server's way of speaking the routes; a route is a path, a request body and the meaning of what comes
 * back. */
#ifndef DRIVERS_ROUTE_H
#define DRIVERS_ROUTE_H

#include "drivers/answer.h"
#include "drivers/piece.h"

struct dialect {
  const char *name;
  bool ignores_eos;        /* takes "ignore_eos" */
  bool times_in_head;      /* x-queue-time and x-inference-time are its own, in milliseconds */
  bool continuous_usage;   /* takes stream_options.continuous_usage_stats */
  const char *chat_tokens; /* the member that bounds a chat's answer */
  const char *extra;       /* members for every body: "\"cache_prompt\":false"; "" */
  const char *summary;
};

struct route {
  const char *path;            /* below the endpoint */
  enum answer_framing framing; /* of a streamed answer */
  bool streams;                /* can be asked for a stream */
  bool has_done;               /* a stream ends with [DONE] */
  bool running_usage;          /* every event says how many tokens there have been */
  bool (*body)(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input, struct buffer *ret);
  void (*read)(struct piece *ret, const char *data, size_t length);
};

#endif
