#include "cli/schedule_list.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/root.h"
#include "cli/output.h"
#include "cli/schedule_units.h"
#include "report/timetable_report.h"

enum { LOG_MAX = 64 << 20, PATH_BYTES = 4200, UNITS_SHOWN_MAX = 1000 };

static int64_t now_s(void) {
  return clock_system.realtime_ns(clock_system.context) / 1000000000;
}

void schedule_read_log(const char *path, struct timetable_log *ret) {
  static const struct root root = {""};
  struct lynx_error error = {0};
  struct buffer text;
  buffer_init(&text, LOG_MAX);
  bool good = root_read(&root, path, &text, &error) == LYNX_OK;
  timetable_log_read(good ? (struct bytes){text.data != NULL ? text.data : "", text.length} : (struct bytes){"", 0}, now_s(), ret);
  buffer_release(&text);
}

struct listing {
  const char *folder;
  bool json;
  struct buffer *out;
  struct json_writer writer;
  size_t n;
};

static void show_unit(struct listing *l, const json_t *mark) {
  char path[PATH_BYTES], text[32], contract[600], folder[600];
  struct timetable_log log;
  const char *found[2] = {json_get_text(mark, "contract", ""), json_get_text(mark, "folder", "")};
  struct timetable t = {.every_s = json_get_int(mark, "every_s", 0), .at_s = json_get_int(mark, "at_s", 0)};
  (void)snprintf(t.name, sizeof t.name, "%s", json_get_text(mark, "schedule", ""));
  (void)snprintf(path, sizeof path, "%.4000s/%s" TIMETABLE_LOG_ENDING, found[1], t.name);
  if (t.every_s < 3600 || t.every_s > 7 * 86400) return;
  schedule_read_log(path, &log);
  const char *next = timetable_time(timetable_slot(&t, now_s()) + t.every_s, text, sizeof text);
  l->n++;
  if (l->json) {
    json_open_object(&l->writer);
    if (!log.known) log.schedule = t;
    timetable_json_log(&log, &l->writer);
    json_put_text(&l->writer, "contract", found[0]);
    json_put_text(&l->writer, "folder", found[1]);
    json_put_text(&l->writer, "next", next);
    json_close(&l->writer);
  } else {
    (void)buffer_printf(l->out, "%s: %s, next at %s, into %s\n", t.name,
                        text_sanitise(contract, sizeof contract, found[0], strlen(found[0])), next,
                        text_sanitise(folder, sizeof folder, found[1], strlen(found[1])));
    if (log.known) timetable_put_log(&log, l->out);
    else (void)buffer_text(l->out, "  its log of times cannot be read\n");
  }
  timetable_log_release(&log);
}

static void take_unit(void *context, const char *name) {
  struct listing *l = context;
  char path[PATH_BYTES];
  if (strncmp(name, "lynxbench-", 10) != 0 || !text_ends_with(name, ".service")) return;
  (void)snprintf(path, sizeof path, "%.3900s/%.200s", l->folder, name);
  json_t *mark = schedule_read_mark(path);
  if (mark != NULL) show_unit(l, mark);
  json_decref(mark);
}

int schedule_list(const char *folder, bool named, bool json) {
  static const struct root root = {""};
  struct buffer out;
  buffer_init(&out, LOG_MAX);
  struct listing l = {.folder = folder, .json = json, .out = &out};
  json_begin(&l.writer, &out);
  if (l.json) json_open_array(&l.writer);
  if (!root_list(&root, folder, UNITS_SHOWN_MAX, take_unit, &l) && named) { /* the usual one need not be there */
    buffer_release(&out);
    (void)fprintf(stderr, "lynxbench schedule: --units: found '%s', accepted: a folder of units\n", folder);
    return EXIT_WRONG_INPUT;
  }
  if (l.json) {
    json_close(&l.writer);
    (void)json_finish(&l.writer); /* an overflow is told by write_buffer */
    (void)buffer_text(&out, "\n");
  } else if (l.n == 0)
    (void)buffer_printf(&out, "no schedule is installed in %s\nnext: lynxbench schedule add CONTRACT --every 1d --at 02:00 --folder runs\n",
                        folder);
  int code = write_buffer(NULL, &out) ? EXIT_HOLDS : EXIT_CONDITIONS;
  buffer_release(&out);
  return code;
}
