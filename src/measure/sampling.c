#include "measure/sampling.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

enum { SAMPLERS_MAX = 32, KEPT_MAX = 1 << 16 };
#define LOOK_NS INT64_C(50000000)
#define SAMPLE_NS INT64_C(500000000)
#define SAMPLE_MOST_NS INT64_C(1000000000) /* a window of `diagnose` is 1.5 s: one without a sample tells nothing */

struct kept_value {
  const char *series;
  int64_t at_ns;
  double value;
};

/* What was delivered and is not yet in the record. */
struct kept {
  struct arena arena;
  struct kept_value *values;
  struct thread_name *names;
  struct thread_activity *activities;
  size_t n_values, values_room, n_names, names_room, n_activities, activities_room;
};

struct sampling {
  const struct root *root;
  const struct lynx_clock *clock;
  const struct sampler *samplers[SAMPLERS_MAX];
  void *states[SAMPLERS_MAX];
  size_t n;
  double at_most, n_processors;
  int64_t zero_ns, now_ns;
  int64_t look_every_ns, sample_every_ns;
  pthread_t thread;
  bool running;
  atomic_bool stop;
  pthread_mutex_t lock; /* of kept */
  struct kept kept;
};

struct sampling *sampling_open(const struct root *root, const struct lynx_clock *clock, double at_most) {
  struct sampling *s = xalloc(1, sizeof *s);
  long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
  s->root = root;
  s->clock = clock;
  s->at_most = at_most;
  s->n_processors = n_processors > 0 ? (double)n_processors : 1;
  s->look_every_ns = LOOK_NS;
  s->sample_every_ns = SAMPLE_NS;
  (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail without attributes */
  for (size_t i = 0; samplers_all[i] != NULL && s->n < SAMPLERS_MAX; i++) {
    void *state;
    if (!(at_most > 0) && !samplers_all[i]->always) continue;
    if (samplers_all[i]->open(root, &state)) {
      s->samplers[s->n] = samplers_all[i];
      s->states[s->n++] = state;
    } else samplers_all[i]->close(state);
  }
  return s;
}

/* --- on the sampling thread --- */

static void keep_value(void *context, const char *series, double value) {
  struct sampling *s = context;
  struct kept *k = &s->kept;
  (void)pthread_mutex_lock(&s->lock);
  if (k->n_values < KEPT_MAX) {
    k->values = xroom(k->values, k->n_values, &k->values_room, sizeof *k->values);
    k->values[k->n_values++] = (struct kept_value){arena_copy(&k->arena, series), s->now_ns - s->zero_ns, value};
  }
  (void)pthread_mutex_unlock(&s->lock);
}

static void keep_name(void *context, const struct thread_name *name) {
  struct sampling *s = context;
  struct kept *k = &s->kept;
  (void)pthread_mutex_lock(&s->lock);
  if (k->n_names < KEPT_MAX) {
    k->names = xroom(k->names, k->n_names, &k->names_room, sizeof *k->names);
    struct thread_name *to = &k->names[k->n_names++];
    *to = *name;
    to->program = arena_copy(&k->arena, name->program);
    to->name = arena_copy(&k->arena, name->name);
  }
  (void)pthread_mutex_unlock(&s->lock);
}

static void keep_activity(void *context, const struct thread_activity *activity) {
  struct sampling *s = context;
  struct kept *k = &s->kept;
  (void)pthread_mutex_lock(&s->lock);
  if (k->n_activities < KEPT_MAX) {
    k->activities = xroom(k->activities, k->n_activities, &k->activities_room, sizeof *k->activities);
    k->activities[k->n_activities] = *activity;
    k->activities[k->n_activities++].at_ns -= s->zero_ns;
  }
  (void)pthread_mutex_unlock(&s->lock);
}

static int64_t own_processor_ns(void) {
  struct timespec t;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

static void sample_all(struct sampling *s, int64_t last_ns, int64_t *spent_ns) {
  const struct sampler_sink sink = {s, keep_value, keep_name, keep_activity};
  for (size_t i = 0; i < s->n; i++) s->samplers[i]->sample(s->states[i], s->now_ns, &sink);
  int64_t spent = own_processor_ns(), span_ns = s->now_ns - last_ns;
  if (last_ns == 0 || span_ns <= 0) {
    *spent_ns = spent;
    return;
  }
  double share = (double)(spent - *spent_ns) / ((double)span_ns * s->n_processors);
  *spent_ns = spent;
  keep_value(s, "sampling.cpu_ratio", share);
  bool slower = share > s->at_most && s->at_most > 0 && s->sample_every_ns < SAMPLE_MOST_NS,
       faster = share < s->at_most / 4 && s->sample_every_ns > SAMPLE_NS;
  if (!slower && !faster) return;
  s->look_every_ns = slower ? 2 * s->look_every_ns : s->look_every_ns / 2;
  s->sample_every_ns = slower ? 2 * s->sample_every_ns : s->sample_every_ns / 2;
  keep_value(s, "sampling.every_s", (double)s->sample_every_ns / 1e9);
}

static void *sampling_main(void *context) {
  struct sampling *s = context;
  int64_t last_ns = 0, spent_ns = 0;
  while (!atomic_load(&s->stop)) {
    s->now_ns = clock_now(s->clock);
    if (last_ns == 0 || s->now_ns - last_ns >= s->sample_every_ns) {
      sample_all(s, last_ns, &spent_ns);
      last_ns = s->now_ns;
    } else
      for (size_t i = 0; i < s->n; i++)
        if (s->samplers[i]->look != NULL) s->samplers[i]->look(s->states[i]);
    const struct timespec step = {.tv_nsec = (long)s->look_every_ns};
    (void)nanosleep(&step, NULL);
  }
  s->now_ns = clock_now(s->clock); /* what is left since the last one */
  if (s->now_ns - last_ns > s->look_every_ns) sample_all(s, last_ns, &spent_ns);
  return NULL;
}

/* --- on the caller's --- */

void sampling_begin(struct sampling *s, int64_t zero_ns, int64_t pid) {
  s->zero_ns = zero_ns;
  atomic_store(&s->stop, false);
  for (size_t i = 0; i < s->n; i++)
    if (s->samplers[i]->watch != NULL) s->samplers[i]->watch(s->states[i], pid);
  s->running = pthread_create(&s->thread, NULL, sampling_main, s) == 0;
}

void sampling_take(struct sampling *s, const struct sampling_taker *taker) {
  (void)pthread_mutex_lock(&s->lock);
  struct kept kept = s->kept;
  s->kept = (struct kept){.n_values = 0};
  (void)pthread_mutex_unlock(&s->lock);
  for (size_t i = 0; i < kept.n_values; i++)
    taker->value(taker->context, kept.values[i].at_ns, kept.values[i].series, kept.values[i].value);
  for (size_t i = 0; i < kept.n_names; i++) taker->name(taker->context, &kept.names[i]);
  for (size_t i = 0; i < kept.n_activities; i++) taker->activity(taker->context, &kept.activities[i]);
  free(kept.values);
  free(kept.names);
  free(kept.activities);
  arena_release(&kept.arena);
}

void sampling_end(struct sampling *s) {
  if (!s->running) return;
  atomic_store(&s->stop, true);
  (void)pthread_join(s->thread, NULL);
  s->running = false;
}

void sampling_close(struct sampling *s) {
  if (s == NULL) return;
  sampling_end(s);
  for (size_t i = 0; i < s->n; i++) s->samplers[i]->close(s->states[i]);
  free(s->kept.values);
  free(s->kept.names);
  free(s->kept.activities);
  arena_release(&s->kept.arena);
  (void)pthread_mutex_destroy(&s->lock); /* nobody holds it */
  free(s);
}
