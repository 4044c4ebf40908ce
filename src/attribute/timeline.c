#include "attribute/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "attribute/collective_size.h"
#include "attribute/span_sort.h"

enum { NAME_MAX_BYTES = 2000, NAMES_MAX = 1 << 22, FACTS_MAX = 256, FLOWS_MAX = 1 << 22, NEAR_MAX = 4096 };

/* Open addressing: index + 1 into the array that it serves; 0: free. */
struct slots {
  uint32_t *at;
  size_t n, used;
};

struct timeline_tables {
  struct slots names, tracks, links;
  uint32_t last_track;
};

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

/* Two lanes: names of kernels run to hundreds of bytes. */
static uint64_t hash_text(uint64_t hash, const char *text, size_t length) {
  uint64_t word, other = hash ^ length;
  for (; length >= 16; text += 16, length -= 16) {
    memcpy(&word, text, 8);
    hash = mix(hash, word);
    memcpy(&word, text + 8, 8);
    other = mix(other, word);
  }
  if (length >= 8) {
    memcpy(&word, text, 8);
    hash = mix(hash, word);
    text += 8;
    length -= 8;
  }
  word = 0;
  memcpy(&word, text, length);
  return mix(mix(hash, word), other);
}

/* Twice as many slots when two thirds are taken; every index that was in is put in again at its hash. */
static void slots_grow(struct slots *slots, uint64_t (*hash_of)(const struct timeline *, uint32_t index), const struct timeline *timeline) {
  struct slots larger = {.n = slots->n == 0 ? 1024 : 2 * slots->n, .used = slots->used};
  larger.at = xalloc(larger.n, sizeof *larger.at);
  for (size_t i = 0; i < slots->n; i++) {
    if (slots->at[i] == 0) continue;
    size_t k = hash_of(timeline, slots->at[i] - 1) & (larger.n - 1);
    while (larger.at[k] != 0) k = (k + 1) & (larger.n - 1);
    larger.at[k] = slots->at[i];
  }
  free(slots->at);
  *slots = larger;
}

static uint64_t hash_name(const struct timeline *timeline, uint32_t i) {
  const struct span_name *n = &timeline->names[i];
  return hash_text(n->kind, n->text, n->length);
}

static uint64_t hash_of_track(const struct track *t) {
  return mix(mix(mix(t->on_device, (uint64_t)t->process), (uint64_t)t->thread), (uint64_t)t->scope);
}

static uint64_t hash_track(const struct timeline *timeline, uint32_t i) {
  return hash_of_track(&timeline->tracks[i]);
}

/* Correlations are counted up: sixty-four in a row lie side by side, so that they share cache lines. */
static uint64_t hash_correlation(uint64_t correlation, int64_t scope) {
  return (mix(mix(1, correlation >> 6), (uint64_t)scope) & ~(uint64_t)63) | (correlation & 63);
}

static uint64_t hash_link(const struct timeline *timeline, uint32_t i) {
  return hash_correlation(timeline->links[i].correlation, timeline->links[i].scope);
}

static void make_room(void **array, size_t n, size_t *room, size_t size) {
  *array = xroom(*array, n, room, size);
}

static uint32_t intern_name(struct timeline *t, enum trace_kind kind, struct bytes name, struct bytes type) {
  struct slots *slots = &t->tables->names;
  size_t length = name.length < NAME_MAX_BYTES ? name.length : NAME_MAX_BYTES;
  if (slots->used * 3 >= slots->n * 2) slots_grow(slots, hash_name, t);
  size_t k = hash_text((uint64_t)kind, name.ptr, length) & (slots->n - 1);
  for (; slots->at[k] != 0; k = (k + 1) & (slots->n - 1)) {
    const struct span_name *n = &t->names[slots->at[k] - 1];
    if (n->kind == kind && n->length == length && memcmp(n->text, name.ptr, length) == 0) return slots->at[k] - 1;
  }
  if (t->n_names == NAMES_MAX) return NAMES_MAX;
  make_room((void **)&t->names, t->n_names, &t->names_room, sizeof *t->names);
  t->names[t->n_names] = (struct span_name){.text = arena_text(&t->arena, name.ptr, length),
                                            .length = (uint32_t)length,
                                            .kind = (uint8_t)kind,
                                            .work = (uint8_t)work_class_of(kind, name, type)};
  slots->at[k] = (uint32_t)++t->n_names;
  slots->used++;
  return (uint32_t)t->n_names - 1;
}

static bool same_track(const struct track *a, const struct track *b) {
  return a->thread == b->thread && a->process == b->process && a->on_device == b->on_device && a->scope == b->scope;
}

/* Where it stands, or would. */
static size_t track_slot(const struct timeline *t, const struct track *track) {
  const struct slots *slots = &t->tables->tracks;
  size_t k = hash_of_track(track) & (slots->n - 1);
  while (slots->at[k] != 0 && !same_track(&t->tracks[slots->at[k] - 1], track)) k = (k + 1) & (slots->n - 1);
  return k;
}

/* False where there are too many. */
static bool intern_track(struct timeline *t, const struct track *track, uint16_t *ret) {
  struct slots *slots = &t->tables->tracks;
  if (t->n_tracks > 0 && same_track(&t->tracks[t->tables->last_track], track)) {
    *ret = (uint16_t)t->tables->last_track;
    return true;
  }
  if (slots->used * 3 >= slots->n * 2) slots_grow(slots, hash_track, t);
  size_t k = track_slot(t, track);
  if (slots->at[k] == 0) {
    if (t->n_tracks == UINT16_MAX) return false;
    make_room((void **)&t->tracks, t->n_tracks, &t->tracks_room, sizeof *t->tracks);
    t->tracks[t->n_tracks] = *track;
    slots->at[k] = (uint32_t)++t->n_tracks;
    slots->used++;
  }
  *ret = (uint16_t)(t->tables->last_track = slots->at[k] - 1);
  return true;
}

static uint32_t intern_link(struct timeline *t, uint64_t correlation, int64_t scope) {
  struct slots *slots = &t->tables->links;
  if (slots->used * 3 >= slots->n * 2) slots_grow(slots, hash_link, t);
  size_t k = hash_correlation(correlation, scope) & (slots->n - 1);
  while (slots->at[k] != 0) {
    const struct link *l = &t->links[slots->at[k] - 1];
    if (l->correlation == correlation && l->scope == scope) return slots->at[k];
    k = (k + 1) & (slots->n - 1);
  }
  make_room((void **)&t->links, t->n_links, &t->links_room, sizeof *t->links);
  t->links[t->n_links] = (struct link){.correlation = correlation, .scope = scope};
  slots->at[k] = (uint32_t)++t->n_links;
  slots->used++;
  return slots->at[k];
}

static const char *copy_bytes(struct timeline *t, struct bytes text) {
  char safe[200];
  return arena_copy(&t->arena, text_sanitise(safe, sizeof safe, text.ptr != NULL ? text.ptr : "", text.length));
}

/* Groups of one name and other members are not the same. */
static const char *group_of(struct timeline *t, const struct trace_span *s) {
  const char *name = copy_bytes(t, s->group);
  return s->members.length > 0 ? arena_printf(&t->arena, "%s %s", name, copy_bytes(t, s->members)) : name;
}

static uint32_t add_collective(struct timeline *t, const struct trace_span *s) {
  make_room((void **)&t->collectives, t->n_collectives, &t->collectives_room, sizeof *t->collectives);
  struct bytes name = s->collective.length > 0 ? s->collective : s->name;
  int64_t bytes = collective_bytes(s);
  t->collectives[t->n_collectives++] = (struct collective){.elements = s->elements,
                                                           .bytes = bytes,
                                                           .bus_bytes = collective_bus_bytes(name, bytes, s->group_size),
                                                           .ranks = s->group_size > 0 ? s->group_size : 0,
                                                           .sequence = s->sequence,
                                                           .name = copy_bytes(t, name),
                                                           .group = group_of(t, s)};
  return (uint32_t)t->n_collectives;
}

void timeline_add_span(struct timeline *t, const struct trace_span *s) {
  bool on_device = kind_on_device(s->kind) || s->kind == TRACE_DEVICE_ANNOTATION || s->kind == TRACE_SYNC;
  struct track track = {.on_device = on_device,
                        .process = on_device ? s->device : s->process,
                        .thread = on_device ? s->stream : s->thread,
                        .scope = s->scope};
  struct span span = {.start_ns = s->start_ns, .duration_ns = s->duration_ns, .kind = (uint8_t)s->kind};
  if (s->asynchronous && !on_device) span.flags = SPAN_LIFE; /* until it is known how many overlap */
  if (t->n_spans >= UINT32_MAX - 1 || !intern_track(t, &track, &span.track)) {
    t->full = true;
    return;
  }
  if (t->n_spans == t->room) {
    size_t room = t->room == 0 ? 4096 : 2 * t->room;
    struct span *larger = realloc(t->spans, room * sizeof *larger);
    if (larger == NULL) {
      t->full = true;
      return;
    }
    t->spans = larger;
    t->room = room;
  }
  span.name = intern_name(t, s->kind, s->name, s->type);
  if (span.name == NAMES_MAX) {
    t->full = true;
    return;
  }
  if (s->correlation != 0 && (kind_on_device(s->kind) || s->kind == TRACE_RUNTIME)) span.link = intern_link(t, s->correlation, s->scope);
  if (s->kind == TRACE_COPY && s->bytes > 0) {
    float bytes = (float)s->bytes; /* to seven digits */
    memcpy(&span.more, &bytes, sizeof span.more);
  }
  if (s->kind == TRACE_KERNEL && (s->collective.length > 0 || t->names[span.name].work == WORK_COMMUNICATION)) {
    span.more = add_collective(t, s);
    span.flags |= span.more != 0 ? SPAN_COLLECTIVE : 0;
  } else if (s->kind == TRACE_KERNEL && s->blocks_each > 0) {
    float blocks_each = (float)s->blocks_each;
    memcpy(&span.more, &blocks_each, sizeof span.more);
  }
  t->tracks[span.track].n_spans++;
  t->tracks[span.track].n_device += kind_on_device(s->kind);
  t->n_kind[s->kind]++;
  t->spans[t->n_spans++] = span;
}

void timeline_add_fact(struct timeline *t, const char *key, struct bytes value) {
  if (t->n_facts == FACTS_MAX || timeline_fact(t, key) != NULL) return;
  const char *kept = copy_bytes(t, value);
  t->facts[t->n_facts].key = arena_copy(&t->arena, key);
  t->facts[t->n_facts++].value = kept;
}

void timeline_add_flow(struct timeline *t, const struct trace_flow *flow) {
  if (t->n_flows == FLOWS_MAX) {
    t->full = true;
    return;
  }
  make_room((void **)&t->flows, t->n_flows, &t->flows_room, sizeof *t->flows);
  t->flows[t->n_flows++] = *flow;
}

void timeline_init(struct timeline *timeline, bool operators_compute) {
  *timeline = (struct timeline){.tables = xalloc(1, sizeof *timeline->tables),
                                .facts = xalloc(FACTS_MAX, sizeof *timeline->facts),
                                .operators_compute = operators_compute};
}

/* --- joining --- */

static void join_calls(struct timeline *t) {
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    if (s->link == 0) continue;
    struct link *link = &t->links[s->link - 1];
    if (s->kind == TRACE_RUNTIME) {
      if (link->call == 0) link->call = (uint32_t)i + 1;
      t->has_calls = true;
    } else {
      if (link->n_device++ == 0) {
        link->first_ns = s->start_ns;
        link->device = t->tracks[s->track].process;
      }
      if (s->start_ns + s->duration_ns > link->last_ns || link->n_device == 1) link->last_ns = s->start_ns + s->duration_ns;
    }
  }
}

/* Formats with arrows number everything in one scope. */
static struct track *track_of(const struct timeline *t, const struct trace_flow *end) {
  bool on_device = end->device >= 0;
  const struct track wanted = {
      .on_device = on_device, .process = on_device ? end->device : end->process, .thread = on_device ? end->stream : end->thread};
  uint32_t found = t->n_tracks > 0 ? t->tables->tracks.at[track_slot(t, &wanted)] : 0;
  return found > 0 ? &t->tracks[found - 1] : NULL;
}

/* The span at an arrow's end: of the device the one that begins there, of the host the innermost call. NULL: none. */
static struct span *span_at(const struct timeline *t, const struct trace_flow *end) {
  const struct track *track = track_of(t, end);
  size_t low = 0, high = t->n_spans;
  while (track != NULL && low < high) {
    size_t middle = low + (high - low) / 2;
    if (t->spans[middle].start_ns <= end->at_ns) low = middle + 1;
    else high = middle;
  }
  for (size_t i = low, n = 0; track != NULL && i > 0 && n < NEAR_MAX; i--, n++) {
    struct span *s = &t->spans[i - 1];
    if (end->device >= 0 && s->start_ns < end->at_ns) break;
    if (&t->tracks[s->track] != track || sum_ns(s->start_ns, s->duration_ns) < end->at_ns) continue;
    if (end->device >= 0 ? kind_on_device((enum trace_kind)s->kind) : s->kind == TRACE_RUNTIME) return s;
  }
  return NULL;
}

static int by_flow(const void *a, const void *b) {
  const struct trace_flow *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return (int)y->begins - (int)x->begins;
}

static void join_launch(struct timeline *t, const struct trace_flow *from, const struct trace_flow *to) {
  struct span *device = span_at(t, to);
  if (device == NULL || (device->link != 0 && t->links[device->link - 1].call != 0)) return;
  struct span *call = span_at(t, from);
  if (call == NULL) return;
  if (call->link == 0) call->link = intern_link(t, from->id, -1);
  device->link = call->link;
}

/* What correlations do not join, arrows may. */
static void join_flows(struct timeline *t) {
  if (t->n_flows == 0) return;
  qsort(t->flows, t->n_flows, sizeof *t->flows, by_flow);
  for (size_t i = 1; i < t->n_flows; i++) {
    const struct trace_flow *from = &t->flows[i - 1], *to = &t->flows[i];
    if (from->kind == FLOW_LAUNCH && to->kind == FLOW_LAUNCH && from->id == to->id && from->begins && !to->begins) join_launch(t, from, to);
  }
  for (size_t i = 0; i < t->n_links; i++) t->links[i] = (struct link){.correlation = t->links[i].correlation, .scope = t->links[i].scope};
  join_calls(t);
}

/* Whoever hands work to a thread that launches it decides when it is launched. */
static void join_handovers(struct timeline *t) {
  for (size_t i = 1; i < t->n_flows; i++) {
    const struct trace_flow *from = &t->flows[i - 1], *to = &t->flows[i];
    if (from->kind != FLOW_HANDOVER || to->kind != FLOW_HANDOVER || from->id != to->id || !from->begins || to->begins) continue;
    struct track *giver = track_of(t, from);
    const struct track *taker = track_of(t, to);
    if (giver == NULL || taker == NULL) continue;
    giver->launches = giver->launches || taker->launches;
    giver->launches_on |= taker->launches_on;
  }
}

/* A stream does one thing at a time. Work may begin a little early, and nodes of a graph lie in each other; but what is said to end behind
 * the ends of many that follow it on its stream has a wrong duration (a counter that ran over). */
static void clip_durations(struct timeline *t) {
  enum { COVERED_MOST = 8 };
  struct running {
    uint32_t longest, next, n; /* indices + 1: what ends last so far; what followed it; how many it covers whole */
  } *running = xalloc(t->n_tracks + 1, sizeof *running);
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    if (!kind_on_device((enum trace_kind)s->kind)) continue;
    struct running *r = &running[s->track];
    struct span *longest = r->longest > 0 ? &t->spans[r->longest - 1] : NULL;
    if (longest == NULL || longest->start_ns + longest->duration_ns <= s->start_ns + s->duration_ns) {
      *r = (struct running){.longest = (uint32_t)i + 1};
      continue;
    }
    if (s->link != 0 && s->link == longest->link) continue;
    if (r->n++ == 0) r->next = (uint32_t)i + 1;
    if (r->n < COVERED_MOST || t->spans[r->next - 1].start_ns <= longest->start_ns) continue;
    longest->duration_ns = t->spans[r->next - 1].start_ns - longest->start_ns;
    t->n_clipped++;
    *r = (struct running){.longest = (uint32_t)i + 1};
  }
  free(running);
}

static bool is_launch(const struct timeline *t, const struct span *s) {
  return s->kind == TRACE_RUNTIME && t->names[s->name].work == WORK_LAUNCH;
}

/* Which calls launched a kernel that no call had launched before; 1 for each span. */
static uint8_t *find_first_launches(const struct timeline *t) {
  uint8_t *first = xalloc(t->n_spans + 1, 1), *seen = xalloc(t->n_names + 1, 1);
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    if (s->kind != TRACE_KERNEL) continue;
    uint32_t call = s->link != 0 ? t->links[s->link - 1].call : 0;
    if (call != 0 && !seen[s->name]) first[call - 1] = 1;
    seen[s->name] = 1;
  }
  free(seen);
  return first;
}

/* The first launch of a kernel loads its code, which takes a thousand times as long as a launch. */
static void mark_cold_launches(struct timeline *t) {
  enum { LAUNCHES_LEAST = 20, TIMES_MORE = 50, COLD_LEAST_NS = 1000000 };
  int64_t octaves[64] = {0}, seen = 0;
  for (size_t i = 0; i < t->n_spans; i++)
    if (is_launch(t, &t->spans[i]))
      octaves[t->spans[i].duration_ns > 0 ? 63 - __builtin_clzll((uint64_t)t->spans[i].duration_ns) : 0]++, t->n_launches++;
  if (t->n_launches < LAUNCHES_LEAST) return;
  int median = 0;
  while (median < 61 && 2 * (seen + octaves[median]) < t->n_launches) seen += octaves[median++];
  t->cold_median_ns = (INT64_C(1) << median) * 3 / 2; /* the middle of its octave */
  uint8_t *first = find_first_launches(t);
  for (size_t i = 0; i < t->n_spans; i++) {
    struct span *s = &t->spans[i];
    if (!is_launch(t, s) || !first[i] || s->duration_ns < COLD_LEAST_NS || s->duration_ns / TIMES_MORE < t->cold_median_ns) continue;
    s->flags |= SPAN_COLD;
    t->n_cold++;
    t->cold_ns = sum_ns(t->cold_ns, s->duration_ns);
  }
  free(first);
}

int by_ns(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

struct step {
  uint32_t track;
  size_t span;
};

static int by_track(const void *a, const void *b) {
  const struct step *x = a, *y = b;
  return x->track != y->track ? (x->track > y->track) - (x->track < y->track) : (x->span > y->span) - (x->span < y->span);
}

static void mark_cold_of(struct timeline *t, const struct step *steps, size_t n, int64_t *behind) {
  enum { TIMES_MORE = 3, MORE_LEAST_NS = 1000000 };
  for (size_t i = 0; i + 1 < n && i < (n + 1) / 2; i++) {
    size_t left = n - i - 1;
    for (size_t k = 0; k < left; k++) behind[k] = t->spans[steps[i + 1 + k].span].duration_ns;
    qsort(behind, left, sizeof *behind, by_ns);
    int64_t own_ns = t->spans[steps[i].span].duration_ns, usual_ns = behind[left / 2];
    if (own_ns / TIMES_MORE <= usual_ns || own_ns - usual_ns < MORE_LEAST_NS) break;
    t->spans[steps[i].span].flags |= SPAN_COLD;
    t->n_cold_steps++;
  }
}

/* What is made ready in the first steps is no part of the others, on each thread that marks steps. */
static void mark_cold_steps(struct timeline *t) {
  enum { STEPS_MAX = 4096 };
  struct step *steps = xalloc(STEPS_MAX, sizeof *steps);
  int64_t *behind = xalloc(STEPS_MAX, sizeof *behind);
  size_t n = 0;
  for (size_t i = 0; i < t->n_spans && n < STEPS_MAX; i++)
    if (t->names[t->spans[i].name].work == WORK_STEP && !t->tracks[t->spans[i].track].on_device)
      steps[n++] = (struct step){.track = t->spans[i].track, .span = i};
  qsort(steps, n, sizeof *steps, by_track);
  for (size_t from = 0, to; from < n; from = to) {
    for (to = from + 1; to < n && steps[to].track == steps[from].track;) to++;
    mark_cold_of(t, &steps[from], to - from, behind);
  }
  free(steps);
  free(behind);
}

/* A few that overlap are what a program does at once; many are things that live meanwhile. */
static void look_at_lives(struct timeline *t) {
  enum { OVERLAP_MOST = 8 };
  int64_t *ends = xalloc(t->n_spans + 1, sizeof *ends), *starts = xalloc(t->n_spans + 1, sizeof *starts);
  size_t n = 0;
  for (size_t i = 0; i < t->n_spans; i++)
    if (t->spans[i].flags & SPAN_LIFE) {
      starts[n] = t->spans[i].start_ns;
      ends[n++] = sum_ns(t->spans[i].start_ns, t->spans[i].duration_ns);
      t->lives_sum_ns = sum_ns(t->lives_sum_ns, t->spans[i].duration_ns);
    }
  if (n > 0) qsort(ends, n, sizeof *ends, by_ns);
  for (size_t i = 0, over = 0; i < n; i++) { /* spans are sorted by their start */
    while (over < n && ends[over] <= starts[i]) over++;
    if ((int64_t)(i + 1 - over) > t->lives_most) t->lives_most = (int64_t)(i + 1 - over);
  }
  free(ends);
  free(starts);
  t->n_lives = t->lives_most > OVERLAP_MOST ? (int64_t)n : 0;
  for (size_t i = 0; i < t->n_spans && t->n_lives == 0 && n > 0; i++) t->spans[i].flags &= (uint8_t)~SPAN_LIFE;
}

void timeline_finish(struct timeline *t) {
  spans_sort(t->spans, t->n_spans);
  look_at_lives(t);
  clip_durations(t);
  mark_cold_steps(t);
  join_calls(t);
  join_flows(t);
  mark_cold_launches(t);
  if (t->n_spans < t->room && t->n_spans > 0) {
    struct span *exact = realloc(t->spans, t->n_spans * sizeof *exact);
    if (exact != NULL) t->spans = exact;
  }
  for (size_t i = 0; i < t->n_spans; i++) {
    struct span *s = &t->spans[i];
    if (!kind_on_device((enum trace_kind)s->kind)) continue;
    t->n_device++;
    if (s->link == 0) {
      t->n_unlinked++;
      continue;
    }
    struct link *link = &t->links[s->link - 1];
    if (link->call == 0) {
      t->n_orphans++;
      if (t->has_calls) s->flags |= SPAN_ORPHAN;
      continue;
    }
    struct span *call = &t->spans[link->call - 1];
    call->flags |= SPAN_LAUNCHES;
    t->tracks[call->track].launches = true;
    int64_t device = t->tracks[s->track].process;
    if (device >= 0 && device < 64) t->tracks[call->track].launches_on |= (uint64_t)1 << device;
    t->n_early += s->start_ns < call->start_ns;
    if (link->n_device > 1 && memmem(t->names[call->name].text, t->names[call->name].length, "Graph", 5) != NULL) {
      t->n_graph_spans++;
      if (s->start_ns == link->first_ns) {
        s->flags |= SPAN_FIRST_OF_GRAPH;
        link->first_ns--; /* only one is the first */
        t->n_graph_launches++;
      }
    }
  }
  for (size_t i = 0; i < t->n_spans; i++)
    if (t->spans[i].flags & SPAN_FIRST_OF_GRAPH) t->links[t->spans[i].link - 1].first_ns++;
  join_handovers(t);
  free(t->flows);
  t->flows = NULL;
  free(t->tables->names.at);
  free(t->tables->tracks.at);
  free(t->tables->links.at);
  free(t->tables);
  t->tables = NULL;
}

void timeline_release(struct timeline *t) {
  if (t->tables != NULL) {
    free(t->tables->names.at);
    free(t->tables->tracks.at);
    free(t->tables->links.at);
  }
  free(t->tables);
  free(t->spans);
  free(t->names);
  free(t->tracks);
  free(t->links);
  free(t->flows);
  free(t->collectives);
  free(t->facts);
  arena_release(&t->arena);
  *t = (struct timeline){.n_spans = 0};
}

int64_t timeline_process(const struct timeline *t) {
  const struct track *busiest = NULL;
  for (size_t i = 0; i < t->n_tracks; i++)
    if (!t->tracks[i].on_device && (busiest == NULL || t->tracks[i].n_spans > busiest->n_spans)) busiest = &t->tracks[i];
  return busiest != NULL ? busiest->process : -1;
}

const char *timeline_fact(const struct timeline *timeline, const char *key) {
  for (size_t i = 0; i < timeline->n_facts; i++)
    if (strcmp(timeline->facts[i].key, key) == 0) return timeline->facts[i].value;
  return NULL;
}
