/* What each sampler costs: processor time of one sample of a serving process, the mean of many. usage: samplers PID */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "telemetry/sampler.h"

enum { SAMPLES = 100 };
#define STEP_NS INT64_C(1000000000) /* by the clock that is handed in: what is done every second sample is done at each */

static void take_value(void *context, const char *series, double value) {
  int *n = context;
  (void)series;
  (void)value;
  (*n)++;
}

static void take_name(void *context, const struct thread_name *name) {
  (void)context;
  (void)name;
}

static void take_activity(void *context, const struct thread_activity *activity) {
  (void)context;
  (void)activity;
}

static double processor_ms(void) {
  struct timespec t;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 : 0;
}

int main(int argc, char **argv) {
  static const struct root root = {""};
  double all = 0;
  if (argc != 2) return 2;
  for (size_t i = 0; samplers_all[i] != NULL; i++) {
    const struct sampler *s = samplers_all[i];
    void *state;
    int n = 0;
    const struct sampler_sink sink = {&n, take_value, take_name, take_activity};
    if (!s->open(&root, &state)) {
      (void)printf("%-14s cannot run here\n", s->name);
      s->close(state);
      continue;
    }
    if (s->watch != NULL) s->watch(state, strtol(argv[1], NULL, 10));
    double begun = processor_ms();
    for (int k = 1; k <= SAMPLES; k++) s->sample(state, k * STEP_NS, &sink);
    double took = (processor_ms() - begun) / SAMPLES;
    all += took;
    (void)printf("%-14s %.3f ms a sample, %.1f values\n", s->name, took, (double)n / SAMPLES);
    s->close(state);
  }
  (void)printf("%-14s %.3f ms; twice a second that is %.3f %% of one processor\n", "all", all, all * 2 / 10);
  return 0;
}
