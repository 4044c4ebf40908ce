#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/option_value.h"
#include "cli/swapping.h"
#include "report/bisection_report.h"
#include "stats/special.h"

enum { FLAG_FOR, FLAG_SESSION, FLAG_LEAST, FLAG_OUT, FLAG_RESUME, FLAG_QUIET, FLAG_JSON };
enum { PAGE_MAX = 16 << 20, SESSIONS_WANTED = 80 }; /* usual where one fact of twelve carries it (tests/simulate/bisection.c) */

static const struct option_spec options[] = {
    [FLAG_FOR] = OPTION_WITH("for", "DURATION", "how long it may take at most, about (default: 30min); it ends when it is decided",
                             VALUE_DURATION, 10, 2592000, "a duration from 10 s to 30 days, such as 30min"),
    [FLAG_SESSION] = OPTION_WITH("session", "DURATION",
                                 "the counted window of each session (default: the contract's, or less where --for is short)",
                                 VALUE_DURATION, 1, 2592000, "a duration from 1 s to 30 days, such as 30min"),
    [FLAG_LEAST] = OPTION_WITH("least", "SHARE", "a smaller difference counts as none (default: 0.05)", VALUE_SHARE, 0.001, 1,
                               "a share from 0.001 to 1, such as 0.05"),
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle to write (default: the contract's name, -bisect and the time, .lynx)"),
    [FLAG_RESUME] = OPTION("resume", "BUNDLE", "go on where that one ended too early, with the same A and B"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

struct bisecting {
  struct swapping s;
  struct bisection_plan plan;
};

/* --- the run --- */

static void drive(void *context) {
  struct bisection found; /* it is found again in the bundle */
  bisection_run(&((struct bisecting *)context)->plan, &found);
}

static int measure_all(struct bisecting *c) {
  struct buffer plan;
  c->plan.n_facts = c->s.swaps.n;
  c->plan.confidence = c->s.p.contract->method.confidence;
  c->plan.sessions_at_most = c->s.n_earlier > 0 ? bisected_sessions(c->s.earlier.bundle) : swapping_sessions(&c->s);
  c->plan.seed = (uint64_t)c->s.p.contract->method.seed;
  c->plan.measure = swapping_measure;
  c->plan.context = &c->s;
  buffer_init(&plan, 1 << 20);
  int code = bisected_write_plan(&c->s.swaps, &c->plan, &plan) ? swapping_run(&c->s, bisected_key, plan.data, drive, c) : EXIT_OUR_BUG;
  buffer_release(&plan);
  return code;
}

/* --- what came out --- */

static int show_bisected(const struct bundle_file *file, const struct bisected *b, bool json) {
  struct buffer out;
  buffer_init(&out, PAGE_MAX);
  if (json) {
    struct json_writer writer;
    json_begin_object(&writer, &out);
    json_put_text(&writer, "bundle", file->result.seal.root);
    bisection_json(b, &file->result.contract, &writer);
    (void)json_end_line(&writer);
  } else (void)bisection_text(b, &file->result.contract, color_wanted(stdout), &out);
  bool written = write_buffer(NULL, &out);
  buffer_release(&out);
  return !written                             ? EXIT_CONDITIONS
         : b->found.verdict == BISECTION_NONE ? EXIT_DOES_NOT_HOLD
         : bisection_end_failed(b)            ? EXIT_EXECUTOR
         : bisection_is_decided(&b->found)    ? EXIT_HOLDS
                                              : EXIT_INCONCLUSIVE;
}

static int show(const char *path, const struct arguments *arguments) {
  struct bundle_file file;
  struct bisected *b = xalloc(1, sizeof *b);
  struct lynx_error error = {0};
  int code = EXIT_WRONG_INPUT;
  if (bundle_file_open(path, &file)) {
    if (bisected_read(file.bundle, &file.result.contract, b, &error) == LYNX_OK)
      code = show_bisected(&file, b, arguments->option[FLAG_JSON] != NULL);
    else {
      lynx_error_at(&error, path, 0, NULL);
      code = report_error(&error);
    }
    bisected_release(b);
    bundle_file_close(&file);
  }
  free(b);
  return code;
}

static int bisect(struct bisecting *c, const struct arguments *arguments) {
  c->plan.least = special_log(1 + option_number(arguments, FLAG_LEAST, 0.05));
  int code = swapping_open(&c->s);
  if (code == EXIT_HOLDS) code = swapping_plan(&c->s, SESSIONS_WANTED);
  if (code == EXIT_HOLDS) code = measure_all(c);
  return swapping_show(&c->s, code, show, arguments);
}

static int run(const struct arguments *arguments) {
  if (arguments->n_positional == 1) return show(arguments->positional[0], arguments);
  struct bisecting *c = xalloc(1, sizeof *c);
  c->s = (struct swapping){.tool = "bisect",
                           .path_a = arguments->positional[0],
                           .path_b = arguments->positional[1],
                           .duration = arguments->option[FLAG_FOR],
                           .usual_duration = "30min",
                           .window = arguments->option[FLAG_SESSION],
                           .out = arguments->option[FLAG_OUT],
                           .resume = arguments->option[FLAG_RESUME],
                           .quiet = arguments->option[FLAG_QUIET] != NULL};
  int code = bisect(c, arguments);
  swapping_close(&c->s);
  free(c);
  return code;
}

const struct command command_bisect = {
    .name = "bisect",
    .summary = "find which of many differing settings make the difference",
    .usage = "A [B]",
    .least = 1,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "A and B are contracts that are alike but for executor.start. Every argument and variable in which the two start commands\n"
               "differ is a fact. Mixtures of the two are started and measured, in rounds and in random order, until a least set of facts\n"
               "is found that carries the difference; nothing is assumed to add up. The chance that anything said is wrong is at most\n"
               "1 - method.confidence for all of it together. Where B performs as A does, the answer is 'none'.\n"
               "With a bundle that it wrote alone, it shows the answer again.\n"
               "Exit code: 0 found, 1 none, 3 inconclusive or not decided in everything, 5 A or B does not run.",
    .example = "build/lynxbench bisect --help",
    .run = run};
