/* watch/conversation.h: one TCP connection to the watched server: what its client asked and what it was answered, as requests with times.
 *
 * Shapes   segments of both sides in the order in which the tap saw them; done is called for each request as it ends
 * Times    of the tap, in nanoseconds of the wall clock. A request counts from the last byte of its body
 * Result   what was lost, joined late or could be read in two ways ends no request: it is counted instead, and what is left of the connection
 *          is passed over until a request begins that is certain
 * Limits   PIPELINED_MAX requests ahead of their answers; a body that is not a stream, BODY_MAX bytes */
#ifndef WATCH_CONVERSATION_H
#define WATCH_CONVERSATION_H

#include "base/outcome.h"
#include "watch/packet.h"
#include "watch/request_reader.h"
#include "watch/stream.h"

enum { CONVERSATION_PIPELINED_MAX = 64, CONVERSATION_BODY_MAX = 16 << 20, CONVERSATION_EVENTS_MAX = 8 << 20 };

/* More than any model has; who asks for more has asked for as many as there are. */
#define WATCHED_COUNT_MAX INT64_C(1000000000)

/* A request that somebody sent, and how it ended. It holds no text. Its counts are at most WATCHED_COUNT_MAX. */
struct watched_request {
  enum outcome outcome;
  bool cancelled; /* its client went away: before its first token outcome is UNFINISHED, else OK */
  int http_status;
  int64_t begun_ns, asked_ns; /* the first and the last byte of the request */
  int64_t connecting_ns;      /* from the connection's first SYN to the server's answer to it; -1: an older connection, or not seen */
  int64_t first_byte_ns, first_token_ns, first_answer_ns, first_tool_call_ns, last_token_ns, end_ns; /* -1: never */
  int64_t prompt_tokens, output_tokens, asked_tokens, prompt_bytes;                                  /* -1: not known */
  int64_t n_text_events, n_shared; /* n_shared: of all events those that came in one segment with the one before */
  uint32_t flags;                  /* enum answer_flag */
  const void *events;              /* load/events.h, after asked_ns; without bytes of text */
  size_t events_length;
};

/* What was seen beside whole requests, since the beginning. */
struct watch_counts {
  int64_t n_requests, n_other; /* on the routes of models; on others */
  int64_t n_compressed;        /* of those on the routes of models: their answers cannot be read, and they are no rows */
  int64_t n_too_long;          /* likewise: their answers are longer than BODY_MAX, or one event of them */
  int64_t n_one_sided;         /* connections of which nothing was seen that the server sent */
  int64_t n_joined_late, n_lost, n_left[LEFT_COUNT]; /* requests or connections that were not followed; n_left by enum request_left */
  int64_t n_again, n_conflicts, n_syn_again;
  int64_t n_unfollowed;
  int64_t n_in_flight; /* now, on the routes of models */
};

struct conversation_sink {
  void *context;
  void (*done)(void *context, const struct watched_request *request);
  struct watch_counts *counts;
  size_t *held_in_all;
  int64_t resolution_ns; /* to which times are rounded down; 1: not at all */
};

struct conversation;

struct conversation *conversation_open(void);
/* from_client: of this segment. */
void conversation_segment(struct conversation *c, const struct segment *s, bool from_client, int64_t at_ns,
                          const struct conversation_sink *sink);
void conversation_age(struct conversation *c, int64_t now_ns, const struct conversation_sink *sink);
/* Of memory, about. */
size_t conversation_bytes(const struct conversation *c);
bool conversation_is_open(const struct conversation *c);   /* a request is under way */
bool conversation_is_busy(const struct conversation *c);   /* it is, or is being sent */
int64_t conversation_oldest(const struct conversation *c); /* when it was asked; INT64_MAX: none */
bool conversation_is_over(const struct conversation *c);   /* both sides ended, or one broke it off */
/* Nothing of what is under way is reported: it is lost. */
void conversation_forget(struct conversation *c, const struct conversation_sink *sink);
/* What is under way is reported as unfinished. */
void conversation_close(struct conversation *c, int64_t now_ns, const struct conversation_sink *sink);

#endif
