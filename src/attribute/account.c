#include "attribute/account.h"

#include "attribute/critical_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONSECUTIVE_DELAY_NS = 30000, THRESHOLD_LEAST_NS = 2000, THRESHOLD_MOST_NS = 30000, THRESHOLD_DEFAULT_NS = 10000, GAPS_LEAST = 50 };
enum { SETS_LEAST = 1024, SETS_MOST = 1 << 18, SEGMENTS_MAX = 4096 };

/* One bit for each kind of work that can be open. */
enum {
  BIT_CLASS = 0, /* of the device: WORK_UNKNOWN ... WORK_ELEMENTWISE */
  BIT_COMMUNICATION = WORK_COMPUTE_END,
  BIT_COPY_TO_DEVICE,
  BIT_COPY_TO_HOST,
  BIT_COPY_OTHER,
  BIT_SET,
  BIT_EARLIER, /* beside its class: launched before the trace began */
  BIT_PRESENT, /* beside its class: device work that was not */
  BIT_LAUNCH,
  BIT_SYNC,
  BIT_ALLOCATE,
  BIT_COPY_CALL,
  BIT_CALL,
  BIT_DATA,
  BIT_TOKENIZER,
  BIT_COMPILE,
  BIT_OPERATOR,
  BIT_PYTHON,
  BIT_RANGE,
  BIT_SYSTEM,
  BIT_QUEUED,
  BIT_GRAPH,
  BIT_PROFILER,
  BIT_PATH, /* the critical path runs over the host */
  BIT_STEP,
  BIT_ANY_RUNTIME, /* of any thread: the roles count them all */
  BIT_ANY_DATA,
  BIT_ANY_OPERATOR,
  BIT_ANY_COMMUNICATION,
  BIT_HOST_CLASS, /* of operators: WORK_UNKNOWN ... */
  BIT_COUNT = BIT_HOST_CLASS + WORK_COMPUTE_END
};
_Static_assert(BIT_COUNT <= 64, "a set is one word");

typedef uint64_t set;
#define BIT(b) ((set)1 << (b))

static const set any_compute = BIT(WORK_COMPUTE_END) - 1;
static const set any_copy = BIT(BIT_COPY_TO_DEVICE) | BIT(BIT_COPY_TO_HOST) | BIT(BIT_COPY_OTHER);
static const set any_host_class = (BIT(WORK_COMPUTE_END) - 1) << BIT_HOST_CLASS;

struct set_time {
  set open;
  int64_t ns;
};

/* Time by set. Where a trace has too many different ones, what the host does is no longer told apart. */
struct set_table {
  struct set_time *at;
  size_t n, used;
};

/* At that time bits close, or open until another. */
struct change {
  int64_t at_ns, until_ns;
  bool opens;
  set bits;
};

struct sweep {
  const struct timeline *timeline;
  const struct account_options *options;
  struct account *account;
  bool operators_compute; /* the reader says so, or nothing in the trace speaks of a device that they could hand their work to */
  bool unseen;            /* the host launches work, and the device was not recorded: what operators compute is not seen */
  set device_bits;        /* what counts as busy */
  int64_t now_ns, first_device_ns, last_device_ns;
  uint32_t count[BIT_COUNT];
  set open;
  struct change *changes; /* a heap, the earliest first */
  size_t n_changes, changes_room;
  struct set_table sets, device_sets; /* of the window; from the first to the last device span */
  struct segment {
    set open;
    int64_t from_ns, ns;
  } segments[SEGMENTS_MAX]; /* of the gap that is open */
  size_t n_segments;
};

/* --- histograms --- */

static void histogram_add(struct histogram *h, int64_t value) {
  size_t bin = 0;
  h->n++;
  h->sum = sum_ns(h->sum, value);
  if (h->n == 1 || value < h->least) h->least = value;
  if (h->n == 1 || value > h->greatest) h->greatest = value;
  if (value >= BINS_OCTAVE) {
    int octave = 63 - __builtin_clzll((uint64_t)value);
    bin = (size_t)(octave - BINS_BITS + 1) * BINS_OCTAVE + (size_t)((uint64_t)value >> (octave - BINS_BITS) & (BINS_OCTAVE - 1));
  } else if (value > 0) bin = (size_t)value;
  h->bins[bin < HISTOGRAM_BINS ? bin : HISTOGRAM_BINS - 1]++;
}

int64_t histogram_quantile(const struct histogram *h, double p) {
  int64_t wanted = (int64_t)(p * (double)h->n), seen = 0;
  for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
    seen += h->bins[i];
    if (h->bins[i] > 0 && seen > wanted) {
      if (i < BINS_OCTAVE) return (int64_t)i;
      int octave = (int)(i / BINS_OCTAVE) + BINS_BITS - 1;
      int64_t low = (int64_t)(BINS_OCTAVE + i % BINS_OCTAVE) << (octave - BINS_BITS), width = (int64_t)1 << (octave - BINS_BITS);
      int64_t middle = low + width / 2;
      return middle < h->least ? h->least : middle > h->greatest ? h->greatest : middle;
    }
  }
  return 0;
}

/* --- time by set --- */

static void table_add(struct set_table *t, set open, int64_t ns) {
  if (t->used * 3 >= t->n * 2) {
    struct set_table larger = {.n = t->n == 0 ? SETS_LEAST : 2 * t->n};
    if (larger.n > SETS_MOST) { /* too many different ones: told apart only coarsely from here on, in at most 64 ways */
      open = ((open & any_compute) ? BIT(WORK_UNKNOWN) : 0) | ((open & any_copy) ? BIT(BIT_COPY_OTHER) : 0) |
             (open & (BIT(BIT_COMMUNICATION) | BIT(BIT_SET) | BIT(BIT_STEP)));
    } else {
      larger.at = xalloc(larger.n, sizeof *larger.at);
      for (size_t i = 0; i < t->n; i++)
        if (t->at[i].ns != 0) table_add(&larger, t->at[i].open, t->at[i].ns);
      free(t->at);
      *t = larger;
    }
  }
  uint64_t hash = open * 0x9e3779b97f4a7c15u;
  size_t k = (hash ^ hash >> 32) & (t->n - 1), looked = 0;
  for (; t->at[k].ns != 0 && t->at[k].open != open && looked < t->n; looked++) k = (k + 1) & (t->n - 1);
  lynx_assert(looked < t->n);
  t->used += t->at[k].ns == 0;
  t->at[k].open = open;
  t->at[k].ns += ns;
}

/* --- the sweep --- */

static void open_bits(struct sweep *s, set bits) {
  for (set left = bits; left != 0; left &= left - 1) {
    int b = __builtin_ctzll(left);
    if (s->count[b]++ == 0) s->open |= BIT(b);
  }
}

static void close_bits(struct sweep *s, set bits) {
  for (set left = bits; left != 0; left &= left - 1) {
    int b = __builtin_ctzll(left);
    if (--s->count[b] == 0) s->open &= ~BIT(b);
  }
}

static void changes_push(struct sweep *s, struct change change) {
  s->changes = xroom(s->changes, s->n_changes, &s->changes_room, sizeof *s->changes);
  size_t i = s->n_changes++;
  for (; i > 0 && s->changes[(i - 1) / 2].at_ns > change.at_ns; i = (i - 1) / 2) s->changes[i] = s->changes[(i - 1) / 2];
  s->changes[i] = change;
}

static struct change changes_pop(struct sweep *s) {
  struct change top = s->changes[0], last = s->changes[--s->n_changes];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < s->n_changes; i = child) {
    if (child + 1 < s->n_changes && s->changes[child + 1].at_ns < s->changes[child].at_ns) child++;
    if (last.at_ns <= s->changes[child].at_ns) break;
    s->changes[i] = s->changes[child];
  }
  s->changes[i] = last;
  return top;
}

static enum account_state host_state(set open) {
  static const struct {
    int bit;
    enum account_state state;
  } order[] = {{BIT_COMPILE, STATE_COMPILE},     {BIT_DATA, STATE_DATA},     {BIT_TOKENIZER, STATE_TOKENIZER},
               {BIT_SYNC, STATE_SYNC},           {BIT_LAUNCH, STATE_LAUNCH}, {BIT_ALLOCATE, STATE_ALLOCATE},
               {BIT_COPY_CALL, STATE_COPY_CALL}, {BIT_CALL, STATE_CALL},     {BIT_OPERATOR, STATE_OPERATOR},
               {BIT_PYTHON, STATE_PYTHON},       {BIT_RANGE, STATE_RANGE},   {BIT_SYSTEM, STATE_SYSTEM}};
  for (size_t i = 0; i < LYNX_COUNT(order); i++)
    if (open & BIT(order[i].bit)) return order[i].state;
  return STATE_NOTHING;
}

static void add_state(struct sweep *s, enum account_state state, int64_t from_ns, int64_t ns) {
  s->account->states[state] += ns;
  if (s->options->each != NULL && ns > 0) s->options->each(s->options->context, state, from_ns, from_ns + ns);
}

/* A gap of the device is over: each stretch of it goes to whoever the evidence names. */
static void settle_gap(struct sweep *s) {
  int64_t handed_over_ns = 0; /* how long work has been waiting, without a break */
  for (size_t i = 0; i < s->n_segments; i++) {
    set open = s->segments[i].open;
    int64_t ns = s->segments[i].ns, from_ns = s->segments[i].from_ns;
    if (!(open & BIT(BIT_QUEUED))) handed_over_ns = 0;
    if (open & BIT(BIT_PROFILER)) add_state(s, STATE_PROFILER, from_ns, ns);
    else if (open & BIT(BIT_GRAPH)) add_state(s, STATE_GRAPH, from_ns, ns);
    else if (open & BIT(BIT_QUEUED)) {
      int64_t left = s->account->threshold_ns - handed_over_ns, soon = left < 0 ? 0 : left < ns ? left : ns;
      add_state(s, STATE_LATENCY, from_ns, soon);
      add_state(s, STATE_QUEUED, from_ns + soon, ns - soon);
      handed_over_ns += ns;
    } else add_state(s, host_state(open), from_ns, ns);
  }
  s->n_segments = 0;
}

static enum account_state busy_state(const struct sweep *s, set open, bool on_host) {
  set classes = s->unseen ? 0 : on_host ? open >> BIT_HOST_CLASS & any_compute : open & any_compute;
  if (on_host && (open & (BIT(BIT_COMPILE) | BIT(BIT_DATA) | BIT(BIT_TOKENIZER)))) return host_state(open);
  if (classes & ~BIT(WORK_UNKNOWN)) return (enum account_state)(STATE_COMPUTE + __builtin_ctzll(classes & ~BIT(WORK_UNKNOWN)));
  if (on_host && (open & BIT(BIT_ANY_COMMUNICATION))) return STATE_COMMUNICATION;
  if (on_host && !(classes && s->operators_compute)) return host_state(open);
  if (classes) return STATE_COMPUTE;
  if (open & BIT(BIT_COMMUNICATION)) return STATE_COMMUNICATION;
  if (open & BIT(BIT_COPY_TO_DEVICE)) return STATE_COPY_TO_DEVICE;
  if (open & BIT(BIT_COPY_TO_HOST)) return STATE_COPY_TO_HOST;
  if (open & BIT(BIT_COPY_OTHER)) return STATE_COPY_OTHER;
  return STATE_SET;
}

static bool in_window(const struct sweep *s) {
  const struct account *a = s->account;
  if (a->window == WINDOW_STEPS) return (s->open & BIT(BIT_STEP)) != 0;
  return s->now_ns >= a->from_ns && s->now_ns < a->to_ns;
}

/* Nothing changes between now and then. */
static void pass_time(struct sweep *s, int64_t then_ns) {
  struct account *a = s->account;
  bool on_host = a->device < 0;
  while (s->now_ns < then_ns) {
    int64_t to_ns = then_ns; /* the window's edges cut a stretch */
    int64_t edges[] = {a->from_ns, a->to_ns, s->first_device_ns, s->last_device_ns};
    for (size_t i = 0; i < LYNX_COUNT(edges); i++)
      if (edges[i] > s->now_ns && edges[i] < to_ns) to_ns = edges[i];
    int64_t ns = to_ns - s->now_ns;
    bool busy = on_host || (s->open & s->device_bits) != 0;
    if (busy || !in_window(s)) settle_gap(s);
    if (s->now_ns >= s->first_device_ns && s->now_ns < s->last_device_ns)
      table_add(&s->device_sets, s->open & (any_compute | any_copy | BIT(BIT_COMMUNICATION) | BIT(BIT_SET)), ns);
    if (in_window(s)) {
      a->wall_ns += ns;
      table_add(&s->sets, s->open, ns);
      uint32_t depth = s->count[BIT_QUEUED];
      int bin = depth == 0 ? 0 : 32 - __builtin_clz(depth);
      a->depth_ns[bin < DEPTH_BINS ? bin : DEPTH_BINS - 1] += ns;
      if (busy && (s->open & BIT(BIT_EARLIER)) && !(s->open & BIT(BIT_PRESENT))) a->earlier_ns += ns;
      if (busy) add_state(s, busy_state(s, s->open, on_host), s->now_ns, ns);
      else {
        if (s->n_segments == SEGMENTS_MAX) settle_gap(s);
        s->segments[s->n_segments++] = (struct segment){s->open, s->now_ns, ns};
      }
    }
    s->now_ns = to_ns;
  }
}

static int copy_bit(const char *direction) {
  return strcmp(direction, "HtoD") == 0 ? BIT_COPY_TO_DEVICE : strcmp(direction, "DtoH") == 0 ? BIT_COPY_TO_HOST : BIT_COPY_OTHER;
}

static set device_bits_of(const struct sweep *s, const struct span *span) {
  const struct span_name *name = &s->timeline->names[span->name];
  set when = BIT((span->flags & SPAN_ORPHAN) ? BIT_EARLIER : BIT_PRESENT);
  switch (name->work) {
    case WORK_COMMUNICATION: return when | BIT(BIT_COMMUNICATION);
    case WORK_COPY: return when | BIT(copy_bit(copy_direction((struct bytes){name->text, name->length})));
    case WORK_SET: return when | BIT(BIT_SET);
    default: return when | BIT(BIT_CLASS + name->work);
  }
}

static set call_bits(enum work_class work) {
  switch (work) {
    case WORK_LAUNCH: return BIT(BIT_LAUNCH);
    case WORK_SYNCHRONISE: return BIT(BIT_SYNC);
    case WORK_ALLOCATE: return BIT(BIT_ALLOCATE);
    case WORK_COPY_CALL: return BIT(BIT_COPY_CALL);
    case WORK_COMPILE:
    case WORK_LOAD_CODE: return BIT(BIT_COMPILE);
    default: return BIT(BIT_CALL);
  }
}

bool account_thread_speaks(const struct timeline *timeline, int64_t device, const struct track *track) {
  return device < 0 || !timeline->has_calls || track_launches_on(track, device);
}

static set host_bits_of(const struct sweep *s, const struct span *span) {
  const struct timeline *t = s->timeline;
  const enum work_class work = (enum work_class)t->names[span->name].work;
  bool speaks = account_thread_speaks(t, s->account->device, &t->tracks[span->track]);
  set bits = 0;
  if (work == WORK_STEP) return (span->flags & SPAN_COLD) ? 0 : BIT(BIT_STEP);
  if (span->flags & SPAN_LIFE) return 0;
  switch ((enum trace_kind)span->kind) {
    case TRACE_RUNTIME: return BIT(BIT_ANY_RUNTIME) | (!speaks ? 0 : (span->flags & SPAN_COLD) ? BIT(BIT_COMPILE) : call_bits(work));
    case TRACE_OVERHEAD: return BIT(BIT_PROFILER);
    case TRACE_SYSTEM: return speaks ? BIT(BIT_SYSTEM) : 0;
    case TRACE_OPERATOR:
      bits = work == WORK_COMMUNICATION ? BIT(BIT_ANY_COMMUNICATION) : work == WORK_DATA_LOADER ? BIT(BIT_ANY_DATA) : BIT(BIT_ANY_OPERATOR);
      if (speaks) bits |= BIT(BIT_OPERATOR) | (work < WORK_COMPUTE_END ? BIT(BIT_HOST_CLASS + work) : 0);
      break;
    case TRACE_PYTHON: bits = BIT(BIT_ANY_OPERATOR) | (speaks ? BIT(BIT_PYTHON) : 0); break;
    case TRACE_ANNOTATION:
      bits = work == WORK_COMMUNICATION ? BIT(BIT_ANY_COMMUNICATION) : work == WORK_DATA_LOADER ? BIT(BIT_ANY_DATA) : BIT(BIT_ANY_OPERATOR);
      bits |= speaks ? BIT(BIT_RANGE) : 0;
      break;
    case TRACE_OTHER: bits = (work == WORK_COMMUNICATION ? BIT(BIT_ANY_COMMUNICATION) : 0) | (speaks ? BIT(BIT_RANGE) : 0); break;
    default: return 0;
  }
  if (speaks && work == WORK_DATA_LOADER) bits |= BIT(BIT_DATA);
  if (speaks && work == WORK_TOKENIZER) bits |= BIT(BIT_TOKENIZER);
  if (speaks && work == WORK_COMPILE) bits |= BIT(BIT_COMPILE);
  return bits;
}

static enum copy_way copy_way(const char *direction) {
  return strcmp(direction, "HtoD") == 0   ? COPY_WAY_TO_DEVICE
         : strcmp(direction, "DtoH") == 0 ? COPY_WAY_TO_HOST
         : strcmp(direction, "DtoD") == 0 ? COPY_WAY_WITHIN
                                          : COPY_WAY_OTHER;
}

static void note_longest(struct sweep *s, enum work_class work, const struct span *span) {
  int64_t *longest = &s->account->class_longest_ns[work];
  if (in_window(s) && span->duration_ns > *longest) *longest = span->duration_ns;
}

/* Of the host, where nothing else computes. What stands within another conversion or copy is a part of it. */
static void note_operator(struct sweep *s, const struct span *span) {
  enum work_class work = (enum work_class)s->timeline->names[span->name].work;
  static const set moves = BIT(BIT_HOST_CLASS + WORK_CONVERSION) | BIT(BIT_HOST_CLASS + WORK_LAYOUT);
  bool within = work < WORK_COMPUTE_END && (BIT(BIT_HOST_CLASS + work) & moves) != 0 && (s->open & moves) != 0;
  s->account->class_n[work] += !within;
  note_longest(s, work, span);
}

/* A kernel with fewer thread blocks than the device has multiprocessors leaves the others without work, however busy the device is. */
static void note_shape(struct sweep *s, const struct span *span) {
  struct account *a = s->account;
  float blocks_each;
  memcpy(&blocks_each, &span->more, sizeof blocks_each);
  if (blocks_each <= 0 || blocks_each >= 1 || !in_window(s)) return;
  double before = (double)a->few_blocks_ns;
  a->few_blocks_ns = sum_ns(a->few_blocks_ns, span->duration_ns);
  if (a->few_blocks_ns > 0)
    a->few_blocks_each = (a->few_blocks_each * before + (double)blocks_each * (double)span->duration_ns) / (double)a->few_blocks_ns;
}

/* Counts what a device span says beside its time. */
static void note_device_span(struct sweep *s, const struct span *span) {
  const struct timeline *t = s->timeline;
  struct account *a = s->account;
  enum work_class work = (enum work_class)t->names[span->name].work;
  a->class_busy_ns[work] = sum_ns(a->class_busy_ns[work], span->duration_ns);
  a->class_n[work]++;
  note_longest(s, work, span);
  if (work < WORK_COMPUTE_END) histogram_add(&a->kernels, span->duration_ns);
  if (work == WORK_COPY) a->n_copies++;
  if (span->kind == TRACE_KERNEL && !(span->flags & SPAN_COLLECTIVE)) note_shape(s, span);
  if (span->kind == TRACE_COPY) {
    float bytes;
    memcpy(&bytes, &span->more, sizeof bytes);
    struct copied *way = &a->copied[copy_way(copy_direction((struct bytes){t->names[span->name].text, t->names[span->name].length}))];
    way->bytes += (double)bytes;
    way->n += bytes > 0;
    way->ns = sum_ns(way->ns, bytes > 0 ? span->duration_ns : 0);
    const struct span_name *name = &t->names[span->name];
    if (memmem(name->text, name->length, "Pageable", 8) != NULL) a->pageable_ns = sum_ns(a->pageable_ns, span->duration_ns);
    else if (memmem(name->text, name->length, "Unified", 7) != NULL) {
      a->migrated_ns = sum_ns(a->migrated_ns, span->duration_ns);
      a->n_migrated++;
    } else if (memmem(name->text, name->length, "Pinned", 6) != NULL) a->pinned_ns = sum_ns(a->pinned_ns, span->duration_ns);
  }
  if (span->link == 0 || t->links[span->link - 1].call == 0) return;
  const struct span *call = &t->spans[t->links[span->link - 1].call - 1];
  int64_t delay = span->start_ns - (call->start_ns + call->duration_ns);
  if (t->links[span->link - 1].n_device == 1 || (span->flags & SPAN_FIRST_OF_GRAPH)) histogram_add(&a->delays, delay > 0 ? delay : 0);
}

static void note_call(struct sweep *s, const struct span *span) {
  enum work_class work = (enum work_class)s->timeline->names[span->name].work;
  if (work == WORK_LAUNCH && !(span->flags & SPAN_COLD)) histogram_add(&s->account->launches, span->duration_ns);
  if (work == WORK_SYNCHRONISE) s->account->n_sync_calls++;
  if (work == WORK_LAUNCH && (s->open & s->device_bits) == 0 && s->count[BIT_QUEUED] == 0) s->account->n_queue_empty++;
}

/* Device work that counts; with_earlier: orphans too, though they bound neither the window nor the streams' gaps. */
static bool of_device(const struct sweep *s, const struct span *span, bool with_earlier) {
  if (!kind_on_device((enum trace_kind)span->kind) || s->timeline->tracks[span->track].process != s->account->device) return false;
  if (!(span->flags & SPAN_ORPHAN) || s->options->orphans == ORPHANS_KEEP) return true;
  return with_earlier && s->options->orphans == ORPHANS_APART;
}

static void sweep_to(struct sweep *s, int64_t at_ns) {
  while (s->n_changes > 0 && s->changes[0].at_ns <= at_ns) {
    struct change change = changes_pop(s);
    pass_time(s, change.at_ns);
    if (change.opens) {
      open_bits(s, change.bits);
      changes_push(s, (struct change){.at_ns = change.until_ns, .bits = change.bits});
    } else close_bits(s, change.bits);
  }
  pass_time(s, at_ns);
}

static void sweep_run(struct sweep *s) {
  const struct timeline *t = s->timeline;
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *span = &t->spans[i];
    bool mine = s->account->device >= 0 && of_device(s, span, true);
    set bits = mine ? device_bits_of(s, span) : host_bits_of(s, span);
    int64_t end_ns = span->start_ns + span->duration_ns;
    sweep_to(s, span->start_ns);
    if (mine) note_device_span(s, span);
    if (span->kind == TRACE_RUNTIME) note_call(s, span);
    if (s->account->device < 0 && span->kind == TRACE_OPERATOR) note_operator(s, span);
    if (span->flags & SPAN_LAUNCHES) { /* handed over at the end of the call, it waits until it starts on the device */
      const struct link *link = &t->links[span->link - 1];
      if (link->first_ns > end_ns && link->device == s->account->device)
        changes_push(s, (struct change){.at_ns = end_ns, .until_ns = link->first_ns, .opens = true, .bits = BIT(BIT_QUEUED)});
    }
    if (mine && (span->flags & SPAN_FIRST_OF_GRAPH))
      changes_push(
          s, (struct change){.at_ns = span->start_ns, .until_ns = t->links[span->link - 1].last_ns, .opens = true, .bits = BIT(BIT_GRAPH)});
    if (bits == 0 || span->duration_ns == 0) continue;
    open_bits(s, bits);
    changes_push(s, (struct change){.at_ns = end_ns, .bits = bits});
  }
  sweep_to(s, INT64_MAX / 2);
  settle_gap(s);
}

/* --- before the sweep: streams, the threshold, the window --- */

/* of_track: index + 1 of each track's stream; 0: none yet. */
static struct stream_account *stream_of(struct account *a, uint32_t *of_track, int64_t stream) {
  if (*of_track == 0) {
    a->streams = xroom(a->streams, a->n_streams, &a->streams_room, sizeof *a->streams);
    a->streams[a->n_streams] = (struct stream_account){.stream = stream};
    *of_track = (uint32_t)++a->n_streams;
  }
  return &a->streams[*of_track - 1];
}

/* The gaps of each stream, and from those behind which work was already waiting, how soon the device takes up the next. */
static void look_at_streams(struct sweep *s) {
  const struct timeline *t = s->timeline;
  struct account *a = s->account;
  int64_t *last_end = xalloc(t->n_tracks + 1, sizeof *last_end), delay_ns = s->options->consecutive_delay_ns;
  bool *seen = xalloc(t->n_tracks + 1, sizeof *seen);
  uint32_t *of_track = xalloc(t->n_tracks + 1, sizeof *of_track);
  s->first_device_ns = INT64_MAX;
  s->last_device_ns = INT64_MIN;
  if (delay_ns == 0) delay_ns = CONSECUTIVE_DELAY_NS;
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *span = &t->spans[i];
    if (!of_device(s, span, false)) continue;
    struct stream_account *stream = stream_of(a, &of_track[span->track], t->tracks[span->track].thread);
    int64_t end_ns = span->start_ns + span->duration_ns, gap_ns = span->start_ns - last_end[span->track];
    const struct link *link = span->link != 0 && t->links[span->link - 1].call != 0 ? &t->links[span->link - 1] : NULL;
    const struct span *call = link != NULL ? &t->spans[link->call - 1] : NULL;
    stream->n_spans++;
    stream->busy_ns = sum_ns(stream->busy_ns, span->duration_ns);
    if (seen[span->track]) {
      stream->n_overlapping += gap_ns < 0;
      if (call != NULL && call->start_ns > last_end[span->track]) stream->host_wait_ns = sum_ns(stream->host_wait_ns, gap_ns);
      else if (gap_ns < delay_ns) stream->kernel_wait_ns = sum_ns(stream->kernel_wait_ns, gap_ns);
      else stream->other_ns = sum_ns(stream->other_ns, gap_ns);
      if (call != NULL && link->n_device == 1 && gap_ns >= 0 && call->start_ns + call->duration_ns < last_end[span->track])
        histogram_add(&a->back_to_back, gap_ns);
    }
    last_end[span->track] = end_ns;
    seen[span->track] = true;
    if (span->start_ns < s->first_device_ns) s->first_device_ns = span->start_ns;
    if (end_ns > s->last_device_ns) s->last_device_ns = end_ns;
  }
  free(last_end);
  free(seen);
  free(of_track);
}

static void choose_threshold(struct account *a, int64_t declared_ns) {
  a->threshold_ns = declared_ns > 0 ? declared_ns : THRESHOLD_DEFAULT_NS;
  a->threshold_measured = declared_ns == 0 && a->back_to_back.n >= GAPS_LEAST;
  if (!a->threshold_measured) return;
  a->threshold_ns = 2 * histogram_quantile(&a->back_to_back, 0.9);
  if (a->threshold_ns < THRESHOLD_LEAST_NS) a->threshold_ns = THRESHOLD_LEAST_NS;
  if (a->threshold_ns > THRESHOLD_MOST_NS) a->threshold_ns = THRESHOLD_MOST_NS;
}

/* A mean hides a step that is unlike the others. */
static void look_at_steps(const struct timeline *t, struct account_steps *ret) {
  enum { STEPS_MAX = 4096, STEPS_LEAST = 3 };
  int64_t *ns = xalloc(STEPS_MAX, sizeof *ns);
  const struct span *first = NULL;
  size_t n = 0;
  for (size_t i = 0; i < t->n_spans && n < STEPS_MAX; i++) {
    const struct span *span = &t->spans[i];
    if (t->names[span->name].work != WORK_STEP || t->tracks[span->track].on_device || (span->flags & (SPAN_COLD | SPAN_ORPHAN))) continue;
    if (first == NULL) first = span;
    if (span->track != first->track) continue;
    ns[n++] = span->duration_ns;
    if (span->duration_ns > ret->longest_ns) *ret = (struct account_steps){0, span->duration_ns, (int64_t)n, span->name};
  }
  qsort(ns, n, sizeof *ns, by_ns);
  ret->median_ns = n >= STEPS_LEAST ? ns[n / 2] : 0;
  free(ns);
}

/* How long the device works on what the steps handed over, once they are over. */
static int64_t work_behind(const struct timeline *t, int64_t device, int64_t from_ns, int64_t to_ns) {
  int64_t last_ns = to_ns;
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *span = &t->spans[i];
    if (span->link == 0 || t->links[span->link - 1].call == 0 || !t->tracks[span->track].on_device ||
        t->tracks[span->track].process != device)
      continue;
    int64_t called_ns = t->spans[t->links[span->link - 1].call - 1].start_ns, end_ns = span->start_ns + span->duration_ns;
    if (called_ns >= from_ns && called_ns <= to_ns && end_ns > last_ns) last_ns = end_ns;
  }
  return last_ns - to_ns;
}

static void choose_window(struct sweep *s) {
  const struct timeline *t = s->timeline;
  struct account *a = s->account;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, steps_from_ns = INT64_MAX, steps_to_ns = INT64_MIN;
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *span = &t->spans[i];
    if (span->flags & SPAN_ORPHAN) continue;
    int64_t end_ns = span->start_ns + span->duration_ns;
    if (span->kind == TRACE_OVERHEAD && t->n_kind[TRACE_OVERHEAD] < (int64_t)t->n_spans) continue; /* the profiler's, not the job's */
    if (span->start_ns < first_ns) first_ns = span->start_ns;
    if (end_ns > last_ns) last_ns = end_ns;
    if (t->names[span->name].work != WORK_STEP || t->tracks[span->track].on_device || (span->flags & SPAN_COLD)) continue;
    a->n_steps++;
    if (span->start_ns < steps_from_ns) steps_from_ns = span->start_ns;
    if (end_ns > steps_to_ns) steps_to_ns = end_ns;
  }
  look_at_steps(t, &a->steps);
  a->window = s->options->window;
  if (a->window == WINDOW_STEPS && a->n_steps == 0) a->window = WINDOW_AUTO;
  /* A host that hands over in a moment what takes the device long measures nothing by its own steps. */
  if (a->window == WINDOW_AUTO && a->n_steps > 0 && a->device >= 0) a->ran_ahead_ns = work_behind(t, a->device, steps_from_ns, steps_to_ns);
  bool ran_ahead = a->n_steps > 0 && a->ran_ahead_ns > (steps_to_ns - steps_from_ns) / 2;
  if (!ran_ahead) a->ran_ahead_ns = 0;
  if (a->window == WINDOW_AUTO) a->window = a->n_steps > 0 && !ran_ahead ? WINDOW_STEPS : WINDOW_DEVICE;
  if (a->window == WINDOW_DEVICE && s->first_device_ns > s->last_device_ns) a->window = WINDOW_TRACE;
  a->from_ns = a->window == WINDOW_STEPS ? steps_from_ns : a->window == WINDOW_DEVICE ? s->first_device_ns : first_ns;
  a->to_ns = a->window == WINDOW_STEPS ? steps_to_ns : a->window == WINDOW_DEVICE ? s->last_device_ns : last_ns;
}

/* --- after it: what the sets say --- */

static void add_roles(struct account *a, set open, int64_t ns) {
  enum account_role role = (open & any_compute)                                             ? ROLE_KERNEL
                           : (open & any_copy)                                              ? ROLE_COPY
                           : (open & BIT(BIT_SET))                                          ? ROLE_SET
                           : (open & (BIT(BIT_COMMUNICATION) | BIT(BIT_ANY_COMMUNICATION))) ? ROLE_COMMUNICATION
                           : (open & BIT(BIT_ANY_RUNTIME))                                  ? ROLE_RUNTIME
                           : (open & BIT(BIT_ANY_DATA))                                     ? ROLE_DATA
                           : (open & BIT(BIT_ANY_OPERATOR))                                 ? ROLE_OPERATOR
                                                                                            : ROLE_OTHER;
  a->roles[role] += ns;
}

static void add_overlaps(struct account *a, set open, int64_t ns) {
  const set of[OVERLAP_COUNT] = {[OVERLAP_COMPUTE] = a->device < 0 ? any_host_class : any_compute,
                                 [OVERLAP_COMMUNICATION] = BIT(BIT_COMMUNICATION),
                                 [OVERLAP_COPY] = any_copy,
                                 [OVERLAP_LAUNCH] = BIT(BIT_LAUNCH),
                                 [OVERLAP_SYNC] = BIT(BIT_SYNC),
                                 [OVERLAP_OTHER_CALL] = BIT(BIT_ALLOCATE) | BIT(BIT_COPY_CALL) | BIT(BIT_CALL),
                                 [OVERLAP_DATA] = BIT(BIT_DATA) | BIT(BIT_ANY_DATA),
                                 [OVERLAP_OPERATOR] = BIT(BIT_OPERATOR),
                                 [OVERLAP_PYTHON] = BIT(BIT_PYTHON)};
  for (int i = 0; i < OVERLAP_COUNT; i++)
    for (int k = 0; k < OVERLAP_COUNT && (open & of[i]); k++)
      if (open & of[k]) a->overlap[i][k] += ns;
}

static void add_device_time(struct account *a, set open, int64_t ns) {
  bool compute = (open & (any_compute | BIT(BIT_SET))) != 0, communication = (open & BIT(BIT_COMMUNICATION)) != 0,
       copy = (open & any_copy) != 0;
  a->device_compute_ns += compute ? ns : 0;
  a->device_communication_ns += communication ? ns : 0;
  a->device_copy_ns += copy ? ns : 0;
  a->device_exposed_communication_ns += communication && !compute ? ns : 0;
  a->device_exposed_copy_ns += copy && !compute && !communication ? ns : 0;
}

void account_run(const struct timeline *timeline, int64_t device, const struct account_options *options, struct account *ret) {
  struct sweep *s = xalloc(1, sizeof *s);
  *ret = (struct account){.device = device};
  s->timeline = timeline;
  s->options = options;
  s->account = ret;
  s->device_bits = any_compute | any_copy | BIT(BIT_COMMUNICATION) | BIT(BIT_SET);
  s->unseen = ret->device_unseen = device < 0 && timeline->n_launches > 0;
  ret->device_named = device < 0 && timeline_fact(timeline, "device.0") != NULL;
  s->operators_compute = timeline->operators_compute || (device < 0 && !s->unseen && !ret->device_named);
  look_at_streams(s);
  choose_threshold(ret, options->threshold_ns);
  choose_window(s);
  if (timeline->n_spans > 0) {
    struct critical_path path;
    critical_path_find(timeline, ret, options->orphans, &path);
    for (size_t i = 0; i < path.n_host; i++)
      changes_push(s, (struct change){.at_ns = path.host[i].from_ns, .until_ns = path.host[i].to_ns, .opens = true, .bits = BIT(BIT_PATH)});
    critical_path_release(&path);
    s->now_ns = timeline->spans[0].start_ns;
    sweep_run(s);
  }
  for (size_t i = 0; i < s->sets.n; i++) {
    const struct set_time *x = &s->sets.at[i];
    if (x->ns == 0) continue;
    add_roles(ret, x->open, x->ns);
    bool busy = (x->open & s->device_bits) != 0;
    /* While the device does nothing and has nothing waiting, no call waits for it. */
    bool calls = (x->open & (BIT(BIT_SYNC) | BIT(BIT_ALLOCATE) | BIT(BIT_COPY_CALL) | BIT(BIT_CALL) | BIT(BIT_LAUNCH))) != 0;
    bool waits = calls && (busy || (x->open & (BIT(BIT_QUEUED) | BIT(BIT_GRAPH))));
    if (!waits && (calls || (x->open & (BIT(BIT_OPERATOR) | BIT(BIT_DATA) | BIT(BIT_TOKENIZER) | BIT(BIT_COMPILE)))))
      ret->host_own_ns += x->ns;
    if (x->open & BIT(BIT_PATH)) ret->path_ns[host_state(x->open)] += x->ns;
    add_overlaps(ret, x->open, x->ns);
    if (device >= 0 && busy && (x->open & (BIT(BIT_DATA) | BIT(BIT_ANY_DATA)))) ret->hidden_data_ns += x->ns;
  }
  for (size_t i = 0; i < s->device_sets.n; i++)
    if (s->device_sets.at[i].ns != 0) add_device_time(ret, s->device_sets.at[i].open, s->device_sets.at[i].ns);
  ret->device_total_ns = s->last_device_ns > s->first_device_ns ? s->last_device_ns - s->first_device_ns : 0;
  int64_t sum = 0;
  for (int i = 0; i < STATE_COUNT; i++) sum += ret->states[i];
  lynx_assert(sum == ret->wall_ns);
  free(s->sets.at);
  free(s->device_sets.at);
  free(s->changes);
  free(s);
}

void account_release(struct account *account) {
  free(account->streams);
  *account = (struct account){.device = -1};
}

int64_t account_unexplained(const struct account *account) {
  return account->states[STATE_NOTHING] + account->states[STATE_QUEUED];
}

double account_unexplained_share(const struct account *account) {
  return account->wall_ns > 0 ? (double)account_unexplained(account) / (double)account->wall_ns : 0;
}

int64_t account_busy(const struct account *account) {
  int64_t sum = 0;
  for (int i = 0; i < STATE_PROFILER; i++) sum += account->states[i];
  return sum;
}

double account_few_blocks_share(const struct account *account) {
  double computing = 0, kernels = (double)account->kernels.sum;
  for (int i = STATE_COMPUTE; i < STATE_COMMUNICATION; i++) computing += (double)account->states[i];
  if (account->wall_ns == 0 || kernels <= 0) return 0;
  return computing / (double)account->wall_ns * fmin(1, (double)account->few_blocks_ns / kernels);
}

int64_t account_idle(const struct account *account) {
  return account->wall_ns - account_busy(account);
}

size_t account_devices(const struct timeline *timeline, int64_t *devices, size_t room) {
  size_t n = 0;
  for (size_t i = 0; i < timeline->n_tracks; i++) {
    const struct track *t = &timeline->tracks[i];
    bool known = t->n_device == 0;
    for (size_t k = 0; k < n && k < room; k++) known = known || devices[k] == t->process;
    if (known) continue;
    if (n < room) devices[n] = t->process;
    n++;
  }
  return n;
}

/* --- words --- */

static const struct state_words {
  const char *id, *words, *words_on_host; /* words_on_host: where only the host is traced; NULL: the same */
  bool layered;
  enum layer layer, on_host; /* where a device is traced; where only the host is */
} state_words[STATE_COUNT - WORK_COMPUTE_END] = {
#define ROW(state, ...) [STATE_##state - WORK_COMPUTE_END] = {__VA_ARGS__}
    ROW(COMMUNICATION, "exposed.communication", "communication that no computing hides", NULL, true, LAYER_RUNTIME, LAYER_RUNTIME),
    ROW(COPY_TO_DEVICE, "exposed.copy_to_device", "copies to the device that nothing hides", NULL, true, LAYER_APPLICATION,
        LAYER_APPLICATION),
    ROW(COPY_TO_HOST, "exposed.copy_to_host", "copies to the host that nothing hides", NULL, true, LAYER_APPLICATION, LAYER_APPLICATION),
    ROW(COPY_OTHER, "exposed.copy_other", "copies within or between devices that nothing hides", NULL, true, LAYER_FRAMEWORK,
        LAYER_FRAMEWORK),
    ROW(SET, "exposed.memory_set", "setting of memory", NULL, true, LAYER_FRAMEWORK, LAYER_FRAMEWORK),
    ROW(PROFILER, "idle.profiler", "idle while the profiler is busy itself", NULL, false, LAYER_FRAMEWORK, LAYER_FRAMEWORK),
    ROW(GRAPH, "idle.graph", "idle between the nodes of a graph", NULL, true, LAYER_RUNTIME, LAYER_RUNTIME),
    ROW(LATENCY, "idle.latency", "idle for the latency of taking up handed-over work", NULL, true, LAYER_ACCELERATOR, LAYER_ACCELERATOR),
    ROW(QUEUED, "idle.queued", "idle with work waiting, longer than that latency", NULL, false, LAYER_SYSTEM, LAYER_SYSTEM),
    ROW(SYNC, "idle.synchronise", "idle while the host is in a synchronising call", "in a synchronising call", true, LAYER_APPLICATION,
        LAYER_APPLICATION),
    ROW(LAUNCH, "idle.launch", "idle while the host is in a launch call", "in a launch call", true, LAYER_SYSTEM, LAYER_SYSTEM),
    ROW(COMPILE, "idle.compile", "idle while the host compiles or loads code", "compiling or loading code", true, LAYER_FRAMEWORK,
        LAYER_FRAMEWORK),
    ROW(DATA, "idle.data_loader", "idle while the host waits for its data loader", "waiting for its data loader", true, LAYER_APPLICATION,
        LAYER_APPLICATION),
    ROW(TOKENIZER, "idle.tokenizer", "idle while the host tokenises", "tokenising", true, LAYER_APPLICATION, LAYER_APPLICATION),
    ROW(ALLOCATE, "idle.allocate", "idle while the host allocates or frees device memory", "allocating or freeing device memory", true,
        LAYER_FRAMEWORK, LAYER_FRAMEWORK),
    ROW(COPY_CALL, "idle.copy_call", "idle while the host is in a copy call", "in a copy call", true, LAYER_APPLICATION, LAYER_APPLICATION),
    ROW(CALL, "idle.call", "idle while the host is in another call of the runtime", "in another call of the runtime", true, LAYER_SYSTEM,
        LAYER_SYSTEM),
    ROW(OPERATOR, "idle.operator", "idle while the host dispatches operators", "dispatching operators", true, LAYER_FRAMEWORK,
        LAYER_FRAMEWORK),
    ROW(PYTHON, "idle.python", "idle while the host runs Python outside operators", "Python outside operators", true, LAYER_APPLICATION,
        LAYER_APPLICATION),
    ROW(RANGE, "idle.range", "idle inside a range that the program named", "inside a range that the program named", true, LAYER_APPLICATION,
        LAYER_APPLICATION),
    ROW(SYSTEM, "idle.system_call", "idle while the host is in a call of the operating system, most often a wait",
        "in a call of the operating system, most often a wait", false, LAYER_SYSTEM, LAYER_SYSTEM),
    ROW(NOTHING, "unexplained.nothing", "nothing is recorded", NULL, false, LAYER_SYSTEM, LAYER_SYSTEM),
};

const char *account_state_id(enum account_state state) {
  static const char *const compute[] = {
      [WORK_UNKNOWN] = "compute.unclassified", [WORK_ATTENTION] = "compute.attention",   [WORK_CONVOLUTION] = "compute.convolution",
      [WORK_EXPERTS] = "compute.experts",      [WORK_MATRIX] = "compute.matrix_product", [WORK_NORMALISATION] = "compute.normalisation",
      [WORK_SAMPLING] = "compute.sampling",    [WORK_CONVERSION] = "compute.conversion", [WORK_INDEXING] = "compute.indexing",
      [WORK_LAYOUT] = "compute.layout",        [WORK_REDUCTION] = "compute.reduction",   [WORK_ELEMENTWISE] = "compute.elementwise",
      [WORK_DELEGATED] = "compute.delegated"};
  return state < STATE_COMMUNICATION ? compute[state] : state_words[state - WORK_COMPUTE_END].id;
}

const char *account_state_words(enum account_state state, bool on_host) {
  if (state < STATE_COMMUNICATION) return work_class_text((enum work_class)state);
  const struct state_words *w = &state_words[state - WORK_COMPUTE_END];
  return on_host && w->words_on_host != NULL ? w->words_on_host : w->words;
}

bool account_state_layer(enum account_state state, bool on_host, enum layer *ret) {
  *ret = LAYER_RUNTIME;
  if (state < STATE_COMMUNICATION) return state != STATE_COMPUTE + WORK_UNKNOWN; /* whose it is, its name does not say */
  const struct state_words *w = &state_words[state - WORK_COMPUTE_END];
  *ret = on_host ? w->on_host : w->layer;
  return w->layered;
}

const char *overlap_text(enum overlap_kind kind) {
  static const char *const names[] = {"compute",    "communication", "copy",     "launch call", "synchronising call",
                                      "other call", "data loader",   "operator", "python"};
  return names[kind];
}

const char *role_text(enum account_role role) {
  static const char *const names[] = {"Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"};
  return names[role];
}
