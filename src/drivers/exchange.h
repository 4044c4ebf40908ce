/* drivers/exchange.h: requests and their answers over HTTP/1.1, many at once on one thread: one epoll loop, a kept connection for
 * every slot. What the bytes of an answer mean is the reader's business (http.c, kserve.c).
 *
 * Order    open, add a request for every input, then issue and reap in turn (cancel between them), close
 * Times    stamped right after the system call that they belong to, before anything is parsed
 * Memory   everything is there once it is open; buffers grow to the largest answer seen, and stay
 * Errors   open: LIMIT, IO, INPUT (transport.h). Once running, failures are completions */
#ifndef DRIVERS_EXCHANGE_H
#define DRIVERS_EXCHANGE_H

#include "drivers/answer.h"

enum { EXCHANGE_BODY_MAX = 16 << 20 };

struct exchange_reader {
  enum answer_framing framing;
  /* One event or line of an answer with status 200. False: it cannot be what it should; *ret_reason says why. */
  bool (*piece)(void *context, struct answer *answer, struct bytes data, const char **ret_reason);
  /* The answer is whole (body: what did not come in pieces): sets the outcome, and the reason if it is not OK. */
  void (*judge)(void *context, struct answer *answer, struct bytes body);
};

struct exchange;

enum lynx_status exchange_open(const struct driver_options *options, const struct exchange_reader *reader, void *context,
                               struct exchange **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Head and body of a POST, made once. path: below the endpoint's base; headers: whole lines that end in \r\n. */
struct exchange_post {
  const char *path, *content_type, *accept, *headers;
  struct bytes body;
};
enum lynx_status exchange_add(struct exchange *exchange, const struct exchange_post *post, struct lynx_error *error) LYNX_MUST_CHECK;
void exchange_issue(struct exchange *exchange, uint32_t slot, size_t input);
void exchange_reap(struct exchange *exchange, int64_t deadline_ns, driver_deliver *deliver, void *context);
void exchange_cancel(struct exchange *exchange, uint32_t slot);
void exchange_close(struct exchange *exchange); /* accepts NULL */

/* For readers, from piece and judge: an event of this answer. */
void exchange_deliver(const struct exchange *exchange, const struct answer *answer, const struct completion *event);

#endif
