/* Traces as Jaeger's interface exports them: microseconds; a span's parent is its reference of type CHILD_OF. */
#include <string.h>

#include "base/json.h"
#include "trace/request_spans.h"

static const char *parent_of(const json_t *span) {
  size_t i;
  const json_t *reference;
  const char *parent = "";
  json_array_foreach(json_object_get(span, "references"), i, reference) if (strcmp(json_get_text(reference, "refType", ""), "CHILD_OF") ==
                                                                            0) parent = json_get_text(reference, "spanID", "");
  return parent;
}

static void take_trace(const json_t *trace, const struct trace_sink *sink, int64_t lost[TRACE_LOSS_COUNT]) {
  size_t k;
  const json_t *json;
  json_array_foreach(json_object_get(trace, "spans"), k, json) {
    int64_t start = json_get_int(json, "startTime", -1), duration = json_get_int(json, "duration", -1);
    if (start < 0 || duration < 0 || start > INT64_MAX / 4000 || duration > INT64_MAX / 4000) {
      lost[TRACE_LOSS_TIMES]++;
      continue;
    }
    const json_t *process = json_object_get(json_object_get(trace, "processes"), json_get_text(json, "processID", ""));
    if (process == NULL) process = json_object_get(json, "process");
    struct trace_span span = {.kind = TRACE_REQUEST,
                              .name = bytes_of(json_get_text(json, "operationName", "(no name)")),
                              .type = bytes_of(json_get_text(process, "serviceName", "unknown")),
                              .start_ns = start * 1000,
                              .duration_ns = duration * 1000,
                              .device = -1,
                              .stream = -1,
                              .trace_id = bytes_of(json_get_text(json, "traceID", "")),
                              .id = bytes_of(json_get_text(json, "spanID", "")),
                              .parent = bytes_of(parent_of(json))};
    if (sink->span != NULL) sink->span(sink->context, &span);
  }
}

/* The interface's answer, {"data": [trace, ...]}; a list of traces; or one trace, as people paste it. */
static void take(const json_t *document, const struct trace_sink *sink, int64_t lost[TRACE_LOSS_COUNT]) {
  const json_t *data = json_object_get(document, "data"), *list = json_is_array(document) ? document : data;
  size_t i;
  const json_t *trace;
  if (json_is_array(list)) json_array_foreach(list, i, trace) take_trace(trace, sink, lost);
  else take_trace(json_is_object(data) ? data : document, sink, lost);
}

static int sniff(const char *head, size_t length) {
  return memmem(head, length, "\"operationName\"", 15) != NULL && memmem(head, length, "\"spanID\"", 8) != NULL ? 95 : 0;
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  return request_spans_read(source, sink, take, error);
}

const struct trace_reader trace_reader_jaeger;
const struct trace_reader trace_reader_jaeger = {
    .name = "jaeger", .summary = "traces of requests, Jaeger JSON", .sniff = sniff, .read = read_trace};
