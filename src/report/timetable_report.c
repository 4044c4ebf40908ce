#include "report/timetable_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

void timetable_put_when(const struct timetable *t, struct buffer *out) {
  int hour = (int)(t->at_s / 3600), minute = (int)(t->at_s % 3600 / 60);
  if (t->every_s == 7 * 86400) (void)buffer_printf(out, "Mondays at %02d:%02d UTC", hour, minute);
  else if (t->every_s == 86400) (void)buffer_printf(out, "daily at %02d:%02d UTC", hour, minute);
  else (void)buffer_printf(out, "every %d h, first at %02d:%02d UTC", (int)(t->every_s / 3600), hour, minute);
}

char *timetable_time(int64_t at_s, char *text, size_t size) {
  time_t at = (time_t)at_s;
  struct tm tm;
  if (gmtime_r(&at, &tm) == NULL || strftime(text, size, "%Y-%m-%dT%H:%MZ", &tm) == 0) (void)snprintf(text, size, "%" PRId64 " s", at_s);
  return text;
}

bool timetable_slot_is_told(const struct timetable_slot *slot) {
  return slot->late || (slot->state != SLOT_KEPT && slot->state != SLOT_RUNNING);
}

static void put_slot(const struct timetable_slot *slot, struct buffer *out) {
  char text[32];
  (void)buffer_printf(out, "  %s  %s", timetable_time(slot->slot_s, text, sizeof text), slot_state_text(slot->state));
  if (slot->state == SLOT_FAILED) (void)buffer_printf(out, " (exit code %" PRId64 ")", slot->exit);
  if (slot->late) (void)buffer_printf(out, ", late: it began at %s", timetable_time(slot->begun_s, text, sizeof text));
  if (slot->why[0] != 0 && slot->state == SLOT_SKIPPED) (void)buffer_printf(out, ": %s", slot->why);
  (void)buffer_text(out, "\n");
}

void timetable_put_log(const struct timetable_log *log, struct buffer *out) {
  size_t n_told = 0, n = 0;
  (void)buffer_printf(out, "schedule %s, ", log->schedule.name);
  timetable_put_when(&log->schedule, out);
  (void)buffer_printf(out, ": %zu time%s", log->n_slots, LYNX_S(log->n_slots));
  for (int s = 0; s < SLOT_STATES; s++)
    if (log->n[s] > 0) (void)buffer_printf(out, ", %zu %s", log->n[s], slot_state_text((enum slot_state)s));
  if (log->n_late > 0) (void)buffer_printf(out, ", %zu late", log->n_late);
  if (log->n_unread > 0) (void)buffer_printf(out, "; %zu line%s of its log cannot be read", log->n_unread, LYNX_S(log->n_unread));
  (void)buffer_text(out, "\n");
  for (size_t i = 0; i < log->n_slots; i++) n_told += timetable_slot_is_told(&log->slots[i]);
  for (size_t i = 0; i < log->n_slots; i++)
    if (timetable_slot_is_told(&log->slots[i]) && n++ + TIMETABLE_SLOTS_SHOWN >= n_told) put_slot(&log->slots[i], out);
  if (n_told > TIMETABLE_SLOTS_SHOWN) (void)buffer_printf(out, "  and %zu before these\n", n_told - TIMETABLE_SLOTS_SHOWN);
}

void timetable_json_log(const struct timetable_log *log, struct json_writer *json) {
  char text[32];
  json_put_text(json, "schedule", log->schedule.name);
  json_put_int(json, "every_s", log->schedule.every_s);
  json_put_int(json, "at_s", log->schedule.at_s);
  json_put_int(json, "times", (int64_t)log->n_slots);
  for (int s = 0; s < SLOT_STATES; s++) json_put_int(json, slot_state_text((enum slot_state)s), (int64_t)log->n[s]);
  json_put_int(json, "late", (int64_t)log->n_late);
  json_put_int(json, "unread_lines", (int64_t)log->n_unread);
  json_key(json, "not_kept_or_late");
  json_open_array(json);
  for (size_t i = 0; i < log->n_slots; i++) {
    const struct timetable_slot *slot = &log->slots[i];
    if (!timetable_slot_is_told(slot)) continue;
    json_open_object(json);
    json_put_text(json, "due", timetable_time(slot->slot_s, text, sizeof text));
    json_put_text(json, "state", slot_state_text(slot->state));
    if (slot->begun_s > 0) json_put_text(json, "began", timetable_time(slot->begun_s, text, sizeof text));
    json_put_bool(json, "late", slot->late);
    if (slot->why[0] != 0) json_put_text(json, "why", slot->why);
    if (slot->exit >= 0) json_put_int(json, "exit", slot->exit);
    json_close(json);
  }
  json_close(json);
}
