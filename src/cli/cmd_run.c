#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "measure/run.h"

static const struct option_spec options[] = {{"out", "FILE", "the bundle to write (default: the contract's name and the time, .lynx)"},
                                             {"quiet", NULL, "no progress"},
                                             {"json", NULL, "the outcome as one line of JSON on standard output"}};

static atomic_int stop;

static void on_interrupt(int number) {
  (void)number;
  int now = atomic_load(&stop);
  atomic_store(&stop, now == 0 ? 1 : 2);
  static const char once[] = "\nlynxbench: finishing the requests in flight; press Ctrl-C again to abort them\n",
                    twice[] = "\nlynxbench: aborting\n";
  ssize_t written = now == 0 ? write(STDERR_FILENO, once, sizeof once - 1) : write(STDERR_FILENO, twice, sizeof twice - 1);
  (void)written;
}

struct screen {
  bool terminal, quiet;
  char last_step[64];
  int64_t last_session;
  time_t last_line;
  long long last_tokens, last_done;
  double last_elapsed;
};

static void show(void *context, const struct run_progress *p) {
  struct screen *screen = context;
  if (screen->quiet) return;
  bool new_step = strcmp(screen->last_step, p->step) != 0 || screen->last_session != p->session;
  double seconds = p->elapsed_s - screen->last_elapsed;
  double rate = seconds > 0 ? (double)(p->n_tokens - screen->last_tokens) / seconds : 0,
         done = seconds > 0 ? (double)(p->n_done - screen->last_done) / seconds : 0;
  if (screen->last_session != p->session) screen->last_elapsed = 0, screen->last_tokens = screen->last_done = 0, rate = done = 0;
  if (!screen->terminal && !new_step && time(NULL) - screen->last_line < 10) return;
  if (screen->terminal && !new_step && seconds < 0.5) return;
  (void)fprintf(stderr, "%s[%lld/%lld] %-5s %-8s", screen->terminal ? "\r\033[K" : "", (long long)p->session, (long long)p->n_sessions,
                p->precision, p->step);
  if (p->total_s > 0) {
    double left = p->total_s - p->elapsed_s;
    (void)fprintf(stderr, " %5.1f of %.0f s, %5.1f requests/s, %7.0f tokens/s, %d in flight, %lld failed", p->elapsed_s, p->total_s, done,
                  rate, p->in_flight, p->n_failed);
    double all = (left > 0 ? left : 0) + (double)(p->n_sessions - p->session) * p->total_s;
    if (left > 0) (void)fprintf(stderr, ", %.0f s left of at least %.0f in all", left, all);
  }
  if (!screen->terminal) (void)fprintf(stderr, "\n");
  screen->last_line = time(NULL);
  (void)snprintf(screen->last_step, sizeof screen->last_step, "%s", p->step);
  screen->last_session = p->session;
  screen->last_elapsed = p->elapsed_s;
  screen->last_tokens = p->n_tokens;
  screen->last_done = p->n_done;
}

static void note(void *context, const char *text) {
  const struct screen *screen = context;
  (void)fprintf(stderr, "%s%s\n", screen->terminal ? "\r\033[K" : "", text);
}

static char *default_name(const struct contract *contract) {
  static char name[200];
  char stamp[40];
  time_t now = time(NULL);
  struct tm t;
  (void)gmtime_r(&now, &t);
  (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &t);
  size_t n = 0;
  for (const char *p = contract->name; *p != 0 && n < 100; p++)
    name[n++] = ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '-' || *p == '_') ? *p : '-';
  (void)snprintf(name + n, sizeof name - n, "-%s.lynx", stamp);
  return name;
}

/* Nothing answered: 3. The machine or the instrument made it invalid: 4. */
static int judge(const char *path) {
  struct bundle_file file;
  int64_t n_ok = 0;
  bool invalid = false;
  if (!bundle_file_open(path, &file)) return EXIT_OUR_BUG;
  for (size_t i = 0; i < file.result.n_precisions; i++) {
    n_ok += file.result.precisions[i].n_ok;
    invalid = invalid || file.result.precisions[i].instrument_limited;
  }
  for (size_t i = 0; i < file.result.n_conditions; i++) (void)fprintf(stderr, "condition: %s\n", file.result.conditions[i]);
  if (invalid)
    (void)fprintf(stderr, "the instrument was later than method.lag_p99_at_most: no claim can be made; `lynxbench claim %s` tells more\n",
                  path);
  invalid = invalid || file.result.n_conditions > 0;
  bundle_file_close(&file);
  return n_ok == 0 ? EXIT_INCONCLUSIVE : invalid ? EXIT_CONDITIONS : EXIT_HOLDS;
}

static int exit_code(enum lynx_status status, const struct run_outcome *outcome, const struct lynx_error *error, const char *path) {
  if (status != LYNX_OK) {
    int code = report_error(error);
    if (outcome->sealed) (void)fprintf(stderr, "What there is was sealed as %s in %s\n", bundle_end_text(outcome->end), path);
    else if (access(path, F_OK) == 0)
      (void)fprintf(stderr, "%s holds what was recorded before; it is not sealed, and counts as incomplete\n", path);
    if (outcome->executor_failed) return EXIT_EXECUTOR;
    if (status != LYNX_IO || access(path, F_OK) != 0) return code;
    return strcmp(error->file, path) == 0 ? EXIT_CONDITIONS
                                          : EXIT_EXECUTOR; /* the record could not be written; or the endpoint's name is not known */
  }
  if (outcome->aborted_by_slo) return EXIT_CONDITIONS;
  return outcome->end == BUNDLE_COMPLETE ? judge(path) : EXIT_INTERRUPTED;
}

static int run(const struct arguments *arguments) {
  struct contract_file file;
  const char *contract_path = arguments->positional[0];
  if (!contract_file_read(contract_path, &file)) return EXIT_WRONG_INPUT;
  contract_file_print_problems(&file, contract_path, true, false, stderr);
  if (file.problems.n_errors > 0) {
    (void)fprintf(stderr, "lynxbench: %s: %zu errors: nothing was run\n", contract_path, file.problems.n_errors);
    contract_file_release(&file);
    return EXIT_WRONG_INPUT;
  }
  const char *out = arguments->option[0] != NULL ? arguments->option[0] : default_name(&file.contract);
  struct sigaction action = {.sa_handler = on_interrupt};
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
  const struct root root = {""};
  const char *term = getenv("TERM");
  struct screen screen = {.terminal = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0,
                          .quiet = arguments->option[1] != NULL};
  struct run_request request = {.contract_text = file.text.data,
                                .contract_length = file.text.length,
                                .out_path = out,
                                .root = &root,
                                .clock = &clock_system,
                                .stop = &stop,
                                .progress = show,
                                .note = note,
                                .context = &screen};
  struct run_outcome outcome;
  struct lynx_error error = {0};
  enum lynx_status status = run_contract(&request, &outcome, &error);
  if (screen.terminal && !screen.quiet) (void)fprintf(stderr, "\r\033[K");
  int code = exit_code(status, &outcome, &error, out);
  if (arguments->option[2] != NULL)
    (void)printf("{\"bundle\":\"%s\",\"ended\":\"%s\",\"root\":\"%s\",\"exit\":%d}\n", out, bundle_end_text(outcome.end), outcome.root,
                 code);
  else if (status == LYNX_OK) {
    (void)printf("%s: %s (%s), root %.16s\n", out, bundle_end_text(outcome.end), outcome.why, outcome.root);
    (void)printf("next: lynxbench show %s; lynxbench claim %s; lynxbench report %s\n", out, out, out);
  }
  contract_file_release(&file);
  return code;
}

const struct command command_run = {
    .name = "run",
    .summary = "run a contract, and seal what was measured in a bundle",
    .usage = "CONTRACT",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "The intent is written first; then, for every session and precision: the executor is started (if the contract\n"
               "says how), captured, loaded through warm-up and the counted window, asked for accuracy, and stopped.\n"
               "Ctrl-C once finishes what is in flight, twice aborts; either way what there is is sealed as incomplete.",
    .example = "build/lynxbench run examples/null.yaml --out /tmp/null.lynx",
    .run = run};
