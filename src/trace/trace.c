#include "trace/trace.h"

const struct trace_reader *trace_sniff(const char *head, size_t length) {
  const struct trace_reader *best = NULL;
  int surest = 0;
  for (size_t i = 0; trace_readers[i] != NULL; i++) {
    int sure = trace_readers[i]->sniff(head, length);
    if (sure > surest) best = trace_readers[i], surest = sure;
  }
  return best;
}

const char *trace_kind_text(enum trace_kind kind) {
  static const char *const names[] = {[TRACE_OPERATOR] = "operator",
                                      [TRACE_RUNTIME] = "runtime call",
                                      [TRACE_KERNEL] = "kernel",
                                      [TRACE_COPY] = "copy",
                                      [TRACE_SET] = "memory set",
                                      [TRACE_SYNC] = "stream wait",
                                      [TRACE_ANNOTATION] = "annotation",
                                      [TRACE_DEVICE_ANNOTATION] = "device annotation",
                                      [TRACE_PYTHON] = "python function",
                                      [TRACE_OVERHEAD] = "profiler overhead",
                                      [TRACE_SYSTEM] = "system call",
                                      [TRACE_REQUEST] = "request span",
                                      [TRACE_OTHER] = "other"};
  return names[kind];
}

const char *trace_loss_text(enum trace_loss loss) {
  static const char *const texts[] = {
      [TRACE_LOSS_DAMAGED] = "damaged events: skipped up to the next one that reads",
      [TRACE_LOSS_TRUNCATED] = "the file ends inside an event: what came before it counts",
      [TRACE_LOSS_LARGE] = "members larger than 64 MB behind the events: not read",
      [TRACE_LOSS_TIMES] = "events without a start or with a negative duration: skipped",
      [TRACE_LOSS_UNPAIRED] = "a begin without its end, or an end without its begin: skipped",
      [TRACE_LOSS_UNKNOWN] = "events of an unknown category: taken as ranges of the host",
      [TRACE_LOSS_UNUSED] = "counters, flows, instants, and what repeats other events: not used",
      [TRACE_LOSS_DERIVED] = "spans of device work that is there already, by scopes, modules or tasks: not counted twice",
      [TRACE_LOSS_UNNAMED] = "events of a device whose names come behind them, or never: taken as ranges (metadata must come first)",
      [TRACE_LOSS_FULL] = "the profiler stopped at its own limit: what came after is missing"};
  return texts[loss];
}
