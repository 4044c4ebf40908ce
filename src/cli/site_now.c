#include "cli/site_now.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/root.h"
#include "history/timetable_file.h"

enum { SCHEDULES_MAX = 1000, PATH_BYTES = 4200, WAIT_NS = 100000000 };
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

/* A log's file; false: there is none of that name. */
static bool find_log(const struct page_schedules *s, const char *name, char path[PATH_BYTES], struct stat *ret) {
  if (!text_ends_with(name, TIMETABLE_LOG_ENDING)) return false;
  (void)snprintf(path, PATH_BYTES, "%.3900s/%.200s", s->folder, name);
  return stat(path, ret) == 0;
}

struct seeing {
  const struct page_schedules *schedules;
  uint64_t seen;
};

/* In whatever order they come. */
static void see_log(void *context, const char *name) {
  struct seeing *seeing = context;
  struct stat info;
  char path[PATH_BYTES];
  if (!find_log(seeing->schedules, name, path, &info)) return;
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
  uint64_t one = (uint64_t)info.st_ino * odd ^ (uint64_t)info.st_size;
  one = (one * odd ^ (uint64_t)info.st_mtim.tv_sec) * odd ^ (uint64_t)info.st_mtim.tv_nsec;
  seeing->seen += one * odd + 1;
}

static void read_log(void *context, const char *name) {
  struct page_schedules *s = context;
  struct lynx_error ignored = {0};
  struct stat info;
  char path[PATH_BYTES];
  if (s->n == SCHEDULES_MAX || !find_log(s, name, path, &info)) return;
  bool good = S_ISREG(info.st_mode) && timetable_file_read(path, &s->items[s->n], &ignored) == LYNX_OK && s->items[s->n].known;
  if (good) s->n++;
  else {
    timetable_log_release(&s->items[s->n]);
    s->n_unreadable++;
  }
}

static bool say_the_same(const struct page_schedules *a, const struct page_schedules *b) {
  bool same = a->items != NULL && a->n == b->n && a->n_unreadable == b->n_unreadable;
  for (size_t i = 0; same && i < a->n; i++) {
    const struct timetable_log *x = &a->items[i], *y = &b->items[i];
    same = strcmp(x->schedule.name, y->schedule.name) == 0 && x->n_slots == y->n_slots && x->n_late == y->n_late &&
           memcmp(x->n, y->n, sizeof x->n) == 0 && (x->n_slots == 0 || x->slots[x->n_slots - 1].slot_s == y->slots[y->n_slots - 1].slot_s);
  }
  return same;
}

bool site_now_look(struct site_now *s, pthread_mutex_t *lock) {
  static const struct root root = {""};
  struct seeing seeing = {.schedules = &s->schedules};
  int64_t now = clock_now(&clock_system);
  if (s->schedules.folder == NULL) return false;
  bool listed = root_list(&root, s->schedules.folder, SCHEDULES_MAX, see_log, &seeing);
  if (s->read_ns != 0 && seeing.seen == s->seen && now - s->read_ns < SCHEDULES_AGAIN_NS) return false;
  struct page_schedules found = {.folder = s->schedules.folder, .now_s = clock_realtime_s(&clock_system)};
  found.items = xalloc(SCHEDULES_MAX + 1, sizeof *found.items);
  listed = root_list(&root, found.folder, SCHEDULES_MAX, read_log, &found) && listed;
  found.n_unreadable += !listed;
  s->seen = seeing.seen;
  s->read_ns = now;
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
}
