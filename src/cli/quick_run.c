#include "cli/quick_run.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/first_contract.h"
#include "cli/output.h"

enum { MODELS_MAX = 4 << 20, SHORTEST_S = 6, CLIMB_SHORTEST_S = 30, URL_MAX = 1000, MODEL_MAX = 300 };
enum { TOKENS_MOST = 64, TOKENS_LEAST = 8, TOKENS_ASKED = 9, ANSWERS_IN_WINDOW = 4 };

bool quick_run_is_url(const char *text) {
  return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* As a contract takes it: routes are added to it. False: what is wrong was reported, without the URL, which may hold a password. */
static bool read_url(const struct quick_run *quick, char url[URL_MAX]) {
  const char *given = quick->url;
  struct endpoint endpoint;
  struct lynx_error error = {0};
  size_t n = strlen(given);
  const char *rest = given + (strncasecmp(given, "https", 5) == 0 ? 5 : 4);
  if (n + 8 >= URL_MAX) {
    (void)fprintf(stderr, "lynxbench %s: the URL has %zu characters; accepted: up to %d\n", quick->tool, n, URL_MAX - 8);
    return false;
  }
  (void)snprintf(url, URL_MAX, "%s%s", rest == given + 5 ? "https" : "http", rest);
  for (n = strlen(url); n > 0 && url[n - 1] == '/'; n--) url[n - 1] = 0;
  if (n > 3 && strcmp(url + n - 3, "/v1") == 0) url[n - 3] = 0; /* as clients of OpenAI's are given it; here routes bring it along */
  if (strpbrk(url, "?#") == NULL && endpoint_parse(url, &endpoint, &error) == LYNX_OK) return true;
  (void)fprintf(stderr, "lynxbench %s: the URL: %s; accepted: http://HOST:PORT, with a path where the server is below one\n", quick->tool,
                error.message[0] != 0 ? error.message : "found '?' or '#'");
  return false;
}

static enum lynx_status ask(const char *url, const char *path, struct buffer *page, int *ret_code, struct lynx_error *error) {
  char route[URL_MAX + 200];
  endpoint_route(url, path, route, sizeof route);
  buffer_clear(page);
  return control_fetch(&(struct control_request){.url = route, .timeout_ns = 10000000000}, page, ret_code, error);
}

/* The first model that the server lists ({"data": [{"id": ...}]}), and a route that says that it is ready. */
static int ask_server(const struct quick_run *quick, const char *url, const char **ret_ready, char *model, size_t size) {
  static const char *const routes[] = {"/v1/models", "/health", "/"};
  struct buffer page;
  struct lynx_error error = {0};
  int code = 0;
  *ret_ready = NULL;
  buffer_init(&page, MODELS_MAX);
  enum lynx_status status = ask(url, routes[0], &page, &code, &error);
  if (status != LYNX_OK) {
    (void)fprintf(stderr, "lynxbench %s: %s\nnext: is the server up, and is this its address?\n", quick->tool, error.message);
    buffer_release(&page);
    return EXIT_EXECUTOR;
  }
  json_t *root = code == 200 ? json_parse(page.data, page.length, MODELS_MAX, NULL) : NULL;
  const char *id = json_get_text(json_array_get(json_object_get(root, "data"), 0), "id", "");
  if (quick->model == NULL) (void)snprintf(model, size, "%s", strlen(id) < size ? id : "");
  json_decref(root);
  if (code == 200) *ret_ready = routes[0];
  for (size_t i = 1; i < LYNX_COUNT(routes) && *ret_ready == NULL; i++)
    if (ask(url, routes[i], &page, &code, &error) == LYNX_OK && code == 200) *ret_ready = routes[i];
  buffer_release(&page);
  if (model[0] == 0) (void)fprintf(stderr, "lynxbench %s: its /v1/models names no model; say which with --model NAME\n", quick->tool);
  else if (*ret_ready == NULL)
    (void)fprintf(stderr,
                  "lynxbench %s: neither /v1/models nor /health nor / answers 200; name the route that does in a contract "
                  "(executor.ready_path; `lynxbench init` writes one)\n",
                  quick->tool);
  return model[0] != 0 && *ret_ready != NULL ? EXIT_HOLDS : EXIT_EXECUTOR;
}

/* Three sessions in the time that was given: of each, a fifteenth of the whole to warm up and two ninths that count; a climb has up to
 * seven windows before them and two after, each a sixtieth to warm up and a twentieth. What a slow answer takes beyond its window is waited
 * for. */
static bool divide(const struct quick_run *quick, char warm_up[32], char counted[32]) {
  int64_t whole_ns;
  const char *text = quick->duration != NULL ? quick->duration : quick->climbs ? "2min" : "1min";
  int shortest_s = quick->climbs ? CLIMB_SHORTEST_S : SHORTEST_S;
  if (!number_duration(text, strlen(text), &whole_ns) || whole_ns < (int64_t)shortest_s * 1000000000 ||
      whole_ns > INT64_C(86400000000000)) {
    (void)fprintf(stderr, "lynxbench %s: --for: found '%s'; accepted: a duration from %d s to 24 h, such as 2min\n", quick->tool, text,
                  shortest_s);
    return false;
  }
  (void)snprintf(warm_up, 32, "%lldms", (long long)(whole_ns / (quick->climbs ? 60 : 15) / 1000000));
  (void)snprintf(counted, 32, "%lldms", (long long)((quick->climbs ? whole_ns / 20 : whole_ns * 2 / 9) / 1000000));
  return true;
}

/* How long an answer of so many tokens takes; -1: it did not answer. */
static int64_t time_answer(const struct quick_run *quick, const char *url, const char *model, int tokens) {
  char route[URL_MAX + 200];
  struct buffer page, body;
  struct json_writer json;
  int code = 0;
  buffer_init(&page, MODELS_MAX);
  buffer_init(&body, 65536);
  json_begin(&json, &body);
  json_open_object(&json);
  json_put_text(&json, "model", model);
  json_put_int(&json, "max_tokens", tokens);
  json_put_bool(&json, "ignore_eos", true);
  if (quick->chat) {
    json_key(&json, "messages");
    json_open_array(&json);
    json_open_object(&json);
    json_put_text(&json, "role", "user");
    json_put_text(&json, "content", "Count the stars that you can see tonight.");
    json_close(&json);
    json_close(&json);
  } else json_put_text(&json, "prompt", "Count the stars that you can see tonight.");
  json_close(&json);
  endpoint_route(url, quick->chat ? "/v1/chat/completions" : "/v1/completions", route, sizeof route);
  int64_t begun_ns = clock_now(&clock_system), took_ns = -1;
  const struct control_request request = {.url = route, .json_body = body.data, .timeout_ns = 20000000000};
  if (json_finish(&json) && control_fetch(&request, &page, &code, NULL) == LYNX_OK && code == 200)
    took_ns = clock_now(&clock_system) - begun_ns;
  buffer_release(&page);
  buffer_release(&body);
  return took_ns;
}

/* So many tokens that several answers fit into a window: a window that ends before its answers do measures nothing. Three requests are
 * asked for it; where they fail, the run itself says how. */
static int fit_answers(const struct quick_run *quick, const char *url, const char *model, const char *counted) {
  int64_t window_ns;
  if (!number_duration(counted, strlen(counted), &window_ns) || time_answer(quick, url, model, 1) < 0) return TOKENS_MOST;
  /* The first answer may be of a cold server: asked again. */
  int64_t one_ns = time_answer(quick, url, model, 1), more_ns = time_answer(quick, url, model, TOKENS_ASKED);
  if (one_ns < 0 || more_ns < 0) return TOKENS_MOST;
  double each_ns = (double)(more_ns - one_ns) / (TOKENS_ASKED - 1), room_ns = (double)window_ns / ANSWERS_IN_WINDOW - (double)one_ns;
  int tokens = TOKENS_MOST;
  while (tokens > TOKENS_LEAST && each_ns * tokens > room_ns) tokens /= 2; /* few steps, so that like servers are asked for the same */
  if (tokens == TOKENS_MOST) return tokens;
  (void)fprintf(stderr, "answers of %d tokens, so that several fit into a window of %s%s: give --for more for longer ones\n", tokens,
                counted, one_ns > window_ns / ANSWERS_IN_WINDOW ? ", and even so they are slow" : "");
  return tokens;
}

static bool is_free(const char *tool, const char *path, const char *what) {
  struct stat info;
  bool there = lstat(path, &info) == 0;
  if (there)
    (void)fprintf(stderr, "lynxbench %s: %s: %s, and is not overwritten; name another %s with --out FILE.lynx\n", tool, path,
                  S_ISDIR(info.st_mode) ? "it is a folder" : "it exists", what);
  return !there;
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
    (void)fprintf(stderr, "lynxbench %s: --out: found the folder '%s'; accepted: a file to write\n", quick->tool, bundle);
    return false;
  }
  if (!is_free(quick->tool, bundle, "bundle") || !is_free(quick->tool, path, "bundle")) return false;
  if (quick->model != NULL && (quick->model[0] == 0 || strlen(quick->model) >= MODEL_MAX)) {
    (void)fprintf(stderr, "lynxbench %s: --model: found a name of %zu characters; accepted: 1 to %d\n", quick->tool, strlen(quick->model),
                  MODEL_MAX - 1);
    return false;
  }
  if (quick->command != NULL && quick->model == NULL)
    (void)fprintf(stderr, "lynxbench %s: a server that is yet to be started cannot be asked for its model: say which with --model NAME\n",
                  quick->tool);
  return quick->command == NULL || quick->model != NULL;
}

static void tell_contract(const struct quick_run *quick, const char *path, const char *model, const char *counted) {
  char shown[300];
  (void)text_sanitise(shown, sizeof shown, model, strlen(model));
  if (quick->climbs)
    (void)fprintf(stderr, "%s: the contract of this run: %s, a climb of windows of %s to the knee; keep it, edit it, agree on it\n", path,
                  shown, counted);
  else
    (void)fprintf(stderr, "%s: the contract of this run: %s, 4 requests in flight, 3 sessions of %s; edit it for another\n", path, shown,
                  counted);
}

int quick_run_write(const struct quick_run *quick, const char *bundle, const char *path) {
  char model[MODEL_MAX] = "", url[URL_MAX], warm_up[32], counted[32], tokens[16];
  const char *ready = "/v1/models";
  struct buffer text;
  if (!read_url(quick, url) || !divide(quick, warm_up, counted) || !check_words(quick, bundle, path)) return EXIT_WRONG_INPUT;
  if (quick->model != NULL) (void)snprintf(model, sizeof model, "%s", quick->model);
  int code = quick->command != NULL ? EXIT_HOLDS : ask_server(quick, url, &ready, model, sizeof model);
  if (code != EXIT_HOLDS) return code;
  struct first_contract first = first_contract_defaults(url, model);
  first.concurrency = "4";
  first.warm_up = warm_up;
  first.counted = counted;
  first.ready_path = ready;
  first.chat = quick->chat;
  first.pid = quick->pid;
  first.command = quick->command;
  if (quick->climbs) {
    first.name = "diagnosis";
    (void)snprintf(tokens, sizeof tokens, "%d", quick->command == NULL ? fit_answers(quick, url, model, counted) : TOKENS_MOST);
    first.output_tokens = tokens;
    first.climb = quick->at_most != NULL ? quick->at_most : "64";
    first.attribution_sessions = "2";
    first.steady_reported = true;
  }
  buffer_init(&text, 1 << 20);
  code = !first_contract_write(&first, quick->tool, &text) ? EXIT_WRONG_INPUT : !write_buffer(path, &text) ? EXIT_CONDITIONS : EXIT_HOLDS;
  buffer_release(&text);
  if (code == EXIT_HOLDS) tell_contract(quick, path, model, counted);
  return code;
}
