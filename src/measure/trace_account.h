/* measure/trace_account.h: the account of a trace, as rows of a session: by this same program's `attribute`, as a child in its cage.
 *
 * Shapes   stacks of the source "trace", in nanoseconds of the trace's window: "state;STATE;LAYER;WORDS" (they sum to the window),
 *          "name;STATE;LAYER;NAME" (parts of a state), "window"
 * Limits   TRACE_BYTES_MAX of a file as it is; a minute */
#ifndef MEASURE_TRACE_ACCOUNT_H
#define MEASURE_TRACE_ACCOUNT_H

#include <stdatomic.h>

#include "record/bundle.h"

struct trace_account {
  int64_t process; /* whose host threads recorded most of it */
  double window_s;
};

/* fd: a plain file, from its beginning. False: it is no trace of spans that names a process. */
/* stop: not 0, it is given up; NULL: nobody does. */
bool trace_account_put(struct bundle *bundle, int64_t session, int fd, const atomic_int *stop, struct trace_account *ret);

#endif
