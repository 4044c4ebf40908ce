#include <math.h>
#include <string.h>

#include "attribute/live_stops.h"
#include "report/live_report.h"

static void put_layer(struct json_writer *json, const struct live *live, bool attributed, enum layer layer) {
  json_put_text(json, "layer", attributed ? layer_text(layer) : "not attributed");
  json_put_text(json, "owner", attributed ? contract_owner(&live->result->contract, layer) : "nobody yet");
}

static void put_parts(struct json_writer *json, const struct live *live, const struct live_lane *lane) {
  static const char *const kinds[] = {
      [LIVE_PYTHON] = "python", [LIVE_LIBRARY] = "library", [LIVE_KERNEL] = "kernel", [LIVE_PROGRAM] = "program", [LIVE_REST] = "rest"};
  json_key(json, "parts");
  json_open_array(json);
  for (size_t i = 0; i < lane->n_parts; i++) {
    const struct live_part *p = &lane->parts[i];
    json_open_object(json);
    json_put_text(json, "kind", kinds[p->kind]);
    json_put_text(json, "what", p->what);
    json_put_text(json, "where", p->where);
    if (p->inside[0] != 0) {
      json_put_text(json, "most_in", p->inside);
      json_put_double(json, "most_in_share", p->inside_share);
    }
    put_layer(json, live, p->attributed, p->layer);
    json_put_bool(json, "spins", p->spins);
    if (p->would[0] != 0) json_put_text(json, "would_be_attributed_by", p->would);
    json_put_double(json, "share", p->share);
    json_put_int(json, "looks", p->n);
    json_close(json);
  }
  json_close(json);
}

static void put_lane(struct json_writer *json, const struct live *live, const struct live_lane *l) {
  static const char *const waits[WAIT_COUNT] = {[WAIT_TIMER] = "timer", [WAIT_LOCK] = "lock",   [WAIT_NETWORK] = "network",
                                                [WAIT_DISK] = "disk",   [WAIT_OTHER] = "other", [WAIT_UNKNOWN] = "not_known"};
  json_open_object(json);
  json_put_int(json, "process", l->process);
  json_put_int(json, "busiest_thread", l->thread);
  json_put_text(json, "program", l->program);
  json_put_text(json, "name", l->name);
  json_put_bool(json, "main", l->main);
  json_put_int(json, "threads", l->n_threads);
  json_put_int(json, "processors_allowed", l->n_processors);
  json_put_double(json, "present", l->present);
  json_put_double(json, "running", l->running);
  json_put_double(json, "in_kernel", l->system);
  json_put_double(json, "ready", l->ready);
  json_key(json, "waits");
  json_open_object(json);
  for (int i = 0; i < WAIT_COUNT; i++) json_put_double(json, waits[i], l->waits[i]);
  json_close(json);
  json_put_double(json, "busiest_running_or_ready", l->busiest);
  if (l->waits_in[0] != 0) {
    json_put_text(json, "waits_most_in", l->waits_in);
    json_put_text(json, "waits_also_in", l->waits_also);
    json_put_text(json, "waits_most_where", l->waits_where);
    json_put_double(json, "waits_most_share", l->waits_share);
  }
  json_put_int(json, "looks", l->n_samples);
  json_key(json, "callers");
  json_open_array(json);
  for (size_t i = 0; i < l->n_callers; i++) {
    json_open_object(json);
    json_put_text(json, "what", l->callers[i].what);
    json_put_text(json, "where", l->callers[i].where);
    json_put_double(json, "share", l->callers[i].share);
    json_close(json);
  }
  json_close(json);
  put_parts(json, live, l);
  json_close(json);
}

static void put_account(struct json_writer *json, const struct live *live, const char *key, const struct live_account *a) {
  json_key(json, key);
  json_open_object(json);
  json_put_int(json, "in_flight", a->concurrency);
  json_put_double(json, "window_s", a->window_s);
  json_put_double(json, "running", a->running);
  json_put_double(json, "ready", a->ready);
  json_key(json, "threads");
  json_open_array(json);
  for (size_t i = 0; i < a->n_lanes; i++) put_lane(json, live, &a->lanes[i]);
  json_close(json);
  json_close(json);
}

static void put_life(struct json_writer *json, const struct live *live) {
  json_key(json, "request_life");
  json_open_object(json);
  json_put_double(json, "mean_ns", live->life_ns);
  json_put_bool(json, "by_server", live->phases_of_server);
  json_key(json, "phases");
  json_open_array(json);
  for (size_t i = 0; i < live->n_phases; i++) {
    json_open_object(json);
    json_put_text(json, "name", live->phases[i].name);
    json_put_double(json, "mean_ns", live->phases[i].mean_ns);
    json_put_bool(json, "attributed", live->phases[i].attributed);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

static void put_traced(struct json_writer *json, const struct live *live) {
  json_key(json, "traced");
  json_open_array(json);
  for (size_t i = 0; i < live->n_traced; i++) {
    const struct live_traced *t = &live->traced[i];
    json_open_object(json);
    json_put_int(json, "process", t->process);
    json_put_text(json, "program", t->program);
    json_put_double(json, "window_s", t->window_s);
    json_key(json, "parts");
    json_open_array(json);
    for (size_t k = 0; k < t->n_parts; k++) {
      json_open_object(json);
      json_put_text(json, "state", t->parts[k].state);
      json_put_text(json, "what", t->parts[k].what);
      json_put_text(json, "where", t->parts[k].where);
      json_put_double(json, "share", t->parts[k].share);
      put_layer(json, live, t->parts[k].attributed, t->parts[k].layer);
      json_close(json);
    }
    json_close(json);
    json_close(json);
  }
  json_close(json);
  json_key(json, "trace_files");
  json_open_array(json);
  for (size_t i = 0; i < live->n_trace_files; i++) json_text(json, live->trace_files[i]);
  json_close(json);
}

static void put_finding(struct json_writer *json, const struct live *live, const struct finding *f) {
  json_open_object(json);
  json_put_text(json, "id", f->id);
  json_put_text(json, "title", f->title);
  json_put_text(json, "named", f->named);
  json_put_text(json, "status", finding_status(f));
  json_put_text(json, "rung", rung_text(f->rung));
  if (f->experiment[0] != 0) json_put_text(json, "experiment", f->experiment);
  json_put_text(json, "symptom", layer_text(f->symptom));
  json_key(json, "contributing");
  json_open_array(json);
  for (int l = 0; l < LAYER_COUNT; l++) {
    if (!(f->contributing & LAYER_BIT(l))) continue;
    json_open_object(json);
    put_layer(json, live, true, (enum layer)l);
    json_close(json);
  }
  json_close(json);
  json_put_double(json, "share", f->share);
  if (f->bounded) json_put_double(json, "gain_at_most", f->bound);
  json_put_text(json, "bound_holds", f->bound_holds);
  json_put_text(json, "evidence", f->evidence);
  json_put_text(json, "not_established", f->open);
  json_put_text(json, "next", f->next);
  json_put_text(json, "to_confirm", f->confirm);
  json_put_bool(json, "by_confirm", f->perturber != NULL);
  json_close(json);
}

static void put_steps(struct json_writer *json, const struct result_precision *p) {
  json_key(json, "climb");
  json_open_array(json);
  for (size_t i = 0; i < p->n_steps; i++) {
    json_open_object(json);
    json_put_int(json, "in_flight", p->steps[i].concurrency);
    json_put_double(json, "throughput", p->steps[i].throughput);
    json_put_double(json, "requests_per_s", p->steps[i].point.goodput.estimate);
    json_put_double(json, "ttft_p50_ns", p->steps[i].point.time_to_first_token_p50);
    json_put_double(json, "ttft_p99_ns", p->steps[i].point.time_to_first_token_p99);
    json_put_bool(json, "failing", p->steps[i].failing);
    json_put_bool(json, "too_short", p->steps[i].too_short);
    json_close(json);
  }
  json_close(json);
}

static void put_gpus(struct json_writer *json, const struct live_gpus *gpus) {
  json_key(json, "gpus");
  json_open_object(json);
  json_put_int(json, "n", gpus->n);
  json_put_double(json, "busy", gpus->busy);
  json_put_double(json, "busiest", gpus->busiest);
  json_put_double(json, "memory_busy", gpus->memory_busy);
  json_put_double(json, "watts", gpus->watts);
  json_put_double(json, "temperature_c", gpus->temperature_c);
  json_put_double(json, "clock_mhz", gpus->clock_mhz);
  json_put_double(json, "slowed", gpus->slowed);
  json_put_double(json, "power_capped", gpus->power_capped);
  json_close(json);
}

static void put_surroundings(struct json_writer *json, const struct live *live) {
  json_key(json, "neighbours");
  json_open_array(json);
  for (size_t i = 0; i < live->n_neighbours; i++) {
    json_open_object(json);
    json_put_text(json, "process", live->neighbours[i].name);
    json_put_double(json, "processors", live->neighbours[i].processors);
    json_close(json);
  }
  json_close(json);
  const struct result_conditions *c = &live->precision->conditions;
  json_put_double(json, "others", c->others);
  json_put_double(json, "steal", c->steal);
  json_put_double(json, "throttled", c->throttled);
  json_put_double(json, "pressure", c->pressure);
  json_put_double(json, "round_trip_s", live->around.round_trip_s);
  json_put_double(json, "sent_again_per_s", live->around.sent_again_hz);
  json_put_double(json, "held_connections", live->around.held);
  json_put_double(json, "package_watts", live->around.watts);
  json_put_double(json, "joules_per_token", live_joules_per_token(live));
  json_put_double(json, "temperature_c", live->around.temperature_c);
  json_put_double(json, "clock_mhz", live->around.clock_mhz);
  json_put_double(json, "slowed", live->around.slowed);
  json_put_double(json, "preemptions", live->around.preemptions);
  json_put_double(json, "cache_use", live->around.cache_use);
  json_put_double(json, "major_faults_per_s", live->around.major_faults_hz);
  json_put_double(json, "read_bytes_per_s", live->around.read_hz);
  json_put_double(json, "disk_busy", live->around.disk_busy);
  json_put_double(json, "accept_queue", live->around.accept_queue);
  json_put_double(json, "dropped_per_s", live->around.dropped_hz);
  json_put_double(json, "node_run", live->around.node_run);
  json_put_double(json, "memory_elsewhere", live->around.memory_elsewhere);
  put_gpus(json, &live->around.gpus);
  const struct live_roofline *r = &live->roofline;
  json_key(json, "roofline");
  json_open_object(json);
  json_put_double(json, "weight_bytes", r->weight_bytes);
  json_put_double(json, "parameters", r->parameters);
  json_put_text(json, "type", r->type);
  json_put_double(json, "bandwidth_bytes_per_s", r->bandwidth);
  json_put_double(json, "arithmetic_operations_per_s", r->arithmetic);
  json_put_double(json, "weights_read_bytes_per_s_at_least", r->read_hz);
  json_put_double(json, "operations_per_s", r->operations_hz);
  json_put_double(json, "mbu_at_least", r->read_hz / r->bandwidth);
  json_put_double(json, "mfu", r->operations_hz / r->arithmetic);
  json_put_text(json, "why", r->why);
  json_close(json);
  json_put_double(json, "sampling_cost", live->around.sampling_cost);
  json_put_double(json, "profiling_cost", live->profiling_cost.estimate);
  json_put_double(json, "profiling_cost_low", live->profiling_cost.bounded ? live->profiling_cost.low : NAN);
  json_put_double(json, "profiling_cost_high", live->profiling_cost.bounded ? live->profiling_cost.high : NAN);
}

/* Stops of all answers at once; without any it writes nothing. */
static void put_stops(struct json_writer *json, const struct live_stops *s) {
  if (s->n == 0) return;
  json_key(json, "stops");
  json_open_object(json);
  json_put_int(json, "n", s->n);
  json_put_double(json, "window_s", s->window_s);
  json_put_double(json, "mean_s", s->mean_ns / 1e9);
  json_put_double(json, "longest_s", s->longest_ns / 1e9);
  json_put_double(json, "share", s->share);
  if (isfinite(s->every_ns)) json_put_double(json, "every_s", s->every_ns / 1e9);
  json_put_double(json, "of_the_longest_gaps", s->of_longest);
  json_put_double(json, "p99_s", s->whole_p99_ns / 1e9);
  json_put_double(json, "p99_without_s", s->without_ns / 1e9);
  json_put_double(json, "end_at_a_first_token", s->at_first);
  if (s->thread.program != NULL) {
    json_key(json, "thread");
    json_open_object(json);
    json_put_text(json, "program", s->thread.program);
    json_put_text(json, "name", s->thread.name);
    json_put_text(json, "state", live_stopped_text(s->thread.state));
    json_put_double(json, "in_stops", s->thread.inside);
    json_put_double(json, "else", s->thread.outside);
    json_close(json);
  }
  json_close(json);
}

bool live_json(const struct live *live, struct buffer *ret) {
  static const char *const bottlenecks[] = {[LIVE_UNDECIDED] = "not_seen",
                                            [LIVE_QUOTA] = "quota",
                                            [LIVE_ALLOWED] = "allowed_processors",
                                            [LIVE_PROCESSORS] = "processors",
                                            [LIVE_ONE_THREAD] = "one_thread",
                                            [LIVE_INTERPRETER] = "interpreter_lock",
                                            [LIVE_TURNS] = "turns",
                                            [LIVE_SLEEP] = "sleep",
                                            [LIVE_CLIENT] = "client",
                                            [LIVE_FAILING] = "failing",
                                            [LIVE_GPUS] = "gpus",
                                            [LIVE_LOAD] = "load",
                                            [LIVE_PACE] = "pace",
                                            [LIVE_WORKERS] = "workers",
                                            [LIVE_ASKS] = "connections",
                                            [LIVE_MET] = "load_met",
                                            [LIVE_NOBODY] = "no_requests"};
  const struct result_precision *p = live->precision;
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "precision", p->name);
  json_put_text(&json, "bundle_root", live->result->seal.root);
  json_key(&json, "bottleneck");
  json_open_object(&json);
  json_put_text(&json, "id", bottlenecks[live->bottleneck]);
  json_put_text(&json, "title", live->bottleneck_title);
  json_put_text(&json, "evidence", live->bottleneck_text);
  json_put_text(&json, "bound", live_bound_text(live->bound));
  json_put_text(&json, "bound_why", live->bound_why);
  json_close(&json);
  json_put_int(&json, "knee", p->knee);
  put_steps(&json, p);
  json_put_int(&json, "processors", live->n_processors);
  json_put_double(&json, "busy", live->around.busy);
  json_put_double(&json, "interpreter_lock_held", live->lock_held);
  json_put_double(&json, "server_running", live->around.running);
  json_put_double(&json, "server_waiting", live->around.waiting);
  put_life(&json, live);
  put_account(&json, live, "account", &live->at);
  if (live->beyond.n_lanes > 0) put_account(&json, live, "beyond_the_knee", &live->beyond);
  put_traced(&json, live);
  put_surroundings(&json, live);
  put_stops(&json, &live->stops);
  json_key(&json, "findings");
  json_open_array(&json);
  for (size_t i = 0; i < live->n_findings; i++) put_finding(&json, live, &live->findings[i]);
  json_close(&json);
  json_put_texts(&json, "not_seen", live->unseen, live->n_unseen);
  return json_end_line(&json);
}
