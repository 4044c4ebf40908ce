/* trace/chrome_events.h: the Trace Event Format, which PyTorch, ONNX Runtime, Chrome and many others write: an object with
 * "traceEvents", or a bare array. What a category and its arguments mean is each reader's own.
 * Limits   complete (X), begin/end (B, E) and asynchronous (b, e) events; an event beyond 1 MB is taken as damaged. Strings may hold raw control bytes */
#ifndef TRACE_CHROME_EVENTS_H
#define TRACE_CHROME_EVENTS_H

#include "trace/trace.h"

struct chrome_category {
  const char *name;
  enum trace_kind kind;
  bool arguments; /* do they matter? Otherwise they are skipped unread */
};

struct chrome_format {
  const struct chrome_category *categories; /* ends in a NULL name */
  /* Optional. One member of "args": text without quotes where it is a string, else the number or composite as it stands. */
  void (*argument)(struct trace_span *span, struct bytes key, struct bytes value);
  /* Optional. After the arguments; false: the event is no span (it counts as unused). */
  bool (*finish)(struct trace_span *span, struct bytes category);
  /* Optional. Of an event without a known category and place: device work, or TRACE_OTHER. numbered: it has a correlation. */
  enum trace_kind (*kind_by_name)(struct bytes name, bool numbered);
  int64_t full_at; /* the profiler silently stops after that many events; 0: it does not */
};

enum lynx_status chrome_read(const struct chrome_format *format, struct trace_source *source, const struct trace_sink *sink,
                             struct lynx_error *error);

/* For `argument`: whole numbers; the fallback where it is none. */
int64_t chrome_number(struct bytes value, int64_t fallback);
/* Microseconds with a fraction and perhaps an exponent, as nanoseconds, exactly; what lies below a nanosecond is rounded. */
bool chrome_microseconds(struct bytes value, int64_t *ret_ns);

#endif
