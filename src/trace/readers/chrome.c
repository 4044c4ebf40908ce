/* Chrome trace events of any other program: ranges on threads, of which only the nesting and the names are known. */
#include <string.h>

#include "trace/chrome_events.h"

static const struct chrome_category categories[] = {{NULL, TRACE_OTHER, false}};

static int sniff(const char *head, size_t length) {
  char first = trace_first(head, length);
  if (first != '{' && first != '[') return 0;
  if (memmem(head, length, "\"traceEvents\"", 13) != NULL) return 40;
  return memmem(head, length, "\"ph\"", 4) != NULL ? 30 : 0;
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  static const struct chrome_format format = {.categories = categories};
  return chrome_read(&format, source, sink, error);
}

const struct trace_reader trace_reader_chrome;
const struct trace_reader trace_reader_chrome = {
    .name = "chrome", .summary = "Chrome trace events of any program", .sniff = sniff, .read = read_trace};
