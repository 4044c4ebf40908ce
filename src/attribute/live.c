#include "attribute/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live_lanes.h"
#include "attribute/live_profile.h"
#include "attribute/live_roofline.h"
#include "attribute/live_samples.h"
#include "attribute/live_series.h"
#include "attribute/live_start.h"
#include "attribute/live_stops.h"
#include "attribute/live_traced.h"
#include "attribute/live_verdict.h"
#include "base/json.h"
#include "base/number.h"
#include "record/bundle.h"
#include "result/climb.h"

enum { UNSEEN_MAX = 64 };

struct gathering {
  struct live *live;
  struct bundle *bundle;
  const char *precision;
  struct bundle_session *sessions; /* complete ones of the precision */
  size_t n, room;
  struct live_samples *samples;
  struct live_starting *start;
  struct live_stopping *stopping;
};

static enum lynx_status keep_session(void *context, const struct bundle_session *s) {
  struct gathering *g = context;
  if (s->end != SESSION_COMPLETE || strcmp(s->precision, g->precision) != 0) return LYNX_OK;
  g->sessions = xroom(g->sessions, g->n, &g->room, sizeof *g->sessions);
  g->sessions[g->n++] = bundle_session_copy(s, &g->live->arena);
  return LYNX_OK;
}

static enum lynx_status keep_event(void *context, int64_t realtime_ns, enum event_kind kind, const char *text) {
  struct live *live = context;
  (void)realtime_ns;
  if (kind == EVENT_TRACE && live->n_trace_files < UNSEEN_MAX)
    result_add_text(&live->arena, &live->trace_files, &live->n_trace_files, live_words(&live->arena, text));
  if (kind != EVENT_UNSEEN || live->n_unseen == UNSEEN_MAX) return LYNX_OK;
  for (size_t i = 0; i < live->n_unseen; i++)
    if (strcmp(live->unseen[i], text) == 0) return LYNX_OK;
  result_add_text(&live->arena, &live->unseen, &live->n_unseen, live_words(&live->arena, text));
  return LYNX_OK;
}

/* --- the sessions --- */

/* What profilers cost: the throughput of their sessions beside that of the counted ones before them, in pairs. */
static struct interval cost_of_profiling(struct gathering *g, const struct result *result) {
  double lost[64] = {0};
  size_t n = 0;
  const struct result_precision *p = g->live->precision;
  for (size_t i = 0; i + 1 < g->n && n < LYNX_COUNT(lost); i++) {
    if (!purpose_measures(g->sessions[i].purpose) || g->sessions[i + 1].purpose != PURPOSE_ATTRIBUTE) continue;
    struct result_step with;
    if (climb_measure(g->bundle, &result->contract, &g->sessions[i + 1], &with, NULL) != LYNX_OK) continue;
    for (size_t k = 0; k < p->n_sessions; k++)
      if (p->sessions[k].id == g->sessions[i].id && result_throughput_of(p, &p->sessions[k]) > 0)
        lost[n++] = 1 - with.throughput / result_throughput_of(p, &p->sessions[k]);
  }
  struct interval cost = result_interval(lost, n > 0 ? n : 1, result->contract.method.confidence);
  /* Windows that differ by as much as that tell nothing of it. */
  bool tells = n > 0 && fabs(cost.estimate) < 1 && (!cost.bounded || cost.high - cost.low < 2);
  return tells ? cost : (struct interval){.estimate = NAN};
}

static bool add_sessions(struct gathering *g) {
  struct live *live = g->live;
  const struct bundle_session *above = NULL, *alone = NULL;
  bool good = true;
  for (size_t i = 0; i < g->n && good; i++) {
    const struct bundle_session *s = &g->sessions[i];
    if (s->purpose == PURPOSE_SEARCH && live->precision->knee > 0 && s->concurrency > live->precision->knee &&
        (above == NULL || s->concurrency < above->concurrency))
      above = s;
    if (s->purpose == PURPOSE_SEARCH && s->concurrency == 1) alone = s;
    if (!purpose_measures(s->purpose) && s->purpose != PURPOSE_CERTIFY) continue;
    good = live_lanes_add(&live->arena, g->bundle, s, &live->at);
    live->at.concurrency = s->concurrency;
    good = good && live_samples_add(g->samples, g->bundle, s) && live_start_add(g->start, g->bundle, s) &&
           live_stops_add(g->stopping, g->bundle, s);
  }
  if (above != NULL && good) {
    live->beyond.concurrency = above->concurrency;
    good = live_lanes_add(&live->arena, g->bundle, above, &live->beyond);
  }
  if (alone != NULL && good) {
    live->alone.concurrency = 1;
    good = live_lanes_add(&live->arena, g->bundle, alone, &live->alone);
  }
  live_lanes_finish(&live->at);
  live_lanes_finish(&live->alone);
  live_lanes_finish(&live->beyond);
  bool drawn = good && live_series_begin(live, g->sessions, g->n);
  for (size_t i = 0; i < g->n && drawn; i++) live_series_add(live, g->bundle, &g->sessions[i]);
  struct live_profile *profile = live_profile_new(live);
  for (size_t i = 0; i < g->n; i++)
    if (g->sessions[i].purpose == PURPOSE_ATTRIBUTE) live_profile_add(profile, g->bundle, &g->sessions[i]);
  for (size_t i = 0; i < g->n; i++) good = live_traced_add(live, g->bundle, &g->sessions[i]) && good;
  live_profile_finish(profile);
  live_traced_finish(live);
  return good;
}

/* --- a request's life --- */

static void add_phase(struct live *live, const char *name, double ns, bool attributed) {
  if (live->n_phases == LYNX_COUNT(live->phases) || !(ns > 0)) return;
  live->phases[live->n_phases++] = (struct live_phase){name, ns, attributed};
}

static size_t place_in(const char *const *order, size_t n, const char *name) {
  size_t k = 0;
  while (k < n && strcmp(order[k], name) != 0) k++;
  return k;
}

/* The least round trip, once a request, connections being kept. */
static double wire_ns(const struct live *live, double room) {
  double ns = live->around.round_trip_s * 1e9;
  return ns > 0 && room > 0 ? fmin(ns, room) : 0;
}

/* told: the sum of the server's own phases; whole: of a request's life, of the answers that tell of phases. */
static void read_phases_of_server(struct live *live, double sending, double told, double whole) {
  static const char *const order[] = {"queue", "prefill", "decode"}; /* as a request meets them; what else there is comes after */
  const struct result_precision *p = live->precision;
  live->life_ns = fmax(whole, told) + sending;
  live->phases_of_server = true;
  double wire = wire_ns(live, live->life_ns - told - sending);
  add_phase(live, "client", sending, true);
  add_phase(live, "network", wire, true);
  for (size_t k = 0; k <= LYNX_COUNT(order); k++)
    for (size_t i = 0; i < p->n_phases; i++)
      if (place_in(order, LYNX_COUNT(order), p->phases[i].name) == k) add_phase(live, p->phases[i].name, p->phases[i].mean_ns, true);
  add_phase(live, "not attributed", live->life_ns - told - sending - wire, false);
}

/* The server's own phases where it tells any; else what the client sees. They sum to the mean life, what is left over being a line. */
static void read_life(struct live *live) {
  const struct result_precision *p = live->precision;
  double first = p->latency[METRIC_TIME_TO_FIRST_TOKEN].mean.interval.estimate, told = 0;
  live->life_ns = p->latency[METRIC_END_TO_END].mean.interval.estimate;
  if (!(live->life_ns > 0) || !isfinite(live->life_ns)) return;
  double sending = p->send_lag.n > 0 ? p->send_lag.p50 : 0;
  for (size_t i = 0; i < p->n_phases; i++) told += p->phases[i].mean_ns;
  double covered = 1 - p->phases_rest_share, whole = told > 0 && covered > 0 ? told / covered : 0; /* of the answers that tell of phases */
  if (whole > 0 && covered <= 1.1) { /* totals of the server are of whole sessions, so that they may exceed it by a little */
    read_phases_of_server(live, sending, told, whole);
    return;
  }
  bool whole_answers = !(first > 0) || !isfinite(first) || first > live->life_ns;
  double wire = wire_ns(live, (whole_answers ? live->life_ns : first) - sending);
  add_phase(live, "client", sending, true);
  add_phase(live, "network", wire, true);
  if (whole_answers) {
    add_phase(live, "in the server", live->life_ns - sending - wire, false);
    return;
  }
  const struct result_point *alone = p->n_steps > 0 && p->steps[0].concurrency == 1 ? &p->steps[0].point : NULL;
  double single = alone != NULL ? alone->time_to_first_token_p50 : NAN,
         median = p->latency[METRIC_TIME_TO_FIRST_TOKEN].at[0].quantile.estimate;
  double others = single > 0 && median > single && first - sending - wire > median - single ? median - single : 0;
  add_phase(live, "waiting for others", others, true);
  add_phase(live, "to the first token", first - sending - wire - others, true);
  add_phase(live, "decode", live->life_ns - first, true);
}

/* Little, «A Proof for the Queuing Formula L = λW» (1961). */
static void read_in_flight(struct live *live) {
  bool closed = load_is_closed(live->result->contract.regime.load) || live->precision->knee > 0;
  live->in_flight = closed              ? (double)live->at.concurrency
                    : live->life_ns > 0 ? live->precision->request_rate.estimate * live->life_ns / 1e9
                                        : NAN;
  /* An open load's sessions say how many it would allow. */
  if (!closed) live->at.concurrency = live->in_flight >= 0 && live->in_flight < 1e9 ? llround(live->in_flight) : 0;
}

/* --- */

/* sampled_host: of a server that is not on the machine whose facts were read (`merge`); NULL. */
static void read_machine(struct live *live, const char *sampled_host) {
  const char *threads = live_fact(live, LAYER_ACCELERATOR, "topology.threads");
  json_t *host = sampled_host != NULL ? json_parse(sampled_host, strlen(sampled_host), 65536, NULL) : NULL;
  int64_t n = json_get_int(host, "processors", 0);
  json_decref(host);
  if (n > 0 && n < 65536) live->n_processors = n;
  else if (threads == NULL || !number_int64(threads, strlen(threads), &live->n_processors)) live->n_processors = 0;
  for (size_t i = 0; i < live->at.n_lanes && live->n_processors == 0; i++) live->n_processors = live->at.lanes[i].n_processors;
}

bool live_read(struct bundle *bundle, const struct result *result, struct live *ret) {
  *ret = (struct live){.result = result, .lock_held = NAN};
  for (size_t i = 0; i < result->n_precisions && ret->precision == NULL; i++)
    if (!result->precisions[i].unavailable && result->precisions[i].n_complete > 0) ret->precision = &result->precisions[i];
  if (ret->precision == NULL) return false;
  struct gathering g = {.live = ret, .bundle = bundle, .precision = ret->precision->name};
  g.samples = live_samples_new(ret);
  g.start = live_start_new();
  g.stopping = live_stops_new(ret);
  bool good = bundle_each_session(bundle, keep_session, &g, NULL) == LYNX_OK &&
              bundle_start_facts(bundle, ret->precision->name, &ret->facts, NULL) == LYNX_OK &&
              bundle_each_event(bundle, keep_event, ret, NULL) == LYNX_OK && add_sessions(&g);
  live_samples_finish(g.samples);
  live_start_finish(g.start, &ret->start);
  live_stops_finish(g.stopping);
  if (good) {
    ret->profiling_cost = cost_of_profiling(&g, result);
    read_machine(ret, bundle_meta(bundle, "sampled_host"));
    read_life(ret);
    read_in_flight(ret);
    live_roofline_read(ret, bundle_meta(bundle, "envelope"));
    live_judge(ret);
  }
  free(g.sessions);
  if (!good) live_release(ret);
  return good;
}

void live_release(struct live *live) {
  fact_list_release(&live->facts);
  arena_release(&live->arena);
  *live = (struct live){.result = NULL};
}
