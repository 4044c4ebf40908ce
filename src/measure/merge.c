#include "measure/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

enum { SESSIONS_MAX = 10000 };

struct part {
  const char *path;
  struct bundle *bundle;
  struct bundle_seal_info seal;
  int64_t number, count, start_ns, clock_us;
  bool synchronised;
};

struct merging {
  struct arena arena;
  struct part *parts;
  size_t n_parts;
  struct bundle *out;
  struct merge_outcome *outcome;
  struct lynx_error *error;
  const struct part *now; /* whose rows are being taken */
  int64_t session;
  /* Sessions of the first part, which are those of the whole. */
  struct bundle_session *sessions;
  size_t n_sessions;
};

/* --- the parts --- */

static int by_number(const void *a, const void *b) {
  const struct part *x = a, *y = b;
  return x->number < y->number ? -1 : x->number > y->number;
}

static enum lynx_status open_part(struct part *part, struct lynx_error *error) {
  lynx_error_at(error, part->path, 0, NULL);
  enum lynx_status status = bundle_open(part->path, &part->bundle, &part->seal, error);
  if (status != LYNX_OK) return status;
  const char *text = bundle_meta(part->bundle, "part");
  json_t *root = text != NULL ? json_parse(text, strlen(text), 65536, NULL) : NULL;
  part->number = json_get_int(root, "part", 0);
  part->count = json_get_int(root, "of", 0);
  part->start_ns = json_get_int(root, "start_ns", 0);
  part->clock_us = json_get_int(root, "clock_off_at_most_us", -1);
  part->synchronised = json_get_bool(root, "clock_synchronised", false);
  json_decref(root);
  if (part->number < 1 || part->count < part->number || part->count > MERGE_PARTS_MAX)
    return lynx_fail(error, LYNX_INPUT, "no part of a run: `lynxbench run CONTRACT --part K/N --start TIME` makes one");
  return LYNX_OK;
}

static const char *meta(const struct part *part, const char *key) {
  const char *value = bundle_meta(part->bundle, key);
  return value != NULL ? value : "";
}

static enum lynx_status check_parts(const struct merging *m) {
  const struct part *first = &m->parts[0];
  for (size_t i = 1; i < m->n_parts; i++) {
    const struct part *p = &m->parts[i];
    lynx_error_at(m->error, p->path, 0, NULL);
    if (strcmp(meta(p, "contract_digest"), meta(first, "contract_digest")) != 0)
      return lynx_fail(m->error, LYNX_INPUT, "a part of another contract than %s", first->path);
    if (p->count != first->count || p->start_ns != first->start_ns)
      return lynx_fail(m->error, LYNX_INPUT, "a part of another run than %s: its number of hosts or its common start differs", first->path);
    if (p->number == m->parts[i - 1].number)
      return lynx_fail(m->error, LYNX_INPUT, "part %" PRId64 " twice; %s is it too", p->number, m->parts[i - 1].path);
  }
  return LYNX_OK;
}

/* --- sessions --- */

static enum lynx_status keep_session(void *context, const struct bundle_session *s) {
  struct merging *m = context;
  if (m->n_sessions == SESSIONS_MAX) return lynx_fail(m->error, LYNX_LIMIT, "more than %d sessions", SESSIONS_MAX);
  if ((m->n_sessions & (m->n_sessions - 1)) == 0)
    m->sessions = xgrow(m->sessions, m->n_sessions > 0 ? 2 * m->n_sessions : 1, sizeof *m->sessions);
  struct bundle_session *copy = &m->sessions[m->n_sessions++];
  *copy = *s;
  copy->precision = arena_copy(&m->arena, s->precision);
  copy->purpose = arena_copy(&m->arena, s->purpose);
  copy->executor_started = arena_copy(&m->arena, s->executor_started);
  copy->status = arena_copy(&m->arena, s->status);
  copy->schedule_digest = arena_copy(&m->arena, s->schedule_digest);
  copy->executed_json = arena_copy(&m->arena, s->executed_json);
  copy->instrument_json = arena_copy(&m->arena, s->instrument_json);
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
  json_begin(&json, &out);
  json_open_object(&json);
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

/* The same session on another host: the schedule must be the same. */
static enum lynx_status join_session(void *context, const struct bundle_session *s) {
  struct merging *m = context;
  size_t i = 0;
  while (i < m->n_sessions && m->sessions[i].id != s->id) i++;
  if (i == m->n_sessions) return LYNX_OK; /* the first host stopped before it: the whole is incomplete, and says so */
  struct bundle_session *whole = &m->sessions[i];
  if (strcmp(whole->precision, s->precision) != 0 || strcmp(whole->purpose, s->purpose) != 0 || whole->index != s->index ||
      whole->seed != s->seed ||
      (s->schedule_digest[0] != 0 && whole->schedule_digest[0] != 0 && strcmp(whole->schedule_digest, s->schedule_digest) != 0))
    return lynx_fail(m->error, LYNX_INPUT, "session %" PRId64 " is another one than in %s", s->id, m->parts[0].path);
  if (strcmp(s->status, "complete") != 0) whole->status = arena_printf(&m->arena, "%s (part %" PRId64 ")", s->status, m->now->number);
  whole->instrument_json = join_instruments(&m->arena, whole->instrument_json, s->instrument_json);
  return LYNX_OK;
}

/* --- rows --- */

static enum lynx_status put_request(void *context, const struct bundle_request *r) {
  struct merging *m = context;
  m->outcome->n_requests++;
  enum lynx_status status = bundle_put_request(m->out, r, m->error);
  if (status == LYNX_OK) return status;
  lynx_error_at(m->error, m->now->path, 0, NULL);
  return lynx_fail(m->error, status,
                   "request %" PRId64 " of session %" PRId64 " cannot be entered: another host sent it too, or the disk is full", r->id,
                   r->session);
}

static enum lynx_status put_phase(void *context, const struct bundle_phase *phase) {
  struct merging *m = context;
  return bundle_put_phase(m->out, phase, m->error);
}

/* What each host saw of its own machine and of the server stays apart. */
static enum lynx_status put_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct merging *m = context;
  char name[256];
  bool first = m->now == &m->parts[0];
  (void)snprintf(name, sizeof name, "part%" PRId64 ".%.200s", m->now->number, series);
  return bundle_put_sample(m->out, session, at_ns, first ? series : name, value, m->error);
}

static enum lynx_status put_answer(void *context, int64_t session, int64_t input, const char *text, size_t length) {
  struct merging *m = context;
  return bundle_put_answer(m->out, session, input, text, length, m->error);
}

static enum lynx_status put_input(void *context, int64_t id, const char *text, size_t length) {
  struct merging *m = context;
  return bundle_put_input(m->out, id, text, length, m->error);
}

/* That a part is a part is no condition of the whole. */
static enum lynx_status put_event(void *context, int64_t realtime_ns, const char *kind, const char *text) {
  struct merging *m = context;
  if (strcmp(kind, "condition") == 0 && strncmp(text, "part ", 5) == 0 && strstr(text, "lynxbench merge") != NULL) return LYNX_OK;
  return bundle_put_event(m->out, realtime_ns, kind, arena_printf(&m->arena, "part %" PRId64 ": %s", m->now->number, text), m->error);
}

static enum lynx_status put_facts(struct merging *m, const char *moment, const char *precision) {
  struct fact_list facts = {0};
  const char *name = arena_printf(&m->arena, "%s:%s", moment, precision);
  enum lynx_status status = bundle_facts(m->now->bundle, name, &facts, m->error);
  bool first = m->now == &m->parts[0];
  if (status == LYNX_OK && facts.n_items > 0)
    status = bundle_put_facts(m->out, first ? name : arena_printf(&m->arena, "part %" PRId64 " %s", m->now->number, name), &facts,
                              m->error);
  fact_list_release(&facts);
  return status;
}

static enum lynx_status put_part(struct merging *m) {
  struct bundle *from = m->now->bundle;
  enum lynx_status status = LYNX_OK;
  lynx_error_at(m->error, m->now->path, 0, NULL);
  for (size_t i = 0; i < m->n_sessions && status == LYNX_OK; i++) {
    const struct bundle_session *s = &m->sessions[i];
    bool seen = false; /* facts are of a precision */
    for (size_t k = 0; k < i; k++) seen = seen || strcmp(m->sessions[k].precision, s->precision) == 0;
    if (!seen) status = put_facts(m, "start", s->precision);
    if (!seen && status == LYNX_OK) status = put_facts(m, "end", s->precision);
    if (status == LYNX_OK) status = bundle_each_request(from, s->id, put_request, m, m->error);
    if (status == LYNX_OK) status = bundle_each_phase(from, s->id, put_phase, m, m->error);
    if (status == LYNX_OK) status = bundle_each_sample(from, s->id, put_sample, m, m->error);
  }
  if (status == LYNX_OK) status = bundle_each_answer(from, put_answer, m, m->error);
  return status == LYNX_OK ? bundle_each_event(from, put_event, m, m->error) : status;
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
    json_put_bool(&json, "clock_synchronised", m->parts[i].synchronised);
    json_put_int(&json, "clock_off_at_most_us", m->parts[i].clock_us);
    json_close(&json);
    json_decref(own);
  }
  json_close(&json);
}

static enum lynx_status put_meta(struct merging *m) {
  static const char *const keys[] = {"format", "tool",     "contract", "contract_digest", "intended_at",
                                     "host",   "endpoint", "profile",  "calibration"};
  enum lynx_status status = LYNX_OK;
  struct buffer parts;
  buffer_init(&parts, 1 << 20);
  write_parts(m, &parts);
  for (size_t i = 0; i < LYNX_COUNT(keys) && status == LYNX_OK; i++)
    if (bundle_meta(m->parts[0].bundle, keys[i]) != NULL)
      status = bundle_put_meta(m->out, keys[i], bundle_meta(m->parts[0].bundle, keys[i]), m->error);
  const struct merge_outcome *o = m->outcome;
  const char *known = o->clock_off_at_most_s < 0
                          ? "by how much their clocks differ is not known"
                          : arena_printf(&m->arena, "their clocks are right to %.3g s by their kernels' word%s", o->clock_off_at_most_s,
                                         o->clocks_synchronised ? "" : ", which not all call synchronised");
  if (status == LYNX_OK)
    status = bundle_put_meta(m->out, "load_hosts",
                             arena_printf(&m->arena, "%" PRId64 " load hosts, which began together: %s", m->parts[0].count, known),
                             m->error);
  if (status == LYNX_OK) status = bundle_put_meta(m->out, "parts", parts.data != NULL ? parts.data : "[]", m->error);
  buffer_release(&parts);
  return status;
}

static void judge_end(struct merging *m) {
  struct merge_outcome *o = m->outcome;
  const struct part *first = &m->parts[0];
  o->end = BUNDLE_COMPLETE;
  o->clocks_synchronised = true;
  (void)snprintf(o->why, sizeof o->why, "all %zu parts", m->n_parts);
  for (size_t i = 0; i < m->n_parts; i++) {
    const struct part *p = &m->parts[i];
    o->clocks_synchronised = o->clocks_synchronised && p->synchronised;
    if (p->clock_us < 0) o->clock_off_at_most_s = -1;
    else if (o->clock_off_at_most_s >= 0 && (double)p->clock_us / 1e6 > o->clock_off_at_most_s)
      o->clock_off_at_most_s = (double)p->clock_us / 1e6;
    if (p->seal.end == BUNDLE_COMPLETE || o->end != BUNDLE_COMPLETE) continue;
    o->end = BUNDLE_INTERRUPTED;
    (void)snprintf(o->why, sizeof o->why, "part %" PRId64 " of %" PRId64 " is %s: %.150s", p->number, p->count,
                   bundle_end_text(p->seal.end), p->seal.why);
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

static enum lynx_status write_whole(struct merging *m, const char *out) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < m->n_parts && status == LYNX_OK; i++) {
    m->now = &m->parts[i];
    lynx_error_at(m->error, m->now->path, 0, NULL);
    status = bundle_each_session(m->now->bundle, i == 0 ? keep_session : join_session, m, m->error);
  }
  judge_end(m);
  if (status == LYNX_OK) status = bundle_create(out, &m->out, m->error);
  if (status == LYNX_OK) status = put_meta(m);
  if (status == LYNX_OK) status = bundle_each_input(m->parts[0].bundle, put_input, m, m->error);
  for (size_t i = 0; i < m->n_sessions && status == LYNX_OK; i++) {
    if (m->outcome->end != BUNDLE_COMPLETE && strcmp(m->sessions[i].status, "complete") == 0)
      m->sessions[i].status = "interrupted: a part is missing or incomplete";
    status = bundle_put_session(m->out, &m->sessions[i], m->error);
  }
  for (size_t i = 0; i < m->n_parts && status == LYNX_OK; i++) {
    m->now = &m->parts[i];
    status = put_part(m);
    if (status == LYNX_OK) status = bundle_commit(m->out, m->error);
  }
  return status == LYNX_OK ? bundle_seal(m->out, m->outcome->end, m->outcome->why, m->outcome->root, m->error) : status;
}

enum lynx_status merge_parts(const char *const *paths, size_t n, const char *out, struct merge_outcome *ret, struct lynx_error *error) {
  struct merging m = {.outcome = ret, .error = error};
  enum lynx_status status = LYNX_OK;
  *ret = (struct merge_outcome){.end = BUNDLE_UNSEALED, .n_parts = (int64_t)n};
  m.parts = xalloc(n, sizeof *m.parts);
  for (; m.n_parts < n && status == LYNX_OK; m.n_parts++) {
    m.parts[m.n_parts].path = paths[m.n_parts];
    status = open_part(&m.parts[m.n_parts], error);
  }
  if (status == LYNX_OK) {
    qsort(m.parts, m.n_parts, sizeof *m.parts, by_number);
    status = check_parts(&m);
  }
  if (status == LYNX_OK) status = write_whole(&m, out);
  bundle_close(m.out);
  for (size_t i = 0; i < m.n_parts; i++) bundle_close(m.parts[i].bundle);
  free(m.sessions);
  free(m.parts);
  arena_release(&m.arena);
  return status;
}
