#include "measure/merge_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/endpoint.h"
#include "contract/contract.h"
#include "measure/host_samples.h"

enum { SESSIONS_MAX = 10000, CLOCK_OFF_MOST_US = 500000 };

struct window {
  int64_t id, from_ns, to_ns, counted_from_ns, counted_to_ns; /* by the wall clock */
  bool counted, covered;                                      /* covered: something was seen in its counted part */
};

struct joining {
  struct arena arena;
  struct bundle *run, *out;
  struct bundle_seal_info seal;
  struct merge_samples_outcome *outcome;
  struct lynx_error *error;
  struct window *windows;
  size_t n, room;
  int64_t n_threads;
  int64_t session; /* whose samples are being copied */
  struct host_samples_head head;
  int64_t last_ns;
};

/* --- the run --- */

static enum lynx_status count_thread(void *context, int64_t session, const struct thread_name *name) {
  struct joining *j = context;
  (void)session;
  (void)name;
  j->n_threads++;
  return LYNX_OK;
}

static enum lynx_status keep_window(void *context, const struct bundle_session *s) {
  struct joining *j = context;
  static const int64_t longest_ns = INT64_C(7) * 86400 * 1000000000;
  if (j->n == SESSIONS_MAX) return lynx_fail(j->error, LYNX_LIMIT, "found more than %d sessions", SESSIONS_MAX);
  if (s->start_realtime_ns < 0 || s->start_realtime_ns > INT64_MAX / 2 || s->warm_up_ns < 0 || s->counted_ns < 0 || s->drain_ns < 0 ||
      s->warm_up_ns > longest_ns || s->counted_ns > longest_ns || s->drain_ns > longest_ns)
    return lynx_fail(j->error, LYNX_INPUT, "session %" PRId64 " has times that no run has", s->id);
  int64_t counted_ns = s->start_realtime_ns + s->warm_up_ns, counted_to_ns = counted_ns + s->counted_ns;
  j->windows = xroom(j->windows, j->n, &j->room, sizeof *j->windows);
  j->windows[j->n++] = (struct window){.id = s->id,
                                       .from_ns = s->start_realtime_ns,
                                       .to_ns = counted_to_ns + s->drain_ns,
                                       .counted_from_ns = counted_ns,
                                       .counted_to_ns = counted_to_ns,
                                       .counted = purpose_measures(s->purpose) || s->purpose == PURPOSE_CERTIFY};
  return LYNX_OK;
}

/* Of the machine that generated the load: what is joined now is the executor's. */
static bool is_of_machine(const char *series) {
  static const char *const of[] = {"machine.", "neighbour.", "power.", "gpu.", "disk.", "sampling."};
  for (size_t i = 0; i < LYNX_COUNT(of); i++)
    if (strncmp(series, of[i], strlen(of[i])) == 0) return true;
  return false;
}

static enum lynx_status copy_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct joining *j = context;
  bundle_put_sample(j->out, session, at_ns, is_of_machine(series) ? arena_printf(&j->arena, "client.%s", series) : series, value);
  return LYNX_OK;
}

/* --- the samples --- */

/* The session that began last before it: what may be drained of one before it is over by then. */
static struct window *window_at(const struct joining *j, int64_t at_ns) {
  struct window *found = NULL;
  for (size_t i = 0; i < j->n; i++)
    if (at_ns >= j->windows[i].from_ns && (found == NULL || j->windows[i].from_ns > found->from_ns)) found = &j->windows[i];
  return found != NULL && at_ns <= found->to_ns ? found : NULL;
}

/* What a sampler on the server's host can have seen; nothing that the client saw, or asked the server for, is replaced. */
static bool is_of_server(const char *series) {
  static const char *const own[] = {"throttled_ratio",  "minor_faults_per_s",    "major_faults_per_s", "resident_bytes",
                                    "read_bytes_per_s", "accept_queue",          "accept_full_ratio",  "dropped_per_s",
                                    "node_run_ratio",   "memory_elsewhere_ratio"};
  if (strncmp(series, "server.", 7) != 0) return is_of_machine(series);
  for (size_t i = 0; i < LYNX_COUNT(own); i++)
    if (strcmp(series + 7, own[i]) == 0) return true;
  return false;
}

/* What the file says is looked at once before anything is written. */
static void see(struct joining *j, int64_t at_ns) {
  struct window *w = window_at(j, at_ns);
  if (w != NULL && at_ns >= w->counted_from_ns && at_ns <= w->counted_to_ns) w->covered = true;
}

static void see_value(void *context, int64_t at_ns, const char *series, double value) {
  (void)value;
  if (is_of_server(series)) see(context, at_ns);
}

static void see_activity(void *context, const struct thread_activity *activity) {
  see(context, activity->at_ns);
}

static void put_value(void *context, int64_t at_ns, const char *series, double value) {
  struct joining *j = context;
  const struct window *w = window_at(j, at_ns);
  if (w == NULL || !is_of_server(series)) return;
  bundle_put_sample(j->out, w->id, at_ns - w->from_ns, series, value);
  j->outcome->n_values++;
}

/* In every session: which of them a thread was busy in, its rows say. */
static void put_name(void *context, const struct thread_name *name) {
  struct joining *j = context;
  for (size_t i = 0; i < j->n; i++) bundle_put_thread(j->out, j->windows[i].id, name);
}

static void put_activity(void *context, const struct thread_activity *activity) {
  struct joining *j = context;
  struct thread_activity own = *activity;
  const struct window *w = window_at(j, own.at_ns);
  if (w == NULL) return;
  own.at_ns -= w->from_ns;
  bundle_put_activity(j->out, w->id, &own);
  j->outcome->n_activities++;
}

/* --- do they belong together? --- */

static enum lynx_status check_run(struct joining *j) {
  enum lynx_status status = bundle_each_session(j->run, keep_window, j, j->error);
  for (size_t i = 0; i < j->n && status == LYNX_OK; i++) status = bundle_each_thread(j->run, j->windows[i].id, count_thread, j, j->error);
  if (status != LYNX_OK) return status;
  if (j->seal.n_withheld > 0)
    return lynx_fail(j->error, LYNX_INPUT, "found a copy from which sections were withheld (%s); accepted: the original", j->seal.withheld);
  if (bundle_meta(j->run, "part") != NULL)
    return lynx_fail(j->error, LYNX_INPUT, "found a part of a run; accepted: the whole (`lynxbench merge PART ...` first)");
  if (j->n_threads > 0)
    return lynx_fail(
        j->error, LYNX_INPUT,
        "the run saw the serving process itself: its samples are in it already; accepted: a run whose server is on another host");
  return LYNX_OK;
}

/* A process that listens elsewhere is not the one that was measured; false where a forwarder may be in between. */
static enum lynx_status check_port(struct joining *j, bool any_port) {
  struct endpoint endpoint;
  struct arena arena = {0};
  struct contract contract = {0};
  struct problem_list problems = {0};
  const char *own = bundle_meta(j->run, "endpoint"), *text = bundle_meta(j->run, "contract");
  if (own == NULL && text != NULL && contract_parse(text, strlen(text), &arena, &contract, &problems) == LYNX_OK)
    own = contract.executor.endpoint;
  bool known = own != NULL && endpoint_parse(own, &endpoint, NULL) == LYNX_OK && j->head.n_ports > 0, there = !known || any_port;
  int64_t port = known ? endpoint.port : 0;
  for (size_t i = 0; i < j->head.n_ports && !there; i++) there = j->head.ports[i] == port;
  arena_release(&arena);
  if (there) return LYNX_OK;
  return lynx_fail(
      j->error, LYNX_INPUT,
      "these samples are of %s (process %" PRId64 "), which does not listen at port %" PRId64
      ", where the run's requests went; accepted: samples of the serving process, or --any-port where a forwarder is in between",
      j->head.program, j->head.process, port);
}

static enum lynx_status check_windows(struct joining *j) {
  struct merge_samples_outcome *o = j->outcome;
  int64_t first_ns = INT64_MAX, last_ns = 0;
  char texts[4][40];
  for (size_t i = 0; i < j->n; i++) {
    const struct window *w = &j->windows[i];
    if (w->from_ns < first_ns) first_ns = w->from_ns;
    if (w->to_ns > last_ns) last_ns = w->to_ns;
    if (!w->counted) continue;
    o->n_windows++;
    o->n_covered += w->covered && w->counted_from_ns >= j->head.begun_ns && w->counted_to_ns <= j->last_ns;
  }
  if (o->n_covered > 0) return LYNX_OK;
  return lynx_fail(j->error, LYNX_INPUT,
                   "no counted window lies within these samples: they are of %s to %s on '%s', the run's sessions of %s to %s",
                   clock_text(texts[0], j->head.begun_ns), clock_text(texts[1], j->last_ns), j->head.host.name,
                   clock_text(texts[2], j->n > 0 ? first_ns : 0), clock_text(texts[3], last_ns));
}

/* --- the whole --- */

static void put_unseen(struct joining *j, const char *text) {
  bundle_put_event(j->out, j->head.begun_ns, EVENT_UNSEEN, text);
}

static void put_notes(struct joining *j) {
  const struct merge_samples_outcome *o = j->outcome;
  const struct host *h = &j->head.host;
  struct host own;
  host_read(&own);
  put_unseen(j, arena_printf(&j->arena, "profiles of the serving process: it is on '%s', where only samplers ran", h->name));
  if (o->n_covered < o->n_windows)
    put_unseen(j,
               arena_printf(&j->arena, "the serving process in %" PRId64 " of %" PRId64 " counted windows: its samples do not cover them",
                            o->n_windows - o->n_covered, o->n_windows));
  if (h->boot[0] != 0 && strcmp(h->boot, own.boot) == 0) return; /* one machine has one clock */
  if (!h->clock_synchronised || h->clock_off_at_most_us < 0 || h->clock_off_at_most_us > CLOCK_OFF_MOST_US)
    put_unseen(j, arena_printf(&j->arena,
                               "when exactly something happened on '%s': its kernel does not say that its clock is right to half a second",
                               h->name));
}

static void put_meta(struct joining *j) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, 65536);
  json_begin_object(&json, &text);
  host_write(&j->head.host, &json);
  json_put_int(&json, "process", j->head.process);
  json_put_text(&json, "program", j->head.program);
  json_put_int(&json, "processors", j->head.n_processors);
  json_put_text(&json, "run", j->seal.root);
  json_close(&json);
  lynx_assert(json_finish(&json));
  bundle_put_meta(j->out, "sampled_host", text.data);
  buffer_release(&text);
}

static enum lynx_status write_whole(struct joining *j, const char *samples, size_t length) {
  const struct host_samples_visit visit = {j, put_value, put_name, put_activity};
  struct merge_samples_outcome *o = j->outcome;
  enum lynx_status status = bundle_copy(j->run, j->out, "sample", j->error);
  for (size_t i = 0; i < j->n && status == LYNX_OK; i++) status = bundle_each_sample(j->run, j->windows[i].id, copy_sample, j, j->error);
  if (status == LYNX_OK) status = host_samples_read(samples, length, &visit, &j->head, &j->last_ns, j->error);
  if (status != LYNX_OK) return status;
  put_meta(j);
  put_notes(j);
  o->end = j->seal.end;
  (void)snprintf(o->why, sizeof o->why, "%s", j->seal.why);
  (void)snprintf(o->host, sizeof o->host, "%s", j->head.host.name);
  return bundle_seal(j->out, o->end, o->why, o->root, j->error);
}

enum lynx_status merge_samples(const struct merge_samples_request *request, struct merge_samples_outcome *ret, struct lynx_error *error) {
  const char *samples = request->samples;
  const size_t length = request->length;
  struct joining j = {.outcome = ret, .error = error};
  const struct host_samples_visit look = {.context = &j, .value = see_value, .activity = see_activity};
  *ret = (struct merge_samples_outcome){.end = BUNDLE_UNSEALED};
  enum lynx_status status = bundle_open(request->run_path, &j.run, &j.seal, error);
  if (status == LYNX_OK) status = check_run(&j);
  if (status != LYNX_OK) lynx_error_at(error, request->run_path, 0, NULL);
  if (status == LYNX_OK) {
    (void)snprintf(error->file, sizeof error->file, "%s", request->samples_path);
    status = host_samples_read(samples, length, &look, &j.head, &j.last_ns, error);
    if (status == LYNX_OK) status = check_port(&j, request->any_port);
    if (status == LYNX_OK) status = check_windows(&j);
    if (status == LYNX_OK) error->file[0] = 0;
  }
  if (status == LYNX_OK) {
    status = bundle_create(request->out, &j.out, error);
    if (status == LYNX_OK) status = write_whole(&j, samples, length);
    if (status == LYNX_OK) bundle_close(j.out);
    else if (j.out != NULL || status == LYNX_IO) bundle_remove(j.out, request->out); /* both can be merged again */
  }
  bundle_close(j.run);
  free(j.windows);
  arena_release(&j.arena);
  return status;
}
