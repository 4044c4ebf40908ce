/* trace/request_spans.h: what OTLP's and Jaeger's JSON have in common: one document, or one document a line.
 * Limits   a document of at most TRACE_EVENT_MAX bytes lies in memory while it is read */
#ifndef TRACE_REQUEST_SPANS_H
#define TRACE_REQUEST_SPANS_H

#include <jansson.h>

#include "trace/trace.h"

/* Calls take with each document; a line that is none is counted as damaged. */
enum lynx_status request_spans_read(struct trace_source *source, const struct trace_sink *sink,
                                    void (*take)(const json_t *document, const struct trace_sink *sink, int64_t lost[TRACE_LOSS_COUNT]),
                                    struct lynx_error *error);

#endif
