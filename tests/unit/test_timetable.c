/* When a contract is due, and what became of each time: in virtual time. */
#include "history/timetable.h"

#include <stdio.h>

#include "tests/check.h"

enum { HOUR = 3600, DAY = 24 * HOUR, WEEK = 7 * DAY };
static const int64_t monday = 1795996800; /* 2026-11-30T00:00:00Z */

static void check_parse(void) {
  static const struct {
    const char *every, *at, *calendar, *cron;
  } good[] = {{"1d", "02:30", "*-*-* 02:30:00 UTC", "30 2 * * *"},        {"7d", "23:59", "Mon *-*-* 23:59:00 UTC", "59 23 * * 1"},
              {"6h", NULL, "*-*-* 00/6:00:00 UTC", "0 0-23/6 * * *"},     {"6h", "14:05", "*-*-* 02/6:05:00 UTC", "5 2-23/6 * * *"},
              {"1h", "23:15", "*-*-* 00/1:15:00 UTC", "15 0-23/1 * * *"}, {"24h", "01:00", "*-*-* 01:00:00 UTC", "0 1 * * *"}};
  static const char *const bad[][2] = {{"5h", NULL},  {"0h", NULL},    {"2d", NULL},   {"1", NULL},     {"", NULL},       {"1dx", NULL},
                                       {"-1d", NULL}, {"1d", "24:00"}, {"1d", "2:00"}, {"1d", "12:60"}, {"1d", "12:00x"}, {"99999d", NULL}};
  struct timetable t;
  const char *accepted;
  char text[64];
  for (size_t i = 0; i < LYNX_COUNT(good); i++) {
    CHECK(timetable_parse(good[i].every, good[i].at, &t, &accepted));
    CHECK_TEXT(timetable_calendar(&t, text, sizeof text), good[i].calendar);
    CHECK_TEXT(timetable_cron(&t, text, sizeof text), good[i].cron);
  }
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) CHECK(!timetable_parse(bad[i][0], bad[i][1], &t, &accepted));
  CHECK(timetable_name_good("nightly-2_A"));
  CHECK(!timetable_name_good(""));
  CHECK(!timetable_name_good("../x"));
  CHECK(!timetable_name_good("-x"));
  CHECK(!timetable_name_good("a b"));
}

static void check_slots(void) {
  struct timetable t;
  const char *accepted;
  CHECK(timetable_parse("7d", "06:00", &t, &accepted));
  CHECK_INT(timetable_slot(&t, monday + 6 * HOUR), monday + 6 * HOUR);
  CHECK_INT(timetable_slot(&t, monday + 6 * HOUR - 1), monday + 6 * HOUR - 7 * DAY);
  CHECK(timetable_parse("8h", "10:00", &t, &accepted));
  for (int64_t s = -3 * DAY; s < 3 * DAY; s += 997) {
    int64_t slot = timetable_slot(&t, monday + s);
    CHECK(slot <= monday + s && slot + 8 * HOUR > monday + s && (slot - 2 * HOUR) % (8 * HOUR) == 0);
  }
  CHECK_INT(timetable_slot(&t, 0), 2 * HOUR - 8 * HOUR);
}

static void line(struct buffer *log, int64_t slot, int64_t at, const char *state, const char *more) {
  (void)buffer_printf(log, "{\"schedule\":\"n\",\"every_s\":%d,\"at_s\":%d,\"slot_s\":%lld,\"time_s\":%lld,\"state\":\"%s\"%s}\n", DAY,
                      2 * HOUR, (long long)slot, (long long)at, state, more);
}

/* Thirty nights: one missed, one late, one skipped, one failed, one interrupted, one run twice, one line cut off by a full disk. */
static void check_log(void) {
  struct buffer log;
  struct timetable_log read;
  const int64_t first = monday + 2 * HOUR;
  buffer_init(&log, 1 << 20);
  line(&log, first - DAY, first - 5 * HOUR, "installed", "");
  for (int k = 0; k < 30; k++) {
    int64_t slot = first + k * (int64_t)DAY;
    if (k == 3) continue;
    if (k == 5) {
      line(&log, slot, slot + 600, "skipped", ",\"why\":\"busy: 40 %\"");
      continue;
    }
    line(&log, slot, slot + (k == 4 ? 3 * HOUR : 60), "begun", ",\"bundle\":\"r.lynx\"");
    if (k == 9) line(&log, slot, slot + 70, "begun", ",\"bundle\":\"again.lynx\"");
    if (k != 7) line(&log, slot, slot + 120, "ended", k == 6 ? ",\"exit\":5" : ",\"exit\":0");
  }
  (void)buffer_text(&log, "{\"schedule\":\"n\",\"every_s\":864");
  timetable_log_read((struct bytes){log.data, log.length}, first + 29 * (int64_t)DAY + HOUR, &read);
  CHECK(read.known);
  CHECK_INT(read.n_slots, 30);
  CHECK_INT(read.n[SLOT_MISSED], 1);
  CHECK_INT(read.n[SLOT_SKIPPED], 1);
  CHECK_INT(read.n[SLOT_FAILED], 1);
  CHECK_INT(read.n[SLOT_INTERRUPTED], 1);
  CHECK_INT(read.n[SLOT_KEPT], 26);
  CHECK_INT(read.n_late, 1);
  CHECK_INT(read.n_unread, 1);
  CHECK_INT(timetable_log_slot(&read, first + 3 * DAY)->state, SLOT_MISSED);
  CHECK_TEXT(timetable_log_slot(&read, first + 5 * DAY)->why, "busy: 40 %");
  CHECK_TEXT(timetable_log_slot(&read, first + 9 * DAY)->bundle, "again.lynx");
  CHECK(timetable_log_slot(&read, first + 4 * DAY)->late);
  CHECK(timetable_log_slot(&read, first - DAY) == NULL);
  timetable_log_release(&read);
  /* The next slot is missed once its grace is over, and not before; a clock that is put back makes nothing missed. */
  timetable_log_read((struct bytes){log.data, log.length}, first + 30 * (int64_t)DAY + 600, &read);
  CHECK_INT(read.n_slots, 30);
  timetable_log_release(&read);
  timetable_log_read((struct bytes){log.data, log.length}, first + 30 * (int64_t)DAY + HOUR + 1, &read);
  CHECK_INT(read.n[SLOT_MISSED], 2);
  timetable_log_release(&read);
  timetable_log_read((struct bytes){log.data, log.length}, first + 28 * (int64_t)DAY, &read);
  CHECK_INT(read.n[SLOT_MISSED], 1);
  timetable_log_release(&read);
  timetable_log_read((struct bytes){"", 0}, first, &read);
  CHECK(!read.known);
  timetable_log_release(&read);
  buffer_release(&log);
}

static void at_period(struct buffer *log, int64_t every, int64_t slot, int64_t at, const char *state, const char *more) {
  (void)buffer_printf(log, "{\"schedule\":\"n\",\"every_s\":%lld,\"at_s\":0,\"slot_s\":%lld,\"time_s\":%lld,\"state\":\"%s\"%s}\n",
                      (long long)every, (long long)slot, (long long)at, state, more);
}

static void put_kept(struct buffer *log, int64_t every, int64_t slot) {
  at_period(log, every, slot, slot + 60, "begun", ",\"bundle\":\"r.lynx\"");
  at_period(log, every, slot, slot + 120, "ended", ",\"exit\":0");
}

/* Another period from the tenth day on changes nothing of the days before; nor does it hide what was missed. */
static void check_periods(void) {
  struct buffer log;
  struct timetable_log read;
  buffer_init(&log, 1 << 20);
  for (int k = 0; k < 9; k++)
    if (k != 4) put_kept(&log, DAY, monday + k * (int64_t)DAY);
  int64_t change = monday + 9 * (int64_t)DAY + 30 * 60;
  at_period(&log, HOUR, monday + 9 * (int64_t)DAY, change, "installed", "");
  for (int h = 1; h < 6; h++) put_kept(&log, HOUR, monday + 9 * (int64_t)DAY + h * (int64_t)HOUR);
  timetable_log_read((struct bytes){log.data, log.length}, change + 5 * (int64_t)HOUR, &read);
  CHECK_INT(read.n[SLOT_KEPT], 13);
  CHECK_INT(read.n[SLOT_MISSED], 1); /* the fifth day; that of the change was due for half an hour, within its grace */
  CHECK_INT(read.schedule.every_s, HOUR);
  timetable_log_release(&read);
  /* One run by hand with a third period, and back. */
  put_kept(&log, WEEK, monday + WEEK);
  put_kept(&log, HOUR, monday + 9 * (int64_t)DAY + 6 * (int64_t)HOUR);
  timetable_log_read((struct bytes){log.data, log.length}, change + 6 * (int64_t)HOUR, &read);
  CHECK_INT(read.n[SLOT_KEPT], 14);
  CHECK_INT(read.n[SLOT_MISSED], 1);
  timetable_log_release(&read);
  buffer_release(&log);
}

/* What was removed is missed no more, until it is installed again. */
static void check_removed(void) {
  struct buffer log;
  struct timetable_log read;
  buffer_init(&log, 1 << 20);
  for (int k = 0; k < 3; k++) put_kept(&log, DAY, monday + k * (int64_t)DAY);
  at_period(&log, DAY, monday + 2 * (int64_t)DAY, monday + 2 * (int64_t)DAY + 5 * HOUR, "removed", "");
  timetable_log_read((struct bytes){log.data, log.length}, monday + 30 * (int64_t)DAY, &read);
  CHECK_INT(read.n_slots, 3);
  CHECK_INT(read.n[SLOT_KEPT], 3);
  timetable_log_release(&read);
  at_period(&log, DAY, monday + 10 * (int64_t)DAY, monday + 10 * (int64_t)DAY + 5 * HOUR, "installed", "");
  put_kept(&log, DAY, monday + 11 * (int64_t)DAY);
  timetable_log_read((struct bytes){log.data, log.length}, monday + 13 * (int64_t)DAY - HOUR, &read);
  CHECK_INT(read.n[SLOT_KEPT], 4);
  CHECK_INT(read.n[SLOT_MISSED], 1); /* the twelfth */
  timetable_log_release(&read);
  /* Killed, and done again twenty hours later: late. */
  buffer_clear(&log);
  at_period(&log, DAY, monday, monday + 5, "begun", ",\"bundle\":\"a.lynx\"");
  at_period(&log, DAY, monday, monday + 20 * HOUR, "begun", ",\"bundle\":\"b.lynx\"");
  at_period(&log, DAY, monday, monday + 20 * HOUR + 60, "ended", ",\"exit\":0");
  timetable_log_read((struct bytes){log.data, log.length}, monday + 21 * HOUR, &read);
  CHECK_INT(read.n[SLOT_KEPT], 1);
  CHECK_INT(read.n_late, 1);
  timetable_log_release(&read);
  buffer_release(&log);
}

/* What no run wrote. */
static void check_hostile_log(void) {
  static const char *const bad[] = {"{}",
                                    "[]",
                                    "{\"schedule\":\"../x\",\"every_s\":86400,\"at_s\":0,\"slot_s\":0,\"time_s\":0,\"state\":\"begun\"}",
                                    "{\"schedule\":\"x\",\"every_s\":1,\"at_s\":0,\"slot_s\":0,\"time_s\":0,\"state\":\"begun\"}",
                                    "{\"schedule\":\"x\",\"every_s\":86400,\"at_s\":0,\"slot_s\":1,\"time_s\":0,\"state\":\"begun\"}",
                                    "{\"schedule\":\"x\",\"every_s\":86400,\"at_s\":0,\"slot_s\":-86400,\"time_s\":0,\"state\":\"begun\"}",
                                    "{\"schedule\":\"x\",\"every_s\":9223372036854775807,\"at_s\":0,\"slot_s\":0,\"time_s\":0}"};
  struct timetable_log read;
  char text[400];
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) {
    (void)snprintf(text, sizeof text, "%s\n", bad[i]);
    timetable_log_read((struct bytes){text, strlen(text)}, monday, &read);
    CHECK(!read.known && read.n_unread == 1);
    timetable_log_release(&read);
  }
  /* One from 1970: the newest slots alone are kept. */
  (void)snprintf(text, sizeof text, "%s\n",
                 "{\"schedule\":\"x\",\"every_s\":3600,\"at_s\":0,\"slot_s\":0,\"time_s\":0,\"state\":\"begun\"}");
  timetable_log_read((struct bytes){text, strlen(text)}, monday, &read);
  CHECK(read.n_slots <= TIMETABLE_SLOTS_MAX + 1);
  timetable_log_release(&read);
}

int main(void) {
  check_periods();
  check_removed();
  check_parse();
  check_slots();
  check_log();
  check_hostile_log();
  return check_end();
}
