#include "attribute/live_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live_calls.h"
#include "attribute/live_lanes.h"
#include "attribute/live_module.h"
#include "attribute/live_waits.h"
#include "attribute/live_workers.h"
#include "base/number.h"
#include "executor/layer_map.h"

enum { KEYS_MAX = 20000, SLOTS = 1 << 16, UNNAMED_MAX = 4096, LEAST_LOOKS = 3, DEPTH = 64 };

#define MOST_CALLS 0.6 /* of a lane's time outside of the interpreter: a function with that share called its greatest library */
#define SOME_CALLS 0.2 /* a caller that made less of a library's calls says little */

/* The last two are of native stacks in which CPython names its functions by trampolines (-X perf): of all of them, and of those that ran in
 * the interpreter itself. They count where py-spy saw nothing. */
enum looks { LOOKS_NATIVE, LOOKS_RUNNING, LOOKS_LOCK, LOOKS_ALL, LOOKS_COUNT, LOOKS_MADE = LOOKS_COUNT, LOOKS_MADE_INSIDE, LOOKS_KINDS };
static const char *const sources[LOOKS_COUNT] = {"native", "python", "python_gil", "python_all"};
static const char source_of_calls[] = "calls", source_of_waits[] = "waits";

/* A Python function in its file, or a function of a module (of the kernel: what it does), in one lane. */
struct counted {
  size_t lane;
  const char *what, *file; /* of a module: its path; its function, "" where it has no name */
  int64_t line, line_n;
  int64_t n[LOOKS_KINDS];
  double ran; /* of LOOKS_RUNNING, those that the kernel's count of its threads' time bears out */
};

struct live_profile {
  struct live *live;
  struct live_calls *calls;
  struct live_waits *waits;
  struct live_workers *workers;
  struct counted *items;
  size_t n, room;
  uint32_t *slots;                                            /* of items, + 1, by a hash of the key; 0: free */
  double session_s, window_s[LOOKS_COUNT], rate[LOOKS_COUNT]; /* window: of the sessions in which that profiler gave something */
  /* of the session that is being read */
  struct profiled_thread {
    int64_t process, thread;
    size_t lane;
    double running_s;     /* by the kernel's count */
    int64_t n_of_running; /* looks that said it ran */
  } * threads;
  size_t n_threads, threads_room;
  int64_t made_inside[LIVE_LANES_MAX]; /* of each lane */
  bool by_spy;                         /* py-spy saw something, in any lane */
  bool sees_kernel;                    /* some look of the native profiler found the kernel */
};

struct live_profile *live_profile_new(struct live *live) {
  struct live_profile *p = xalloc(1, sizeof *p);
  p->live = live;
  p->calls = live_calls_new(&live->arena);
  p->waits = live_waits_new(live);
  p->workers = live_workers_new(live);
  p->slots = xalloc(SLOTS, sizeof *p->slots);
  return p;
}

/* --- frames --- */

/* "forward (/srv/train.py:74)" -> "forward", "/srv/train.py", 74; texts within frame, which is cut. */
static bool cut_frame(char *frame, const char **ret_function, const char **ret_file, int64_t *ret_line) {
  char *close = strrchr(frame, ')'), *open = close != NULL ? strrchr(frame, '(') : NULL;
  if (open == NULL || open == frame || close < open) return false;
  *close = 0;
  char *colon = strrchr(open, ':');
  *ret_line = 0;
  if (colon != NULL && number_int64(colon + 1, strlen(colon + 1), ret_line)) *colon = 0;
  open[open[-1] == ' ' ? -1 : 0] = 0;
  *ret_function = frame;
  *ret_file = open + 1;
  return true;
}

/* The innermost frame that is not the standard library's: whose work it is. Where there is none, the innermost. */
static bool working_frame(char *frames, const char **ret_function, const char **ret_file, int64_t *ret_line) {
  bool found = false;
  char *at = frames + strlen(frames);
  for (int depth = 0; depth < DEPTH; depth++) {
    const char *function, *file;
    int64_t line;
    enum layer unused;
    while (at > frames && at[-1] != ';') at--;
    if (cut_frame(at, &function, &file, &line)) {
      bool works = layer_of_python_file(file, &unused) != PYTHON_FILE_STANDARD;
      if (works || !found) {
        *ret_function = function;
        *ret_file = file;
        *ret_line = line;
      }
      found = true;
      if (works) return true;
    }
    if (at == frames) break;
    *--at = 0; /* the ';' */
  }
  return found;
}

static uint64_t hash_of(size_t lane, const char *what, const char *file) {
  uint64_t hash = UINT64_C(1469598103934665603) ^ lane;
  for (const char *text = what; *text != 0; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
  for (const char *text = file; *text != 0; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return hash ^ hash >> 31;
}

static struct counted *counted_of(struct live_profile *p, size_t lane, const char *what, const char *file) {
  size_t k = (size_t)(hash_of(lane, what, file) % SLOTS);
  for (; p->slots[k] != 0; k = (k + 1) % SLOTS) {
    struct counted *c = &p->items[p->slots[k] - 1];
    if (c->lane == lane && strcmp(c->what, what) == 0 && strcmp(c->file, file) == 0) return c;
  }
  if (p->n == KEYS_MAX) return NULL;
  p->items = xroom(p->items, p->n, &p->room, sizeof *p->items);
  p->items[p->n] = (struct counted){.lane = lane, .what = arena_copy(&p->live->arena, what), .file = arena_copy(&p->live->arena, file)};
  p->slots[k] = (uint32_t)++p->n;
  return &p->items[p->n - 1];
}

static int by_thread(const void *a, const void *b) {
  const struct profiled_thread *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* They came sorted, as the rows do. */
static struct profiled_thread *thread_of(const struct live_profile *p, const struct bundle_stack *stack) {
  const struct profiled_thread wanted = {.process = stack->process, .thread = stack->thread};
  if (p->n_threads == 0) return NULL;
  const struct profiled_thread ended = {.process = stack->process, .thread = 0}; /* one that was in no list */
  struct profiled_thread *found = bsearch(&wanted, p->threads, p->n_threads, sizeof wanted, by_thread);
  bool main = stack->process == stack->thread; /* it is there all the time: what no list names of it did nothing */
  if (found == NULL && !main) found = bsearch(&ended, p->threads, p->n_threads, sizeof ended, by_thread);
  for (size_t i = 0; found == NULL && stack->process == 0 && i < p->n_threads && i < UNNAMED_MAX; i++) /* py-spy without its children */
    if (p->threads[i].thread == stack->thread) found = &p->threads[i];
  return found;
}

/* Of its process; where lanes hold threads of several, the greatest of the others. */
static bool lane_of_process(const struct live_profile *p, const struct bundle_stack *stack, struct profiled_thread *ret) {
  const struct live_account *at = &p->live->at;
  size_t found = at->n_lanes;
  for (size_t i = 0; i < at->n_lanes; i++) {
    if (at->lanes[i].main != (stack->process == stack->thread) || at->lanes[i].thread == 0) continue;
    if (found == at->n_lanes || (at->lanes[i].process == stack->process && at->lanes[found].process != stack->process)) found = i;
  }
  *ret = (struct profiled_thread){.process = stack->process, .thread = stack->thread, .lane = found};
  return found < at->n_lanes;
}

/* "py::forward:/srv/model.py ([anonymous])" -> "forward (/srv/model.py)"; false: another frame. */
static bool made_frame(const char *frame, size_t length, char *ret, size_t size) {
  static const char ends[] = " ([anonymous])";
  char function[512];
  const char *name, *file;
  size_t after = sizeof ends - 1, n_name;
  if (length <= after || length - after >= sizeof function || strncmp(frame + length - after, ends, after) != 0) return false;
  (void)snprintf(function, sizeof function, "%.*s", (int)(length - after), frame);
  if (!live_perf_python(function, &name, &n_name, &file)) return false;
  int n = snprintf(ret, size, "%.*s (%s)", (int)n_name, name, file);
  return n > 0 && (size_t)n < size;
}

/* Of "outermost;...;innermost". */
static void take_made(struct live_profile *p, size_t lane, const char *frames, int64_t n) {
  char stack[4096] = "", one[512];
  const char *function, *file, *leaf = strrchr(frames, ';'), *open = strrchr(frames, '(');
  size_t used = 0;
  int64_t line;
  for (const char *at = frames; *at != 0; at += *at == ';') {
    size_t length = strcspn(at, ";");
    if (made_frame(at, length, one, sizeof one)) {
      int written = snprintf(stack + used, sizeof stack - used, "%s%s", used > 0 ? ";" : "", one);
      if (written < 0 || used + (size_t)written >= sizeof stack) return; /* deeper than is of use: the innermost would be missing */
      used += (size_t)written;
    }
    at += length;
  }
  struct counted *counted = used > 0 && working_frame(stack, &function, &file, &line) ? counted_of(p, lane, function, file) : NULL;
  if (counted == NULL) return;
  char module[256] = "";
  if (leaf != NULL && open > leaf) (void)snprintf(module, sizeof module, "%.*s", (int)strcspn(open + 1, ")"), open + 1);
  bool inside = live_is_interpreter(module);
  counted->n[LOOKS_MADE] += n;
  counted->n[LOOKS_MADE_INSIDE] += inside ? n : 0;
  p->made_inside[lane] += inside ? n : 0;
}

/* Who called, and what for. */
static void take_calls(struct live_profile *p, size_t lane, char *frames, int64_t n) {
  char *again = xcopy(frames);
  take_made(p, lane, frames, n);
  live_waits_add_running(p->waits, lane, again, n);
  live_calls_add(p->calls, lane, frames, n);
  free(again);
}

/* py-spy takes a thread that has just been woken, or waits for the interpreter's lock, for one that runs. Of many such, in all of which
 * nothing is done, it would make the busiest function. */
static double borne_out(const struct live_profile *p, const struct profiled_thread *thread) {
  double said_s = p->rate[LOOKS_RUNNING] > 0 ? (double)thread->n_of_running / p->rate[LOOKS_RUNNING] : 0;
  return said_s > 0 ? fmin(1, thread->running_s / said_s) : 1;
}

static enum lynx_status count_running(void *context, const struct bundle_stack *stack) {
  struct live_profile *p = context;
  bool is = strcmp(stack->source, sources[LOOKS_RUNNING]) == 0 && stack->n > 0 && stack->n <= INT32_MAX;
  struct profiled_thread *thread = is ? thread_of(p, stack) : NULL;
  if (thread != NULL) thread->n_of_running += stack->n;
  return LYNX_OK;
}

static enum lynx_status take_activity(void *context, int64_t session, const struct thread_activity *row) {
  struct live_profile *p = context;
  const struct profiled_thread wanted = {.process = row->process, .thread = row->thread};
  struct profiled_thread *found = p->n_threads > 0 ? bsearch(&wanted, p->threads, p->n_threads, sizeof wanted, by_thread) : NULL;
  (void)session;
  if (found != NULL && row->running_ns > 0) found->running_s += (double)row->running_ns / 1e9;
  return LYNX_OK;
}

/* Those that never run are in no list of threads. */
static void add_worker(struct live_profile *p, const struct bundle_stack *stack) {
  size_t length = strlen(stack->frames);
  char *frames = xalloc(length + 1, 1);
  live_workers_add(p->workers, stack->process, text_sanitise(frames, length + 1, stack->frames, length));
  free(frames);
}

static enum lynx_status take_stack(void *context, const struct bundle_stack *stack) {
  struct live_profile *p = context;
  int kind = 0;
  while (kind < LOOKS_COUNT && strcmp(sources[kind], stack->source) != 0) kind++;
  bool calls = strcmp(stack->source, source_of_calls) == 0, waits = strcmp(stack->source, source_of_waits) == 0;
  if ((kind == LOOKS_COUNT && !calls && !waits) || stack->n <= 0 || stack->n > INT32_MAX) return LYNX_OK;
  if (kind == LOOKS_ALL && stack->process == stack->thread) add_worker(p, stack);
  const struct profiled_thread *thread = thread_of(p, stack);
  struct profiled_thread like; /* a thread that hardly runs is in no list, and waits as the others of its process do */
  if (thread == NULL && waits && lane_of_process(p, stack, &like)) thread = &like;
  if (thread == NULL) return LYNX_OK;
  struct live_lane *lane = &p->live->at.lanes[thread->lane];
  size_t length = strlen(stack->frames);
  char *frames = xalloc(length + 1, 1);
  const char *what = text_sanitise(frames, length + 1, stack->frames, length), *file = "";
  int64_t line = 0;
  p->by_spy = p->by_spy || kind == LOOKS_RUNNING || kind == LOOKS_LOCK;
  if (calls || waits) {
    if (calls) take_calls(p, thread->lane, frames, stack->n);
    else live_waits_add(p->waits, thread->lane, frames, stack->n);
    free(frames);
    return LYNX_OK;
  }
  if (kind == LOOKS_NATIVE) {
    char *divide = strchr(frames, ';');
    if (divide != NULL) *divide = 0, file = divide + 1;
    lane->n_samples += stack->n;
    p->sees_kernel = p->sees_kernel || live_is_kernel(what);
  } else {
    lane->n_python += kind == LOOKS_RUNNING ? stack->n : 0;
    lane->n_lock += kind == LOOKS_LOCK ? stack->n : 0;
    if (!working_frame(frames, &what, &file, &line)) what = "not readable";
  }
  struct counted *counted = counted_of(p, thread->lane, what, file);
  if (counted != NULL) counted->n[kind] += stack->n;
  if (counted != NULL && kind == LOOKS_RUNNING) counted->ran += (double)stack->n * borne_out(p, thread);
  if (counted != NULL && stack->n > counted->line_n) {
    counted->line = line;
    counted->line_n = stack->n;
  }
  free(frames);
  return LYNX_OK;
}

static enum lynx_status take_name(void *context, int64_t session, const struct thread_name *name) {
  struct live_profile *p = context;
  (void)session;
  const struct live_lane *lane = live_lane_of(&p->live->arena, &p->live->at, name, false);
  if (lane == NULL) return LYNX_OK;
  p->threads = xroom(p->threads, p->n_threads, &p->threads_room, sizeof *p->threads);
  p->threads[p->n_threads++] = (struct profiled_thread){
      .process = name->process, .thread = name->thread, .lane = (size_t)(lane - p->live->at.lanes)};
  return LYNX_OK;
}

static enum lynx_status take_rate(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct live_profile *p = context;
  char name[64];
  (void)session, (void)at_ns;
  if (strcmp(series, "profile.go.processors") == 0 && value >= 1 && value < 65536) p->live->go_processors = llround(value);
  for (int k = 0; k < LOOKS_COUNT; k++) {
    (void)snprintf(name, sizeof name, "profile.%s.rate", sources[k]);
    if (strcmp(series, name) != 0 || !(value > 0) || !(value < 1e6)) continue;
    p->rate[k] = value;
    p->window_s[k] += p->session_s;
  }
  return LYNX_OK;
}

void live_profile_add(struct live_profile *p, struct bundle *bundle, const struct bundle_session *session) {
  p->n_threads = 0;
  p->session_s = (double)(session->warm_up_ns + session->counted_ns) / 1e9;
  bool good = bundle_each_thread(bundle, session->id, take_name, p, NULL) == LYNX_OK &&
              bundle_each_sample(bundle, session->id, take_rate, p, NULL) == LYNX_OK &&
              bundle_each_activity(bundle, session->id, take_activity, p, NULL) == LYNX_OK &&
              bundle_each_stack(bundle, session->id, count_running, p, NULL) == LYNX_OK &&
              bundle_each_stack(bundle, session->id, take_stack, p, NULL) == LYNX_OK;
  (void)good; /* rows that cannot be read divide nothing */
}

/* --- parts --- */

static void add_part(struct live_lane *lane, const struct live_part *part) {
  for (size_t i = 0; i < lane->n_parts; i++) {
    struct live_part *p = &lane->parts[i];
    if (p->kind != part->kind || strcmp(p->what, part->what) != 0 || strcmp(p->where, part->where) != 0) continue;
    p->share += part->share;
    p->n += part->n;
    if (part->inside_share > p->inside_share) {
      p->inside = part->inside;
      p->inside_share = part->inside_share;
    }
    return;
  }
  if (lane->n_parts < LIVE_PARTS_MAX - 1) {
    lane->parts[lane->n_parts++] = *part;
    return;
  }
  lane->n_parts = LIVE_PARTS_MAX; /* the last one is of all that found no room */
  struct live_part *rest = &lane->parts[LIVE_PARTS_MAX - 1];
  *rest = (struct live_part){.kind = LIVE_REST,
                             .what = "many more, each smaller",
                             .where = "",
                             .would = "nothing: too many to list",
                             .inside = "",
                             .share = rest->share + part->share};
}

static int by_share(const void *a, const void *b) {
  const struct live_part *x = a, *y = b;
  if (x->share < y->share || y->share < x->share) return x->share > y->share ? -1 : 1;
  return strcmp(x->what, y->what);
}

static const char *place_of(struct live *live, const struct counted *c) {
  return c->line > 0 ? arena_printf(&live->arena, "%s:%lld", c->file, (long long)c->line) : c->file;
}

/* Interpreted time, by who held the lock; where nobody was seen holding it, by who ran. */
static void divide_python(struct live_profile *p, size_t at, double share) {
  struct live *live = p->live;
  struct live_lane *lane = &live->at.lanes[at];
  int kind = !p->by_spy ? LOOKS_MADE_INSIDE : lane->n_lock > 0 ? LOOKS_LOCK : LOOKS_RUNNING;
  double looks = (double)(!p->by_spy ? p->made_inside[at] : lane->n_lock > 0 ? lane->n_lock : 0);
  for (size_t i = 0; i < p->n && kind == LOOKS_RUNNING; i++) looks += p->items[i].lane == at ? p->items[i].ran : 0;
  for (size_t i = 0; i < p->n && looks > 0; i++) {
    const struct counted *c = &p->items[i];
    if (c->lane != at || c->n[kind] == 0) continue;
    struct live_part part = {
        .kind = LIVE_PYTHON, .what = c->what, .where = place_of(live, c), .would = "", .inside = "", .spins = live_is_spinning(c->what)};
    part.attributed = layer_of_python_file(c->file, &part.layer) == PYTHON_FILE_KNOWN;
    if (!part.attributed) part.would = "whose package that is";
    part.share = share * (kind == LOOKS_RUNNING ? c->ran : (double)c->n[kind]) / looks;
    part.n = c->n[kind];
    add_part(lane, &part);
  }
  if (looks > 0) return;
  const struct live_part part = {.kind = LIVE_PYTHON,
                                 .what = "Python",
                                 .where = "",
                                 .would = "py-spy, which names its functions (`pip install py-spy`), or Python 3.12 started with -X perf",
                                 .inside = "",
                                 .share = share};
  add_part(lane, &part);
}

/* How much a function was seen running and not holding the lock: what it called ran outside of the interpreter. */
static double ran_outside(const struct live_profile *p, const struct counted *c) {
  double running = p->rate[LOOKS_RUNNING] * p->window_s[LOOKS_RUNNING], lock = p->rate[LOOKS_LOCK] * p->window_s[LOOKS_LOCK];
  if (!p->by_spy) return (double)(c->n[LOOKS_MADE] - c->n[LOOKS_MADE_INSIDE]); /* only their proportions count */
  if (!(running > 0)) return 0;
  return c->ran / running - (lock > 0 ? (double)c->n[LOOKS_LOCK] / lock : 0);
}

/* outside: the share of the window that ran outside of the interpreter. */
static void name_callers(const struct live_profile *p, size_t at, double outside) {
  struct live_lane *lane = &p->live->at.lanes[at];
  double all = 0;
  for (size_t i = 0; i < p->n; i++)
    if (p->items[i].lane == at) all += fmax(0, ran_outside(p, &p->items[i]));
  for (size_t i = 0; i < p->n && all > 0; i++) {
    const struct counted *c = &p->items[i];
    double ran = c->lane == at ? ran_outside(p, c) : 0;
    int64_t found = p->by_spy ? llround(c->ran) : c->n[LOOKS_MADE];
    if (!(ran > 0) || found < LEAST_LOOKS) continue;
    double share = outside * ran / all;
    size_t place = lane->n_callers;
    while (place > 0 && lane->callers[place - 1].share < share) place--;
    if (place == LIVE_CALLERS_MAX) continue;
    if (lane->n_callers < LIVE_CALLERS_MAX) lane->n_callers++;
    for (size_t k = lane->n_callers - 1; k > place; k--) lane->callers[k] = lane->callers[k - 1];
    lane->callers[place] = (struct live_caller){c->what, place_of(p->live, c), share, found};
  }
}

/* Where one function made most of the calls, it called the greatest library; who called the others is not told apart. */
static void name_caller_of_greatest(struct live_profile *p, struct live_lane *lane, double outside) {
  if (lane->n_callers == 0 || lane->callers[0].share < MOST_CALLS * outside) return;
  const char *what = lane->callers[0].what, *where = lane->callers[0].where;
  for (size_t i = 0; i < lane->n_parts; i++) {
    struct live_part *part = &lane->parts[i];
    bool silent = part->where[0] == 0;
    if (part->kind != LIVE_LIBRARY || part->spins || (!silent && part->attributed)) continue;
    if (silent) part->where = arena_printf(&p->live->arena, "called by %s %s", what, where);
    else part->where = arena_printf(&p->live->arena, "%s, from %s %s", part->where, what, where);
    return;
  }
}

/* The standard library's own places for threads of a pool that have nothing to do. */
static bool waits_for_work(const char *what, const char *where) {
  return strcmp(what, "_worker") == 0 && strstr(where, "concurrent/futures/thread.py") != NULL;
}

/* The functions that its threads wait in, the three with the most: which of them waits for what, looks do not tell. But waits for a pool
 * of threads are put down to the one whose calls run most. */
static void name_waits(struct live_profile *p, size_t at) {
  enum { TOLD = 3 };
  struct live_lane *lane = &p->live->at.lanes[at];
  struct live_caller most[TOLD] = {{.share = 0}};
  const struct live_caller *caller = lane->n_callers > 0 ? &lane->callers[0] : NULL;
  double whole = p->rate[LOOKS_ALL] * p->window_s[LOOKS_ALL], running = p->rate[LOOKS_RUNNING] * p->window_s[LOOKS_RUNNING];
  if (!(whole > 0)) return;
  double pool = 0;
  for (size_t i = 0; i < p->n; i++) {
    const struct counted *c = &p->items[i];
    double share = (double)c->n[LOOKS_ALL] / whole - (running > 0 ? c->ran / running : 0);
    if (c->lane == at && waits_for_work(c->what, place_of(p->live, c))) {
      pool += fmax(0, share);
      continue;
    }
    if (c->lane == at && caller != NULL && strcmp(caller->what, c->what) == 0 && strcmp(caller->where, place_of(p->live, c)) == 0)
      share -= live_pool_wait(lane);
    if (c->lane != at || !(share > most[TOLD - 1].share)) continue;
    size_t place = TOLD - 1;
    for (; place > 0 && most[place - 1].share < share; place--) most[place] = most[place - 1];
    most[place] = (struct live_caller){c->what, place_of(p->live, c), share, c->n[LOOKS_ALL]};
  }
  if (pool > 0) live_waits_park(p->live, lane, WAIT_LOCK, pool);
  if (!(most[0].share > 0)) return;
  lane->waits_in = most[0].what;
  lane->waits_where = most[0].where;
  lane->waits_share = most[0].share;
  for (size_t i = 1; i < TOLD && most[i].share > 0.1 * most[0].share; i++)
    lane->waits_also = arena_printf(&p->live->arena, "%s%s%s (%s)", lane->waits_also, i > 1 ? ", " : "", most[i].what, most[i].where);
}

/* "at::native::gelu (libtorch_cpu.so)" */
static const char *caller_text(struct live *live, const struct live_called *c) {
  const char *file = live_module_file(c->module);
  return c->function[0] != 0 ? arena_printf(&live->arena, "%s (%s)", live_symbol_text(&live->arena, c->function), file) : file;
}

/* The time in a library that serves its caller is the caller's; ret: how much of it is Python's, which looks at Python divide. */
static double divide_by_caller(struct live_profile *p, size_t at, const struct counted *c, double share) {
  struct live *live = p->live;
  struct live_lane *lane = &live->at.lanes[at];
  struct live_called callers[LIVE_CALLED_MAX];
  struct live_part part = live_module_part(live, c->what, c->file);
  bool serves = part.kind == LIVE_LIBRARY && !part.spins && library_serves_its_caller(part.what);
  size_t n = serves ? live_calls_of(p->calls, at, part.what, callers) : 0;
  double python = 0, left = share;
  if ((part.kind == LIVE_LIBRARY || part.kind == LIVE_PROGRAM) && c->file[0] != 0) part.inside = c->file;
  for (size_t i = 0; i < n; i++) {
    double own = share * callers[i].share;
    left -= own;
    if (live_is_interpreter(callers[i].module)) {
      python += own;
      continue;
    }
    struct live_part whose = live_module_part(live, callers[i].module, callers[i].function);
    whose.kind = LIVE_LIBRARY;
    whose.what = part.what;
    whose.where = arena_printf(&live->arena, "called by %s", live_module_file(callers[i].module));
    whose.spins = false;
    whose.inside = part.inside;
    whose.share = whose.inside_share = own;
    whose.n = (int64_t)llround((double)c->n[LOOKS_NATIVE] * callers[i].share);
    add_part(lane, &whose);
  }
  part.share = part.inside_share = fmax(0, left);
  part.n = n > 0 && share > 0 ? (int64_t)llround((double)c->n[LOOKS_NATIVE] * part.share / share) : c->n[LOOKS_NATIVE];
  if (n == 0 || left > 1e-9 * share) add_part(lane, &part);
  return python;
}

/* Who called it, where nothing else was said: the one that made most of the calls, or the two greatest. */
static void name_caller(struct live_profile *p, size_t at, struct live_part *part) {
  struct live *live = p->live;
  struct live_called by[LIVE_CALLED_MAX];
  bool kernel = part->kind == LIVE_KERNEL;
  if ((part->kind != LIVE_LIBRARY && !kernel) || part->where[0] != 0) return;
  const char *doing = strncmp(part->what, "the kernel: ", 12) == 0 ? part->what + 12 : "other";
  size_t n = live_calls_of(p->calls, at, kernel ? doing : part->what, by);
  if (n == 0 || by[0].share < SOME_CALLS) return;
  if (by[0].share >= MOST_CALLS || n == 1) part->where = arena_printf(&live->arena, "called by %s", caller_text(live, &by[0]));
  else
    part->where = arena_printf(&live->arena, "called by %s %.0f %%, %s %.0f %%", caller_text(live, &by[0]), 100 * by[0].share,
                               caller_text(live, &by[1]), 100 * by[1].share);
}

static void add_kernel(struct live_profile *p, struct live_lane *lane, const struct counted *c, double share) {
  const char *name;
  struct live_kernels *kernels = &lane->kernels[live_kernel_kind_of(c->file, &name)];
  kernels->share += share;
  kernels->n += c->n[LOOKS_NATIVE];
  if (share <= kernels->most_share) return;
  kernels->most = arena_printf(&p->live->arena, "%s (%s)", live_symbol_text(&p->live->arena, name), live_module_file(c->what));
  kernels->most_share = share;
}

static void divide_lane(struct live_profile *p, size_t at) {
  struct live_lane *lane = &p->live->at.lanes[at];
  lane->parts = arena_alloc(&p->live->arena, LIVE_PARTS_MAX, sizeof *lane->parts);
  double python = 0, looks = (double)lane->n_samples;
  if (lane->n_samples == 0) {
    const struct live_part rest = {.kind = LIVE_REST,
                                   .what = "not divided",
                                   .where = "",
                                   .would = "a profiler that may look at it (docs/attribution.md)",
                                   .inside = "",
                                   .share = lane->running};
    if (lane->n_lock + lane->n_python > 0) divide_python(p, at, lane->running);
    else add_part(lane, &rest);
  }
  /* Looks that may not see the kernel say nothing of its time, which its own count does. */
  double kernel = lane->n_samples > 0 && !p->sees_kernel ? fmin(lane->system, lane->running) : 0;
  if (kernel > 0) {
    struct live_part part = live_kernel_part();
    part.share = kernel;
    add_part(lane, &part);
  }
  for (size_t i = 0; i < p->n && lane->n_samples > 0; i++) {
    const struct counted *c = &p->items[i];
    if (c->lane != at || c->n[LOOKS_NATIVE] == 0) continue;
    double share = (lane->running - kernel) * (double)c->n[LOOKS_NATIVE] / looks;
    if (live_is_interpreter(c->what)) {
      python += share;
      continue;
    }
    add_kernel(p, lane, c, share);
    python += divide_by_caller(p, at, c, share);
  }
  if (python > 0) divide_python(p, at, python);
  for (size_t i = 0; i < lane->n_parts; i++) {
    struct live_part *part = &lane->parts[i];
    part->inside = part->inside[0] != 0 ? live_symbol_text(&p->live->arena, part->inside) : "";
    part->inside_share = part->share > 0 ? part->inside_share / part->share : 0;
  }
  if (lane->n_parts > 0) qsort(lane->parts, lane->n_parts, sizeof *lane->parts, by_share);
  double outside = lane->running - kernel - python;
  name_callers(p, at, outside);
  for (size_t i = 0; i < lane->n_parts; i++) /* of the others, the Python function says more, where it is known */
    if (!lane->parts[i].attributed) name_caller(p, at, &lane->parts[i]);
  name_caller_of_greatest(p, lane, outside);
  for (size_t i = 0; i < lane->n_parts; i++) name_caller(p, at, &lane->parts[i]);
  name_waits(p, at);
}

/* Each process has its own interpreter's lock: the one that is held most counts, of those that other threads could want. */
static double lock_held(const struct live_profile *p) {
  const struct live_account *at = &p->live->at;
  double most = 0, whole = p->rate[LOOKS_LOCK] * p->window_s[LOOKS_LOCK];
  if (!(whole > 0)) return NAN;
  for (size_t i = 0; i < at->n_lanes; i++) {
    double sum = 0;
    int64_t n_threads = 0;
    for (size_t k = 0; k < at->n_lanes; k++)
      if (at->lanes[k].process == at->lanes[i].process) sum += (double)at->lanes[k].n_lock, n_threads += at->lanes[k].n_threads;
    if (n_threads > 1) most = fmax(most, sum / whole);
  }
  return fmin(most, 1);
}

void live_profile_finish(struct live_profile *p) {
  for (size_t i = 0; i < p->live->at.n_lanes; i++) divide_lane(p, i);
  p->live->lock_held = lock_held(p);
  live_waits_finish(p->waits);
  live_workers_finish(p->workers);
  live_calls_free(p->calls);
  free(p->items);
  free(p->slots);
  free(p->threads);
  free(p);
}
