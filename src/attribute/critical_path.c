#include "attribute/critical_path.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* Device spans of the account in order of start, with what came before each on its stream; and the host's waiting calls. */
struct walk {
  const struct timeline *timeline;
  struct account *account;
  struct critical_path *path;
  uint32_t *device; /* [n_device]: span */
  int64_t *before;  /* [n_device]: index into device, or NONE */
  uint32_t *by_end; /* [n_device]: index into device, by end */
  size_t n_device;
  uint32_t *waits; /* [n_waits]: calls that may wait for the device, by start */
  size_t n_waits;
};

static int64_t end_of(const struct span *s) {
  return s->start_ns + s->duration_ns;
}

static const struct span *device_span(const struct walk *w, size_t i) {
  return &w->timeline->spans[w->device[i]];
}

/* Memory is given back once the device is done with it: cudaFree and hipFree wait for all that runs, and their Async forms for nothing
 * (CUDA C++ Programming Guide, Implicit Synchronization). */
static bool waits_to_free(const struct span_name *name) {
  return name->work == WORK_ALLOCATE && memmem(name->text, name->length, "Free", 4) != NULL &&
         memmem(name->text, name->length, "Async", 5) == NULL;
}

static bool may_wait(const struct timeline *t, const struct span *s) {
  const struct span_name *name = &t->names[s->name];
  return s->kind == TRACE_RUNTIME && (name->work == WORK_SYNCHRONISE || name->work == WORK_COPY_CALL || waits_to_free(name));
}

static int compare_ends(const void *a, const void *b, void *context) {
  const struct walk *w = context;
  int64_t x = end_of(device_span(w, *(const uint32_t *)a)), y = end_of(device_span(w, *(const uint32_t *)b));
  return x < y ? -1 : x > y;
}

static void prepare(struct walk *w, enum orphan_policy orphans) {
  const struct timeline *t = w->timeline;
  int64_t *last = xalloc(t->n_tracks + 1, sizeof *last); /* index + 1 of the last on each track */
  size_t n_device = 0, n_waits = 0;
  for (size_t i = 0; i < t->n_spans; i++) {
    n_device += kind_on_device((enum trace_kind)t->spans[i].kind);
    n_waits += may_wait(t, &t->spans[i]);
  }
  w->device = xalloc(n_device + 1, sizeof *w->device);
  w->before = xalloc(n_device + 1, sizeof *w->before);
  w->by_end = xalloc(n_device + 1, sizeof *w->by_end);
  w->waits = xalloc(n_waits + 1, sizeof *w->waits);
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    if (may_wait(t, s)) w->waits[w->n_waits++] = (uint32_t)i;
    if (!kind_on_device((enum trace_kind)s->kind) || t->tracks[s->track].process != w->account->device) continue;
    if ((s->flags & SPAN_ORPHAN) && orphans == ORPHANS_DROP) continue;
    w->before[w->n_device] = last[s->track] - 1;
    w->by_end[w->n_device] = (uint32_t)w->n_device;
    last[s->track] = (int64_t)w->n_device + 1;
    w->device[w->n_device++] = (uint32_t)i;
  }
  free(last);
  qsort_r(w->by_end, w->n_device, sizeof *w->by_end, compare_ends, w);
}

/* The device span that ended last, not after that time. */
static int64_t ended_before(const struct walk *w, int64_t at_ns) {
  size_t low = 0, high = w->n_device;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (end_of(device_span(w, w->by_end[middle])) <= at_ns) low = middle + 1;
    else high = middle;
  }
  return low == 0 ? NONE : (int64_t)w->by_end[low - 1];
}

/* The last call of that thread that may have waited and ended not after that time. */
static const struct span *wait_before(const struct walk *w, uint16_t track, int64_t at_ns) {
  size_t low = 0, high = w->n_waits;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (w->timeline->spans[w->waits[middle]].start_ns < at_ns) low = middle + 1;
    else high = middle;
  }
  for (; low > 0; low--) {
    const struct span *s = &w->timeline->spans[w->waits[low - 1]];
    if (s->track == track && end_of(s) <= at_ns) return s;
  }
  return NULL;
}

static void add_state(struct walk *w, enum account_state state, int64_t from_ns, int64_t to_ns) {
  const struct account *a = w->account;
  if (from_ns < a->from_ns) from_ns = a->from_ns;
  if (to_ns > a->to_ns) to_ns = a->to_ns;
  if (to_ns > from_ns) w->account->path_ns[state] += to_ns - from_ns;
}

static void add_host(struct walk *w, int64_t from_ns, int64_t to_ns) {
  struct critical_path *p = w->path;
  if (from_ns < w->account->from_ns) from_ns = w->account->from_ns;
  if (to_ns <= from_ns) return;
  p->host = xroom(p->host, p->n_host, &p->room, sizeof *p->host);
  p->host[p->n_host++] = (struct host_stretch){from_ns, to_ns};
}

static enum account_state state_of(const struct timeline *t, const struct span *s) {
  const struct span_name *name = &t->names[s->name];
  if (name->work < WORK_COMPUTE_END) return (enum account_state)(STATE_COMPUTE + name->work);
  if (name->work == WORK_COMMUNICATION) return STATE_COMMUNICATION;
  if (name->work == WORK_SET) return STATE_SET;
  const char *way = copy_direction((struct bytes){name->text, name->length});
  return strcmp(way, "HtoD") == 0 ? STATE_COPY_TO_DEVICE : strcmp(way, "DtoH") == 0 ? STATE_COPY_TO_HOST : STATE_COPY_OTHER;
}

/* Where the walk stands: on a device span, or on a host thread. */
struct place {
  int64_t at_ns, device; /* device: index, or NONE for the host */
  uint16_t track;
};

static struct place step_back_on_device(struct walk *w, struct place here) {
  const struct timeline *t = w->timeline;
  const struct account *a = w->account;
  const struct span *s = device_span(w, (size_t)here.device);
  const struct span *call = s->link != 0 && t->links[s->link - 1].call != 0 ? &t->spans[t->links[s->link - 1].call - 1] : NULL;
  int64_t before = w->before[here.device], begun_ns = s->start_ns, free_ns = INT64_MIN;
  add_state(w, state_of(t, s), begun_ns, here.at_ns);
  if (before != NONE) free_ns = end_of(device_span(w, (size_t)before));
  if (free_ns > begun_ns) free_ns = begun_ns;
  if (call != NULL && call->start_ns >= free_ns) { /* it waited for its launch */
    int64_t handed_ns = end_of(call) < begun_ns ? end_of(call) : begun_ns;
    int64_t soon_ns = handed_ns + a->threshold_ns < begun_ns ? handed_ns + a->threshold_ns : begun_ns;
    int64_t other = ended_before(w, begun_ns);
    if (other != NONE && begun_ns > soon_ns && end_of(device_span(w, (size_t)other)) > handed_ns) { /* for another stream, it seems */
      add_state(w, STATE_LATENCY, end_of(device_span(w, (size_t)other)), begun_ns);
      return (struct place){end_of(device_span(w, (size_t)other)), other, 0};
    }
    add_state(w, STATE_LAUNCH, call->start_ns, handed_ns);
    add_state(w, STATE_LATENCY, handed_ns, soon_ns);
    add_state(w, STATE_QUEUED, soon_ns, begun_ns);
    return (struct place){call->start_ns < begun_ns ? call->start_ns : begun_ns - 1, NONE, call->track};
  }
  if (before == NONE) return (struct place){INT64_MIN, NONE, 0};
  int64_t other = ended_before(w, begun_ns);
  if (other != NONE && begun_ns - free_ns > a->threshold_ns && end_of(device_span(w, (size_t)other)) > free_ns && other != here.device) {
    free_ns = end_of(device_span(w, (size_t)other));
    before = other;
  }
  int64_t soon_ns = free_ns + a->threshold_ns < begun_ns ? free_ns + a->threshold_ns : begun_ns;
  add_state(w, STATE_LATENCY, free_ns, soon_ns);
  add_state(w, STATE_QUEUED, soon_ns, begun_ns);
  return (struct place){free_ns, before, 0};
}

static struct place step_back_on_host(struct walk *w, struct place here) {
  const struct span *call = wait_before(w, here.track, here.at_ns);
  if (call == NULL) {
    add_host(w, w->account->from_ns, here.at_ns);
    return (struct place){INT64_MIN, NONE, 0};
  }
  int64_t waited_for = ended_before(w, end_of(call));
  if (waited_for != NONE && end_of(device_span(w, (size_t)waited_for)) > call->start_ns) {
    add_host(w, end_of(call), here.at_ns);
    add_state(w, STATE_SYNC, end_of(device_span(w, (size_t)waited_for)), end_of(call));
    return (struct place){end_of(device_span(w, (size_t)waited_for)), waited_for, 0};
  }
  add_host(w, call->start_ns, here.at_ns); /* it waited for nothing that is seen */
  return (struct place){call->start_ns, NONE, here.track};
}

void critical_path_find(const struct timeline *timeline, struct account *account, enum orphan_policy orphans, struct critical_path *ret) {
  struct walk w = {.timeline = timeline, .account = account, .path = ret};
  *ret = (struct critical_path){.n_host = 0};
  if (account->device < 0) return;
  prepare(&w, orphans);
  int64_t last = ended_before(&w, account->to_ns);
  if (last != NONE) {
    struct place here = {end_of(device_span(&w, (size_t)last)), last, 0};
    /* A window of steps ends on the host: with the last call that waited, of the thread that launched last. */
    const struct span *s = device_span(&w, (size_t)last);
    if (account->window == WINDOW_STEPS && s->link != 0 && timeline->links[s->link - 1].call != 0)
      here = (struct place){account->to_ns, NONE, timeline->spans[timeline->links[s->link - 1].call - 1].track};
    for (size_t n = 0; here.at_ns > account->from_ns && n < 4 * (w.n_device + w.n_waits) + 16; n++)
      here = here.device != NONE ? step_back_on_device(&w, here) : step_back_on_host(&w, here);
  }
  free(w.device);
  free(w.before);
  free(w.by_end);
  free(w.waits);
}

void critical_path_release(struct critical_path *path) {
  free(path->host);
  *path = (struct critical_path){.n_host = 0};
}
