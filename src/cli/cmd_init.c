/* init: writes a commented contract that runs, from flags or by asking. */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "cli/command.h"
#include "cli/contract_file.h"

enum {
  FLAG_ENDPOINT,
  FLAG_MODEL,
  FLAG_CHAT,
  FLAG_RATE,
  FLAG_CONCURRENCY,
  FLAG_COUNTED,
  FLAG_SESSIONS,
  FLAG_OUTPUT_TOKENS,
  FLAG_TTFT,
  FLAG_NAME,
  FLAG_OUT
};

static const struct option_spec options[] = {
    [FLAG_ENDPOINT] = {"endpoint", "URL", "where the executor serves, such as http://127.0.0.1:8000"},
    [FLAG_MODEL] = {"model", "NAME", "the model, as the server knows it"},
    [FLAG_CHAT] = {"chat", NULL, "use the chat route instead of completions"},
    [FLAG_RATE] = {"rate", "R", "requests per second (open loop, Poisson)"},
    [FLAG_CONCURRENCY] = {"concurrency", "N", "requests in flight (closed loop); instead of --rate"},
    [FLAG_COUNTED] = {"counted", "DURATION", "the counted window of each session (60s)"},
    [FLAG_SESSIONS] = {"sessions", "N", "how often it is repeated (3)"},
    [FLAG_OUTPUT_TOKENS] = {"output-tokens", "N", "tokens to generate per request (64)"},
    [FLAG_TTFT] = {"ttft", "DURATION", "the objective for the 99th percentile of the time to first token"},
    [FLAG_NAME] = {"name", "NAME", "a short name for the contract"},
    [FLAG_OUT] = {"out", "FILE", "where to write (contract.yaml); - for standard output"}};

/* Asks on the terminal if there is one; an empty answer takes the fallback. */
static const char *ask(struct arena *arena, const char *given, const char *question, const char *fallback) {
  if (given != NULL) return given;
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return fallback;
  char line[512];
  (void)fprintf(stderr, "%s%s%s%s ", question, fallback != NULL ? " [" : "", fallback != NULL ? fallback : "", fallback != NULL ? "]" : "");
  (void)fflush(stderr);
  if (fgets(line, sizeof line, stdin) == NULL) return fallback;
  line[strcspn(line, "\r\n")] = 0;
  return line[0] != 0 ? arena_copy(arena, line) : fallback;
}

static const char *quoted(struct arena *arena, const char *text) {
  char *out = arena_alloc(arena, 2 * strlen(text) + 3, 1), *p = out;
  *p++ = '"';
  for (; *text != 0; text++) {
    if (*text == '"' || *text == '\\') *p++ = '\\';
    *p++ = *text;
  }
  *p = '"';
  return out;
}

static void write_contract(struct arena *arena, const struct arguments *a, const char *endpoint, const char *model, const char *rate,
                           struct buffer *out) {
  const char *counted = a->option[FLAG_COUNTED] != NULL ? a->option[FLAG_COUNTED] : "60s",
             *sessions = a->option[FLAG_SESSIONS] != NULL ? a->option[FLAG_SESSIONS] : "3",
             *tokens = a->option[FLAG_OUTPUT_TOKENS] != NULL ? a->option[FLAG_OUTPUT_TOKENS] : "64";
  (void)buffer_printf(out,
                      "# A lynxbench contract: what is measured, how, and what the teams agreed on. `lynxbench lint` explains\n# what is "
                      "wrong and what is left unstated; docs/contract.md describes every field.\nlynxbench: 1\nname: %s\n",
                      quoted(arena, a->option[FLAG_NAME] != NULL ? a->option[FLAG_NAME] : "first"));
  (void)buffer_text(out, "# question: what do the teams want to know?\n\nwhere:\n  environment: development     # production, canary or "
                         "twin; production needs load caps and an abort_slo\n  # load_cap_per_s: 50\n\n");
  (void)buffer_printf(out, "executor:\n  endpoint: %s\n", quoted(arena, endpoint));
  (void)buffer_text(
      out, "  ready_path: /v1/models       # answers 200 once the executor can serve\n  # start: {command: [program, "
           "argument, \"{precision}\"]}   # then every session is a fresh process\n  # expect: {accelerator.cpu.model: \"...\"}   # "
           "facts that must hold; `lynxbench capture --endpoint ...` lists them\n\n");
  (void)buffer_printf(out,
                      "workload:\n  driver: http\n  api: %s\n  model: %s\n  output_tokens: %s\n  ignore_eos: true             # servers "
                      "that do not know it write shorter answers, which is then counted and shown\n",
                      a->option[FLAG_CHAT] != NULL ? "chat" : "completions", quoted(arena, model), tokens);
  (void)buffer_text(out,
                    "  prompts: {count: 64, bytes: 256}   # file: prompts.txt cuts them from a text of yours\n  # profile: the real "
                    "traffic that this stands for, in words\n  # api_key_env: OPENAI_API_KEY   # the key itself is never recorded\n\n");
  if (a->option[FLAG_CONCURRENCY] != NULL)
    (void)buffer_printf(out, "regime:\n  load: closed                 # or poisson, constant (with rate_per_s)\n  concurrency: %s\n\n",
                        a->option[FLAG_CONCURRENCY]);
  else
    (void)buffer_printf(
        out, "regime:\n  load: poisson                # independent users; or constant, or closed (with concurrency)\n  rate_per_s: %s\n\n",
        rate);
  if (a->option[FLAG_TTFT] != NULL)
    (void)buffer_printf(out, "slo:\n  - {metric: time_to_first_token, quantile: 0.99, at_most: %s}\n\n", a->option[FLAG_TTFT]);
  else
    (void)buffer_text(
        out, "# slo:                         # what good means\n#   - {metric: time_to_first_token, quantile: 0.99, at_most: 500ms}\n\n");
  (void)buffer_printf(out,
                      "precisions: [as-served]        # or [f32, bf16, int8] with executor.start\n\nmethod:\n  warm_up: 10s                "
                      " # load that is not counted\n  counted: %s\n  sessions: %s                  # intervals are over sessions: at least "
                      "2\n  drain: 30s                   # how long counted requests may take to finish\n  request_timeout: 60s\n  seed: "
                      "1\n  instrument_error_at_most: 0.05 # a figure that lynxbench's own lateness can have changed by more is not "
                      "stated\n  stolen_at_most: "
                      "0.1          # nor if other guests of the host take more than this share of the processors\n\n",
                      counted, sessions);
  (void)buffer_text(out, "# accuracy: {text_file: held-out.txt, at_least_ratio: 0.99}\n# owners: {serving: Inference team}\n# signatories: "
                         "[ML, Platform, Infrastructure, Procurement]\n");
}

static int run(const struct arguments *arguments) {
  struct arena arena = {0};
  struct buffer out;
  struct contract_file check = {0};
  bool can_ask = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
  if (!can_ask && (arguments->option[FLAG_ENDPOINT] == NULL || arguments->option[FLAG_MODEL] == NULL)) {
    (void)fprintf(stderr, "lynxbench init: there is no terminal to ask on: give --endpoint URL and --model NAME (and --rate R or "
                          "--concurrency N; 2 requests/s if neither)\nnext: lynxbench init --help\n");
    return EXIT_WRONG_INPUT;
  }
  buffer_init(&out, 1 << 20);
  const char *endpoint = ask(&arena, arguments->option[FLAG_ENDPOINT], "Where does the executor serve?", "http://127.0.0.1:8000");
  const char *model = ask(&arena, arguments->option[FLAG_MODEL], "Which model, as the server knows it?", "default");
  const char *rate = arguments->option[FLAG_CONCURRENCY] != NULL
                         ? ""
                         : ask(&arena, arguments->option[FLAG_RATE], "How many requests per second?", "2");
  const char *path = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : "contract.yaml";
  write_contract(&arena, arguments, endpoint, model, rate, &out);
  (void)contract_parse(out.data, out.length, &check.arena, &check.contract, &check.problems); /* its problems are told below */
  int code = EXIT_HOLDS;
  if (check.problems.n_errors > 0) {
    (void)fprintf(stderr, "lynxbench init: what was given does not make a valid contract:\n");
    for (size_t i = 0; i < check.problems.n_items; i++)
      if (check.problems.items[i].kind == PROBLEM_ERROR)
        (void)fprintf(stderr, "  %s: found %s; accepted: %s\n", check.problems.items[i].field, check.problems.items[i].found,
                      check.problems.items[i].accepted);
    code = EXIT_WRONG_INPUT;
  } else if (strcmp(path, "-") != 0 && access(path, F_OK) == 0) {
    (void)fprintf(stderr, "lynxbench init: %s exists, and is not overwritten; name another with --out\n", path);
    code = EXIT_WRONG_INPUT;
  } else if (!write_buffer(path, &out)) code = EXIT_CONDITIONS;
  else if (strcmp(path, "-") != 0) (void)printf("%s written; next: lynxbench lint %s; lynxbench run %s\n", path, path, path);
  arena_release(&check.arena);
  buffer_release(&out);
  arena_release(&arena);
  return code;
}

const struct command command_init = {.name = "init",
                                     .summary = "write a commented contract that runs",
                                     .usage = "",
                                     .options = options,
                                     .n_options = LYNX_COUNT(options),
                                     .details = "Takes flags; on a terminal it asks for endpoint, model and rate where they are not given.",
                                     .example = "build/lynxbench init --endpoint http://127.0.0.1:8000 --model my-model --rate 2 --out -",
                                     .run = run};
