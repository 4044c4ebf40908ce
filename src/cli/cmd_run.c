#include <string.h>

#include "base/json.h"
#include "base/shell.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "cli/contract_run.h"
#include "cli/own_contract.h"
#include "cli/recording.h"
#include "cli/quick_run.h"
#include "cli/run_part.h"
#include "cli/server_look.h"
#include "result/question_answer.h"
#include "report/text.h"

enum {
  FLAG_OUT,
  FLAG_QUIET,
  FLAG_OBSERVE,
  FLAG_JSON,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_PART,
  FLAG_START,
  FLAG_FOR,
  FLAG_MODEL,
  FLAG_CHAT,
  FLAG_API_KEY_ENV,
  FLAG_CA_FILE,
  FLAG_KEY_VARIABLE,
  FLAG_PROFILERS,
  FLAG_PY_SPY
};

static const struct option_spec options[] = {
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle to write (default: the contract's name and the time, .lynx)"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_OBSERVE] = SWITCH("observe",
                            "send nothing: watch what others send, as `watch` does; without the right to, read the server's counters"),
    [FLAG_JSON] = SWITCH("json", "the outcome as one line of JSON on standard output"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "record the intent before, the bundle after (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key for it (default: LYNXBENCH_KEY)"),
    [FLAG_PART] = OPTION("part", "K/N", "be load host K of N, or auto: as srun, mpirun, PMI or Kubernetes says; merge joins the parts"),
    [FLAG_START] = OPTION("start", "TIME", "with --part: when all begin: 2026-11-22T03:30:00Z, or @SECONDS since 1970"),
    [FLAG_KEY_VARIABLE] = OPTION("key-variable", "NAME", "allow this workload.api_key_env, though it ends in neither _API_KEY nor _TOKEN"),
    [FLAG_FOR] = OPTION("for", "DURATION", "with a URL: how long it may take, about (default: 1min)"),
    [FLAG_MODEL] = OPTION("model", "NAME", "with a URL: the model (default: the first that the server lists)"),
    [FLAG_CHAT] = SWITCH("chat", "with a URL: the chat route (default: the one of completions, where it answers by it)"),
    [FLAG_API_KEY_ENV] = OPTION("api-key-env", "NAME", "with a URL: the variable that holds the server's key"),
    [FLAG_CA_FILE] = OPTION("ca-file", "FILE", "with a URL: certificates (PEM) of whoever signed the server's"),
    [FLAG_PROFILERS] = OPTION("profilers", "NAMES", "with method.attribution_sessions: only these profilers, commas between; or none"),
    [FLAG_PY_SPY] = OPTION("py-spy", "PATH",
                           "the py-spy to profile Python by (default: beside lynxbench, or in /usr/bin or /usr/local/bin)")};

/* Nothing answered: 3. The machine or the instrument made it invalid: 4. answer: to the contract's question, in one sentence. */
static int judge(const char *path, struct buffer *answer) {
  struct bundle_file file;
  int64_t n_ok = 0;
  bool invalid = false, uncertain = false;
  if (!bundle_file_open(path, &file)) return file.status == LYNX_IO ? EXIT_CONDITIONS : EXIT_OUR_BUG; /* the disk filled up meanwhile */
  for (size_t i = 0; i < file.result.n_precisions; i++) {
    n_ok += file.result.precisions[i].n_ok;
    invalid = invalid || file.result.precisions[i].instrument_limited;
    const struct result_certificate *c = &file.result.precisions[i].certificate;
    if (!c->searched || c->certified || c->range_ended || file.result.precisions[i].unavailable) continue;
    uncertain = true;
    complain("%s: no saturation point is certified: %s\n", file.result.precisions[i].name, c->text);
  }
  for (size_t i = 0; i < file.result.n_conditions; i++) complain("condition: %s\n", file.result.conditions[i]);
  if (invalid)
    complain(
        "the instrument's own lateness can have changed what would be claimed (method.instrument_error_at_most): no claim can be made; "
        "`lynxbench show %s --claim` says more\n",
        shell_word(path));
  invalid = invalid || file.result.n_conditions > 0;
  struct answer of_run;
  answer_of_result(&file.result, &of_run);
  (void)buffer_text(answer, of_run.sentence);
  bundle_file_close(&file);
  return n_ok == 0 ? EXIT_INCONCLUSIVE : invalid ? EXIT_CONDITIONS : uncertain ? EXIT_INCONCLUSIVE : EXIT_HOLDS;
}

/* The exit code: it is not what the line says where the line cannot be written. */
static int write_json(const char *path, const struct run_outcome *outcome, const struct buffer *answer, int code) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, 65536);
  json_begin_object(&json, &text);
  json_put_text(&json, "bundle", path);
  json_put_text(&json, "ended", bundle_end_text(outcome->end));
  json_put_text(&json, "why", outcome->why);
  json_put_text(&json, "root", outcome->root);
  if (answer->length > 0) json_put_text(&json, "answer", answer->data);
  json_put_int(&json, "exit", code);
  json_close(&json);
  bool good = json_finish(&json) && buffer_text(&text, "\n") && write_buffer(NULL, &text);
  buffer_release(&text);
  return good ? code : EXIT_CONDITIONS;
}

/* Whoever gave a URL wants to see something. */
static void print_result(const char *path) {
  struct bundle_file file;
  struct buffer out;
  if (!bundle_file_open(path, &file)) return;
  buffer_init(&out, 16 << 20);
  if (text_result(&file.result, false, color_wanted(stdout), &out)) (void)write_buffer(NULL, &out); /* a failure was reported */
  buffer_release(&out);
  bundle_file_close(&file);
}

/* What is checked before anything is sent. False: why not was reported. */
static bool prepare(const struct arguments *arguments, const char *contract_path, const char *given_out, struct contract_file *file,
                    struct run_part *part, struct recording *recording) {
  const struct pen_wanted wanted = {"run", "a ledger", arguments->option[FLAG_LEDGER], arguments->option[FLAG_KEY], NULL};
  contract_file_print_problems(file, contract_path, true, false, stderr);
  if (file->problems.n_errors > 0)
    complain("lynxbench: %s: %zu error%s: nothing was run\n", contract_path, file->problems.n_errors, LYNX_S(file->problems.n_errors));
  if (arguments->option[FLAG_PROFILERS] != NULL && file->problems.n_errors == 0 && file->contract.method.attribution_sessions == 0)
    complain("lynxbench run: --profilers: no session of %s has profilers; accepted with method.attribution_sessions: 1 or more\n",
             contract_path);
  bool good = file->problems.n_errors == 0 && run_part_read(arguments->option[FLAG_PART], arguments->option[FLAG_START], part);
  if (good && part->count > 0 && ledger_file_address(arguments->option[FLAG_LEDGER]) != NULL) {
    complain("lynxbench run: --part with a ledger: a part is no run; merge the parts, then `lynxbench ledger put`\n");
    good = false;
  }
  if (good && part->count == 0 && given_out != NULL) good = output_is_free("run", given_out);
  if (good && !recording_begin(&wanted, file, recording)) {
    (void)recording_end(recording, "", false, true); /* there is nothing to record */
    good = false;
  }
  if (!good) contract_file_release(file);
  return good;
}

/* Releases the file. */
static int run_contract_file(const struct arguments *arguments, const char *contract_path, struct contract_file file,
                             const char *given_out) {
  struct recording recording;
  struct run_part part;
  char name[200], part_name[4200];
  if (!prepare(arguments, contract_path, given_out, &file, &part, &recording)) return EXIT_WRONG_INPUT;
  const char *out = given_out != NULL ? given_out : screen_bundle_name(&file.contract, "", name, sizeof name);
  if (part.count > 0) out = run_part_path(out, &part, part_name, sizeof part_name);
  struct contract_run r;
  contract_run_init(&r, arguments->option[FLAG_QUIET] != NULL, file.text.data, file.text.length, out);
  r.screen.telling = recording.telling;
  r.request.key_variable = arguments->option[FLAG_KEY_VARIABLE];
  r.request.observation = (struct run_observation){.on = arguments->option[FLAG_OBSERVE] != NULL, .else_counters = true};
  r.request.profilers = (struct run_profilers){arguments->option[FLAG_PROFILERS], arguments->option[FLAG_PY_SPY]};
  r.request.part = part;
  r.request.meta = recording.link.meta;
  r.request.n_meta = recording.begun ? LYNX_COUNT(recording.link.meta) : 0;
  int code = contract_run_whole(&r);
  struct buffer answer;
  buffer_init(&answer, 1 << 16);
  if (code == EXIT_HOLDS && !r.request.observation.on && file.contract.regime.load != LOAD_OBSERVED) code = judge(out, &answer);
  if (!recording_end(&recording, out, r.outcome.sealed, arguments->option[FLAG_JSON] != NULL) && code == EXIT_HOLDS) code = EXIT_CONDITIONS;
  if (arguments->option[FLAG_JSON] != NULL) code = write_json(out, &r.outcome, &answer, code);
  else if (r.status == LYNX_OK) {
    bool shown = server_is_url(arguments->positional[0]); /* with its figures, below */
    if (answer.length > 0 && part.count == 0 && !shown) say("%s\n", answer.data);
    say("%s: %s (%s), root %.16s\n", out, bundle_end_text(r.outcome.end), r.outcome.why, r.outcome.root);
    if (shown) print_result(out);
    if (r.request.observation.on) say("next: lynxbench profile %s\n", shell_word(out));
    else if (part.count > 0) say("next, with all %lld parts: lynxbench merge ...\n", (long long)part.count);
    else
      say("next: lynxbench show %s; lynxbench show %s --claim; lynxbench show %s --html PAGE.html\n", shell_word(out), shell_word(out),
          shell_word(out));
  }
  buffer_release(&answer);
  contract_file_release(&file);
  return code;
}

static int run_url(const struct arguments *arguments) {
  char name[200], path[4200];
  const struct contract first = {.name = "first"};
  const char *out = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : screen_bundle_name(&first, "", name, sizeof name);
  const struct quick_run quick = {.tool = "run",
                                  .url = arguments->positional[0],
                                  .duration = arguments->option[FLAG_FOR],
                                  .model = arguments->option[FLAG_MODEL],
                                  .key_variable = arguments->option[FLAG_API_KEY_ENV],
                                  .ca_file = arguments->option[FLAG_CA_FILE],
                                  .chat = arguments->option[FLAG_CHAT] != NULL};
  struct contract_file file;
  int code = quick_run_write(&quick, out, quick_run_contract(out, path, sizeof path), &file);
  return code == EXIT_HOLDS ? run_contract_file(arguments, path, file, out) : code;
}

static int run(const struct arguments *arguments) {
  static const int of_url[] = {FLAG_FOR, FLAG_MODEL, FLAG_CHAT, FLAG_API_KEY_ENV, FLAG_CA_FILE};
  if (!profilers_read("run", arguments->option[FLAG_PROFILERS])) return EXIT_WRONG_INPUT;
  if (server_is_url(arguments->positional[0])) return run_url(arguments);
  for (size_t i = 0; i < LYNX_COUNT(of_url); i++)
    if (arguments->option[of_url[i]] != NULL) {
      complain(
          "lynxbench run: --%s goes with a URL (http://HOST:PORT); a contract says it itself. Found '%s'\nnext: lynxbench run --help\n",
          options[of_url[i]].name, arguments->positional[0]);
      return EXIT_WRONG_INPUT;
    }
  struct contract_file file;
  if (!contract_file_read(arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  if (file.problems.n_errors == 0) own_contract_remember(&file.contract);
  return run_contract_file(arguments, arguments->positional[0], file, arguments->option[FLAG_OUT]);
}

const struct command command_run = {
    .name = "run",
    .summary = "run a contract and seal the measurement in a bundle",
    .usage = "CONTRACT | URL",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "With a URL (http://HOST:PORT) it takes about --for 1min, 4 requests in flight, and writes the contract it used\n"
        "beside the bundle. The intent is written first; then, for every session and precision: the executor is started (if the contract\n"
        "says how), captured, loaded through warm-up and the counted window, asked for accuracy, and stopped.\n"
        "Ctrl-C once finishes what is in flight, twice aborts; either way what was measured is sealed as incomplete.\n"
        "With --part several hosts bring the load together: any launcher that starts a process per host will do, as in\n"
        "  srun -n 4 lynxbench run c.yaml --part auto --start @$(( $(date +%s) + 30 )) --out c.lynx\n"
        "writes c.part1.lynx and so on; `lynxbench merge` makes one bundle of them.",
    .example = "build/lynxbench run examples/null.yaml --out /tmp/null.lynx",
    .run = run};
