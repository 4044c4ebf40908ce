#include "measure/observe_packets.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/endpoint.h"
#include "executor/listening.h"
#include "measure/run_capture.h"
#include "measure/sampling.h"
#include "measure/session.h"
#include "watch/watcher.h"

enum { LOOK_NS = 100000000, NAMES_MAX = 4096 };
#define COMMIT_EVERY_NS INT64_C(500000000)
#define ASK_COUNTERS_EVERY_NS INT64_C(10000000000)
#define SLOW_CONNECT_NS INT64_C(100000000) /* far longer than a network's way: it is the queue of those that wait to be accepted */
#define SILENT_NS INT64_C(15000000000)
#define CLOCK_STEP_NS INT64_C(1000000)
#define PACKET_COST_NS 3000.0       /* of a tap, on loopback: 1 to 6 µs were measured (docs/method.md#watch) */
#define ROUNDED_NS INT64_C(1000000) /* by default: gaps of tokens to the microsecond tell something of the words */

struct packet_watch {
  struct run *run;
  int64_t begun_ns, realtime_ns; /* of the first window's zero: on the clock, and the wall clock */
  int64_t length_ns, n_windows;
  int64_t n_open;   /* windows whose session is in the record */
  int64_t *next_id; /* of requests, by window */
  struct thread_name names[NAMES_MAX];
  size_t n_names;
  struct watch_state state; /* the latest */
  bool stepped;
  double prompt_bytes, prompt_tokens; /* of requests that say both: what a token takes */
  int64_t n_prompts;
  int64_t n_events, n_shared, n_rows, n_dropped, n_packets, ttft_sum_ns, n_ttft;
  int64_t cpu_seen_ns, cpu_at_ns;
  int64_t n_slow_connects, slowest_connect_ns;
};

static const char *where(const struct run *run) {
  return run->request->observation.interface != NULL ? run->request->observation.interface : "all interfaces";
}

static struct bundle_session row_of(const struct packet_watch *o, int64_t window) {
  const struct run *run = o->run;
  return (struct bundle_session){.id = window,
                                 .precision = run->contract.precisions.items[0],
                                 .index = window,
                                 .purpose = PURPOSE_OBSERVE,
                                 .executor = EXECUTOR_ALREADY_RUNNING,
                                 .end = SESSION_RUNNING,
                                 .why = "",
                                 .start_realtime_ns = o->realtime_ns + window * o->length_ns,
                                 .counted_ns = o->length_ns,
                                 .drain_ns = run->contract.method.drain_ns,
                                 .schedule_digest = "",
                                 .executed_json = "",
                                 .instrument_json = "{}"};
}

/* A window's threads are named in each: whoever reads one needs no other. */
static void open_windows(struct packet_watch *o, int64_t now_ns) {
  while (o->n_open < o->n_windows && now_ns >= o->n_open * o->length_ns) {
    const struct bundle_session row = row_of(o, o->n_open);
    bundle_put_session(o->run->bundle, &row);
    for (size_t i = 0; i < o->n_names; i++) bundle_put_thread(o->run->bundle, row.id, &o->names[i]);
    o->n_open++;
    o->run->next_session = o->n_open;
  }
}

/* Of what happened then, after the first window's zero; -1: before it, or after the last window. */
static int64_t window_of(const struct packet_watch *o, int64_t at_ns) {
  int64_t window = at_ns >= 0 ? at_ns / o->length_ns : -1;
  return window < o->n_open ? window : -1;
}

/* --- requests --- */

static int64_t after(int64_t at_ns, int64_t zero_ns) {
  return at_ns < 0 ? -1 : at_ns - zero_ns;
}

/* It lies before the request, and in no latency. */
static void take_connect(struct packet_watch *o, int64_t window, int64_t asked_ns, int64_t took_ns) {
  bundle_put_sample(o->run->bundle, window, asked_ns, "watch.connect_ms", (double)took_ns / 1e6);
  o->n_slow_connects += took_ns > SLOW_CONNECT_NS;
  if (took_ns > o->slowest_connect_ns) o->slowest_connect_ns = took_ns;
}

/* Who asks for no usage says nothing of its prompt but how long it is in bytes. */
static int64_t prompt_tokens_of(struct packet_watch *o, const struct watched_request *q, int64_t *flags) {
  enum { PROMPTS_LEAST = 10 };
  if (q->prompt_tokens >= 0) {
    if (q->prompt_bytes > 0) o->prompt_bytes += (double)q->prompt_bytes, o->prompt_tokens += (double)q->prompt_tokens, o->n_prompts++;
    return q->prompt_tokens;
  }
  if (q->prompt_bytes < 0 || o->n_prompts < PROMPTS_LEAST) return -1;
  *flags |= ANSWER_PROMPT_BY_SIZE;
  return (int64_t)((double)q->prompt_bytes * o->prompt_tokens / o->prompt_bytes + 0.5);
}

static void take_request(void *context, const struct watched_request *q) {
  struct packet_watch *o = context;
  int64_t window = window_of(o, q->asked_ns - o->realtime_ns);
  if (window < 0) return;
  int64_t zero_ns = o->realtime_ns + window * o->length_ns, asked_ns = q->asked_ns - zero_ns, id = o->next_id[window]++, flags = q->flags;
  int64_t prompt_tokens = prompt_tokens_of(o, q, &flags);
  const struct bundle_request row = {.session = window,
                                     .id = id,
                                     .phase = PHASE_COUNTED,
                                     .outcome = q->outcome,
                                     .reason = q->cancelled && q->outcome != OUTCOME_OK ? "its client went away before any token" : "",
                                     .http_status = q->http_status,
                                     .input = -1,
                                     .scheduled_ns = asked_ns,
                                     .issued_ns = asked_ns,
                                     .written_ns = asked_ns,
                                     .first_byte_ns = after(q->first_byte_ns, zero_ns),
                                     .first_token_ns = after(q->first_token_ns, zero_ns),
                                     .last_token_ns = after(q->last_token_ns, zero_ns),
                                     .first_answer_ns = after(q->first_answer_ns, zero_ns),
                                     .first_tool_call_ns = after(q->first_tool_call_ns, zero_ns),
                                     .end_ns = after(q->end_ns, zero_ns),
                                     .prompt_tokens = prompt_tokens,
                                     .output_tokens = q->output_tokens,
                                     .n_text_events = q->n_text_events,
                                     .read_lag_ns = -1,
                                     .flags = flags,
                                     .events = q->events_length > 0 ? q->events : "",
                                     .events_length = q->events_length};
  bundle_put_request(o->run->bundle, &row);
  if (q->connecting_ns >= 0) take_connect(o, window, asked_ns, q->connecting_ns);
  o->n_rows++;
  o->n_events += q->n_text_events;
  o->n_shared += q->n_shared;
  if (q->outcome != OUTCOME_OK || q->first_token_ns < 0) return;
  o->ttft_sum_ns += q->first_token_ns - q->asked_ns;
  o->n_ttft++;
}

static void take_state(void *context, const struct watch_state *state) {
  struct packet_watch *o = context;
  struct bundle *bundle = o->run->bundle;
  int64_t at_ns = state->at_ns - o->realtime_ns, window = window_of(o, at_ns);
  o->n_packets += state->n_packets;
  o->n_dropped += state->n_dropped;
  if (window >= 0) {
    int64_t within_ns = at_ns - window * o->length_ns, span_ns = state->at_ns - o->cpu_at_ns;
    bundle_put_sample(bundle, window, within_ns, "watch.in_flight", (double)state->counts.n_in_flight);
    bundle_put_sample(bundle, window, within_ns, "watch.packets", (double)state->n_packets);
    bundle_put_sample(bundle, window, within_ns, "watch.lost_packets", (double)state->n_dropped);
    if (o->cpu_at_ns > 0 && span_ns > 0)
      bundle_put_sample(bundle, window, within_ns, "watch.processors", (double)(state->cpu_ns - o->cpu_seen_ns) / (double)span_ns);
  }
  o->cpu_seen_ns = state->cpu_ns;
  o->cpu_at_ns = state->at_ns;
  o->state = *state;
}

/* --- samples --- */

static void put_value(void *context, int64_t at_ns, const char *series, double value) {
  struct packet_watch *o = context;
  int64_t window = window_of(o, at_ns);
  if (window >= 0) bundle_put_sample(o->run->bundle, window, at_ns - window * o->length_ns, series, value);
}

static void put_name(void *context, const struct thread_name *name) {
  struct packet_watch *o = context;
  if (o->n_names < NAMES_MAX) {
    struct thread_name *kept = &o->names[o->n_names++];
    *kept = *name;
    kept->program = arena_copy(&o->run->arena, name->program);
    kept->name = arena_copy(&o->run->arena, name->name);
  }
  if (o->n_open > 0) bundle_put_thread(o->run->bundle, o->n_open - 1, name);
}

static void put_activity(void *context, const struct thread_activity *activity) {
  struct packet_watch *o = context;
  int64_t window = window_of(o, activity->at_ns);
  struct thread_activity within = *activity;
  if (window < 0) return;
  within.at_ns -= window * o->length_ns;
  bundle_put_activity(o->run->bundle, window, &within);
}

static void put_counters(struct packet_watch *o, int64_t now_ns, const char *key) {
  struct run *run = o->run;
  int64_t window = window_of(o, now_ns);
  if (!run->request->observation.asks_counters || !service_metrics(&run->service, &run->metrics)) return;
  if (window >= 0) run_put_metrics(run, window, now_ns - window * o->length_ns);
  if (key != NULL) bundle_put_meta(run->bundle, key, run->metrics.data);
}

/* --- the whole --- */

static void show(const struct packet_watch *o, int64_t now_ns) {
  struct run *run = o->run;
  if (run->request->progress == NULL) return;
  int64_t end_ns = o->n_windows * o->length_ns;
  const struct run_progress progress = {.step = now_ns < end_ns ? "watching" : "drain",
                                        .precision = run->contract.precisions.items[0],
                                        .purpose = PURPOSE_OBSERVE,
                                        .session = 1,
                                        .n_sessions = 1,
                                        .elapsed_s = (double)now_ns / 1e9,
                                        .total_s = (double)end_ns / 1e9,
                                        .n_done = o->n_rows,
                                        .n_ok = o->n_ttft,
                                        .n_tokens = o->n_events,
                                        .time_to_first_token_ns = o->ttft_sum_ns,
                                        .in_flight = (int)o->state.counts.n_in_flight};
  run->request->progress(run->request->context, &progress);
}

/* The packets' stamps are of the wall clock. */
static void look_for_clock_step(struct packet_watch *o) {
  struct run *run = o->run;
  int64_t apart_ns = run_realtime(run) - o->realtime_ns - (clock_now(run->request->clock) - o->begun_ns);
  if (o->stepped || (apart_ns < CLOCK_STEP_NS && apart_ns > -CLOCK_STEP_NS)) return;
  o->stepped = true;
  run_put_event(run, EVENT_CLOCK_STEP,
                arena_printf(&run->arena,
                             "the wall clock was set by %.3g ms while it was watched: times of requests around it are wrong by that",
                             (double)apart_ns / 1e6));
}

/* It tells once a second how it goes. */
static bool is_silent(const struct packet_watch *o, int64_t now_ns) {
  int64_t told_ns = o->state.at_ns > 0 ? o->state.at_ns - o->realtime_ns : 0;
  return now_ns - told_ns > SILENT_NS && !o->stepped;
}

static enum lynx_status go_on(struct packet_watch *o) {
  struct run *run = o->run;
  const struct watcher_visit visit = {o, take_request, take_state};
  const struct sampling_taker taker = {o, put_value, put_name, put_activity};
  const struct timespec step = {.tv_nsec = LOOK_NS};
  int64_t end_ns = o->n_windows * o->length_ns, committed_ns = 0, asked_ns = 0, now_ns = 0;
  enum lynx_status status = LYNX_OK;
  bool goes_on = true;
  while (status == LYNX_OK && goes_on) {
    (void)nanosleep(&step, NULL);
    now_ns = clock_now(run->request->clock) - o->begun_ns;
    open_windows(o, now_ns < end_ns ? now_ns : end_ns - 1);
    if (!watcher_take(o->run->watcher, &visit))
      return lynx_fail(run->error, LYNX_MACHINE, "the process that reads packets ended by itself: what it had under way is lost");
    if (is_silent(o, now_ns))
      return lynx_fail(run->error, LYNX_MACHINE,
                       "the process that reads packets says nothing any more (is it stopped?): what it had under way is lost");
    sampling_take(run->sampling, &taker);
    if (now_ns - asked_ns > ASK_COUNTERS_EVERY_NS && now_ns < end_ns) {
      put_counters(o, now_ns, NULL);
      asked_ns = now_ns;
    }
    look_for_clock_step(o);
    show(o, now_ns);
    if (now_ns - committed_ns > COMMIT_EVERY_NS) {
      status = bundle_commit(run->bundle, run->error);
      committed_ns = now_ns;
    }
    bool answered = o->state.at_ns - o->realtime_ns > end_ns && o->state.oldest_asked_ns - o->realtime_ns >= end_ns;
    goes_on = !run_is_over(run) && (now_ns < end_ns || (!answered && now_ns < end_ns + run->contract.method.drain_ns));
  }
  sampling_end(run->sampling);
  sampling_take(run->sampling, &taker);
  if (!watcher_end(o->run->watcher, &visit))
    run_put_event(run, EVENT_UNSEEN, "the process that reads packets did not end: what it had under way is lost (is it stopped?)");
  return status;
}

/* What was not seen, in the record and on the screen. */
static void say_unseen(struct packet_watch *o) {
  struct run *run = o->run;
  const struct watch_counts *c = &o->state.counts;
  const struct {
    int64_t n;
    const char *what;
  } unseen[] = {
      {o->n_dropped, "packets were lost between the kernel and us: requests that they belonged to are left out"},
      {c->n_lost, "requests were left out, because packets of them are missing"},
      {watcher_refused(run->watcher), "requests were left out, because their figures cannot be"},
      {c->n_one_sided, "connections were opened, and nothing that the server sent in them was seen: its answers leave by a way that is not "
                       "read here (--interface, or another network)"},
      {c->n_too_long, "answers were longer than is read (16 MiB, or one event of a stream over its limit): they are left out"},
      {c->n_other, "requests to other paths than those of models that are known here: they are left out"},
      {c->n_joined_late, "connections had an answer under way when it began: what that was is not known"},
      {c->n_compressed, "answers were compressed: they are left out"},
      {c->n_left[LEFT_TLS], "connections are encrypted (TLS), and were not read: watch behind whatever ends TLS"},
      {c->n_left[LEFT_HTTP2], "connections speak HTTP/2 or gRPC, which is not read"},
      {c->n_left[LEFT_AMBIGUOUS], "connections could be read in two ways, and were not followed"},
      {c->n_left[LEFT_UPGRADE], "connections asked for another protocol (Upgrade), and were not followed"},
      {c->n_left[LEFT_PIPELINED], "connections had more requests ahead of their answers than are followed (64)"},
      {c->n_unfollowed, "connections were more than can be followed at once"},
      {c->n_syn_again,
       "connections had to be asked for again: the server did not accept them in time, and the wait before that is in no latency"}};
  for (size_t i = 0; i < LYNX_COUNT(unseen); i++) {
    if (unseen[i].n <= 0) continue;
    const char *text = arena_printf(&run->arena, "%lld %s", (long long)unseen[i].n, unseen[i].what);
    run_put_event(run, EVENT_UNSEEN, text);
    run_note(run, text);
  }
  if (o->n_slow_connects > 0) {
    const char *text = arena_printf(&run->arena,
                                    "%lld connections took over 100 ms to be opened, the slowest %.3g s: the server did not accept them in "
                                    "time, and that wait is in no latency",
                                    (long long)o->n_slow_connects, (double)o->slowest_connect_ns / 1e9);
    run_put_event(run, EVENT_UNSEEN, text);
    run_note(run, text);
  }
  if (o->n_rows == 0)
    run_note(run, arena_printf(&run->arena,
                               "no request of a model came to %s while it was watched (%lld packets, %lld other requests; on %s). next: is "
                               "that the server's own address and port? `ss -ltnp` lists them",
                               run->contract.executor.endpoint, (long long)o->n_packets, (long long)(c->n_other), where(run)));
  else if (o->n_shared * 10 > o->n_events)
    run_put_event(run, EVENT_UNSEEN,
                  arena_printf(&run->arena, "%.0f %% of the events came together with the one before: their gaps are not known",
                               100 * (double)o->n_shared / (double)o->n_events));
}

/* What it cost: us by the clock, and the others by the number of packets (docs/method.md#watch). */
static void say_cost(struct packet_watch *o) {
  struct run *run = o->run;
  double seconds = (double)(clock_now(run->request->clock) - o->begun_ns) / 1e9, packets = (double)o->n_packets / seconds;
  if (!(seconds > 0) || o->n_rows == 0) return;
  run_note(run, arena_printf(&run->arena,
                             "cost: %.2g %% of a processor to read %.0f packets a second; the server's and its clients' threads pay about "
                             "%.2g %% for them",
                             100 * (double)o->state.cpu_ns / 1e9 / seconds, packets, 100 * packets * PACKET_COST_NS / 1e9));
}

static void close_windows(struct packet_watch *o, bool whole) {
  char instrument[120];
  int64_t now_ns = clock_now(o->run->request->clock) - o->begun_ns;
  (void)snprintf(instrument, sizeof instrument, "{\"threads\":1,\"cpu_ns\":%lld,\"wall_ns\":%lld}",
                 (long long)(o->state.cpu_ns / (o->n_open > 0 ? o->n_open : 1)), (long long)o->length_ns);
  for (int64_t i = 0; i < o->n_open; i++) {
    struct bundle_session row = row_of(o, i);
    bool over = whole || now_ns >= (i + 1) * o->length_ns;
    row.end = over ? SESSION_COMPLETE : SESSION_INTERRUPTED;
    if (!over && now_ns > i * o->length_ns) row.counted_ns = now_ns - i * o->length_ns;
    row.instrument_json = instrument;
    bundle_put_session(o->run->bundle, &row);
  }
}

/* Who listens at that port, in the network of the process that is named, or ours. False: that cannot be read. */
static bool find_listeners(struct run *run, int port, struct watcher_request *request) {
  enum { LISTENERS_MAX = 64 };
  static const char *const tables[] = {"tcp", "tcp6"};
  struct watcher_listener *found = arena_alloc(&run->arena, LISTENERS_MAX, sizeof *found);
  bool known = false;
  request->listeners = found;
  for (size_t i = 0; i < LYNX_COUNT(tables); i++) {
    struct buffer text;
    char path[64];
    if (request->pid > 0) (void)snprintf(path, sizeof path, "/proc/%lld/net/%s", (long long)request->pid, tables[i]);
    else (void)snprintf(path, sizeof path, "/proc/net/%s", tables[i]);
    buffer_init(&text, 64 << 20);
    bool read = root_read(run->request->root, path, &text, NULL) == LYNX_OK;
    char *rest = read ? text.data : NULL, *line;
    known = known || read;
    while ((line = strsep(&rest, "\n")) != NULL) {
      struct listening one;
      struct watcher_listener *l = &found[request->n_listeners];
      if (listening_line(line, &one) && (int)one.port == port && request->n_listeners < LISTENERS_MAX &&
          listening_address(&one, l->address, &l->is_v6))
        request->n_listeners++;
    }
    buffer_release(&text);
  }
  return known;
}

enum lynx_status observe_packets_open(struct run *run) {
  struct endpoint endpoint;
  struct watcher_request request = {.endpoint = &endpoint,
                                    .pid = run->contract.executor.pid,
                                    .interface = run->request->observation.interface,
                                    .resolution_ns = run->request->observation.fine ? 1 : ROUNDED_NS};
  enum lynx_status status = endpoint_parse(run->contract.executor.endpoint, &endpoint, run->error);
  if (status != LYNX_OK) return status;
  bool known = find_listeners(run, endpoint.port, &request);
  status = watcher_open(&request, &run->watcher, run->error);
  if (status != LYNX_OK || request.n_listeners > 0 || !known) return status;
  watcher_close(run->watcher);
  run->watcher = NULL;
  return lynx_fail(run->error, LYNX_INPUT,
                   "%s: nothing listens at port %d of this machine; accepted: the server's own address, as `ss -ltnp` lists it",
                   run->contract.executor.endpoint, endpoint.port);
}

static enum lynx_status watch(struct packet_watch *o) {
  struct run *run = o->run;
  bool asks = run->request->observation.asks_counters;
  int64_t serving = run_serving(run);
  enum lynx_status status = run_capture(run, "start", run->contract.precisions.items[0]);
  if (status != LYNX_OK) return status;
  o->begun_ns = clock_now(run->request->clock);
  o->realtime_ns = run_realtime(run);
  int64_t into_ns = o->realtime_ns % ROUNDED_NS; /* times that are rounded down may not fall before the beginning */
  o->begun_ns -= into_ns;
  o->realtime_ns -= into_ns;
  bundle_put_meta(run->bundle, "watched", where(run));
  open_windows(o, 0);
  run_note(run, arena_printf(&run->arena, "watching %s on %s: nothing is sent%s%s", run->contract.executor.endpoint, where(run),
                             asks ? " but the questions for its counters" : "",
                             serving > 0 ? "" : "; its process was not found, so that nothing of its threads is known (--pid names it)"));
  put_counters(o, 0, "metrics_before");
  sampling_begin(run->sampling, o->begun_ns, serving);
  status = go_on(o);
  sampling_end(run->sampling);
  put_counters(o, o->n_windows * o->length_ns - 1, "metrics_after");
  say_unseen(o);
  say_cost(o);
  close_windows(o, status == LYNX_OK && !run_is_over(run));
  if (status == LYNX_OK && !run_is_over(run)) status = run_capture(run, "end", run->contract.precisions.items[0]);
  return status == LYNX_OK ? bundle_commit(run->bundle, run->error) : status;
}

enum lynx_status run_observe_packets(struct run *run) {
  struct packet_watch *o = arena_alloc(&run->arena, 1, sizeof *o);
  *o = (struct packet_watch){.run = run,
                             .length_ns = run->contract.method.counted_ns,
                             .n_windows = run->contract.method.sessions,
                             .state.oldest_asked_ns = INT64_MAX};
  o->next_id = arena_alloc(&run->arena, (size_t)o->n_windows, sizeof *o->next_id);
  run->n_sessions_planned = o->n_windows;
  return watch(o);
}
