#include "measure/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/endpoint.h"
#include "base/host.h"
#include "executor/capture.h"
#include "executor/difference.h"
#include "measure/part.h"
#include "result/result.h"

enum { SESSIONS_MAX = 10000, START_APART_NS = 10000000 };

struct part {
  const char *path;
  struct bundle *bundle;
  struct bundle_seal_info seal;
  int64_t number, count, start_ns;
  struct host host; /* boot: which machine, since which start of it */
  uint8_t prompts[DIGEST_BYTES];
  bool prompts_known;
};

/* A request on its way into the whole: in a closed loop ids do not say which came first. */
struct ordered {
  int64_t scheduled_ns, id, to;
  size_t part;
};

struct merging {
  struct arena arena;
  struct part *parts;
  size_t n_parts;
  struct bundle *out;
  struct merge_outcome *outcome;
  struct lynx_error *error;
  const char *others;       /* how a part saw another executor; NULL */
  struct part *now;         /* whose rows are being taken */
  struct contract contract; /* of all parts */
  struct ordered *order;    /* of a closed loop's session */
  size_t n_order, room_order;
  /* Of any part; how many parts have it complete. */
  size_t *n_complete;
  struct bundle_session *sessions;
  size_t n_sessions;
};

/* --- the parts --- */

static int by_number(const void *a, const void *b) {
  const struct part *x = a, *y = b;
  return x->number < y->number ? -1 : x->number > y->number;
}

static enum lynx_status open_part(struct part *part, struct lynx_error *error) {
  enum lynx_status status = bundle_open(part->path, &part->bundle, &part->seal, error);
  if (status != LYNX_OK) return status;
  const char *text = bundle_meta(part->bundle, "part");
  json_t *root = text != NULL ? json_parse(text, strlen(text), 65536, NULL) : NULL;
  part->number = json_get_int(root, "part", 0);
  part->count = json_get_int(root, "of", 0);
  part->start_ns = json_get_int(root, "start_ns", 0);
  host_from_json(root, &part->host);
  json_decref(root);
  if (part->number < 1 || part->count < part->number || part->count > MERGE_PARTS_MAX)
    return lynx_fail(error, LYNX_INPUT, "no part of a run: `lynxbench run CONTRACT --part K/N --start TIME` makes one");
  return LYNX_OK;
}

static const char *meta(const struct part *part, const char *key) {
  const char *value = bundle_meta(part->bundle, key);
  return value != NULL ? value : "";
}

static enum lynx_status add_prompt(void *context, int64_t id, const char *text, size_t length) {
  struct digest *digest = context;
  digest_update(digest, &id, sizeof id);
  digest_update(digest, &length, sizeof length);
  digest_update(digest, text, length);
  return LYNX_OK;
}

/* What was sent is not in the contract: a file of that name may hold other prompts elsewhere. */
static enum lynx_status read_prompts(struct part *part, struct lynx_error *error) {
  struct digest digest = {.state = {0}};
  digest_init(&digest);
  part->prompts_known = strstr(part->seal.withheld, "input") == NULL;
  enum lynx_status status = bundle_each_input(part->bundle, add_prompt, &digest, error);
  digest_final(&digest, part->prompts);
  return status;
}

static enum lynx_status check_part(const struct merging *m, size_t i) {
  static const char *const same[] = {"profile", "tool"};
  const struct part *first = &m->parts[0], *p = &m->parts[i];
  if (strcmp(meta(p, "contract_digest"), meta(first, "contract_digest")) != 0 || strcmp(meta(p, "contract"), meta(first, "contract")) != 0)
    return lynx_fail(m->error, LYNX_INPUT, "a part of another contract than %s", first->path);
  if (p->count != first->count || p->start_ns != first->start_ns)
    return lynx_fail(m->error, LYNX_INPUT, "a part of another run than %s: its number of hosts or its common start differs", first->path);
  if (p->number == m->parts[i - 1].number)
    return lynx_fail(m->error, LYNX_INPUT, "part %" PRId64 " twice; %s is it too", p->number, m->parts[i - 1].path);
  for (size_t k = 0; k < LYNX_COUNT(same); k++)
    if (strcmp(meta(p, same[k]), meta(first, same[k])) != 0)
      return lynx_fail(m->error, LYNX_INPUT, "its '%s' is another than in %s", same[k], first->path);
  if (first->prompts_known && p->prompts_known && memcmp(first->prompts, p->prompts, DIGEST_BYTES) != 0)
    return lynx_fail(m->error, LYNX_INPUT, "other prompts than in %s: the hosts' files differ", first->path);
  return LYNX_OK;
}

static enum lynx_status check_parts(struct merging *m) {
  struct problem_list problems;
  const char *text = meta(&m->parts[0], "contract");
  enum lynx_status status = contract_parse(text, strlen(text), &m->arena, &m->contract, &problems) == LYNX_OK
                                ? LYNX_OK
                                : lynx_fail(m->error, LYNX_INPUT, "its contract is not one that this build reads");
  for (size_t i = 0; i < m->n_parts && status == LYNX_OK; i++) {
    m->now = &m->parts[i];
    status = read_prompts(m->now, m->error);
    if (status == LYNX_OK && i > 0) status = check_part(m, i);
  }
  return status;
}

/* --- sessions --- */

static enum lynx_status keep_session(struct merging *m, const struct bundle_session *s) {
  if (m->n_sessions == SESSIONS_MAX) return lynx_fail(m->error, LYNX_LIMIT, "more than %d sessions", SESSIONS_MAX);
  if ((m->n_sessions & (m->n_sessions - 1)) == 0) {
    m->sessions = xgrow(m->sessions, m->n_sessions > 0 ? 2 * m->n_sessions : 1, sizeof *m->sessions);
    m->n_complete = xgrow(m->n_complete, m->n_sessions > 0 ? 2 * m->n_sessions : 1, sizeof *m->n_complete);
  }
  m->n_complete[m->n_sessions] = 0;
  m->sessions[m->n_sessions++] = bundle_session_copy(s, &m->arena);
  return LYNX_OK;
}

/* What the instruments of two hosts cost and how late they were, together. */
static const char *join_instruments(struct arena *arena, const char *a, const char *b) {
  json_t *x = json_parse(a, strlen(a), 65536, NULL), *y = json_parse(b, strlen(b), 65536, NULL);
  static const char *const sums[] = {"threads", "loops", "busy", "cpu_ns", "wall_ns", "answers_with_lost_events"}, *const greatest[] = {
                                                                                                                       "longest_away_ns",
                                                                                                                       "ended_ns"};
  struct buffer out;
  struct json_writer json;
  buffer_init(&out, 65536);
  json_begin_object(&json, &out);
  for (size_t i = 0; i < LYNX_COUNT(sums); i++)
    json_put_double(&json, sums[i], json_get_double(x, sums[i], 0) + json_get_double(y, sums[i], 0));
  for (size_t i = 0; i < LYNX_COUNT(greatest); i++) {
    int64_t p = json_get_int(x, greatest[i], 0), q = json_get_int(y, greatest[i], 0);
    json_put_int(&json, greatest[i], p > q ? p : q);
  }
  json_put_bool(&json, "drained", json_get_bool(x, "drained", false) && json_get_bool(y, "drained", false));
  json_close(&json);
  const char *joined = json_finish(&json) ? arena_text(arena, out.data, out.length) : "{}";
  buffer_release(&out);
  json_decref(x);
  json_decref(y);
  return joined;
}

static bool same_session(const struct bundle_session *a, const struct bundle_session *b) {
  int64_t apart = a->start_realtime_ns - b->start_realtime_ns;
  bool same = strcmp(a->precision, b->precision) == 0 && a->purpose == b->purpose && a->index == b->index && a->seed == b->seed &&
              a->warm_up_ns == b->warm_up_ns && a->counted_ns == b->counted_ns && a->drain_ns == b->drain_ns &&
              !(a->rate_per_s < b->rate_per_s) && !(a->rate_per_s > b->rate_per_s);
  bool whole = a->end == SESSION_COMPLETE && b->end == SESSION_COMPLETE;
  return same && (!whole || (strcmp(a->schedule_digest, b->schedule_digest) == 0 && apart < START_APART_NS && apart > -START_APART_NS));
}

/* The same session on another host: the schedule and the start must be the same. */
static enum lynx_status join_session(void *context, const struct bundle_session *s) {
  struct merging *m = context;
  size_t i = 0;
  bool complete = s->end == SESSION_COMPLETE;
  int64_t due = m->now->start_ns + s->id * part_period_ns(&m->contract), off = s->start_realtime_ns - due;
  while (i < m->n_sessions && m->sessions[i].id != s->id) i++;
  bool known = i < m->n_sessions;
  if (s->id < 0 || s->id >= SESSIONS_MAX || (complete && (off > START_APART_NS || off < -START_APART_NS)))
    return lynx_fail(m->error, LYNX_INPUT, "session %" PRId64 " did not begin at the common start, as its part says", s->id);
  if (!known && keep_session(m, s) != LYNX_OK) return m->error->status;
  struct bundle_session *whole = &m->sessions[i];
  m->n_complete[i] += complete;
  if (!known) return LYNX_OK;
  if (!same_session(whole, s))
    return lynx_fail(m->error, LYNX_INPUT, "session %" PRId64 " is another one than in the parts before it", s->id);
  if (strcmp(whole->executed_json, s->executed_json) != 0)
    m->others = arena_printf(&m->arena, "part %" PRId64 " says that something else is executed than part %" PRId64, m->now->number,
                             m->parts[0].number);
  if (!complete) {
    whole->end = s->end;
    whole->why = arena_printf(&m->arena, "%s%spart %" PRId64, s->why, s->why[0] != 0 ? ", " : "", m->now->number);
  }
  whole->instrument_json = join_instruments(&m->arena, whole->instrument_json, s->instrument_json);
  return LYNX_OK;
}

/* --- rows --- */

static enum lynx_status note_order(void *context, const struct bundle_request *r) {
  struct merging *m = context;
  m->order = xroom(m->order, m->n_order, &m->room_order, sizeof *m->order);
  m->order[m->n_order++] = (struct ordered){r->scheduled_ns, r->id, 0, (size_t)(m->now - m->parts)};
  return LYNX_OK;
}

static int by_part(const void *a, const void *b) {
  const struct ordered *x = a, *y = b;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static int by_time(const void *a, const void *b) {
  const struct ordered *x = a, *y = b;
  return x->scheduled_ns < y->scheduled_ns ? -1 : x->scheduled_ns > y->scheduled_ns ? 1 : by_part(a, b);
}

/* Ids of a closed loop are given anew, in the order of time: what figures rest on is that order. */
static enum lynx_status order_session(struct merging *m, int64_t session) {
  enum lynx_status status = LYNX_OK;
  m->n_order = 0;
  if (!load_is_closed((enum load_kind)m->contract.regime.load)) return LYNX_OK; /* there the schedule's ids are in order already */
  for (size_t i = 0; i < m->n_parts && status == LYNX_OK; i++) {
    m->now = &m->parts[i];
    status = bundle_each_request(m->now->bundle, session, note_order, m, m->error);
  }
  if (m->n_order > 0) qsort(m->order, m->n_order, sizeof *m->order, by_time);
  for (size_t i = 0; i < m->n_order; i++) m->order[i].to = (int64_t)i;
  if (m->n_order > 0) qsort(m->order, m->n_order, sizeof *m->order, by_part);
  return status;
}

/* In a closed loop: where this part's request of that id stands in time. */
static int64_t id_in_whole(const struct merging *m, int64_t id) {
  const struct ordered wanted = {.id = id, .part = (size_t)(m->now - m->parts)},
                       *found = m->n_order > 0 ? bsearch(&wanted, m->order, m->n_order, sizeof wanted, by_part) : NULL;
  return found != NULL ? found->to : id;
}

static enum lynx_status put_request(void *context, const struct bundle_request *r) {
  struct merging *m = context;
  struct bundle_request copy = *r;
  copy.id = id_in_whole(m, r->id);
  m->outcome->n_requests++;
  bundle_put_request(m->out, &copy);
  if (bundle_written(m->out, NULL) == LYNX_EXISTS)
    return lynx_fail(m->error, LYNX_INPUT, "request %" PRId64 " of session %" PRId64 " was sent by another part too", r->id, r->session);
  return bundle_written(m->out, m->error);
}

static enum lynx_status put_phase(void *context, const struct bundle_phase *phase) {
  struct merging *m = context;
  struct bundle_phase copy = *phase;
  copy.request = id_in_whole(m, phase->request);
  bundle_put_phase(m->out, &copy);
  return LYNX_OK;
}

/* What each host saw of its own machine and of the server stays apart. */
static enum lynx_status put_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct merging *m = context;
  char name[256];
  bool first = m->now == &m->parts[0];
  (void)snprintf(name, sizeof name, "part%" PRId64 ".%.200s", m->now->number, series);
  bundle_put_sample(m->out, session, at_ns, first ? series : name, value);
  return LYNX_OK;
}

static enum lynx_status put_thread(void *context, int64_t session, const struct thread_name *name) {
  struct merging *m = context;
  bundle_put_thread(m->out, session, name);
  return LYNX_OK;
}

static enum lynx_status put_activity(void *context, int64_t session, const struct thread_activity *activity) {
  struct merging *m = context;
  bundle_put_activity(m->out, session, activity);
  return LYNX_OK;
}

static enum lynx_status put_stack(void *context, const struct bundle_stack *stack) {
  struct merging *m = context;
  bundle_put_stack(m->out, stack);
  return LYNX_OK;
}

/* The serving process's threads as the first part saw them, whose samples are the whole's: of another host's machine they would not be. */
static enum lynx_status put_threads(struct merging *m, int64_t session) {
  m->now = &m->parts[0];
  enum lynx_status status = bundle_each_thread(m->now->bundle, session, put_thread, m, m->error);
  if (status == LYNX_OK) status = bundle_each_activity(m->now->bundle, session, put_activity, m, m->error);
  return status == LYNX_OK ? bundle_each_stack(m->now->bundle, session, put_stack, m, m->error) : status;
}

static enum lynx_status put_answer(void *context, int64_t session, int64_t input, const char *text, size_t length) {
  struct merging *m = context;
  bundle_put_answer(m->out, session, input, text, length);
  return LYNX_OK;
}

static enum lynx_status put_input(void *context, int64_t id, const char *text, size_t length) {
  struct merging *m = context;
  bundle_put_input(m->out, id, text, length);
  return LYNX_OK;
}

/* That a part is a part is nothing of the whole; that a clock was stepped is a condition of it. */
static enum lynx_status put_event(void *context, int64_t realtime_ns, enum event_kind kind, const char *text) {
  struct merging *m = context;
  if (kind == EVENT_PART) return LYNX_OK;
  if (kind == EVENT_CLOCK_STEP) kind = EVENT_CONDITION;
  bundle_put_event(m->out, realtime_ns, kind, arena_printf(&m->arena, "part %" PRId64 ": %s", m->now->number, text));
  return LYNX_OK;
}

/* Facts of the load host itself may differ; those of what is loaded may not. */
static void compare_facts(struct merging *m, const struct fact_list *own, const char *name) {
  struct fact_list first = {0};
  struct difference_list differences = {0};
  struct lynx_error ignored = {0};
  if (bundle_facts(m->parts[0].bundle, name, &first, &ignored) == LYNX_OK) {
    capture_diff(&first, own, &differences);
    for (size_t i = 0; i < differences.n_items && m->others == NULL; i++) {
      const struct difference *d = &differences.items[i];
      if (d->of != FACT_IDENTITY || strncmp(d->key, "client/", 7) == 0 || strncmp(d->key, "client.", 7) == 0) continue;
      m->others = arena_printf(&m->arena, "part %" PRId64 " found another executor than part %" PRId64 ": %s is '%s' against '%s'",
                               m->now->number, m->parts[0].number, d->key, d->b != NULL ? d->b : "absent", d->a != NULL ? d->a : "absent");
    }
    difference_list_release(&differences);
  }
  fact_list_release(&first);
}

static enum lynx_status put_facts(struct merging *m, const char *moment, const char *precision) {
  struct fact_list facts = {0};
  const char *name = arena_printf(&m->arena, "%s:%s", moment, precision);
  enum lynx_status status = bundle_facts(m->now->bundle, name, &facts, m->error);
  bool first = m->now == &m->parts[0];
  if (status == LYNX_OK && !first && facts.n_items > 0 && strcmp(moment, "start") == 0) compare_facts(m, &facts, name);
  if (status == LYNX_OK && facts.n_items > 0)
    bundle_put_facts(m->out, first ? name : arena_printf(&m->arena, "part %" PRId64 " %s", m->now->number, name), &facts);
  fact_list_release(&facts);
  return status;
}

/* What makes a part's own figures unfit makes the whole's so, however few of its requests there are. */
static enum lynx_status judge_part(struct merging *m) {
  struct result result;
  enum lynx_status status = result_compute(m->now->bundle, &m->now->seal, &result, m->error);
  if (status != LYNX_OK) return status;
  for (size_t i = 0; i < result.n_precisions; i++)
    if (result.precisions[i].instrument_limited)
      bundle_put_event(
          m->out, m->now->start_ns, EVENT_CONDITION,
          arena_printf(
              &m->arena,
              "part %" PRId64
              " by itself is instrument-limited: its host's lateness can have changed the figures (method.instrument_error_at_most)",
              m->now->number));
  result_release(&result);
  return LYNX_OK;
}

static enum lynx_status put_rows(struct merging *m, const struct bundle_session *s) {
  enum lynx_status status = order_session(m, s->id);
  for (size_t i = 0; i < m->n_parts && status == LYNX_OK; i++) {
    m->now = &m->parts[i];
    status = bundle_each_request(m->now->bundle, s->id, put_request, m, m->error);
    if (status == LYNX_OK) status = bundle_each_phase(m->now->bundle, s->id, put_phase, m, m->error);
    if (status == LYNX_OK) status = bundle_each_sample(m->now->bundle, s->id, put_sample, m, m->error);
  }
  if (status == LYNX_OK) status = put_threads(m, s->id);
  return status == LYNX_OK ? bundle_commit(m->out, m->error) : status;
}

static enum lynx_status put_part(struct merging *m) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < m->contract.precisions.n_items && status == LYNX_OK; i++) {
    status = put_facts(m, "start", m->contract.precisions.items[i]);
    if (status == LYNX_OK) status = put_facts(m, "end", m->contract.precisions.items[i]);
  }
  if (status == LYNX_OK) status = bundle_each_answer(m->now->bundle, put_answer, m, m->error);
  if (status == LYNX_OK) status = bundle_each_event(m->now->bundle, put_event, m, m->error);
  return status == LYNX_OK ? judge_part(m) : status;
}

/* --- the whole --- */

static void write_parts(const struct merging *m, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  json_open_array(&json);
  for (size_t i = 0; i < m->n_parts; i++) {
    json_t *own = json_parse(meta(&m->parts[i], "part"), strlen(meta(&m->parts[i], "part")), 65536, NULL);
    json_open_object(&json);
    json_put_int(&json, "part", m->parts[i].number);
    json_put_int(&json, "of", m->parts[i].count);
    json_put_text(&json, "root", m->parts[i].seal.root);
    json_put_text(&json, "ended", bundle_end_text(m->parts[i].seal.end));
    json_put_text(&json, "host", json_get_text(own, "host", ""));
    json_put_text(&json, "start", json_get_text(own, "start", ""));
    json_put_bool(&json, "clock_synchronised", m->parts[i].host.clock_synchronised);
    json_put_int(&json, "clock_off_at_most_us", m->parts[i].host.clock_off_at_most_us);
    json_close(&json);
    json_decref(own);
  }
  json_close(&json);
}

static bool one_machine(const struct merging *m) {
  for (size_t i = 0; i < m->n_parts; i++)
    if (m->parts[i].host.boot[0] == 0 || strcmp(m->parts[i].host.boot, m->parts[0].host.boot) != 0) return false;
  return true;
}

static const char *hosts_text(struct merging *m) {
  const struct merge_outcome *o = m->outcome;
  const char *known = one_machine(m) ? "they are processes of one machine, with one clock"
                      : o->clock_off_at_most_s < 0
                          ? "by how much their clocks differ is not known"
                          : arena_printf(&m->arena, "their clocks are right to %.3g s by their kernels' word%s", o->clock_off_at_most_s,
                                         o->clocks_synchronised ? "" : ", which not all call synchronised");
  return arena_printf(&m->arena, "%" PRId64 " load hosts, which began together: %s; other tenants were not looked for", m->parts[0].count,
                      known);
}

/* Conditions of the whole that no part has by itself. */
static void put_conditions(struct merging *m) {
  const struct merge_outcome *o = m->outcome;
  const char *texts[3];
  size_t n = 0;
  struct endpoint endpoint;
  double most = (double)m->contract.method.warm_up_ns / 1e9 / 2;
  bool loopback = endpoint_parse(m->contract.executor.endpoint, &endpoint, NULL) == LYNX_OK &&
                  (strncmp(endpoint.host, "127.", 4) == 0 || strcmp(endpoint.host, "localhost") == 0 || strcmp(endpoint.host, "::1") == 0);
  if (!one_machine(m) && loopback)
    texts[n++] = "the endpoint is each host's own (loopback), and the hosts are several: they loaded several services";
  if (!one_machine(m) && (!o->clocks_synchronised || o->clock_off_at_most_s < 0 || o->clock_off_at_most_s > most))
    texts[n++] = "the load hosts' clocks are not known to agree to half the warm-up: their windows may not be the same";
  if (m->others != NULL) texts[n++] = m->others;
  for (size_t i = 0; i < n; i++) bundle_put_event(m->out, m->parts[0].start_ns, EVENT_CONDITION, texts[i]);
}

static void put_meta(struct merging *m) {
  static const char *const keys[] = {"format", "tool",     "contract", "contract_digest", "intended_at",
                                     "host",   "endpoint", "profile",  "calibration",     "envelope"};
  struct buffer parts;
  buffer_init(&parts, 1 << 20);
  write_parts(m, &parts);
  for (size_t i = 0; i < LYNX_COUNT(keys); i++)
    if (bundle_meta(m->parts[0].bundle, keys[i]) != NULL) bundle_put_meta(m->out, keys[i], bundle_meta(m->parts[0].bundle, keys[i]));
  bundle_put_meta(m->out, "load_hosts", hosts_text(m));
  bundle_put_meta(m->out, "parts", parts.data != NULL ? parts.data : "[]");
  buffer_release(&parts);
}

static void judge_end(struct merging *m) {
  struct merge_outcome *o = m->outcome;
  const struct part *first = &m->parts[0];
  o->end = BUNDLE_COMPLETE;
  o->clocks_synchronised = true;
  (void)snprintf(o->why, sizeof o->why, "all %zu parts", m->n_parts);
  for (size_t i = 0; i < m->n_parts; i++) {
    const struct part *p = &m->parts[i];
    o->clocks_synchronised = o->clocks_synchronised && p->host.clock_synchronised;
    if (p->host.clock_off_at_most_us < 0) o->clock_off_at_most_s = -1;
    else if (o->clock_off_at_most_s >= 0 && (double)p->host.clock_off_at_most_us / 1e6 > o->clock_off_at_most_s)
      o->clock_off_at_most_s = (double)p->host.clock_off_at_most_us / 1e6;
    if (p->seal.end == BUNDLE_COMPLETE || o->end != BUNDLE_COMPLETE) continue;
    o->end = BUNDLE_INTERRUPTED;
    (void)snprintf(o->why, sizeof o->why, "part %" PRId64 " of %" PRId64 " is %s: %.150s", p->number, p->count,
                   bundle_end_text(p->seal.end), p->seal.why);
  }
  for (size_t i = 0; i < m->n_sessions; i++) {
    if (m->n_complete[i] == m->n_parts) continue;
    if (m->sessions[i].end == SESSION_COMPLETE) m->sessions[i].end = SESSION_INTERRUPTED, m->sessions[i].why = "not all parts have it";
    if (o->end != BUNDLE_COMPLETE) continue;
    o->end = BUNDLE_INTERRUPTED;
    (void)snprintf(o->why, sizeof o->why, "session %" PRId64 " is complete in %zu of %zu parts", m->sessions[i].id, m->n_complete[i],
                   m->n_parts);
  }
  for (int64_t k = 1; k <= first->count && (size_t)first->count != m->n_parts; k++) {
    bool there = false;
    for (size_t i = 0; i < m->n_parts; i++) there = there || m->parts[i].number == k;
    if (there) continue;
    o->end = BUNDLE_INTERRUPTED;
    (void)snprintf(o->why, sizeof o->why, "part %" PRId64 " of %" PRId64 " is missing: its share of the load is not in the record", k,
                   first->count);
    return;
  }
}

static int by_id(const void *a, const void *b) {
  const struct bundle_session *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

static enum lynx_status write_whole(struct merging *m) {
  put_meta(m);
  m->now = &m->parts[0];
  enum lynx_status status = bundle_each_input(m->parts[0].bundle, put_input, m, m->error);
  for (size_t i = 0; i < m->n_sessions && status == LYNX_OK; i++) {
    if (m->outcome->end != BUNDLE_COMPLETE && m->sessions[i].end == SESSION_COMPLETE)
      m->sessions[i].end = SESSION_INTERRUPTED, m->sessions[i].why = "a part is missing or incomplete";
    bundle_put_session(m->out, &m->sessions[i]);
    status = put_rows(m, &m->sessions[i]);
  }
  for (size_t i = 0; i < m->n_parts && status == LYNX_OK; i++) {
    m->now = &m->parts[i];
    status = put_part(m);
  }
  put_conditions(m);
  return status == LYNX_OK ? bundle_seal(m->out, m->outcome->end, m->outcome->why, m->outcome->root, m->error) : status;
}

static enum lynx_status read_sessions(struct merging *m) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < m->n_parts && status == LYNX_OK; i++) {
    m->now = &m->parts[i];
    status = bundle_each_session(m->now->bundle, join_session, m, m->error);
  }
  if (status == LYNX_OK) judge_end(m); /* before they are sorted: it goes by their places */
  if (status == LYNX_OK && m->n_sessions > 0) qsort(m->sessions, m->n_sessions, sizeof *m->sessions, by_id);
  return status;
}

/* Files that were opened without a fault have left their names. */
static void place(struct lynx_error *error, const char *path) {
  (void)snprintf(error->file, sizeof error->file, "%s", path);
}

enum lynx_status merge_parts(const char *const *paths, size_t n, const char *out, struct merge_outcome *ret, struct lynx_error *error) {
  struct merging m = {.outcome = ret, .error = error};
  enum lynx_status status = LYNX_OK;
  *ret = (struct merge_outcome){.end = BUNDLE_UNSEALED, .n_parts = (int64_t)n};
  m.parts = xalloc(n, sizeof *m.parts);
  for (; m.n_parts < n && status == LYNX_OK; m.n_parts++) {
    m.now = &m.parts[m.n_parts];
    m.now->path = paths[m.n_parts];
    status = open_part(m.now, error);
  }
  if (status == LYNX_OK) {
    qsort(m.parts, m.n_parts, sizeof *m.parts, by_number);
    status = check_parts(&m);
  }
  if (status == LYNX_OK) status = read_sessions(&m);
  if (status != LYNX_OK) place(error, m.now->path);
  if (status == LYNX_OK) {
    status = bundle_create(out, &m.out, error);
    if (status == LYNX_OK) status = write_whole(&m);
    bool made = m.out != NULL;
    if (status == LYNX_OK) bundle_close(m.out);
    else if (made || status == LYNX_IO) bundle_remove(m.out, out); /* what was merged so far can be merged again */
    if (status != LYNX_OK) place(error, made && status == LYNX_INPUT ? m.now->path : out);
  }
  for (size_t i = 0; i < m.n_parts; i++) bundle_close(m.parts[i].bundle);
  free(m.order);
  free(m.n_complete);
  free(m.sessions);
  free(m.parts);
  arena_release(&m.arena);
  return status;
}
