#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live.h"
#include "base/number.h"
#include "base/shell.h"
#include "cli/bundle_entry.h"
#include "cli/command.h"
#include "cli/option_value.h"
#include "cli/pen.h"
#include "cli/perturbation.h"
#include "executor/layer_map.h"
#include "experiment/swapped_effect.h"
#include "report/confirmation_report.h"
#include "report/sensitivity_report.h"

enum {
  FLAG_FOR,
  FLAG_OUT,
  FLAG_MAY_STOP,
  FLAG_SET,
  FLAG_BY,
  FLAG_FACT,
  FLAG_SIDE,
  FLAG_CONTRACT,
  FLAG_RUN,
  FLAG_ENDPOINT,
  FLAG_KEY_ENV,
  FLAG_RECORD,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_QUIET,
  FLAG_JSON
};
enum { LOOKS = 4, PAGE_MAX = 16 << 20 };

static const struct option_spec options[] = {
    [FLAG_FOR] = OPTION_WITH("for", "DURATION", "how long it may take at most, about (default: 4min); it ends when it is decided",
                             VALUE_DURATION, 10, 86400, "a duration from 10 s to 24 h, such as 2min"),
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle to write (default: the contract's name, -confirm and the time, .lynx)"),
    [FLAG_MAY_STOP] = OPTION_WITH("may-stop", "PID", "of contention: this other process may be stopped for blocks of seconds", VALUE_COUNT,
                                  2, INT32_MAX, "the number of a process"),
    [FLAG_SET] = OPTION("set", "SETTING", "a remedy of yours in the start command: NAME=VALUE, or --set=--name=value"),
    [FLAG_BY] = OPTION("by", "BUNDLE", "measure nothing: judge by a bundle of `experiment` or `bisect` in which the cause was swapped"),
    [FLAG_FACT] = OPTION("fact", "NAME",
                         "of --by: which of its facts is the finding's cause (default: the variable that the finding names)"),
    [FLAG_SIDE] = OPTION("run-is", "A|B", "of --by: which of the two executors the run's is, where its contract does not say"),
    [FLAG_CONTRACT] = OPTION("contract", "FILE", "the run's contract, as your own file"),
    [FLAG_RUN] = OPTION("run", "DIGEST", "use the contract that is in the bundle, which has this digest, without asking"),
    [FLAG_ENDPOINT] = OPTION("endpoint", "URL", "where the executor is; a bundle's own is not used, but where its contract starts it"),
    [FLAG_KEY_ENV] = OPTION("api-key-env", "NAME", "the variable that holds your API key, for a contract from a bundle"),
    [FLAG_RECORD] = SWITCH("record", "add the verdict to the ledger, signed, with both bundles"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "the ledger for --record (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key for it (default: LYNXBENCH_KEY)"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

/* What the command holds, so that it can be let go in one place. */
struct confirming {
  const struct arguments *arguments;
  struct perturbation p;
  struct live live;
  bool has_live;
  struct confirm_plan plan;
  struct sensitivities all;
  struct confirmation confirmation;
};

/* --- which finding --- */

static bool starts(const struct confirming *c) {
  return contract_states(&c->p.run.result.contract, "executor.start");
}

/* The first that an experiment can test; NULL: none. */
static const struct finding *list_findings(const struct confirming *c, FILE *to) {
  const struct finding *testable = NULL;
  for (size_t i = 0; i < c->live.n_findings; i++) {
    struct confirm_plan plan;
    char why[600];
    bool can = confirm_plan_make(&c->live.findings[i], starts(c), NULL, &plan, why, sizeof why);
    say_to(to, "  %-18s %s (%s%s)\n", c->live.findings[i].id, c->live.findings[i].title, can ? "by: " : "by hand",
           can ? plan.perturbers[0] : "");
    if (can && testable == NULL) testable = &c->live.findings[i];
  }
  return testable;
}

/* No finding was named: those of the run. */
static int list(const struct confirming *c) {
  say("%s: %zu finding%s%s\n", c->p.path, c->live.n_findings, LYNX_S(c->live.n_findings),
      c->live.n_findings > 0 ? "" : ": nothing is to be confirmed");
  const struct finding *testable = list_findings(c, stdout);
  if (testable != NULL) say("next: lynxbench confirm %s %s\n", shell_word(c->p.path), testable->id);
  return c->live.n_findings > 0 ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
}

static int read_findings(struct confirming *c) {
  c->has_live = live_read(c->p.run.bundle, &c->p.run.result, &c->live);
  if (c->has_live) return EXIT_HOLDS;
  complain("lynxbench confirm: %s: no window was complete: it has no findings\n", c->p.path);
  return EXIT_WRONG_INPUT;
}

/* "NAME=VALUE", "--name=value", "--name". */
static bool is_setting(const char *text) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  bool argument = strncmp(text, "--", 2) == 0;
  const char *name = argument ? text + 2 : text;
  size_t n = argument ? strcspn(name, "=") : strspn(name, letters);
  bool good = n > 0 && n < 100 && strlen(text) < 1000 && (argument || (name[n] == '=' && (name[0] < '0' || name[0] > '9')));
  const char *value = strchr(text, '=');
  char own[100];
  (void)snprintf(own, sizeof own, "%.*s", (int)(n < sizeof own ? n : 0), name);
  if (good && (variable_is_secret(own) || (value != NULL && value_may_be_secret(value + 1)))) {
    complain("lynxbench confirm: --set: found %s with a value that may be a secret, and the bundle would hold it; accepted: a setting "
             "without one\n",
             own);
    return false;
  }
  if (!good)
    complain("lynxbench confirm: --set: found '%.100s'; accepted: a variable, NAME=VALUE, or an argument, --set=--name=value\n", text);
  return good;
}

/* NULL: there is none, which was said. */
static const struct finding *finding_called(const struct confirming *c, const char *name) {
  for (size_t i = 0; i < c->live.n_findings; i++)
    if (strcmp(c->live.findings[i].id, name) == 0) return &c->live.findings[i];
  complain("lynxbench confirm: found '%s'; accepted: a finding of %s%s\n", name, c->p.path,
           c->live.n_findings > 0 ? ":" : ", which has none");
  (void)list_findings(c, stderr); /* all of them are named */
  return NULL;
}

static int find_finding(struct confirming *c, const char *name) {
  char why[600];
  const char *knob = c->arguments->option[FLAG_SET];
  if (knob != NULL && !is_setting(knob)) return EXIT_WRONG_INPUT;
  const struct finding *found = finding_called(c, name);
  if (found == NULL) return EXIT_WRONG_INPUT;
  if (confirm_plan_make(found, starts(c), knob, &c->plan, why, sizeof why)) return EXIT_HOLDS;
  complain("lynxbench confirm: %s: %s\n", name, why);
  return EXIT_INCONCLUSIVE;
}

/* --- the experiment --- */

static bool enough(void *context, const struct sensitivities *so_far) {
  const struct confirming *c = context;
  struct confirmation so = confirm_judge(&c->plan, so_far, NULL, 0);
  return so.verdict != CONFIRM_INCONCLUSIVE || so.impossible || so.of_process;
}

static int prepare(struct confirming *c) {
  const char *may_stop = c->arguments->option[FLAG_MAY_STOP];
  c->p.perturbers = c->plan.perturbers;
  c->p.plan.neighbour = option_count(c->arguments, FLAG_MAY_STOP, c->p.plan.neighbour);
  if (strcmp(c->plan.perturbers[0], "neighbour") == 0 && may_stop == NULL) {
    const char *named = c->plan.finding->named, *digits = named + strlen(named);
    while (digits > named && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    complain("lynxbench confirm: the experiment stops the other process (%s) for blocks of a few seconds, and lets it go on in between. "
             "That is its operator's decision.\nnext: lynxbench confirm %s %s --may-stop %s\n",
             named, shell_word(c->p.path), c->plan.finding->id, digits[0] != 0 ? digits : "PID");
    return EXIT_INCONCLUSIVE;
  }
  c->p.functions[0] = c->plan.function;
  c->p.library = c->plan.library[0] != 0 ? c->plan.library : NULL;
  c->p.plan.stretch = c->plan.stretch;
  c->p.knob = c->plan.knob;
  c->p.setting = c->plan.setting[0] != 0 ? c->plan.setting : NULL;
  return EXIT_HOLDS;
}

/* --- what came out --- */

static bool show(const struct confirming *c, const struct confirmation_view *view) {
  struct buffer out;
  buffer_init(&out, PAGE_MAX);
  if (c->arguments->option[FLAG_JSON] != NULL) {
    struct json_writer json;
    json_begin_object(&json, &out);
    json_put_text(&json, "bundle", c->p.out);
    json_put_text(&json, "run", c->p.run.result.seal.root);
    confirmation_json(view, &json);
    sensitivity_json(view->all, c->p.contract, view->unprobed, view->n_unprobed, &json);
    (void)json_end_line(&json);
  } else (void)confirmation_text(view, color_wanted(stdout), &out);
  bool good = write_buffer(NULL, &out);
  buffer_release(&out);
  return good;
}

static void write_verdict(void *context, struct json_writer *json) {
  confirmation_json(context, json);
}

static int record(const struct confirming *c, const struct confirmation_view *view, const char *root) {
  const struct pen_wanted wanted = {"confirm", "--record", c->arguments->option[FLAG_LEDGER], c->arguments->option[FLAG_KEY], NULL};
  struct pen pen;
  uint64_t index;
  int code = pen_open(&wanted, &pen);
  if (code != EXIT_HOLDS) return code;
  struct entry entry = {.kind = "confirmation", .write_more = write_verdict, .context = (void *)(uintptr_t)view};
  entry_subject_hex(&entry, "bundle", c->p.run.result.seal.root);
  entry_subject_hex(&entry, "perturbed", root);
  bool good = bundle_entry_add(&pen.file, c->p.path, &pen.signer, &index) && bundle_entry_add(&pen.file, c->p.out, &pen.signer, &index) &&
              ledger_file_add(&pen.file, &entry, &pen.signer, &index, NULL);
  if (good)
    complain("%s: entry %llu: %s %s\n", pen.file.address, (unsigned long long)index, c->plan.finding->id,
             confirm_verdict_text(c->confirmation.verdict));
  pen_close(&pen);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

static int exit_of(const struct confirming *c) {
  switch (c->confirmation.verdict) {
    case CONFIRM_CONFIRMED:
    case CONFIRM_REMEDIED: return EXIT_HOLDS;
    case CONFIRM_REFUTED:
    case CONFIRM_NOT_REMEDIED: return EXIT_DOES_NOT_HOLD;
    default: return EXIT_INCONCLUSIVE;
  }
}

static int judge(struct confirming *c) {
  struct bundle_file made;
  struct lynx_error error = {0};
  struct arena arena = {0};
  const char **unprobed;
  if (!bundle_file_open(c->p.out, &made)) return EXIT_CONDITIONS;
  /* One of several looks: its interval is the one that was decided by. */
  double confidence = perturbation_confidence(&c->p);
  int code = EXIT_HOLDS;
  if (sensitivities_read(made.bundle, &made.result.contract, confidence, &c->all, &error) != LYNX_OK) code = report_error(&error);
  if (code == EXIT_HOLDS) {
    size_t n = perturbation_unprobed(made.bundle, &arena, &unprobed);
    c->confirmation = confirm_judge(&c->plan, &c->all, unprobed, n);
    const struct confirmation_view view = {&c->plan, &c->confirmation, &c->all, unprobed, n};
    if (!show(c, &view)) code = EXIT_CONDITIONS;
    if (code == EXIT_HOLDS && c->arguments->option[FLAG_RECORD] != NULL) code = record(c, &view, made.result.seal.root);
  }
  bundle_file_close(&made);
  arena_release(&arena);
  return code == EXIT_HOLDS ? exit_of(c) : code;
}

/* --- by an experiment that was made --- */

/* "A=1, B=2" gives A the value 1. */
static bool is_at(const struct finding *finding, const char *fact, const char *level) {
  char text[300];
  (void)snprintf(text, sizeof text, "%s=%s", fact, level);
  const char *at = strstr(finding->named, text);
  size_t n = strlen(text);
  return at != NULL && (at[n] == 0 || strncmp(at + n, ", ", 2) == 0) && (at == finding->named || at[-1] == ' ');
}

/* What is known of it without asking; 0: nothing. */
static char known_side(const struct confirming *c, const struct bundle_file *made, const struct swapped_effect *effect) {
  const char *other = bundle_meta(made->bundle, "swapped_with");
  bool a = is_at(c->plan.finding, effect->fact, effect->a), b = is_at(c->plan.finding, effect->fact, effect->b);
  if (a != b) return a ? 'A' : 'B';
  if (effect->by_plan) return 0;
  if (strcmp(c->p.run.result.contract_digest, made->result.contract_digest) == 0) return 'A';
  return other != NULL && strcmp(c->p.run.result.contract_digest, other) == 0 ? 'B' : 0;
}

/* 0: it was said why there is none. */
static char side_of(const struct confirming *c, const struct bundle_file *made, const struct swapped_effect *effect) {
  const char *said = c->arguments->option[FLAG_SIDE];
  char known = known_side(c, made, effect);
  bool good = said == NULL ? known != 0 : (strcmp(said, "A") == 0 || strcmp(said, "B") == 0) && (known == 0 || said[0] == known);
  if (good) return said != NULL ? said[0] : known;
  complain("lynxbench confirm: --run-is: found %s; accepted: A (%s: %s) or B (%s: %s), whichever the run's executor was%s\n",
           said != NULL ? said : "nothing", effect->fact, effect->a, effect->fact, effect->b,
           known == 'A'   ? ", which is A by what is recorded"
           : known == 'B' ? ", which is B by what is recorded"
                          : "");
  return 0;
}

/* What a server that is full hides may cost one that is not. */
static void compare_loads(const struct confirming *c, const struct contract *made, const char *path) {
  long long run = c->live.at.concurrency, here = made->regime.load == LOAD_CLOSED ? made->regime.concurrency : 0; /* 0: another load */
  if (run > 0 && here > 0 && run != here)
    complain("%s: it keeps %lld requests in flight, the run %lld: what a setting does may differ\n", path, here, run);
}

/* Of another server, or of other requests, it says nothing about this finding. */
static bool is_of_the_same(const struct contract *run, const struct contract *made, const char *path) {
  const struct {
    const char *field, *a, *b;
  } texts[] = {{"executor.endpoint", run->executor.endpoint, made->executor.endpoint},
               {"workload.model", run->workload.model, made->workload.model},
               {"workload.driver", run->workload.driver, made->workload.driver}};
  const char *other = NULL;
  for (size_t i = 0; i < LYNX_COUNT(texts); i++) {
    const char *a = texts[i].a != NULL ? texts[i].a : "", *b = texts[i].b != NULL ? texts[i].b : "";
    if (strcmp(a, b) != 0) other = texts[i].field;
  }
  if (other != NULL)
    complain("lynxbench confirm: --by: %s: %s differs from the run's; accepted: an experiment on the same server, with the same "
             "requests\n",
             path, other);
  else if (run->workload.output_tokens != made->workload.output_tokens)
    complain("%s: its answers have %lld tokens, the run's %lld: what a setting does may differ\n", path,
             (long long)made->workload.output_tokens, (long long)run->workload.output_tokens);
  return other == NULL;
}

static int judge_swap(struct confirming *c, const struct bundle_file *made, const struct swapped_effect *effect, char side) {
  char instead[700];
  struct sensitivity of = {.perturber = NULL};
  (void)snprintf(instead, sizeof instead, "%.100s was swapped among others, %.100s to %.100s; the run has the level of %c%s", effect->fact,
                 effect->a, effect->b, side,
                 effect->told_apart ? "" : "; what it does by itself there is not told apart, so that this decides nothing");
  c->plan.instead = instead;
  (void)snprintf(of.target, sizeof of.target, "fact: %.80s", effect->fact);
  of.of[RESPONSE_THROUGHPUT] = side == 'A' ? effect->at_a : slope_turned(effect->at_b);
  c->confirmation = (struct confirmation){
      .of = &of, .effect = of.of[RESPONSE_THROUGHPUT], .response = effect->response, .rung = effect->rung};
  if (effect->told_apart) c->confirmation.verdict = confirm_decide(&c->plan, &c->confirmation.effect);
  const struct confirmation_view view = {&c->plan, &c->confirmation, &c->all, NULL, 0};
  if (!show(c, &view)) return EXIT_CONDITIONS;
  int code = c->arguments->option[FLAG_RECORD] != NULL ? record(c, &view, made->result.seal.root) : EXIT_HOLDS;
  return code == EXIT_HOLDS ? exit_of(c) : code;
}

static int read_swap(struct confirming *c, const struct bundle_file *made, const char *path) {
  struct swapped_effect effect;
  struct lynx_error error = {0};
  struct arena arena = {0};
  const char *fact = c->arguments->option[FLAG_FACT], *named = c->plan.finding->named;
  const struct contract *of = &made->result.contract;
  int code = EXIT_WRONG_INPUT;
  if (!is_of_the_same(c->p.contract, of, path)) return EXIT_WRONG_INPUT;
  compare_loads(c, of, path);
  if (swapped_effect_read(made->bundle, of, fact, named, &arena, &effect, &error) == LYNX_OK) {
    char side = side_of(c, made, &effect);
    if (side != 0) code = judge_swap(c, made, &effect, side);
  } else {
    lynx_error_at(&error, path, 0, NULL);
    code = report_error(&error);
  }
  arena_release(&arena);
  return code;
}

static int confirm_by(struct confirming *c, const char *name, const char *path) {
  struct bundle_file made;
  if (!bundle_file_open_possible(c->p.path, &c->p.run)) return EXIT_WRONG_INPUT;
  c->p.has_run = true;
  c->p.contract = &c->p.run.result.contract;
  c->p.out = path;
  int code = read_findings(c);
  const struct finding *found = code == EXIT_HOLDS ? finding_called(c, name) : NULL;
  if (found == NULL) return EXIT_WRONG_INPUT;
  c->plan = confirm_plan_by_swap(found);
  if (!bundle_file_open_possible(path, &made)) return EXIT_WRONG_INPUT;
  code = read_swap(c, &made, path);
  bundle_file_close(&made);
  return code;
}

static int confirm(struct confirming *c) {
  const char *name = c->arguments->n_positional > 1 ? c->arguments->positional[1] : NULL;
  if (name == NULL && bundle_is(c->p.path)) { /* to list needs nothing that runs */
    if (!bundle_file_open(c->p.path, &c->p.run)) return EXIT_WRONG_INPUT;
    c->p.has_run = true;
    int read = read_findings(c);
    return read == EXIT_HOLDS ? list(c) : read;
  }
  const char *by = c->arguments->option[FLAG_BY];
  if (name != NULL && by != NULL) return confirm_by(c, name, by);
  int code = perturbation_open(&c->p);
  if (code == EXIT_HOLDS && !c->p.has_run) {
    complain("lynxbench confirm: %s: found a contract; accepted: the bundle of `diagnose` or `run`, which has findings\n", c->p.path);
    code = EXIT_WRONG_INPUT;
  }
  if (code == EXIT_HOLDS) code = read_findings(c);
  if (code == EXIT_HOLDS && name == NULL) return list(c);
  if (code == EXIT_HOLDS) code = find_finding(c, name);
  if (code == EXIT_HOLDS) code = prepare(c);
  if (code == EXIT_HOLDS) code = perturbation_run(&c->p);
  return code == EXIT_HOLDS ? judge(c) : code;
}

static int run(const struct arguments *arguments) {
  struct confirming *c = xalloc(1, sizeof *c);
  c->arguments = arguments;
  c->p = (struct perturbation){.tool = "confirm",
                               .path = arguments->positional[0],
                               .contract_path = arguments->option[FLAG_CONTRACT],
                               .agreed = arguments->option[FLAG_RUN],
                               .endpoint = arguments->option[FLAG_ENDPOINT],
                               .key_variable = arguments->option[FLAG_KEY_ENV],
                               .duration = arguments->option[FLAG_FOR] != NULL ? arguments->option[FLAG_FOR] : "4min",
                               .out = arguments->option[FLAG_OUT],
                               .n_looks = LOOKS,
                               .enough = enough,
                               .context = c,
                               .quiet = arguments->option[FLAG_QUIET] != NULL};
  int code = confirm(c);
  if (c->has_live) live_release(&c->live);
  perturbation_close(&c->p);
  free(c);
  return code;
}

const struct command command_confirm = {
    .name = "confirm",
    .summary = "test a finding by the experiment that it names",
    .usage = "RUN [FINDING]",
    .least = 1,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Without a FINDING it lists those of the run. The finding's resource is slowed, or its cause taken away, for blocks in random\n"
        "order between undisturbed ones, under the run's contract. Whether that confirms or refutes it is decided by a threshold\n"
        "that is fixed beforehand (docs/method.md); looks at the data are paid for. It acts on processes of this machine.\n"
        "Where the contract starts the server, one Python function of it can be slowed alone; else its process. There --set tests a\n"
        "remedy of yours for any finding: the server is started with it and without it, in random order.\n"
        "With --by it measures nothing: an experiment or a search that swapped the cause among others gives the verdict.\n"
        "Exit code: 0 confirmed, or listed; 1 refuted; 3 inconclusive, not probed, or no finding.",
    .example = "build/lynxbench confirm --help",
    .run = run};
