#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/shell.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "cli/contract_run.h"
#include "cli/live_pages.h"
#include "cli/option_value.h"
#include "cli/quick_run.h"
#include "cli/server_look.h"
#include "cli/serving_url.h"
#include "executor/listening.h"

enum {
  FLAG_FOR,
  FLAG_OUT,
  FLAG_HTML,
  FLAG_PID,
  FLAG_MODEL,
  FLAG_CHAT,
  FLAG_API_KEY_ENV,
  FLAG_CA_FILE,
  FLAG_AT_MOST,
  FLAG_IN_FLIGHT,
  FLAG_LEAVE,
  FLAG_PROFILERS,
  FLAG_PY_SPY,
  FLAG_QUIET,
  FLAG_JSON
};

static const struct option_spec options[] = {
    [FLAG_FOR] = OPTION("for", "DURATION", "how long it may take, about, from 30s on (default: 2min)"),
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle to write (default: diagnosis- and the time, .lynx)"),
    [FLAG_HTML] = OPTION("html", "FILE", "write a page that opens anywhere"),
    [FLAG_PID] = OPTION_WITH("pid", "N",
                             "the serving process (default: the one that listens at the URL); without a URL, what it listens on",
                             VALUE_COUNT, 2, INT32_MAX, "the number of the serving process"),
    [FLAG_MODEL] = OPTION("model", "NAME", "the model (default: the first that the server lists)"),
    [FLAG_CHAT] = SWITCH("chat", "the chat route (default: the one of completions, where it answers by it)"),
    [FLAG_API_KEY_ENV] = OPTION("api-key-env", "NAME", "the variable that holds the server's key"),
    [FLAG_CA_FILE] = OPTION("ca-file", "FILE", "certificates (PEM) of whoever signed the server's"),
    [FLAG_AT_MOST] = OPTION("at-most", "N", "never more requests in flight (default: 64)"),
    [FLAG_IN_FLIGHT] = OPTION_WITH("in-flight", "N", "no climb: so many requests in flight, as the run before had that it is compared with",
                                   VALUE_COUNT, 1, 65536, "a whole number from 1 to 65536"),
    [FLAG_LEAVE] = SWITCH("no-server-profiler", "leave the server's own profiler alone (vLLM, SGLang; CUPTI)"),
    [FLAG_PROFILERS] = OPTION("profilers", "NAMES", "only these profilers, commas between: native_stacks, py_spy, wait_stacks; or none"),
    [FLAG_PY_SPY] = OPTION("py-spy", "PATH",
                           "the py-spy to profile Python by (default: beside lynxbench, or in /usr/bin or /usr/local/bin)"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

/* The run, as any other. */
static int run_written(const struct arguments *arguments, const struct contract_file *file, const char *out) {
  struct contract_run r;
  contract_run_init(&r, arguments->option[FLAG_QUIET] != NULL, file->text.data, file->text.length, out);
  r.request.profilers = (struct run_profilers){arguments->option[FLAG_PROFILERS], arguments->option[FLAG_PY_SPY]};
  return contract_run_whole(&r);
}

static bool is_other(int64_t pid) {
  if (pid != (int64_t)getpid()) return true;
  complain("lynxbench diagnose: --pid: found this program itself; accepted: the number of the serving process\n");
  return false;
}

/* "--port 8000", "--port=8000" of the command that starts the server. */
static bool url_of_command(const char *const *words, int n, char url[LISTENING_URL]) {
  for (int i = 0; i < n && words[i] != NULL; i++) {
    const char *value = strncmp(words[i], "--port=", 7) == 0           ? words[i] + 7
                        : i + 1 < n && strcmp(words[i], "--port") == 0 ? words[i + 1]
                                                                       : NULL;
    int64_t port;
    if (value == NULL || !number_int64(value, strlen(value), &port) || port < 1 || port > 65535) continue;
    (void)snprintf(url, LISTENING_URL, "http://127.0.0.1:%lld", (long long)port);
    return true;
  }
  return false;
}

/* The URL that was given; else that of the process, or of the command. Sets how many words come before the command. */
static bool find_url(const struct arguments *arguments, int64_t pid, char found[LISTENING_URL], const char **ret, int *ret_words) {
  const char *first = arguments->n_positional > 0 ? arguments->positional[0] : NULL; /* NULL: there is none */
  *ret_words = 1;
  *ret = first;
  if (first != NULL && server_is_url(first)) return true;
  *ret_words = 0;
  *ret = found;
  if (first == NULL && pid > 0) return serving_url("diagnose", pid, found);
  if (first != NULL && arguments->n_positional > 1 && url_of_command(arguments->positional, arguments->n_positional, found)) return true;
  complain("lynxbench diagnose: found %s%s%s; accepted: the server's address, such as http://127.0.0.1:8000, or --pid N, or a command "
           "that names its --port\nnext: lynxbench diagnose --help\n",
           first != NULL ? "'" : "nothing", first != NULL ? first : "", first != NULL ? "'" : "");
  return false;
}

static int run(const struct arguments *arguments) {
  char name[200], path[4200], found[LISTENING_URL];
  const char *command[ARGUMENTS_MAX + 1] = {NULL}, *url;
  const struct contract diagnosis = {.name = "diagnosis"};
  const char *out = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT]
                                                        : screen_bundle_name(&diagnosis, "", name, sizeof name);
  int64_t pid = option_count(arguments, FLAG_PID, 0);
  int words;
  if (!profilers_read("diagnose", arguments->option[FLAG_PROFILERS]) || !is_other(pid) ||
      !output_is_possible("diagnose", "html", arguments->option[FLAG_HTML]) || !find_url(arguments, pid, found, &url, &words))
    return EXIT_WRONG_INPUT;
  struct quick_run quick = {.tool = "diagnose",
                            .url = url,
                            .pid = pid,
                            .duration = arguments->option[FLAG_FOR],
                            .model = arguments->option[FLAG_MODEL],
                            .key_variable = arguments->option[FLAG_API_KEY_ENV],
                            .ca_file = arguments->option[FLAG_CA_FILE],
                            .chat = arguments->option[FLAG_CHAT] != NULL,
                            .climbs = true,
                            .at_most = arguments->option[FLAG_AT_MOST],
                            .in_flight = arguments->option[FLAG_IN_FLIGHT],
                            .leave_server_profiler = arguments->option[FLAG_LEAVE] != NULL,
                            .command = arguments->n_positional > words ? command : NULL};
  for (int i = words; i < arguments->n_positional; i++) command[i - words] = arguments->positional[i];
  struct contract_file file;
  int code = quick_run_write(&quick, out, quick_run_contract(out, path, sizeof path), &file);
  if (code == EXIT_HOLDS) {
    code = run_written(arguments, &file, out);
    contract_file_release(&file);
  }
  if (code != EXIT_HOLDS) return code;
  code = live_pages_write(out, arguments->option[FLAG_JSON] != NULL, arguments->option[FLAG_HTML]);
  complain("%s: the bundle; `lynxbench show`, `attribute` and `diff` take it\n", out);
  return code;
}

const struct command command_diagnose = {
    .name = "diagnose",
    .summary = "find what bounds a running server, and whose layer that is",
    .usage = "[URL] [-- COMMAND ...]",
    .least = 0,
    .most = ARGUMENTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "It asks the server for its model, finds the process that listens, writes the contract that it uses beside the bundle,\n"
               "climbs from 1 request in flight to the knee of the throughput, counts there, and looks at the serving process's\n"
               "threads all the while. In two more windows profilers run (native stacks by perf_event_open; Python functions by py-spy,\n"
               "beside lynxbench, or as --py-spy names it); these count into no figure, and what they cost is printed. With a COMMAND it "
               "starts the server\n"
               "itself. Without a URL, --pid N finds where that process listens, and a COMMAND is asked for its --port.\n"
               "It sees most where the server runs, as root or as the server's user.\n"
               "What it prints is suspected: an account says where time went; only an experiment says what would change.",
    .example = "build/lynxbench diagnose http://127.0.0.1:8150 --for 30s --model tiny --out /tmp/d.lynx -- build/lynxbench-ref --port 8150 "
               "--shape tiny",
    .run = run};
