#include "result/request_log.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/json.h"
#include "base/number.h"

enum { LINE_MAX_BYTES = 4 << 20, COLUMNS_MAX = 64, BLOCKS_MAX = 1 << 16, DEPTH_MAX = 32 };
static const double time_max_s = 4e9; /* the year 2096 */

static const char *const format_names[] = {
    [LOG_AUTO] = "auto",   [LOG_JSONL] = "jsonl", [LOG_MOONCAKE] = "mooncake", [LOG_BURSTGPT] = "burstgpt",
    [LOG_AZURE] = "azure", [LOG_OTLP] = "otlp",   [LOG_ACCESS] = "access"};

const char *log_format_text(enum log_format format) {
  return format_names[format];
}

bool log_format_parse(const char *text, enum log_format *ret) {
  for (size_t i = 0; i < LYNX_COUNT(format_names); i++) {
    if (strcmp(format_names[i], text) != 0) continue;
    *ret = (enum log_format)i;
    return true;
  }
  return false;
}

struct reading {
  struct request_log *log;
  size_t room;
  bool full;
  const char *why; /* the present line cannot be used */
  /* CSV: where the columns are; -1: none. */
  int time_column, prompt_column, output_column;
};

static const struct logged_request unknown = {.duration_ns = -1, .prompt_tokens = -1, .output_tokens = -1, .cached_tokens = -1};

static void add(struct reading *r, const struct logged_request *request) {
  struct request_log *log = r->log;
  if (log->n_items == REQUEST_LOG_MAX) {
    r->full = true;
    return;
  }
  log->items = xroom(log->items, log->n_items, &r->room, sizeof *log->items);
  log->items[log->n_items++] = *request;
}

/* --- values --- */

static bool seconds_to_ns(double seconds, int64_t *ret) {
  if (!(seconds >= 0) || seconds > time_max_s) return false;
  *ret = (int64_t)(seconds * 1e9 + 0.5);
  return true;
}

static bool is_count(double value) {
  return value >= 0 && value <= 1e9;
}

static double number_of(const json_t *object, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const json_t *value = json_object_get(object, names[i]);
    if (json_is_number(value)) return json_number_value(value);
  }
  return -1;
}
#define NUMBER_OF(object, ...) number_of(object, (const char *const[]){__VA_ARGS__}, LYNX_COUNT(((const char *const[]){__VA_ARGS__})))

static int64_t count_or_unknown(double value) {
  return is_count(value) ? (int64_t)value : -1;
}

/* Days since 1970 of a date in the Gregorian calendar (Hinnant's days_from_civil). */
static int64_t days_of(int64_t year, int month, int day) {
  year -= month <= 2;
  int64_t era = year / 400, of_era = year - era * 400, of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "2023-11-16 18:17:03.9799600", with T for the blank and an offset or Z after it. */
static bool read_date(const char *text, int64_t *ret_ns) {
  int year, month, day, hour, minute, n = 0;
  double second;
  if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%lf%n", &year, &month, &day, &hour, &minute, &second, &n) != 6 || n == 0) return false;
  if (year < 1970 || year > 2095 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      !(second >= 0 && second < 61))
    return false;
  int64_t offset = 0;
  int off_hours, off_minutes;
  char sign;
  if (sscanf(text + n, "%c%2d:%2d", &sign, &off_hours, &off_minutes) == 3 && (sign == '+' || sign == '-'))
    offset = (sign == '+' ? 1 : -1) * (int64_t)(off_hours * 3600 + off_minutes * 60);
  *ret_ns = (days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 - offset) * 1000000000 + (int64_t)(second * 1e9);
  return *ret_ns >= 0;
}

/* --- one line of each format --- */

static bool take_json(struct reading *r, const json_t *object) {
  struct logged_request q = unknown;
  bool mooncake = r->log->format == LOG_MOONCAKE;
  double at = mooncake ? NUMBER_OF(object, "timestamp") / 1000 : NUMBER_OF(object, "at_s", "timestamp_s", "time_s");
  if (!seconds_to_ns(at, &q.at_ns)) {
    r->why = mooncake ? "no \"timestamp\" in milliseconds" : "no \"at_s\" in seconds";
    return false;
  }
  q.prompt_tokens = count_or_unknown(mooncake ? NUMBER_OF(object, "input_length") : NUMBER_OF(object, "prompt_tokens", "input_tokens"));
  q.output_tokens = count_or_unknown(mooncake ? NUMBER_OF(object, "output_length")
                                              : NUMBER_OF(object, "output_tokens", "completion_tokens"));
  q.cached_tokens = count_or_unknown(NUMBER_OF(object, "cached_tokens"));
  if (!seconds_to_ns(NUMBER_OF(object, "duration_s"), &q.duration_ns)) q.duration_ns = -1;
  const json_t *prompt = json_object_get(object, "prompt"), *blocks = json_object_get(object, "hash_ids");
  if (json_is_string(prompt)) {
    q.prompt_length = json_string_length(prompt);
    q.prompt = arena_text(&r->log->arena, json_string_value(prompt), q.prompt_length);
  }
  size_t n = json_array_size(blocks);
  if (n > 0 && n <= BLOCKS_MAX) {
    int64_t *ids = arena_alloc(&r->log->arena, n, sizeof *ids);
    for (size_t i = 0; i < n; i++) ids[i] = json_integer_value(json_array_get(blocks, i));
    q.blocks = ids;
    q.n_blocks = n;
  }
  if (q.prompt_tokens < 0 && q.prompt == NULL) {
    r->why = "neither a prompt's length nor its text";
    return false;
  }
  add(r, &q);
  return true;
}

static int64_t attribute_count(const json_t *attributes, const char *name) {
  size_t i;
  const json_t *attribute;
  json_array_foreach(attributes, i, attribute) {
    if (strcmp(json_get_text(attribute, "key", ""), name) != 0) continue;
    const json_t *value = json_object_get(json_object_get(attribute, "value"), "intValue");
    int64_t number; /* OTLP writes 64-bit integers as strings */
    if (json_is_string(value) && number_int64(json_string_value(value), json_string_length(value), &number) && is_count((double)number))
      return number;
    if (json_is_integer(value) && is_count((double)json_integer_value(value))) return json_integer_value(value);
  }
  return -1;
}

static bool nano_text(const json_t *span, const char *name, int64_t *ret) {
  const json_t *value = json_object_get(span, name);
  if (json_is_integer(value)) *ret = json_integer_value(value);
  else if (!json_is_string(value) || !number_int64(json_string_value(value), json_string_length(value), ret)) return false;
  return *ret >= 0 && (double)*ret <= time_max_s * 1e9;
}

/* Spans lie at resourceSpans[].scopeSpans[].spans[]; those without token usage are other work. */
static size_t take_spans(struct reading *r, const json_t *root) {
  size_t i, k, s, n = 0;
  const json_t *resource, *scope, *span;
  json_array_foreach(json_object_get(root, "resourceSpans"), i, resource)
      json_array_foreach(json_object_get(resource, "scopeSpans"), k, scope) json_array_foreach(json_object_get(scope, "spans"), s, span) {
    struct logged_request q = unknown;
    const json_t *attributes = json_object_get(span, "attributes");
    int64_t end;
    q.prompt_tokens = attribute_count(attributes, "gen_ai.usage.input_tokens");
    q.output_tokens = attribute_count(attributes, "gen_ai.usage.output_tokens");
    q.cached_tokens = attribute_count(attributes, "gen_ai.usage.cache_read.input_tokens");
    if (q.prompt_tokens < 0 || !nano_text(span, "startTimeUnixNano", &q.at_ns)) continue;
    if (nano_text(span, "endTimeUnixNano", &end) && end >= q.at_ns) q.duration_ns = end - q.at_ns;
    add(r, &q);
    n++;
  }
  return n;
}

static bool take_json_line(struct reading *r, const char *line, size_t length) {
  struct lynx_error error = {0};
  json_t *root = json_parse(line, length, LINE_MAX_BYTES, &error);
  bool good = false;
  if (!json_is_object(root)) r->why = "not a JSON object";
  else if (r->log->format == LOG_OTLP) {
    good = take_spans(r, root) > 0;
    if (!good) r->why = "no span with gen_ai.usage.input_tokens";
  } else good = take_json(r, root);
  json_decref(root);
  return good;
}

/* Splits in place; quotes as in RFC 4180, but for line breaks within them. */
static size_t split_csv(char *line, char **fields) {
  size_t n = 0;
  char *p = line;
  while (n < COLUMNS_MAX) {
    char *to = p;
    fields[n++] = to;
    if (*p == '"') {
      for (p++; *p != 0 && !(*p == '"' && p[1] != '"'); p++) {
        if (*p == '"') p++;
        *to++ = *p;
      }
      if (*p == '"') p++;
    } else
      while (*p != 0 && *p != ',') *to++ = *p++;
    while (*p != 0 && *p != ',') p++;
    bool more = *p == ',';
    *to = 0;
    if (!more) break;
    p++;
  }
  return n;
}

static int column_of(char **fields, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(fields[i], name) == 0) return (int)i;
  return -1;
}

static bool take_csv_header(struct reading *r, char **fields, size_t n) {
  bool azure = r->log->format == LOG_AZURE;
  r->time_column = column_of(fields, n, "Timestamp");
  r->prompt_column = column_of(fields, n, azure ? "ContextTokens" : "Request tokens");
  r->output_column = column_of(fields, n, azure ? "GeneratedTokens" : "Response tokens");
  bool whole = r->time_column >= 0 && r->prompt_column >= 0 && r->output_column >= 0;
  if (!whole) r->time_column = -1; /* half a header is none: the next line is asked again */
  return whole;
}

static bool take_csv(struct reading *r, char **fields, size_t n) {
  struct logged_request q = unknown;
  double at, prompt, output;
  if ((int)n <= r->time_column || (int)n <= r->prompt_column || (int)n <= r->output_column) {
    r->why = "fewer columns than the header has";
    return false;
  }
  const char *time = fields[r->time_column], *p = fields[r->prompt_column], *o = fields[r->output_column];
  bool timed = r->log->format == LOG_AZURE ? read_date(time, &q.at_ns)
                                           : number_double(time, strlen(time), &at) && seconds_to_ns(at, &q.at_ns);
  if (!timed || !number_double(p, strlen(p), &prompt) || !number_double(o, strlen(o), &output) || !is_count(prompt) || !is_count(output)) {
    r->why = timed ? "a token count that is none" : "a time that is none";
    return false;
  }
  q.prompt_tokens = (int64_t)prompt;
  q.output_tokens = (int64_t)output;
  add(r, &q);
  return true;
}

/* 10.0.0.1 - - [12/Nov/2026:10:15:32 +0100] "POST /v1/completions HTTP/1.1" 200 512 "-" "agent" 1.234 */
static bool take_access(struct reading *r, const char *line) {
  static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  struct logged_request q = unknown;
  char month[4] = "", sign = '+', method[12] = "", path[200] = "";
  int day, year, hour, minute, second, zone = 0, status = 0;
  const char *bracket = strchr(line, '['), *quote = bracket != NULL ? strchr(bracket, '"') : NULL;
  r->why = "not a line of an access log";
  if (quote == NULL ||
      sscanf(bracket, "[%2d/%3[A-Za-z]/%4d:%2d:%2d:%2d %c%4d]", &day, month, &year, &hour, &minute, &second, &sign, &zone) != 8)
    return false;
  const char *found = strstr(months, month);
  if (found == NULL || strlen(month) != 3 || (found - months) % 3 != 0 || year < 1970 || year > 2095 || day < 1 || day > 31 || hour > 23 ||
      minute > 59 || second > 60)
    return false;
  if (sscanf(quote, "\"%11[A-Z] %199[^ \"]", method, path) != 2) return false;
  const char *after = strchr(quote + 1, '"');
  if (after == NULL || sscanf(after + 1, " %3d", &status) != 1) return false;
  if (strcmp(method, "POST") != 0) {
    r->why = "not a POST: health checks and pages are no inference";
    return false;
  }
  int64_t offset = (int64_t)(zone / 100 * 3600 + zone % 100 * 60) * (sign == '-' ? -1 : 1);
  q.at_ns = (days_of(year, (int)(found - months) / 3 + 1, day) * 86400 + hour * 3600 + minute * 60 + second - offset) * 1000000000;
  if (q.at_ns < 0) return false;
  const char *last = strrchr(line, ' ');
  double took;
  size_t n = last != NULL ? strlen(last + 1) : 0;
  if (last != NULL && last > after && strchr(last, '.') != NULL && strchr(last, '"') == NULL && number_double(last + 1, n, &took) &&
      seconds_to_ns(took, &q.duration_ns)) {
    q.at_ns -= q.duration_ns < q.at_ns ? q.duration_ns : 0; /* servers write the line when the answer is out */
  } else q.duration_ns = -1;
  add(r, &q);
  return true;
}

/* --- the whole --- */

static enum log_format guess(const char *text, size_t length) {
  char first[2000];
  size_t n = 0;
  while (n < length && n + 1 < sizeof first && text[n] != '\n') first[n] = text[n], n++;
  first[n] = 0;
  if (n > 0 && first[strspn(first, " \t")] == '{') {
    size_t head = length < 4000 ? length : 4000;
    if (memmem(text, head, "resourceSpans", 13) != NULL) return LOG_OTLP;
    return strstr(first, "\"input_length\"") != NULL ? LOG_MOONCAKE : LOG_JSONL;
  }
  for (size_t i = 0; i < n; i++) first[i] = (char)tolower((unsigned char)first[i]);
  if (strstr(first, "contexttokens") != NULL) return LOG_AZURE;
  if (strstr(first, "request tokens") != NULL) return LOG_BURSTGPT;
  return strchr(first, '[') != NULL && strchr(first, '"') != NULL ? LOG_ACCESS : LOG_AUTO;
}

static int by_time(const void *a, const void *b) {
  const struct logged_request *x = a, *y = b;
  return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static void take_line(struct reading *r, char *line, size_t length, int number) {
  struct request_log *log = r->log;
  char *fields[COLUMNS_MAX];
  bool good = false;
  r->why = "";
  while (length > 0 && (line[length - 1] == '\r' || line[length - 1] == ' ')) line[--length] = 0;
  if (length == 0) return;
  if (log->format == LOG_AZURE || log->format == LOG_BURSTGPT) {
    size_t n = split_csv(line, fields);
    if (r->time_column < 0) {
      good = take_csv_header(r, fields, n);
      if (!good) r->why = "a header without the format's columns";
    } else good = take_csv(r, fields, n);
  } else if (log->format == LOG_ACCESS) good = take_access(r, line);
  else good = take_json_line(r, line, length);
  if (good) return;
  if (log->n_skipped++ == 0) (void)snprintf(log->first_skipped, sizeof log->first_skipped, "line %d: %s", number, r->why);
}

enum lynx_status request_log_parse(const char *text, size_t length, enum log_format format, struct request_log *ret,
                                   struct lynx_error *error) {
  *ret = (struct request_log){.format = format == LOG_AUTO ? guess(text, length) : format};
  struct reading r = {.log = ret, .time_column = -1, .why = ""};
  if (ret->format == LOG_AUTO)
    return lynx_fail(error, LYNX_INPUT,
                     "the first line looks like none of jsonl, mooncake, burstgpt, azure, otlp, access; say which it is");
  json_t *whole = ret->format == LOG_OTLP ? json_parse(text, length, length + 1, NULL) : NULL;
  if (whole != NULL) (void)take_spans(&r, whole); /* one document over many lines */
  int number = 0;
  char *line = xalloc(LINE_MAX_BYTES + 1, 1);
  for (size_t at = 0; at < length && whole == NULL && !r.full;) {
    const char *end = memchr(text + at, '\n', length - at);
    size_t n = end != NULL ? (size_t)(end - text) - at : length - at;
    number++;
    if (n > LINE_MAX_BYTES) {
      if (ret->n_skipped++ == 0) (void)snprintf(ret->first_skipped, sizeof ret->first_skipped, "line %d: longer than 4 MiB", number);
    } else {
      memcpy(line, text + at, n);
      line[n] = 0;
      take_line(&r, line, strlen(line), number);
    }
    at += n + 1;
  }
  free(line);
  json_decref(whole);
  enum lynx_status status = LYNX_OK;
  if (r.full) status = lynx_fail(error, LYNX_LIMIT, "more than %d requests; cut the log to a part of it", REQUEST_LOG_MAX);
  else if (ret->n_items == 0)
    status = lynx_fail(error, LYNX_INPUT, "no request of the format %s in it%s%s", log_format_text(ret->format),
                       ret->n_skipped > 0 ? "; " : "", ret->first_skipped);
  if (status != LYNX_OK) {
    request_log_release(ret);
    return status;
  }
  qsort(ret->items, ret->n_items, sizeof *ret->items, by_time);
  int64_t first = ret->items[0].at_ns;
  ret->first_realtime_ns = ret->format == LOG_AZURE || ret->format == LOG_OTLP || ret->format == LOG_ACCESS ? first : 0;
  for (size_t i = 0; i < ret->n_items; i++) ret->items[i].at_ns -= first;
  return LYNX_OK;
}

void request_log_release(struct request_log *log) {
  free(log->items);
  arena_release(&log->arena);
  *log = (struct request_log){0};
}
