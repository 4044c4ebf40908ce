/* What was due, and what became of it: of the schedules whose logs lie where the server was told to look. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/data_table.h"
#include "page/frame.h"
#include "report/timetable_report.h"

enum { SHOWN = 60, SQUARE = 12, TOLD_MAX = 100 };

static const struct table_column columns[] = {{"schedule", "schedule", false}, {"when", "when", false},
                                              {"next", "next (UTC)", false},   {"last", "last (UTC)", false},
                                              {"last_state", "it was", false}, {"times", "times", true},
                                              {"kept", "kept", true},          {"late", "late", true},
                                              {"failed", "failed", true},      {"interrupted", "interrupted", true},
                                              {"skipped", "skipped", true},    {"missed", "missed", true},
                                              {"unread_lines", NULL, true}};

static const char *class_of(const struct timetable_slot *slot) {
  if (slot->state == SLOT_KEPT) return slot->late ? "late" : "kept";
  return slot->state == SLOT_RUNNING ? "running" : slot->state == SLOT_SKIPPED ? "skipped" : "missed";
}

static const char *slot_words(struct arena *arena, const struct timetable_slot *slot) {
  char due[32], began[32];
  return arena_printf(arena, "%s: %s%s%s%s%s", timetable_time(slot->slot_s, due, sizeof due), slot_state_text(slot->state),
                      slot->late ? ", late: it began at " : "", slot->late ? timetable_time(slot->begun_s, began, sizeof began) : "",
                      slot->why[0] != 0 ? ": " : "", slot->why);
}

/* A square for each of the newest times. */
static void put_strip(struct markup *m, const struct timetable_log *log, struct arena *arena) {
  size_t from = log->n_slots > SHOWN ? log->n_slots - SHOWN : 0;
  markup_open(m, "svg", "class", "slots", "viewBox", arena_printf(arena, "0 0 %d %d", SHOWN * SQUARE, SQUARE), "role", "img", NULL);
  markup_whole(m, "title", NULL, arena_printf(arena, "the newest %zu times, oldest first", log->n_slots - from));
  for (size_t i = from; i < log->n_slots; i++) {
    markup_open(m, "rect", "class", class_of(&log->slots[i]), "x", arena_printf(arena, "%zu", (i - from) * SQUARE), "y", "0", "width", "10",
                "height", "12", NULL);
    markup_whole(m, "title", NULL, slot_words(arena, &log->slots[i]));
    markup_close(m);
  }
  markup_close(m);
}

static void put_schedule(struct frame *f, const struct timetable_log *log, struct arena *arena) {
  struct markup *m = &f->markup;
  size_t n = 0;
  struct buffer when;
  buffer_init(&when, 4096);
  timetable_put_when(&log->schedule, &when);
  markup_open(m, "section", NULL);
  frame_heading(f, log->schedule.name);
  markup_whole(m, "p", "dim", when.data);
  put_strip(m, log, arena);
  markup_open(m, "ul", "class", "statements", NULL);
  for (size_t i = log->n_slots; i > 0 && n < TOLD_MAX; i--) {
    if (!timetable_slot_is_told(&log->slots[i - 1])) continue;
    markup_whole(m, "li", log->slots[i - 1].state == SLOT_KEPT || log->slots[i - 1].state == SLOT_SKIPPED ? "dim" : "bad",
                 slot_words(arena, &log->slots[i - 1]));
    n++;
  }
  if (n == 0) markup_whole(m, "li", "dim", "Every time was kept.");
  markup_close(m);
  markup_close(m);
  buffer_release(&when);
}

static void add_row(struct table *t, const struct timetable_log *log, int64_t now_s) {
  static const enum slot_state states[] = {SLOT_FAILED, SLOT_INTERRUPTED, SLOT_SKIPPED, SLOT_MISSED};
  const struct timetable_slot *last = log->n_slots > 0 ? &log->slots[log->n_slots - 1] : NULL;
  struct buffer when;
  char text[32];
  buffer_init(&when, 4096);
  timetable_put_when(&log->schedule, &when);
  table_text(t, log->schedule.name);
  table_text(t, when.data);
  table_text(t, timetable_time(timetable_slot(&log->schedule, now_s) + log->schedule.every_s, text, sizeof text));
  table_text(t, last != NULL ? timetable_time(last->slot_s, text, sizeof text) : NULL);
  table_text(t, last != NULL ? slot_state_text(last->state) : NULL);
  if (last != NULL && timetable_slot_is_told(last)) table_class(t, "bad");
  table_number(t, (double)(log->n_slots + log->n_before), NULL);
  table_number(t, (double)log->n[SLOT_KEPT], NULL);
  table_number(t, (double)log->n_late, NULL);
  for (size_t i = 0; i < LYNX_COUNT(states); i++) table_number(t, (double)log->n[states[i]], NULL);
  table_number(t, (double)log->n_unread, NULL);
  buffer_release(&when);
}

static void put_page(struct frame *f, const struct table *t) {
  const struct page_schedules *s = f->pages->schedules;
  struct markup *m = &f->markup;
  struct arena arena = {0};
  size_t n_missed = 0;
  for (size_t i = 0; i < s->n; i++) n_missed += s->items[i].n[SLOT_MISSED];
  frame_begin(f, "Schedules", "json csv");
  frame_title(f, f->pages->board->origin,
              s->n == 0 ? "No schedule"
                        : arena_printf(&arena, "%zu schedule%s, %zu time%s missed", s->n, LYNX_S(s->n), n_missed, LYNX_S(n_missed)));
  if (s->folder == NULL)
    markup_whole(m, "p", "lead", "None is looked at: `lynxbench serve --schedules DIR`, where `schedule add --folder DIR` put them.");
  else markup_printf(m, "As the logs in %s say, of this machine. ", s->folder);
  if (s->n_unreadable > 0) markup_printf(m, "%zu log%s there cannot be read.", s->n_unreadable, LYNX_S(s->n_unreadable));
  if (s->more) markup_printf(m, " Only %d logs are looked at, and more are there.", SCHEDULES_MAX);
  if (s->n > 0) table_to_markup(t, m);
  for (size_t i = 0; i < s->n; i++) put_schedule(f, &s->items[i], &arena);
  frame_end(f);
  arena_release(&arena);
}

void schedule_page(struct frame *f) {
  const struct page_schedules *s = f->pages->schedules;
  struct json_writer json;
  struct table t;
  table_begin(&t, columns, LYNX_COUNT(columns));
  for (size_t i = 0; i < s->n; i++) add_row(&t, &s->items[i], s->now_s);
  json_begin(&json, f->markup.out);
  if (f->form == FORM_HTML) put_page(f, &t);
  else if (f->form == FORM_CSV) table_to_csv(&t, f->markup.out);
  else table_to_json(&t, &json);
  table_release(&t);
}
