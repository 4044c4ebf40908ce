#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "cli/contract_file.h"
#include "cli/history_sources.h"
#include "cli/screen.h"
#include "report/gate_report.h"
#include "result/claim.h"

enum {
  FLAG_MARGIN,
  FLAG_FALSE_ALARMS,
  FLAG_LAST,
  FLAG_RUNS,
  FLAG_FIGURE,
  FLAG_OUT,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_JUNIT,
  FLAG_MARKDOWN,
  FLAG_GITHUB,
  FLAG_QUIET,
  FLAG_JSON
};
enum { PAGE_MAX = 16 << 20, FRESH_MAX = 20, LAST_USUAL = 20 };

static const struct option_spec options[] = {
    [FLAG_MARGIN] = {"margin", "SHARE", "instead of the contract's decision.margin, as in 0.02"},
    [FLAG_FALSE_ALARMS] = {"false-alarms", "SHARE",
                           "how often a run that is worse by the margin or less may fail, all figures together (default: 0.05)"},
    [FLAG_LAST] = {"last", "N", "runs of the baseline, at most (default: 20)"},
    [FLAG_RUNS] = {"runs", "N", "with a contract: fresh runs, 1 to 20 (default: 1)"},
    [FLAG_FIGURE] = {"figure", "TEXT",
                     "gate figures whose name holds this (default: the throughput, the latencies that the contract "
                     "limits, and accuracy)"},
    [FLAG_OUT] = {"out", "FILE", "with a contract: the bundle to write (default: its name and the time, .lynx)"},
    [FLAG_LEDGER] = {"ledger", "LEDGER", "with a contract: record the fresh runs there (default: LYNXBENCH_LEDGER)"},
    [FLAG_KEY] = {"key", "FILE", "the team's private key for it (default: LYNXBENCH_KEY)"},
    [FLAG_JUNIT] = {"junit", "FILE", "write the verdict as JUnit's XML"},
    [FLAG_MARKDOWN] = {"markdown", "FILE", "write it as Markdown (in a GitHub workflow: \"$GITHUB_STEP_SUMMARY\")"},
    [FLAG_GITHUB] = {"github", NULL, "print annotations for a GitHub workflow, too"},
    [FLAG_QUIET] = {"quiet", NULL, "no progress"},
    [FLAG_JSON] = {"json", NULL, "JSON"}};

extern const struct command command_gate;

struct gating {
  const struct arguments *arguments;
  struct gate_plan plan;
  bool has_margin;
  size_t n_runs;
  char paths[FRESH_MAX][4200]; /* of the fresh bundles */
  struct bundle_file files[FRESH_MAX];
  struct summary summaries[FRESH_MAX];
  size_t n_fresh, n_open;
  struct history history;
  struct history_sources sources;
  double seconds;
};

/* --- what was asked --- */

static bool wrong(int flag, const char *found, const char *accepted) {
  (void)fprintf(stderr, "lynxbench gate: --%s: found '%s'; accepted: %s\n", options[flag].name, found, accepted);
  return false;
}

static bool read_share(const struct arguments *arguments, int flag, double most, const char *accepted, double *ret) {
  const char *text = arguments->option[flag];
  return text == NULL || (number_double(text, strlen(text), ret) && *ret > 0 && *ret <= most) || wrong(flag, text, accepted);
}

static bool read_count(const struct arguments *arguments, int flag, int64_t least, int64_t most, const char *accepted, size_t *ret) {
  const char *text = arguments->option[flag];
  int64_t value = (int64_t)*ret;
  if (text != NULL && (!number_int64(text, strlen(text), &value) || value < least || value > most)) return wrong(flag, text, accepted);
  *ret = (size_t)value;
  return true;
}

static bool read_plan(struct gating *g) {
  const struct arguments *a = g->arguments;
  g->plan = (struct gate_plan){.margin = 0, .false_alarms = 0.05, .last = LAST_USUAL};
  g->n_runs = 1;
  g->has_margin = a->option[FLAG_MARGIN] != NULL;
  return read_share(a, FLAG_MARGIN, 1, "a share above 0, at most 1, such as 0.02", &g->plan.margin) &&
         read_share(a, FLAG_FALSE_ALARMS, 0.5, "a share above 0, at most 0.5, such as 0.05", &g->plan.false_alarms) &&
         read_count(a, FLAG_LAST, GATE_BASE_LEAST, 1000, "3 to 1000", &g->plan.last) &&
         read_count(a, FLAG_RUNS, 1, FRESH_MAX, "1 to 20", &g->n_runs);
}

/* --- the fresh runs --- */

/* By this same program: what a run must be like is written once. Its own words and exit code are what is told of it. */
static int run_once(const struct gating *g, const char *out) {
  const struct arguments *a = g->arguments;
  char *words[12] = {"lynxbench", "run", (char *)a->positional[0], "--out", (char *)out};
  size_t n = 5;
  extern char **environ;
  pid_t child;
  int status = 0;
  const int passed[] = {FLAG_LEDGER, FLAG_KEY};
  for (size_t i = 0; i < LYNX_COUNT(passed); i++) {
    if (a->option[passed[i]] == NULL) continue;
    words[n++] = passed[i] == FLAG_LEDGER ? "--ledger" : "--key";
    words[n++] = (char *)a->option[passed[i]];
  }
  if (a->option[FLAG_QUIET] != NULL) words[n++] = "--quiet";
  words[n] = NULL;
  posix_spawn_file_actions_t actions;
  int why = posix_spawn_file_actions_init(&actions);
  if (why == 0) why = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO); /* ours is for the verdict */
  if (why == 0) why = posix_spawn(&child, "/proc/self/exe", &actions, NULL, words, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  if (why != 0) {
    (void)fprintf(stderr, "lynxbench gate: the run cannot be started: %s\n", strerror(why));
    return EXIT_CONDITIONS;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_INTERRUPTED;
}

static int measure(struct gating *g) {
  struct contract_file file;
  const char *given = g->arguments->option[FLAG_OUT];
  char name[200], suffix[24];
  int code = EXIT_HOLDS;
  if (!contract_file_read(g->arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  if (file.problems.n_errors > 0) {
    contract_file_print_problems(&file, g->arguments->positional[0], false, false, stderr);
    contract_file_release(&file);
    return EXIT_WRONG_INPUT;
  }
  (void)signal(SIGINT, SIG_IGN); /* the run takes it, and seals what there is */
  int64_t begin_ns = clock_now(&clock_system);
  for (size_t i = 0; i < g->n_runs && code == EXIT_HOLDS; i++) {
    suffix[0] = 0;
    if (g->n_runs > 1) (void)snprintf(suffix, sizeof suffix, "-%zu", i + 1);
    if (given == NULL) (void)snprintf(g->paths[i], sizeof g->paths[i], "%s", screen_bundle_name(&file.contract, suffix, name, sizeof name));
    else {
      bool ends = text_ends_with(given, ".lynx");
      (void)snprintf(g->paths[i], sizeof g->paths[i], "%.*s%s%s", (int)(strlen(given) - (ends ? 5 : 0)), given, suffix,
                     ends ? ".lynx" : "");
    }
    code = run_once(g, g->paths[i]);
    if (code != EXIT_HOLDS)
      (void)fprintf(stderr, "lynxbench gate: nothing was gated: run %zu of %zu ended with exit code %d; what it says above is why\n", i + 1,
                    g->n_runs, code);
    g->n_fresh++;
  }
  (void)signal(SIGINT, SIG_DFL);
  g->seconds = (double)(clock_now(&clock_system) - begin_ns) / 1e9;
  contract_file_release(&file);
  return code;
}

static int open_fresh(struct gating *g) {
  for (size_t i = 0; i < g->n_fresh; i++) {
    if (!bundle_file_open(g->paths[i], &g->files[i])) return EXIT_WRONG_INPUT;
    g->n_open++;
    summary_make(&g->files[i].result, &g->summaries[i]);
    if (strcmp(g->files[i].result.contract_digest, g->files[0].result.contract_digest) != 0) {
      (void)fprintf(stderr, "lynxbench gate: %s is of another contract than %s\n", g->paths[i], g->paths[0]);
      return EXIT_WRONG_INPUT;
    }
  }
  if (!g->has_margin) g->plan.margin = g->files[0].result.contract.decision.margin;
  return EXIT_HOLDS;
}

/* --- the baseline --- */

/* A fresh run that lies among the sources is no part of its own baseline, nor is what came later. */
static bool is_before(const void *context, const char *root, const struct summary *summary) {
  const struct gating *g = context;
  for (size_t i = 0; i < g->n_fresh; i++)
    if (strcmp(root, g->files[i].result.seal.root) == 0 || summary->started_ns >= g->summaries[i].started_ns) return false;
  return true;
}

static int read_baseline(struct gating *g) {
  int code = EXIT_HOLDS;
  g->sources = (struct history_sources){.history = &g->history,
                                        .quiet = g->arguments->option[FLAG_QUIET] != NULL,
                                        .filter = {.contract = g->files[0].result.contract_digest, .keep = is_before, .context = g}};
  for (int i = 1; i < g->arguments->n_positional && code == EXIT_HOLDS; i++)
    code = history_sources_read(&g->sources, g->arguments->positional[i]);
  if (code == EXIT_HOLDS) history_search(&g->history, &change_plan_usual);
  return code;
}

/* --- the verdict --- */

/* What the contract limits, and what is asked first. */
struct wanted {
  const struct gating *gating;
  const struct result_precision *precision;
};

static bool is_wanted(void *context, const char *figure) {
  const struct wanted *w = context;
  const char *text = w->gating->arguments->option[FLAG_FIGURE];
  struct session_figure figures[SESSION_FIGURES_MAX];
  const struct contract *contract = &w->gating->files[0].result.contract;
  if (text != NULL) return strstr(figure, text) != NULL;
  size_t n = session_figures(contract, w->precision->has_tokens, true, figures);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(figures[i].name, figure) != 0) continue;
    if (figures[i].metric < 0) return strcmp(figure, "request throughput") != 0 || !w->precision->has_tokens;
    for (size_t k = 0; k < w->precision->n_objectives; k++)
      if ((int)w->precision->objectives[k].metric == figures[i].metric &&
          w->precision->objectives[k].quantile == result_quantiles[figures[i].quantile])
        return true;
  }
  return false;
}

static void add_refusals(struct gating *g, size_t precision, struct gate_part *part) {
  for (size_t i = 0; i < g->n_fresh; i++) {
    struct result *result = &g->files[i].result;
    struct claim claim;
    claim_build(result, precision, &claim);
    for (size_t k = 0; k < claim.n_reasons; k++) result_add_text(&result->arena, &part->refusals, &part->n_refusals, claim.reasons[k]);
    if (part->n_refusals > 0) return; /* those of one run say enough */
  }
}

static void judge_since(struct gating *g, size_t precision, struct gate_part *part) {
  struct history_facts facts = {.contract = NULL};
  struct history_opener opener = history_sources_opener(&g->sources);
  const struct bundle_file *file = &g->files[g->n_fresh - 1];
  struct lynx_error error = {0};
  char moment[80];
  const struct summary_precision *fresh = &g->summaries[g->n_fresh - 1].precisions[precision];
  (void)snprintf(moment, sizeof moment, "start:%.60s", fresh->name);
  facts.contract = &file->result.contract;
  if (bundle_facts(file->bundle, moment, &facts.list, &error) != LYNX_OK) (void)report_error(&error);
  else coincidence_since(part->gate.last, fresh, &facts, &opener, &part->since);
  fact_list_release(&facts.list);
}

static void judge_part(struct gating *g, size_t precision, struct gate_part *part) {
  const struct summary_precision *fresh[FRESH_MAX] = {&g->summaries[0].precisions[precision]};
  lynx_assert(g->n_fresh > 0);
  struct wanted wanted = {g, &g->files[0].result.precisions[precision]};
  for (size_t i = 0; i < g->n_fresh; i++) fresh[i] = &g->summaries[i].precisions[precision];
  *part = (struct gate_part){.precision = fresh[0]->name, .since = {.kind = COINCIDENCE_UNKNOWN}};
  const struct gate_question question = {.history = &g->history, .fresh = fresh, .m = g->n_fresh, .wanted = is_wanted, .context = &wanted};
  gate_judge(&question, &g->plan, &part->gate);
  add_refusals(g, precision, part);
  if (part->gate.last != NULL) judge_since(g, precision, part);
}

static bool write_all(const struct arguments *a, const struct gate_report *report) {
  const struct {
    bool (*write)(const struct gate_report *report, struct buffer *ret);
    int flag;
  } forms[] = {{gate_junit, FLAG_JUNIT}, {gate_markdown, FLAG_MARKDOWN}};
  struct buffer out;
  buffer_init(&out, PAGE_MAX);
  bool good = a->option[FLAG_JSON] != NULL ? gate_json(report, &out) : gate_text(report, color_wanted(stdout), &out);
  good = write_buffer(NULL, &out) && good;
  for (size_t i = 0; i < LYNX_COUNT(forms); i++) {
    if (a->option[forms[i].flag] == NULL) continue;
    buffer_clear(&out);
    good = forms[i].write(report, &out) && write_buffer(a->option[forms[i].flag], &out) && good;
  }
  buffer_clear(&out);
  if (a->option[FLAG_GITHUB] != NULL) good = gate_annotations(report, &out) && (out.length == 0 || write_buffer(NULL, &out)) && good;
  buffer_release(&out);
  return good;
}

static int decide(struct gating *g) {
  static const int codes[] = {[GATE_PASSES] = EXIT_HOLDS, [GATE_FAILS] = EXIT_DOES_NOT_HOLD, [GATE_INCONCLUSIVE] = EXIT_INCONCLUSIVE};
  size_t n = g->summaries[0].n_precisions, n_parts = 0;
  struct gate_part *parts = xalloc(n + 1, sizeof *parts);
  for (size_t i = 0; i < n; i++)
    if (!g->files[0].result.precisions[i].unavailable) judge_part(g, i, &parts[n_parts++]);
  const struct gate_report report = {.contract = g->files[0].result.contract.name,
                                     .fresh = g->paths[g->n_fresh - 1],
                                     .plan = &g->plan,
                                     .parts = parts,
                                     .n_parts = n_parts,
                                     .seconds = g->seconds};
  int code = write_all(g->arguments, &report) ? codes[gate_verdict_of(&report)] : EXIT_CONDITIONS;
  for (size_t i = 0; i < n_parts; i++) {
    coincidence_release(&parts[i].since);
    gate_release(&parts[i].gate);
  }
  free(parts);
  return code;
}

static void say_needs(const struct arguments *arguments, struct confinement *ret) {
  history_sources_confine(arguments, 1, ret);
  confine_output(ret, arguments->option[FLAG_JUNIT]);
  confine_output(ret, arguments->option[FLAG_MARKDOWN]);
}

static int gate(struct gating *g) {
  int code = EXIT_HOLDS;
  struct confinement needs = {.n_outputs = 0};
  say_needs(g->arguments, &needs);
  if (!read_plan(g) || !confine_sound(&command_gate, g->arguments, &needs)) return EXIT_WRONG_INPUT;
  if (text_ends_with(g->arguments->positional[0], ".lynx")) {
    (void)snprintf(g->paths[0], sizeof g->paths[0], "%s", g->arguments->positional[0]);
    g->n_fresh = 1;
  } else code = measure(g);
  if (code == EXIT_HOLDS) code = open_fresh(g);
  if (code == EXIT_HOLDS) code = read_baseline(g);
  return code == EXIT_HOLDS ? decide(g) : code;
}

static int run(const struct arguments *arguments) {
  struct gating *g = xalloc(1, sizeof *g);
  g->arguments = arguments;
  int code = gate(g);
  for (size_t i = 0; i < g->n_open; i++) bundle_file_close(&g->files[i]);
  history_sources_release(&g->sources);
  history_release(&g->history);
  free(g);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  if (!text_ends_with(arguments->positional[0], ".lynx")) return false; /* it runs a contract */
  say_needs(arguments, ret);
  return true;
}

const struct command command_gate = {
    .name = "gate",
    .summary = "for CI: is a fresh run no worse than the runs before it, by more than the margin?",
    .usage = "CONTRACT|BUNDLE SOURCE ...",
    .least = 2,
    .most = ARGUMENTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Runs the contract (or takes a bundle of it), and compares its figures with the runs of the same contract in the sources:\n"
        "folders of bundles, bundles, a ledger. The baseline is the newest level of those; a level that is worse by more than the\n"
        "margin does not become the baseline. Runs vary from day to day as the baseline's do: with less than 3 there is no verdict.\n"
        "Out comes passes, fails or inconclusive, with what it would take, and what of the executor changed since, by layer and\n"
        "owner. A gate that measured nothing never passes.\n"
        "Exit code: 0 passes, 1 fails, 2 wrong input, 3 inconclusive, or the run's own.",
    .example = "build/lynxbench gate --help",
    .confines = confines,
    .run = run};
