#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "base/program.h"
#include "cli/bundle_file.h"
#include "cli/calibrate_machine.h"
#include "cli/command.h"
#include "cli/contract_run.h"
#include "cli/option_value.h"
#include "stats/quantile.h"

enum { FLAG_ONLY, FLAG_OUT, FLAG_REFERENCE, FLAG_DECLARED, FLAG_QUIET, FLAG_JSON };

static const struct option_spec options[] = {
    [FLAG_ONLY] = OPTION_WITH("only", "WHAT", "instrument or machine (default: both)", VALUE_CHOICE, 0, 0, "instrument, machine"),
    [FLAG_OUT] = OPTION("out", "FILE", "with --only: instead of where runs look for it; - for standard output"),
    [FLAG_REFERENCE] = OPTION("reference", "PROGRAM",
                              "the lynxbench-ref to measure against (default: beside lynxbench, or in /usr/bin or /usr/local/bin)"),
    [FLAG_DECLARED] = OPTION("declared", "NAME=N,...",
                             "what the machine's specification says, such as memory.triad=204.8e9: shown beside what was measured"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH("json", "of the machine: JSON")};

enum { CLOCK_READS = 200000, SLEEPS = 400, SLEEP_NS = 1000000 };

struct calibration {
  double clock_read_ns, wake_p50_ns, wake_p99_ns;
  double pacing_p50_ns, pacing_p99_ns;                 /* null driver, 1,000 requests/s */
  double engine_requests_per_s;                        /* null driver, closed loop */
  double read_lag_p99_ns;                              /* metronome, 100 requests/s of 16 tokens */
  double ceiling_requests_per_s, ceiling_tokens_per_s; /* metronome, closed loop; NaN without one */
};

/* --- the clock and the sleep --- */

static void measure_clock(struct calibration *c) {
  static double late[SLEEPS];
  const struct timespec sleep = {.tv_nsec = SLEEP_NS};
  int64_t begun = clock_now(&clock_system);
  for (int i = 0; i < CLOCK_READS; i++) (void)clock_now(&clock_system);
  c->clock_read_ns = (double)(clock_now(&clock_system) - begun) / CLOCK_READS;
  for (int i = 0; i < SLEEPS; i++) {
    int64_t before = clock_now(&clock_system);
    (void)nanosleep(&sleep, NULL); /* ended early by a signal it is early, and counts so */
    late[i] = (double)(clock_now(&clock_system) - before - SLEEP_NS);
  }
  quantile_sort(late, SLEEPS);
  c->wake_p50_ns = quantile_of(late, SLEEPS, 0.5);
  c->wake_p99_ns = quantile_of(late, SLEEPS, 0.99);
}

/* --- whole runs --- */

struct calibrating {
  char folder[64];
  bool quiet;
  const char *reference;
  struct calibration *result;
};

static bool run_one(struct calibrating *c, const char *name, const char *contract, struct bundle_file *ret) {
  char path[128];
  struct contract_run r;
  (void)snprintf(path, sizeof path, "%s/%s.lynx", c->folder, name);
  contract_run_init(&r, c->quiet, contract, strlen(contract), path);
  r.screen.label = name;
  bool good = contract_run_whole(&r) == EXIT_HOLDS && bundle_file_open(path, ret);
  (void)unlink(path);
  return good;
}

#define COMMON                                                                                                                             \
  "method: {warm_up: 500ms, counted: 1500ms, sessions: 2, drain: 2s, request_timeout: 10s, steady: reported, instrument_error_at_most: "   \
  "1}\nchecks: "                                                                                                                           \
  "[]\n"

static bool measure_alone(struct calibrating *c) {
  struct bundle_file file;
  if (!run_one(c, "pacing",
               "lynxbench: 1\nname: pacing\nworkload: {driver: \"null\", model: none, output_tokens: 8, prompts: {count: 8, bytes: 64}}\n"
               "regime: {load: constant, rate_per_s: 1000}\n" COMMON,
               &file))
    return false;
  c->result->pacing_p50_ns = file.result.precisions[0].send_lag.p50;
  c->result->pacing_p99_ns = file.result.precisions[0].send_lag.p99;
  bundle_file_close(&file);
  if (!run_one(c, "engine",
               "lynxbench: 1\nname: engine\nworkload: {driver: \"null\", model: none, output_tokens: 1, prompts: {count: 8, bytes: 64}}\n"
               "regime: {load: closed, concurrency: 16}\nmethod: {warm_up: 100ms, counted: 300ms, sessions: 2, drain: 1s, steady: "
               "reported, instrument_error_at_most: 1}\nchecks: []\n",
               &file))
    return false;
  c->result->engine_requests_per_s = file.result.precisions[0].request_rate.estimate;
  bundle_file_close(&file);
  return true;
}

static bool against_metronome(struct calibrating *c, const char *name, const char *timing, const char *workload, const char *regime,
                              struct bundle_file *ret) {
  char contract[3000];
  int port = 20000 + (int)(getpid() % 20000);
  (void)snprintf(contract, sizeof contract,
                 "lynxbench: 1\nname: %s\nexecutor: {endpoint: \"http://127.0.0.1:%d\", ready_path: /health, start: {command: [\"%s\", "
                 "--mode, metronome, --port, "
                 "\"{port}\", %s]}}\nworkload: {model: metronome, %s, prompts: {count: 8, bytes: 64}}\nregime: {%s}\n" COMMON,
                 name, port, c->reference, timing, workload, regime);
  return run_one(c, name, contract, ret);
}

static bool measure_against(struct calibrating *c) {
  struct bundle_file file;
  if (!against_metronome(c, "receive-lag", "--first-token, 5ms, --gap, 2ms", "output_tokens: 16", "load: constant, rate_per_s: 100", &file))
    return false;
  c->result->read_lag_p99_ns = file.result.precisions[0].read_lag.p99;
  bundle_file_close(&file);
  if (!against_metronome(c, "requests", "--first-token, 1us, --gap, 1us", "output_tokens: 1", "load: closed, concurrency: 32", &file))
    return false;
  c->result->ceiling_requests_per_s = file.result.precisions[0].request_rate.estimate;
  bundle_file_close(&file);
  if (!against_metronome(c, "tokens", "--first-token, 1us, --gap, 1us", "output_tokens: 256", "load: closed, concurrency: 32", &file))
    return false;
  c->result->ceiling_tokens_per_s = file.result.precisions[0].output_rate.estimate;
  bundle_file_close(&file);
  return true;
}

/* --- the record --- */

static bool write_record(const struct calibration *c, const char *reference, struct buffer *out) {
  struct json_writer json;
  machine_record_begin(&record_of_calibration, &json, out);
  json_put_text(&json, "against",
                reference[0] != 0 ? "the metronome of lynxbench-ref: a ceiling of both together" : "nothing: lynxbench-ref was not found");
  const struct {
    const char *key;
    double value;
  } figures[] = {{"clock_read_ns", c->clock_read_ns},
                 {"wake_p50_ns", c->wake_p50_ns},
                 {"wake_p99_ns", c->wake_p99_ns},
                 {"pacing_p50_ns", c->pacing_p50_ns},
                 {"pacing_p99_ns", c->pacing_p99_ns},
                 {"read_lag_p99_ns", c->read_lag_p99_ns},
                 {"engine_requests_per_s", c->engine_requests_per_s},
                 {"ceiling_requests_per_s", c->ceiling_requests_per_s},
                 {"ceiling_tokens_per_s", c->ceiling_tokens_per_s}};
  for (size_t i = 0; i < LYNX_COUNT(figures); i++)
    json_put_double(&json, figures[i].key, isfinite(figures[i].value) ? number_round(figures[i].value, 5) : figures[i].value);
  return json_end_line(&json);
}

static void tell(const struct calibration *c) {
  char a[40], b[40];
  complain("reading the clock      %s\n", number_duration_text(a, sizeof a, c->clock_read_ns));
  complain("waking up late by      %s at the median, %s at p99\n", number_duration_text(a, sizeof a, c->wake_p50_ns),
           number_duration_text(b, sizeof b, c->wake_p99_ns));
  complain("pacing at 1,000/s      late by %s at the median, %s at p99\n", number_duration_text(a, sizeof a, c->pacing_p50_ns),
           number_duration_text(b, sizeof b, c->pacing_p99_ns));
  complain("the engine alone       %s requests/s (null driver)\n", number_grouped(a, sizeof a, c->engine_requests_per_s, 0));
  if (!isfinite(c->ceiling_requests_per_s)) return;
  complain("receive lag            %s at p99\n", number_duration_text(a, sizeof a, c->read_lag_p99_ns));
  complain("ceiling                %s requests/s, %s tokens/s against the metronome on this machine\n",
           number_grouped(a, sizeof a, c->ceiling_requests_per_s, 0), number_grouped(b, sizeof b, c->ceiling_tokens_per_s, 0));
}

static int calibrate_instrument(const struct arguments *arguments) {
  struct calibration c = {.read_lag_p99_ns = NAN, .ceiling_requests_per_s = NAN, .ceiling_tokens_per_s = NAN};
  struct calibrating calibrating = {.folder = "/tmp/lynxbench-calibrate-XXXXXX", .result = &c};
  static const struct root root = {""};
  char reference[PATH_MAX], why[PATH_MAX + 300], path[700] = "-";
  struct buffer out;
  if (arguments->option[FLAG_OUT] == NULL && !machine_record_path(&record_of_calibration, path, sizeof path)) {
    complain("lynxbench calibrate: neither HOME nor XDG_STATE_HOME says where to keep it; give --out FILE and set "
             "LYNXBENCH_CALIBRATION to it\n");
    return EXIT_WRONG_INPUT;
  }
  if (arguments->option[FLAG_OUT] != NULL) (void)snprintf(path, sizeof path, "%s", arguments->option[FLAG_OUT]);
  if (!program_find(PROGRAM_REFERENCE, &root, arguments->option[FLAG_REFERENCE], reference, why, sizeof why)) {
    complain("lynxbench calibrate: %s%s\n", why, arguments->option[FLAG_REFERENCE] != NULL ? "" : ": the ceiling stays unknown");
    if (arguments->option[FLAG_REFERENCE] != NULL) return EXIT_WRONG_INPUT;
    reference[0] = 0;
  }
  if (mkdtemp(calibrating.folder) == NULL) {
    complain("lynxbench calibrate: no folder in /tmp: %s\n", strerror(errno));
    return EXIT_CONDITIONS;
  }
  calibrating.quiet = arguments->option[FLAG_QUIET] != NULL;
  calibrating.reference = reference;
  measure_clock(&c);
  bool good = measure_alone(&calibrating) && (reference[0] == 0 || measure_against(&calibrating));
  (void)rmdir(calibrating.folder);
  if (!good) return atomic_load(screen_catch_interrupts()) != 0 ? EXIT_INTERRUPTED : EXIT_CONDITIONS;
  tell(&c);
  buffer_init(&out, 65536);
  if (strcmp(path, "-") != 0) file_make_parents(path, 0700);
  good = write_record(&c, reference, &out) && write_buffer(path, &out);
  if (good && strcmp(path, "-") != 0)
    complain("kept in %s: every run on this host refers to it, and claims above half the ceiling are refused\n", path);
  buffer_release(&out);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

static int run(const struct arguments *arguments) {
  const struct machine_wanted machine = {.declared = arguments->option[FLAG_DECLARED],
                                         .out = arguments->option[FLAG_OUT],
                                         .quiet = arguments->option[FLAG_QUIET] != NULL,
                                         .json = arguments->option[FLAG_JSON] != NULL};
  enum { INSTRUMENT, MACHINE, BOTH };
  int only = option_choice(arguments, options, FLAG_ONLY, BOTH);
  if (only == BOTH && machine.out != NULL) {
    complain("lynxbench calibrate: --out: found '%s' for two records; accepted: with --only instrument or --only machine\n", machine.out);
    return EXIT_WRONG_INPUT;
  }
  int code = only != MACHINE ? calibrate_instrument(arguments) : EXIT_HOLDS;
  return only == INSTRUMENT || code != EXIT_HOLDS ? code : calibrate_machine(&machine);
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "measure the instrument's own error, and this machine's peaks",
    .usage = "",
    .least = 0,
    .most = 0,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "The instrument, in half a minute: reading the clock, waking up, pacing (null driver), and against the metronome of\n"
               "lynxbench-ref the receive lag and the greatest rates of requests and tokens. A claim that comes nearer than half the\n"
               "ceiling is refused.\n"
               "The machine, in ten seconds and on all processors: memory bandwidth by STREAM's definition (triad and copy; of each\n"
               "NUMA node, and of one thread), multiply-adds per second in each number type, and latencies: waking a thread, starting\n"
               "one, a timer, the loopback. Where the model's size is known, the account of a run says how near it comes (MBU, MFU).\n"
               "Both records are kept for this host and carried by every run on it.",
    .example = "build/lynxbench calibrate --only machine --declared memory.triad=204.8e9 --out /tmp/machine.json --quiet",
    .run = run};
