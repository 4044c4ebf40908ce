#include "trace/request_spans.h"

#include <string.h>

#include "base/json.h"
#include "base/scan.h"
#include "trace/window.h"

/* Does it go on over the lines? Then the whole file is one document. */
static bool one_document(const struct trace_window *w) {
  const char *p = scan_blanks(w->data + w->at, w->data + w->length), *end = w->data + w->length;
  if (p >= end || (*p != '{' && *p != '[')) return true;
  const char *after = scan_composite(p, end), *newline = memchr(p, '\n', (size_t)(end - p));
  return after == NULL || (newline != NULL && newline < after);
}

enum lynx_status request_spans_read(struct trace_source *source, const struct trace_sink *sink,
                                    void (*take)(const json_t *document, const struct trace_sink *sink, int64_t lost[TRACE_LOSS_COUNT]),
                                    struct lynx_error *error) {
  struct trace_window window;
  struct lynx_error own = {.status = LYNX_OK}, *failed = error != NULL ? error : &own;
  int64_t lost[TRACE_LOSS_COUNT] = {0}, n_good = 0;
  window_init(&window, source);
  do {
    (void)window_more(&window, failed); /* until the first line, or the first document, is whole */
  } while (!window.ended && failed->status == LYNX_OK && memchr(window.data, '\n', window.length) == NULL);
  if (one_document(&window)) {
    while (window_more(&window, failed)) continue;
    json_t *document = failed->status == LYNX_OK ? json_parse(window.data, window.length, TRACE_EVENT_MAX * 2, failed) : NULL;
    if (document != NULL) take(document, sink, lost), n_good++;
    json_decref(document);
  } else {
    struct bytes line;
    bool go_on = true;
    while (go_on && window_line(&window, &line, failed)) {
      if (scan_blanks(line.ptr, line.ptr + line.length) == line.ptr + line.length) continue;
      json_t *document = json_parse(line.ptr, line.length, TRACE_EVENT_MAX, NULL);
      if (document != NULL) take(document, sink, lost), n_good++;
      else lost[TRACE_LOSS_DAMAGED]++;
      json_decref(document);
      if (sink->progress != NULL) go_on = sink->progress(sink->progress_context, source->done(source->context));
    }
    if (n_good == 0 && failed->status == LYNX_OK) (void)lynx_fail(failed, LYNX_INPUT, "no line of it is JSON");
  }
  window_release(&window);
  for (int i = 0; i < TRACE_LOSS_COUNT; i++)
    if (lost[i] > 0 && sink->lost != NULL) sink->lost(sink->context, (enum trace_loss)i, lost[i]);
  return failed->status;
}
