/* ONNX Runtime's profile: a bare array of Chrome trace events; a node's time is the event NODE_kernel_time, its operator in op_name.
 * Where a CUDA provider runs, that is the time to enqueue; the kernels follow as events of their own. */
#include <string.h>

#include "trace/chrome_events.h"

static const struct chrome_category categories[] = {{"Session", TRACE_ANNOTATION, false},
                                                    {"Node", TRACE_OPERATOR, true},
                                                    {"Kernel", TRACE_KERNEL, true},
                                                    {"Api", TRACE_RUNTIME, true},
                                                    {NULL, TRACE_OTHER, false}};

static void argument(struct trace_span *span, struct bytes key, struct bytes value) {
  if (bytes_equal(key, "op_name")) span->type = value;
  else if (bytes_equal(key, "provider")) span->group = value;
  else if (bytes_equal(key, "stream")) span->stream = chrome_number(value, -1);
  else if (bytes_equal(key, "device")) span->device = chrome_number(value, -1);
  else if (bytes_equal(key, "correlation_id") || bytes_equal(key, "correlation")) span->correlation = (uint64_t)chrome_number(value, 0);
}

static bool ends_in(struct bytes text, const char *end) {
  size_t n = strlen(end);
  return text.length > n && memcmp(text.ptr + text.length - n, end, n) == 0;
}

/* What such a provider's node takes is to hand its work over. */
static bool is_of_device(struct bytes provider) {
  static const char *const names[] = {"CUDA", "ROCM", "MIGraphX", "Tensorrt", "NvTensorRt", "Dml", "CANN"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (provider.length >= strlen(names[i]) && memcmp(provider.ptr, names[i], strlen(names[i])) == 0) return true;
  return false;
}

/* It waits until its device is done: where, and how long that computed, the profile does not say. */
static bool is_delegated(struct bytes provider) {
  static const char *const here[] = {"CPU", "Dnnl", "Xnnpack", "ACL", "ArmNN"};
  for (size_t i = 0; i < LYNX_COUNT(here); i++)
    if (provider.length >= strlen(here[i]) && memcmp(provider.ptr, here[i], strlen(here[i])) == 0) return false;
  return provider.length > 0;
}

static bool finish(struct trace_span *span, struct bytes category) {
  if (ends_in(span->name, "_fence_before") || ends_in(span->name, "_fence_after")) return false;
  if (bytes_equal(category, "Kernel") && span->device < 0) span->device = 0;
  if (bytes_equal(category, "Kernel") && span->stream < 0) span->stream = 0;
  if (ends_in(span->name, "_kernel_time")) span->name.length -= strlen("_kernel_time");
  if (span->kind == TRACE_OPERATOR && is_of_device(span->group)) {
    span->kind = TRACE_RUNTIME;
    span->type = bytes_of("Launch");
  } else if (span->kind == TRACE_OPERATOR && is_delegated(span->group)) span->type = bytes_of("delegated");
  span->group = (struct bytes){NULL, 0};
  return true;
}

static int sniff(const char *head, size_t length) {
  if (trace_first(head, length) != '[') return 0;
  return memmem(head, length, "\"cat\" : \"Session\"", 17) != NULL || memmem(head, length, "_kernel_time\"", 13) != NULL ? 90 : 0;
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  static const struct chrome_format format = {.categories = categories, .argument = argument, .finish = finish, .full_at = 1000000};
  return chrome_read(&format, source, sink, error);
}

const struct trace_reader trace_reader_onnxruntime_profile;
const struct trace_reader trace_reader_onnxruntime_profile = {
    .name = "onnxruntime", .summary = "ONNX Runtime session profile", .sniff = sniff, .read = read_trace, .operators_compute = true};
