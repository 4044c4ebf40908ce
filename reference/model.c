/* The model backend: continuous batching on one worker thread. Every step takes one row of each sequence that is decoding and
 * fills what room is left with prompts, in order of arrival; a sequence joins as soon as a slot is free. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "base/root.h"
#include "reference/backend.h"
#include "reference/options.h"
#include "reference/transformer.h"

struct sequence {
  int64_t generation; /* 0: free */
  bool cancelled, ignore_eos, echo, logprobs;
  uint8_t *prompt;     /* byte 0, then the prompt */
  int n_prompt, n_fed; /* tokens given to the model so far */
  int next_token;      /* to be fed once the prompt is through */
  int64_t left, made;
  double temperature;
  struct random_stream random;
  int64_t arrived_ns, begun_ns, first_ns;
};

struct queued_emission {
  struct emission emission;
  char byte;
};

struct model {
  const struct options *options;
  struct transformer_shape shape;
  struct transformer *transformer;
  enum precision precision;
  struct tensor_file weights;
  int n_slots;
  struct sequence *slots;   /* the worker's */
  struct sequence *waiting; /* a ring, under the lock, like all that follows */
  int n_waiting, first_waiting;
  int64_t cancelled[256];
  int n_cancelled;
  struct queued_emission *out;
  size_t n_out, room_out;
  struct backend_stats stats;
  bool stop;
  pthread_mutex_t lock;
  pthread_cond_t work;
  pthread_t thread;
  bool thread_runs;
  int wake; /* eventfd: emissions wait */
  int file; /* the weights, kept open: who looks at the process sees which model it serves */
};

/* oneDNN brings its OpenMP runtime along, whichever that is: it is asked by name, so that building needs none. */
static void set_threads(int n) {
  void (*set)(int) = NULL;
  *(void **)&set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
  if (set != NULL) set(n);
}

/* --- worker --- */

static void put(struct model *m, const struct emission *emission, int token) {
  if (m->n_out == m->room_out) {
    m->room_out = m->room_out == 0 ? 256 : 2 * m->room_out;
    m->out = xgrow(m->out, m->room_out, sizeof *m->out);
  }
  m->out[m->n_out++] = (struct queued_emission){.emission = *emission, .byte = (char)token};
}

static double log_probability(const float *logits, int n, int token) {
  double largest = logits[0], sum = 0;
  for (int i = 1; i < n; i++) largest = logits[i] > largest ? logits[i] : largest;
  for (int i = 0; i < n; i++) sum += exp(logits[i] - largest);
  // cppcheck-suppress invalidFunctionArg ; n >= 1, so that the sum is at least 1
  return logits[token] - largest - log(sum);
}

static int choose(struct sequence *s, const float *logits, int n) {
  int first = s->ignore_eos ? 1 : 0, best = first; /* byte 0 ends a text */
  for (int i = first; i < n; i++)
    if (logits[i] > logits[best]) best = i;
  if (s->temperature <= 0) return best;
  double sum = 0;
  for (int i = first; i < n; i++) sum += exp((logits[i] - logits[best]) / s->temperature);
  double left = (double)(random_next(&s->random) >> 11) / 9007199254740992.0 * sum;
  for (int i = first; i < n; i++)
    if ((left -= exp((logits[i] - logits[best]) / s->temperature)) <= 0) return i;
  return best;
}

static void finish(struct model *m, struct sequence *s, int64_t now_ns) {
  m->stats.n_finished++;
  m->stats.queue_seconds += (double)(s->begun_ns - s->arrived_ns) / 1e9;
  m->stats.prefill_seconds += (double)(s->first_ns - s->begun_ns) / 1e9;
  m->stats.decode_seconds += (double)(now_ns - s->first_ns) / 1e9;
  free(s->prompt);
  *s = (struct sequence){0};
}

/* Takes cancellations and waiting requests into slots. Under the lock. */
static int admit(struct model *m) {
  int running = 0;
  for (int i = 0; i < m->n_waiting; i++) {
    struct sequence *w = &m->waiting[(m->first_waiting + i) % m->options->queue];
    for (int k = 0; k < m->n_cancelled; k++) w->cancelled = w->cancelled || w->generation == m->cancelled[k];
  }
  for (int i = 0; i < m->n_slots; i++) {
    struct sequence *s = &m->slots[i];
    bool cancelled = false;
    for (int k = 0; k < m->n_cancelled; k++) cancelled = cancelled || s->generation == m->cancelled[k];
    if (cancelled) {
      free(s->prompt);
      *s = (struct sequence){0};
    }
    while (s->generation == 0 && m->n_waiting > 0) {
      struct sequence *w = &m->waiting[m->first_waiting], taken = *w;
      *w = (struct sequence){0};
      m->first_waiting = (m->first_waiting + 1) % m->options->queue;
      m->n_waiting--;
      if (taken.cancelled) free(taken.prompt);
      else {
        *s = taken;
        s->begun_ns = clock_now(&clock_system);
      }
    }
    running += s->generation != 0;
  }
  m->n_cancelled = 0;
  m->stats.running = running;
  m->stats.waiting = m->n_waiting;
  return running;
}

struct plan {
  struct transformer_row rows[MATMUL_ROWS_MAX];
  int owner[MATMUL_ROWS_MAX];
  int n_rows;
};

static void add_row(struct plan *plan, const struct sequence *s, int slot, int token, bool wants_logits, int ahead) {
  plan->rows[plan->n_rows] = (struct transformer_row){
      .sequence = slot, .position = s->n_fed + ahead, .token = token, .wants_logits = wants_logits};
  plan->owner[plan->n_rows++] = slot;
}

static void make_plan(const struct model *m, struct plan *plan) {
  plan->n_rows = 0;
  for (int i = 0; i < m->n_slots; i++)
    if (m->slots[i].generation != 0 && m->slots[i].n_fed >= m->slots[i].n_prompt)
      add_row(plan, &m->slots[i], i, m->slots[i].next_token, true, 0);
  for (;;) { /* prompts, the oldest first */
    int oldest = -1;
    for (int i = 0; i < m->n_slots; i++) {
      const struct sequence *s = &m->slots[i];
      bool planned = false;
      for (int r = 0; r < plan->n_rows; r++) planned = planned || plan->owner[r] == i;
      if (s->generation != 0 && s->n_fed < s->n_prompt && !planned && (oldest < 0 || s->arrived_ns < m->slots[oldest].arrived_ns))
        oldest = i;
    }
    if (oldest < 0 || plan->n_rows == MATMUL_ROWS_MAX) return;
    const struct sequence *s = &m->slots[oldest];
    for (int k = 0; s->n_fed + k < s->n_prompt && plan->n_rows < MATMUL_ROWS_MAX; k++) {
      bool last = s->n_fed + k == s->n_prompt - 1;
      add_row(plan, s, oldest, s->prompt[s->n_fed + k], last || (s->echo && s->logprobs), k);
    }
  }
}

/* What a row's logits mean for its sequence. Under the lock. */
static void take_logits(struct model *m, const struct transformer_row *row, const float *logits, int64_t now_ns) {
  struct sequence *s = &m->slots[row->sequence];
  int position = row->position, vocab = m->shape.vocab;
  struct emission emission = {.generation = s->generation, .planned_ns = now_ns, .token = {.length = 1}};
  if (position < s->n_prompt - 1) { /* echo: how likely was the prompt's next byte? */
    emission.is_prompt = emission.token.has_logprob = true;
    emission.token.logprob = log_probability(logits, vocab, s->prompt[position + 1]);
    put(m, &emission, s->prompt[position + 1]);
    return;
  }
  int token = choose(s, logits, vocab);
  if (s->made == 0) s->first_ns = now_ns;
  bool ends = token == 0;
  if (ends) emission.token.length = 0;
  if (s->logprobs) emission.token.logprob = log_probability(logits, vocab, token);
  emission.token.has_logprob = s->logprobs;
  s->next_token = token;
  s->made++;
  s->left--;
  emission.finish = ends ? "stop" : s->left <= 0 ? "length" : NULL;
  put(m, &emission, token);
  if (emission.finish != NULL) finish(m, s, now_ns);
}

static void step(struct model *m, const struct plan *plan, float *logits) {
  transformer_step(m->transformer, plan->rows, plan->n_rows, logits);
  if (m->options->slow_ns > 0) {
    struct timespec wait = {.tv_sec = m->options->slow_ns / 1000000000, .tv_nsec = m->options->slow_ns % 1000000000};
    (void)nanosleep(&wait, NULL);
  }
  int64_t now_ns = clock_now(&clock_system);
  (void)pthread_mutex_lock(&m->lock); /* an initialised mutex does not fail, here and below */
  m->stats.steps++;
  m->stats.step_rows += plan->n_rows;
  for (int r = 0; r < plan->n_rows; r++)
    if (plan->rows[r].position >= m->slots[plan->owner[r]].n_fed) m->slots[plan->owner[r]].n_fed = plan->rows[r].position + 1;
  for (int r = 0, k = 0; r < plan->n_rows; r++)
    if (plan->rows[r].wants_logits) take_logits(m, &plan->rows[r], logits + (size_t)k++ * (size_t)m->shape.vocab, now_ns);
  (void)pthread_mutex_unlock(&m->lock);
  uint64_t one = 1;
  ssize_t written = write(m->wake, &one, sizeof one);
  (void)written; /* the counter can only be full, and then the server is awake anyway */
}

static void *work(void *context) {
  struct model *m = context;
  float *logits = xalloc((size_t)MATMUL_ROWS_MAX * (size_t)m->shape.vocab, sizeof *logits);
  struct plan plan;
  set_threads(m->options->threads); /* of this thread's products */
  for (;;) {
    (void)pthread_mutex_lock(&m->lock);
    while (!m->stop && admit(m) == 0) (void)pthread_cond_wait(&m->work, &m->lock);
    bool stop = m->stop;
    (void)pthread_mutex_unlock(&m->lock);
    if (stop) break;
    make_plan(m, &plan);
    step(m, &plan, logits);
  }
  free(logits);
  return NULL;
}

/* --- the backend --- */

static void model_close(void *state) {
  struct model *m = state;
  if (m == NULL) return;
  if (m->thread_runs) {
    (void)pthread_mutex_lock(&m->lock);
    m->stop = true;
    (void)pthread_cond_signal(&m->work);
    (void)pthread_mutex_unlock(&m->lock);
    (void)pthread_join(m->thread, NULL);
  }
  for (int i = 0; m->slots != NULL && i < m->n_slots; i++) free(m->slots[i].prompt);
  for (int i = 0; i < m->n_waiting; i++) free(m->waiting[(m->first_waiting + i) % m->options->queue].prompt);
  transformer_close(m->transformer);
  tensor_file_release(&m->weights);
  if (m->wake >= 0) (void)close(m->wake);
  if (m->file >= 0) (void)close(m->file);
  (void)pthread_mutex_destroy(&m->lock);
  (void)pthread_cond_destroy(&m->work);
  free(m->slots);
  free(m->waiting);
  free(m->out);
  free(m);
}

/* Given, else beside the program's build folder, else where it was installed. */
static enum lynx_status find_weights(struct model *m, struct buffer *data, struct lynx_error *error) {
  const struct root root = {""};
  if (m->options->weights != NULL) {
    m->file = open(m->options->weights, O_RDONLY | O_CLOEXEC);
    return root_read(&root, m->options->weights, data, error);
  }
  char exe[1024], path[1200];
  static const char *const places[] = {"../reference/model/byte.safetensors", "../share/lynxbench/byte.safetensors"};
  if (root_read_link(&root, "/proc/self/exe", exe, sizeof exe) && strrchr(exe, '/') != NULL) {
    *strrchr(exe, '/') = 0;
    for (size_t i = 0; i < LYNX_COUNT(places); i++) {
      (void)snprintf(path, sizeof path, "%s/%s", exe, places[i]);
      if (root_read(&root, path, data, NULL) == LYNX_OK) {
        m->file = open(path, O_RDONLY | O_CLOEXEC);
        return LYNX_OK;
      }
      buffer_clear(data);
    }
  }
  return lynx_fail(error, LYNX_NOT_FOUND, "byte.safetensors is neither in the source tree nor installed; name it with --weights");
}

static enum lynx_status load(struct model *m, struct lynx_error *error) {
  lynx_assert(precision_parse(m->options->precision, &m->precision)); /* the command line was checked */
  if (transformer_named_shape(m->options->shape, &m->shape))
    return transformer_create(&m->shape, NULL, (uint64_t)m->options->seed, m->precision, m->n_slots, &m->transformer, error);
  struct buffer data;
  buffer_init(&data, 1 << 30);
  enum lynx_status status = find_weights(m, &data, error);
  if (status == LYNX_OK) status = tensor_file_parse(data.data, data.length, &m->weights, error);
  if (status == LYNX_OK) status = transformer_file_shape(&m->weights, &m->shape, error);
  if (status == LYNX_OK) status = transformer_create(&m->shape, &m->weights, 0, m->precision, m->n_slots, &m->transformer, error);
  buffer_release(&data);
  return status;
}

static enum lynx_status model_open(const struct options *options, void **ret_state, struct lynx_error *error) {
  struct model *m = xalloc(1, sizeof *m);
  *m = (struct model){.options = options, .n_slots = options->max_batch, .wake = -1, .file = -1};
  (void)pthread_mutex_init(&m->lock, NULL);
  (void)pthread_cond_init(&m->work, NULL);
  m->slots = xalloc((size_t)m->n_slots, sizeof *m->slots);
  m->waiting = xalloc((size_t)options->queue, sizeof *m->waiting);
  set_threads(options->threads);
  enum lynx_status status = load(m, error);
  if (status == LYNX_UNSUPPORTED) (void)fprintf(stderr, "lynxbench-ref: precision %s is unavailable on this CPU\n", options->precision);
  if (status == LYNX_OK) {
    transformer_warm_up(m->transformer);
    m->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    m->thread_runs = m->wake >= 0 && pthread_create(&m->thread, NULL, work, m) == 0;
    if (!m->thread_runs) status = lynx_fail(error, LYNX_IO, "no worker thread: %s", strerror(errno));
  }
  if (status != LYNX_OK) {
    model_close(m);
    return status;
  }
  *ret_state = m;
  return LYNX_OK;
}

static void model_describe(void *state, struct buffer *json_members) {
  const struct model *m = state;
  const char *primitive = transformer_primitive(m->transformer);
  (void)buffer_printf(json_members,
                      "\"requested\":\"%s\",\"executed\":\"%s\",\"status\":\"%s\",\"primitive\":\"%s\",\"library\":\"oneDNN "
                      "%s\",\"weight_bits\":%d,\"max_batch\":%d,\"threads\":%d,\"context\":%d",
                      precision_text(m->precision), precision_text(m->precision), primitive_status(m->precision, primitive), primitive,
                      onednn_version(), transformer_weight_bits(m->transformer), m->n_slots, m->options->threads, m->shape.context);
}

static bool model_submit(void *state, int64_t generation, const struct api_request *request, int64_t now_ns) {
  struct model *m = state;
  int64_t wanted = (int64_t)request->prompt_length + 1 + request->max_tokens;
  (void)pthread_mutex_lock(&m->lock);
  bool room = m->n_waiting < m->options->queue;
  if (wanted > m->shape.context) {
    struct emission emission = {.generation = generation, .error = "prompt and max_tokens together are longer than the model's context"};
    put(m, &emission, 0);
    uint64_t one = 1;
    ssize_t written = write(m->wake, &one, sizeof one);
    (void)written;
    room = true;
  } else if (room) {
    struct sequence *s = &m->waiting[(m->first_waiting + m->n_waiting++) % m->options->queue];
    *s = (struct sequence){.generation = generation,
                           .ignore_eos = request->ignore_eos,
                           .echo = request->echo,
                           .logprobs = request->logprobs,
                           .n_prompt = (int)request->prompt_length + 1,
                           .left = request->max_tokens > 0 ? request->max_tokens : 1,
                           .temperature = request->temperature,
                           .arrived_ns = now_ns};
    s->prompt = xalloc((size_t)s->n_prompt, 1);
    memcpy(s->prompt + 1, request->prompt, request->prompt_length);
    random_init(&s->random, (uint64_t)request->seed, "sampling");
    (void)pthread_cond_signal(&m->work);
  }
  (void)pthread_mutex_unlock(&m->lock);
  return room;
}

static void model_cancel(void *state, int64_t generation) {
  struct model *m = state;
  (void)pthread_mutex_lock(&m->lock);
  if (m->n_cancelled < (int)LYNX_COUNT(m->cancelled)) m->cancelled[m->n_cancelled++] = generation; /* else it runs to its end, unheard */
  (void)pthread_mutex_unlock(&m->lock);
}

static int64_t model_pump(void *state, int64_t now_ns, backend_emit *emit, void *context) {
  (void)now_ns;
  struct model *m = state;
  uint64_t count;
  ssize_t got = read(m->wake, &count, sizeof count);
  (void)got; /* nothing waiting is no error */
  (void)pthread_mutex_lock(&m->lock);
  struct queued_emission *out = m->out;
  size_t n = m->n_out;
  m->out = NULL;
  m->n_out = m->room_out = 0;
  (void)pthread_mutex_unlock(&m->lock);
  for (size_t i = 0; i < n; i++) {
    out[i].emission.token.bytes = &out[i].byte;
    emit(context, &out[i].emission);
  }
  free(out);
  return INT64_MAX;
}

static int model_descriptor(void *state) {
  return ((struct model *)state)->wake;
}

static void model_stats(void *state, struct backend_stats *ret) {
  struct model *m = state;
  (void)pthread_mutex_lock(&m->lock);
  *ret = m->stats;
  (void)pthread_mutex_unlock(&m->lock);
}

const struct backend backend_model = {
    .name = "model",
    .open = model_open,
    .describe = model_describe,
    .submit = model_submit,
    .cancel = model_cancel,
    .pump = model_pump,
    .descriptor = model_descriptor,
    .stats = model_stats,
    .close = model_close,
};
