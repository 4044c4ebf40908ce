#include "attribute/host_names.h"

#include <stdlib.h>
#include <string.h>

#include "executor/layer_map.h"

enum { THREADS_MAX = 64, DEPTH_MAX = 512, PATH_MAX_LENGTH = 1024, SLOTS_LEAST = 256 };

static const int64_t work_most = INT64_C(4000000000); /* entries of stacks that are looked at: some seconds */

/* What a name is, told once: by the file that it lies in. */
enum origin { ORIGIN_UNREAD, ORIGIN_STANDARD, ORIGIN_UNKNOWN, ORIGIN_LAYER /* + the layer */ };

struct thread_stack {
  uint32_t spans[DEPTH_MAX]; /* the open ones, outermost first */
  size_t n;
};

struct host_naming {
  const struct timeline *timeline;
  size_t next;        /* the first span that has not been opened yet */
  uint8_t *thread_of; /* of each track: index of its stack + 1; 0: it says nothing */
  struct thread_stack *stacks;
  size_t n_stacks;
  uint8_t *origins;        /* of each name */
  struct host_name *slots; /* by state and name; ns 0: free */
  size_t n_slots, used;
  int64_t work; /* entries looked at so far */
};

struct host_naming *host_names_new(const struct timeline *t, int64_t device) {
  if (t->n_kind[TRACE_PYTHON] + t->n_kind[TRACE_ANNOTATION] + t->n_kind[TRACE_OTHER] == 0) return NULL;
  struct host_naming *h = xalloc(1, sizeof *h);
  h->timeline = t;
  h->thread_of = xalloc(t->n_tracks + 1, 1);
  for (size_t i = 0; i < t->n_tracks && h->n_stacks < THREADS_MAX; i++)
    if (!t->tracks[i].on_device && account_thread_speaks(t, device, &t->tracks[i])) h->thread_of[i] = (uint8_t)++h->n_stacks;
  h->stacks = xalloc(h->n_stacks + 1, sizeof *h->stacks);
  h->origins = xalloc(t->n_names + 1, 1);
  h->n_slots = SLOTS_LEAST;
  h->slots = xalloc(h->n_slots, sizeof *h->slots);
  return h;
}

/* --- names --- */

/* "vllm/v1/worker/gpu_model_runner.py(1968): execute_model": how PyTorch writes a Python function. Ranges have no file: by the words that
 * servers and frameworks begin their own with; what else PyTorch's program named is the application's; of what another program writes, or
 * in a category that is not known, nobody knows whose it is. */
static enum origin origin_of(const struct span_name *name) {
  char path[PATH_MAX_LENGTH];
  enum layer layer;
  if (name->kind != TRACE_PYTHON && layer_of_range(name->text, name->length, &layer)) return (enum origin)(ORIGIN_LAYER + (int)layer);
  if (name->kind != TRACE_PYTHON) return name->kind == TRACE_ANNOTATION ? (enum origin)(ORIGIN_LAYER + LAYER_APPLICATION) : ORIGIN_UNKNOWN;
  const char *end = memchr(name->text, '(', name->length);
  size_t n = end != NULL ? (size_t)(end - name->text) : 0;
  if (n == 0 || n >= sizeof path || name->text[0] == '<') return ORIGIN_STANDARD; /* built in, or a module's name */
  memcpy(path, name->text, n);
  path[n] = 0;
  if (strstr(path, ".py") == NULL) return ORIGIN_STANDARD;
  switch (layer_of_python_file(path, &layer)) {
    case PYTHON_FILE_KNOWN: return (enum origin)(ORIGIN_LAYER + (int)layer);
    case PYTHON_FILE_STANDARD: return ORIGIN_STANDARD;
    default: return ORIGIN_UNKNOWN;
  }
}

static enum origin origin(struct host_naming *h, uint32_t name) {
  if (h->origins[name] == ORIGIN_UNREAD) h->origins[name] = (uint8_t)origin_of(&h->timeline->names[name]);
  return (enum origin)h->origins[name];
}

/* --- the stacks --- */

static int64_t end_of(const struct span *span) {
  return sum_ns(span->start_ns, span->duration_ns);
}

static void close_ended(const struct timeline *t, struct thread_stack *stack, int64_t now_ns) {
  while (stack->n > 0 && end_of(&t->spans[stack->spans[stack->n - 1]]) <= now_ns) stack->n--;
}

/* Those below the top too. */
static void drop_ended(const struct timeline *t, struct thread_stack *stack, int64_t now_ns) {
  size_t kept = 0;
  for (size_t i = 0; i < stack->n; i++)
    if (end_of(&t->spans[stack->spans[i]]) > now_ns) stack->spans[kept++] = stack->spans[i];
  stack->n = kept;
}

static bool names_something(const struct span *span) {
  if (span->flags & SPAN_LIFE) return false;
  return span->kind == TRACE_PYTHON || span->kind == TRACE_ANNOTATION || span->kind == TRACE_OTHER;
}

static void open_until(struct host_naming *h, int64_t now_ns) {
  const struct timeline *t = h->timeline;
  for (; h->next < t->n_spans && t->spans[h->next].start_ns <= now_ns; h->next++) {
    const struct span *span = &t->spans[h->next];
    uint8_t thread = h->thread_of[span->track];
    if (thread == 0 || !names_something(span) || t->names[span->name].work == WORK_STEP) continue;
    struct thread_stack *stack = &h->stacks[thread - 1];
    close_ended(t, stack, span->start_ns);
    if (stack->n == DEPTH_MAX) drop_ended(t, stack, span->start_ns);
    if (stack->n < DEPTH_MAX) stack->spans[stack->n++] = (uint32_t)h->next;
  }
}

/* Ranges need not nest: one that a program named may outlive the function that began it. */
static bool is_open(const struct span *span, int64_t now_ns) {
  return end_of(span) > now_ns;
}

/* Which of a thread's open ranges names what it does in that state; 0: none, else index + 1. */
static uint32_t named_by(struct host_naming *h, const struct thread_stack *stack, enum account_state state, int64_t now_ns) {
  const struct timeline *t = h->timeline;
  static const struct {
    enum account_state state;
    enum work_class work;
  } of_work[] = {{STATE_TOKENIZER, WORK_TOKENIZER}, {STATE_DATA, WORK_DATA_LOADER}, {STATE_COMPILE, WORK_COMPILE}};
  for (size_t k = 0; k < LYNX_COUNT(of_work); k++)
    for (size_t i = stack->n; state == of_work[k].state && i > 0; i--) {
      const struct span *span = &t->spans[stack->spans[i - 1]];
      if (is_open(span, now_ns) && t->names[span->name].work == of_work[k].work) return stack->spans[i - 1] + 1;
    }
  for (size_t i = stack->n; i > 0 && state != STATE_RANGE; i--) {
    const struct span *span = &t->spans[stack->spans[i - 1]];
    if (span->kind == TRACE_PYTHON && is_open(span, now_ns) && origin(h, span->name) != ORIGIN_STANDARD) return stack->spans[i - 1] + 1;
  }
  for (size_t i = stack->n; i > 0; i--) {
    const struct span *span = &t->spans[stack->spans[i - 1]];
    if (span->kind != TRACE_PYTHON && is_open(span, now_ns)) return stack->spans[i - 1] + 1;
  }
  return 0;
}

/* Of the threads the one whose innermost range began last; where Python is looked for, one that is in a function of it comes first. */
static uint32_t named_now(struct host_naming *h, enum account_state state, int64_t now_ns) {
  const struct timeline *t = h->timeline;
  uint32_t best = 0;
  int64_t best_ns = INT64_MIN;
  bool best_fits = false;
  for (size_t i = 0; i < h->n_stacks; i++) {
    struct thread_stack *stack = &h->stacks[i];
    close_ended(t, stack, now_ns);
    h->work += (int64_t)stack->n;
    uint32_t found = stack->n > 0 ? named_by(h, stack, state, now_ns) : 0;
    if (found == 0) continue;
    bool fits = state != STATE_PYTHON || t->spans[found - 1].kind == TRACE_PYTHON;
    int64_t began_ns = t->spans[stack->spans[stack->n - 1]].start_ns;
    if (best != 0 && (fits < best_fits || (fits == best_fits && began_ns <= best_ns))) continue;
    best = found;
    best_ns = began_ns;
    best_fits = fits;
  }
  return best;
}

/* When something opens or closes next: until then the names are the same. */
static int64_t next_change(struct host_naming *h, int64_t now_ns, int64_t to_ns) {
  const struct timeline *t = h->timeline;
  int64_t soonest = h->next < t->n_spans && t->spans[h->next].start_ns < to_ns ? t->spans[h->next].start_ns : to_ns;
  for (size_t i = 0; i < h->n_stacks; i++) {
    const struct thread_stack *stack = &h->stacks[i];
    h->work += (int64_t)stack->n;
    for (size_t k = 0; k < stack->n; k++) {
      int64_t end_ns = end_of(&t->spans[stack->spans[k]]);
      if (end_ns > now_ns && end_ns < soonest) soonest = end_ns;
    }
  }
  return soonest;
}

/* --- totals --- */

static void add(struct host_naming *h, enum account_state state, uint32_t name, int64_t ns) {
  if (h->used * 3 >= h->n_slots * 2) {
    struct host_name *old = h->slots;
    size_t n = h->n_slots;
    h->n_slots *= 2;
    h->used = 0;
    h->slots = xalloc(h->n_slots, sizeof *h->slots);
    for (size_t i = 0; i < n; i++)
      if (old[i].ns > 0) add(h, old[i].state, old[i].name, old[i].ns);
    free(old);
  }
  uint64_t hash = ((uint64_t)state << 32 | name) * 0x9e3779b97f4a7c15u;
  size_t k = (hash ^ hash >> 32) & (h->n_slots - 1);
  while (h->slots[k].ns > 0 && (h->slots[k].state != state || h->slots[k].name != name)) k = (k + 1) & (h->n_slots - 1);
  h->used += h->slots[k].ns == 0;
  h->slots[k] = (struct host_name){.state = state, .name = name, .ns = sum_ns(h->slots[k].ns, ns)};
}

void host_names_take(void *naming, enum account_state state, int64_t from_ns, int64_t to_ns) {
  struct host_naming *h = naming;
  if (state < STATE_SYNC || state == STATE_NOTHING) return;
  while (from_ns < to_ns && h->work < work_most) {
    open_until(h, from_ns);
    uint32_t span = named_now(h, state, from_ns);
    int64_t until_ns = next_change(h, from_ns, to_ns);
    if (span != 0) add(h, state, h->timeline->spans[span - 1].name, until_ns - from_ns);
    from_ns = until_ns;
  }
}

static int by_time(const void *a, const void *b) {
  const struct host_name *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  if (x->name != y->name) return x->name < y->name ? -1 : 1;
  return (x->state > y->state) - (x->state < y->state);
}

void host_names_finish(struct host_naming *h, struct host_names *ret) {
  *ret = (struct host_names){.n = 0};
  if (h == NULL) return;
  ret->cut = h->work >= work_most;
  for (size_t i = 0; i < h->n_slots; i++) {
    struct host_name *x = &h->slots[i];
    if (x->ns == 0) continue;
    enum origin from = origin(h, x->name);
    x->layered = from >= ORIGIN_LAYER;
    if (x->layered) x->layer = (enum layer)((int)from - ORIGIN_LAYER);
    if (x->layered && x->state == STATE_PYTHON) ret->python_ns[x->layer] += x->ns;
    if (x->layered && x->state == STATE_RANGE) ret->range_ns[x->layer] += x->ns;
    h->slots[ret->n++] = *x;
  }
  ret->at = h->slots;
  qsort(ret->at, ret->n, sizeof *ret->at, by_time);
  free(h->thread_of);
  free(h->stacks);
  free(h->origins);
  free(h);
}

void host_names_release(struct host_names *names) {
  free(names->at);
  *names = (struct host_names){.n = 0};
}

const struct host_name *host_names_first(const struct host_names *names, enum account_state first, enum account_state last) {
  for (size_t i = 0; i < names->n; i++)
    if (names->at[i].state >= first && names->at[i].state <= last) return &names->at[i];
  return NULL;
}

const char *host_name_state(const struct host_name *name) {
  const char *id = account_state_id(name->state), *dot = strchr(id, '.');
  return dot != NULL ? dot + 1 : id;
}
