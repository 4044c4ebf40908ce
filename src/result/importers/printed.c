/* What benchmarks print, as people paste it into an issue: vLLM's and SGLang's «Serving Benchmark Result», perf_analyzer, llama-bench's
 * table, wrk, hey, ghz, k6, locust. A tool is one table: which line, which number of it, which figure.
 * Source   the tools' own printing: vllm/benchmarks/serve.py, sglang/bench_serving.py, perf_analyzer's report writer, llama-bench.cpp,
 *          wrk.c, hey's report, k6's end-of-test summary, locust's stats.py */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "result/import_result.h"

enum { LABEL_BYTES = 80 };

enum target { FIGURE, SUMMED /* of all such lines */, SECONDS, CONCURRENCY, RATE };
enum bar { BAR_ANY, BAR_WITH, BAR_WITHOUT }; /* of a line: does it hold a '|'? */

struct row {
  const char *label; /* what the line begins with; "": any line that holds the key */
  const char *key;   /* the number stands behind it; NULL: behind the label */
  int column;        /* which of the numbers, from 0; those in brackets do not count */
  enum target target;
  const char *name, *formula, *unit;
  enum bar bar;
};

struct tool {
  const char *name;
  const char *marks[2]; /* all of them: it is that tool's */
  const char *opens;    /* a line that begins a run; NULL: the text is one */
  bool last;            /* of several, the last one is the whole run */
  bool colon;           /* labels end at a colon */
  const struct row *rows;
  size_t n_rows;
};

#define COUNT(label, column, name, tool)                                                                                                   \
  { label, NULL, column, FIGURE, name, tool ".count.1", "1", BAR_ANY }
#define SPEED(label, column, name, tool)                                                                                                   \
  { label, NULL, column, FIGURE, name, tool ".throughput.1", "1/s", BAR_ANY }
#define TIME(label, key, column, name, formula)                                                                                            \
  { label, key, column, FIGURE, name, formula, "ms", BAR_ANY }
#define TIMES(of, name, formula)                                                                                                           \
  TIME("Mean " of " (ms)", NULL, 0, name " mean", formula), TIME("Median " of " (ms)", NULL, 0, name " median", formula),                  \
      TIME("P25 " of " (ms)", NULL, 0, name " p25", formula), TIME("P50 " of " (ms)", NULL, 0, name " p50", formula),                      \
      TIME("P75 " of " (ms)", NULL, 0, name " p75", formula), TIME("P99.9 " of " (ms)", NULL, 0, name " p99.9", formula),                  \
      TIME("P90 " of " (ms)", NULL, 0, name " p90", formula), TIME("P95 " of " (ms)", NULL, 0, name " p95", formula),                      \
      TIME("P99 " of " (ms)", NULL, 0, name " p99", formula), TIME("Max " of " (ms)", NULL, 0, name " max", formula)

static const struct row serving[] = {COUNT("Successful requests", 0, "requests that went well", "vllm"),
                                     COUNT("Failed requests", 0, "requests that failed", "vllm"),
                                     COUNT("Total input tokens", 0, "input tokens", "vllm"),
                                     COUNT("Total generated tokens", 0, "output tokens", "vllm"),
                                     SPEED("Request throughput (req/s)", 0, "requests per second", "vllm"),
                                     SPEED("Request goodput (req/s)", 0, "good requests per second", "vllm"),
                                     COUNT("Accept length", 0, "acceptance length", "vllm"),
                                     SPEED("Input token throughput (tok/s)", 0, "input tokens per second", "vllm"),
                                     SPEED("Output token throughput (tok/s)", 0, "output tokens per second", "vllm"),
                                     SPEED("Peak output token throughput (tok/s)", 0, "peak output tokens per second", "vllm"),
                                     SPEED("Total token throughput (tok/s)", 0, "tokens per second", "vllm"),
                                     COUNT("Peak concurrent requests", 0, "most requests in flight", "vllm"),
                                     TIMES("TTFT", "time to first token", "vllm.ttft.1"),
                                     TIMES("TPOT", "time per output token", "vllm.tpot.1"),
                                     TIMES("ITL", "inter-token latency", "vllm.itl.1"),
                                     TIMES("E2EL", "end to end", "vllm.e2el.1"),
                                     TIMES("E2E Latency", "end to end", "vllm.e2el.1"),
                                     {"Benchmark duration (s)", NULL, 0, SECONDS, NULL, NULL, "s", BAR_ANY},
                                     {"Maximum request concurrency", NULL, 0, CONCURRENCY, NULL, NULL, "", BAR_ANY},
                                     {"Max request concurrency", NULL, 0, CONCURRENCY, NULL, NULL, "", BAR_ANY},
                                     {"Request rate configured (RPS)", NULL, 0, RATE, NULL, NULL, "", BAR_ANY},
                                     {"Traffic request rate", NULL, 0, RATE, NULL, NULL, "", BAR_ANY}};

static const struct row perf_analyzer[] = {
    {"Request Rate", NULL, 0, RATE, NULL, NULL, "", BAR_ANY},
    {"Request concurrency", NULL, 0, CONCURRENCY, NULL, NULL, "", BAR_ANY},
    COUNT("Request count", 0, "requests that went well", "perf_analyzer"),
    SPEED("Throughput", 0, "inferences per second", "perf_analyzer"), /* a request may hold a batch */
    TIME("Avg latency", NULL, 0, "request latency mean", "perf_analyzer.request_latency.1"),
    TIME("p50 latency", NULL, 0, "request latency p50", "perf_analyzer.request_latency.1"),
    TIME("p90 latency", NULL, 0, "request latency p90", "perf_analyzer.request_latency.1"),
    TIME("p95 latency", NULL, 0, "request latency p95", "perf_analyzer.request_latency.1"),
    TIME("p99 latency", NULL, 0, "request latency p99", "perf_analyzer.request_latency.1")};

/* Where the lines of its summary alone were pasted: "Concurrency: 8, throughput: 146.657 infer/sec, latency 54498 usec"; before 2021 without
 * "throughput:". Which latency, its heading says. */
static const struct row perf_summary[] = {
    {"Concurrency", NULL, 0, CONCURRENCY, NULL, NULL, "", BAR_ANY},
    {"Concurrency", ",", 0, FIGURE, "inferences per second", "perf_analyzer.throughput.1", "1/s", BAR_ANY},
    TIME("Concurrency", "latency", 0, "request latency, as its heading says which", "perf_analyzer.request_latency.1")};

#define WRK_FAILED(label, column)                                                                                                          \
  { label, NULL, column, SUMMED, "requests that failed", "wrk.count.1", "1", BAR_ANY }
/* Some versions add latencies that nobody had (a correction for coordinated omission): the mean is not that of its requests. */
static const struct row wrk[] = {{"", "threads and", 0, CONCURRENCY, NULL, NULL, "", BAR_ANY},
                                 {"", "requests in", 0, SECONDS, NULL, NULL, "s", BAR_ANY},
                                 SPEED("Requests/sec:", 0, "requests per second", "wrk"),
                                 WRK_FAILED("Non-2xx or 3xx responses:", 0),
                                 WRK_FAILED("Socket errors:", 0), /* connect, read, write, timeout */
                                 WRK_FAILED("Socket errors:", 1),
                                 WRK_FAILED("Socket errors:", 2),
                                 WRK_FAILED("Socket errors:", 3),
                                 TIME("Latency", NULL, 0, "latency mean", "wrk.latency.1"),
                                 TIME("Latency", NULL, 2, "latency max", "wrk.latency.1"),
                                 TIME("50%", NULL, 0, "latency p50", "wrk.latency.1"),
                                 TIME("75%", NULL, 0, "latency p75", "wrk.latency.1"),
                                 TIME("90%", NULL, 0, "latency p90", "wrk.latency.1"),
                                 TIME("99%", NULL, 0, "latency p99", "wrk.latency.1"),
                                 TIME("50.000%", NULL, 0, "latency p50", "wrk.latency.1"), /* wrk2 */
                                 TIME("90.000%", NULL, 0, "latency p90", "wrk.latency.1"),
                                 TIME("99.000%", NULL, 0, "latency p99", "wrk.latency.1"),
                                 TIME("99.900%", NULL, 0, "latency p99.9", "wrk.latency.1")};

#define HEY_STATUS(label, name)                                                                                                            \
  { label, NULL, 0, SUMMED, name, "hey.count.1", "1", BAR_ANY }
/* ghz prints them as hey does, with "50 % in" in place of "50%". */
#define HEY_LATENCIES(tool, percent)                                                                                                       \
  TIME("Average:", NULL, 0, "request latency mean", tool ".request_latency.1"),                                                            \
      TIME("Fastest:", NULL, 0, "request latency min", tool ".request_latency.1"),                                                         \
      TIME("50" percent, NULL, 0, "request latency p50", tool ".request_latency.1"),                                                       \
      TIME("75" percent, NULL, 0, "request latency p75", tool ".request_latency.1"),                                                       \
      TIME("90" percent, NULL, 0, "request latency p90", tool ".request_latency.1"),                                                       \
      TIME("95" percent, NULL, 0, "request latency p95", tool ".request_latency.1"),                                                       \
      TIME("99" percent, NULL, 0, "request latency p99", tool ".request_latency.1"),                                                       \
      TIME("Slowest:", NULL, 0, "request latency max", tool ".request_latency.1")
static const struct row hey[] = {{"Total:", NULL, 0, SECONDS, NULL, NULL, "s", BAR_ANY},
                                 SPEED("Requests/sec:", 0, "requests per second", "hey"),
                                 HEY_STATUS("[200]", "requests that went well"),
                                 HEY_STATUS("[400]", "requests that failed"),
                                 HEY_STATUS("[401]", "requests that failed"),
                                 HEY_STATUS("[403]", "requests that failed"),
                                 HEY_STATUS("[404]", "requests that failed"),
                                 HEY_STATUS("[408]", "requests that failed"),
                                 HEY_STATUS("[422]", "requests that failed"),
                                 HEY_STATUS("[429]", "requests that failed"),
                                 HEY_STATUS("[500]", "requests that failed"),
                                 HEY_STATUS("[502]", "requests that failed"),
                                 HEY_STATUS("[503]", "requests that failed"),
                                 HEY_STATUS("[504]", "requests that failed"),
                                 HEY_LATENCIES("hey", "%")};

static const struct row ghz[] = {{"Total:", NULL, 0, SECONDS, NULL, NULL, "s", BAR_ANY},
                                 COUNT("Count:", 0, "requests", "ghz"),
                                 SPEED("Requests/sec:", 0, "requests per second", "ghz"),
                                 COUNT("[OK]", 0, "requests that went well", "ghz"),
                                 HEY_LATENCIES("ghz", " % in")};

static const struct row k6[] = {{"vus_max", NULL, 0, CONCURRENCY, NULL, NULL, "", BAR_ANY},
                                COUNT("http_reqs", 0, "requests", "k6"),
                                SPEED("http_reqs", 1, "requests per second", "k6"),
                                COUNT("http_req_failed", 1, "requests that failed", "k6"),
                                TIME("http_req_duration", "avg=", 0, "request latency mean", "k6.request_latency.1"),
                                TIME("http_req_duration", "min=", 0, "request latency min", "k6.request_latency.1"),
                                TIME("http_req_duration", "med=", 0, "request latency median", "k6.request_latency.1"),
                                TIME("http_req_duration", "p(90)=", 0, "request latency p90", "k6.request_latency.1"),
                                TIME("http_req_duration", "p(95)=", 0, "request latency p95", "k6.request_latency.1"),
                                TIME("http_req_duration", "p(99)=", 0, "request latency p99", "k6.request_latency.1"),
                                TIME("http_req_duration", "max=", 0, "request latency max", "k6.request_latency.1")};

#define LOCUST_TIME(column, name, bar)                                                                                                     \
  { "Aggregated", NULL, column, FIGURE, "request latency " name, "locust.response_time.1", "ms", bar }
static const struct row locust[] = {{"Aggregated", NULL, 0, FIGURE, "requests", "locust.count.1", "1", BAR_WITH},
                                    {"Aggregated", NULL, 1, FIGURE, "requests that failed", "locust.count.1", "1", BAR_WITH},
                                    {"Aggregated", NULL, 6, FIGURE, "requests per second", "locust.throughput.1", "1/s", BAR_WITH},
                                    LOCUST_TIME(2, "mean", BAR_WITH),
                                    LOCUST_TIME(3, "min", BAR_WITH),
                                    LOCUST_TIME(4, "max", BAR_WITH),
                                    LOCUST_TIME(5, "median", BAR_WITH),
                                    LOCUST_TIME(0, "p50", BAR_WITHOUT),
                                    LOCUST_TIME(4, "p90", BAR_WITHOUT),
                                    LOCUST_TIME(5, "p95", BAR_WITHOUT),
                                    LOCUST_TIME(7, "p99", BAR_WITHOUT)};

#define ROWS(table) table, LYNX_COUNT(table)
static const struct tool tools[] = {
    {"vllm bench serve", {"Serving Benchmark Result", NULL}, "Serving Benchmark Result", false, true, ROWS(serving)},
    {"vllm bench serve", {"Mean TTFT (ms)", "Request throughput (req/s)"}, NULL, false, true, ROWS(serving)},
    {"perf_analyzer", {"infer/sec", "Request Rate:"}, "Request Rate:", false, true, ROWS(perf_analyzer)},
    {"perf_analyzer", {"infer/sec", "Client:"}, "Request concurrency:", false, true, ROWS(perf_analyzer)},
    {"perf_analyzer", {"Inferences/Second vs. Client", "infer/sec, latency"}, "Concurrency:", false, true, ROWS(perf_summary)},
    {"wrk", {"Thread Stats", "Requests/sec:"}, " test @ ", false, false, ROWS(wrk)},
    {"ghz", {"Count:", "Response time histogram:"}, "Summary:", false, false, ROWS(ghz)},
    {"hey", {"Latency distribution:", "Slowest:"}, "Summary:", false, false, ROWS(hey)},
    {"k6", {"http_req_duration", "http_reqs"}, NULL, false, true, ROWS(k6)},
    {"locust", {"# reqs", "Aggregated"}, "# fails", true, false, ROWS(locust)},
    {"llama-bench", {"test |", "t/s |"}, NULL, false, false, NULL, 0}};

/* A blank in a mark is any number of them: tables are laid out again by who pastes them. */
static bool begins_with_mark(const char *text, const char *mark) {
  for (; *mark != 0; mark++) {
    size_t blanks = *mark == ' ' ? strspn(text, " ") : 0;
    if (*mark == ' ' ? blanks == 0 : *text != *mark) return false;
    text += *mark == ' ' ? blanks : 1;
  }
  return true;
}

static bool has_mark(const struct import_file *file, const char *mark) {
  if (mark == NULL) return true;
  for (const char *at = file->text; (at = strchr(at, mark[0])) != NULL; at++)
    if (begins_with_mark(at, mark)) return true;
  return false;
}

static const struct tool *tool_of(const struct import_file *file) {
  if (file->text[strspn(file->text, " \t\r\n")] == '{') return NULL; /* JSON has readers of its own */
  for (size_t i = 0; i < LYNX_COUNT(tools); i++)
    if (has_mark(file, tools[i].marks[0]) && has_mark(file, tools[i].marks[1])) return &tools[i];
  return NULL;
}

static bool recognise(const struct import_file *file) {
  return tool_of(file) != NULL;
}

/* --- numbers in a line --- */

/* Milliseconds of the unit that stands at p; 0: none that is known. *ret_end: behind it. */
static double unit_at(const char *p, const char **ret_end) {
  static const struct {
    const char *text;
    double ms;
  } units[] = {{"ns", 1e-6},      {"usec", 1e-3}, {"us", 1e-3},  {"\xc2\xb5s", 1e-3}, {"\xce\xbcs", 1e-3}, {"msec", 1},    {"ms", 1},
               {"seconds", 1000}, {"secs", 1000}, {"sec", 1000}, {"s", 1000},         {"h", 3600000},      {"min", 60000}, {"m", 60000}};
  for (size_t i = 0; i < LYNX_COUNT(units); i++) {
    size_t n = strlen(units[i].text);
    if (strncmp(p, units[i].text, n) != 0 || isalpha((unsigned char)p[n])) continue;
    *ret_end = p + n;
    return units[i].ms;
  }
  return 0;
}

/* A blank that does not break the line, also a narrow one, as French and Swedish programs write it between thousands; 0: another sign. */
static size_t hard_blank(const char *p, const char *end) {
  if (end - p >= 2 && memcmp(p, "\xc2\xa0", 2) == 0) return 2;
  return end - p >= 3 && memcmp(p, "\xe2\x80\xaf", 3) == 0 ? 3 : 0;
}

/* One number, as in "1,234.5", "12'800" or "1.5e+06"; NULL: none is there. A comma before three digits divides thousands, another one
 * fractions. */
static const char *digits_at(const char *p, const char *end, double *ret) {
  char text[48];
  size_t n = 0;
  for (; p < end && n + 4 < sizeof text; p++) {
    size_t digits = 0, blank = hard_blank(p, end);
    if (blank > 0) {
      while (p + blank + digits < end && isdigit((unsigned char)p[blank + digits])) digits++;
      if (digits != 3 || n == 0) break;
      p += blank - 1;
    } else if (*p == ',' || *p == '\'') {
      while (p + 1 + digits < end && isdigit((unsigned char)p[1 + digits])) digits++;
      if (digits == 3) continue;
      if (*p != ',' || digits == 0) break;
      text[n++] = '.';
    } else if (isdigit((unsigned char)*p) || *p == '.') text[n++] = *p;
    else break;
  }
  bool power = p + 1 < end && (*p == 'e' || *p == 'E') &&
               (isdigit((unsigned char)p[1]) || (p + 2 < end && (p[1] == '+' || p[1] == '-') && isdigit((unsigned char)p[2])));
  if (power) {
    text[n++] = *p++;
    while (p < end && n + 1 < sizeof text && (isdigit((unsigned char)*p) || *p == '+' || *p == '-')) text[n++] = *p++;
  }
  while (n > 0 && text[n - 1] == '.') n--; /* the sentence's end */
  return number_double(text, n, ret) ? p : NULL;
}

/* The next number of a line, and the milliseconds of its unit (0: none stands there). "1m2.5s" is one. Words such as "p99", and what is in
 * brackets, hold none. NULL: no more. */
static const char *next_number(const char *p, const char *end, double *ret, double *ret_unit_ms) {
  while (p < end) {
    if (*p == '(') {
      while (p < end && *p != ')') p++;
    } else if (isalpha((unsigned char)*p) && *p != 'e') {
      while (p < end && isalnum((unsigned char)*p)) p++;
      continue;
    } else if (isdigit((unsigned char)*p)) {
      const char *after = digits_at(p, end, ret), *unit_end = NULL;
      if (after == NULL || (p[-1] == '-' && (p[-2] == ' ' || p[-2] == ':' || p[-2] == '=')))
        return NULL; /* below zero nothing is measured */
      *ret_unit_ms = unit_at(after + (*after == ' '), &unit_end);
      for (double part, part_ms; *ret_unit_ms > 0 && unit_end < end && isdigit((unsigned char)*unit_end);) {
        if ((after = digits_at(unit_end, end, &part)) == NULL || !((part_ms = unit_at(after, &unit_end)) > 0)) break;
        *ret = (*ret * *ret_unit_ms + part * part_ms) / *ret_unit_ms;
      }
      return *ret_unit_ms > 0 && unit_end > after ? unit_end : after;
    }
    p++;
  }
  return NULL;
}

/* In the row's own unit; NaN: there is no such number. */
static double value_in(const char *p, const char *end, const struct row *row) {
  double value = NAN, unit_ms = 0;
  for (int i = 0; i <= row->column && p != NULL; i++) p = next_number(p, end, &value, &unit_ms);
  if (p == NULL) return NAN;
  if (unit_ms > 0 && strcmp(row->unit, "ms") == 0) return value * unit_ms;
  if (unit_ms > 0 && strcmp(row->unit, "s") == 0) return value * unit_ms / 1000;
  return value;
}

/* --- lines --- */

/* Behind what `kubectl logs --prefix --timestamps` writes before each line: "[pod/bench-7f/main] 2026-11-28T20:00:00.123Z ". */
static const char *behind_prefix(const char *line, const char *end) {
  const char *p = line, *close = p < end && *p == '[' ? memchr(p, ']', (size_t)(end - p)) : NULL;
  if (close != NULL && memchr(p, '/', (size_t)(close - p)) != NULL) p = close + 1;
  while (p < end && *p == ' ') p++;
  const char *blank = memchr(p, ' ', (size_t)(end - p));
  bool time = blank != NULL && blank - p >= 20 && p[4] == '-' && p[7] == '-' && p[10] == 'T' && isdigit((unsigned char)p[0]);
  return time ? blank + 1 : p;
}

/* Behind the row's label, where the line begins with it; else NULL. Bullets, bars and stars before it are passed over. */
static const char *behind_label(const char *line, const char *end, const struct row *row, bool colon) {
  size_t n = strlen(row->label);
  const char *begin = behind_prefix(line, end), *p = begin;
  while (p < end && (!isalnum((unsigned char)*p) && *p != '[')) p++;
  if (n == 0) p = begin;
  if ((size_t)(end - p) < n || strncasecmp(p, row->label, n) != 0) return NULL;
  p += n;
  if (colon) {
    p += strspn(p, ". *`");
    if (p >= end || (*p != ':' && *p != '|')) return NULL; /* '|': a table of somebody's Markdown */
  } else if (n > 0 && p < end && isalnum((unsigned char)*p)) return NULL;
  if (row->key == NULL) return p;
  const char *key = memmem(p, (size_t)(end - p), row->key, strlen(row->key));
  return key != NULL ? key + strlen(row->key) : NULL;
}

static void take(struct imported *m, const struct row *row, double value) {
  if (!isfinite(value)) return;
  switch (row->target) {
    case FIGURE:
      if (isnan(import_figure_stated(m, row->name))) import_figure_add(m, row->name, row->formula, row->unit, value);
      break;
    case SUMMED: import_figure_count(m, row->name, row->formula, value); break;
    case SECONDS: m->seconds = fmax(0, value); break;
    case CONCURRENCY: m->concurrency = value <= 1e7 ? (int64_t)value : 0; break;
    case RATE: m->rate_per_s = fmax(0, value); break;
  }
}

static void take_line(struct imported *m, const struct tool *tool, const char *line, const char *end) {
  if (strcspn(line, "0123456789\n") == (size_t)(end - line)) return;
  bool bar = memchr(line, '|', (size_t)(end - line)) != NULL;
  for (size_t i = 0; i < tool->n_rows; i++) {
    const struct row *row = &tool->rows[i];
    if ((row->bar == BAR_WITH && !bar) || (row->bar == BAR_WITHOUT && bar)) continue;
    const char *rest = behind_label(line, end, row, tool->colon);
    if (rest != NULL) take(m, row, value_in(rest, end, row));
  }
}

/* --- llama-bench: a table whose heading says which column is what --- */

enum { COLUMNS_MAX = 32, LLAMA_ROWS_MAX = 512 };

struct llama {
  size_t at[3]; /* the columns of the model, the test, the rate */
  struct llama_row {
    const char *test, *described;
    double rate, deviation;
  } rows[LLAMA_ROWS_MAX];
  size_t n;
  bool several; /* models */
};

static size_t cells_of(const char *line, const char *end, struct bytes cells[COLUMNS_MAX]) {
  size_t n = 0;
  const char *p = memchr(line, '|', (size_t)(end - line));
  while (p != NULL && n < COLUMNS_MAX) {
    const char *from = p + 1, *to = memchr(from, '|', (size_t)(end - from));
    if (to == NULL) break;
    p = to;
    while (from < to && isspace((unsigned char)*from)) from++;
    while (to > from && isspace((unsigned char)to[-1])) to--;
    cells[n++] = (struct bytes){from, (size_t)(to - from)};
  }
  return n;
}

static bool cell_is(struct bytes cell, const char *text) {
  return cell.length == strlen(text) && memcmp(cell.ptr, text, cell.length) == 0;
}

/* "pp512+tg128 @ d4096", in the words that the reader of its JSON uses for the same test. */
static const char *test_name(struct arena *arena, struct bytes cell) {
  const char *text = arena_printf(arena, "%.*s", (int)(cell.length < LABEL_BYTES ? cell.length : LABEL_BYTES), cell.ptr);
  long long prompt = 0, generated = 0, depth = 0;
  const char *p = strstr(text, "pp"), *g = strstr(text, "tg"), *d = strstr(text, "@ d");
  if (p != NULL) prompt = atoll(p + 2);
  if (g != NULL) generated = atoll(g + 2);
  if (d != NULL) depth = atoll(d + 3);
  if (prompt <= 0 && generated <= 0) return text;
  return arena_printf(arena, "%s%lld%s%s tokens", prompt > 0 ? "prompt of " : "generation of ", prompt > 0 ? prompt : generated,
                      prompt > 0 && generated > 0 ? arena_printf(arena, " and generation of %lld", generated) : "",
                      depth > 0 ? arena_printf(arena, " after %lld", depth) : "");
}

/* What tells rows of one test apart: all cells but the sizes and the result. */
static const char *cells_text(struct arena *arena, const struct bytes *cells, size_t n, const size_t at[3]) {
  const char *text = "";
  for (size_t i = 0; i < n; i++)
    if (i != at[1] && i != at[2] && memmem(cells[i].ptr, cells[i].length, "iB", 2) == NULL)
      text = arena_printf(arena, "%s%s%.*s", text, text[0] != 0 ? ", " : "",
                          (int)(cells[i].length < LABEL_BYTES ? cells[i].length : LABEL_BYTES), cells[i].ptr);
  return text;
}

static void take_llama_line(struct imported *m, const char *line, const char *end, struct llama *l) {
  struct bytes cells[COLUMNS_MAX];
  size_t n = cells_of(line, end, cells), *at = l->at;
  bool heading = false;
  for (size_t i = 0; i < n; i++) heading = heading || cell_is(cells[i], "t/s");
  for (size_t i = 0; heading && i < n; i++) {
    static const char *const names[] = {"model", "test", "t/s"};
    for (size_t k = 0; k < LYNX_COUNT(names); k++)
      if (cell_is(cells[i], names[k])) at[k] = i;
  }
  if (heading || at[2] >= n || at[1] >= n || l->n == LLAMA_ROWS_MAX) return;
  double value, unit_ms;
  struct llama_row *row = &l->rows[l->n];
  const char *stop = cells[at[2]].ptr + cells[at[2]].length, *p = next_number(cells[at[2]].ptr, stop, &value, &unit_ms);
  if (p == NULL) return;
  *row = (struct llama_row){test_name(&m->arena, cells[at[1]]), cells_text(&m->arena, cells, n, at), value, NAN};
  if (next_number(p, stop, &value, &unit_ms) != NULL) row->deviation = value;
  l->n++;
  if (at[0] >= n) return;
  const char *model = import_words(
      m, arena_printf(&m->arena, "%.*s", (int)(cells[at[0]].length < 100 ? cells[at[0]].length : 100), cells[at[0]].ptr));
  l->several = l->several || (l->n > 1 && strcmp(m->model, model) != 0);
  m->model = model;
}

/* Rows of one test in several settings are named with them. */
static void end_llama(struct imported *m, const struct llama *l) {
  if (l->several) m->model = ""; /* each row is named with its own */
  for (size_t i = 0; i < l->n; i++) {
    bool again = false;
    for (size_t k = 0; k < l->n; k++) again = again || (k != i && strcmp(l->rows[k].test, l->rows[i].test) == 0);
    const char *name = again ? arena_printf(&m->arena, "%s (%s)", l->rows[i].test, l->rows[i].described) : l->rows[i].test;
    import_figure_add(m, arena_printf(&m->arena, "%s, tokens per second", name), "llama_bench.rate.1", "1/s", l->rows[i].rate);
    import_figure_add(m, arena_printf(&m->arena, "%s, standard deviation", name), "llama_bench.rate.1", "1/s", l->rows[i].deviation);
  }
}

/* --- a run in the text --- */

/* The text of the run that is asked for; ret_n: how many there are. False: there is no such one. */
static bool run_in(const char *text, const struct tool *tool, size_t part, struct bytes *ret, size_t *ret_n) {
  const char *from = NULL, *to = NULL;
  size_t n = 0, wanted = part > 0 ? part : 1;
  for (const char *p = tool->opens != NULL ? strstr(text, tool->opens) : NULL; p != NULL; p = strstr(p + 1, tool->opens)) {
    n++;
    if (from != NULL && to == NULL) to = p;
    if (n == wanted || tool->last) from = p, to = NULL;
  }
  if (from == NULL && n > 0) return *ret_n = n, false;
  if (from == NULL) from = text; /* no such line: the text is one run */
  if (to == NULL) to = from + strlen(from);
  *ret = (struct bytes){from, (size_t)(to - from)};
  *ret_n = tool->last || n == 0 ? 1 : n;
  return wanted <= *ret_n;
}

/* Without a terminal's colours: "\033[36m131.52ms\033[0m". */
static const char *without_colours(struct imported *m, const char *text) {
  if (strchr(text, '\033') == NULL) return text;
  char *copy = arena_copy(&m->arena, text), *to = copy;
  for (const char *p = copy; *p != 0; p++) {
    if (p[0] == '\033' && p[1] == '[') {
      for (p += 2; *p != 0 && !isalpha((unsigned char)*p); p++) {}
      if (*p == 0) break;
    } else *to++ = *p;
  }
  *to = 0;
  return copy;
}

/* hey's "  [12]\tGet ...: refused" below its heading: as many requests got no answer. */
static void take_errors(struct imported *m, const char *text, const char *end) {
  static const char heading[] = "Error distribution:";
  const char *p = memmem(text, (size_t)(end - text), heading, strlen(heading));
  for (p = p != NULL ? memchr(p, '\n', (size_t)(end - p)) : NULL; p != NULL; p = memchr(p, '\n', (size_t)(end - p))) {
    double n;
    p++;
    const char *at = p + strspn(p, " \t");
    if (at < end && *at == '[' && digits_at(at + 1, end, &n) != NULL) import_figure_count(m, "requests that failed", "hey.count.1", n);
  }
}

static enum lynx_status read_text(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  const struct tool *tool = tool_of(&files[0]);
  const char *text = without_colours(ret, files[0].text);
  struct bytes run;
  size_t n_runs;
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: one text of a run");
  if (!run_in(text, tool, ret->part, &run, &n_runs))
    return lynx_fail(error, LYNX_INPUT, "--part: found %zu; accepted: 1 to %zu, one run each", ret->part, n_runs);
  ret->n_parts = n_runs;
  bool sglang = tool->rows == serving && memmem(run.ptr, run.length, "Backend:", 8) != NULL;
  ret->poisson = tool->rows == serving; /* what both send by, where they are not told otherwise */
  ret->tool = sglang ? "SGLang's bench_serving" : tool->name;
  if (n_runs > 1) import_lacks(ret, arena_printf(&ret->arena, "the text holds %zu runs, and this is one of them (--part)", n_runs));
  const char *end = run.ptr + run.length;
  struct llama *llama = xalloc(1, sizeof *llama);
  for (size_t i = 0; i < LYNX_COUNT(llama->at); i++) llama->at[i] = SIZE_MAX;
  for (const char *line = run.ptr; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    if (stop == NULL) stop = end;
    if (tool->rows != NULL) take_line(ret, tool, line, stop);
    else take_llama_line(ret, line, stop, llama);
    line = stop + 1;
  }
  end_llama(ret, llama);
  free(llama);
  if (tool->rows == hey) take_errors(ret, run.ptr, end);
  import_check_rates(ret);
  import_lacks(ret, "it is what the tool printed, rounded, and not its file of results");
  return ret->n_figures > 0 ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "no line of a result of %s is in it", tool->name);
}

const struct importer importer_printed = {
    .name = "printed",
    .summary = "what benchmarks print, as people paste it",
    .files = "text of vllm bench serve, SGLang's bench_serving, perf_analyzer, llama-bench, wrk, hey, ghz, k6 or locust",
    .recognise = recognise,
    .read = read_text};
