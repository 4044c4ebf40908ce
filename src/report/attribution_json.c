#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "executor/link_speeds.h"
#include "report/attribution_report.h"

static void put_histogram(struct json_writer *json, const char *key, const struct histogram *h) {
  json_key(json, key);
  json_open_object(json);
  json_put_int(json, "n", h->n);
  json_put_int(json, "sum_ns", h->sum);
  json_put_int(json, "p50_ns", histogram_quantile(h, 0.5));
  json_put_int(json, "p90_ns", histogram_quantile(h, 0.9));
  json_put_int(json, "p99_ns", histogram_quantile(h, 0.99));
  json_put_int(json, "greatest_ns", h->greatest);
  json_close(json);
}

static void put_states(struct json_writer *json, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  struct attribution_cause causes[CAUSES_MAX];
  size_t n = attribution_causes(t, causes);
  json_key(json, "states");
  json_open_array(json);
  for (size_t i = 0; i < n; i++) {
    json_open_object(json);
    json_put_text(json, "state", account_state_id(causes[i].state));
    json_put_text(json, "words", account_state_words(causes[i].state, a->device < 0));
    json_put_text(json, "layer", attribution_layer(&causes[i]));
    json_put_text(json, "owner", attribution_owner(view, &causes[i]));
    json_put_int(json, "ns", causes[i].ns);
    json_put_double(json, "share", (double)causes[i].ns / (double)a->wall_ns);
    json_close(json);
  }
  json_close(json);
}

static void put_host(struct json_writer *json, const struct attribution_view *view, const struct attributed_trace *t) {
  json_key(json, "host"); /* by function and named range */
  json_open_array(json);
  for (size_t i = 0; i < t->host.n && i < view->top; i++) {
    const struct host_name *x = &t->host.at[i];
    const struct span_name *name = &t->timeline.names[x->name];
    const struct attribution_cause cause = host_name_cause(x);
    json_open_object(json);
    json_put_text(json, "state", account_state_id(x->state));
    json_key(json, "name");
    json_bytes(json, name->text, name->length);
    json_put_text(json, "layer", attribution_layer(&cause));
    json_put_text(json, "owner", attribution_owner(view, &cause));
    json_put_int(json, "ns", x->ns);
    json_close(json);
  }
  json_close(json);
}

static void put_overlaps(struct json_writer *json, const struct account *a) {
  json_key(json, "overlaps"); /* which no order decides */
  json_open_array(json);
  for (int i = 0; i < OVERLAP_COUNT; i++)
    for (int k = i; k < OVERLAP_COUNT; k++) {
      if (a->overlap[i][k] == 0) continue;
      json_open_object(json);
      json_put_text(json, "a", overlap_text((enum overlap_kind)i));
      json_put_text(json, "b", overlap_text((enum overlap_kind)k));
      json_put_int(json, "ns", a->overlap[i][k]);
      json_close(json);
    }
  json_close(json);
}

static void put_timeline(struct json_writer *json, const struct account *a) {
  json_key(json, "gpu_timeline_ns"); /* the device's timeline as TraceLens divides it */
  json_open_object(json);
  json_put_int(json, "computation_time", a->device_compute_ns);
  json_put_int(json, "exposed_comm_time", a->device_exposed_communication_ns);
  json_put_int(json, "exposed_memcpy_time", a->device_exposed_copy_ns);
  json_put_int(json, "busy_time", a->device_compute_ns + a->device_exposed_communication_ns + a->device_exposed_copy_ns);
  json_put_int(json, "idle_time",
               a->device_total_ns - a->device_compute_ns - a->device_exposed_communication_ns - a->device_exposed_copy_ns);
  json_put_int(json, "total_time", a->device_total_ns);
  json_put_int(json, "total_comm_time", a->device_communication_ns);
  json_put_int(json, "total_memcpy_time", a->device_copy_ns);
  json_close(json);
  json_key(json, "streams"); /* the gaps of each stream as HolisticTraceAnalysis divides them */
  json_open_array(json);
  for (size_t i = 0; i < a->n_streams; i++) {
    const struct stream_account *s = &a->streams[i];
    json_open_object(json);
    json_put_int(json, "stream", s->stream);
    json_put_int(json, "spans", s->n_spans);
    json_put_int(json, "busy_ns", s->busy_ns);
    json_put_int(json, "overlapping", s->n_overlapping);
    json_put_int(json, "host_wait_ns", s->host_wait_ns);
    json_put_int(json, "kernel_wait_ns", s->kernel_wait_ns);
    json_put_int(json, "other_ns", s->other_ns);
    json_close(json);
  }
  json_close(json);
}

static void put_rates(struct json_writer *json, const struct attributed_trace *t) {
  json_key(json, "collective_rates");
  json_open_array(json);
  for (size_t i = 0; i < t->rates.n; i++) {
    const struct collective_rate *r = &t->rates.items[i];
    json_open_object(json);
    json_put_text(json, "collective", r->name);
    json_put_int(json, "n", r->n);
    json_put_int(json, "ns", r->ns);
    json_put_int(json, "ranks", r->ranks);
    json_put_double(json, "bytes", r->bytes);
    json_put_double(json, "bus_bytes_per_s_median", r->median);
    json_put_double(json, "bus_bytes_per_s_greatest", r->greatest);
    json_close(json);
  }
  json_close(json);
}

static void put_account(struct json_writer *json, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  static const char *const windows[] = {"auto", "steps", "device", "trace"};
  json_put_int(json, "device", a->device);
  json_put_text(json, "window", windows[a->window]);
  json_put_int(json, "steps", a->n_steps);
  if (a->steps.median_ns > 0) {
    json_put_int(json, "step_median_ns", a->steps.median_ns);
    json_put_int(json, "step_longest_ns", a->steps.longest_ns);
    json_put_int(json, "step_longest", a->steps.longest);
  }
  json_put_int(json, "from_ns", a->from_ns);
  json_put_int(json, "to_ns", a->to_ns);
  json_put_int(json, "wall_ns", a->wall_ns);
  json_put_int(json, "busy_ns", account_busy(a));
  put_rates(json, t);
  json_put_int(json, "busy_launched_before_the_trace_ns", a->earlier_ns);
  json_put_int(json, "unexplained_ns", account_unexplained(a));
  const struct bound_shares bound = attribution_bound_shares(a);
  json_put_text(json, "bound_by", attribution_bound_text(attribution_bound(a)));
  json_key(json, "bound_shares");
  json_open_object(json);
  json_put_double(json, "computing", bound.computing);
  json_put_double(json, "communicating", bound.communicating);
  json_put_double(json, "copying", bound.copying);
  json_put_double(json, "idle", bound.idle);
  json_close(json);
  put_states(json, view, t);
  put_overlaps(json, a);
  json_key(json, "roles_ns"); /* the exclusive roles of PyTorch's tb_plugin */
  json_open_object(json);
  for (int i = 0; i < ROLE_COUNT; i++) json_put_int(json, role_text((enum account_role)i), a->roles[i]);
  json_close(json);
  put_timeline(json, a);
  json_key(json, "critical_path_ns");
  json_open_object(json);
  for (int i = 0; i < STATE_COUNT; i++)
    if (a->path_ns[i] > 0) json_put_int(json, account_state_id((enum account_state)i), a->path_ns[i]);
  json_close(json);
  json_key(json, "classes");
  json_open_object(json);
  for (int i = 0; i < WORK_CLASS_COUNT; i++)
    if (a->class_n[i] > 0) json_put_int(json, work_class_text((enum work_class)i), a->class_busy_ns[i]);
  json_close(json);
  put_histogram(json, "kernels", &a->kernels);
  put_histogram(json, "launches", &a->launches);
  put_histogram(json, "launch_to_start", &a->delays);
  put_histogram(json, "back_to_back", &a->back_to_back);
  json_key(json, "launch_queue_ns"); /* time with 0, 1, 2-3, 4-7 ... launches waiting */
  json_open_array(json);
  for (int i = 0; i < DEPTH_BINS; i++) json_int(json, a->depth_ns[i]);
  json_close(json);
  json_put_int(json, "back_to_back_threshold_ns", a->threshold_ns);
  json_put_bool(json, "back_to_back_threshold_measured", a->threshold_measured);
}

static void put_findings(struct json_writer *json, const struct attributed_trace *t) {
  json_key(json, "findings");
  json_open_array(json);
  for (size_t i = 0; i < t->n_findings; i++) {
    const struct finding *f = &t->findings[i];
    json_open_object(json);
    json_put_text(json, "finding", f->id);
    json_put_text(json, "title", f->title);
    json_put_text(json, "rung", "accounted");
    json_put_text(json, "word", "suspected");
    json_put_text(json, "symptom_layer", layer_text(f->symptom));
    json_key(json, "contributing_layers");
    json_open_array(json);
    for (int l = 0; l < LAYER_COUNT; l++)
      if (f->contributing & LAYER_BIT(l)) json_text(json, layer_text((enum layer)l));
    json_close(json);
    json_put_text(json, "named", f->named);
    json_put_double(json, "share", f->share);
    json_key(json, "gain_at_most");
    if (f->bounded) json_double(json, f->bound);
    else json_nothing(json);
    json_put_text(json, "bound", f->bound_holds);
    json_put_text(json, "evidence", f->evidence);
    json_put_text(json, "not_established", f->open);
    json_put_text(json, "next", f->next);
    json_put_text(json, "to_confirm", f->confirm);
    json_close(json);
  }
  json_close(json);
}

static void put_layered(struct json_writer *json, const struct attribution_view *view, bool known, enum layer layer) {
  json_put_text(json, "layer", known ? layer_text(layer) : "-");
  json_put_text(json, "owner", known ? attribution_layer_owner(view, layer) : "nobody yet");
}

static void put_requests(struct json_writer *json, const struct attribution_view *view, const struct requests *r) {
  json_put_int(json, "requests", r->n_roots);
  json_put_int(json, "total_ns", r->total_ns);
  json_put_int(json, "cut", r->n_cut);
  json_put_int(json, "dropped", r->n_dropped);
  json_put_int(json, "unreached", r->n_unreached);
  json_key(json, "operations");
  json_open_array(json);
  for (size_t i = 0; i < r->n_operations; i++) {
    const struct operation_total *o = &r->operations[i];
    json_open_object(json);
    json_put_text(json, "service", o->service);
    json_put_text(json, "operation", o->name);
    enum layer layer = LAYER_APPLICATION;
    bool known = requests_layer(o->service, o->name, &layer);
    put_layered(json, view, known, layer);
    json_put_int(json, "spans", o->n);
    json_put_int(json, "on_path_ns", o->on_path_ns);
    json_put_int(json, "work_ns", o->work_ns);
    json_close(json);
  }
  json_close(json);
}

static void put_samples(struct json_writer *json, const struct attribution_view *view, const struct samples *s) {
  json_put_text(json, "event", s->event);
  json_put_int(json, "samples", s->n);
  json_put_int(json, "weight", s->weight);
  json_put_int(json, "samples_of_other_events", s->n_other);
  json_key(json, "modules");
  json_open_array(json);
  for (size_t i = 0; i < s->modules.n; i++) {
    enum layer layer = LAYER_APPLICATION;
    struct sampled_module m = samples_module(s->modules.items[i].text);
    bool known = samples_layer(m.module, &layer);
    json_open_object(json);
    json_put_text(json, "module", m.module);
    json_put_text(json, "process", m.process);
    put_layered(json, view, known, layer);
    json_put_int(json, "samples", s->modules.items[i].n);
    json_put_int(json, "weight", s->modules.items[i].weight);
    json_close(json);
  }
  json_close(json);
}

static void put_names(struct json_writer *json, const struct attribution_view *view, const struct timeline *line, const char *key,
                      const struct name_totals *names) {
  json_key(json, key);
  json_open_array(json);
  for (size_t i = 0; i < names->n && i < view->top; i++) {
    const struct name_total *n = &names->at[i];
    const struct span_name *name = &line->names[n->name];
    json_open_object(json);
    json_key(json, "name");
    json_bytes(json, name->text, name->length);
    json_put_text(json, "class", work_class_text((enum work_class)name->work));
    json_put_int(json, "n", n->n);
    json_put_int(json, "ns", n->ns);
    json_put_int(json, "least_ns", n->least_ns);
    json_put_int(json, "greatest_ns", n->greatest_ns);
    json_close(json);
  }
  json_close(json);
}

static void put_trace(struct json_writer *json, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct timeline *line = &t->timeline;
  char verdict[700];
  json_open_object(json);
  json_put_text(json, "trace", t->path);
  json_put_text(json, "format", t->reader);
  json_put_int(json, "bytes", t->bytes);
  json_key(json, "facts");
  json_open_object(json);
  for (size_t i = 0; i < line->n_facts; i++) json_put_text(json, line->facts[i].key, line->facts[i].value);
  json_close(json);
  json_key(json, "spans");
  json_open_object(json);
  for (int i = 0; i < TRACE_KIND_COUNT; i++)
    if (line->n_kind[i] > 0) json_put_int(json, trace_kind_text((enum trace_kind)i), line->n_kind[i]);
  json_close(json);
  json_key(json, "lost");
  json_open_array(json);
  for (int i = 0; i < TRACE_LOSS_COUNT; i++) {
    if (line->lost[i] == 0) continue;
    json_open_object(json);
    json_put_int(json, "n", line->lost[i]);
    json_put_text(json, "what", trace_loss_text((enum trace_loss)i));
    json_close(json);
  }
  json_close(json);
  if (t->content != CONTENT_TIMELINE) {
    if (t->content == CONTENT_REQUESTS) put_requests(json, view, &t->requests);
    else put_samples(json, view, &t->samples);
    json_close(json);
    return;
  }
  json_put_int(json, "host_process", timeline_process(line));
  json_put_int(json, "device_spans", line->n_device);
  json_put_int(json, "launched_before_the_trace", line->n_orphans);
  json_put_int(json, "without_correlation", line->n_unlinked);
  json_put_int(json, "begun_before_their_launch", line->n_early);
  json_put_int(json, "graph_launches", line->n_graph_launches);
  json_put_int(json, "graph_spans", line->n_graph_spans);
  attribution_verdict(t, verdict, sizeof verdict);
  json_put_text(json, "verdict", verdict);
  put_account(json, view, t);
  put_host(json, view, t);
  put_findings(json, t);
  put_names(json, view, line, "names", &t->names);
  put_names(json, view, line, "ranges", &t->ranges);
  json_close(json);
}

static void put_change(struct json_writer *json, const struct attribution_view *view) {
  const struct attribution_change *x = view->change;
  json_key(json, "change");
  json_open_object(json);
  json_put_bool(json, "per_step", x->per_step);
  json_put_int(json, "traces_before", (int64_t)x->n[0]);
  json_put_int(json, "traces_after", (int64_t)x->n[1]);
  json_put_double(json, "same_names", x->same_names);
  json_put_double(json, "same_paths", x->same_paths);
  json_key(json, "abstained");
  if (x->abstained) json_text(json, x->reason);
  else json_nothing(json);
  json_put_double(json, "wall_before_ns", x->wall_ns[0]);
  json_put_double(json, "wall_after_ns", x->wall_ns[1]);
  json_put_double(json, "difference_ns", x->difference_ns);
  json_put_double(json, "low_ns", x->bounded ? x->low_ns : NAN);
  json_put_double(json, "high_ns", x->bounded ? x->high_ns : NAN);
  json_key(json, "states");
  json_open_array(json);
  for (int i = 0; i < STATE_COUNT; i++) {
    if (!(fabs(x->state_ns[0][i]) + fabs(x->state_ns[1][i]) > 0)) continue;
    json_open_object(json);
    json_put_text(json, "state", account_state_id((enum account_state)i));
    json_put_double(json, "before_ns", x->state_ns[0][i]);
    json_put_double(json, "after_ns", x->state_ns[1][i]);
    json_close(json);
  }
  json_close(json);
  json_key(json, "roles");
  json_open_object(json);
  for (int i = 0; i < ROLE_COUNT; i++) {
    json_key(json, role_text((enum account_role)i));
    json_open_array(json);
    json_double(json, x->role_ns[0][i]);
    json_double(json, x->role_ns[1][i]);
    json_close(json);
  }
  json_close(json);
  json_key(json, "layers_ns");
  json_open_object(json);
  for (int l = 0; l <= LAYER_COUNT; l++)
    json_put_double(json, l < LAYER_COUNT ? layer_text((enum layer)l) : "-", x->layer_ns[1][l] - x->layer_ns[0][l]);
  json_close(json);
  json_put_text(json, "accounted_state", account_state_id(x->accounted));
  json_put_double(json, "accounted_ns", x->accounted_ns);
  json_put_double(json, "non_additivity", x->non_additivity);
  json_close(json);
}

bool attribution_json(const struct attribution_view *view, struct buffer *ret) {
  struct json_writer json;
  const struct attribution *a = view->attribution;
  char digest[DIGEST_HEX];
  json_begin_object(&json, ret);
  json_put_text(&json, "kernel_rules", work_rules_digest(digest));
  json_put_int(&json, "kernel_rules_version", WORK_RULES_VERSION);
  json_key(&json, "traces");
  json_open_array(&json);
  for (size_t i = 0; i < a->n_traces; i++) put_trace(&json, view, &a->traces[i]);
  json_close(&json);
  if (a->ranks) {
    const struct collectives *c = &a->collectives;
    json_key(&json, "collectives");
    json_open_object(&json);
    json_put_int(&json, "matched", c->all.n_matched);
    json_put_int(&json, "unmatched", c->all.n_unmatched);
    json_put_int(&json, "transfer_ns", c->all.transfer_ns);
    json_put_int(&json, "greatest_skew_ns", c->all.skew_greatest_ns);
    json_key(&json, "ranks");
    json_open_array(&json);
    for (size_t i = 0; i < c->n_ranks; i++) {
      json_open_object(&json);
      json_put_int(&json, "rank", c->ranks[i].rank);
      json_put_int(&json, "n", c->ranks[i].n);
      json_put_int(&json, "busy_ns", c->ranks[i].busy_ns);
      json_put_int(&json, "wait_ns", c->ranks[i].wait_ns);
      json_put_int(&json, "came_last", c->ranks[i].n_last);
      json_close(&json);
    }
    json_close(&json);
    json_close(&json);
  }
  if (view->links != NULL) {
    json_key(&json, "links");
    json_open_object(&json);
    json_put_text(&json, "between_gpus", view->links->peer_text);
    json_put_double(&json, "between_gpus_bytes_per_s", view->links->peer);
    json_put_text(&json, "to_host", view->links->host_text);
    json_put_double(&json, "to_host_bytes_per_s", view->links->host);
    json_close(&json);
  }
  if (view->change != NULL) put_change(&json, view);
  return json_end_line(&json);
}

/* --- the account as a trace --- */

struct slices {
  struct json_writer *json;
  int64_t zero_ns, from_ns, to_ns;
  enum account_state state;
  bool any, on_host;
};

static void put_slice(struct slices *s) {
  enum layer layer;
  if (!s->any) return;
  bool layered = account_state_layer(s->state, s->on_host, &layer);
  json_open_object(s->json);
  json_put_text(s->json, "ph", "X");
  json_put_text(s->json, "cat", layered ? layer_text(layer) : "unexplained");
  json_put_text(s->json, "name", account_state_words(s->state, s->on_host));
  json_put_int(s->json, "pid", 0);
  json_put_int(s->json, "tid", layered ? (int64_t)layer : LAYER_COUNT);
  json_put_double(s->json, "ts", (double)(s->from_ns - s->zero_ns) / 1e3);
  json_put_double(s->json, "dur", (double)(s->to_ns - s->from_ns) / 1e3);
  json_close(s->json);
}

static void take_stretch(void *context, enum account_state state, int64_t from_ns, int64_t to_ns) {
  struct slices *s = context;
  if (s->any && s->state == state && s->to_ns == from_ns) {
    s->to_ns = to_ns;
    return;
  }
  put_slice(s);
  s->any = true;
  s->state = state;
  s->from_ns = from_ns;
  s->to_ns = to_ns;
}

bool attribution_chrome(const struct attributed_trace *trace, const struct account_options *options, struct buffer *ret) {
  struct json_writer json;
  struct account account;
  struct slices slices = {.json = &json, .on_host = trace->account.device < 0, .zero_ns = trace->account.from_ns};
  struct account_options told = *options;
  told.each = take_stretch;
  told.context = &slices;
  json_begin_object(&json, ret);
  json_key(&json, "traceEvents");
  json_open_array(&json);
  for (int l = 0; l <= LAYER_COUNT; l++) {
    json_open_object(&json);
    json_put_text(&json, "ph", "M");
    json_put_text(&json, "name", "thread_name");
    json_put_int(&json, "pid", 0);
    json_put_int(&json, "tid", l);
    json_key(&json, "args");
    json_open_object(&json);
    json_put_text(&json, "name", l < LAYER_COUNT ? layer_text((enum layer)l) : "unexplained, or no layer's");
    json_close(&json);
    json_close(&json);
  }
  account_run(&trace->timeline, trace->account.device, &told, &account);
  put_slice(&slices);
  account_release(&account);
  json_close(&json);
  return json_end_line(&json);
}
