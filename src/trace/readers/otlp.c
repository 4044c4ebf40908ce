/* OpenTelemetry spans as OTLP's JSON has them: one export, or one a line as the collector's file exporter writes them. Times are decimal
 * strings of nanoseconds. vLLM's llm_request tells its phases in attributes, in seconds: they become spans below it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "trace/request_spans.h"

static const char *attribute(const json_t *attributes, const char *key, const char *kind) {
  size_t i;
  const json_t *a;
  json_array_foreach(attributes, i, a) if (strcmp(json_get_text(a, "key", ""), key) == 0) return json_get_text(json_object_get(a, "value"),
                                                                                                               kind, NULL);
  return NULL;
}

/* Seconds; a negative number where it is absent or no number. */
static double seconds(const json_t *attributes, const char *key) {
  size_t i;
  const json_t *a;
  json_array_foreach(attributes, i, a) if (strcmp(json_get_text(a, "key", ""), key) == 0) {
    double value = json_get_double(json_object_get(a, "value"), "doubleValue", -1);
    return isfinite(value) && value < 1e6 ? value : -1;
  }
  return -1;
}

static int64_t nanoseconds(const json_t *span, const char *key) {
  const json_t *value = json_object_get(span, key);
  const char *text = json_string_value(value);
  int64_t n;
  if (json_is_integer(value)) return json_integer_value(value);
  return text != NULL && number_int64(text, strlen(text), &n) ? n : -1;
}

/* queue, prefill, decode: one after the other, from the span's start; no longer than it. */
static void take_phases(const struct trace_span *request, const json_t *attributes, const struct trace_sink *sink) {
  static const struct {
    const char *key, *name;
  } phases[] = {{"gen_ai.latency.time_in_queue", "queue"},
                {"gen_ai.latency.time_in_model_prefill", "prefill"},
                {"gen_ai.latency.time_in_model_decode", "decode"}};
  int64_t at = 0;
  for (size_t i = 0; i < LYNX_COUNT(phases); i++) {
    double length = seconds(attributes, phases[i].key);
    char id[160];
    if (length < 0 || at >= request->duration_ns) continue;
    struct trace_span span = *request;
    int64_t ns = (int64_t)(length * 1e9);
    (void)snprintf(id, sizeof id, "%.*s/%s", (int)(request->id.length < 100 ? request->id.length : 100), request->id.ptr, phases[i].name);
    span.name = bytes_of(phases[i].name);
    span.start_ns += at;
    span.duration_ns = ns < request->duration_ns - at ? ns : request->duration_ns - at;
    span.parent = request->id;
    span.id = bytes_of(id);
    at += span.duration_ns;
    sink->span(sink->context, &span);
  }
}

static void take(const json_t *document, const struct trace_sink *sink, int64_t lost[TRACE_LOSS_COUNT]) {
  size_t i, k, n;
  const json_t *resource, *scope, *json;
  json_array_foreach(json_object_get(document, "resourceSpans"), i, resource) {
    const char *service = attribute(json_object_get(json_object_get(resource, "resource"), "attributes"), "service.name", "stringValue");
    json_array_foreach(json_object_get(resource, "scopeSpans"), k, scope) json_array_foreach(json_object_get(scope, "spans"), n, json) {
      int64_t start = nanoseconds(json, "startTimeUnixNano"), end = nanoseconds(json, "endTimeUnixNano");
      if (start < 0 || end < start || end > INT64_MAX / 4) {
        lost[TRACE_LOSS_TIMES]++;
        continue;
      }
      struct trace_span span = {.kind = TRACE_REQUEST,
                                .name = bytes_of(json_get_text(json, "name", "(no name)")),
                                .type = bytes_of(service != NULL ? service : "unknown"),
                                .start_ns = start,
                                .duration_ns = end - start,
                                .device = -1,
                                .stream = -1,
                                .trace_id = bytes_of(json_get_text(json, "traceId", "")),
                                .id = bytes_of(json_get_text(json, "spanId", "")),
                                .parent = bytes_of(json_get_text(json, "parentSpanId", ""))};
      if (sink->span == NULL) continue;
      sink->span(sink->context, &span);
      take_phases(&span, json_object_get(json, "attributes"), sink);
    }
  }
}

static int sniff(const char *head, size_t length) {
  return memmem(head, length, "\"resourceSpans\"", 15) != NULL ? 95 : 0;
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  return request_spans_read(source, sink, take, error);
}

const struct trace_reader trace_reader_otlp;
const struct trace_reader trace_reader_otlp = {
    .name = "otlp", .summary = "OpenTelemetry spans, OTLP JSON", .sniff = sniff, .read = read_trace};
