#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/random.h"
#include "base/number.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/compare_files.h"
#include "cli/compare_instruments.h"
#include "cli/confine.h"
#include "cli/contract_file.h"
#include "cli/contract_run.h"
#include "cli/option_value.h"
#include "cli/recording.h"
#include "executor/capture.h"
#include "executor/difference.h"
#include "report/text.h"
#include "result/comparison.h"

enum {
  FLAG_BEFORE,
  FLAG_AFTER,
  FLAG_ENV_BEFORE,
  FLAG_ENV_AFTER,
  FLAG_INSTRUMENTS,
  FLAG_OUT,
  FLAG_MARGIN,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_QUIET,
  FLAG_JSON
};

static const struct option_spec options[] = {
    [FLAG_BEFORE] = OPTION("before", "FILE ...",
                           "results of other tools, each of one run, before a change: files, or text that was pasted"),
    [FLAG_AFTER] = OPTION("after", "FILE ...", "the same after it"),
    [FLAG_ENV_BEFORE] = OPTION("env-before", "FILE", "the machine before: collect_env, `nvidia-smi -q -x`, a capture"),
    [FLAG_ENV_AFTER] = OPTION("env-after", "FILE", "the same after: what else changed is then shown"),
    [FLAG_INSTRUMENTS] = OPTION("instruments", "FILE ...",
                                "why two results of one server differ: results, bundles, two metrics pages of it"),
    [FLAG_OUT] = OPTION("out", "NAME", "of the two bundles, as in NAME-a.lynx and NAME-b.lynx (contracts only)"),
    [FLAG_MARGIN] = OPTION_WITH("margin", "SHARE", "instead of the first contract's decision.margin, as in 0.05 (files: 0.05)", VALUE_SHARE,
                                1e-12, 1, "a share above 0, at most 1, such as 0.05"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "record both runs' intents before and their bundles after (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key for it (default: LYNXBENCH_KEY)"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

/* Where no contract says them. */
#define FILES_MARGIN 0.05
#define FILES_CONFIDENCE 0.95

/* --- measuring both, in turn --- */

struct side {
  struct contract_file file;
  char out[300];
  struct recording recording;
  struct contract_run r;
};

static bool open_side(struct side *s, const char *path, const char *letter, const struct arguments *arguments) {
  if (!contract_file_read(path, &s->file)) {
    if (access(path, R_OK) == 0)
      complain("next: results of other tools are read by `lynxbench compare --instruments A B` (why two differ) and\n"
               "      `lynxbench compare --before A ... --after B ...` (did a change help)\n");
    return false;
  }
  contract_file_print_problems(&s->file, path, true, false, stderr);
  if (s->file.problems.n_errors > 0) {
    complain("lynxbench: %s: %zu error%s: nothing was run\n", path, s->file.problems.n_errors, LYNX_S(s->file.problems.n_errors));
    return false;
  }
  const struct contract *c = &s->file.contract;
  if (c->regime.load == LOAD_SATURATION || c->regime.load == LOAD_CLIMB || contract_states(c, "method.precision_target")) {
    complain("lynxbench: %s: compare interleaves a fixed number of sessions: it takes neither load: saturation nor "
             "method.precision_target. Run such contracts by themselves and compare the bundles\n",
             path);
    return false;
  }
  char suffix[8];
  (void)snprintf(suffix, sizeof suffix, "-%s", letter);
  if (arguments->option[FLAG_OUT] != NULL) (void)snprintf(s->out, sizeof s->out, "%s-%s.lynx", arguments->option[FLAG_OUT], letter);
  else (void)screen_bundle_name(c, suffix, s->out, sizeof s->out);
  return true;
}

static void begin_side(struct side *s, const char *label, const char *interleaved, bool quiet) {
  struct contract_run *r = &s->r;
  contract_run_init(r, quiet, s->file.text.data, s->file.text.length, s->out);
  r->screen.label = label;
  r->screen.telling = s->recording.telling;
  r->request.interleaved = interleaved;
  r->request.meta = s->recording.link.meta;
  r->request.n_meta = s->recording.begun ? LYNX_COUNT(s->recording.link.meta) : 0;
  r->status = run_begin(&r->request, &r->run, &r->outcome, &r->error);
}

/* Rounds of one session of each, which goes first drawn again for every round. */
static void run_rounds(struct side sides[2], uint64_t seed) {
  struct random_stream random;
  random_init(&random, seed, "interleaving");
  int64_t n = sides[0].file.contract.method.sessions > sides[1].file.contract.method.sessions ? sides[0].file.contract.method.sessions
                                                                                              : sides[1].file.contract.method.sessions;
  for (int64_t number = 0; number < n && sides[0].r.status == LYNX_OK && sides[1].r.status == LYNX_OK; number++) {
    int first = (int)random_below(&random, 2);
    for (int k = 0; k < 2; k++) {
      struct contract_run *r = &sides[(first + k) % 2].r;
      if (r->status == LYNX_OK) r->status = run_round(r->run, number, number == n - 1);
    }
  }
}

/* Known before the first request. */
static bool are_alike(const struct contract *a, const struct contract *b) {
  struct arena arena = {0};
  const char *difference = contract_difference(a, b, CONTRACT_LIKE_LOAD, &arena);
  if (difference != NULL)
    complain("lynxbench compare: nothing was run: the loads differ, so that no figure could be judged: %s; accepted: two contracts of one "
             "load\n",
             difference);
  arena_release(&arena);
  return difference == NULL;
}

static int run_both(const struct arguments *arguments, struct side sides[2]) {
  const struct pen_wanted wanted = {"compare", "a ledger", arguments->option[FLAG_LEDGER], arguments->option[FLAG_KEY], NULL};
  char interleaved[40];
  uint8_t salt[8] = {0};
  (void)random_salt(salt, sizeof salt); /* without one, both still carry the same */
  for (size_t i = 0; i < sizeof salt; i++) (void)snprintf(interleaved + 2 * i, 3, "%02x", salt[i]);
  int code = EXIT_HOLDS;
  if (!open_side(&sides[0], arguments->positional[0], "a", arguments) || !open_side(&sides[1], arguments->positional[1], "b", arguments))
    code = EXIT_WRONG_INPUT;
  else if (!are_alike(&sides[0].file.contract, &sides[1].file.contract)) code = EXIT_WRONG_INPUT;
  else if (strcmp(sides[0].out, sides[1].out) == 0) code = EXIT_WRONG_INPUT;
  else if (!output_is_free("compare", sides[0].out) || !output_is_free("compare", sides[1].out)) code = EXIT_WRONG_INPUT;
  else if (!recording_begin(&wanted, &sides[0].file, &sides[0].recording) || !recording_begin(&wanted, &sides[1].file, &sides[1].recording))
    code = EXIT_WRONG_INPUT;
  else {
    for (int i = 0; i < 2; i++) begin_side(&sides[i], i == 0 ? "A" : "B", interleaved, arguments->option[FLAG_QUIET] != NULL);
    run_rounds(sides, (uint64_t)sides[0].file.contract.method.seed);
    for (int i = 0; i < 2; i++) {
      const struct run_outcome *outcome = &sides[i].r.outcome;
      int ended = contract_run_end(&sides[i].r);
      if (ended != EXIT_HOLDS && (code == EXIT_HOLDS || code == EXIT_INTERRUPTED))
        code = ended; /* the first failure; the other was cut short */
      if (outcome->sealed) complain("%s: %s (%s), root %.16s\n", sides[i].out, bundle_end_text(outcome->end), outcome->why, outcome->root);
    }
  }
  for (int i = 0; i < 2; i++)
    if (!recording_end(&sides[i].recording, sides[i].out, sides[i].r.outcome.sealed, true) && code == EXIT_HOLDS) code = EXIT_CONDITIONS;
  return code;
}

/* --- saying what came out --- */

static void write_json(struct result *a, struct result *b, struct comparison_list *list, const struct difference_list *differences,
                       struct buffer *out) {
  struct json_writer json;
  struct comparison_answer answer;
  comparison_answer(a, b, list, &answer);
  json_begin_object(&json, out);
  json_put_text(&json, "answer", answer.sentence);
  json_put_text(&json, "better", answer.winner[0] != 0 ? answer.winner : NULL);
  json_put_bool(&json, "interleaved", list->paired);
  json_put_double(&json, "margin", list->margin);
  json_put_double(&json, "confidence", list->confidence);
  json_put_double(&json, "shared_confidence", list->shared_confidence);
  json_put_text(&json, "loads_differ", list->load);
  json_put_text(&json, "conditions_differ", list->unlike);
  json_put_text(&json, "conditions_felt", list->felt);
  json_key(&json, "figures");
  json_open_array(&json);
  for (size_t i = 0; i < list->n_items; i++) {
    const struct comparison_figure *f = &list->items[i];
    json_open_object(&json);
    json_put_text(&json, "precision", f->precision);
    json_put_text(&json, "figure", f->name);
    json_put_text(&json, "formula", f->formula);
    json_put_double(&json, "a", f->a);
    json_put_double(&json, "b", f->b);
    json_put_double(&json, "ratio", f->ratio.ratio);
    json_put_double(&json, "low", f->ratio.low);
    json_put_double(&json, "high", f->ratio.high);
    json_put_double(&json, "p_difference", f->ratio.p_difference);
    json_put_double(&json, "p_equivalence", f->ratio.p_equivalence);
    json_put_text(&json, "verdict", f->not_judged != NULL ? "not judged" : verdict_text(f->ratio.verdict));
    if (f->not_judged != NULL) json_put_text(&json, "why", f->not_judged);
    if (f->felt_text != NULL) json_put_text(&json, "conditions", f->felt_text);
    if (f->ratio.verdict == VERDICT_INCONCLUSIVE) json_put_double(&json, "sessions_needed_per_side", f->ratio.needed_per_side);
    json_close(&json);
  }
  json_close(&json);
  json_put_int(&json, "executor_differences", (int64_t)differences->n_identity);
  json_key(&json, "not_compared");
  json_open_array(&json);
  for (size_t i = 0; i < list->n_only_one; i++) json_text(&json, list->only_one[i]);
  json_close(&json);
  json_close(&json);
  (void)json_finish(&json); /* an overflow is reported by write_buffer */
  (void)buffer_text(out, "\n");
}

/* What keeps a side from a claim keeps the comparison from a verdict. */
static size_t tell_refusals(struct bundle_file *file, const char *letter) {
  size_t n = 0;
  for (size_t i = 0; i < file->result.n_precisions; i++) {
    struct claim claim;
    if (file->result.precisions[i].unavailable) continue;
    claim_build(&file->result, i, &claim);
    for (size_t k = 0; k < claim.n_reasons; k++)
      complain("%s, %s: no claim could be made: %s\n", letter, claim.precision, claim.reasons[k]);
    n += claim.n_reasons;
  }
  return n;
}

static int judge(const struct comparison_list *list, size_t n_refusals) {
  bool beyond = false, inconclusive = list->n_judged == 0 || n_refusals > 0 || list->unlike != NULL;
  for (size_t i = 0; i < list->n_items; i++) {
    if (list->items[i].not_judged != NULL) continue;
    beyond = beyond || list->items[i].ratio.verdict == VERDICT_DIFFERENT_BEYOND;
    inconclusive = inconclusive || list->items[i].ratio.verdict == VERDICT_INCONCLUSIVE;
  }
  return n_refusals > 0 ? EXIT_INCONCLUSIVE : beyond ? EXIT_DOES_NOT_HOLD : inconclusive ? EXIT_INCONCLUSIVE : EXIT_HOLDS;
}

static int compare_bundles(const char *path_a, const char *path_b, const struct arguments *arguments) {
  struct bundle_file a, b;
  struct buffer out;
  struct comparison_list list;
  struct fact_list facts_a = {0}, facts_b = {0};
  struct difference_list differences = {0};
  struct lynx_error unread = {0}; /* without the facts there is no diff */
  if (!bundle_file_open_possible(path_a, &a)) return EXIT_WRONG_INPUT;
  if (!bundle_file_open_possible(path_b, &b)) {
    bundle_file_close(&a);
    return EXIT_WRONG_INPUT;
  }
  a.result.contract.decision.margin = option_number(arguments, FLAG_MARGIN, a.result.contract.decision.margin);
  comparison_make(&a.result, &b.result, bundle_files_interleaved(&a, &b), &list);
  bool known = a.result.n_precisions > 0 && b.result.n_precisions > 0 &&
               bundle_start_facts(a.bundle, a.result.precisions[0].name, &facts_a, &unread) == LYNX_OK &&
               bundle_start_facts(b.bundle, b.result.precisions[0].name, &facts_b, &unread) == LYNX_OK;
  if (known) capture_diff(&facts_a, &facts_b, &differences);
  if (strcmp(a.result.seal.root, b.result.seal.root) == 0 && a.result.seal.root[0] != 0)
    complain("A and B are the same bundle: every ratio is 1, and its interval is that of two independent runs\n");
  size_t n_refusals = tell_refusals(&a, "A") + tell_refusals(&b, "B");
  buffer_init(&out, 64 << 20);
  if (arguments->option[FLAG_JSON] != NULL) write_json(&a.result, &b.result, &list, &differences, &out);
  else
    (void)text_comparison(&a.result, &b.result, &list, known ? &differences : NULL, color_wanted(stdout),
                          &out); /* an overflow: reported below */
  if (!known && arguments->option[FLAG_JSON] == NULL) (void)buffer_text(&out, "the executors were not both captured\n");
  int code = write_buffer(NULL, &out) ? judge(&list, n_refusals) : EXIT_CONDITIONS;
  buffer_release(&out);
  comparison_release(&list);
  difference_list_release(&differences);
  fact_list_release(&facts_a);
  fact_list_release(&facts_b);
  bundle_file_close(&a);
  bundle_file_close(&b);
  return code;
}

/* --- files of other tools --- */

static bool is_of_files(const struct arguments *arguments) {
  return arguments->option[FLAG_BEFORE] != NULL || arguments->option[FLAG_AFTER] != NULL;
}

static size_t take_files(const struct arguments *arguments, size_t option, const char *ret[COMPARED_FILES_MAX]) {
  size_t n = 0;
  for (size_t i = 0; i < arguments->n_listed; i++) {
    if (arguments->listed_by[i] != option) continue;
    if (n < COMPARED_FILES_MAX) ret[n] = arguments->listed[i];
    n++;
  }
  return n;
}

static int run_files(const struct arguments *arguments) {
  struct compare_files_request request = {.environment_before = arguments->option[FLAG_ENV_BEFORE],
                                          .environment_after = arguments->option[FLAG_ENV_AFTER],
                                          .margin = option_number(arguments, FLAG_MARGIN, FILES_MARGIN),
                                          .confidence = FILES_CONFIDENCE,
                                          .json = arguments->option[FLAG_JSON] != NULL};
  request.n_before = take_files(arguments, FLAG_BEFORE, request.before);
  request.n_after = take_files(arguments, FLAG_AFTER, request.after);
  if (arguments->n_positional > 0 || request.n_before == 0 || request.n_after == 0 || request.n_before > COMPARED_FILES_MAX ||
      request.n_after > COMPARED_FILES_MAX) {
    complain("lynxbench compare: files before: found %zu, after: %zu, other arguments: %d; accepted: 1 to %d behind --before and behind "
             "--after, and nothing else\n",
             request.n_before, request.n_after, arguments->n_positional, COMPARED_FILES_MAX);
    return EXIT_WRONG_INPUT;
  }
  if (arguments->option[FLAG_OUT] != NULL || arguments->option[FLAG_LEDGER] != NULL || arguments->option[FLAG_KEY] != NULL) {
    complain("lynxbench compare: --out, --ledger and --key are of contracts that are run; files of other tools are only read\n");
    return EXIT_WRONG_INPUT;
  }
  return compare_files(&request);
}

static int run_instruments(const struct arguments *arguments) {
  const char *files[COMPARED_FILES_MAX];
  size_t n = take_files(arguments, FLAG_INSTRUMENTS, files);
  if (arguments->n_positional > 0 || is_of_files(arguments) || n > COMPARED_FILES_MAX) {
    complain("lynxbench compare: --instruments: found other files beside it, or more than %d; accepted: two sides behind it, and nothing "
             "else\n",
             COMPARED_FILES_MAX);
    return EXIT_WRONG_INPUT;
  }
  return compare_instruments(files, n, option_number(arguments, FLAG_MARGIN, FILES_MARGIN), arguments->option[FLAG_JSON] != NULL);
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  (void)ret;
  return is_of_files(arguments) || arguments->option[FLAG_INSTRUMENTS] != NULL;
}

static int run(const struct arguments *arguments) {
  if (arguments->option[FLAG_INSTRUMENTS] != NULL) return run_instruments(arguments);
  if (is_of_files(arguments)) return run_files(arguments);
  if (arguments->n_positional < 2) {
    complain("lynxbench compare: an argument is missing: A B, or --before FILE ... --after FILE ...\n"
             "next: lynxbench compare --help\n");
    return EXIT_WRONG_INPUT;
  }
  if (text_ends_with(arguments->positional[0], ".lynx") && text_ends_with(arguments->positional[1], ".lynx"))
    return compare_bundles(arguments->positional[0], arguments->positional[1], arguments);
  static struct side sides[2];
  int code = run_both(arguments, sides);
  if (code == EXIT_HOLDS) code = compare_bundles(sides[0].out, sides[1].out, arguments);
  for (int i = 0; i < 2; i++) contract_file_release(&sides[i].file);
  return code;
}

const struct command command_compare = {
    .name = "compare",
    .summary = "decide whether two executors are the same within a margin",
    .usage = "A B",
    .least = 0,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "A and B are two contracts, whose sessions are then run in turn (which one first is drawn for every round), or two\n"
               "bundles (.lynx). Every figure is compared as the ratio of the sessions' figures: the same within the margin (two\n"
               "one-sided tests), different but within it, different beyond it, or inconclusive, and then how many sessions it would\n"
               "take. Exits with 0 if every figure is within the margin, 1 if one is beyond it, 3 if one is inconclusive, or where\n"
               "a side supports no claim (the reasons are told). `lynxbench iterate measure` records what a change brought.\n"
               "\n"
               "--before and --after take results that other tools wrote or printed (`lynxbench import --formats`), 2 to 5 of each\n"
               "side, each of one run. They say whether the change helped, by how much, and what else differs.\n"
               "\n"
               "--instruments takes two sides that measured one server: a result, a bundle, or the server's metrics page before\n"
               "and after. It says which of what they did unlike (formula, tokens, load, streaming) explains how much. Exits with\n"
               "0 if they agree, 1 if what they did explains how they differ, 3 if it does not.",
    .example = "build/lynxbench compare /tmp/null.lynx /tmp/null.lynx --margin 0.9",
    .confines = confines,
    .run = run};
