#include "attribute/live_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live_lanes.h"

enum { THREADS_MAX = 65536 };

static const int64_t longest_ns = INT64_C(7) * 86400 * 1000000000;

static int64_t length_of(const struct bundle_session *s) {
  return s->warm_up_ns + s->counted_ns;
}

bool live_series_begin(struct live *live, const struct bundle_session *sessions, size_t n) {
  struct live_series *x = &live->series;
  int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;
  for (size_t i = 0; i < n; i++) {
    const struct bundle_session *s = &sessions[i];
    if (s->start_realtime_ns < 0 || s->start_realtime_ns > INT64_MAX / 2 || s->warm_up_ns < 0 || s->counted_ns < 0 ||
        s->warm_up_ns > longest_ns || s->counted_ns > longest_ns)
      return false;
    if (s->start_realtime_ns < from_ns) from_ns = s->start_realtime_ns;
    if (s->start_realtime_ns + length_of(s) > to_ns) to_ns = s->start_realtime_ns + length_of(s);
  }
  if (n == 0 || to_ns <= from_ns || to_ns - from_ns > longest_ns) return false;
  x->from_ns = from_ns;
  x->bin_ns = (double)(to_ns - from_ns) / LIVE_BINS;
  for (size_t i = 0; i < live->at.n_lanes && x->n_tracks < LIVE_TRACKS_MAX; i++)
    if (live->at.lanes[i].running + live->at.lanes[i].ready >= 0.02) x->tracks[x->n_tracks++].lane = i;
  for (size_t i = 0; i < LIVE_BINS; i++) x->busy[i] = x->waiting[i] = NAN;
  return true;
}

struct adding {
  struct live *live;
  int64_t zero_ns; /* of the session, on the line of time */
  struct known {
    int64_t process, thread;
    size_t track;
  } * known; /* by process and thread, as the rows come */
  size_t n, room;
};

static enum lynx_status take_name(void *context, int64_t session, const struct thread_name *name) {
  struct adding *a = context;
  struct live_series *x = &a->live->series;
  (void)session;
  const struct live_lane *lane = live_lane_of(&a->live->arena, &a->live->at, name, false);
  for (size_t i = 0; lane != NULL && i < x->n_tracks && a->n < THREADS_MAX; i++) {
    if (&a->live->at.lanes[x->tracks[i].lane] != lane) continue;
    a->known = xroom(a->known, a->n, &a->room, sizeof *a->known);
    a->known[a->n++] = (struct known){name->process, name->thread, i};
  }
  return LYNX_OK;
}

static int by_thread(const void *a, const void *b) {
  const struct known *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Spread evenly over the stretch. */
static enum lynx_status take_activity(void *context, int64_t session, const struct thread_activity *row) {
  struct adding *a = context;
  struct live_series *x = &a->live->series;
  const struct known wanted = {.process = row->process, .thread = row->thread};
  const struct known *one = a->n > 0 ? bsearch(&wanted, a->known, a->n, sizeof wanted, by_thread) : NULL;
  double end = ((double)a->zero_ns + (double)row->at_ns) / x->bin_ns, begin = end - (double)row->span_ns / x->bin_ns;
  (void)session;
  if (one == NULL || !(end > begin) || !(end - begin < LIVE_BINS) || row->running_ns < 0 || row->ready_ns < 0) return LYNX_OK;
  struct live_track *track = &x->tracks[one->track];
  double running = fmin(1, (double)row->running_ns / (double)row->span_ns),
         ready = fmin(1 - running, (double)row->ready_ns / (double)row->span_ns);
  if (!(begin < LIVE_BINS) || !(end > 0)) return LYNX_OK;
  for (size_t bin = begin > 0 ? (size_t)begin : 0; bin < LIVE_BINS && (double)bin < end; bin++) {
    double within = fmin(end, (double)bin + 1) - fmax(begin, (double)bin);
    if (!(within > 0)) continue;
    track->running[bin] += within * running;
    track->ready[bin] += within * ready;
  }
  return LYNX_OK;
}

static enum lynx_status take_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct adding *a = context;
  struct live_series *x = &a->live->series;
  double at = ((double)a->zero_ns + (double)at_ns) / x->bin_ns;
  (void)session;
  if (!(at >= 0) || !(at < LIVE_BINS) || !(value >= 0)) return LYNX_OK;
  size_t bin = (size_t)at;
  if (strcmp(series, "machine.busy_ratio") == 0 && value < 1.5) x->busy[bin] = value;
  if (strcmp(series, "server.waiting") == 0 && value < 1e9) x->waiting[bin] = value;
  return LYNX_OK;
}

static const char *label_of(struct live *live, const struct bundle_session *s) {
  if (s->purpose == PURPOSE_ATTRIBUTE) return "profilers";
  if (s->purpose == PURPOSE_TRACE) return "its profiler";
  if (s->purpose == PURPOSE_SEARCH && s->concurrency > 0) return arena_printf(&live->arena, "%lld", (long long)s->concurrency);
  return purpose_measures(s->purpose) || s->purpose == PURPOSE_CERTIFY ? "counted" : "";
}

void live_series_add(struct live *live, struct bundle *bundle, const struct bundle_session *session) {
  struct live_series *x = &live->series;
  struct adding a = {.live = live, .zero_ns = session->start_realtime_ns - x->from_ns};
  if (x->n_marks < LIVE_MARKS_MAX)
    x->marks[x->n_marks++] = (struct live_mark){(double)(a.zero_ns + session->warm_up_ns) / x->bin_ns,
                                                (double)(a.zero_ns + length_of(session)) / x->bin_ns, label_of(live, session),
                                                purpose_measures(session->purpose) || session->purpose == PURPOSE_CERTIFY};
  bool good = bundle_each_thread(bundle, session->id, take_name, &a, NULL) == LYNX_OK &&
              bundle_each_activity(bundle, session->id, take_activity, &a, NULL) == LYNX_OK &&
              bundle_each_sample(bundle, session->id, take_sample, &a, NULL) == LYNX_OK;
  (void)good; /* a picture without some of its rows is still one */
  free(a.known);
}
