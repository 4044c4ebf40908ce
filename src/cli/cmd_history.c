#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/confine.h"
#include "cli/history_export.h"
#include "cli/history_sources.h"
#include "cli/option_value.h"
#include "report/history_report.h"

enum {
  FLAG_CONTRACT,
  FLAG_PRECISION,
  FLAG_FIGURE,
  FLAG_FALSE_ALARMS,
  FLAG_INDEPENDENT,
  FLAG_LEAST,
  FLAG_EXPORT,
  FLAG_OUT,
  FLAG_SEND,
  FLAG_HTML,
  FLAG_CSV,
  FLAG_JSON,
  FLAG_QUIET
};
enum { PAGE_MAX = 256 << 20 };

static const struct option_spec options[] = {
    [FLAG_CONTRACT] = OPTION("contract", "NAME", "only runs of this contract: its name, or how its digest begins"),
    [FLAG_PRECISION] = OPTION("precision", "NAME", "only this precision"),
    [FLAG_FIGURE] = OPTION("figure", "TEXT", "only figures whose name holds this, as in 'throughput'"),
    [FLAG_FALSE_ALARMS] = OPTION_WITH(
        "false-alarms", "SHARE",
        "how often a series without a change may be named, and the share of named ones that are false (default: 0.05)", VALUE_SHARE, 0.001,
        0.5, "a share from 0.001 to 0.5, such as 0.05"),
    [FLAG_INDEPENDENT] = SWITCH("independent", "take each value for itself: finds more in series that drift, and more that is chance"),
    [FLAG_LEAST] = OPTION_WITH("least", "SHARE", "a change whose whole interval is within this is marked small (default: 0.01)",
                               VALUE_SHARE, 0.001, 1, "a share from 0.001 to 1, such as 0.05"),
    [FLAG_EXPORT] = OPTION_WITH("export", "FORMAT", "in place of changes: the newest figures for prometheus (its text) or otlp (JSON)",
                                VALUE_CHOICE, 0, 0, "prometheus, otlp"),
    [FLAG_OUT] = OPTION("out", "FILE",
                        "of --export: instead of standard output; whole or not at all, as the node exporter's textfile collector wants it"),
    [FLAG_SEND] = OPTION("send", "URL", "of --export: send OTLP to a collector, as in http://127.0.0.1:4318/v1/metrics"),
    [FLAG_HTML] = OPTION("html", "FILE", "write a page with a plot of every series"),
    [FLAG_CSV] = SWITCH("csv", "one row for every value"),
    [FLAG_JSON] = SWITCH_JSON,
    [FLAG_QUIET] = SWITCH_QUIET};

static int show(const struct arguments *arguments, const struct history_report *report) {
  const char *html = arguments->option[FLAG_HTML];
  struct buffer out, page;
  buffer_init(&out, PAGE_MAX);
  buffer_init(&page, PAGE_MAX);
  if (arguments->option[FLAG_JSON] != NULL) (void)history_json(report, &out); /* an overflow: reported below */
  else if (arguments->option[FLAG_CSV] != NULL) (void)history_csv(report, &out);
  else (void)history_text(report, color_wanted(stdout), &out);
  bool good = write_buffer(NULL, &out);
  if (good && html != NULL) {
    (void)history_html(report, &page);
    good = write_buffer(html, &page);
  }
  buffer_release(&out);
  buffer_release(&page);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

static int search_and_show(const struct arguments *arguments, struct history_sources *sources, const struct change_plan *plan,
                           double least) {
  struct history *h = sources->history;
  history_search(h, plan);
  struct coincidence *coincidences = xalloc(h->n_events + 1, sizeof *coincidences);
  struct history_opener opener = history_sources_opener(sources);
  for (size_t i = 0; i < h->n_events; i++) coincidence_find(h, &h->events[i], &opener, &coincidences[i]);
  const struct history_report report = {.history = h,
                                        .coincidences = coincidences,
                                        .plan = plan,
                                        .schedules = sources->schedules,
                                        .n_schedules = sources->n_schedules,
                                        .least = least};
  int code = show(arguments, &report);
  for (size_t i = 0; i < h->n_events; i++) coincidence_release(&coincidences[i]);
  free(coincidences);
  return code != EXIT_HOLDS ? code : h->n_tested > 0 ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
}

static int run(const struct arguments *arguments) {
  struct history history = {.runs = NULL};
  struct history_sources sources = {.history = &history,
                                    .quiet = arguments->option[FLAG_QUIET] != NULL,
                                    .filter = {.contract = arguments->option[FLAG_CONTRACT],
                                               .precision = arguments->option[FLAG_PRECISION],
                                               .figure = arguments->option[FLAG_FIGURE]}};
  struct change_plan plan = change_plan_usual;
  double least = option_number(arguments, FLAG_LEAST, 0.01);
  plan.independent = arguments->option[FLAG_INDEPENDENT] != NULL;
  if (arguments->option[FLAG_JSON] != NULL && arguments->option[FLAG_CSV] != NULL) {
    complain("lynxbench history: found --json and --csv; accepted: one of them\n");
    return EXIT_WRONG_INPUT;
  }
  plan.false_alarms = option_number(arguments, FLAG_FALSE_ALARMS, plan.false_alarms);
  if (arguments->n_positional == 0 && ledger_file_address(NULL) == NULL) {
    complain("lynxbench history: found no source; accepted: folders of bundles, bundles, ledgers, tables (CSV), or "
             "LYNXBENCH_LEDGER\n");
    return EXIT_WRONG_INPUT;
  }
  const struct export_wanted wanted = {.otlp = option_choice(arguments, options, FLAG_EXPORT, 0) == 1,
                                       .out = arguments->option[FLAG_OUT],
                                       .send = arguments->option[FLAG_SEND],
                                       .contract = arguments->option[FLAG_CONTRACT],
                                       .quiet = sources.quiet};
  if (arguments->option[FLAG_EXPORT] != NULL || wanted.send != NULL) return history_export(arguments, &wanted);
  if (wanted.out != NULL) {
    complain("lynxbench history: --out: found '%s'; accepted: with --export FORMAT\n", wanted.out);
    return EXIT_WRONG_INPUT;
  }
  int code = history_sources_read(&sources, arguments, 0);
  if (code == EXIT_HOLDS || sources.n_read > 0) {
    int shown = search_and_show(arguments, &sources, &plan, least);
    if (code == EXIT_HOLDS) code = shown;
  }
  if (sources.n_unreadable > 0)
    complain("lynxbench history: %zu run%s could not be read and %s no part of this\n", sources.n_unreadable, LYNX_S(sources.n_unreadable),
             sources.n_unreadable == 1 ? "is" : "are");
  if (sources.n_unreadable > 0 && (code == EXIT_HOLDS || code == EXIT_INCONCLUSIVE)) code = EXIT_WRONG_INPUT;
  history_sources_release(&sources);
  history_release(&history);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  history_sources_confine(arguments, 0, ret);
  confine_output(ret, arguments->option[FLAG_HTML]);
  confine_output(ret, arguments->option[FLAG_OUT]);
  ret->network = ret->network || arguments->option[FLAG_SEND] != NULL;
  return true;
}

const struct command command_history = {
    .name = "history",
    .summary = "find when figures changed, by how much, and what changed too",
    .usage = "[SOURCE ...]",
    .least = 0,
    .most = ARGUMENTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "A SOURCE is a folder of bundles, a bundle, a ledger (default: LYNXBENCH_LEDGER), a table with a row of names and one row for\n"
        "each run (CSV, as Otava reads them), or a file of one run, or a folder of them, as pytest-benchmark, Google Benchmark, JUnit,\n"
        "InferenceX and load generators write them. Runs of one contract and precision are one series for each figure. Every change of\n"
        "level is shown with its size, its interval, and the place; with bundles, also what of the executor changed there, on which\n"
        "layer and whose it is, or that nothing captured did, or that conditions differed.\n"
        "Runs that support no figure (interrupted, perturbed, limited by the instrument) are left out and listed with the reason.\n"
        "With --export the newest figures go to Prometheus or OpenTelemetry; of a ledger alone also what became of findings,\n"
        "verifications and contests. `lynxbench serve` has the same at /metrics; integrations/grafana has a dashboard.\n"
        "Exit code: 0 shown, 2 a source could not be read, 3 no series is long enough (8 values), or nothing is there to export: then\n"
        "nothing is written; 4 the file cannot be written, 5 the collector did not take it.",
    .example = "build/lynxbench history tests/recorded/history/steps.csv",
    .confines = confines,
    .run = run};
