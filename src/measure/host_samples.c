#include "measure/host_samples.h"

#include <math.h>
#include <string.h>

enum { VERSION = 1, LINE_MAX_BYTES = 65536, ACTIVITY_FIELDS = 8, SERIES_MAX = 120 };

/* --- writing --- */

static void end_line(struct json_writer *json, struct buffer *ret) {
  json_close(json);
  lynx_assert(json_finish(json));
  (void)buffer_text(ret, "\n"); /* a buffer that is full says so by itself */
}

static void put_ints(struct json_writer *json, const char *key, const int64_t *values, size_t n) {
  json_key(json, key);
  json_open_array(json);
  for (size_t i = 0; i < n; i++) json_int(json, values[i]);
  json_close(json);
}

void host_samples_write_head(const struct host_samples_head *head, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_int(&json, "lynx_samples", VERSION);
  host_write(&head->host, &json);
  json_put_int(&json, "begun_ns", head->begun_ns);
  json_put_int(&json, "process", head->process);
  json_put_text(&json, "program", head->program);
  json_put_int(&json, "processors", head->n_processors);
  put_ints(&json, "ports", head->ports, head->n_ports);
  end_line(&json, ret);
}

void host_samples_write_value(int64_t at_ns, const char *series, double value, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_int(&json, "t", at_ns);
  json_put_text(&json, "s", series);
  json_put_double(&json, "v", value);
  end_line(&json, ret);
}

void host_samples_write_name(const struct thread_name *name, struct buffer *ret) {
  const int64_t ids[] = {name->process, name->thread, name->n_processors};
  struct json_writer json;
  json_begin_object(&json, ret);
  put_ints(&json, "name", ids, LYNX_COUNT(ids));
  json_put_text(&json, "program", name->program);
  json_put_text(&json, "thread", name->name);
  end_line(&json, ret);
}

void host_samples_write_activity(const struct thread_activity *a, struct buffer *ret) {
  const int64_t fields[ACTIVITY_FIELDS] = {a->process,    a->thread,    a->at_ns,    a->span_ns,
                                           a->running_ns, a->system_ns, a->ready_ns, a->processor};
  struct json_writer json;
  json_begin_object(&json, ret);
  put_ints(&json, "did", fields, ACTIVITY_FIELDS);
  put_ints(&json, "looks", a->looks, WAIT_COUNT);
  end_line(&json, ret);
}

void host_samples_write_end(int64_t at_ns, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_int(&json, "ended_ns", at_ns);
  end_line(&json, ret);
}

/* --- reading --- */

/* An array of exactly n integers. */
static bool read_ints(const json_t *array, int64_t *ret, size_t n) {
  if (!json_is_array(array) || json_array_size(array) != n) return false;
  for (size_t i = 0; i < n; i++) {
    if (!json_is_integer(json_array_get(array, i))) return false;
    ret[i] = json_integer_value(json_array_get(array, i));
  }
  return true;
}

static bool read_head(const json_t *object, struct host_samples_head *ret) {
  const char *program = json_get_text(object, "program", "");
  const json_t *ports = json_object_get(object, "ports");
  *ret = (struct host_samples_head){.begun_ns = json_get_int(object, "begun_ns", -1),
                                    .process = json_get_int(object, "process", 0),
                                    .n_processors = json_get_int(object, "processors", 0)};
  host_from_json(object, &ret->host);
  (void)text_sanitise(ret->program, sizeof ret->program, program, strlen(program));
  for (size_t i = 0; i < json_array_size(ports) && ret->n_ports < HOST_PORTS_MAX; i++)
    ret->ports[ret->n_ports++] = json_integer_value(json_array_get(ports, i));
  return json_get_int(object, "lynx_samples", 0) == VERSION && ret->begun_ns >= 0 && ret->process > 0 && ret->n_processors > 0 &&
         ret->n_processors < 65536;
}

struct reading {
  const struct host_samples_visit *visit;
  int64_t last_ns;
};

static bool take_time(struct reading *r, int64_t at_ns) {
  if (at_ns < 0) return false;
  if (at_ns > r->last_ns) r->last_ns = at_ns;
  return true;
}

static bool take_value(struct reading *r, const json_t *object) {
  const json_t *value = json_object_get(object, "v");
  const char *series = json_get_text(object, "s", "");
  char name[SERIES_MAX];
  int64_t at_ns = json_get_int(object, "t", -1);
  if (series[0] == 0 || strlen(series) >= sizeof name || !json_is_number(value) || !isfinite(json_number_value(value))) return false;
  (void)text_sanitise(name, sizeof name, series, strlen(series));
  if (!take_time(r, at_ns)) return false;
  if (r->visit->value != NULL) r->visit->value(r->visit->context, at_ns, name, json_number_value(value));
  return true;
}

static bool take_name(const struct reading *r, const json_t *object) {
  int64_t ids[3];
  char program[64], thread[64];
  const char *texts[] = {json_get_text(object, "program", ""), json_get_text(object, "thread", "")};
  if (!read_ints(json_object_get(object, "name"), ids, LYNX_COUNT(ids)) || ids[0] <= 0 || ids[1] < 0 || ids[2] < 0) return false;
  (void)text_sanitise(program, sizeof program, texts[0], strlen(texts[0]));
  (void)text_sanitise(thread, sizeof thread, texts[1], strlen(texts[1]));
  const struct thread_name name = {.process = ids[0], .thread = ids[1], .program = program, .name = thread, .n_processors = ids[2]};
  if (r->visit->name != NULL) r->visit->name(r->visit->context, &name);
  return true;
}

static bool take_activity(struct reading *r, const json_t *object) {
  int64_t f[ACTIVITY_FIELDS];
  struct thread_activity a = {0};
  if (!read_ints(json_object_get(object, "did"), f, ACTIVITY_FIELDS) || !read_ints(json_object_get(object, "looks"), a.looks, WAIT_COUNT))
    return false;
  for (size_t i = 0; i < ACTIVITY_FIELDS - 1; i++)
    if (f[i] < 0) return false;
  for (int i = 0; i < WAIT_COUNT; i++)
    if (a.looks[i] < 0) return false;
  a.process = f[0], a.thread = f[1], a.at_ns = f[2], a.span_ns = f[3];
  a.running_ns = f[4], a.system_ns = f[5], a.ready_ns = f[6], a.processor = f[7];
  if (a.process <= 0 || a.span_ns <= 0 || !take_time(r, a.at_ns)) return false;
  if (r->visit->activity != NULL) r->visit->activity(r->visit->context, &a);
  return true;
}

static bool take_line(struct reading *r, const json_t *object) {
  if (json_object_get(object, "v") != NULL) return take_value(r, object);
  if (json_object_get(object, "name") != NULL) return take_name(r, object);
  if (json_object_get(object, "did") != NULL) return take_activity(r, object);
  return take_time(r, json_get_int(object, "ended_ns", -1));
}

enum lynx_status host_samples_read(const char *text, size_t length, const struct host_samples_visit *visit,
                                   struct host_samples_head *ret_head, int64_t *ret_last_ns, struct lynx_error *error) {
  struct reading r = {.visit = visit};
  const char *at = text, *const end = text + length;
  for (int number = 1; at < end; number++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (stop == NULL && number > 1) break; /* it broke off within a line */
    size_t n = (size_t)((stop != NULL ? stop : end) - at);
    json_t *object = n <= LINE_MAX_BYTES ? json_parse(at, n, LINE_MAX_BYTES, NULL) : NULL;
    bool good = json_is_object(object) && (number == 1 ? read_head(object, ret_head) : take_line(&r, object));
    json_decref(object);
    if (!good) {
      lynx_error_at(error, error != NULL ? error->file : NULL, number, NULL);
      return lynx_fail(error, LYNX_INPUT, "%s; accepted: what `lynxbench watch --samples-only` writes",
                       number == 1 ? "found no head of samples" : "found a line that no sampler writes");
    }
    at = stop != NULL ? stop + 1 : end;
  }
  if (length == 0) return lynx_fail(error, LYNX_INPUT, "found an empty file; accepted: what `lynxbench watch --samples-only` writes");
  *ret_last_ns = r.last_ns;
  return LYNX_OK;
}
