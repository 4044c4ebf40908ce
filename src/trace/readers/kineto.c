/* PyTorch's profiler (Kineto): Chrome trace events with its own categories and arguments, from the first ones of 2021 to today's. */
#include <string.h>

#include "base/number.h"
#include "trace/chrome_events.h"

static const struct chrome_category categories[] = {{"cpu_op", TRACE_OPERATOR, false},
                                                    {"python_function", TRACE_PYTHON, false},
                                                    {"kernel", TRACE_KERNEL, true},
                                                    {"cuda_runtime", TRACE_RUNTIME, true},
                                                    {"cuda_driver", TRACE_RUNTIME, true},
                                                    {"hip_runtime", TRACE_RUNTIME, true},
                                                    {"xpu_runtime", TRACE_RUNTIME, true},
                                                    {"privateuse1_runtime", TRACE_RUNTIME, true},
                                                    {"privateuse1_driver", TRACE_RUNTIME, true},
                                                    {"mtia_runtime", TRACE_RUNTIME, true},
                                                    {"glow_runtime", TRACE_RUNTIME, true},
                                                    {"gcu_runtime", TRACE_RUNTIME, true}, /* Enflame's */
                                                    {"gcu_driver", TRACE_RUNTIME, true},
                                                    {"gcu_sync", TRACE_SYNC, true},
                                                    {"xpu_driver", TRACE_OTHER, false},
                                                    {"xpu_sync", TRACE_SYNC, true},
                                                    {"hpu_op", TRACE_KERNEL, true},
                                                    {"mtia_insight", TRACE_OTHER, false},
                                                    {"cuda_profiler_range", TRACE_OTHER, false},
                                                    {"gpu_memcpy", TRACE_COPY, true},
                                                    {"gpu_memset", TRACE_SET, true},
                                                    {"user_annotation", TRACE_ANNOTATION, false},
                                                    {"gpu_user_annotation", TRACE_DEVICE_ANNOTATION, false},
                                                    {"cuda_sync", TRACE_SYNC, true},
                                                    {"cuda_event", TRACE_SYNC, true},
                                                    {"overhead", TRACE_OVERHEAD, false},
                                                    {"collective_comm", TRACE_KERNEL, true},
                                                    {"enqueue", TRACE_OPERATOR, false}, /* torch_npu's queue, and its other end */
                                                    {"dequeue", TRACE_OPERATOR, false},
                                                    {"mtia_ccp_events", TRACE_KERNEL, true},
                                                    {"cpu_instant_event", TRACE_OTHER, false},
                                                    {"external_correlation", TRACE_OTHER, false},
                                                    {"enqueue", TRACE_OPERATOR, false}, /* Ascend's queue of operators */
                                                    {"dequeue", TRACE_OPERATOR, false},
                                                    {"Trace", TRACE_OTHER, false},
                                                    /* 2021 */
                                                    {"Operator", TRACE_OPERATOR, false},
                                                    {"Runtime", TRACE_RUNTIME, true},
                                                    {"Kernel", TRACE_KERNEL, true},
                                                    {"Memcpy", TRACE_COPY, true},
                                                    {"Memset", TRACE_SET, true},
                                                    {"PythonFunction", TRACE_PYTHON, false},
                                                    {NULL, TRACE_OTHER, false}};

/* As PyTorch writes its types. */
static int64_t bytes_of_type(struct bytes type) {
  static const struct {
    const char *name;
    int64_t bytes;
  } types[] = {{"Float8", 1}, {"BFloat16", 2}, {"Half", 2}, {"Float", 4}, {"Double", 8}, {"Byte", 1},   {"Char", 1},
               {"Bool", 1},   {"Short", 2},    {"Int", 4},  {"Long", 8},  {"UInt64", 8}, {"UInt32", 4}, {"UInt16", 2}};
  for (size_t i = 0; i < LYNX_COUNT(types); i++) {
    size_t n = strlen(types[i].name);
    if (type.length >= n && memcmp(type.ptr, types[i].name, n) == 0) return types[i].bytes;
  }
  return 0;
}

/* `collective` keeps a copy's direction until the span is finished. */
static void argument(struct trace_span *span, struct bytes key, struct bytes value) {
  switch (key.length) {
    case 4:
      if (memcmp(key.ptr, "size", 4) == 0 && span->bytes < 0) span->bytes = chrome_number(value, -1);
      break;
    case 5:
      if (memcmp(key.ptr, "bytes", 5) == 0) span->bytes = chrome_number(value, -1);
      if (memcmp(key.ptr, "dtype", 5) == 0) span->element_bytes = bytes_of_type(value);
      break;
    case 6:
      if (memcmp(key.ptr, "stream", 6) == 0) span->stream = chrome_number(value, -1);
      if (memcmp(key.ptr, "device", 6) == 0) span->device = chrome_number(value, -1);
      break;
    case 11:
      if (memcmp(key.ptr, "correlation", 11) == 0) span->correlation = (uint64_t)chrome_number(value, 0);
      break;
    default:
      if (bytes_equal(key, "Collective name") || bytes_equal(key, "direction")) span->collective = value;
      else if (bytes_equal(key, "sycl queue") && span->stream < 0) span->stream = chrome_number(value, -1);
      else if (bytes_equal(key, "Process Group Name")) span->group = value;
      else if (bytes_equal(key, "Process Group Ranks")) span->members = value;
      else if (bytes_equal(key, "In msg nelems")) span->elements = chrome_number(value, -1);
      else if (bytes_equal(key, "Out msg nelems")) span->out_elements = chrome_number(value, -1);
      else if (bytes_equal(key, "Group size")) span->group_size = chrome_number(value, -1);
      else if (bytes_equal(key, "Seq")) span->sequence = chrome_number(value, -1);
      else if (bytes_equal(key, "blocks per SM") && !number_double(value.ptr, value.length, &span->blocks_each)) span->blocks_each = 0;
      break;
  }
}

static bool begins(struct bytes name, const char *with) {
  size_t n = strlen(with);
  return name.length >= n && memcmp(name.ptr, with, n) == 0;
}

/* MTIA writes all of a queue's commands as one category: waits, copies, and kernels with the parts that they are made of, which would count
 * twice. */
static bool finish_mtia(struct trace_span *span) {
  static const char *const parts[] = {"collective_subgraph_execution", "job_exe", "packet", "cpum_exe_subgraph"};
  for (size_t i = 0; i < LYNX_COUNT(parts); i++)
    if (begins(span->name, parts[i])) return false;
  if (begins(span->name, "event_")) span->kind = TRACE_SYNC;
  if (!begins(span->name, "dma_request")) return true;
  span->kind = TRACE_COPY;
  if (span->collective.length > 0) span->name = span->collective; /* HOST_TO_DEVICE */
  span->collective = (struct bytes){"", 0};
  return true;
}

/* False: it repeats what another event says, or says nothing of time. */
static bool is_used(struct trace_span *span, struct bytes category) {
  static const char *const unused[] = {"Trace",        "external_correlation", "cpu_instant_event",
                                       "xpu_driver", /* within a call of xpu_runtime, with its number */
                                       "mtia_insight", "cuda_profiler_range"};
  if (bytes_equal(category, "mtia_ccp_events")) return finish_mtia(span);
  /* oneCCL's calls on the host; the kernels that they start have a device. */
  if (bytes_equal(category, "collective_comm") && (begins(span->name, "xccl::") || span->device < 0)) span->kind = TRACE_RUNTIME;
  for (size_t i = 0; i < LYNX_COUNT(unused); i++)
    if (bytes_equal(category, unused[i])) return false;
  return true;
}

static bool finish(struct trace_span *span, struct bytes category) {
  if (!is_used(span, category)) return false;
  bool on_device = span->kind == TRACE_KERNEL || span->kind == TRACE_COPY || span->kind == TRACE_SET;
  if (on_device && span->device < 0) span->device = span->process; /* old files, and those that were cut down */
  if (on_device && span->stream < 0) span->stream = span->thread;
  if (!on_device && span->kind != TRACE_RUNTIME) span->correlation = 0;
  return true;
}

static int sniff(const char *head, size_t length) {
  static const char *const marks[] = {"\"deviceProperties\"", "\"distributedInfo\"",     "\"cpu_op\"",          "\"cuda_runtime\"",
                                      "\"gpu_memcpy\"",       "\"baseTimeNanoseconds\"", "\"python_function\"", "\"record_shapes\"",
                                      "PyTorch Profiler",     "\"cat\": \"kernel\"",     "\"cat\":\"kernel\"",  "\"cat\":\"gpu_",
                                      "\"cat\":\"cuda_",      "\"mtia_ccp_events\"",     "\"xpu_runtime\"",     "/device:HPU"};
  char first = trace_first(head, length);
  if (first != '{' && first != '[') return 0;
  for (size_t i = 0; i < LYNX_COUNT(marks); i++)
    if (memmem(head, length, marks[i], strlen(marks[i])) != NULL) return 80;
  return 10; /* a head that is all metadata says nothing; the categories will */
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  static const struct chrome_format format = {.categories = categories, .argument = argument, .finish = finish};
  return chrome_read(&format, source, sink, error);
}

const struct trace_reader trace_reader_kineto;
const struct trace_reader trace_reader_kineto = {
    .name = "kineto", .summary = "PyTorch profiler (Kineto), Chrome trace JSON", .sniff = sniff, .read = read_trace};
