/* Our own bundles: every counted request that went well is a request, from when it was due to its end, and the phases that its executor
 * told of are what it consists of. Phases that were told without a time stand one after another from the sending on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/bundle.h"
#include "trace/trace.h"

enum { BEFORE_SENDING = 1000 };

struct told_request {
  int64_t id, written_ns, next_ns; /* next: where a phase without a time of its own goes */
};

struct reading {
  struct bundle *bundle;
  struct trace_source *source;
  const struct trace_sink *sink;
  struct lynx_error *error;
  int64_t session, zero_ns;      /* of the session on the wall clock */
  struct told_request *requests; /* of the session */
  size_t n_requests, room, at;
  int64_t n_spans;
  bool stopped;
};

static void put_span(struct reading *r, int64_t request, int place, const char *name, int64_t start_ns, int64_t took_ns) {
  char trace_id[48], id[24];
  (void)snprintf(trace_id, sizeof trace_id, "%lld.%lld", (long long)r->session, (long long)request);
  (void)snprintf(id, sizeof id, "%d", place);
  struct trace_span span = {.kind = TRACE_REQUEST,
                            .name = {name, strlen(name)},
                            .type = bytes_of(place == 0 || place == BEFORE_SENDING ? "client" : "executor"),
                            .start_ns = r->zero_ns + start_ns,
                            .duration_ns = took_ns,
                            .device = -1,
                            .stream = -1,
                            .bytes = -1,
                            .elements = -1,
                            .sequence = -1,
                            .trace_id = {trace_id, strlen(trace_id)},
                            .id = {id, strlen(id)},
                            .parent = bytes_of(place == 0 ? "" : "0")};
  if (r->sink->span != NULL) r->sink->span(r->sink->context, &span);
  r->n_spans++;
}

static bool in_time(int64_t ns) {
  return ns >= 0 && ns < (int64_t)1 << 60;
}

static enum lynx_status take_request(void *context, const struct bundle_request *q) {
  struct reading *r = context;
  bool good = q->phase == PHASE_COUNTED && q->outcome == OUTCOME_OK && in_time(q->scheduled_ns) && in_time(q->written_ns) &&
              in_time(q->end_ns) && q->written_ns >= q->scheduled_ns && q->end_ns >= q->written_ns;
  if (!good || r->stopped) return LYNX_OK;
  r->requests = xroom(r->requests, r->n_requests, &r->room, sizeof *r->requests);
  r->requests[r->n_requests++] = (struct told_request){.id = q->id, .written_ns = q->written_ns, .next_ns = q->written_ns};
  put_span(r, q->id, 0, "request", q->scheduled_ns, q->end_ns - q->scheduled_ns);
  if (q->written_ns > q->scheduled_ns)
    put_span(r, q->id, BEFORE_SENDING, "before it was sent", q->scheduled_ns, q->written_ns - q->scheduled_ns);
  if (r->sink->progress != NULL && r->n_requests % 4096 == 0)
    r->stopped = !r->sink->progress(r->sink->progress_context, r->source->done(r->source->context));
  return LYNX_OK;
}

/* Requests and phases come by the same numbers, ascending. */
static enum lynx_status take_phase(void *context, const struct bundle_phase *phase) {
  struct reading *r = context;
  while (r->at < r->n_requests && r->requests[r->at].id < phase->request) r->at++;
  bool good = in_time(phase->took_ns) && phase->from_ns < (int64_t)1 << 60 && phase->place >= 0 && phase->place < BEFORE_SENDING;
  if (r->stopped || !good || r->at == r->n_requests || r->requests[r->at].id != phase->request) return LYNX_OK;
  struct told_request *q = &r->requests[r->at];
  int64_t from_ns = phase->from_ns >= 0 ? q->written_ns + phase->from_ns : q->next_ns;
  put_span(r, phase->request, (int)phase->place + 1, phase->name, from_ns, phase->took_ns);
  if (from_ns + phase->took_ns > q->next_ns) q->next_ns = from_ns + phase->took_ns;
  return LYNX_OK;
}

static enum lynx_status take_session(void *context, const struct bundle_session *s) {
  struct reading *r = context;
  if (!purpose_measures(s->purpose) || s->start_realtime_ns < 0 || s->start_realtime_ns >= (int64_t)1 << 61 || r->stopped) return LYNX_OK;
  r->session = s->id;
  r->zero_ns = s->start_realtime_ns;
  r->n_requests = r->at = 0;
  enum lynx_status status = bundle_each_request(r->bundle, s->id, take_request, r, r->error);
  return status == LYNX_OK ? bundle_each_phase(r->bundle, s->id, take_phase, r, r->error) : status;
}

static enum lynx_status read_bundle(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error) {
  struct reading r = {.source = source, .sink = sink, .error = error};
  struct bundle_seal_info seal;
  if (source->path == NULL || strcmp(source->path, "-") == 0)
    return lynx_fail(error, LYNX_INPUT, "a bundle is read from its file, not from a pipe");
  enum lynx_status status = bundle_open(source->path, &r.bundle, &seal, error);
  if (status == LYNX_OK) status = bundle_each_session(r.bundle, take_session, &r, error);
  if (status == LYNX_OK && r.n_spans == 0)
    status = lynx_fail(error, LYNX_INPUT,
                       "a bundle without a counted request that went well: there is nothing to account for. next: `lynxbench show` of it");
  bundle_close(r.bundle);
  free(r.requests);
  return status;
}

static int sniff(const char *head, size_t length) {
  return bundle_head(head, length) ? 100 : 0;
}

const struct trace_reader trace_reader_lynx_bundle;
const struct trace_reader trace_reader_lynx_bundle = {.name = "lynx_bundle",
                                                      .summary = "bundles of lynxbench run: the phases that the executor told of",
                                                      .sniff = sniff,
                                                      .read = read_bundle};
