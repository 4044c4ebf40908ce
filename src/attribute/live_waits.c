#include "attribute/live_waits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/code_kind.h"
#include "attribute/live_calls.h"
#include "attribute/live_module.h"
#include "base/number.h"

enum { LIVE_WAITS_MAX = 4000, DEPTH_MAX = 64, POLL_BINS = 1001, LEAST_LOOKS = 8, OWN_INWARD_MOST = 2 };

struct frame {
  const char *function, *module;
};

/* Innermost first. */
struct stack {
  struct frame frames[DEPTH_MAX];
  size_t n;
  bool interpreted; /* it passes through an interpreter, whose functions are another profiler's to name; cut there */
};

enum found { FOUND_WAIT, FOUND_PARKED, FOUND_TASK, FOUND_WORK, FOUND_UNOPTIMISED };

struct place {
  enum found found;
  size_t lane;
  enum wait_kind kind;
  const struct code_work *work;
  const char *function, *module; /* as linkers have them */
  const char *inside;  /* of work the function that it is known by; of a wait who called the function; "": the one of most looks */
  int64_t n, n_inside; /* n_inside: the vote (Boyer and Moore 1981) */
};

struct live_waits {
  struct live *live;
  struct place items[LIVE_WAITS_MAX];
  size_t n;
  int64_t waits[LIVE_LANES_MAX][WAIT_COUNT], running[LIVE_LANES_MAX], tasks[WAIT_COUNT];
  int64_t at_rest[LIVE_LANES_MAX], network[LIVE_LANES_MAX], contended[LIVE_LANES_MAX], polls[LIVE_LANES_MAX][POLL_BINS];
};

struct live_waits *live_waits_new(struct live *live) {
  struct live_waits *w = xalloc(1, sizeof *w);
  w->live = live;
  return w;
}

static bool cut_stack(char *frames, struct stack *ret) {
  ret->n = 0;
  ret->interpreted = false;
  while (ret->n < DEPTH_MAX && !ret->interpreted) {
    char *divide = strrchr(frames, ';');
    struct frame *f = &ret->frames[ret->n];
    if (!live_cut_frame(divide != NULL ? divide + 1 : frames, &f->function, &f->module)) return false;
    ret->interpreted = live_is_interpreter(f->module);
    ret->n++;
    if (divide == NULL) break;
    *divide = 0;
  }
  return true;
}

static bool is_script(const struct frame *f) {
  return code_is_script(f->function) && strcmp(f->module, "[anonymous]") == 0 && strstr(f->function, " node:") == NULL;
}

/* The program's own, or of a library that is no plumbing. */
static bool is_own(const struct frame *f) {
  if (is_script(f)) return true;
  return f->function[0] != 0 && f->module[0] == '/' && !live_is_plumbing(f->module) && !code_is_language(f->function);
}

static void count(struct live_waits *w, const struct place *place, int64_t n) {
  for (size_t i = 0; i < w->n; i++) {
    struct place *p = &w->items[i];
    if (p->found != place->found || p->lane != place->lane || p->kind != place->kind || p->work != place->work ||
        strcmp(p->function, place->function) != 0 || strcmp(p->module, place->module) != 0)
      continue;
    p->n += n;
    p->n_inside += strcmp(p->inside, place->inside) == 0 ? n : -n;
    if (p->n_inside < 0) {
      p->inside = arena_copy(&w->live->arena, place->inside);
      p->n_inside = -p->n_inside;
    }
    return;
  }
  if (w->n == LIVE_WAITS_MAX) return;
  struct place *p = &w->items[w->n++];
  *p = *place;
  p->function = arena_copy(&w->live->arena, place->function);
  p->module = arena_copy(&w->live->arena, place->module);
  p->inside = arena_copy(&w->live->arena, place->inside);
  p->n = p->n_inside = n;
}

/* --- waits --- */

/* "timer", "poll 20 ms": of what the innermost frame says; false: another word. */
static bool kind_of(const char *doing, enum wait_kind *ret_kind, int64_t *ret_ms) {
  *ret_ms = 0;
  *ret_kind = WAIT_NETWORK;
  if (strncmp(doing, "poll ", 5) == 0) return number_int64(doing + 5, strspn(doing + 5, "0123456789"), ret_ms);
  for (int i = 0; i < WAIT_COUNT; i++) {
    *ret_kind = (enum wait_kind)i;
    if (strcmp(doing, wait_kind_text((enum wait_kind)i)) == 0) return true;
  }
  return false;
}

/* What a parked goroutine waits for, by who parked it. */
static enum wait_kind kind_of_task(const struct stack *s) {
  for (size_t i = 1; i < s->n && i < 8; i++) {
    const char *f = s->frames[i].function;
    if (strcmp(f, "time.Sleep") == 0 || strcmp(f, "runtime.timeSleep") == 0) return WAIT_TIMER;
    if (strstr(f, "SemacquireMutex") != NULL || strstr(f, "SemacquireRWMutex") != NULL) return WAIT_LOCK;
    if (strstr(f, "netpollblock") != NULL || strstr(f, "persistConn:.roundTrip") != NULL || strstr(f, "database/sql") != NULL)
      return WAIT_NETWORK;
  }
  return WAIT_OTHER; /* a channel, a condition, other goroutines */
}

/* Is there no other of its own outside of it? There a thread of connections waits for the next request, and a worker for the next work. */
static bool is_outermost_own(const struct stack *s, const struct frame *own) {
  for (const struct frame *f = own + 1; f < s->frames + s->n; f++)
    if (is_own(f) && strcmp(f->function, "main") != 0) return false;
  return true;
}

static const struct frame *innermost_own(const struct stack *s, size_t from) {
  for (size_t i = from; i < s->n; i++)
    if (is_own(&s->frames[i])) return &s->frames[i];
  return NULL;
}

/* Of those that the language alone has, the innermost that says what is done: "uv_fs_fsync". */
static const struct frame *innermost_named(const struct stack *s) {
  for (size_t i = 1; i < s->n; i++)
    if (s->frames[i].function[0] != 0 && s->frames[i].module[0] == '/' && !live_is_plumbing(s->frames[i].module)) return &s->frames[i];
  return NULL;
}

/* In own, called by the next one outward that is another. */
static void name_place(const struct stack *s, const struct frame *own, struct place *place) {
  const struct frame *caller = own;
  if (own == NULL) return;
  place->function = own->function;
  place->module = own->module;
  while (caller != NULL && strcmp(caller->function, own->function) == 0) caller = innermost_own(s, (size_t)(caller - s->frames) + 1);
  if (caller != NULL && strcmp(caller->function, "main") != 0) place->inside = caller->function;
}

static void add_task(struct live_waits *w, size_t lane, const struct stack *s, int64_t n) {
  struct place place = {.found = FOUND_TASK, .lane = lane, .kind = kind_of_task(s), .function = "", .module = "", .inside = ""};
  const struct frame *own = innermost_own(s, 1);
  if (!code_parks_goroutine(s->frames[1].function) || own == NULL) return; /* it ran, or has ended; a package's own waits for work */
  w->tasks[place.kind] += n;
  name_place(s, own, &place);
  count(w, &place, n);
}

/* A lock that somebody else holds; not a condition, a queue or a join, for which the same call waits. */
static bool is_contended(const struct stack *s) {
  static const char *const calls[] = {"mutex_lock",      "lll_lock",       "rwlock_wrlock", "rwlock_rdlock", "lock_contended",
                                      "write_contended", "read_contended", "lock_slow",     "uv_mutex_lock", "uv_rwlock"};
  for (size_t i = 1; i < s->n; i++)
    for (size_t k = 0; k < LYNX_COUNT(calls); k++)
      if (strstr(s->frames[i].function, calls[k]) != NULL) return true;
  return false;
}

static void add_wait(struct live_waits *w, size_t lane, const struct stack *s, int64_t n) {
  int64_t ms;
  struct place place = {.found = FOUND_WAIT, .lane = lane, .function = "", .module = "", .inside = ""};
  if (!kind_of(s->frames[0].function, &place.kind, &ms)) return;
  const struct frame *own = innermost_own(s, 1);
  if (place.kind == WAIT_NETWORK) w->network[lane] += n;
  if (place.kind == WAIT_NETWORK && ms > 0 && ms < POLL_BINS) w->polls[lane][ms] += n;
  if (s->interpreted) return;
  if (own != NULL && place.kind == WAIT_NETWORK && is_outermost_own(s, own)) {
    w->at_rest[lane] += n;
    return;
  }
  w->waits[lane][place.kind] += n;
  if (place.kind == WAIT_LOCK && is_contended(s)) w->contended[lane] += n;
  for (size_t i = 1; i < s->n && place.found == FOUND_WAIT; i++)
    if (code_parks(s->frames[i].function)) place.found = FOUND_PARKED;
  if (place.found == FOUND_WAIT) name_place(s, own != NULL ? own : innermost_named(s), &place);
  count(w, &place, n);
}

void live_waits_add(struct live_waits *w, size_t lane, char *frames, int64_t n) {
  struct stack s;
  if (!cut_stack(frames, &s) || s.n < 2) return;
  if (strcmp(s.frames[0].function, "goroutine") == 0) add_task(w, lane, &s, n);
  else add_wait(w, lane, &s, n);
}

/* --- work --- */

/* By what the kernel does (telemetry/kernel_work.h). */
static const struct code_work *work_of_kernel(const char *doing) {
  return strcmp(doing, "files") == 0       ? code_work_of("fread")
         : strcmp(doing, "memory") == 0    ? code_work_of("munmap")
         : strcmp(doing, "processes") == 0 ? code_work_of("pthread_create")
                                           : NULL;
}

static size_t n_own_inward(const struct stack *s, const struct frame *of) {
  size_t n = 0;
  for (const struct frame *f = s->frames; f < of; f++) n += is_own(f);
  return n;
}

/* A function of the program's own is taken by its word where few others of its own lie within it: `handle_json` serves all of a request. */
void live_waits_add_running(struct live_waits *w, size_t lane, char *frames, int64_t n) {
  struct stack s;
  struct place place = {.found = FOUND_WORK, .lane = lane};
  if (!cut_stack(frames, &s) || s.interpreted) return;
  w->running[lane] += n;
  const struct frame *of_runtime = NULL, *known = NULL;
  const struct code_work *runtime_work = NULL;
  size_t made = 0; /* what runs below code that was made at run time, which is the program's own, is all that it called */
  while (made < s.n && strcmp(s.frames[made].module, "[anonymous]") != 0) made++;
  for (size_t i = made; i-- > 0 && known == NULL;) {
    const struct frame *f = &s.frames[i];
    const struct code_work *work = is_own(f) && n_own_inward(&s, f) > OWN_INWARD_MOST ? NULL : code_work_of(f->function);
    if (live_is_kernel(f->module)) work = work_of_kernel(f->function);
    if (work != NULL && !work->of_runtime) known = f, place.work = work;
    else if (work != NULL && of_runtime == NULL) of_runtime = f, runtime_work = work;
  }
  if (s.n > 0 && known == NULL && code_is_unoptimised(s.frames[0].function)) {
    place.found = FOUND_UNOPTIMISED;
    known = &s.frames[0];
  }
  if (known == NULL && of_runtime != NULL) known = of_runtime, place.work = runtime_work;
  if (known == NULL) return;
  const struct frame *asker = NULL;
  size_t end = made < s.n && s.frames[made].function[0] == 0 ? made : s.n; /* code without a name may be anybody's */
  for (const struct frame *f = known; f < s.frames + end && asker == NULL; f++)
    if (is_own(f) && code_work_of(f->function) == NULL) asker = f;
  place.function = asker != NULL ? asker->function : "";
  place.module = asker != NULL ? asker->module : "";
  place.inside = known->function;
  count(w, &place, n);
}

/* --- what it comes to --- */

/* Of a script "server.js:9:19", which its engine wrote behind the name. */
static const char *file_of(struct live *live, const struct place *p) {
  const struct frame frame = {p->function, p->module};
  const char *blank = is_script(&frame) ? strrchr(p->function, ' ') : NULL;
  return blank != NULL ? live_module_file(live_words(&live->arena, blank + 1)) : live_module_file(p->module);
}

static struct live_place place_of(struct live *live, const struct place *p, int64_t all) {
  return (struct live_place){.what = p->function[0] != 0 ? live_symbol_text(&live->arena, p->function) : "",
                             .where = file_of(live, p),
                             .caller = p->found != FOUND_WORK && p->inside[0] != 0 ? live_symbol_text(&live->arena, p->inside) : "",
                             .share = all > 0 ? (double)p->n / (double)all : 0,
                             .n = p->n};
}

/* Threads that have nothing to do wait for no lock. */
static void move_parked(struct live_lane *lane, const double parked[WAIT_COUNT]) {
  for (int k = 0; k < WAIT_COUNT; k++) {
    if (k == WAIT_OTHER || !(parked[k] > 0) || k == WAIT_NETWORK) continue; /* an idle event loop waits for the network all the same */
    double moved = lane->waits[k] * parked[k], of_work = lane->of_work[k] * parked[k];
    lane->waits[k] -= moved;
    lane->waits[WAIT_OTHER] += moved;
    lane->of_work[k] -= of_work;
    lane->of_work[WAIT_OTHER] += of_work;
    if (k == WAIT_LOCK) lane->at_locks *= 1 - parked[k];
  }
}

static void move_in_all(struct live *live, const struct live_lane *of) {
  struct live_account *accounts[] = {&live->alone, &live->beyond};
  for (size_t a = 0; a < LYNX_COUNT(accounts); a++)
    for (size_t i = 0; i < accounts[a]->n_lanes; i++) {
      struct live_lane *lane = &accounts[a]->lanes[i];
      if (strcmp(lane->program, of->program) == 0 && strcmp(lane->name, of->name) == 0 && lane->main == of->main)
        move_parked(lane, of->parked);
    }
}

void live_waits_park(struct live *live, struct live_lane *lane, enum wait_kind kind, double share) {
  double of[WAIT_COUNT] = {0};
  of[kind] = lane->waits[kind] > 0 ? fmin(1, share / lane->waits[kind]) : 0;
  lane->parked[kind] = fmax(lane->parked[kind], of[kind]);
  move_parked(lane, of);
  struct live_lane as_it_was = *lane;
  memcpy(as_it_was.parked, of, sizeof of);
  move_in_all(live, &as_it_was);
}

static void finish_lane(struct live_waits *w, size_t at) {
  struct live_lane *lane = &w->live->at.lanes[at];
  int64_t sum = 0, polls = 0;
  for (size_t i = 0; i < w->n; i++) {
    const struct place *p = &w->items[i];
    int64_t all = p->lane == at ? w->waits[at][p->kind] : 0;
    if (p->lane != at || all < LEAST_LOOKS) continue;
    if (p->found == FOUND_PARKED) lane->parked[p->kind] += (double)p->n / (double)all;
    if (p->found == FOUND_WAIT && p->function[0] != 0 && p->n > lane->waiting[p->kind].n)
      lane->waiting[p->kind] = place_of(w->live, p, all);
  }
  for (size_t ms = 0; ms < POLL_BINS; ms++) polls += w->polls[at][ms];
  double network = (double)w->network[at];
  lane->at_rest = network > 0 ? (double)w->at_rest[at] / network : 0;
  lane->contended = w->waits[at][WAIT_LOCK] >= LEAST_LOOKS ? (double)w->contended[at] / (double)w->waits[at][WAIT_LOCK] : 0;
  lane->polls = network > 0 ? (double)polls / network : 0;
  for (size_t ms = 0; ms < POLL_BINS && 2 * sum < polls; ms++) {
    sum += w->polls[at][ms];
    lane->poll_ms = (double)ms;
  }
  move_parked(lane, lane->parked);
  move_in_all(w->live, lane);
}

static int by_share(const void *a, const void *b) {
  const struct live_native *x = a, *y = b;
  return x->share > y->share ? -1 : x->share < y->share;
}

static void add_native(struct live_waits *w, const struct place *p) {
  struct live *live = w->live;
  const struct live_lane *lane = &live->at.lanes[p->lane];
  const struct live_place asker = place_of(live, p, w->running[p->lane]);
  struct live_native *to = live->n_natives < LIVE_NATIVES_MAX ? &live->natives[live->n_natives++] : &live->natives[LIVE_NATIVES_MAX - 1];
  if (to->n > 0 && to->share >= lane->running * asker.share) return;
  *to = (struct live_native){.work = p->work,
                             .lane = p->lane,
                             .asker = asker.what,
                             .where = asker.where,
                             .inside = live_symbol_text(&live->arena, p->inside),
                             .share = lane->running * asker.share,
                             .n = p->n};
  qsort(live->natives, live->n_natives, sizeof live->natives[0], by_share);
}

void live_waits_finish(struct live_waits *w) {
  struct live *live = w->live;
  for (size_t i = 0; i < live->at.n_lanes; i++) finish_lane(w, i);
  for (size_t i = 0; i < w->n; i++) {
    const struct place *p = &w->items[i];
    if (p->found == FOUND_TASK && p->n > live->tasks[p->kind].n) live->tasks[p->kind] = place_of(live, p, w->tasks[p->kind]);
    if (p->found == FOUND_WORK || p->found == FOUND_UNOPTIMISED) add_native(w, p);
  }
  free(w);
}
