#include "base/side_by_side.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct steps {
  side_by_side_step *step;
  void *context;
  size_t n;
  atomic_size_t next;
};

static void *take_steps(void *context) {
  struct steps *s = context;
  for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n;) s->step(s->context, i);
  return NULL;
}

void side_by_side(size_t n, size_t n_threads, side_by_side_step *step, void *context) {
  pthread_t threads[SIDE_BY_SIDE_MOST];
  struct steps s = {.step = step, .context = context, .n = n};
  size_t started = 0;
  while (started + 1 < n_threads && started + 1 < n && started < SIDE_BY_SIDE_MOST &&
         pthread_create(&threads[started], NULL, take_steps, &s) == 0)
    started++;
  (void)take_steps(&s);
  for (size_t i = 0; i < started; i++) (void)pthread_join(threads[i], NULL);
}

size_t side_by_side_threads(size_t most) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  const size_t n = (size_t)CPU_COUNT(&allowed);
  return n < most ? n : most;
}
