/* Trace readers: times to the nanosecond, damage passed over and counted, the same events however the bytes are cut. */
#include <stdlib.h>

#include "tests/check.h"
#include "trace/chrome_events.h"
#include "trace/trace.h"

struct seen {
  int64_t n, start_ns, duration_ns, lost[TRACE_LOSS_COUNT];
  enum trace_kind kind;
  char name[200], fact[200], group[200];
  int64_t stream, device, process, thread;
  uint64_t correlation;
  int64_t n_samples, n_frames, weight;
};

static void take_span(void *context, const struct trace_span *s) {
  struct seen *seen = context;
  seen->n++;
  seen->kind = s->kind;
  seen->start_ns = s->start_ns;
  seen->duration_ns = s->duration_ns;
  seen->stream = s->stream;
  seen->device = s->device;
  seen->process = s->process;
  seen->thread = s->thread;
  seen->correlation = s->correlation;
  (void)snprintf(seen->name, sizeof seen->name, "%.*s", (int)s->name.length, s->name.ptr);
  (void)snprintf(seen->group, sizeof seen->group, "%.*s", (int)s->group.length, s->group.length > 0 ? s->group.ptr : "");
}

static void take_sample(void *context, const struct trace_sample *s) {
  struct seen *seen = context;
  seen->n_samples++;
  seen->n_frames += (int64_t)s->n_frames;
  seen->weight += s->weight;
  seen->start_ns = s->at_ns;
  seen->process = s->process;
  seen->thread = s->thread;
  (void)snprintf(seen->name, sizeof seen->name, "%.*s|%.*s|%.*s", (int)s->command.length, s->command.ptr, (int)s->event.length,
                 s->event.length > 0 ? s->event.ptr : "", s->n_frames > 0 ? (int)s->frames[0].symbol.length : 0,
                 s->n_frames > 0 ? s->frames[0].symbol.ptr : "");
}

static void take_fact(void *context, const char *key, struct bytes value) {
  struct seen *seen = context;
  if (strcmp(key, "device.0") == 0 || strcmp(key, "rank") == 0)
    (void)snprintf(seen->fact, sizeof seen->fact, "%s=%.*s", key, (int)value.length, value.ptr);
}

static void take_loss(void *context, enum trace_loss what, int64_t n) {
  ((struct seen *)context)->lost[what] += n;
}

/* A source that hands out so many bytes at a time. */
struct slices {
  const char *text;
  size_t left, each;
};

static ptrdiff_t read_slice(void *context, char *to, size_t room, struct lynx_error *error) {
  struct slices *s = context;
  (void)error;
  size_t n = s->left < s->each ? s->left : s->each;
  if (n > room) n = room;
  memcpy(to, s->text, n);
  s->text += n;
  s->left -= n;
  return (ptrdiff_t)n;
}

static int64_t no_bytes(void *context) {
  (void)context;
  return 0;
}

static enum lynx_status read_text(const char *text, size_t each, struct seen *seen, struct lynx_error *error) {
  struct slices slices = {.text = text, .left = strlen(text), .each = each};
  struct trace_source source = {.context = &slices, .read = read_slice, .done = no_bytes};
  struct trace_sink sink = {.context = seen, .span = take_span, .sample = take_sample, .fact = take_fact, .lost = take_loss};
  const struct trace_reader *reader = trace_sniff(text, strlen(text));
  memset(seen, 0, sizeof *seen);
  return reader != NULL ? reader->read(&source, &sink, error) : LYNX_UNSUPPORTED;
}

static void check_microseconds(void) {
  static const struct {
    const char *text;
    int64_t ns;
    bool good;
  } rows[] = {{"0", 0, true},
              {"1", 1000, true},
              {"1.5", 1500, true},
              {"1419247333430.849", 1419247333430849, true},
              {"1775078550000000.001", 1775078550000000001, true}, /* beyond what a double holds */
              {"-0.001", -1, true},
              {"0.0005", 1, true}, /* half a nanosecond is rounded up */
              {"0.0004", 0, true},
              {"0.1234567", 123, true},
              {"1e3", 1000000, true},
              {"1.6e+15", 1600000000000000000, true},
              {"12e-3", 12, true},
              {"1.23457e+06", 1234570000, true}, /* as C++ prints by default */
              {"9.5367431640625e-07", 0, true},
              {"12345.678901234567890123", 12345679, true},
              {"9223372036854775807", 0, false},
              {"", 0, false},
              {".", 0, false},
              {"1x", 0, false},
              {"1e99", 0, false},
              {"--1", 0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t ns = 0;
    bool good = chrome_microseconds(bytes_of(rows[i].text), &ns);
    CHECK_INT(good, rows[i].good);
    if (good) CHECK_INT(ns, rows[i].ns);
  }
}

static const char kernel[] =
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"H100\"}],\"baseTimeNanoseconds\":1000,\"distributedInfo\":{\"rank\":3}"
    ","
    "\"traceEvents\":[\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":8,\"ts\":1.5,\"dur\":2,"
    "\"args\":{"
    "\"correlation\":9}},\n{\"ph\":\"s\",\"id\":9,\"pid\":7,\"tid\":8,\"ts\":1.5,\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n"
    "{ \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a \\\"quoted\\\" kernel\", \"pid\": 0, \"tid\": 7, \"ts\": 10.001, \"dur\": "
    "0.002,\n "
    "\"args\": { \"device\": 1, \"stream\": 7, \"correlation\": 9, \"Process Group Name\": "
    "\"tp \\\"\\u00e9\\u0000\\\"\", \"grid\": [1, 2, 3] } }\n],\"traceName\":\"x\"}";

static void check_kineto(void) {
  struct seen seen;
  struct lynx_error error = {0};
  for (size_t each = 1; each < 400; each += each < 20 ? 1 : 37) { /* however the bytes are cut */
    CHECK_INT(read_text(kernel, each, &seen, &error), LYNX_OK);
    CHECK_INT(seen.n, 2);
    CHECK_INT(seen.kind, TRACE_KERNEL);
    CHECK_INT(seen.start_ns, 11001);
    CHECK_INT(seen.duration_ns, 2);
    CHECK_INT(seen.device, 1);
    CHECK_INT(seen.stream, 7);
    CHECK_INT((int64_t)seen.correlation, 9);
    CHECK_TEXT(seen.name, "a \"quoted\" kernel");
    CHECK_TEXT(seen.group, "tp \"é?\"");
    CHECK_TEXT(seen.fact, "rank=3");
    CHECK_INT(seen.lost[TRACE_LOSS_UNUSED], 1);
    CHECK_INT(seen.lost[TRACE_LOSS_TRUNCATED] + seen.lost[TRACE_LOSS_DAMAGED], 0);
  }
}

#define EVENT(name, ts) "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":1}"

static void check_damage(void) {
  static const struct {
    const char *what, *text;
    int64_t n, damaged, truncated, times;
  } rows[] = {
      {"whole", "[" EVENT("a", "1") "," EVENT("b", "2") "]", 2, 0, 0, 0},
      {"no closing bracket", "[" EVENT("a", "1") "," EVENT("b", "2"), 2, 0, 1, 0},
      {"cut inside an event", "[" EVENT("a", "1") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"na", 1, 0, 1, 0},
      {"an unescaped quote in a name", "[" EVENT("a", "1") "," EVENT("b\"c\"d", "2") "," EVENT("e", "3") "]", 2, 1, 0, 0},
      {"an odd unescaped quote", "[" EVENT("a", "1") "," EVENT("b\"c", "2") "," EVENT("e", "3") "]", 2, 1, 0, 0},
      {"raw control bytes in a name", "[" EVENT("a\n\tb\001", "1") "]", 1, 0, 0, 0},
      {"a missing comma", "[" EVENT("a", "1") EVENT("b", "2") "]", 2, 0, 0, 0},
      {"rubbish between", "[" EVENT("a", "1") ",nonsense," EVENT("b", "2") "]", 2, 1, 0, 0},
      {"no start", "[" EVENT("a", "\"x\"") "," EVENT("b", "2") "]", 1, 0, 0, 1},
      {"a negative duration", "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":5,\"dur\":-1}," EVENT("b", "2") "]", 1, 0, 0, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct seen seen;
    struct lynx_error error = {0};
    CHECK_INT(read_text(rows[i].text, 7, &seen, &error), LYNX_OK);
    if (seen.n != rows[i].n) (void)printf("%s:\n", rows[i].what);
    CHECK_INT(seen.n, rows[i].n);
    CHECK_INT(seen.lost[TRACE_LOSS_DAMAGED], rows[i].damaged);
    CHECK_INT(seen.lost[TRACE_LOSS_TRUNCATED], rows[i].truncated);
    CHECK_INT(seen.lost[TRACE_LOSS_TIMES], rows[i].times);
  }
}

/* Begins and ends, nested and across threads. */
static void check_begin_end(void) {
  struct seen seen;
  struct lynx_error error = {0};
  static const char text[] = "{\"traceEvents\":[{\"ph\":\"B\",\"name\":\"out\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"B\",\"name\":\"in\","
                             "\"pid\":1,\"tid\":1,\"ts\":2},"
                             "{\"ph\":\"B\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":2},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3},"
                             "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":10}]}";
  CHECK_INT(read_text(text, 1000, &seen, &error), LYNX_OK);
  CHECK_INT(seen.n, 2);
  CHECK_TEXT(seen.name, "out");
  CHECK_INT(seen.duration_ns, 8000);
  CHECK_INT(seen.lost[TRACE_LOSS_UNPAIRED], 2); /* an end too many; one range never ends */
}

static void check_others(void) {
  struct seen seen;
  struct lynx_error error = {0};
  /* ONNX Runtime: the operator is in op_name, the fences are no work */
  CHECK_INT(
      read_text(
          "[\n{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :2,\"dur\" :9,\"ts\" :1,\"ph\" : \"X\",\"name\" :\"model_run\",\"args\" : {}},\n"
          "{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :2,\"dur\" :0,\"ts\" :2,\"ph\" : \"X\",\"name\" :\"n_fence_before\",\"args\" : "
          "{\"op_name\" : \"MatMul\"}},\n"
          "{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :2,\"dur\" :3,\"ts\" :2,\"ph\" : \"X\",\"name\" :\"n_kernel_time\",\"args\" : "
          "{\"op_name\" : \"MatMul\"}}\n]",
          50, &seen, &error),
      LYNX_OK);
  CHECK_INT(seen.n, 2);
  CHECK_TEXT(seen.name, "n");
  CHECK_INT(seen.lost[TRACE_LOSS_UNUSED], 1);
  /* perf script: a command with a blank, a period, offsets, a file that ends without an empty line */
  CHECK_INT(read_text("# captured on: x\nV8 WorkerThread 24636/25607 [000] 94564.109216:     100 cycles:uP:\n\t    7f12 main+0x1f "
                      "(/usr/bin/x)\n\t  40 [unknown] ([unknown])\n\n"
                      "java 12 1.000001: cycles:\n  7f write (libc.so)",
                      9, &seen, &error),
            LYNX_OK);
  CHECK_INT(seen.n_samples, 2);
  CHECK_INT(seen.n_frames, 3);
  CHECK_INT(seen.weight, 101);
  CHECK_TEXT(seen.name, "java|cycles|write");
  CHECK_INT(seen.process, -1);
  CHECK_INT(seen.thread, 12);
  CHECK_INT(seen.start_ns, 1000001000);
  /* OTLP: times are strings; vLLM's phases become spans */
  CHECK_INT(read_text("{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"vllm\"}}]}"
                      ",\"scopeSpans\":[{\"spans\":[{"
                      "\"traceId\":\"t\",\"spanId\":\"s\",\"name\":\"llm_request\",\"startTimeUnixNano\":\"1544712660000000000\","
                      "\"endTimeUnixNano\":\"1544712661000000000\","
                      "\"attributes\":[{\"key\":\"gen_ai.latency.time_in_queue\",\"value\":{\"doubleValue\":0.25}},{\"key\":\"gen_ai."
                      "latency.time_in_model_decode\",\"value\":{"
                      "\"doubleValue\":9}}]}]}]}]}",
                      64, &seen, &error),
            LYNX_OK);
  CHECK_INT(seen.n, 3);
  CHECK_TEXT(seen.name, "decode");
  CHECK_INT(seen.duration_ns, 750000000); /* no longer than what is left of the request */
  /* not traces at all */
  CHECK_INT(read_text("{\"metadata\":{\"record_shapes\":1}}", 9, &seen, &error), LYNX_INPUT);
  memset(&error, 0, sizeof error);
  CHECK_INT(read_text("name: x\n", 9, &seen, &error), LYNX_UNSUPPORTED);
}

int main(void) {
  check_microseconds();
  check_kineto();
  check_damage();
  check_begin_end();
  check_others();
  return check_end();
}
