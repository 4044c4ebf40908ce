#include "cli/site_now.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/root.h"
#include "history/timetable_file.h"

enum { PATH_BYTES = 4200, WAIT_NS = 100000000 };
#define SCHEDULES_AGAIN_NS (60 * INT64_C(1000000000)) /* a time is missed as time goes by, whatever the files say */

/* Whoever makes a page may wait for a bundle's child: nobody waits long for that here, or four visitors would stop the server. */
static bool enter(pthread_mutex_t *lock, struct served_page *ret) {
  struct timespec until;
  (void)clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += WAIT_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  if (pthread_mutex_timedlock(lock, &until) == 0) return true;
  *ret = (struct served_page){.status = 503, .type = "text/plain; charset=utf-8", .again = true};
  buffer_init(&ret->body, 200);
  (void)buffer_text(&ret->body, "Other pages are being made. This page comes again by itself.\n");
  return false;
}

/* Of now, and so never kept. As events it ends at once, and a browser asks again after a second: nobody holds a connection. */
static bool give_running(const struct site_now *s, pthread_mutex_t *lock, struct pages *pages, const char *address,
                         struct served_page *ret) {
  static const char events[] = "running/events.txt";
  bool as_page = strcmp(address, "running.html") == 0, as_events = strcmp(address, events) == 0;
  if ((!as_page && !as_events && strcmp(address, "running.json") != 0)) return false;
  struct running_run *runs = xalloc(RUNNING_MAX, sizeof *runs);
  size_t n = s->running != NULL ? running_list(s->running, runs) : 0;
  if (as_page) {
    struct page page;
    if (enter(lock, ret)) {
      pages_running(pages, runs, n, &page);
      (void)pthread_mutex_unlock(lock);
      *ret = (struct served_page){.status = page.status, .type = page.type, .body = page.body};
    }
  } else {
    *ret = (struct served_page){.status = 200, .type = as_events ? "text/event-stream" : "application/json"};
    buffer_init(&ret->body, PAGE_BYTES_MAX);
    if (as_events) (void)buffer_text(&ret->body, "retry: 1000\ndata: ");
    (void)running_json(runs, n, &ret->body);
    if (as_events) (void)buffer_text(&ret->body, "\n\n");
  }
  free(runs);
  return true;
}

/* --- schedules --- */

static void forget_schedules(struct page_schedules *s) {
  for (size_t i = 0; i < s->n; i++) timetable_log_release(&s->items[i]);
  free(s->items);
  *s = (struct page_schedules){.folder = s->folder};
}

static void log_path(const struct site_now *s, const char *name, char path[PATH_BYTES]) {
  (void)snprintf(path, PATH_BYTES, "%.3900s/%.200s", s->schedules.folder, name);
}

/* What stands there, in one number: it is another one where a file was written or is another one. */
static uint64_t see(const char *path) {
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  struct stat info;
  if (stat(path, &info) != 0) return 1;
  uint64_t one = (uint64_t)info.st_ino * odd ^ (uint64_t)info.st_size;
  return ((one * odd ^ (uint64_t)info.st_mtim.tv_sec) * odd ^ (uint64_t)info.st_mtim.tv_nsec) * odd + 1;
}

/* A folder may hold many runs: their names are read where it changed, those of its logs are kept. */
static uint64_t see_all(const struct site_now *s) {
  char path[PATH_BYTES];
  uint64_t seen = see(s->schedules.folder);
  for (size_t i = 0; i < s->n_names; i++) {
    log_path(s, s->names[i], path);
    seen = seen * 31 + see(path);
  }
  return seen;
}

static void keep_name(void *context, const char *name) {
  struct site_now *s = context;
  s->names = xgrow(s->names, s->n_names + 1, sizeof *s->names);
  s->names[s->n_names++] = xcopy(name);
}

static void forget_names(struct site_now *s) {
  for (size_t i = 0; i < s->n_names; i++) free(s->names[i]);
  free(s->names);
  s->names = NULL;
  s->n_names = 0;
}

static void read_log(const struct site_now *s, const char *name, struct page_schedules *to) {
  struct lynx_error ignored = {0};
  char path[PATH_BYTES];
  struct timetable_log *log = &to->items[to->n];
  log_path(s, name, path);
  bool good = timetable_file_read(path, log, &ignored) == LYNX_OK && log->known;
  if (good) timetable_log_shorten(log, SCHEDULE_SLOTS_KEPT);
  else timetable_log_release(log);
  to->n += good;
  to->n_unreadable += !good;
}

static bool same_slot(const struct timetable_slot *x, const struct timetable_slot *y) {
  return x->slot_s == y->slot_s && x->state == y->state && x->exit == y->exit && strcmp(x->why, y->why) == 0;
}

static bool same_log(const struct timetable_log *x, const struct timetable_log *y) {
  enum { SHOWN = 2 }; /* of the newest, on the first page */
  bool same = strcmp(x->schedule.name, y->schedule.name) == 0 && x->n_slots == y->n_slots && x->n_before == y->n_before &&
              x->n_late == y->n_late && memcmp(x->n, y->n, sizeof x->n) == 0;
  for (size_t i = 1; same && i <= SHOWN && i <= x->n_slots; i++) same = same_slot(&x->slots[x->n_slots - i], &y->slots[y->n_slots - i]);
  return same;
}

static bool say_the_same(const struct page_schedules *a, const struct page_schedules *b) {
  bool same = a->items != NULL && a->n == b->n && a->n_unreadable == b->n_unreadable;
  for (size_t i = 0; same && i < a->n; i++) same = same_log(&a->items[i], &b->items[i]);
  return same;
}

bool site_now_look(struct site_now *s, pthread_mutex_t *lock) {
  static const struct root root = {""};
  int64_t now = clock_now(&clock_system);
  if (s->schedules.folder == NULL) return false;
  if (s->read_ns != 0 && see_all(s) == s->seen && now - s->read_ns < SCHEDULES_AGAIN_NS) return false;
  struct page_schedules found = {.folder = s->schedules.folder, .now_s = clock_realtime_s(&clock_system)};
  found.items = xalloc(SCHEDULES_MAX + 1, sizeof *found.items);
  forget_names(s);
  found.n_unreadable += !root_list_ending(&root, found.folder, TIMETABLE_LOG_ENDING, SCHEDULES_MAX + 1, keep_name, s);
  found.more = s->n_names > SCHEDULES_MAX;
  s->seen = see_all(s); /* before they are read: what is written meanwhile is read the next time */
  s->read_ns = now;
  for (size_t i = 0; i < s->n_names && i < SCHEDULES_MAX; i++) read_log(s, s->names[i], &found);
  (void)pthread_mutex_lock(lock);
  struct page_schedules before = s->schedules;
  s->schedules = found;
  (void)pthread_mutex_unlock(lock);
  bool same = say_the_same(&before, &found);
  forget_schedules(&before);
  return !same;
}

static bool give_schedules(struct site_now *s, pthread_mutex_t *lock, struct pages *pages, const char *address, struct served_page *ret) {
  struct page page;
  if (strncmp(address, "schedule.", 9) != 0) return false;
  if (!enter(lock, ret)) return true;
  s->schedules.now_s = clock_realtime_s(&clock_system);
  bool good = pages_schedule(pages, address, &page);
  (void)pthread_mutex_unlock(lock);
  if (good) *ret = (struct served_page){.status = page.status, .type = page.type, .body = page.body};
  return good;
}

bool site_now_get(struct site_now *now, pthread_mutex_t *lock, struct pages *pages, const char *address, struct served_page *ret) {
  return give_running(now, lock, pages, address, ret) || give_schedules(now, lock, pages, address, ret);
}

void site_now_release(struct site_now *now) {
  forget_schedules(&now->schedules);
  forget_names(now);
}
