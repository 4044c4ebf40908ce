/* What `perf script` prints: a line for each sample, then a line for each frame, the innermost first, then an empty line.
 *   java 24636/25607 [000] 94564.109216:     100 cycles:
 *       7f7241fbe6d8 symbol+0x10 (/usr/lib/libx.so)
 * A command may hold blanks, and stand to the right of some; pid, cpu, time and period may each be absent. Without call chains the one frame
 * stands behind the event. Comments begin with '#'. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/scan.h"
#include "trace/window.h"

enum { FRAMES_MAX = 1024, TEXT_MAX = 1 << 18, PROGRESS_SAMPLES = 1000 };

struct reading {
  const struct trace_sink *sink;
  struct trace_sample sample;
  struct trace_frame frames[FRAMES_MAX];
  char text[TEXT_MAX]; /* of the sample: the window moves on under it */
  size_t used;
  bool open;
  int64_t n_samples, lost[TRACE_LOSS_COUNT];
};

static struct bytes keep(struct reading *r, const char *from, size_t length) {
  if (length > TEXT_MAX - r->used) length = TEXT_MAX - r->used;
  memcpy(r->text + r->used, from, length);
  r->used += length;
  return (struct bytes){r->text + r->used - length, length};
}

static size_t digits(const char *p, const char *end) {
  size_t n = 0;
  while (p + n < end && p[n] >= '0' && p[n] <= '9') n++;
  return n;
}

/* "SECONDS.FRACTION:" anywhere in the line; nanoseconds. ret_behind: what follows it; NULL: there is none. */
static int64_t find_time(const char *p, const char *end, const char **ret_behind) {
  *ret_behind = NULL;
  for (; p < end; p++) {
    size_t whole = digits(p, end);
    if (whole == 0) continue;
    size_t fraction = p + whole < end && p[whole] == '.' ? digits(p + whole + 1, end) : 0;
    if (fraction >= 6 && fraction <= 9 && p + whole + 1 + fraction < end && p[whole + 1 + fraction] == ':') {
      int64_t seconds, part;
      if (!number_int64(p, whole, &seconds) || !number_int64(p + whole + 1, fraction, &part) || seconds > INT64_MAX / 2000000000) return 0;
      for (size_t i = fraction; i < 9; i++) part *= 10;
      *ret_behind = p + whole + 1 + fraction + 1;
      return seconds * 1000000000 + part;
    }
    p += whole;
  }
  return 0;
}

/* "[PERIOD] EVENT: [FRAME]" behind the time. False: it is not so. */
static bool find_event_behind(struct reading *r, const char *p, const char *end, struct bytes *ret_frame) {
  int64_t period;
  p = scan_blanks(p, end);
  size_t n = digits(p, end);
  if (n > 0 && p + n < end && isspace((unsigned char)p[n])) {
    if (number_int64(p, n, &period) && period > 0) r->sample.weight = period;
    p = scan_blanks(p + n, end);
  }
  const char *word = p;
  while (p < end && !isspace((unsigned char)*p)) p++;
  if (p == word || p[-1] != ':' || p - word < 2) return false;
  r->sample.event = keep(r, word, (size_t)(p - word) - 1);
  p = scan_blanks(p, end);
  *ret_frame = (struct bytes){p, (size_t)(end - p)};
  return true;
}

/* The period and the event stand at the end: ": PERIOD EVENT:" or ": EVENT:" */
static void find_event(struct reading *r, const char *p, const char *end) {
  while (end > p && isspace((unsigned char)end[-1])) end--;
  if (end == p || end[-1] != ':') return;
  const char *last = --end;
  while (last > p && !isspace((unsigned char)last[-1])) last--;
  if (last == p || last == end) return;
  r->sample.event = keep(r, last, (size_t)(end - last));
  const char *before = last;
  while (before > p && isspace((unsigned char)before[-1])) before--;
  const char *number = before;
  while (number > p && number[-1] >= '0' && number[-1] <= '9') number--;
  int64_t period;
  const char *colon = number;
  while (colon > p && isspace((unsigned char)colon[-1])) colon--;
  if (number < before && colon > p && colon[-1] == ':' && number_int64(number, (size_t)(before - number), &period) && period > 0)
    r->sample.weight = period;
}

static void close_sample(struct reading *r) {
  if (r->open && r->sink->sample != NULL) {
    r->sample.frames = r->frames;
    r->sink->sample(r->sink->context, &r->sample);
  }
  r->n_samples += r->open;
  r->open = false;
}

/* ADDRESS SYMBOL[+OFFSET] (MODULE) */
static bool read_frame(struct reading *r, struct bytes line) {
  const char *p = scan_blanks(line.ptr, line.ptr + line.length), *end = line.ptr + line.length;
  while (end > p && end[-1] != ')') end--;
  if (end == p) return false;
  static const char deleted[] = " (deleted))"; /* a file that was replaced after it was mapped */
  const char *stop_at = end - 1;
  if ((size_t)(end - p) > sizeof deleted - 1 && memcmp(end - (sizeof deleted - 1), deleted, sizeof deleted - 1) == 0)
    end -= sizeof deleted - 2, stop_at = end - 1;
  const char *module = stop_at;
  while (module > p && !(module[0] == '(' && module[-1] == ' ')) module--;
  if (module == p) return false;
  const char *address = p;
  while (p < module && (isalnum((unsigned char)*p) || *p == '_')) p++;
  if (p == address) return false;
  p = scan_blanks(p, module);
  const char *stop = module - 1;
  if (r->sample.n_frames == FRAMES_MAX) return true;
  if (stop <= p) { /* perf knew no name, and printed a blank */
    r->frames[r->sample.n_frames].symbol = bytes_of(" ");
    r->frames[r->sample.n_frames++].module = keep(r, module + 1, (size_t)(end - module) - 2);
    return true;
  }
  for (const char *plus = stop - 1; plus > p; plus--) { /* +0xHEX at the end */
    if (*plus == '+' && stop - plus > 3 && plus[1] == '0' && plus[2] == 'x') {
      stop = plus;
      break;
    }
    if (!isxdigit((unsigned char)*plus) && *plus != 'x') break;
  }
  r->frames[r->sample.n_frames].symbol = keep(r, p, (size_t)(stop - p));
  r->frames[r->sample.n_frames++].module = keep(r, module + 1, (size_t)(end - module) - 2);
  return true;
}

/* COMMAND PID[/TID] ...: the command is the least that leaves a number behind it. */
static bool read_header(struct reading *r, struct bytes line) {
  const char *end = line.ptr + line.length;
  const char *begin = scan_blanks(line.ptr, end), *behind;
  if (end - begin < 3 || (begin > line.ptr && (find_time(begin, end, &behind), behind == NULL))) return false; /* frames stand so, too */
  for (const char *p = begin + 2; p < end; p++) {
    if (!isspace((unsigned char)p[0])) continue;
    const char *at = p;
    while (at < end && isspace((unsigned char)*at)) at++;
    bool exited = at + 2 < end && at[0] == '-' && at[1] == '1'; /* a task that is gone has the number -1 */
    size_t first = exited ? 2 : digits(at, end);
    if (first == 0) continue;
    size_t slash = at + first < end && at[first] == '/' ? digits(at + first + 1, end) + 1 : 0;
    const char *after = at + first + slash;
    if (after >= end || !isspace((unsigned char)*after)) continue;
    close_sample(r);
    r->used = 0;
    r->sample = (struct trace_sample){.process = -1, .thread = -1};
    r->sample.command = keep(r, begin, (size_t)(p - begin));
    int64_t number;
    if (!exited && number_int64(at, first, &number)) r->sample.thread = number;
    if (slash > 1) {
      r->sample.process = r->sample.thread;
      if (number_int64(at + first + 1, slash - 1, &number)) r->sample.thread = number;
    }
    struct bytes frame = {NULL, 0};
    r->sample.weight = 1;
    r->sample.at_ns = find_time(after, end, &behind);
    if (behind == NULL || !find_event_behind(r, behind, end, &frame)) find_event(r, after, end);
    if (frame.length > 0) (void)read_frame(r, frame); /* or a tracepoint's words */
    r->open = true;
    return true;
  }
  return false;
}

static enum lynx_status read_trace(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  struct trace_window window;
  struct bytes line;
  struct lynx_error own = {.status = LYNX_OK}, *failed = error != NULL ? error : &own;
  static struct reading fresh;
  struct reading *r = xalloc(1, sizeof *r);
  *r = fresh;
  r->sink = sink;
  window_init(&window, source);
  bool go_on = true;
  while (go_on && window_line(&window, &line, failed)) {
    if (line.length > 0 && line.ptr[line.length - 1] == '\r') line.length--;
    if (line.length > 0 && line.ptr[0] == '#') continue;
    if (line.length == 0) {
      close_sample(r);
      if (r->n_samples % PROGRESS_SAMPLES == 0 && sink->progress != NULL)
        go_on = sink->progress(sink->progress_context, source->done(source->context));
      continue;
    }
    if (read_header(r, line)) continue;
    if (!r->open || !read_frame(r, line)) r->lost[TRACE_LOSS_DAMAGED]++;
  }
  close_sample(r);
  window_release(&window);
  for (int i = 0; i < TRACE_LOSS_COUNT; i++)
    if (r->lost[i] > 0 && sink->lost != NULL) sink->lost(sink->context, (enum trace_loss)i, r->lost[i]);
  if (failed->status == LYNX_OK && r->n_samples == 0) (void)lynx_fail(failed, LYNX_INPUT, "no sample of `perf script` in it");
  free(r);
  return failed->status;
}

/* A header line whose last word ends in ':' and that holds a time, near the beginning. */
static int sniff(const char *head, size_t length) {
  if (memmem(head, length, "\0", 1) != NULL) return 0;
  if (length > 10 && memmem(head, length < 2000 ? length : 2000, "# captured on", 13) != NULL) return 90;
  for (const char *p = head, *end = head + length, *newline; p < end; p = newline + 1) {
    newline = memchr(p, '\n', (size_t)(end - p));
    if (newline == NULL) newline = end;
    if (p == newline || *p == '#') continue;
    if (*p == '{' || *p == '[') return 0;
    const char *last = newline;
    while (last > p && isspace((unsigned char)last[-1])) last--;
    const char *digit = memchr(p, ' ', (size_t)(last - p)); /* a number behind the command */
    while (digit != NULL && digit < last && !isdigit((unsigned char)*digit)) digit++;
    const char *behind;
    (void)find_time(p, last, &behind);
    const char *event = behind != NULL ? memchr(behind, ':', (size_t)(last - behind)) : NULL;
    bool whole = event != NULL && event + 1 < last && digit != NULL &&
                 memchr(event, '(', (size_t)(last - event)) != NULL; /* with its frame */
    if (whole) return 70;
    bool header = last - p > 5 && last[-1] == ':' && (!isspace((unsigned char)*p) || behind != NULL) && digit != NULL && digit < last;
    if (!header) return 0;
    const char *frame = newline + 1;
    while (frame < end && isspace((unsigned char)*frame)) frame++;
    return frame < end && isxdigit((unsigned char)*frame) ? 70 : 20;
  }
  return 0;
}

const struct trace_reader trace_reader_perf_script;
const struct trace_reader trace_reader_perf_script = {
    .name = "perf_script", .summary = "samples of Linux perf, as `perf script` prints them", .sniff = sniff, .read = read_trace};
