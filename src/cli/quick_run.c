#include "cli/quick_run.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/first_contract.h"
#include "cli/output.h"
#include "cli/own_contract.h"
#include "cli/server_look.h"
#include "measure/profiling.h"

enum { SHORTEST_S = 6, CLIMB_SHORTEST_S = 30 };
enum { TOKENS_MOST = 64, TOKENS_LEAST = 8, TOKENS_ASKED = 9, ANSWERS_IN_WINDOW = 4 };

/* Three sessions in the time that was given: of each, a fifteenth of the whole to warm up and two ninths that count; a climb has up to
 * seven windows before them and two after, each a sixtieth to warm up and a twentieth. What a slow answer takes beyond its window is waited
 * for. */
static bool divide(const struct quick_run *quick, char warm_up[32], char counted[32]) {
  int64_t whole_ns;
  const char *text = quick->duration != NULL ? quick->duration : quick->climbs ? "2min" : "1min";
  int shortest_s = quick->climbs ? CLIMB_SHORTEST_S : SHORTEST_S;
  if (!number_duration(text, strlen(text), &whole_ns) || whole_ns < (int64_t)shortest_s * 1000000000 ||
      whole_ns > INT64_C(86400000000000)) {
    complain("lynxbench %s: --for: found '%s'; accepted: a duration from %d s to 24 h, such as 2min\n", quick->tool, text, shortest_s);
    return false;
  }
  (void)snprintf(warm_up, 32, "%lldms", (long long)(whole_ns / (quick->climbs ? 60 : 15) / 1000000));
  (void)snprintf(counted, 32, "%lldms", (long long)((quick->climbs ? whole_ns / 20 : whole_ns * 2 / 9) / 1000000));
  return true;
}

/* So many tokens that several answers fit into a window: a window that ends before its answers do measures nothing. Two answers are
 * asked for it, the server being warm; where they fail, the run itself says how. */
static int fit_answers(const struct server_access *server, const struct server_look *look, const char *counted) {
  int64_t window_ns;
  if (!number_duration(counted, strlen(counted), &window_ns)) return TOKENS_MOST;
  int64_t one_ns = server_time_answer(server, look, 1), more_ns = server_time_answer(server, look, TOKENS_ASKED);
  if (one_ns < 0 || more_ns < 0) return TOKENS_MOST;
  double each_ns = (double)(more_ns - one_ns) / (TOKENS_ASKED - 1), room_ns = (double)window_ns / ANSWERS_IN_WINDOW - (double)one_ns;
  int tokens = TOKENS_MOST;
  while (tokens > TOKENS_LEAST && each_ns * tokens > room_ns) tokens /= 2; /* few steps, so that like servers are asked for the same */
  if (tokens == TOKENS_MOST) return tokens;
  complain("answers of %d tokens, so that several fit into a window of %s%s: give --for more for longer ones\n", tokens, counted,
           one_ns > window_ns / ANSWERS_IN_WINDOW ? ", and even so they are slow" : "");
  return tokens;
}

const char *quick_run_contract(const char *bundle, char *path, size_t size) {
  size_t n = strlen(bundle);
  if (n > 5 && strcmp(bundle + n - 5, ".lynx") == 0) n -= 5;
  (void)snprintf(path, size, "%.*s.yaml", (int)n, bundle);
  return path;
}

/* What is wrong with the words, before anything is asked. */
static bool check_words(const struct quick_run *quick, const char *bundle, const char *path) {
  size_t n = strlen(bundle);
  if (n == 0 || bundle[n - 1] == '/') {
    complain("lynxbench %s: --out: found the folder '%s'; accepted: a file to write\n", quick->tool, bundle);
    return false;
  }
  if (!output_is_free(quick->tool, bundle) || !output_is_free(quick->tool, path)) return false;
  if (quick->model != NULL && (quick->model[0] == 0 || strlen(quick->model) >= SERVER_MODEL)) {
    complain("lynxbench %s: --model: found a name of %zu characters; accepted: 1 to %d\n", quick->tool, strlen(quick->model),
             SERVER_MODEL - 1);
    return false;
  }
  if (quick->command != NULL && quick->model == NULL)
    complain("lynxbench %s: a server that is yet to be started cannot be asked for its model: say which with --model NAME\n", quick->tool);
  return quick->command == NULL || quick->model != NULL;
}

static void tell_contract(const struct quick_run *quick, const char *path, const char *model, const char *counted) {
  char shown[300];
  (void)text_sanitise(shown, sizeof shown, model, strlen(model));
  if (quick->in_flight != NULL)
    complain("%s: the contract of this run: %s, %s requests in flight, windows of %s; keep it, edit it, agree on it\n", path, shown,
             quick->in_flight, counted);
  else if (quick->climbs)
    complain("%s: the contract of this run: %s, a climb of windows of %s to the knee; keep it, edit it, agree on it\n", path, shown,
             counted);
  else complain("%s: the contract of this run: %s, 4 requests in flight, 3 sessions of %s; edit it for another\n", path, shown, counted);
}

bool profilers_read(const char *tool, const char *names) {
  char word[64], known[200];
  const char *unknown = names != NULL ? profiling_unknown(names, word, sizeof word) : NULL;
  if (unknown == NULL) return true;
  complain("lynxbench %s: --profilers: found '%s'; accepted: none by itself, or of these, with commas between: %s\n", tool, unknown,
           profiling_names(known, sizeof known));
  return false;
}

int quick_run_write(const struct quick_run *quick, const char *bundle, const char *path, struct contract_file *ret) {
  char warm_up[32], counted[32], tokens[16];
  const struct server_access given = {.given = quick->url, .key_variable = quick->key_variable, .ca_file = quick->ca_file};
  struct server_access server;
  struct server_look look = {.ready = "/v1/models"};
  struct buffer text;
  if (!server_access_read(quick->tool, &given, &server) || !divide(quick, warm_up, counted) || !check_words(quick, bundle, path))
    return EXIT_WRONG_INPUT;
  if (quick->model != NULL) (void)snprintf(look.model, sizeof look.model, "%s", quick->model);
  look.chat = quick->chat;
  int code = quick->command != NULL ? EXIT_HOLDS : server_look(quick->tool, &server, quick->model, quick->chat, &look);
  if (code != EXIT_HOLDS) return code;
  struct first_contract first = first_contract_defaults(server.url, look.model);
  first.concurrency = "4";
  first.warm_up = warm_up;
  first.counted = counted;
  first.ready_path = look.ready;
  first.chat = look.chat;
  first.ends_itself = look.ends_itself;
  first.key_variable = quick->key_variable;
  first.ca_file = quick->ca_file;
  first.pid = quick->pid;
  first.command = quick->command;
  if (quick->climbs) {
    first.name = "diagnosis";
    (void)snprintf(tokens, sizeof tokens, "%d", quick->command == NULL ? fit_answers(&server, &look, counted) : TOKENS_MOST);
    first.output_tokens = tokens;
    if (quick->in_flight != NULL) first.concurrency = quick->in_flight;
    else first.climb = quick->at_most != NULL ? quick->at_most : "64";
    first.attribution_sessions = "2";
    first.leave_server_profiler = quick->leave_server_profiler;
    first.steady_reported = true;
  }
  buffer_init(&text, 1 << 20);
  code = !first_contract_write(&first, quick->tool, &text) ? EXIT_WRONG_INPUT
         : !write_new_output(path, text.data, text.length) ? EXIT_CONDITIONS
                                                           : EXIT_HOLDS;
  if (code != EXIT_HOLDS) buffer_release(&text);
  else {
    tell_contract(quick, path, look.model, counted);
    contract_file_take(text, ret);
    own_contract_remember(&ret->contract);
  }
  return code;
}
