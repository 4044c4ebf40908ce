#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/option_value.h"
#include "cli/swapping.h"
#include "experiment/factored.h"
#include "report/factorial_report.h"

enum { FLAG_FOR, FLAG_SESSION, FLAG_RUNS, FLAG_ROUNDS, FLAG_HTML, FLAG_OUT, FLAG_RESUME, FLAG_QUIET, FLAG_JSON };
enum { PAGE_MAX = 16 << 20, ROUNDS_USUAL = 4 };

static const struct option_spec options[] = {
    [FLAG_FOR] = OPTION_WITH("for", "DURATION", "how long it may take at most, about (default: 30min)", VALUE_DURATION, 10, 2592000,
                             "a duration from 10 s to 30 days, such as 30min"),
    [FLAG_SESSION] = OPTION_WITH("session", "DURATION",
                                 "the counted window of each session (default: the contract's, or less where --for is short)",
                                 VALUE_DURATION, 1, 2592000, "a duration from 1 s to 30 days, such as 30min"),
    [FLAG_RUNS] = OPTION_WITH("runs", "N",
                              "mixtures in a round: 4, 8, 16, 32 or 64 (default: every combination of up to 4 facts, else a fraction)",
                              VALUE_COUNT, 4, FACTORIAL_RUNS_MAX, "4, 8, 16, 32 or 64"),
    [FLAG_ROUNDS] = OPTION_WITH("rounds", "N", "how often each mixture is measured, at most (default: 4; two give intervals)", VALUE_COUNT,
                                1, FACTORED_ROUNDS_MAX, "1 to 1000"),
    [FLAG_HTML] = OPTION("html", "FILE", "write a page with a plot of the effects"),
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle to write (default: the contract's name, -experiment and the time, .lynx)"),
    [FLAG_RESUME] = OPTION("resume", "BUNDLE", "go on where that one ended too early, with the same A and B or plan"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

struct experimenting {
  struct swapping s;
  struct plan_file file; /* where a plan was given */
  struct factored_plan plan;
  struct factorial_design design;
};

/* --- the plan --- */

/* Facts that are hard to change are changed seldom. */
static void tell_plots(const struct experimenting *x) {
  size_t plot_of[FACTORIAL_RUNS_MAX];
  char names[200];
  complain("%s: changed at most %zu times a round, between whole plots: 4 rounds or more give its effect a useful interval\n",
           swap_names(&x->s.swaps, x->plan.hard, ", ", names, sizeof names), factorial_plots(&x->design, plot_of));
}

static int make_plan(struct experimenting *x, const struct arguments *arguments) {
  size_t n = x->s.swaps.n;
  if (n < 2 || n > FACTORIAL_FACTS_MAX) { /* a plan has as many */
    complain("lynxbench experiment: %s: it differs from %s in %zu fact%s; accepted: 2 to %d\nnext: %s\n", x->s.path_b, x->s.path_a, n,
             LYNX_S(n), FACTORIAL_FACTS_MAX, n < 2 ? "`lynxbench compare` for one" : "`lynxbench bisect` finds those that matter");
    return EXIT_WRONG_INPUT;
  }
  x->plan.n_runs = (size_t)option_count(arguments, FLAG_RUNS, (int64_t)factorial_runs(n));
  x->plan.n_rounds = (size_t)option_count(arguments, FLAG_ROUNDS, ROUNDS_USUAL);
  if (!factorial_design(n, x->plan.n_runs, &x->design)) {
    complain("lynxbench experiment: --runs: found %zu for %zu facts; accepted: 4, 8, 16, 32 or 64, and more than there are facts\n",
             x->plan.n_runs, n);
    return EXIT_WRONG_INPUT;
  }
  x->plan.n_facts = n;
  x->plan.by_plan = x->s.plan != NULL;
  x->plan.hard = x->design.hard = x->s.plan != NULL ? experiment_plan_hard(&x->file.plan) : 0;
  x->plan.confidence = x->s.p.contract->method.confidence;
  x->plan.seed = (uint64_t)x->s.p.contract->method.seed;
  int code = swapping_plan(&x->s, (int64_t)(x->design.n_runs * x->plan.n_rounds));
  if (code == EXIT_HOLDS)
    complain("%zu mixtures in each of %zu rounds%s\n", x->design.n_runs, x->plan.n_rounds,
             x->design.resolution == 0   ? ": every combination"
             : x->design.resolution >= 5 ? ": no effect of one fact or of two is mixed with another"
             : x->design.resolution == 4 ? ": effects of two facts are mixed with one another"
                                         : ": effects of one fact are mixed with those of two");
  if (code == EXIT_HOLDS && x->plan.hard != 0) tell_plots(x);
  return code;
}

/* --- the run --- */

static void drive(void *context) {
  struct experimenting *x = context;
  double *y = xalloc(x->plan.n_rounds * x->design.n_runs, sizeof *y), grain; /* the figures are read again out of the bundle */
  (void)factorial_run(&x->design, x->plan.n_rounds, x->plan.seed, swapping_measure, &x->s, y, &grain);
  free(y);
}

static int measure_all(struct experimenting *x) {
  struct buffer plan;
  buffer_init(&plan, 1 << 20);
  int code = factored_write_plan(&x->s.swaps, &x->plan, &plan) ? swapping_run(&x->s, factored_key, plan.data, drive, x) : EXIT_OUR_BUG;
  buffer_release(&plan);
  return code;
}

/* --- what came out --- */

static int judge(const struct factored *f) {
  if (f->seen.failed != NULL) return EXIT_EXECUTOR;
  for (size_t i = 0; i < f->found.n_effects && f->n_rounds > 1; i++)
    if (f->found.effects[i].low > 0 || f->found.effects[i].high < 0) return EXIT_HOLDS;
  return EXIT_INCONCLUSIVE;
}

static int show_factored(const struct bundle_file *file, const struct factored *f, const struct arguments *arguments) {
  const struct contract *c = &file->result.contract;
  const char *html = arguments->option[FLAG_HTML];
  struct buffer out, page;
  bool written = true;
  buffer_init(&out, PAGE_MAX);
  buffer_init(&page, PAGE_MAX);
  if (arguments->option[FLAG_JSON] != NULL) {
    struct json_writer writer;
    json_begin_object(&writer, &out);
    json_put_text(&writer, "bundle", file->result.seal.root);
    factorial_json(f, c, &writer);
    (void)json_end_line(&writer);
  } else (void)factorial_text(f, c, color_wanted(stdout), &out);
  written = write_buffer(NULL, &out);
  if (written && html != NULL) written = factorial_html(f, c, &page) && write_buffer(html, &page);
  buffer_release(&out);
  buffer_release(&page);
  return written ? judge(f) : EXIT_CONDITIONS;
}

static int show(const char *path, const struct arguments *arguments) {
  struct bundle_file file;
  struct factored *f = xalloc(1, sizeof *f);
  struct lynx_error error = {0};
  int code = EXIT_WRONG_INPUT;
  if (bundle_file_open(path, &file)) {
    if (factored_read(file.bundle, &file.result.contract, f, &error) == LYNX_OK) code = show_factored(&file, f, arguments);
    else {
      lynx_error_at(&error, path, 0, NULL);
      code = report_error(&error);
    }
    factored_release(f);
    bundle_file_close(&file);
  }
  free(f);
  return code;
}

static int experiment(struct experimenting *x, const struct arguments *arguments) {
  int code = swapping_open(&x->s);
  if (code == EXIT_HOLDS) code = make_plan(x, arguments);
  if (code == EXIT_HOLDS) code = measure_all(x);
  return swapping_show(&x->s, code, show, arguments);
}

static int run(const struct arguments *arguments) {
  bool plan = arguments->n_positional == 1;
  const char *path = arguments->positional[0];
  if (plan && bundle_is(path)) return show(path, arguments);
  if (!output_is_possible("experiment", "html", arguments->option[FLAG_HTML])) return EXIT_WRONG_INPUT;
  struct experimenting *x = xalloc(1, sizeof *x);
  if (plan && !plan_file_read(path, &x->file)) {
    plan_file_release(&x->file);
    free(x);
    return EXIT_WRONG_INPUT;
  }
  x->s = (struct swapping){.tool = "experiment",
                           .path_a = plan ? x->file.contract : path,
                           .path_b = plan ? NULL : arguments->positional[1],
                           .plan = plan ? &x->file : NULL,
                           .duration = arguments->option[FLAG_FOR],
                           .usual_duration = "30min",
                           .window = arguments->option[FLAG_SESSION],
                           .out = arguments->option[FLAG_OUT],
                           .resume = arguments->option[FLAG_RESUME],
                           .quiet = arguments->option[FLAG_QUIET] != NULL};
  int code = experiment(x, arguments);
  swapping_close(&x->s);
  plan_file_release(&x->file);
  free(x);
  return code;
}

const struct command command_experiment = {
    .name = "experiment",
    .summary = "measure what a few settings do, alone and together",
    .usage = "PLAN | A B | BUNDLE",
    .least = 1,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "A and B are contracts that are alike but for executor.start. Every argument and variable in which the two start commands\n"
               "differ is a fact of two levels, 2 to 16 of them. Mixtures are started and measured in rounds, in random order: every\n"
               "combination, or a fraction of them, which says what it cannot tell apart. Out come the effect of each fact and of each\n"
               "two together, on the scale of ln, with intervals that hold together at method.confidence.\n"
               "PLAN is a YAML file that names one contract and the factors: variables, arguments and words of its start command,\n"
               "packages (pip builds an environment for every combination of their versions), and what is changed by hand, for which\n"
               "you are asked. What is hard to change is changed between whole plots only: docs/experiments.md shows one.\n"
               "With a bundle that it wrote alone, it shows the answer again.\n"
               "Exit code: 0 an effect is established, 3 none is, 5 a mixture did not run.",
    .example = "build/lynxbench experiment --help",
    .run = run};
