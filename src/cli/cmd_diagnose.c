#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/calibration.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "cli/live_pages.h"
#include "cli/quick_run.h"
#include "cli/run_exit.h"
#include "cli/screen.h"

enum { FLAG_FOR, FLAG_OUT, FLAG_HTML, FLAG_PID, FLAG_MODEL, FLAG_CHAT, FLAG_AT_MOST, FLAG_QUIET, FLAG_JSON };

static const struct option_spec options[] = {[FLAG_FOR] = {"for", "DURATION", "how long it may take, about (default: 2min)"},
                                             [FLAG_OUT] = {"out", "FILE", "the bundle to write (default: diagnosis- and the time, .lynx)"},
                                             [FLAG_HTML] = {"html", "FILE", "write a page that opens anywhere"},
                                             [FLAG_PID] = {"pid", "N", "the serving process (default: the one that listens at the URL)"},
                                             [FLAG_MODEL] = {"model", "NAME", "the model (default: the first that the server lists)"},
                                             [FLAG_CHAT] = {"chat", NULL, "the chat route instead of completions"},
                                             [FLAG_AT_MOST] = {"at-most", "N", "never more requests in flight (default: 64)"},
                                             [FLAG_QUIET] = {"quiet", NULL, "no progress"},
                                             [FLAG_JSON] = {"json", NULL, "JSON"}};

/* The run, as any other. */
static int run_contract_at(const struct arguments *arguments, const char *path, const char *out) {
  const struct root root = {""};
  struct contract_file file;
  struct screen screen;
  struct buffer calibration;
  struct run_outcome outcome;
  struct lynx_error error = {0};
  if (!contract_file_read(path, &file)) return EXIT_WRONG_INPUT;
  screen_init(&screen, arguments->option[FLAG_QUIET] != NULL);
  bool calibrated = calibration_load(&calibration);
  const struct run_request request = {.contract_text = file.text.data,
                                      .contract_length = file.text.length,
                                      .out_path = out,
                                      .root = &root,
                                      .clock = &clock_system,
                                      .calibration = calibrated ? calibration.data : NULL,
                                      .stop = screen_catch_interrupts(),
                                      .progress = screen_show,
                                      .note = screen_note,
                                      .context = &screen};
  enum lynx_status status = run_contract(&request, &outcome, &error);
  screen_clear(&screen);
  int code = run_exit_code(status, &outcome, &error, out);
  buffer_release(&calibration);
  contract_file_release(&file);
  return code;
}

static bool read_pid(const char *text, int64_t *ret) {
  *ret = 0;
  if (text == NULL || (number_int64(text, strlen(text), ret) && *ret > 1 && *ret != (int64_t)getpid())) return true;
  (void)fprintf(stderr, "lynxbench diagnose: --pid: found '%s'; accepted: the number of the serving process\n", text);
  return false;
}

static int run(const struct arguments *arguments) {
  char name[200], path[4200];
  const char *command[ARGUMENTS_MAX + 1] = {NULL};
  const struct contract diagnosis = {.name = "diagnosis"};
  const char *out = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT]
                                                        : screen_bundle_name(&diagnosis, "", name, sizeof name);
  struct quick_run quick = {.tool = "diagnose",
                            .url = arguments->positional[0],
                            .duration = arguments->option[FLAG_FOR],
                            .model = arguments->option[FLAG_MODEL],
                            .chat = arguments->option[FLAG_CHAT] != NULL,
                            .climbs = true,
                            .at_most = arguments->option[FLAG_AT_MOST],
                            .command = arguments->n_positional > 1 ? command : NULL};
  if (!quick_run_is_url(quick.url)) {
    (void)fprintf(stderr,
                  "lynxbench diagnose: found '%s'; accepted: the server's address, such as http://127.0.0.1:8000\nnext: lynxbench "
                  "diagnose --help\n",
                  quick.url);
    return EXIT_WRONG_INPUT;
  }
  if (!read_pid(arguments->option[FLAG_PID], &quick.pid)) return EXIT_WRONG_INPUT;
  for (int i = 1; i < arguments->n_positional; i++) command[i - 1] = arguments->positional[i];
  int code = quick_run_write(&quick, out, quick_run_contract(out, path, sizeof path));
  if (code == EXIT_HOLDS) code = run_contract_at(arguments, path, out);
  if (code != EXIT_HOLDS) return code;
  code = live_pages_write(out, arguments->option[FLAG_JSON] != NULL, arguments->option[FLAG_HTML]);
  (void)fprintf(stderr, "%s: the bundle; `lynxbench show`, `claim`, `report`, `attribute` and `diff` take it\n", out);
  return code;
}

const struct command command_diagnose = {
    .name = "diagnose",
    .summary = "what bounds a running server, whose that is, and what to do to be sure: one command, two minutes",
    .usage = "URL [-- COMMAND ...]",
    .least = 1,
    .most = ARGUMENTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "It asks the server for its model, finds the process that listens, writes the contract that it uses beside the bundle,\n"
               "climbs from 1 request in flight to the knee of the throughput, counts there, and looks at the serving process's\n"
               "threads all the while. In two more windows profilers run (native stacks by perf_event_open; Python functions by py-spy,\n"
               "where it is in PATH); these count into no figure, and what they cost is printed. With a COMMAND it starts the server\n"
               "itself. It sees most where the server runs, as root or as the server's user.\n"
               "What it prints is suspected: an account says where time went; only an experiment says what would change.",
    .example = "build/lynxbench diagnose http://127.0.0.1:8150 --for 30s --model tiny --out /tmp/d.lynx -- build/lynxbench-ref --port 8150 "
               "--shape tiny",
    .run = run};
