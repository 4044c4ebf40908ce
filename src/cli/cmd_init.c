/* init: writes a commented contract that runs, from flags, by asking the server, or by asking on the terminal. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/shell.h"
#include "cli/command.h"
#include "cli/first_contract.h"
#include "cli/option_value.h"
#include "cli/server_look.h"

enum {
  FLAG_ENDPOINT,
  FLAG_MODEL,
  FLAG_CHAT,
  FLAG_API_KEY_ENV,
  FLAG_CA_FILE,
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
    [FLAG_ENDPOINT] = OPTION("endpoint", "URL", "where the executor serves, such as http://127.0.0.1:8000"),
    [FLAG_MODEL] = OPTION("model", "NAME", "the model, as the server knows it"),
    [FLAG_CHAT] = SWITCH("chat", "use the chat route instead of completions"),
    [FLAG_API_KEY_ENV] = OPTION("api-key-env", "NAME", "the variable that holds the server's key"),
    [FLAG_CA_FILE] = OPTION("ca-file", "FILE", "certificates (PEM) of whoever signed the server's"),
    [FLAG_RATE] = OPTION("rate", "R", "requests per second (open loop, Poisson)"),
    [FLAG_CONCURRENCY] = OPTION("concurrency", "N", "requests in flight (closed loop); instead of --rate"),
    [FLAG_COUNTED] = OPTION("counted", "DURATION", "the counted window of each session (60s)"),
    [FLAG_SESSIONS] = OPTION("sessions", "N", "how often it is repeated (3)"),
    [FLAG_OUTPUT_TOKENS] = OPTION_WITH("output-tokens", "N", "tokens to generate per request (64)", VALUE_COUNT, 1, 100000, "1 to 100000"),
    [FLAG_TTFT] = OPTION("ttft", "DURATION", "the objective for the 99th percentile of the time to first token"),
    [FLAG_NAME] = OPTION("name", "NAME", "a short name for the contract"),
    [FLAG_OUT] = OPTION("out", "FILE", "where to write (contract.yaml); - for standard output")};

/* Asks on the terminal if there is one; an empty answer takes the fallback. */
static const char *ask(struct arena *arena, const char *given, const char *question, const char *fallback) {
  if (given != NULL) return given;
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return fallback;
  char line[512];
  complain("%s%s%s%s ", question, fallback != NULL ? " [" : "", fallback != NULL ? fallback : "", fallback != NULL ? "]" : "");
  (void)fflush(stderr);
  if (fgets(line, sizeof line, stdin) == NULL) return fallback;
  line[strcspn(line, "\r\n")] = 0;
  return line[0] != 0 ? arena_copy(arena, line) : fallback;
}

/* --- the server --- */

struct looked {
  char rate[32];
  struct server_access server;
  struct server_look look;
  int64_t answer_ns; /* alone */
};

/* A load that no server is too slow for: one that answers one request at a time is busy for two thirds of it. */
static void choose_rate(struct looked *l) {
  double rate = 2.0 / 3 / ((double)l->answer_ns / 1e9);
  (void)snprintf(l->rate, sizeof l->rate, "%.2g", rate > 20 ? 20 : rate < 0.05 ? 0.05 : rate);
}

static int look_at(const struct arguments *a, struct looked *ret) {
  const char *model = a->option[FLAG_MODEL];
  int64_t tokens = option_count(a, FLAG_OUTPUT_TOKENS, 64);
  if (model != NULL && (model[0] == 0 || strlen(model) >= SERVER_MODEL)) {
    complain("lynxbench init: --model: found a name of %zu characters; accepted: 1 to %d\n", strlen(model), SERVER_MODEL - 1);
    return EXIT_WRONG_INPUT;
  }
  const struct server_access given = {
      .given = a->positional[0], .key_variable = a->option[FLAG_API_KEY_ENV], .ca_file = a->option[FLAG_CA_FILE]};
  if (!server_access_read("init", &given, &ret->server)) return EXIT_WRONG_INPUT;
  int code = server_look("init", &ret->server, model, a->option[FLAG_CHAT] != NULL, &ret->look);
  if (code != EXIT_HOLDS) return code;
  ret->answer_ns = server_time_answer(&ret->server, &ret->look, (int)tokens);
  if (ret->answer_ns >= 0) choose_rate(ret);
  else
    complain("lynxbench init: %s: no answer of %lld tokens came within 20 s. --output-tokens asks for fewer; --endpoint URL writes a "
             "contract without asking\n",
             ret->look.model, (long long)tokens);
  return ret->answer_ns >= 0 ? EXIT_HOLDS : EXIT_EXECUTOR;
}

static double seconds(const char *text) {
  int64_t ns;
  return number_duration(text, strlen(text), &ns) ? (double)ns / 1e9 : 0;
}

/* What the run will be. */
static void say_plan(const struct looked *l, const struct first_contract *first) {
  double sessions = strtod(first->sessions, NULL), counted_s = seconds(first->counted),
         whole_s = sessions * (seconds(first->warm_up) + counted_s) + (double)l->answer_ns / 1e9,
         in_flight = first->concurrency != NULL ? strtod(first->concurrency, NULL) : 0, answer_s = (double)l->answer_ns / 1e9,
         rate = first->concurrency != NULL ? in_flight / answer_s : strtod(first->rate, NULL), n = sessions * counted_s * rate;
  char shown[SERVER_MODEL];
  (void)text_sanitise(shown, sizeof shown, l->look.model, strlen(l->look.model));
  say("%s by /v1/%s: an answer of %s tokens takes %.2g s alone. The run takes about %.0f min", shown,
      l->look.chat ? "chat/completions" : "completions", first->output_tokens, answer_s, whole_s < 60 ? 1 : whole_s / 60);
  if (first->concurrency == NULL) say(", at %s requests/s, and counts about %.0f requests", first->rate, n);
  say(".\n");
  if (first->concurrency == NULL && n < 100)
    say("So few support no p99: --counted makes the windows longer, --output-tokens the answers shorter.\n");
}

/* --- the contract --- */

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
  first.key_variable = a->option[FLAG_API_KEY_ENV];
  first.ca_file = a->option[FLAG_CA_FILE];
  return first;
}

static int run(const struct arguments *arguments) {
  struct arena arena = {0};
  struct buffer out;
  bool can_ask = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
  bool has_url = arguments->n_positional > 0;
  struct looked looked = {.answer_ns = -1};
  if (!has_url && !can_ask && (arguments->option[FLAG_ENDPOINT] == NULL || arguments->option[FLAG_MODEL] == NULL)) {
    complain("lynxbench init: there is no terminal to ask on: give the server's URL, or --endpoint URL and --model NAME (and "
             "--rate R or --concurrency N; 2 requests/s if neither)\nnext: lynxbench init --help\n");
    return EXIT_WRONG_INPUT;
  }
  if (has_url && arguments->option[FLAG_ENDPOINT] != NULL) {
    complain("lynxbench init: found a URL and --endpoint; accepted: one of them\n");
    return EXIT_WRONG_INPUT;
  }
  int looks = has_url ? look_at(arguments, &looked) : EXIT_HOLDS;
  if (looks != EXIT_HOLDS) return looks;
  buffer_init(&out, 1 << 20);
  const char *endpoint = has_url ? looked.server.url
                                 : ask(&arena, arguments->option[FLAG_ENDPOINT], "Where does the executor serve?", "http://127.0.0.1:8000");
  const char *model = has_url ? looked.look.model
                              : ask(&arena, arguments->option[FLAG_MODEL], "Which model, as the server knows it?", "default");
  const char *rate = arguments->option[FLAG_RATE];
  if (arguments->option[FLAG_CONCURRENCY] != NULL) rate = "";
  else if (rate == NULL) rate = has_url ? looked.rate : ask(&arena, NULL, "How many requests per second?", "2");
  const char *path = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : "contract.yaml";
  struct first_contract first = contract_of(arguments, endpoint, model, rate);
  if (has_url) {
    first.chat = looked.look.chat;
    first.ends_itself = looked.look.ends_itself;
    first.ready_path = looked.look.ready;
  }
  int code = EXIT_HOLDS;
  if (!first_contract_write(&first, "init", &out)) {
    code = EXIT_WRONG_INPUT;
  } else if (strcmp(path, "-") != 0 && access(path, F_OK) == 0) {
    complain("lynxbench init: %s exists, and is not overwritten; name another with --out\n", path);
    code = EXIT_WRONG_INPUT;
  } else if (!write_buffer(path, &out)) code = EXIT_CONDITIONS;
  else if (strcmp(path, "-") != 0) {
    if (has_url) say_plan(&looked, &first);
    say("%s written; next: lynxbench lint %s; lynxbench run %s\n", path, shell_word(path), shell_word(path));
  }
  buffer_release(&out);
  arena_release(&arena);
  return code;
}

const struct command command_init = {
    .name = "init",
    .summary = "write a commented contract that runs",
    .usage = "[URL]",
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "With a URL it asks the server for its model and route, times one answer, and chooses a rate\n"
               "that does not overload it. Without, it takes flags, and asks on a terminal for endpoint,\n"
               "model and rate where they are not given.",
    .example = "build/lynxbench init --endpoint http://127.0.0.1:8000 --model my-model --rate 2 --out -",
    .run = run};
