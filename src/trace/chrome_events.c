#include "trace/chrome_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/number.h"
#include "base/scan.h"
#include "trace/device_places.h"
#include "trace/window.h"

enum { EVENT_MAX = 1 << 20, RESYNC_MAX = 4096, OPEN_MAX = 4096, OPEN_NAME_MAX = 2000, PROGRESS_EVENTS = 4096 };

enum outcome { EVENT_GOOD, EVENT_PARTIAL, EVENT_BAD };

struct event {
  char phase;
  struct bytes category, name, process, thread, start, duration, arguments, id;
  bool name_escaped;
};

/* A begin that waits for its end: on its thread; or, asynchronous, of its category and number. */
struct open {
  int64_t process, thread, start_ns, id;
  bool asynchronous;
  char *name;
  size_t name_length;
  const struct chrome_category *category;
};

struct reading {
  const struct chrome_format *format;
  const struct trace_sink *sink;
  struct trace_window window;
  struct lynx_error *error;
  int64_t base_ns;
  int64_t n_events, lost[TRACE_LOSS_COUNT];
  const struct chrome_category *last; /* most events are of the category of the one before */
  size_t last_length;
  struct arena texts; /* of one event: what had escapes in it */
  struct open *open;
  size_t n_open, room;
  struct device_places *places;
  bool reads_flows; /* an Ascend's trace: what joins calls to the device's work may be arrows alone */
};

static bool is(struct bytes text, const char *word, size_t length) {
  return text.length == length && memcmp(text.ptr, word, length) == 0;
}
#define IS(text, word) is(text, word, sizeof(word) - 1)

/* --- values --- */

/* One value at p: a string without its quotes, a composite with its brackets, or a bare word. */
static enum outcome read_value(const char **p, const char *end, struct bytes *ret, bool *ret_escaped) {
  const char *from = *p;
  if (from >= end) return EVENT_PARTIAL;
  *ret_escaped = false;
  if (*from == '"') {
    const char *close = scan_string(from + 1, end, ret_escaped);
    if (close == NULL) return EVENT_PARTIAL;
    *ret = (struct bytes){from + 1, (size_t)(close - from) - 1};
    *p = close + 1;
    return EVENT_GOOD;
  }
  if (*from == '{' || *from == '[') {
    const char *after = scan_composite(from, end);
    if (after == NULL) return EVENT_PARTIAL;
    *ret = (struct bytes){from, (size_t)(after - from)};
    *p = after;
    return EVENT_GOOD;
  }
  const char *at = from;
  while (at < end &&
         ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || *at == '-' || *at == '+' || *at == '.' || (*at >= 'A' && *at <= 'Z')))
    at++;
  if (at == end) return EVENT_PARTIAL;
  if (at == from) return EVENT_BAD;
  *ret = (struct bytes){from, (size_t)(at - from)};
  *p = at;
  return EVENT_GOOD;
}

/* One member of an object; *ret_last: the object ends here. */
static enum outcome read_member(const char **p, const char *end, struct bytes *key, struct bytes *value, bool *ret_escaped,
                                bool *ret_last) {
  bool escaped;
  const char *at = scan_blanks(*p, end);
  *ret_last = false;
  if (at >= end) return EVENT_PARTIAL;
  if (*at == '}') {
    *p = at + 1;
    *ret_last = true;
    return EVENT_GOOD;
  }
  if (*at == ',') at = scan_blanks(at + 1, end);
  if (at >= end) return EVENT_PARTIAL;
  if (*at != '"') return EVENT_BAD;
  const char *close = scan_string(at + 1, end, &escaped);
  if (close == NULL) return EVENT_PARTIAL;
  *key = (struct bytes){at + 1, (size_t)(close - at) - 1};
  at = scan_blanks(close + 1, end);
  if (at >= end) return EVENT_PARTIAL;
  if (*at != ':') return EVENT_BAD;
  at = scan_blanks(at + 1, end);
  enum outcome outcome = read_value(&at, end, value, ret_escaped);
  if (outcome != EVENT_GOOD) return outcome;
  at = scan_blanks(at, end);
  if (at >= end) return EVENT_PARTIAL;
  if (*at != ',' && *at != '}') return EVENT_BAD;
  *p = at;
  return EVENT_GOOD;
}

int64_t chrome_number(struct bytes value, int64_t fallback) {
  int64_t n;
  return number_int64(value.ptr, value.length, &n) ? n : fallback;
}

bool chrome_microseconds(struct bytes value, int64_t *ret_ns) {
  if (value.length == 0) return false;
  const char *p = value.ptr, *end = p + value.length;
  bool negative = *p == '-', any = false, fraction = false, full = false, round = false;
  int64_t mantissa = 0, exponent = 3, power = 0; /* of ten: microseconds to nanoseconds */
  for (p += negative; p < end && (*p == '.' || (*p >= '0' && *p <= '9')); p++) {
    if (*p == '.') {
      if (fraction) return false;
      fraction = true;
      continue;
    }
    any = true;
    int64_t longer;
    full = full || __builtin_mul_overflow(mantissa, 10, &longer) || __builtin_add_overflow(longer, *p - '0', &longer);
    if (full) { /* nineteen digits are enough: the rest of a fraction cannot matter */
      if (!fraction) return false;
      continue;
    }
    mantissa = longer;
    exponent -= fraction;
  }
  if (!any) return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    p += 1 + (p + 1 < end && p[1] == '+');
    if (!number_int64(p, (size_t)(end - p), &power) || power < -40 || power > 40) return false;
    p = end;
  }
  if (p != end) return false;
  exponent += power;
  for (; exponent > 0 && mantissa != 0; exponent--)
    if (__builtin_mul_overflow(mantissa, 10, &mantissa)) return false;
  for (; exponent < 0; exponent++) {
    round = mantissa % 10 >= 5;
    mantissa /= 10;
  }
  mantissa += round;
  *ret_ns = negative ? -mantissa : mantissa;
  return true;
}

/* A process or thread is a number, or a word that stands for one. */
static int64_t identity(struct bytes text) {
  int64_t n;
  if (text.length == 0) return 0;
  if (number_int64(text.ptr, text.length, &n)) return n;
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < text.length; i++) hash = (hash ^ (unsigned char)text.ptr[i]) * 1099511628211u;
  return (int64_t)(hash >> 2) + ((int64_t)1 << 61); /* beyond any real one */
}

/* Escapes undone; as it is, where one of them is wrong. */
static struct bytes unescape(struct reading *r, struct bytes raw) {
  char *text = arena_alloc(&r->texts, raw.length + 1, 1);
  int64_t length = json_scan_text(raw, text, raw.length + 1);
  if (length < 0) return raw;
  for (char *end; (end = memchr(text, 0, (size_t)length)) != NULL;) *end = '?'; /* no name goes on behind it */
  return (struct bytes){text, (size_t)length};
}

/* --- events --- */

/* with_flows: ends of arrows are read, too. */
static enum outcome read_event(const char **p, const char *end, bool with_flows, struct event *ret) {
  struct event e = {.phase = 0};
  const char *at = *p + 1;
  for (bool last = false, escaped; !last;) {
    struct bytes key, value;
    enum outcome outcome = read_member(&at, end, &key, &value, &escaped, &last);
    if (outcome != EVENT_GOOD) return outcome;
    if (last) break;
    switch (key.length) {
      case 2:
        if (IS(key, "ph")) {
          e.phase = value.length > 0 ? value.ptr[0] : 0;
          bool is_flow = e.phase == 's' || e.phase == 'f';
          if (e.phase == 0 || (strchr("XBEbeM", e.phase) == NULL && !(is_flow && with_flows))) { /* a quarter of many files */
            const char *after = scan_composite(*p, end);
            if (after == NULL) return EVENT_PARTIAL;
            *p = after;
            *ret = e;
            return EVENT_GOOD;
          }
        }
        if (IS(key, "ts")) e.start = value;
        if (IS(key, "id")) e.id = value;
        break;
      case 3:
        if (IS(key, "cat")) e.category = value;
        if (IS(key, "pid")) e.process = value;
        if (IS(key, "tid")) e.thread = value;
        if (IS(key, "dur")) e.duration = value;
        if (IS(key, "id2")) e.id = value;
        break;
      case 4:
        if (IS(key, "name")) e.name = value, e.name_escaped = escaped;
        if (IS(key, "args")) e.arguments = value;
        break;
      default: break;
    }
  }
  *p = at;
  *ret = e;
  return EVENT_GOOD;
}

static const struct chrome_category *category_of(struct reading *r, struct bytes name) {
  if (r->last != NULL && name.length == r->last_length && memcmp(r->last->name, name.ptr, name.length) == 0) return r->last;
  for (const struct chrome_category *c = r->format->categories; c->name != NULL; c++)
    if (strlen(c->name) == name.length && memcmp(c->name, name.ptr, name.length) == 0) {
      r->last = c;
      r->last_length = name.length;
      return c;
    }
  return NULL;
}

static void read_arguments(struct reading *r, struct trace_span *span, struct bytes arguments) {
  if (arguments.length < 2 || arguments.ptr[0] != '{') return;
  const char *p = arguments.ptr + 1, *end = arguments.ptr + arguments.length;
  for (bool last = false, escaped; !last;) {
    struct bytes key, value;
    if (read_member(&p, end, &key, &value, &escaped, &last) != EVENT_GOOD) return; /* what came before it counts */
    if (!last) r->format->argument(span, key, escaped ? unescape(r, value) : value);
  }
}

static void take_connection(struct trace_span *span, struct bytes arguments) {
  if (arguments.length < 2 || arguments.ptr[0] != '{') return;
  const char *p = arguments.ptr + 1, *end = arguments.ptr + arguments.length;
  for (bool last = false, escaped; !last;) {
    struct bytes key, value;
    if (read_member(&p, end, &key, &value, &escaped, &last) != EVENT_GOOD) return;
    if (!last && (bytes_equal(key, "connection_id") || bytes_equal(key, "correlation_id") || bytes_equal(key, "correlationId")))
      span->correlation = (uint64_t)chrome_number(value, 0);
    if (!last && bytes_equal(key, "size(Byte)")) span->bytes = chrome_number(value, -1);
  }
}

/* Gaudi's threads are engines: what is on one that copies, or that talks to others, is that, whatever it is called. */
static void take_engine(const struct reading *r, struct trace_span *span) {
  const char *engine = device_places_thread(r->places, span->process, span->thread);
  engine += strspn(engine, "*");
  if (strncmp(engine, "NIC", 3) == 0) span->name = bytes_of(engine);
  if (strncmp(engine, "EDMA", 4) == 0 || strncmp(engine, "PDMA", 4) == 0 || strncmp(engine, "KDMA", 4) == 0 ||
      strncmp(engine, "DMA", 3) == 0)
    span->kind = TRACE_COPY;
}

/* Threads of work of a device are its streams. */
static void take_name(const struct reading *r, const struct event *e, struct trace_span *span) {
  struct trace_span told = *span;
  take_connection(&told, e->arguments);
  enum trace_kind kind = r->format->kind_by_name(span->name, told.correlation != 0);
  if (kind == TRACE_OTHER) return;
  *span = told;
  span->kind = kind;
  span->device = 0;
  span->stream = span->thread;
}

/* Of an event without a known category: by whose it is. False: it is no span. */
static bool take_place(struct reading *r, const struct event *e, struct trace_span *span) {
  int64_t device;
  switch (device_places_find(r->places, span->process, span->thread, &device)) {
    case PLACE_WORK:
      span->kind = device_work_kind(span->name);
      take_engine(r, span);
      span->device = device;
      span->stream = span->thread;
      break;
    case PLACE_CALLS:
      span->kind = TRACE_RUNTIME;
      span->process = device_places_host(r->places, span->process);
      break;
    case PLACE_UNNAMED: r->lost[TRACE_LOSS_UNNAMED]++; return true;
    case PLACE_DERIVED: r->lost[TRACE_LOSS_DERIVED]++; return false;
    default:
      r->lost[TRACE_LOSS_UNKNOWN] += r->format->categories[0].name != NULL;
      if (r->format->kind_by_name != NULL && e != NULL) take_name(r, e, span);
      return true;
  }
  if (e != NULL) take_connection(span, e->arguments);
  return true;
}

static void emit_span(struct reading *r, const struct event *e, const struct chrome_category *category, struct bytes name, int64_t process,
                      int64_t thread, int64_t start_ns, int64_t duration_ns, bool asynchronous) {
  struct trace_span span = {.kind = category != NULL ? category->kind : TRACE_OTHER,
                            .name = name,
                            .start_ns = start_ns + r->base_ns,
                            .duration_ns = duration_ns,
                            .process = process,
                            .thread = thread,
                            .asynchronous = asynchronous,
                            .device = -1,
                            .stream = -1,
                            .bytes = -1,
                            .elements = -1,
                            .sequence = -1};
  /* Gaudi writes what its engines do as calls of the runtime, on the device's own threads. */
  int64_t device;
  if (category != NULL && category->kind == TRACE_RUNTIME && device_places_find(r->places, process, thread, &device) == PLACE_WORK)
    category = NULL;
  if (category == NULL && !take_place(r, e, &span)) return;
  if (category != NULL && category->arguments && r->format->argument != NULL && e != NULL) read_arguments(r, &span, e->arguments);
  struct bytes named = {category != NULL ? category->name : "", category != NULL ? strlen(category->name) : 0};
  if (r->format->finish != NULL && !r->format->finish(&span, named)) {
    r->lost[TRACE_LOSS_UNUSED]++;
    return;
  }
  if (r->sink->span != NULL) r->sink->span(r->sink->context, &span);
}

static void open_push(struct reading *r, const struct event *e, const struct chrome_category *category, struct bytes name,
                      int64_t start_ns) {
  if (r->n_open == OPEN_MAX) {
    r->lost[TRACE_LOSS_UNPAIRED]++;
    return;
  }
  r->open = xroom(r->open, r->n_open, &r->room, sizeof *r->open);
  if (name.length > OPEN_NAME_MAX) name.length = OPEN_NAME_MAX;
  char *copy = try_alloc(name.length + 1, 1);
  if (copy == NULL) return;
  memcpy(copy, name.ptr, name.length);
  r->open[r->n_open++] = (struct open){.process = identity(e->process),
                                       .thread = identity(e->thread),
                                       .id = identity(e->id),
                                       .asynchronous = e->phase == 'b',
                                       .start_ns = start_ns,
                                       .name = copy,
                                       .name_length = name.length,
                                       .category = category};
}

/* An asynchronous one may end on another thread than it began on, and others of its number lie in it under other names. */
static bool is_end_of(const struct event *e, const struct open *o, struct bytes name) {
  if (o->asynchronous != (e->phase == 'e') || o->process != identity(e->process)) return false;
  if (!o->asynchronous) return o->thread == identity(e->thread);
  bool named = name.length == 0 || (name.length >= o->name_length && memcmp(name.ptr, o->name, o->name_length) == 0);
  return o->id == identity(e->id) && named;
}

static void open_pop(struct reading *r, const struct event *e, struct bytes name, int64_t end_ns) {
  for (size_t i = r->n_open; i-- > 0;) {
    struct open o = r->open[i];
    if (!is_end_of(e, &o, name)) continue;
    memmove(r->open + i, r->open + i + 1, (r->n_open - i - 1) * sizeof *r->open);
    r->n_open--;
    if (end_ns < o.start_ns) r->lost[TRACE_LOSS_TIMES]++;
    else
      emit_span(r, NULL, o.category, (struct bytes){o.name, o.name_length}, o.process, o.thread, o.start_ns, end_ns - o.start_ns,
                o.asynchronous);
    free(o.name);
    return;
  }
  r->lost[TRACE_LOSS_UNPAIRED]++;
}

static void take_flow(struct reading *r, const struct event *e) {
  struct trace_flow flow = {.begins = e->phase == 's',
                            .id = (uint64_t)identity(e->id),
                            .process = identity(e->process),
                            .thread = identity(e->thread),
                            .device = -1,
                            .stream = -1};
  bool launches = IS(e->category, "HostToDevice");
  if (r->sink->flow == NULL || (!launches && !IS(e->category, "async_task_queue")) || !chrome_microseconds(e->start, &flow.at_ns)) {
    r->lost[TRACE_LOSS_UNUSED]++;
    return;
  }
  flow.kind = launches ? FLOW_LAUNCH : FLOW_HANDOVER;
  flow.at_ns += r->base_ns;
  if (launches && !flow.begins) {
    if (device_places_find(r->places, flow.process, flow.thread, &flow.device) != PLACE_WORK) flow.device = -1;
    flow.stream = flow.thread;
  } else flow.process = device_places_host(r->places, flow.process);
  r->sink->flow(r->sink->context, &flow);
}

static void take_metadata(struct reading *r, const struct event *e) {
  if (e->arguments.length < 2 || e->arguments.ptr[0] != '{') return;
  const char *p = e->arguments.ptr + 1, *end = e->arguments.ptr + e->arguments.length;
  for (bool last = false, escaped; !last;) {
    struct bytes key, value;
    if (read_member(&p, end, &key, &value, &escaped, &last) != EVENT_GOOD) return;
    if (!last && (IS(key, "name") || IS(key, "labels")))
      device_places_tell(r->places, e->name, identity(e->process), identity(e->thread), value);
    if (!last && IS(key, "name") && IS(value, "CANN")) r->reads_flows = true;
  }
}

static void take_event(struct reading *r, const struct event *e) {
  int64_t start_ns, duration_ns = 0;
  r->n_events++;
  if (e->phase == 'M') {
    take_metadata(r, e);
    return;
  }
  if (e->phase == 0 && e->name.length == 0 && e->start.length == 0) return; /* {}: how XProf ends a list */
  if (r->reads_flows && (e->phase == 's' || e->phase == 'f')) {
    take_flow(r, e);
    return;
  }
  if (e->phase == 0 || strchr("XBEbe", e->phase) == NULL) {
    r->lost[e->phase == 0 ? TRACE_LOSS_DAMAGED : TRACE_LOSS_UNUSED] += e->phase != 'M';
    return;
  }
  if (!chrome_microseconds(e->start, &start_ns) ||
      (e->phase == 'X' && e->duration.length > 0 && (!chrome_microseconds(e->duration, &duration_ns) || duration_ns < 0)) ||
      start_ns > INT64_MAX / 4 || start_ns < INT64_MIN / 4 || duration_ns > INT64_MAX / 4) {
    r->lost[TRACE_LOSS_TIMES]++;
    return;
  }
  struct bytes name = e->name_escaped ? unescape(r, e->name) : e->name;
  if (e->phase == 'E' || e->phase == 'e') {
    open_pop(r, e, name, start_ns);
    return;
  }
  const struct chrome_category *category = category_of(r, e->category);
  r->reads_flows = r->reads_flows || IS(e->category, "enqueue");
  if (name.length == 0) name = bytes_of("(no name)");
  if (e->phase == 'B' || e->phase == 'b') open_push(r, e, category, name, start_ns);
  else emit_span(r, e, category, name, identity(e->process), identity(e->thread), start_ns, duration_ns, false);
}

/* Behind damage: the next '{' that stands where an event may begin and reads as one. NULL: none in what is there. */
static const char *find_event(const char *from, const char *end, bool ended) {
  for (const char *p = from; (p = memchr(p, '{', (size_t)(end - p))) != NULL; p++) {
    const char *before = p;
    while (before > from && (before[-1] == ' ' || before[-1] == '\n' || before[-1] == '\t' || before[-1] == '\r')) before--;
    if (before == from || (before[-1] != ',' && before[-1] != '[' && before[-1] != '}')) continue;
    struct event event;
    const char *at = p, *near = end - p > RESYNC_MAX ? p + RESYNC_MAX : end; /* else damage would cost its square */
    enum outcome outcome = read_event(&at, near, false, &event);
    if ((outcome == EVENT_GOOD && event.phase != 0) || (outcome == EVENT_PARTIAL && !ended && end - p < RESYNC_MAX)) return p;
  }
  return NULL;
}

static bool tell_progress(struct reading *r) {
  return r->sink->progress == NULL || r->sink->progress(r->sink->progress_context, r->window.source->done(r->window.source->context));
}

/* The array of events, from behind its '['. */
static enum lynx_status read_events(struct reading *r) {
  struct trace_window *w = &r->window;
  for (;;) {
    const char *end = w->data + w->length, *p = w->data + w->at;
    while (p < end && (*p == ',' || *p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
    w->at = (size_t)(p - w->data);
    enum outcome outcome = EVENT_PARTIAL;
    if (p < end && *p == ']') {
      w->at++;
      return LYNX_OK;
    }
    struct event event;
    if (p < end) outcome = *p == '{' ? read_event(&p, end, r->reads_flows, &event) : EVENT_BAD;
    if (outcome == EVENT_GOOD) {
      take_event(r, &event);
      arena_release(&r->texts);
      w->at = (size_t)(p - w->data);
      if (r->n_events % PROGRESS_EVENTS == 0 && !tell_progress(r)) return LYNX_OK;
      continue;
    }
    if (outcome == EVENT_PARTIAL && w->length - w->at < EVENT_MAX) {
      if (window_more(w, r->error)) continue;
      if (r->error->status != LYNX_OK) return r->error->status;
      if (w->at == w->length) { /* the end, without a ']' */
        r->lost[TRACE_LOSS_TRUNCATED]++;
        return LYNX_OK;
      }
    }
    const char *next = find_event(w->data + w->at + 1, w->data + w->length, w->ended);
    if (next != NULL) {
      r->lost[TRACE_LOSS_DAMAGED]++;
      w->at = (size_t)(next - w->data);
      continue;
    }
    if (w->ended) {
      r->lost[outcome == EVENT_PARTIAL ? TRACE_LOSS_TRUNCATED : TRACE_LOSS_DAMAGED]++;
      return LYNX_OK;
    }
    if (w->length - w->at > RESYNC_MAX) w->at = w->length - RESYNC_MAX; /* keep what may be the beginning of the next one */
    if (!window_more(w, r->error) && r->error->status != LYNX_OK) return r->error->status;
  }
}

/* --- the object around them --- */

static void tell(struct reading *r, const char *key, struct bytes value) {
  if (r->sink->fact != NULL) r->sink->fact(r->sink->context, key, value);
}

static void tell_devices(struct reading *r, struct bytes value) {
  json_t *devices = json_parse(value.ptr, value.length, EVENT_MAX, NULL);
  size_t i;
  const json_t *device;
  json_array_foreach(devices, i, device) {
    char key[40];
    (void)snprintf(key, sizeof key, "device.%lld", (long long)json_get_int(device, "id", (int64_t)i));
    tell(r, key, bytes_of(json_get_text(device, "name", "")));
  }
  json_decref(devices);
}

static void take_member(struct reading *r, struct bytes key, struct bytes value) {
  static const char *const told[] = {"cuda_runtime_version", "cuda_driver_version", "cupti_version",
                                     "hip_runtime_version",  "hip_driver_version",  "trace_id",
                                     "with_stack",           "record_shapes",       "traceName"};
  if (IS(key, "baseTimeNanoseconds")) r->base_ns = chrome_number(value, 0);
  if (r->base_ns > INT64_MAX / 4 || r->base_ns < 0) r->base_ns = 0;
  if (IS(key, "deviceProperties")) tell_devices(r, value);
  if (IS(key, "distributedInfo")) {
    json_t *info = json_parse(value.ptr, value.length, EVENT_MAX, NULL);
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)json_get_int(info, "rank", -1));
    tell(r, "rank", bytes_of(number));
    (void)snprintf(number, sizeof number, "%lld", (long long)json_get_int(info, "world_size", -1));
    tell(r, "world_size", bytes_of(number));
    json_decref(info);
  }
  for (size_t i = 0; i < LYNX_COUNT(told); i++)
    if (is(key, told[i], strlen(told[i]))) tell(r, told[i], value);
}

/* From behind the '{': members, among them the events. */
static enum lynx_status read_object(struct reading *r) {
  static const char events_key[] = "\"traceEvents\"";
  struct trace_window *w = &r->window;
  bool found = false;
  for (;;) {
    const char *end = w->data + w->length, *p = scan_blanks(w->data + w->at, end);
    if (p < end && *p == ',') p = scan_blanks(p + 1, end);
    size_t left = (size_t)(end - p);
    enum outcome outcome = EVENT_PARTIAL;
    if (left >= sizeof events_key && memcmp(p, events_key, sizeof events_key - 1) == 0) {
      const char *at = scan_blanks(p + sizeof events_key - 1, end);
      if (at < end && *at == ':') at = scan_blanks(at + 1, end);
      if (at < end && *at == '[') {
        found = true;
        w->at = (size_t)(at - w->data) + 1;
        enum lynx_status status = read_events(r);
        if (status != LYNX_OK) return status;
        continue;
      }
      if (at < end) return lynx_fail(r->error, LYNX_INPUT, "\"traceEvents\" is no array");
    } else {
      struct bytes key, value;
      bool escaped, last;
      const char *at = p;
      if (left > sizeof events_key) outcome = read_member(&at, end, &key, &value, &escaped, &last);
      if (left > 0 && w->ended) outcome = read_member(&at, end, &key, &value, &escaped, &last);
      if (outcome == EVENT_GOOD && last) return found ? LYNX_OK : lynx_fail(r->error, LYNX_INPUT, "it holds no \"traceEvents\"");
      if (outcome == EVENT_GOOD) {
        take_member(r, key, value);
        w->at = (size_t)(at - w->data);
        continue;
      }
    }
    bool had_ended = w->ended;
    if (outcome == EVENT_BAD || (!window_more(w, r->error) && had_ended) || r->error->status != LYNX_OK) {
      if (found && r->error->status == LYNX_LIMIT) {
        *r->error = (struct lynx_error){.status = LYNX_OK};
        r->lost[TRACE_LOSS_LARGE]++;
        return LYNX_OK;
      }
      if (r->error->status != LYNX_OK) return r->error->status;
      if (found) { /* damaged or cut off behind the events */
        r->lost[TRACE_LOSS_TRUNCATED] += r->lost[TRACE_LOSS_TRUNCATED] == 0;
        return LYNX_OK;
      }
      return lynx_fail(r->error, LYNX_INPUT, "it ends, or breaks off, before its \"traceEvents\"");
    }
  }
}

enum lynx_status chrome_read(const struct chrome_format *format, struct trace_source *source, const struct trace_sink *sink,
                             struct lynx_error *error) {
  struct lynx_error own = {.status = LYNX_OK};
  struct reading r = {.format = format, .sink = sink, .error = error != NULL ? error : &own};
  enum lynx_status status;
  window_init(&r.window, source);
  r.places = xalloc(1, sizeof *r.places);
  (void)window_more(&r.window, r.error);
  const char *p = scan_blanks(r.window.data, r.window.data + r.window.length);
  r.window.at = (size_t)(p - r.window.data) + (r.window.length > 0);
  if (r.error->status != LYNX_OK) status = r.error->status;
  else if (*p == '[') status = read_events(&r);
  else if (*p == '{') status = read_object(&r);
  else status = lynx_fail(r.error, LYNX_INPUT, "not a JSON trace: it begins neither with '{' nor with '['");
  r.lost[TRACE_LOSS_UNPAIRED] += (int64_t)r.n_open;
  r.lost[TRACE_LOSS_FULL] += format->full_at > 0 && r.n_events >= format->full_at;
  for (int i = 0; i < TRACE_LOSS_COUNT; i++)
    if (r.lost[i] > 0 && sink->lost != NULL) sink->lost(sink->context, (enum trace_loss)i, r.lost[i]);
  for (size_t i = 0; i < r.n_open; i++) free(r.open[i].name);
  free(r.open);
  free(r.places);
  arena_release(&r.texts);
  window_release(&r.window);
  return status;
}
