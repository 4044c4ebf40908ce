/* base/purpose.h: the words of a session's row: what its requests count for, how it ended, and how it found the executor. */
#ifndef BASE_PURPOSE_H
#define BASE_PURPOSE_H

#include "base/status.h"

enum purpose {
  PURPOSE_MEASURE,       /* the figures */
  PURPOSE_SEARCH,        /* a load that a search for saturation tries */
  PURPOSE_CERTIFY,       /* one of the two loads of its certificate */
  PURPOSE_CHECK_CACHING, /* the checks `caching` and `prefix` */
  PURPOSE_CHECK_SEED,    /* the check `seed` */
  PURPOSE_OBSERVE,       /* nothing is sent: the service is watched */
  PURPOSE_ATTRIBUTE,     /* profilers run: it counts into no figure */
  PURPOSE_TRACE,         /* the server's own profiler runs for a moment of it: it counts into no figure */
  PURPOSE_PERTURB,       /* resources are slowed in blocks: it counts into no figure of the executor */
  PURPOSE_COUNT
};

/* Do its requests make the figures: ours, or those of others that were watched? */
static inline bool purpose_measures(enum purpose purpose) {
  return purpose == PURPOSE_MEASURE || purpose == PURPOSE_OBSERVE;
}
const char *purpose_text(enum purpose purpose);
bool purpose_parse(const char *text, enum purpose *ret);

/* In the record a reason may follow, after ": ". */
enum session_end {
  SESSION_RUNNING, /* or the run was killed in it */
  SESSION_COMPLETE,
  SESSION_INTERRUPTED,
  SESSION_ABORTED,     /* by the contract's abort SLO */
  SESSION_UNAVAILABLE, /* this precision cannot run here */
  SESSION_FAILED,
  SESSION_VOID, /* it would have begun in the backlog of the one before: nothing was sent */
  SESSION_END_COUNT
};

const char *session_end_text(enum session_end end);
/* *ret_why: what follows, "" where nothing does; within text. */
bool session_end_parse(const char *text, enum session_end *ret, const char **ret_why);

/* What was seen of the executor when the session began: a window that begins in another's backlog measures that one. */
enum session_began {
  BEGAN_UNSEEN,
  BEGAN_FRESH,          /* the executor was started for it */
  BEGAN_IDLE_BY_COUNTS, /* by its own counts of running and waiting requests */
  BEGAN_IDLE_BY_PROBE,  /* a single request was answered in its usual time */
  BEGAN_IN_BACKLOG,
  SESSION_BEGAN_COUNT
};

const char *session_began_text(enum session_began began);
bool session_began_parse(const char *text, enum session_began *ret);

/* Things that happened in a run. */
enum event_kind {
  EVENT_INTENT,
  EVENT_INPUTS, /* a note on how they were made */
  EVENT_CLOCK_STEP,
  EVENT_ACCURACY,
  EVENT_CONDITION, /* it refuses a claim */
  EVENT_PART,      /* the run is one of several, to be merged: it makes no claim by itself */
  EVENT_LOOK,
  EVENT_PRECISION, /* how a run with a precision target ended */
  EVENT_BUDGET,    /* it ended before all was run */
  EVENT_SEARCH,
  EVENT_RECOUNT, /* by what answers were counted again, or why they were not */
  EVENT_UNSEEN,  /* what a profiler could not see, and what would let it */
  EVENT_TRACE,   /* where the trace lies that the server's own profiler wrote */
  EVENT_RESUMED, /* which sessions came from which earlier run */
  EVENT_BY_HAND, /* what the operator was asked to change, and said to have done */
  EVENT_KIND_COUNT
};

const char *event_kind_text(enum event_kind kind);
bool event_kind_parse(const char *text, enum event_kind *ret);

enum executor_start {
  EXECUTOR_ALREADY_RUNNING,
  EXECUTOR_STARTED,       /* for this session */
  EXECUTOR_RUNNING_SINCE, /* the session before */
  EXECUTOR_IN_PROCESS,
  EXECUTOR_START_COUNT
};

const char *executor_start_text(enum executor_start start);
bool executor_start_parse(const char *text, enum executor_start *ret);

#endif
