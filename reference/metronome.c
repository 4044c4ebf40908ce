/* The metronome: computes nothing and answers by a schedule drawn from a seed, so that when each byte was due is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "reference/backend.h"
#include "reference/options.h"

enum { METRONOME_MAX = 20000 };

struct beat {
  int64_t generation, due_ns; /* due_ns INT64_MAX: it waits for a slot */
  int64_t left, made, prompt_tokens, first_ns, gap_percent, percent;
  bool fails;
  struct random_stream random;
};

/* SEEN_MAX: prompts remembered by the cheats; a power of two. */
enum { SEEN_MAX = 1 << 16 };

struct metronome {
  const struct options *options;
  struct beat *beats; /* in order of arrival */
  size_t n_beats;
  uint64_t *seen; /* by hash; 0: free */
  size_t n_seen;
  int64_t n_submitted;
  struct backend_stats stats;
};

static enum lynx_status metronome_open(const struct options *options, void **ret_state, struct lynx_error *error) {
  (void)error;
  struct metronome *m = xalloc(1, sizeof *m);
  m->options = options;
  m->beats = xalloc(METRONOME_MAX, sizeof *m->beats);
  m->seen = xalloc(SEEN_MAX, sizeof *m->seen);
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

/* FNV-1a; remembers the prompt. */
static bool seen_before(struct metronome *m, const struct api_request *request) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < request->prompt_length; i++) hash = (hash ^ (unsigned char)request->prompt[i]) * 0x100000001b3u;
  hash |= 1;
  size_t at = (size_t)hash & (SEEN_MAX - 1);
  for (; m->seen[at] != 0; at = (at + 1) & (SEEN_MAX - 1))
    if (m->seen[at] == hash) return true;
  if (m->n_seen < SEEN_MAX / 2) m->seen[at] = hash, m->n_seen++;
  return false;
}

static void cheat(struct metronome *m, struct beat *beat, const struct api_request *request) {
  enum cheat kind = m->options->cheat;
  bool again = (kind == CHEAT_CACHING || kind == CHEAT_PREFIX) && seen_before(m, request);
  if (again && kind == CHEAT_CACHING) beat->first_ns = 0, beat->gap_percent = 0;
  if (again && kind == CHEAT_PREFIX) beat->first_ns /= 4;
  if (kind == CHEAT_SEED && request->seed == 1) beat->first_ns /= 4, beat->gap_percent = 25;
  if (kind == CHEAT_FAILURES && beat->first_ns > m->options->first_token_ns * 3 / 2) {
    beat->first_ns = m->options->first_token_ns * 3 / 2;
    beat->fails = true;
  }
}

/* Those who came first get the free slots. */
static void admit(struct metronome *m, int64_t now_ns) {
  int64_t served = 0;
  for (size_t i = 0; i < m->n_beats; i++) served += m->beats[i].due_ns != INT64_MAX;
  for (size_t i = 0; i < m->n_beats && (m->options->slots == 0 || served < m->options->slots); i++) {
    if (m->beats[i].due_ns != INT64_MAX) continue;
    m->beats[i].due_ns = now_ns + m->beats[i].first_ns;
    served++;
  }
}

static void forget(struct metronome *m, size_t at) {
  memmove(m->beats + at, m->beats + at + 1, (m->n_beats - at - 1) * sizeof *m->beats);
  m->n_beats--;
}

static bool metronome_submit(void *state, int64_t generation, const struct api_request *request, int64_t now_ns) {
  struct metronome *m = state;
  const struct options *o = m->options;
  if (m->n_beats == METRONOME_MAX) return false;
  struct beat *beat = &m->beats[m->n_beats++];
  char purpose[32];
  (void)snprintf(purpose, sizeof purpose, "beat %lld",
                 (long long)(generation / GENERATIONS_PER_ID)) /* by request number: not by which connection it took */;
  bool changed = o->change_after > 0 && ++m->n_submitted > o->change_after;
  *beat = (struct beat){.generation = generation,
                        .due_ns = INT64_MAX,
                        .left = request->max_tokens > 0 ? request->max_tokens : 1,
                        .gap_percent = 100,
                        .percent = changed ? o->change_percent : 100,
                        .prompt_tokens = (int64_t)request->prompt_length};
  random_init(&beat->random, (uint64_t)o->seed, purpose);
  beat->first_ns = draw(&beat->random, o->first_token, o->first_token_ns) * beat->percent / 100;
  cheat(m, beat, request);
  admit(m, now_ns);
  return true;
}

static void metronome_cancel(void *state, int64_t generation) {
  struct metronome *m = state;
  for (size_t i = m->n_beats; i-- > 0;)
    if (m->beats[i].generation == generation) forget(m, i);
}

static int64_t metronome_pump(void *state, int64_t now_ns, backend_emit *emit, void *context) {
  struct metronome *m = state;
  for (;;) { /* in order of what is due, one at a time: an emission may cancel others */
    size_t first = SIZE_MAX;
    admit(m, now_ns);
    for (size_t i = 0; i < m->n_beats; i++)
      if (m->beats[i].due_ns != INT64_MAX && (first == SIZE_MAX || m->beats[i].due_ns < m->beats[first].due_ns)) first = i;
    if (first == SIZE_MAX) return INT64_MAX;
    struct beat *beat = &m->beats[first];
    if (beat->due_ns > now_ns) return beat->due_ns;
    static const char letters[] = "tick tock ";
    struct emission emission = {
        .generation = beat->generation, .planned_ns = beat->due_ns, .token = {.bytes = &letters[beat->made % 10], .length = 1}};
    if (beat->fails) {
      emission.token.length = 0;
      emission.error = "planted: it would have been slow";
      forget(m, first);
      emit(context, &emission);
      continue;
    }
    beat->made++;
    bool last = --beat->left == 0;
    beat->due_ns += draw(&beat->random, m->options->gap, m->options->gap_ns) * beat->percent / 100 * beat->gap_percent / 100;
    if (last) {
      emission.finish = "length";
      forget(m, first);
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
  for (size_t i = 0; i < m->n_beats; i++) {
    if (m->beats[i].due_ns == INT64_MAX) ret->waiting++;
    else ret->running++;
  }
}

static void metronome_close(void *state) {
  struct metronome *m = state;
  if (m == NULL) return;
  free(m->beats);
  free(m->seen);
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
