/* base/outcome.h: the words of a request's row: how it ended, and in which part of its session it was due. */
#ifndef BASE_OUTCOME_H
#define BASE_OUTCOME_H

#include "base/status.h"

/* How one request ended. Everything but OK is a miss of every objective. */
enum outcome {
  OUTCOME_OK,
  OUTCOME_REFUSED,         /* no connection */
  OUTCOME_TLS,             /* the handshake failed */
  OUTCOME_TIMEOUT,         /* longer than the contract's time-out */
  OUTCOME_CLOSED,          /* the connection ended before the answer did */
  OUTCOME_HTTP_STATUS,     /* an answer that is not 200; http_status says which */
  OUTCOME_PROTOCOL,        /* not HTTP, not an event stream, not JSON */
  OUTCOME_ERROR_IN_STREAM, /* 200, then an error object */
  OUTCOME_NOT_FINISHED,    /* the stream ended without [DONE] or a finish reason */
  OUTCOME_LIMIT,           /* a line, head or body larger than is accepted */
  OUTCOME_EXECUTOR,        /* the executor says that it failed, or its process ended */
  OUTCOME_UNFINISHED,      /* still running when the drain ended: counts as at least its age */
  OUTCOME_ABANDONED,       /* not counted, and cut off because the session was over */
  OUTCOME_COUNT
};

const char *outcome_text(enum outcome outcome);
bool outcome_parse(const char *text, enum outcome *ret);

/* By when it was due. */
enum phase { PHASE_WARM_UP, PHASE_COUNTED, PHASE_TAIL, PHASE_COUNT };

const char *phase_text(enum phase phase);
bool phase_parse(const char *text, enum phase *ret);
/* Of a request that is due then, in a session of that window. */
enum phase phase_at(int64_t scheduled_ns, int64_t warm_up_ns, int64_t counted_ns);

#endif
