/* Chrome trace events of any other program: ranges on threads, of which only the nesting and the names are known. */
#include <string.h>

#include "trace/chrome_events.h"

static const struct chrome_category categories[] = {{NULL, TRACE_OTHER, false}};

static bool begins(struct bytes name, const char *with) {
  size_t n = strlen(with);
  return name.length >= n && memcmp(name.ptr, with, n) == 0;
}

/* Of tools that write no categories: a copy is called as CUPTI's users call it, and what has its call's number is what the call launched. Who
 * runs elsewhere has no such number. */
static enum trace_kind kind_by_name(struct bytes name, bool numbered) {
  static const struct {
    const char *begins;
    enum trace_kind kind;
  } names[] = {{"[MEMCPY]", TRACE_COPY},    {"[MEMSET]", TRACE_SET},     {"Memcpy HtoD", TRACE_COPY},   {"Memcpy DtoH", TRACE_COPY},
               {"Memcpy DtoD", TRACE_COPY}, {"Memcpy PtoP", TRACE_COPY}, {"Memset (Device)", TRACE_SET}};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (begins(name, names[i].begins)) return names[i].kind;
  bool kernel = begins(name, "void ") || begins(name, "nccl") || begins(name, "ampere_") || begins(name, "sm80_") || begins(name, "sm90_");
  return numbered && kernel ? TRACE_KERNEL : TRACE_OTHER;
}

static int sniff(const char *head, size_t length) {
  char first = trace_first(head, length);
  if (first != '{' && first != '[') return 0;
  if (memmem(head, length, "\"traceEvents\"", 13) != NULL) return 40;
  return memmem(head, length, "\"ph\"", 4) != NULL ? 30 : 0;
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  static const struct chrome_format format = {.categories = categories, .kind_by_name = kind_by_name};
  return chrome_read(&format, source, sink, error);
}

const struct trace_reader trace_reader_chrome;
const struct trace_reader trace_reader_chrome = {
    .name = "chrome", .summary = "Chrome trace events of any program", .sniff = sniff, .read = read_trace};
