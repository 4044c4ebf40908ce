#include "attribute/live_workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "executor/layer_map.h"

enum { PROCESSES_MAX = 64, PATH_MOST = 8, PATH_LEAST = 2 };

#define WORKS 0.2    /* of a processor */
#define IDLE_OF 0.05 /* of what the busiest of them runs */
#define STARTED_THEM 0.005

struct worker {
  int64_t process;
  const char *path[PATH_MOST]; /* "run (/srv/shard.py)" */
  size_t n;
};

struct live_workers {
  struct live *live;
  struct worker items[PROCESSES_MAX];
  size_t n;
};

struct live_workers *live_workers_new(struct live *live) {
  struct live_workers *w = xalloc(1, sizeof *w);
  w->live = live;
  return w;
}

/* "run (/srv/shard.py:66)" without the line, where the file is not the standard library's; else "". */
static const char *own_function(struct arena *arena, const char *frame, size_t length) {
  enum layer unused;
  const char *text = arena_text(arena, frame, length);
  char *open = strrchr(text, '('), *colon = open != NULL ? strrchr(open, ':') : NULL;
  if (colon == NULL || open == text) return "";
  *colon = 0;
  if (layer_of_python_file(open + 1, &unused) == PYTHON_FILE_STANDARD) return "";
  return arena_printf(arena, "%s)", text);
}

/* multiprocessing begins what it forked there: who forked it is before it, and says nothing of it. */
static const char forked[] = "BaseProcess._bootstrap (";

/* "worker.<locals>.take" is a part of worker. */
static bool is_within(const char *own, const char *before) {
  const char *name_end = strstr(own, ".<locals>.");
  size_t n = name_end != NULL ? (size_t)(name_end - own) : 0;
  return n > 0 && strncmp(before, own, n) == 0 && strncmp(before + n, " (", 2) == 0;
}

static size_t path_of(struct arena *arena, const char *frames, const char *ret[PATH_MOST]) {
  size_t n = 0;
  for (const char *at = frames; *at != 0 && n < PATH_MOST; at += *at == ';') {
    size_t length = strcspn(at, ";");
    const char *own = own_function(arena, at, length);
    if (strncmp(at, forked, sizeof forked - 1) == 0) {
      n = 0;
      own = forked;
    }
    if (own[0] != 0 && !(n > 0 && is_within(own, ret[n - 1]))) ret[n++] = own;
    at += length;
  }
  return n;
}

void live_workers_add(struct live_workers *w, int64_t process, const char *frames) {
  const char *path[PATH_MOST];
  size_t n = path_of(&w->live->arena, frames, path), i = 0, same = 0;
  while (i < w->n && w->items[i].process != process) i++;
  if (i == PROCESSES_MAX) return;
  struct worker *worker = &w->items[i];
  if (i == w->n) {
    w->n++;
    *worker = (struct worker){.process = process, .n = n};
    memcpy(worker->path, path, sizeof path);
    return;
  }
  while (same < n && same < worker->n && strcmp(path[same], worker->path[same]) == 0) same++;
  worker->n = same;
}

static bool are_alike(const struct worker *a, const struct worker *b) {
  size_t n = a->n < b->n ? a->n : b->n;
  for (size_t i = 0; i < n; i++)
    if (strcmp(a->path[i], b->path[i]) != 0) return false;
  return n >= PATH_LEAST;
}

static double running_of(const struct live_account *account, int64_t process, const char **ret_program) {
  double sum = 0;
  for (size_t i = 0; i < account->n_lanes; i++) {
    if (account->lanes[i].process != process) continue;
    sum += account->lanes[i].running;
    *ret_program = account->lanes[i].program;
  }
  return sum;
}

/* Of those like the one that runs most. */
static void compare(const struct live_workers *w, const struct live_account *account, struct live_alike *ret) {
  const struct worker *busiest = NULL;
  double most = 0;
  const char *program = "", *other;
  for (size_t i = 0; i < w->n; i++) {
    double running = running_of(account, w->items[i].process, &program);
    if (w->items[i].n >= PATH_LEAST && running > most) most = running, busiest = &w->items[i];
  }
  if (busiest == NULL || most < WORKS) return;
  (void)running_of(account, busiest->process, &program);
  *ret = (struct live_alike){.program = program,
                             .where = live_words(&w->live->arena, busiest->path[PATH_LEAST - 1]),
                             .process = busiest->process,
                             .busiest = most,
                             .concurrency = account->concurrency};
  int64_t first = busiest->process;
  for (size_t i = 0; i < w->n; i++)
    if (are_alike(busiest, &w->items[i]) && w->items[i].process < first) first = w->items[i].process;
  for (size_t i = 0; i < w->n; i++) {
    double running = running_of(account, w->items[i].process, &other);
    if (!are_alike(busiest, &w->items[i])) continue;
    if (w->items[i].process == first && running < STARTED_THEM) continue; /* who forked them waits for their ends, and serves nobody */
    ret->n++;
    ret->n_idle += running <= IDLE_OF * most;
    if (running <= IDLE_OF * most) ret->idle = fmax(ret->idle, running);
  }
}

void live_workers_finish(struct live_workers *w) {
  const struct live *live = w->live;
  compare(w, live->beyond.n_lanes > 0 ? &live->beyond : &live->at, &w->live->workers);
  free(w);
}
