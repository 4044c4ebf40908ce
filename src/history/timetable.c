#include "history/timetable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  INTERRUPTED = 130,
  /* as commands exit where a signal ended them */ HOUR = 3600,
  DAY = 24 * HOUR,
  WEEK = 7 * DAY,
  MONDAY = 4 * DAY
}; /* 1970 began on a Thursday */
static const int64_t year_9999 = 253402300799;

bool timetable_name_good(const char *name) {
  size_t n = strlen(name);
  return n > 0 && n < TIMETABLE_NAME_MAX && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] == 0 &&
         name[0] != '-';
}

bool timetable_period_good(int64_t every_s, int64_t at_s) {
  bool good = every_s == DAY || every_s == WEEK || (every_s >= HOUR && every_s < DAY && every_s % HOUR == 0 && DAY % every_s == 0);
  return good && at_s >= 0 && at_s < every_s && at_s % 60 == 0;
}

bool timetable_parse(const char *every, const char *at, struct timetable *ret, const char **ret_accepted) {
  int number = 0, hour = 0, minute = 0, used = 0;
  char unit = 0;
  *ret_accepted = "1h, 2h, 3h, 4h, 6h, 8h, 12h, 1d or 7d";
  if (sscanf(every, "%4d%c%n", &number, &unit, &used) != 2 || every[used] != 0 || (unit != 'h' && unit != 'd')) return false;
  ret->every_s = (int64_t)number * (unit == 'h' ? HOUR : DAY);
  ret->at_s = 0;
  if (!timetable_period_good(ret->every_s, 0)) return false;
  if (at == NULL) return true;
  *ret_accepted = "HH:MM in UTC, from 00:00 to 23:59";
  if (strlen(at) != 5 || sscanf(at, "%2d:%2d%n", &hour, &minute, &used) != 2 || used != 5 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59)
    return false;
  ret->at_s = (hour * HOUR + minute * 60) % ret->every_s;
  return true;
}

int64_t timetable_slot(const struct timetable *s, int64_t now_s) {
  int64_t anchor = s->at_s + (s->every_s == WEEK ? MONDAY : 0), passed = now_s - anchor;
  int64_t n = passed >= 0 ? passed / s->every_s : -((-passed + s->every_s - 1) / s->every_s);
  return anchor + n * s->every_s;
}

int64_t timetable_grace(const struct timetable *s) {
  return s->every_s / 10 < HOUR ? s->every_s / 10 : HOUR;
}

char *timetable_calendar(const struct timetable *s, char *text, size_t size) {
  int hour = (int)(s->at_s / HOUR), minute = (int)(s->at_s % HOUR / 60);
  if (s->every_s >= DAY) (void)snprintf(text, size, "%s*-*-* %02d:%02d:00 UTC", s->every_s == WEEK ? "Mon " : "", hour, minute);
  else (void)snprintf(text, size, "*-*-* %02d/%d:%02d:00 UTC", hour, (int)(s->every_s / HOUR), minute);
  return text;
}

char *timetable_cron(const struct timetable *s, char *text, size_t size) {
  int hour = (int)(s->at_s / HOUR), minute = (int)(s->at_s % HOUR / 60);
  if (s->every_s >= DAY) (void)snprintf(text, size, "%d %d * * %s", minute, hour, s->every_s == WEEK ? "1" : "*");
  else (void)snprintf(text, size, "%d %d-23/%d * * *", minute, hour, (int)(s->every_s / HOUR));
  return text;
}

const char *slot_state_text(enum slot_state state) {
  static const char *const texts[] = {[SLOT_KEPT] = "kept",       [SLOT_FAILED] = "failed", [SLOT_INTERRUPTED] = "interrupted",
                                      [SLOT_SKIPPED] = "skipped", [SLOT_MISSED] = "missed", [SLOT_RUNNING] = "running"};
  return texts[state];
}

/* --- the log --- */

struct happened {
  int64_t slot_s, at_s, exit;
  const char *state, *text; /* why, or the bundle */
  size_t order, stretch;
};

/* Lines that follow one another with one period: each is judged by its own. */
struct stretch {
  struct timetable schedule;
  int64_t from_s; /* when its first line was written; never before that of the one before */
};

struct reading {
  struct timetable_log *log;
  struct happened *items;
  struct stretch *stretches;
  size_t n, room, n_stretches, stretches_room;
};

static const char *word(struct reading *r, const json_t *line, const char *key) {
  const char *found = json_get_text(line, key, "");
  char clean[600];
  return arena_copy(&r->log->arena, text_sanitise(clean, sizeof clean, found, strlen(found)));
}

static size_t stretch_of(struct reading *r, const struct timetable *s, int64_t at_s) {
  const struct stretch *last = r->n_stretches > 0 ? &r->stretches[r->n_stretches - 1] : NULL;
  if (last != NULL && last->schedule.every_s == s->every_s && last->schedule.at_s == s->at_s) return r->n_stretches - 1;
  int64_t from_s = last != NULL && last->from_s > at_s ? last->from_s : at_s;
  r->stretches = xroom(r->stretches, r->n_stretches, &r->stretches_room, sizeof *r->stretches);
  r->stretches[r->n_stretches] = (struct stretch){*s, from_s};
  return r->n_stretches++;
}

static bool take_line(struct reading *r, const char *text, size_t length) {
  struct lynx_error error = {0};
  json_t *line = json_parse(text, length, TIMETABLE_LINE_MAX, &error);
  struct timetable s = {.every_s = json_get_int(line, "every_s", 0), .at_s = json_get_int(line, "at_s", -1)};
  struct happened h = {.slot_s = json_get_int(line, "slot_s", -1),
                       .at_s = json_get_int(line, "time_s", -1),
                       .exit = json_get_int(line, "exit", -1),
                       .order = r->n};
  const char *name = json_get_text(line, "schedule", "");
  bool good = timetable_name_good(name) && timetable_period_good(s.every_s, s.at_s) && h.slot_s >= 0 && h.slot_s <= year_9999 &&
              h.at_s >= 0 && h.at_s <= year_9999 && timetable_slot(&s, h.slot_s) == h.slot_s;
  if (good) {
    (void)snprintf(s.name, sizeof s.name, "%s", name);
    r->log->schedule = s;
    r->log->known = true;
    h.stretch = stretch_of(r, &s, h.at_s);
    h.state = word(r, line, "state");
    h.text = word(r, line, strcmp(h.state, "skipped") == 0 ? "why" : "bundle");
    r->items = xroom(r->items, r->n, &r->room, sizeof *r->items);
    r->items[r->n++] = h;
  }
  json_decref(line);
  return good;
}

static int by_slot(const void *a, const void *b) {
  const struct happened *x = a, *y = b;
  if (x->stretch != y->stretch) return (x->stretch > y->stretch) - (x->stretch < y->stretch);
  if (x->slot_s != y->slot_s) return (x->slot_s > y->slot_s) - (x->slot_s < y->slot_s);
  return (x->order > y->order) - (x->order < y->order);
}

static void judge_slot(const struct timetable *s, const struct happened *items, size_t n, int64_t now_s, struct timetable_slot *ret) {
  bool ended = false, began = false, skipped = false;
  ret->exit = -1;
  ret->why = ret->bundle = "";
  for (size_t i = 0; i < n; i++) {
    const struct happened *h = &items[i];
    if (strcmp(h->state, "begun") == 0) {
      ret->begun_s = h->at_s; /* of the run that counts: one that was killed before is done again */
      began = true;
      ret->bundle = h->text;
    } else if (strcmp(h->state, "ended") == 0) {
      ended = true;
      ret->exit = h->exit;
    } else if (strcmp(h->state, "skipped") == 0) {
      skipped = true;
      ret->why = h->text;
    }
  }
  ret->late = began && ret->begun_s - ret->slot_s > timetable_grace(s);
  bool current = ret->slot_s == timetable_slot(s, now_s), measured = ret->exit == 0 || ret->exit == 1 || ret->exit == 3;
  if (ended && ret->exit != INTERRUPTED) ret->state = measured ? SLOT_KEPT : SLOT_FAILED;
  else if (ended) ret->state = SLOT_INTERRUPTED;
  else if (began) ret->state = current ? SLOT_RUNNING : SLOT_INTERRUPTED;
  else if (skipped) ret->state = SLOT_SKIPPED;
  else ret->state = SLOT_MISSED;
}

struct slots {
  struct timetable_slot *items;
  size_t n, room;
  size_t n_stretches;
  bool removed; /* the schedule was, and was not installed again since */
};

/* A slot that an earlier stretch has too is the later one's. */
static void make_room(struct timetable_log *log, struct slots *to, int64_t slot_s) {
  if (to->n == 0 || to->items[to->n - 1].slot_s != slot_s) return;
  const struct timetable_slot *old = &to->items[--to->n];
  log->n[old->state]--;
  log->n_late -= old->late;
}

/* Every slot of a stretch, from its first line on, until end_s; of the last one nothing is said before its grace is over. */
static void add_stretch(struct timetable_log *log, const struct timetable *s, const struct happened *items, size_t n, int64_t end_s,
                        int64_t now_s, struct slots *to) {
  int64_t last = timetable_slot(s, end_s), first = items[0].slot_s;
  int64_t least = last - TIMETABLE_SLOTS_MAX * (to->n_stretches > 1 ? (int64_t)HOUR : s->every_s);
  if (to->n > 0 && to->items[to->n - 1].slot_s > least) least = to->items[to->n - 1].slot_s;
  if (first < least) first += (least - first + s->every_s - 1) / s->every_s * s->every_s;
  size_t at = 0;
  for (int64_t slot = first; slot <= last; slot += s->every_s) {
    while (at < n && items[at].slot_s < slot) at++;
    size_t end = at;
    bool only_marks = true, was_removed = to->removed;
    for (; end < n && items[end].slot_s == slot; end++) {
      bool installed = strcmp(items[end].state, "installed") == 0, taken_out = strcmp(items[end].state, "removed") == 0;
      only_marks = only_marks && (installed || taken_out);
      to->removed = taken_out || (to->removed && !installed);
    }
    /* Installed after its slot had passed, or removed before: that one was not due. */
    if ((slot == last && only_marks && end_s - slot <= timetable_grace(s)) || (only_marks && (end > at || was_removed))) continue;
    make_room(log, to, slot);
    to->items = xroom(to->items, to->n, &to->room, sizeof *to->items);
    struct timetable_slot *one = &to->items[to->n++];
    *one = (struct timetable_slot){.slot_s = slot};
    judge_slot(s, &items[at], end - at, now_s, one);
    log->n[one->state]++;
    log->n_late += one->late;
  }
}

static void make_slots(struct reading *r, int64_t now_s) {
  struct timetable_log *log = r->log;
  struct slots all = {.n_stretches = r->n_stretches};
  size_t at = 0;
  if (r->n > 0) qsort(r->items, r->n, sizeof *r->items, by_slot);
  for (size_t i = 0; i < r->n_stretches; i++) {
    size_t end = at;
    while (end < r->n && r->items[end].stretch == i) end++;
    int64_t until = i + 1 < r->n_stretches && r->stretches[i + 1].from_s < now_s ? r->stretches[i + 1].from_s : now_s;
    if (end > at && r->items[end - 1].slot_s > until && r->items[end - 1].slot_s <= now_s)
      until = r->items[end - 1].slot_s; /* its clock was put back */
    add_stretch(log, &r->stretches[i].schedule, &r->items[at], end - at, until, now_s, &all);
    at = end;
  }
  size_t left = all.n > TIMETABLE_SLOTS_MAX ? all.n - TIMETABLE_SLOTS_MAX : 0; /* the newest are kept */
  for (size_t i = 0; i < left; i++) log->n[all.items[i].state]--, log->n_late -= all.items[i].late;
  log->n_slots = all.n - left;
  log->slots = arena_alloc(&log->arena, log->n_slots + 1, sizeof *log->slots);
  if (all.items != NULL) memcpy(log->slots, all.items + left, log->n_slots * sizeof *log->slots);
  free(all.items);
}

void timetable_log_read(struct bytes text, int64_t now_s, struct timetable_log *ret) {
  struct reading r = {.log = ret};
  *ret = (struct timetable_log){.slots = NULL};
  for (size_t i = 0; i < text.length;) {
    const char *end = memchr(text.ptr + i, '\n', text.length - i);
    size_t length = end != NULL ? (size_t)(end - text.ptr) - i : text.length - i;
    if (length > 0 && (end == NULL || !take_line(&r, text.ptr + i, length))) ret->n_unread++; /* one that was cut off has no line end */
    i += length + 1;
  }
  make_slots(&r, now_s);
  free(r.items);
  free(r.stretches);
}

static int slot_order(const void *key, const void *item) {
  int64_t slot = *(const int64_t *)key, at = ((const struct timetable_slot *)item)->slot_s;
  return (slot > at) - (slot < at);
}

const struct timetable_slot *timetable_log_slot(const struct timetable_log *log, int64_t slot_s) {
  return log->n_slots > 0 ? bsearch(&slot_s, log->slots, log->n_slots, sizeof *log->slots, slot_order) : NULL;
}

void timetable_log_shorten(struct timetable_log *log, size_t most) {
  struct arena arena = {0};
  if (log->n_slots <= most) return;
  struct timetable_slot *slots = arena_alloc(&arena, most + 1, sizeof *slots);
  log->n_before += log->n_slots - most;
  for (size_t i = 0; i < most; i++) {
    slots[i] = log->slots[log->n_slots - most + i];
    slots[i].why = arena_copy(&arena, slots[i].why);
    slots[i].bundle = arena_copy(&arena, slots[i].bundle);
  }
  arena_release(&log->arena);
  log->arena = arena;
  log->slots = slots;
  log->n_slots = most;
}

void timetable_log_release(struct timetable_log *log) {
  arena_release(&log->arena);
  *log = (struct timetable_log){.slots = NULL};
}
