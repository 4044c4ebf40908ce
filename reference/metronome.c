/* The metronome: computes nothing and answers by a schedule drawn from a seed, so that when each byte was due is known. */
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "reference/backend.h"
#include "reference/options.h"

enum { METRONOME_MAX = 20000 };

struct beat {
  int64_t generation, due_ns;
  int64_t left, made, prompt_tokens;
  struct random_stream random;
};

struct metronome {
  const struct options *options;
  struct beat *beats;
  size_t n_beats;
  struct backend_stats stats;
};

static enum lynx_status metronome_open(const struct options *options, void **ret_state, struct lynx_error *error) {
  (void)error;
  struct metronome *m = xalloc(1, sizeof *m);
  m->options = options;
  m->beats = xalloc(METRONOME_MAX, sizeof *m->beats);
  *ret_state = m;
  return LYNX_OK;
}

static void metronome_describe(void *state, struct buffer *json_members) {
  (void)state;
  (void)buffer_text(json_members,
                    "\"requested\":\"none\",\"executed\":\"none\",\"status\":\"metronome\",\"primitive\":\"none: nothing is computed\"");
}

static int64_t draw(struct random_stream *random, enum distribution kind, int64_t mean_ns) {
  return kind == DISTRIBUTION_EXPONENTIAL ? random_exponential_ns(random, mean_ns) : mean_ns;
}

static bool metronome_submit(void *state, int64_t generation, const struct api_request *request, int64_t now_ns) {
  struct metronome *m = state;
  if (m->n_beats == METRONOME_MAX) return false;
  struct beat *beat = &m->beats[m->n_beats++];
  char purpose[32];
  (void)snprintf(purpose, sizeof purpose, "beat %lld",
                 (long long)(generation / GENERATIONS_PER_ID)) /* by request number: not by which connection it took */;
  *beat = (struct beat){.generation = generation,
                        .left = request->max_tokens > 0 ? request->max_tokens : 1,
                        .prompt_tokens = (int64_t)request->prompt_length};
  random_init(&beat->random, (uint64_t)m->options->seed, purpose);
  beat->due_ns = now_ns + draw(&beat->random, m->options->first_token, m->options->first_token_ns);
  return true;
}

static void metronome_cancel(void *state, int64_t generation) {
  struct metronome *m = state;
  for (size_t i = 0; i < m->n_beats; i++)
    if (m->beats[i].generation == generation) m->beats[i] = m->beats[--m->n_beats];
}

static int64_t metronome_pump(void *state, int64_t now_ns, backend_emit *emit, void *context) {
  struct metronome *m = state;
  for (;;) { /* in order of what is due, one at a time: an emission may cancel others */
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < m->n_beats; i++)
      if (first == SIZE_MAX || m->beats[i].due_ns < m->beats[first].due_ns) first = i;
    if (first == SIZE_MAX) return INT64_MAX;
    struct beat *beat = &m->beats[first];
    if (beat->due_ns > now_ns) return beat->due_ns;
    static const char letters[] = "tick tock ";
    struct emission emission = {
        .generation = beat->generation, .planned_ns = beat->due_ns, .token = {.bytes = &letters[beat->made % 10], .length = 1}};
    beat->made++;
    bool last = --beat->left == 0;
    beat->due_ns += draw(&beat->random, m->options->gap, m->options->gap_ns);
    if (last) {
      emission.finish = "length";
      *beat = m->beats[--m->n_beats];
      m->stats.n_finished++;
    }
    emit(context, &emission);
  }
}

static int metronome_descriptor(void *state) {
  (void)state;
  return -1;
}

static void metronome_stats(void *state, struct backend_stats *ret) {
  const struct metronome *m = state;
  *ret = m->stats;
  ret->running = (int64_t)m->n_beats;
}

static void metronome_close(void *state) {
  struct metronome *m = state;
  if (m == NULL) return;
  free(m->beats);
  free(m);
}

const struct backend backend_metronome = {
    .name = "metronome",
    .open = metronome_open,
    .describe = metronome_describe,
    .submit = metronome_submit,
    .cancel = metronome_cancel,
    .pump = metronome_pump,
    .descriptor = metronome_descriptor,
    .stats = metronome_stats,
    .close = metronome_close,
};
