/* drivers/answer.h: what one answer has said so far, whoever read its bytes: a connection of ours (exchange.h), or packets between others
 * (src/watch). */
#ifndef DRIVERS_ANSWER_H
#define DRIVERS_ANSWER_H

#include "drivers/http_parser.h"
#include "load/driver.h"

/* How a good answer arrives. An answer that says that it is an event stream is one. */
enum answer_framing { FRAMING_WHOLE, FRAMING_EVENTS, FRAMING_LINES };

/* What one answer has said so far; the reader keeps the rest of it up to date. */
struct answer {
  uint32_t slot;
  size_t input;
  const struct http_parser *http;
  bool in_pieces;                                    /* it comes as events or lines */
  bool finished, done, failed;                       /* a finish reason; the end of the stream; an error object */
  int64_t tokens_before;                             /* running usage at the event before */
  int64_t n_text_events, n_empty_events, text_bytes; /* events with text; those with a place for it and none; bytes of text */
  int64_t at_ns, read_lag_ns;                        /* of the read that is being looked at */
  int64_t written_ns;                                /* -1: nothing was yet */
  struct answer_end end;                             /* what it will end with, but for the outcome */
  struct answer_phase phases[ANSWER_PHASES];
};

/* Of a request that is about to be sent, or was; http is the reader's. */
void answer_begin(struct answer *answer, const struct http_parser *http, uint32_t slot, size_t input, unsigned flags);
/* A phase that the answer tells of; nothing once ANSWER_PHASES are there. */
void answer_add_phase(struct answer *answer, const char *name, int64_t from_ns, int64_t took_ns);

#endif
