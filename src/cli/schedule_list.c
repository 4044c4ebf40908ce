#include "cli/schedule_list.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/root.h"
#include "cli/output.h"
#include "cli/schedule_units.h"
#include "history/timetable_file.h"
#include "report/timetable_report.h"

enum { TEXT_MAX = 64 << 20, UNITS_SHOWN_MAX = 1000 };

struct listing {
  const char *folder;
  bool json;
  struct buffer *out;
  struct json_writer writer;
  size_t n;
};

static void show_unit(struct listing *l, const struct schedule_mark *mark) {
  char path[SCHEDULE_PATH + 100], text[32], contract[600], folder[600];
  struct lynx_error error = {0};
  struct timetable_log log;
  const struct timetable *t = &mark->timetable;
  (void)snprintf(path, sizeof path, "%s/%s" TIMETABLE_LOG_ENDING, mark->folder, t->name);
  (void)timetable_file_read(path, &log, &error); /* one that cannot be read is said to be so below */
  const char *next = timetable_time(timetable_slot(t, clock_realtime_s(&clock_system)) + t->every_s, text, sizeof text);
  l->n++;
  if (l->json) {
    json_open_object(&l->writer);
    if (!log.known) log.schedule = *t;
    timetable_json_log(&log, &l->writer);
    json_put_text(&l->writer, "contract", mark->contract);
    json_put_text(&l->writer, "folder", mark->folder);
    json_put_text(&l->writer, "next", next);
    json_close(&l->writer);
  } else {
    (void)buffer_printf(l->out, "%s: %s, next at %s, into %s\n", t->name,
                        text_sanitise(contract, sizeof contract, mark->contract, strlen(mark->contract)), next,
                        text_sanitise(folder, sizeof folder, mark->folder, strlen(mark->folder)));
    if (log.known) timetable_put_log(&log, l->out);
    else (void)buffer_text(l->out, "  its log of times cannot be read\n");
  }
  timetable_log_release(&log);
}

static void take_unit(void *context, const char *name) {
  struct listing *l = context;
  struct schedule_mark mark;
  char path[SCHEDULE_PATH];
  if (strncmp(name, "lynxbench-", 10) != 0 || !text_ends_with(name, ".service")) return;
  (void)snprintf(path, sizeof path, "%.3900s/%.200s", l->folder, name);
  if (schedule_read_mark(path, &mark)) show_unit(l, &mark);
}

int schedule_list(const char *folder, bool named, bool json) {
  static const struct root root = {""};
  struct buffer out;
  buffer_init(&out, TEXT_MAX);
  out.shown = !json;
  struct listing l = {.folder = folder, .json = json, .out = &out};
  json_begin(&l.writer, &out);
  if (l.json) json_open_array(&l.writer);
  if (!root_list(&root, folder, UNITS_SHOWN_MAX, take_unit, &l) && named) { /* the usual one need not be there */
    buffer_release(&out);
    complain("lynxbench schedule: --units: found '%s', accepted: a folder of units\n", folder);
    return EXIT_WRONG_INPUT;
  }
  if (l.json) {
    json_close(&l.writer);
    (void)json_finish(&l.writer); /* write_buffer reports an overflow */
    (void)buffer_text(&out, "\n");
  } else if (l.n == 0)
    (void)buffer_printf(&out, "no schedule is installed in %s\nnext: lynxbench schedule add CONTRACT --every 1d --at 02:00 --folder runs\n",
                        folder);
  int code = write_buffer(NULL, &out) ? EXIT_HOLDS : EXIT_CONDITIONS;
  buffer_release(&out);
  return code;
}
