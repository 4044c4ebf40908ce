/* Runs become series, series become events: in whatever order they come; and tables of what others measured. */
#include "history/history.h"

#include <math.h>

#include "history/drift.h"
#include "history/gate.h"
#include "history/series_file.h"
#include "history/table.h"
#include "result/machine_figures.h"
#include "tests/check.h"

static void add(struct history *h, size_t i, double rate, double latency, const char *left_out) {
  struct summary_figure figures[] = {{"output throughput", "lynx.rate.1", "tokens/s", BETTER_MORE, rate, NAN, NAN, 2},
                                     {"end to end, p50", "lynx.e2e.1", "ns", BETTER_LESS, latency, NAN, NAN, 2}};
  struct summary_precision p = {
      .name = "bf16", .fingerprint = i < 20 ? "aa" : "bb", .left_out = left_out, .figures = figures, .n_figures = latency > 0 ? 2 : 1};
  struct summary s = {.started_ns = (int64_t)(i + 1) * 1000, .contract = "c0", .name = "nightly", .precisions = &p, .n_precisions = 1};
  char label[20];
  (void)snprintf(label, sizeof label, "r%zu", i);
  history_add(h, &(struct history_origin){label, "", "", i}, &s);
}

static bool cannot_open(void *context, const struct history_run *run, struct history_facts *ret) {
  (void)context, (void)run, (void)ret;
  return false;
}

static double wobble(size_t i) {
  return 1 + 0.001 * (double)((i * 7) % 11);
}

/* 40 runs, backwards and forwards: one event at run 20, of both figures, one worse each. */
static void check_event(bool backwards) {
  struct history h = {.runs = NULL};
  for (size_t k = 0; k < 40; k++) {
    size_t i = backwards ? 39 - k : k;
    add(&h, i, (i < 20 ? 100 : 80) * wobble(i), (i < 20 ? 5e6 : 6e6) * wobble(i), i == 7 ? "the run was interrupted" : NULL);
  }
  history_search(&h, &change_plan_usual);
  CHECK_INT(h.n_runs, 40);
  CHECK_INT(h.n_series, 2);
  CHECK_INT(h.series[0].n_values, 39); /* the interrupted one is left out */
  CHECK_INT(h.n_events, 1);
  CHECK_INT(h.events[0].n_changes, 2);
  CHECK_TEXT(h.runs[h.events[0].before].from.label, "r19");
  CHECK_TEXT(h.runs[h.events[0].after].from.label, "r20");
  for (size_t i = 0; i < 2; i++) CHECK(history_is_worse(&h, &h.events[0].changes[i]));
  CHECK_TEXT(h.series[h.events[0].changes[0].series].figure, "output throughput");
  CHECK(!h.events[0].provisional);
  history_release(&h);
}

/* A series that few runs have keeps its own places. */
static void check_gaps(void) {
  struct history h = {.runs = NULL};
  for (size_t i = 0; i < 60; i++) add(&h, i, 100 * wobble(i), i % 2 == 0 ? (i < 30 ? 5e6 : 7e6) * wobble(i) : 0, NULL);
  history_search(&h, &change_plan_usual);
  CHECK_INT(h.n_events, 1);
  CHECK_TEXT(h.runs[h.events[0].before].from.label, "r28");
  CHECK_TEXT(h.runs[h.events[0].after].from.label, "r30");
  history_release(&h);
}

static enum lynx_status read(const char *text, struct history *h, struct lynx_error *error) {
  *h = (struct history){.runs = NULL};
  *error = (struct lynx_error){0};
  return table_read(bytes_of(text), "t.csv", 0, h, error);
}

static void check_tables(void) {
  struct history h;
  struct lynx_error error;
  char text[300];
  CHECK_INT(read("time;commit;a;b\r\n2021.01.01 3:00:00 +0100;x;1.5;\r\n2021.01.02 3:00:00 +0100;\"y;\"\"z\";2;7\r\n", &h, &error),
            LYNX_OK);
  CHECK_INT(h.n_runs, 2);
  CHECK_INT(h.runs[0].at_ns / 1000000000, 1609466400);
  CHECK_TEXT(h.runs[1].from.label, "y;\"z");
  CHECK_INT(h.runs[0].precision->n_figures, 1); /* an empty field is missing, not zero */
  CHECK_INT(h.runs[1].precision->n_figures, 2);
  CHECK_NEAR(h.runs[1].precision->figures[1].value, 7, 0);
  history_release(&h);
  CHECK_INT(read("\xef\xbb\xbf"
                 "commit,v,w\n#12,1,nan\n007,2,3\n",
                 &h, &error),
            LYNX_OK); /* a label may begin with '#', and be a number */
  CHECK_INT(h.n_runs, 2);
  CHECK_TEXT(h.runs[0].from.label, "#12");
  CHECK_TEXT(h.runs[1].from.label, "007");
  CHECK_INT(h.runs[0].precision->n_figures, 1);
  history_release(&h);
  static const struct {
    const char *time;
    int64_t at_s;
  } times[] = {{"1609466400", 1609466400},          {"1609466400000", 1609466400},
               {"1609466400.5", 1609466400},        {"2021-01-01T02:00:00Z", 1609466400},
               {"2021-01-01 02:00:00", 1609466400}, {"2021-01-01T03:00:00.25+01:00", 1609466400},
               {"1609466400000000", 1609466400},    {"20240229", 1709164800},
               {"2024-02-29", 1709164800},          {"2020-12-31 21:00 -0500", 1609466400}};
  for (size_t i = 0; i < LYNX_COUNT(times); i++) {
    (void)snprintf(text, sizeof text, "date,v\n%s,1\n", times[i].time);
    CHECK_INT(read(text, &h, &error), LYNX_OK);
    CHECK_INT(h.n_runs > 0 ? h.runs[0].at_ns / 1000000000 : -1, times[i].at_s);
    history_release(&h);
  }
  static const struct {
    const char *text, *part;
    int line;
  } bad[] = {{"", "empty", 0},
             {"a,b\n1,2\n3\n", "as many fields", 3},
             {"a,b\n1,2\n3,x\n", "found 'x'", 3},
             {"time,v\nyesterday,1\n", "seconds since 1970", 2},
             {"time,v\n2021-13-01,1\n", "found '2021-13-01'", 2},
             {"a,b\nx,y\n", "no column holds numbers", 0},
             {"v\nnan\n", "no column holds numbers", 0},
             {"v\n1\n1e999\n", "found '1e999'", 3},
             {"time,v\n2600-01-10,1\n", "found '2600-01-10'", 2},
             {"time,v\n2026-02-30,1\n", "found '2026-02-30'", 2},
             {"a,v\nx,1\n\"y,2\nz,3\n", "a quote that does not end", 3},
             {"a,v\nx,\"1\"junk\n", "text behind a closing quote", 2},
             {"a,v,v\nx,1,2\n", "a second column of this name", 1}};
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) {
    CHECK(read(bad[i].text, &h, &error) != LYNX_OK);
    CHECK_CONTAINS(error.message, bad[i].part);
    CHECK_INT(error.line, bad[i].line);
    history_release(&h);
  }
}

/* One figure of which more is better; claims[i] false: no claim can be made of run i. Gates the last value against the others. */
static enum gate_verdict gate_of(const double *x, size_t n, size_t no_claim, size_t *ret_n_base) {
  struct history h = {.runs = NULL};
  struct gate gate;
  struct summary_figure figure = {"output throughput", "", "tokens/s", BETTER_MORE, 0, NAN, NAN, 2};
  struct summary_precision p = {.name = "bf16", .fingerprint = "", .figures = &figure, .n_figures = 1};
  struct summary s = {.contract = "c0", .name = "nightly", .precisions = &p, .n_precisions = 1};
  for (size_t i = 0; i + 1 < n; i++) {
    figure.value = x[i];
    p.no_claim = i < no_claim ? "too many requests failed" : NULL;
    s.started_ns = (int64_t)i + 1;
    history_add(&h, &(struct history_origin){"", "", "", i}, &s);
  }
  history_search(&h, &change_plan_usual);
  figure.value = x[n - 1];
  const struct summary_precision *const fresh[] = {&p};
  const struct gate_wanted wanted[] = {{"output throughput", "tokens/s", BETTER_MORE, true, NULL},
                                       {"accuracy", "", BETTER_MORE, false, NULL}};
  gate_judge(&(struct gate_question){.history = &h, .fresh = fresh, .m = 1, .wanted = wanted, .n_wanted = 2},
             &(struct gate_plan){.margin = 0.05, .false_alarms = 0.05, .last = 20}, &gate);
  enum gate_verdict verdict = gate.verdict;
  CHECK_INT(gate.n_figures, 1); /* accuracy, which nobody has, is none */
  *ret_n_base = gate.figures[0].n_base;
  gate_release(&gate);
  history_release(&h);
  return verdict;
}

/* n values of each level, and one more of the last. */
static size_t make_levels(const double *levels, size_t n_levels, const size_t *n_of, double *ret) {
  size_t n = 0;
  for (size_t k = 0; k < n_levels; k++)
    for (size_t i = 0; i < n_of[k]; i++, n++) ret[n] = levels[k] * wobble(n);
  ret[n] = levels[n_levels - 1] * wobble(n);
  return n + 1;
}

static void check_gates(void) {
  static const struct {
    double levels[4];
    size_t n_of[4], n_levels, no_claim;
    enum gate_verdict verdict;
    size_t n_base;
  } rows[] = {
      {{100}, {8}, 1, 0, GATE_PASSES, 8},
      {{100, 78}, {8, 1}, 2, 0, GATE_FAILS, 8},  /* the night before failed, too */
      {{100, 78}, {8, 12}, 2, 0, GATE_FAILS, 8}, /* and twelve nights on */
      {{100, 78}, {3, 7}, 2, 0, GATE_FAILS, 3},  /* too few for a change to be seen */
      {{100, 78}, {2, 1}, 2, 0, GATE_INCONCLUSIVE, 3},
      {{78, 100}, {8, 8}, 2, 0, GATE_PASSES, 8},                  /* it got better: that is the baseline */
      {{100, 78, 100}, {8, 8, 8}, 3, 0, GATE_PASSES, 8},          /* and was mended */
      {{100, 96.5, 93, 89.5}, {8, 8, 8, 8}, 4, 0, GATE_FAILS, 8}, /* small steps do not add up */
      {{60, 100}, {8, 8}, 2, 8, GATE_PASSES, 8},
      {{60}, {8}, 1, 8, GATE_INCONCLUSIVE, 0}, /* no claim, no baseline */
      {{100}, {2}, 1, 0, GATE_INCONCLUSIVE, 2},
  };
  for (size_t r = 0; r < LYNX_COUNT(rows); r++) {
    double x[64];
    size_t n_base, n = make_levels(rows[r].levels, rows[r].n_levels, rows[r].n_of, x);
    CHECK_INT(gate_of(x, n, rows[r].no_claim, &n_base), rows[r].verdict);
    CHECK_INT(n_base, rows[r].n_base);
  }
}

enum { BEFORE = 15, RUNS = 30 };

struct planted {
  double rate, accuracy, machine; /* factors from run BEFORE on; machine 0: not measured */
  const char *fingerprint;        /* from then on; before: "aa"; "": none at all */
};

static void add_planted(struct history *h, size_t i, const struct planted *p) {
  bool after = i >= BEFORE;
  struct summary_figure figures[] = {
      {"output throughput", "lynx.output_rate.1", "tokens/s", BETTER_MORE, 100 * wobble(i) * (after ? p->rate : 1), NAN, NAN, 2},
      {"token agreement", "lynx.agreement.1", "share", BETTER_MORE, 0.9 * wobble(i + 3) * (after ? p->accuracy : 1), NAN, NAN, 2},
      {"machine: memory bandwidth", "lynx.machine_speed.1", "bytes/s", BETTER_MORE, 5e10 * wobble(i + 5) * (after ? p->machine : 1), NAN,
       NAN, 1}};
  struct summary_precision s = {.name = "bf16",
                                .fingerprint = p->fingerprint[0] == 0 || after ? p->fingerprint : "aa",
                                .figures = figures,
                                .n_figures = p->machine > 0 ? 3 : 2};
  struct summary summary = {
      .started_ns = (int64_t)(i + 1) * 1000, .contract = "c0", .name = "nightly", .precisions = &s, .n_precisions = 1};
  history_add(h, &(struct history_origin){"r", "", "", i}, &summary);
}

/* A night on a slower machine is no failure of the executor, as far as the machine can account for it. */
static void check_slow_machines(void) {
  static const struct {
    double rate, machine; /* of the fresh run, as factors; machine 0: not measured */
    double accuracy;
    enum gate_verdict verdict;
    bool excused;
  } rows[] = {{0.8, 0.7, 1, GATE_INCONCLUSIVE, true}, {0.8, 1, 1, GATE_FAILS, false},   {0.8, 0, 1, GATE_FAILS, false},
              {0.5, 0.9, 1, GATE_FAILS, false},       {1, 0.5, 1, GATE_PASSES, false},  {0.8, 1.4, 1, GATE_FAILS, false},
              {0.8, 0.7, 0.5, GATE_FAILS, true},      {0.8, 0.97, 1, GATE_FAILS, false}};
  static const struct gate_wanted wanted[] = {{"output throughput", "tokens/s", BETTER_MORE, true, NULL},
                                              {"token agreement", "share", BETTER_MORE, false, NULL}};
  const struct gate_plan plan = {.margin = 0.05, .false_alarms = 0.05, .last = 20};
  for (size_t k = 0; k < LYNX_COUNT(rows); k++) {
    struct history h = {.runs = NULL}, fresh = {.runs = NULL};
    struct gate gate;
    const struct planted before = {1, 1, rows[k].machine > 0, "aa"};
    const struct planted after = {rows[k].rate, rows[k].accuracy, rows[k].machine, "aa"};
    for (size_t i = 0; i < 12; i++) add_planted(&h, i, &before);
    add_planted(&fresh, BEFORE, &after);
    history_search(&h, &change_plan_usual);
    const struct summary_precision *runs[] = {fresh.runs[0].precision};
    const struct gate_question question = {.history = &h, .fresh = runs, .m = 1, .wanted = wanted, .n_wanted = LYNX_COUNT(wanted)};
    gate_judge(&question, &plan, &gate);
    CHECK_TEXT(gate_verdict_text(gate.verdict), gate_verdict_text(rows[k].verdict));
    CHECK_INT(gate.figures[0].machine != NULL, rows[k].excused);
    CHECK_INT(gate.n_again, 9); /* twelve runs of one executor; the first three are judged by nobody */
    CHECK_INT(gate.n_again_fail, 0);
    if (rows[k].excused) CHECK_TEXT(gate.figures[0].machine->figure, "machine: memory bandwidth");
    gate_release(&gate);
    history_release(&h);
    history_release(&fresh);
  }
}

/* One run of the baseline's own executor that was far off fails, looking back. */
static void check_again(void) {
  struct history h = {.runs = NULL}, fresh = {.runs = NULL};
  struct gate gate;
  const struct planted usual = {1, 1, 1, "aa"}, off = {0.7, 1, 1, "aa"}, other = {0.7, 1, 1, "bb"};
  const struct gate_wanted wanted = {"output throughput", "tokens/s", BETTER_MORE, true, NULL};
  const struct gate_plan plan = {.margin = 0.05, .false_alarms = 0.05, .last = 20};
  for (size_t i = 0; i < 14; i++) add_planted(&h, i == 8 || i == 10 ? i + BEFORE : i, i == 8 ? &off : i == 10 ? &other : &usual);
  add_planted(&fresh, 14, &usual);
  history_search(&h, &change_plan_usual);
  const struct summary_precision *runs[] = {fresh.runs[0].precision};
  gate_judge(&(struct gate_question){&h, runs, 1, &wanted, 1}, &plan, &gate);
  CHECK_INT(gate.n_again, 10); /* of thirteen of one executor */
  CHECK_INT(gate.n_again_fail, 1);
  gate_release(&gate);
  history_release(&h);
  history_release(&fresh);
}

/* What most annotators named (annotations.json of TCPD): 1 at 143 to 146, 2 at 97 to 99, 3 at 178 to 180, 5 nowhere. Of 4 they disagree. */
static void check_annotated(void) {
  static char text[65536];
  static const struct {
    const char *figure;
    size_t from, to;
  } wanted[] = {{"q1", 143, 146}, {"q2", 97, 99}, {"q3", 178, 180}};
  struct lynx_error error = {0};
  struct history h = {.runs = NULL};
  FILE *file = fopen(RECORDED "/history/quality_control.csv", "re");
  CHECK(file != NULL);
  if (file == NULL) return;
  size_t n = fread(text, 1, sizeof text, file);
  (void)fclose(file);
  CHECK_INT(table_read((struct bytes){text, n}, "quality_control", 0, &h, &error), LYNX_OK);
  history_search(&h, &change_plan_usual);
  CHECK_INT(h.n_series, 5);
  for (size_t w = 0; w < LYNX_COUNT(wanted); w++) {
    bool found = false;
    for (size_t i = 0; i < h.n_series; i++)
      for (size_t k = 0; k < h.series[i].found.n_items && strcmp(h.series[i].figure, wanted[w].figure) == 0; k++)
        found = found ||
                (h.series[i].changed && h.series[i].found.items[k].at >= wanted[w].from && h.series[i].found.items[k].at <= wanted[w].to);
    CHECK(found);
  }
  CHECK(strcmp(h.series[4].figure, "q5") == 0 && !h.series[4].changed);
  history_release(&h);
}

/* --- drift --- */

static void check_drift(void) {
  static const struct {
    struct planted planted;
    enum drift_kind kind;
    bool in_part;
  } cases[] = {{{0.8, 1, 1, "aa"}, DRIFT_NEITHER, false},      {{0.8, 1, 1, "bb"}, DRIFT_STACK, false},
               {{0.8, 1, 0.7, "aa"}, DRIFT_MACHINE, false},    {{0.5, 1, 0.9, "aa"}, DRIFT_MACHINE, true},
               {{0.8, 1, 0.7, "bb"}, DRIFT_BOTH, false},       {{1, 0.8, 1, "aa"}, DRIFT_MODEL, false},
               {{0.8, 0.8, 1, "aa"}, DRIFT_NEITHER, false},    {{1, 0.8, 0.7, "aa"}, DRIFT_MACHINE, false},
               {{1, 1, 0.7, "aa"}, DRIFT_MACHINE, false},      {{0.8, 1, 0, "aa"}, DRIFT_UNKNOWN, false},
               {{0.8, 1, 0.7, ""}, DRIFT_UNKNOWN, false},      {{1.25, 1, 1 / 0.7, "aa"}, DRIFT_MACHINE, false},
               {{0.8, 1, 1 / 0.7, "aa"}, DRIFT_NEITHER, false}};
  const struct history_opener closed = {.open = cannot_open};
  for (size_t k = 0; k < LYNX_COUNT(cases); k++) {
    struct history h = {.runs = NULL};
    struct coincidence with;
    struct drift drift;
    for (size_t i = 0; i < RUNS; i++) add_planted(&h, i, &cases[k].planted);
    history_search(&h, &change_plan_usual);
    CHECK_INT(h.n_events, 1);
    if (h.n_events != 1) return;
    coincidence_find(&h, &h.events[0], &closed, &with);
    drift_judge(&h, &h.events[0], &with, &change_plan_usual, &drift);
    CHECK_TEXT(drift_text(drift.kind), drift_text(cases[k].kind));
    CHECK_INT(drift.in_part, cases[k].in_part);
    CHECK((drift.machine != NULL) == (cases[k].kind == DRIFT_MACHINE || cases[k].kind == DRIFT_BOTH || k == 10));
    CHECK_INT(drift.executor_changed, cases[k].planted.rate < 0.999 || cases[k].planted.rate > 1.001 || cases[k].planted.accuracy < 1);
    coincidence_release(&with);
    history_release(&h);
  }
}

/* One run of each tool, by figures of it. */
static void check_series_files(void) {
  static char text[20000];
  static const struct {
    const char *file, *name, *figure, *unit;
    enum better better;
    double value;
    size_t n_figures;
  } wanted[] = {
      {"pytest_benchmark.json", "pytest-benchmark on vm", "test_b.py::test_sorted", "s", BETTER_LESS, 1.7830025171861053e-06, 2},
      {"google_benchmark.json", "Google Benchmark on vm, 2 processors", "sort_reversed/64", "s", BETTER_LESS, 1.1868581925511531e-07, 6},
      {"google_benchmark_aggregates.json", "Google Benchmark on vm, 2 processors", "sort_reversed/64, items", "1/s", BETTER_MORE,
       627530672.8986205, 6},
      {"inferencex.json", "InferenceX: tiny-gpt on h200, vllm, speculation none, 1024 in, 1024 out, 2 at once, tp 8", "p99_ttft", "s",
       BETTER_LESS, 0.030137230039254052, 12},
      {"junit.xml", "tests on vm", "pytest: test_b.test_sum", "s", BETTER_LESS, 0.182, 2},
      {"../imports/vllm-bench.json", "vllm bench serve, backend openai: /tmp/vm/model, 2 at once", "output tokens per second", "1/s",
       BETTER_MORE, 538.2735070997472, 18}};
  for (size_t w = 0; w < LYNX_COUNT(wanted); w++) {
    char path[4200];
    struct history h = {.runs = NULL};
    struct lynx_error error = {0}, none = {0};
    (void)snprintf(path, sizeof path, RECORDED "/history/%s", wanted[w].file);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL);
    if (file == NULL) return;
    size_t n = fread(text, 1, sizeof text - 1, file), found = 0;
    (void)fclose(file);
    text[n] = 0;
    json_t *json = json_parse(text, n, sizeof text, &none);
    CHECK_INT(series_file_read(&(struct series_file){path, text, n, json}, 0, &h, &error), LYNX_OK);
    CHECK_INT(h.n_runs, 1);
    for (size_t i = 0; h.n_runs == 1 && i < h.runs[0].precision->n_figures; i++) {
      const struct summary_figure *f = &h.runs[0].precision->figures[i];
      if (strcmp(f->name, wanted[w].figure) != 0) continue;
      found++;
      CHECK_TEXT(f->unit, wanted[w].unit);
      CHECK_NEAR(f->value, wanted[w].value, 1e-12 * wanted[w].value);
      CHECK(f->better == wanted[w].better);
    }
    CHECK_INT(found, 1);
    if (h.n_runs == 1) CHECK_INT(h.runs[0].precision->n_figures, wanted[w].n_figures);
    if (h.n_runs == 1) CHECK_TEXT(h.runs[0].name, wanted[w].name);
    if (h.n_runs == 1) CHECK((h.runs[0].at_ns == 0) == (strcmp(wanted[w].file, "inferencex.json") == 0));
    history_release(&h);
    json_decref(json);
  }
}

static enum lynx_status read_series(const char *text, struct lynx_error *error) {
  struct history h = {.runs = NULL};
  struct lynx_error none = {0};
  json_t *json = json_parse(text, strlen(text), 10000, &none);
  *error = (struct lynx_error){0};
  enum lynx_status status = series_file_read(&(struct series_file){"x", text, strlen(text), json}, 0, &h, error);
  history_release(&h);
  json_decref(json);
  return status;
}

static void check_wrong_series(void) {
  struct lynx_error error;
  static const struct {
    const char *text, *says;
  } wrong[] = {
      {"{}", "no tool's file"},
      {"{\"machine_info\":{},\"benchmarks\":[{\"name\":\"a\"}]}", "benchmarks[0]"},
      {"{\"machine_info\":{},\"benchmarks\":[],\"datetime\":\"soon\"}", "datetime: found 'soon'"},
      {"{\"context\":{\"num_cpus\":1,\"date\":\"\"},\"benchmarks\":[]}", "context.date"},
      {"<testsuite><testcase name=\"a\" time=\"-1\"/></testsuite>", "a: time: found '-1'"},
      {"<testsuite><testcase name=\"a\" time=\"0,25\"/></testsuite>", "a: time: found '0,25'"},
      {"{\"context\":{\"num_cpus\":1,\"date\":\"2026-11-24\"},\"benchmarks\":[{\"name\":\"a\",\"real_time\":\"1\",\"cpu_time\":1}]}",
       "a: real_time"},
      {"{\"tput_per_gpu\":1,\"hw\":\"x\",\"conc\":\"many\"}", "conc: found no number"},
      {"<testsuite timestamp=\"x\"/>", "timestamp: found 'x'"},
      {"<testsuite><testcase>", "no element found"},
      {"<!DOCTYPE a [<!ENTITY b \"c\">]><testsuite/>", "declares the entity b"}};
  for (size_t i = 0; i < LYNX_COUNT(wrong); i++) {
    CHECK_INT(read_series(wrong[i].text, &error), LYNX_INPUT);
    CHECK(strstr(error.message, wrong[i].says) != NULL);
  }
}

/* A record of the machine's speed is a stranger's, too. */
static void check_machine_records(void) {
  static const char good[] = "{\"figures\":[{\"name\":\"memory.triad\",\"unit\":\"bytes/s\",\"value\":4e9},"
                             "{\"name\":\"wake_up.thread\",\"unit\":\"s\",\"value\":2e-5},"
                             "{\"name\":\"arithmetic.f32\",\"unit\":\"bytes/s\",\"value\":4e9}]}",
                    odd[] = "{\"figures\":[{\"name\":\"memory.triad\",\"unit\":\"bytes/s\",\"value\":-1},7,{}]}";
  struct machine_speed found[MACHINE_SPEED_FIGURES];
  CHECK_INT(machine_speed_read(good, good, found), 2); /* the third is in another unit */
  CHECK_TEXT(found[1].name, "machine: waking a thread");
  CHECK_NEAR(found[1].before, 20000, 1e-6);
  CHECK(found[0].more_is_better && !found[1].more_is_better);
  const char *const bad[] = {"", "{", "[]", "{\"figures\":{}}", odd};
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) {
    CHECK_INT(machine_speed_read(good, bad[i], found), 0);
    CHECK_INT(machine_speed_read(bad[i], good, found), 0);
  }
}

int main(void) {
  check_machine_records();
  check_drift();
  check_series_files();
  check_wrong_series();
  check_gates();
  check_slow_machines();
  check_again();
  check_annotated();
  check_event(false);
  check_event(true);
  check_gaps();
  check_tables();
  return check_end();
}
