#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/shell.h"
#include "cli/contract_file.h"
#include "cli/history_sources.h"
#include "cli/hook.h"
#include "cli/improvement_entry.h"
#include "cli/option_value.h"
#include "cli/screen.h"
#include "cli/self_run.h"
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
  FLAG_OPEN,
  FLAG_HOOK,
  FLAG_JUNIT,
  FLAG_MARKDOWN,
  FLAG_GITHUB,
  FLAG_QUIET,
  FLAG_JSON
};
enum { PAGE_MAX = 16 << 20, FRESH_MAX = 20, LAST_USUAL = 20, WANTED_MAX = SESSION_FIGURES_MAX + 20 };

static const struct option_spec options[] = {
    [FLAG_MARGIN] = OPTION_WITH("margin", "SHARE", "instead of the contract's decision.margin, as in 0.02", VALUE_SHARE, 0.001, 1,
                                "a share from 0.001 to 1, such as 0.02"),
    [FLAG_FALSE_ALARMS] = OPTION_WITH("false-alarms", "SHARE",
                                      "how often a run that is worse by the margin or less may fail, all figures together (default: 0.05)",
                                      VALUE_SHARE, 0.001, 0.5, "a share from 0.001 to 0.5, such as 0.05"),
    [FLAG_LAST] = OPTION_WITH("last", "N", "runs of the baseline, at most (default: the contract's decision.baseline_runs, else 20)",
                              VALUE_COUNT, GATE_BASE_LEAST, 1000, "3 to 1000"),
    [FLAG_RUNS] = OPTION_WITH("runs", "N", "with a contract: fresh runs, 1 to 20 (default: 1)", VALUE_COUNT, 1, FRESH_MAX, "1 to 20"),
    [FLAG_FIGURE] = OPTION("figure", "TEXT",
                           "gate figures whose name holds this (default: the throughput, the latencies that the contract "
                           "limits, and accuracy)"),
    [FLAG_OUT] = OPTION("out", "FILE", "with a contract: the bundle to write (default: its name and the time, .lynx)"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "with a contract: record the fresh runs there (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key for it (default: LYNXBENCH_KEY)"),
    [FLAG_OPEN] = SWITCH("open", "with --ledger: where it fails, open a finding for the owners of what changed (lynxbench iterate)"),
    [FLAG_HOOK] = OPTION("hook", "URL|PROGRAM", "with --open: tell somebody of the finding"),
    [FLAG_JUNIT] = OPTION("junit", "FILE", "write the verdict as JUnit's XML"),
    [FLAG_MARKDOWN] = OPTION("markdown", "FILE", "write it as Markdown (in a GitHub workflow: \"$GITHUB_STEP_SUMMARY\")"),
    [FLAG_GITHUB] = SWITCH("github", "print annotations for a GitHub workflow, too"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

extern const struct command command_gate;

struct gating {
  const struct arguments *arguments;
  struct gate_plan plan;
  bool has_margin;
  size_t n_runs;
  char paths[FRESH_MAX][4200];   /* of the fresh bundles */
  struct contract_file contract; /* that is run; it is open where n_planned > 0 */
  char digest[DIGEST_HEX];       /* its, or the bundle's contract's */
  struct bundle_file files[FRESH_MAX];
  struct summary summaries[FRESH_MAX];
  size_t n_planned, n_fresh, n_open;
  struct history history;
  struct history_sources sources;
  double seconds;
};

/* --- what was asked --- */

static bool wrong(int flag, const char *found, const char *accepted) {
  complain("lynxbench gate: --%s: found '%s'; accepted: %s\n", options[flag].name, found, accepted);
  return false;
}

static void read_plan(struct gating *g) {
  const struct arguments *a = g->arguments;
  g->plan = (struct gate_plan){.margin = option_number(a, FLAG_MARGIN, 0),
                               .false_alarms = option_number(a, FLAG_FALSE_ALARMS, 0.05),
                               .last = (size_t)option_count(a, FLAG_LAST, LAST_USUAL)};
  g->n_runs = (size_t)option_count(a, FLAG_RUNS, 1);
  g->has_margin = a->option[FLAG_MARGIN] != NULL;
}

/* --- the fresh runs --- */

/* By this same program: what a run must be like is written once. Its own words and exit code report on it. */
static int run_once(const struct gating *g, const char *out) {
  const struct arguments *a = g->arguments;
  const char *words[10] = {"run", a->positional[0], "--out", out};
  const int passed[] = {FLAG_LEDGER, FLAG_KEY};
  size_t n = 4;
  for (size_t i = 0; i < LYNX_COUNT(passed); i++) {
    if (a->option[passed[i]] == NULL) continue;
    words[n++] = passed[i] == FLAG_LEDGER ? "--ledger" : "--key";
    words[n++] = a->option[passed[i]];
  }
  if (a->option[FLAG_QUIET] != NULL) words[n++] = "--quiet";
  words[n] = NULL;
  return self_run("gate", words);
}

/* A run ends with 3 where nothing answered, and where a search for saturation is not certified: of the latter something can be said. */
static int judge_end(const char *path, int code) {
  struct bundle_file file;
  int64_t n_ok = 0;
  if (code != EXIT_INCONCLUSIVE) return code;
  if (!bundle_file_open(path, &file)) return EXIT_EXECUTOR;
  for (size_t i = 0; i < file.result.n_precisions; i++) n_ok += file.result.precisions[i].n_ok;
  bundle_file_close(&file);
  return n_ok > 0 ? EXIT_HOLDS : EXIT_EXECUTOR;
}

/* Where the fresh bundles will be: all of them are free, or nothing is run. */
static bool plan_paths(struct gating *g) {
  const char *given = g->arguments->option[FLAG_OUT];
  char name[200], suffix[24];
  for (size_t i = 0; i < g->n_runs; i++) {
    suffix[0] = 0;
    if (g->n_runs > 1) (void)snprintf(suffix, sizeof suffix, "-%zu", i + 1);
    bool ends = given != NULL && text_ends_with(given, ".lynx");
    if (given == NULL)
      (void)snprintf(g->paths[i], sizeof g->paths[i], "%s", screen_bundle_name(&g->contract.contract, suffix, name, sizeof name));
    else
      (void)snprintf(g->paths[i], sizeof g->paths[i], "%.*s%s%s", (int)(strlen(given) - (ends ? 5 : 0)), given, suffix,
                     ends ? ".lynx" : "");
    if (access(g->paths[i], F_OK) != 0) continue;
    complain("lynxbench gate: %s: is there already; name another bundle by --out\n", g->paths[i]);
    return false;
  }
  return true;
}

static int plan_runs(struct gating *g) {
  const char *path = g->arguments->positional[0];
  if (!contract_file_read(path, &g->contract)) return EXIT_WRONG_INPUT;
  g->n_planned = g->n_runs;
  contract_file_print_problems(&g->contract, path, false, false, stderr);
  if (g->contract.problems.n_errors > 0 || !plan_paths(g)) return EXIT_WRONG_INPUT;
  contract_digest(&g->contract.contract, g->digest);
  return EXIT_HOLDS;
}

static int measure(struct gating *g) {
  int code = EXIT_HOLDS;
  int64_t begin_ns = clock_now(&clock_system);
  for (size_t i = 0; i < g->n_runs && code == EXIT_HOLDS; i++) {
    int ended = run_once(g, g->paths[i]);
    code = judge_end(g->paths[i], ended);
    if (code != EXIT_HOLDS)
      complain("lynxbench gate: nothing was gated: run %zu of %zu ended with exit code %d; what it says above is why\n", i + 1, g->n_runs,
               ended);
    g->n_fresh++;
  }
  g->seconds = (double)(clock_now(&clock_system) - begin_ns) / 1e9;
  return code;
}

static int open_fresh(struct gating *g) {
  for (size_t i = 0; i < g->n_fresh; i++) {
    if (!bundle_file_open(g->paths[i], &g->files[i])) return EXIT_WRONG_INPUT;
    g->n_open++;
    summary_make(&g->files[i].result, &g->summaries[i]);
    if (strcmp(g->files[i].result.contract_digest, g->files[0].result.contract_digest) != 0) {
      complain("lynxbench gate: %s is of another contract than %s\n", g->paths[i], g->paths[0]);
      return EXIT_WRONG_INPUT;
    }
  }
  (void)snprintf(g->digest, sizeof g->digest, "%s", g->files[0].result.contract_digest);
  int64_t last = g->files[0].result.contract.decision.baseline_runs;
  if (last > 0 && g->arguments->option[FLAG_LAST] == NULL) g->plan.last = (size_t)last;
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
  g->sources = (struct history_sources){.history = &g->history,
                                        .quiet = g->arguments->option[FLAG_QUIET] != NULL,
                                        .filter = {.contract = g->digest, .keep = is_before, .context = g}};
  int code = history_sources_read(&g->sources, g->arguments, 1);
  if (code == EXIT_HOLDS) history_search(&g->history, &change_plan_usual);
  history_sources_let_go(&g->sources); /* the fresh runs are entered there */
  return code;
}

/* --- the verdict --- */

/* A quantile that sessions have no value of. */
static void add_uncompared(struct gating *g, struct gate_wanted *ret, size_t *n) {
  struct result *r = &g->files[0].result;
  const struct contract_slo *slo = r->contract.slo.items;
  for (size_t i = 0; i < r->contract.slo.n_items && *n < WANTED_MAX; i++) {
    bool known = false;
    for (int q = 0; q < RESULT_QUANTILES; q++) known = known || fabs(result_quantiles[q] - slo[i].quantile) < 1e-9;
    if (known) continue;
    ret[(*n)++] = (struct gate_wanted){
        .figure = arena_printf(&r->arena, "%s, p%g", formulas[metric_formulas[slo[i].metric]].name, 100 * slo[i].quantile),
        .unit = "ns",
        .better = BETTER_LESS,
        .required = true,
        .why = "the contract limits it, and it is not compared (only p50, p90, p95, p99 and p99.9 are)"};
  }
}

/* What is asked first, and what the contract limits. */
static size_t choose_wanted(struct gating *g, size_t precision, struct gate_wanted ret[WANTED_MAX]) {
  const struct contract *contract = &g->files[0].result.contract;
  const char *text = g->arguments->option[FLAG_FIGURE];
  bool tokens = g->files[0].result.precisions[precision].has_tokens;
  struct session_figure figures[SESSION_FIGURES_MAX];
  size_t n = 0, n_figures = session_figures(contract, tokens, true, figures);
  for (size_t i = 0; i < n_figures; i++) {
    const struct session_figure *f = &figures[i];
    bool accuracy = i + 1 == n_figures, first = i == 0, limited = session_figure_is_limited(contract, f);
    if (text != NULL ? strstr(f->name, text) == NULL : !accuracy && !first && !limited) continue;
    ret[n++] = (struct gate_wanted){.figure = f->name,
                                    .unit = formulas[f->formula].unit,
                                    .better = f->more_is_better ? BETTER_MORE : BETTER_LESS,
                                    .required = text == NULL && !accuracy};
  }
  if (text == NULL) add_uncompared(g, ret, &n);
  return n;
}

static void add_refusals(struct gating *g, size_t precision, struct gate_part *part) {
  for (size_t i = 0; i < g->n_fresh; i++) {
    struct result *result = &g->files[i].result;
    struct claim claim = {.n_reasons = 0};
    if (result->precisions[precision].unavailable)
      result_add_text(&result->arena, &part->refusals, &part->n_refusals, "the precision was not available");
    else claim_build(result, precision, &claim);
    for (size_t k = 0; k < claim.n_reasons; k++) result_add_text(&result->arena, &part->refusals, &part->n_refusals, claim.reasons[k]);
    if (part->n_refusals > 0) return; /* those of one run say enough */
  }
}

static void judge_since(struct gating *g, size_t precision, struct gate_part *part) {
  struct history_facts facts = {.contract = NULL};
  struct history_opener opener = history_sources_opener(&g->sources);
  const struct bundle_file *file = &g->files[g->n_fresh - 1];
  struct lynx_error error = {0};
  const struct summary_precision *fresh = &g->summaries[g->n_fresh - 1].precisions[precision];
  facts.contract = &file->result.contract;
  if (bundle_start_facts(file->bundle, fresh->name, &facts.list, &error) != LYNX_OK) (void)report_error(&error);
  else coincidence_since(part->gate.last, fresh, &facts, &opener, &part->since);
  fact_list_release(&facts.list);
}

static void judge_part(struct gating *g, size_t precision, struct gate_part *part) {
  const struct summary_precision *fresh[FRESH_MAX] = {&g->summaries[0].precisions[precision]};
  lynx_assert(g->n_fresh > 0);
  struct gate_wanted wanted[WANTED_MAX];
  for (size_t i = 0; i < g->n_fresh; i++) fresh[i] = &g->summaries[i].precisions[precision];
  *part = (struct gate_part){.precision = fresh[0]->name, .since = {.kind = COINCIDENCE_UNKNOWN}};
  struct gate_question question = {.history = &g->history, .fresh = fresh, .m = g->n_fresh, .wanted = wanted};
  question.n_wanted = g->files[0].result.precisions[precision].unavailable ? 0 : choose_wanted(g, precision, wanted);
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

/* One that is not available, and was before, is asked for; one that never was is not. */
static bool is_asked(const struct gating *g, size_t precision) {
  const char *name = g->summaries[0].precisions[precision].name;
  bool before = false;
  for (size_t i = 0; i < g->history.n_series; i++) before = before || strcmp(g->history.series[i].precision, name) == 0;
  return before || !g->files[0].result.precisions[precision].unavailable;
}

/* What a part that fails is as a finding: of the figure, whose it is by what changed with it; nobody's where nothing that was captured did.
 */
static bool open_finding(const struct gating *g, const struct gate_report *report, const struct gate_part *part, struct pen *pen) {
  const struct gate_figure *f = part->gate.leading;
  const struct coincidence *c = &part->since;
  struct buffer title, evidence, named;
  struct buffer *const texts[] = {&title, &evidence, &named};
  const char *path = g->paths[g->n_fresh - 1];
  uint64_t index;
  for (size_t i = 0; i < LYNX_COUNT(texts); i++) buffer_init(texts[i], 8192);
  gate_put_figure(report, f, &title);
  gate_put_since(part, &evidence);
  (void)buffer_printf(&named, "%s, %s", part->precision, f->figure);
  const struct stated_finding stated = {.rule = "gate",
                                        .named = named.data,
                                        .title = title.data,
                                        .rung = c->n_layers > 0 ? "coincided" : "measured",
                                        .evidence = evidence.data,
                                        .to_confirm = c->n_layers > 0 ? "lynxbench bisect A B, with a contract that starts each executor"
                                                                      : NULL,
                                        .layers = c->layers,
                                        .owners = c->owners,
                                        .n_layers = c->n_layers};
  bool good = finding_add(pen, path, &g->files[g->n_fresh - 1].result, &stated, &index);
  if (good)
    complain("%s: finding %" PRIu64 ", for %s\nnext: lynxbench iterate --ledger %s\n", pen->file.address, index,
             c->n_layers > 0 ? c->owners[0] : "nobody yet", shell_word(pen->file.address));
  if (good && g->arguments->option[FLAG_HOOK] != NULL) good = hook_tell("gate", g->arguments->option[FLAG_HOOK], &pen->file, index);
  for (size_t i = 0; i < LYNX_COUNT(texts); i++) buffer_release(texts[i]);
  return good;
}

/* False: one could not be recorded, or told of, and that was said. */
static bool open_findings(struct gating *g, const struct gate_report *report) {
  const struct pen_wanted wanted = {"gate", "--open", g->arguments->option[FLAG_LEDGER], g->arguments->option[FLAG_KEY], NULL};
  struct pen pen;
  bool good = true;
  history_sources_let_go(&g->sources);
  if (pen_open(&wanted, &pen) != EXIT_HOLDS) return false;
  for (size_t i = 0; i < report->n_parts; i++)
    if (report->parts[i].gate.verdict == GATE_FAILS && report->parts[i].n_refusals == 0)
      good = open_finding(g, report, &report->parts[i], &pen) && good;
  pen_close(&pen);
  return good;
}

static int decide(struct gating *g) {
  static const int codes[] = {[GATE_PASSES] = EXIT_HOLDS, [GATE_FAILS] = EXIT_DOES_NOT_HOLD, [GATE_INCONCLUSIVE] = EXIT_INCONCLUSIVE};
  size_t n = g->summaries[0].n_precisions, n_parts = 0;
  struct gate_part *parts = xalloc(n + 1, sizeof *parts);
  for (size_t i = 0; i < n; i++)
    if (is_asked(g, i)) judge_part(g, i, &parts[n_parts++]);
  if (n_parts == 0 && n > 0) judge_part(g, 0, &parts[n_parts++]);
  char host[128] = "";
  (void)gethostname(host, sizeof host - 1); /* an unnamed host stays unnamed */
  const struct gate_report report = {.contract = g->files[0].result.contract.name,
                                     .fresh = g->paths[g->n_fresh - 1],
                                     .plan = &g->plan,
                                     .parts = parts,
                                     .n_parts = n_parts,
                                     .host = host,
                                     .at_ns = g->summaries[g->n_fresh - 1].started_ns,
                                     .seconds = g->seconds};
  bool refused = false;
  for (size_t i = 0; i < n_parts; i++) refused = refused || parts[i].n_refusals > 0;
  enum gate_verdict verdict = gate_verdict_of(&report);
  int code = !write_all(g->arguments, &report) || (verdict == GATE_INCONCLUSIVE && refused) ? EXIT_CONDITIONS : codes[verdict];
  if (code == EXIT_DOES_NOT_HOLD && g->arguments->option[FLAG_OPEN] != NULL && !open_findings(g, &report))
    complain("lynxbench gate: not every finding is recorded and told; the verdict remains\n");
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

static bool options_agree(const struct arguments *a, bool bundle) {
  static const int of_contract[] = {FLAG_RUNS, FLAG_OUT, FLAG_LEDGER, FLAG_KEY, FLAG_OPEN};
  const char *junit = a->option[FLAG_JUNIT], *markdown = a->option[FLAG_MARKDOWN], *const outputs[] = {junit, markdown};
  struct stat info;
  for (size_t i = 0; i < LYNX_COUNT(of_contract) && bundle; i++)
    if (a->option[of_contract[i]] != NULL) return wrong(of_contract[i], a->option[of_contract[i]], "with a contract, which is run");
  if (a->option[FLAG_OPEN] != NULL && ledger_file_address(a->option[FLAG_LEDGER]) == NULL)
    return wrong(FLAG_OPEN, "no ledger", "--ledger LEDGER, or LYNXBENCH_LEDGER, beside it");
  if (a->option[FLAG_HOOK] != NULL && a->option[FLAG_OPEN] == NULL) return wrong(FLAG_HOOK, a->option[FLAG_HOOK], "with --open");
  for (size_t i = 0; i < LYNX_COUNT(outputs); i++)
    if (outputs[i] != NULL && stat(outputs[i], &info) == 0 && !S_ISREG(info.st_mode))
      return wrong(i == 0 ? FLAG_JUNIT : FLAG_MARKDOWN, outputs[i], "a file, new or old");
  if (!output_is_possible("gate", "junit", junit) || !output_is_possible("gate", "markdown", markdown)) return false;
  if (junit != NULL && markdown != NULL && strcmp(junit, markdown) == 0)
    return wrong(FLAG_MARKDOWN, markdown, "another file than --junit's");
  return a->option[FLAG_JSON] == NULL || a->option[FLAG_GITHUB] == NULL || wrong(FLAG_GITHUB, "--json beside it", "one of them");
}

/* Before minutes of load: whether it can decide anything, and what of what lies there does not count. */
static void say_baseline(const struct gating *g) {
  size_t n_unclaimed = 0;
  const char *why = NULL;
  for (size_t i = 0; i < g->history.n_runs; i++) {
    const char *no_claim = g->history.runs[i].precision->no_claim;
    n_unclaimed += no_claim != NULL;
    why = no_claim != NULL ? no_claim : why;
  }
  size_t n = g->history.n_runs - n_unclaimed;
  if (n >= GATE_BASE_LEAST) return;
  complain("note: the baseline has %zu run%s of this contract, and %d are needed: this one decides nothing. ", n, LYNX_S(n),
           GATE_BASE_LEAST);
  if (n_unclaimed > 0)
    complain("%zu more %s not count, since no claim can be made of %s: %s. ", n_unclaimed, n_unclaimed == 1 ? "does" : "do",
             n_unclaimed == 1 ? "it" : "them", why);
  if (g->sources.n_other > 0)
    complain("%zu there %s of another contract: one word of it makes another. ", g->sources.n_other,
             g->sources.n_other == 1 ? "is" : "are");
  complain("It is the next of them if it supports a claim and its bundle lies there: --out FOLDER/NAME.lynx\n");
}

static int gate(struct gating *g) {
  bool bundle = text_ends_with(g->arguments->positional[0], ".lynx");
  int code = EXIT_HOLDS;
  struct confinement needs = {.n_outputs = 0};
  say_needs(g->arguments, &needs);
  read_plan(g);
  if (!options_agree(g->arguments, bundle) || !confine_sound(&command_gate, g->arguments, &needs)) return EXIT_WRONG_INPUT;
  if (bundle) {
    (void)snprintf(g->paths[0], sizeof g->paths[0], "%s", g->arguments->positional[0]);
    g->n_fresh = 1;
    code = open_fresh(g);
  } else code = plan_runs(g);
  if (code == EXIT_HOLDS) code = read_baseline(g); /* before minutes of load, not after */
  if (code == EXIT_HOLDS && !bundle) say_baseline(g);
  if (code == EXIT_HOLDS && !bundle) code = measure(g);
  if (code == EXIT_HOLDS && !bundle) code = open_fresh(g);
  return code == EXIT_HOLDS ? decide(g) : code;
}

static int run(const struct arguments *arguments) {
  struct gating *g = xalloc(1, sizeof *g);
  g->arguments = arguments;
  int code = gate(g);
  for (size_t i = 0; i < g->n_open; i++) bundle_file_close(&g->files[i]);
  if (g->n_planned > 0) contract_file_release(&g->contract);
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
    .summary = "for CI: fail if a fresh run is worse than those before it",
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
        "Exit code: 0 passes, 1 fails, 2 wrong input, 3 inconclusive, 4 the fresh run supports no claim, or the run's own.",
    .example = "build/lynxbench gate build/demo/demo.lynx build/demo/demo.lynx --markdown /tmp/gate.md",
    .confines = confines,
    .run = run};
