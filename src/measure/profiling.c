#include "measure/profiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/profiler.h"

enum { PROFILERS_MAX = 16 };

struct profiling {
  struct run *run;
  int64_t session;
  const struct profiler *profilers[PROFILERS_MAX];
  void *states[PROFILERS_MAX];
  size_t n;
};

/* The next word of a list; false: there is no other. */
static bool next_word(const char **at, char *word, size_t size) {
  if (*at == NULL) return false;
  size_t n = strcspn(*at, ",");
  (void)snprintf(word, size, "%.*s", (int)(n < size ? n : size - 1), *at);
  *at = (*at)[n] == ',' ? *at + n + 1 : NULL;
  return true;
}

const char *profiling_unknown(const char *names, char *word, size_t size) {
  if (strcmp(names, "none") == 0) return NULL;
  while (next_word(&names, word, size)) {
    size_t i = 0;
    while (profilers_all[i] != NULL && strcmp(profilers_all[i]->name, word) != 0) i++;
    if (profilers_all[i] == NULL) return word;
  }
  return NULL;
}

const char *profiling_names(char *text, size_t size) {
  text[0] = 0;
  for (size_t i = 0, n = 0; profilers_all[i] != NULL && n < size; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%s", i > 0 ? ", " : "", profilers_all[i]->name);
  return text;
}

static bool is_wanted(const char *names, const char *name) {
  char word[64];
  bool wanted = names == NULL;
  while (!wanted && next_word(&names, word, sizeof word)) wanted = strcmp(word, name) == 0;
  return wanted;
}

struct profiling *profiling_begin(struct run *run, int64_t session, int64_t pid, int64_t duration_ns) {
  const struct profiler_request request = {
      .root = run->request->root, .pid = pid, .duration_ns = duration_ns, .py_spy = run->request->profilers.py_spy};
  struct profiling *p = xalloc(1, sizeof *p);
  char why[1024];
  p->run = run;
  p->session = session;
  for (size_t i = 0; profilers_all[i] != NULL && p->n < PROFILERS_MAX && pid > 0; i++) {
    why[0] = 0;
    if (!is_wanted(run->request->profilers.names, profilers_all[i]->name)) {
      (void)snprintf(why, sizeof why, "%s: --profilers leaves this profiler out", profilers_all[i]->summary);
      run_put_event(run, EVENT_UNSEEN, why);
      continue;
    }
    if (profilers_all[i]->begin(&request, &p->states[p->n], why, sizeof why)) p->profilers[p->n++] = profilers_all[i];
    else if (why[0] != 0) run_put_event(run, EVENT_UNSEEN, why);
  }
  if (pid <= 0) run_put_event(run, EVENT_UNSEEN, "the serving process: it is not on this machine, or not visible to this user");
  return p;
}

static void keep_stack(void *context, const char *source, int64_t process, int64_t thread, const char *frames, int64_t n) {
  const struct profiling *p = context;
  const struct bundle_stack stack = {p->session, source, process, thread, frames, n};
  bundle_put_stack(p->run->bundle, &stack);
}

static void keep_value(void *context, const char *series, double value) {
  const struct profiling *p = context;
  bundle_put_sample(p->run->bundle, p->session, 0, series, value);
}

static void keep_note(void *context, const char *text) {
  const struct profiling *p = context;
  run_put_event(p->run, EVENT_UNSEEN, text);
}

void profiling_end(struct profiling *p) {
  if (p == NULL) return;
  const struct profiler_sink sink = {p, keep_stack, keep_value, keep_note};
  for (size_t i = 0; i < p->n; i++) p->profilers[i]->end(p->states[i], &sink);
  free(p);
}
