#include "attribute/rank_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text_set.h"

enum { CALLS_MAX = 1 << 22, STEPS_MAX = 1 << 16, TEXT_MAX = 2000, LINE_MAX_BYTES = 1 << 30 };

/* --- from a trace --- */

static int64_t step_number(const struct span_name *name, int64_t otherwise) {
  const char *mark = memchr(name->text, '#', name->length);
  int64_t number;
  return mark != NULL && number_int64(mark + 1, (size_t)(name->text + name->length - mark - 1), &number) ? number : otherwise;
}

/* Of several threads that mark steps, the one that marks the most time. */
static uint32_t track_of_steps(const struct timeline *t) {
  int64_t *marked_ns = xalloc(t->n_tracks + 1, sizeof *marked_ns);
  uint32_t best = 0;
  for (size_t i = 0; i < t->n_spans; i++)
    if (t->names[t->spans[i].name].work == WORK_STEP)
      marked_ns[t->spans[i].track] = sum_ns(marked_ns[t->spans[i].track], t->spans[i].duration_ns);
  for (uint32_t k = 0; k < t->n_tracks; k++)
    if (!t->tracks[k].on_device && (t->tracks[best].on_device || marked_ns[k] > marked_ns[best])) best = k;
  free(marked_ns);
  return best;
}

static void take_steps(const struct timeline *t, struct rank_share *ret) {
  size_t room = 0;
  const uint32_t track = t->n_tracks > 0 ? track_of_steps(t) : 0;
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    const struct rank_step *before = ret->n_steps > 0 ? &ret->steps[ret->n_steps - 1] : NULL;
    if (t->names[s->name].work != WORK_STEP || s->track != track || t->tracks[track].on_device || (s->flags & SPAN_COLD)) continue;
    if (before != NULL && s->start_ns < sum_ns(before->start_ns, before->duration_ns)) continue; /* within it */
    if (ret->n_steps == STEPS_MAX) {
      ret->full = true;
      return;
    }
    int64_t next = before != NULL && before->number < INT64_MAX ? before->number + 1 : 0, number = step_number(&t->names[s->name], next);
    ret->steps = xroom(ret->steps, ret->n_steps, &room, sizeof *ret->steps);
    ret->steps[ret->n_steps++] = (struct rank_step){number >= next ? number : next, s->start_ns, s->duration_ns};
  }
}

static void take_calls(const struct timeline *t, struct rank_share *ret) {
  struct text_set texts = {.n = 0};
  collectives_list(t, -1, &ret->calls);
  if (ret->calls.n > CALLS_MAX) {
    ret->calls.n = CALLS_MAX;
    ret->full = true;
  }
  for (size_t i = 0; i < ret->calls.n; i++) {
    struct collective_call *c = &ret->calls.at[i];
    c->group = text_set_keep(&texts, &ret->arena, c->group);
    c->name = text_set_keep(&texts, &ret->arena, c->name);
  }
  text_set_release(&texts);
}

bool rank_share_take(const struct attributed_trace *trace, struct rank_share *ret) {
  const struct timeline *t = &trace->timeline;
  const struct account *a = &trace->account;
  const char *world = timeline_fact(t, "world_size");
  char key[40];
  *ret = (struct rank_share){.n_spans = (int64_t)t->n_spans, .bytes = trace->bytes, .full = t->full};
  if (trace->content != CONTENT_TIMELINE || timeline_fact(t, "rank") == NULL) return false;
  (void)snprintf(key, sizeof key, "device.%lld", (long long)a->device);
  const char *device = timeline_fact(t, key);
  ret->path = arena_copy(&ret->arena, trace->path);
  ret->reader = trace->reader;
  ret->device_name = arena_copy(&ret->arena, device != NULL ? device : "");
  if (world == NULL || !number_int64(world, strlen(world), &ret->world_size) || ret->world_size < 0) ret->world_size = 0;
  ret->device = a->device;
  ret->window = a->window;
  ret->wall_ns = a->wall_ns;
  ret->shown_ns = a->device_total_ns > a->wall_ns ? a->device_total_ns : a->wall_ns;
  for (int i = 0; i < TRACE_LOSS_COUNT; i++)
    if (i != TRACE_LOSS_UNUSED && i != TRACE_LOSS_DERIVED) ret->n_lost = sum_ns(ret->n_lost, t->lost[i]);
  ret->n_causes = attribution_causes(trace, ret->causes);
  take_steps(t, ret);
  take_calls(t, ret);
  for (size_t i = 0; i < trace->n_findings; i++)
    ret->findings[ret->n_findings++] = (struct rank_finding){trace->findings[i].id, arena_copy(&ret->arena, trace->findings[i].named),
                                                             trace->findings[i].share};
  if (ret->calls.rank >= 0) return true;
  rank_share_release(ret);
  return false;
}

void rank_share_release(struct rank_share *share) {
  free(share->steps);
  free(share->calls.at);
  arena_release(&share->arena);
  *share = (struct rank_share){.n_steps = 0};
}

/* --- as a line --- */

static void write_causes(const struct rank_share *s, struct json_writer *json) {
  json_key(json, "account");
  json_open_array(json);
  for (size_t i = 0; i < s->n_causes; i++) {
    const struct attribution_cause *c = &s->causes[i];
    json_open_array(json);
    json_text(json, account_state_id(c->state));
    json_text(json, c->layered ? layer_text(c->layer) : NULL);
    json_int(json, c->ns);
    json_close(json);
  }
  json_close(json);
}

/* Names once, and in the calls of a group their places among them. */
static void write_calls(const struct rank_share *s, struct json_writer *json) {
  const char **names = xalloc(s->calls.n + 1, sizeof *names);
  struct text_set texts = {.n = 0};
  struct arena arena = {.blocks = NULL};
  size_t n = 0;
  json_key(json, "groups");
  json_open_array(json);
  for (size_t i = 0; i < s->calls.n;) {
    const char *group = s->calls.at[i].group;
    json_open_object(json);
    json_put_text(json, "group", group);
    json_key(json, "calls");
    json_open_array(json);
    for (; i < s->calls.n && s->calls.at[i].group == group; i++) {
      const struct collective_call *c = &s->calls.at[i];
      size_t k = text_set_place(&texts, &arena, c->name);
      if (k == n) names[n++] = c->name;
      json_open_array(json);
      json_int(json, (int64_t)k);
      json_int(json, c->order);
      json_int(json, c->repeat);
      json_int(json, c->start_ns);
      json_int(json, c->duration_ns);
      json_int(json, c->elements);
      json_int(json, c->bus_bytes);
      json_close(json);
    }
    json_close(json);
    json_close(json);
  }
  json_close(json);
  json_put_texts(json, "names", names, n);
  text_set_release(&texts);
  arena_release(&arena);
  free(names);
}

void rank_share_write(const struct rank_share *s, struct buffer *out) {
  struct json_writer json;
  json_begin_object(&json, out);
  json_put_int(&json, "lynxbench_rank", RANK_SHARE_VERSION);
  json_put_int(&json, "rank", s->calls.rank);
  json_put_int(&json, "world_size", s->world_size);
  json_put_text(&json, "trace", s->path);
  json_put_text(&json, "format", s->reader);
  json_put_int(&json, "bytes", s->bytes);
  json_put_int(&json, "spans", s->n_spans);
  json_put_int(&json, "device", s->device);
  json_put_text(&json, "device_name", s->device_name);
  json_put_int(&json, "window", s->window);
  json_put_int(&json, "wall_ns", s->wall_ns);
  json_put_int(&json, "shown_ns", s->shown_ns);
  json_put_int(&json, "lost", s->n_lost);
  json_put_bool(&json, "full", s->full);
  write_causes(s, &json);
  json_key(&json, "steps");
  json_open_array(&json);
  for (size_t i = 0; i < s->n_steps; i++) {
    json_open_array(&json);
    json_int(&json, s->steps[i].number);
    json_int(&json, s->steps[i].start_ns);
    json_int(&json, s->steps[i].duration_ns);
    json_close(&json);
  }
  json_close(&json);
  write_calls(s, &json);
  json_key(&json, "findings");
  json_open_array(&json);
  for (size_t i = 0; i < s->n_findings; i++) {
    json_open_object(&json);
    json_put_text(&json, "finding", s->findings[i].id);
    json_put_text(&json, "named", s->findings[i].named);
    json_put_double(&json, "share", s->findings[i].share);
    json_close(&json);
  }
  json_close(&json);
  (void)json_end_line(&json);
}

/* --- from a line --- */

static int64_t item_int(const json_t *array, size_t i) {
  const json_t *value = json_array_get(array, i);
  return json_is_integer(value) ? json_integer_value(value) : INT64_MIN;
}

static const char *copy_text(struct arena *arena, const json_t *value) {
  const char *text = json_string_value(value);
  return text != NULL && strlen(text) <= TEXT_MAX ? arena_copy(arena, text) : NULL;
}

static bool find_state(const char *id, enum account_state *ret) {
  for (int i = 0; id != NULL && i < STATE_COUNT; i++) {
    *ret = (enum account_state)i;
    if (strcmp(account_state_id(*ret), id) == 0) return true;
  }
  return false;
}

static bool find_layer(const char *name, struct attribution_cause *ret) {
  ret->layered = name != NULL && layer_parse(name, &ret->layer);
  return name == NULL || ret->layered;
}

/* Parts that are one layer's each, and sum to the window. */
static bool read_causes(const json_t *account, struct rank_share *ret) {
  size_t n = json_array_size(account);
  int64_t sum = 0;
  for (size_t i = 0; i < n && n <= CAUSES_MAX; i++) {
    const json_t *item = json_array_get(account, i);
    struct attribution_cause *c = &ret->causes[ret->n_causes++];
    *c = (struct attribution_cause){.ns = item_int(item, 2)};
    if (!find_state(json_string_value(json_array_get(item, 0)), &c->state) || c->ns < 0) return false;
    if (!find_layer(json_string_value(json_array_get(item, 1)), c) || c->ns > ret->wall_ns - sum) return false;
    sum += c->ns;
  }
  return n <= CAUSES_MAX && ret->wall_ns > 0 && sum == ret->wall_ns;
}

static bool read_steps(const json_t *steps, struct rank_share *ret) {
  size_t n = json_array_size(steps);
  if (!json_is_array(steps) || n > STEPS_MAX) return false;
  ret->steps = xalloc(n + 1, sizeof *ret->steps);
  for (size_t i = 0; i < n; i++) {
    const json_t *item = json_array_get(steps, i);
    struct rank_step s = {item_int(item, 0), item_int(item, 1), item_int(item, 2)};
    const struct rank_step *before = i > 0 ? &ret->steps[i - 1] : NULL;
    if (s.number < 0 || s.start_ns == INT64_MIN || s.duration_ns < 0) return false;
    if (before != NULL && (s.number <= before->number || s.start_ns < sum_ns(before->start_ns, before->duration_ns))) return false;
    ret->steps[ret->n_steps++] = s;
  }
  return true;
}

static bool read_call(const json_t *item, const char *const *names, size_t n_names, struct collective_call *ret) {
  int64_t name = item_int(item, 0);
  ret->order = item_int(item, 1);
  ret->repeat = item_int(item, 2);
  ret->start_ns = item_int(item, 3);
  ret->duration_ns = item_int(item, 4);
  ret->elements = item_int(item, 5);
  ret->bus_bytes = item_int(item, 6);
  if (name < 0 || (size_t)name >= n_names) return false;
  ret->name = names[name];
  return ret->order >= 0 && ret->repeat >= 0 && ret->start_ns != INT64_MIN && ret->duration_ns >= 0 && ret->elements >= -1 &&
         ret->bus_bytes >= 0;
}

/* None is there twice. */
static bool is_behind(const struct collective_call *before, const struct collective_call *c) {
  return c->order > before->order || (c->order == before->order && c->repeat > before->repeat);
}

static bool read_group(const json_t *group, const char *const *names, size_t n_names, struct rank_share *ret) {
  const json_t *calls = json_object_get(group, "calls");
  const char *text = copy_text(&ret->arena, json_object_get(group, "group"));
  size_t n = json_array_size(calls);
  if (text == NULL || n + ret->calls.n > CALLS_MAX) return false;
  if (ret->calls.n > 0 && strcmp(ret->calls.at[ret->calls.n - 1].group, text) >= 0) return false; /* groups ascend, each once */
  ret->calls.at = xgrow(ret->calls.at, ret->calls.n + n + 1, sizeof *ret->calls.at);
  for (size_t i = 0; i < n; i++) {
    struct collective_call *c = &ret->calls.at[ret->calls.n++];
    *c = (struct collective_call){.group = text};
    if (!read_call(json_array_get(calls, i), names, n_names, c) || (i > 0 && !is_behind(c - 1, c))) return false;
  }
  return true;
}

static bool read_calls(const json_t *line, struct rank_share *ret) {
  const json_t *texts = json_object_get(line, "names"), *groups = json_object_get(line, "groups");
  size_t n = json_array_size(texts);
  const char **names = xalloc(n + 1, sizeof *names);
  bool good = json_is_array(groups);
  for (size_t i = 0; i < n && good; i++) good = (names[i] = copy_text(&ret->arena, json_array_get(texts, i))) != NULL;
  for (size_t i = 0; i < json_array_size(groups) && good; i++) good = read_group(json_array_get(groups, i), names, n, ret);
  free(names);
  return good;
}

/* Of rules that this version does not have, nothing is shown. */
static void read_findings(const json_t *findings, struct rank_share *ret) {
  for (size_t i = 0; i < json_array_size(findings) && ret->n_findings < FINDINGS_MAX; i++) {
    const json_t *item = json_array_get(findings, i);
    const char *id = json_get_text(item, "finding", ""), *named = copy_text(&ret->arena, json_object_get(item, "named"));
    double share = json_get_double(item, "share", NAN);
    const struct rule *rule = rule_named(id);
    if (rule == NULL || !(share >= 0 && share <= 1)) continue;
    ret->findings[ret->n_findings++] = (struct rank_finding){rule->name, named != NULL ? named : "", share};
  }
}

static const char *read_members(const json_t *line, struct rank_share *ret) {
  int64_t window = json_get_int(line, "window", -1);
  ret->path = copy_text(&ret->arena, json_object_get(line, "trace"));
  ret->reader = copy_text(&ret->arena, json_object_get(line, "format"));
  ret->device_name = copy_text(&ret->arena, json_object_get(line, "device_name"));
  ret->calls.rank = json_get_int(line, "rank", -1);
  ret->world_size = json_get_int(line, "world_size", -1);
  ret->bytes = json_get_int(line, "bytes", -1);
  ret->n_spans = json_get_int(line, "spans", -1);
  ret->device = json_get_int(line, "device", INT64_MIN);
  ret->shown_ns = json_get_int(line, "shown_ns", -1);
  ret->n_lost = json_get_int(line, "lost", -1);
  ret->wall_ns = json_get_int(line, "wall_ns", -1);
  ret->full = json_get_bool(line, "full", false);
  if (ret->path == NULL || ret->reader == NULL || ret->device_name == NULL) return "trace, format and device_name are texts";
  if (ret->calls.rank < 0 || ret->world_size < 0 || ret->bytes < 0 || ret->n_spans < 0)
    return "rank, world_size, bytes and spans are 0 or more";
  if (ret->device < -1 || ret->shown_ns < ret->wall_ns || ret->n_lost < 0)
    return "device is -1 or more, shown_ns no less than wall_ns, lost 0 or more";
  if (window < WINDOW_AUTO || window > WINDOW_TRACE) return "window: 0 to 3";
  ret->window = (enum account_window)window;
  if (!read_causes(json_object_get(line, "account"), ret)) return "account: known states and layers that sum to wall_ns";
  if (!read_steps(json_object_get(line, "steps"), ret)) return "steps: [number, start, duration], numbers and times ascending";
  if (!read_calls(line, ret))
    return "groups: each once, names ascending, with calls of [name, order, repeat, start, duration, elements, bytes on the bus], "
           "ascending";
  read_findings(json_object_get(line, "findings"), ret);
  return NULL;
}

enum lynx_status rank_share_read(const char *text, size_t length, struct rank_share *ret, struct lynx_error *error) {
  *ret = (struct rank_share){.n_steps = 0};
  json_t *line = json_parse(text, length, LINE_MAX_BYTES, error);
  if (line == NULL) return LYNX_INPUT;
  int64_t version = json_get_int(line, "lynxbench_rank", -1);
  const char *wanted = version == RANK_SHARE_VERSION ? read_members(line, ret) : NULL;
  json_decref(line);
  if (version != RANK_SHARE_VERSION)
    return lynx_fail(error, LYNX_INPUT, "lynxbench_rank: found %lld; accepted: %d", (long long)version, RANK_SHARE_VERSION);
  if (wanted == NULL) return LYNX_OK;
  rank_share_release(ret);
  return lynx_fail(error, LYNX_INPUT, "a rank's line that does not hold: accepted: %s", wanted);
}
