/* Tables of figures over time, and summaries as a ledger's entries have them: read, searched, shown in every form. */
#include <stdlib.h>
#include <string.h>

#include "report/history_report.h"
#include "history/series_file.h"
#include "history/table.h"
#include "report/timetable_report.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUNS_MAX = 400 };

static void show(struct history *h) {
  struct buffer out;
  struct coincidence none[200] = {{.kind = COINCIDENCE_UNKNOWN}};
  for (size_t i = 0; i < LYNX_COUNT(none); i++) none[i].kind = COINCIDENCE_UNKNOWN;
  const struct history_report report = {.history = h, .coincidences = none, .plan = &change_plan_usual, .least = 0.01};
  history_search(h, &change_plan_usual);
  for (size_t i = 0; i < h->n_events; i++) HOLDS(h->events[i].before < h->events[i].after && h->events[i].after < h->n_runs);
  if (h->n_events > LYNX_COUNT(none)) return;
  bool (*const forms[])(const struct history_report *, struct buffer *) = {history_json, history_csv, history_html};
  buffer_init(&out, 64 << 20);
  HOLDS(history_text(&report, false, &out));
  for (size_t i = 0; i < LYNX_COUNT(forms); i++) {
    buffer_clear(&out);
    HOLDS(forms[i](&report, &out));
  }
  buffer_release(&out);
}

/* The same from its text: whatever jansson takes is read alike. */
static void compare(const char *text, size_t size, const struct summary *wanted) {
  struct arena arena = {0};
  struct buffer whole, a, b;
  struct summary_said said;
  struct json_writer json;
  buffer_init(&whole, 4 << 20);
  HOLDS(buffer_text(&whole, "{\"name\":\"x\",\"summary\":") && buffer_append(&whole, text, size) && buffer_text(&whole, "}"));
  bool read = summary_said_read((struct bytes){whole.data, whole.length}, &arena, &said); /* jansson goes deeper */
  HOLDS(!read || (said.has_summary == (wanted != NULL) && strcmp(said.name, "x") == 0));
  buffer_init(&a, 16 << 20);
  buffer_init(&b, 16 << 20);
  const struct summary *both[] = {wanted, &said.summary};
  struct buffer *to[] = {&a, &b};
  for (size_t i = 0; i < 2 && read && wanted != NULL; i++) {
    json_begin(&json, to[i]);
    json_open_object(&json);
    summary_write(both[i], &json);
    json_close(&json);
  }
  HOLDS(a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0));
  buffer_release(&a);
  buffer_release(&b);
  buffer_release(&whole);
  arena_release(&arena);
}

/* One run as JSON, taken often. */
static void read_summary(const char *text, size_t size, struct history *h) {
  struct arena arena = {0};
  struct text_set texts = {.slots = NULL};
  struct summary summary;
  struct lynx_error error = {0};
  json_t *object = json_parse(text, size, 1 << 20, &error);
  bool good = object != NULL && summary_read(object, &arena, &texts, &summary);
  if (object != NULL) compare(text, size, good ? &summary : NULL);
  if (good)
    for (size_t i = 0; i < 20; i++) {
      for (size_t k = 0; k < summary.n_precisions && i == 10; k++)
        for (size_t f = 0; f < summary.precisions[k].n_figures; f++) summary.precisions[k].figures[f].value *= 0.5;
      history_add(h, &(struct history_origin){"run", "", "", i}, &summary);
    }
  json_decref(object);
  show(h);
  text_set_release(&texts);
  arena_release(&arena);
}

/* The log of a schedule's times: what is counted is there, and in order. */
static void read_times(struct bytes text) {
  static const int64_t now_s = 1795996800; /* 2026-11-30 */
  struct timetable_log log;
  struct buffer out;
  struct json_writer json;
  size_t n = 0;
  timetable_log_read(text, now_s, &log);
  for (int s = 0; s < SLOT_STATES; s++) n += log.n[s];
  HOLDS(n == log.n_slots && log.n_slots <= TIMETABLE_SLOTS_MAX + 1 && log.n_late <= n);
  for (size_t i = 1; i < log.n_slots; i++) HOLDS(log.slots[i].slot_s > log.slots[i - 1].slot_s && log.slots[i].slot_s <= now_s);
  buffer_init(&out, 64 << 20);
  json_begin(&json, &out);
  json_open_object(&json);
  if (log.known) timetable_json_log(&log, &json);
  json_close(&json);
  HOLDS(json_finish(&json));
  buffer_clear(&out);
  if (log.known) timetable_put_log(&log, &out);
  for (size_t i = 0; i < out.length; i++) HOLDS(out.data[i] == '\n' || ((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f));
  buffer_release(&out);
  timetable_log_release(&log);
}

/* A file of one run, as some tool writes it. */
static void read_series(const uint8_t *data, size_t size) {
  struct history h = {.runs = NULL};
  struct lynx_error error = {0}, none = {0};
  char *text = malloc(size + 1);
  HOLDS(text != NULL);
  memcpy(text, data, size);
  text[size] = 0;
  json_t *json = json_parse(text, size, size + 1, &none);
  const struct series_file file = {"fuzz", text, strlen(text), json};
  if (series_file_reader(&file) != NULL && series_file_read(&file, 0, &h, &error) == LYNX_OK) {
    HOLDS(h.n_runs == 1 && h.runs[0].precision->n_figures <= SERIES_FIGURES_MAX);
    show(&h);
  }
  history_release(&h);
  json_decref(json);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_series(data, size);
  read_times((struct bytes){(const char *)data, size});
  struct history h = {.runs = NULL};
  struct lynx_error error = {0};
  if (size > 0 && data[0] == '{') read_summary((const char *)data, size, &h);
  else if (table_read((struct bytes){(const char *)data, size}, "fuzz", 0, &h, &error) == LYNX_OK && h.n_runs <= RUNS_MAX) show(&h);
  history_release(&h);
  return 0;
}
