/* init: writes a commented contract that runs, from flags or by asking. */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "cli/command.h"
#include "cli/first_contract.h"

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

static struct first_contract contract_of(const struct arguments *a, const char *endpoint, const char *model, const char *rate) {
  struct first_contract first = first_contract_defaults(endpoint, model);
  const char **const texts[] = {&first.counted, &first.sessions, &first.output_tokens, &first.name};
  static const int flags[] = {FLAG_COUNTED, FLAG_SESSIONS, FLAG_OUTPUT_TOKENS, FLAG_NAME};
  for (size_t i = 0; i < LYNX_COUNT(flags); i++)
    if (a->option[flags[i]] != NULL) *texts[i] = a->option[flags[i]];
  first.rate = rate;
  first.concurrency = a->option[FLAG_CONCURRENCY];
  first.time_to_first_token = a->option[FLAG_TTFT];
  first.chat = a->option[FLAG_CHAT] != NULL;
  return first;
}

static int run(const struct arguments *arguments) {
  struct arena arena = {0};
  struct buffer out;
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
  struct first_contract first = contract_of(arguments, endpoint, model, rate);
  int code = EXIT_HOLDS;
  if (!first_contract_write(&first, "init", &out)) {
    code = EXIT_WRONG_INPUT;
  } else if (strcmp(path, "-") != 0 && access(path, F_OK) == 0) {
    (void)fprintf(stderr, "lynxbench init: %s exists, and is not overwritten; name another with --out\n", path);
    code = EXIT_WRONG_INPUT;
  } else if (!write_buffer(path, &out)) code = EXIT_CONDITIONS;
  else if (strcmp(path, "-") != 0) (void)printf("%s written; next: lynxbench lint %s; lynxbench run %s\n", path, path, path);
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
