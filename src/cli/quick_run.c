#include "cli/quick_run.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/first_contract.h"
#include "cli/output.h"

enum { MODELS_MAX = 4 << 20, SHORTEST_S = 6, URL_MAX = 1000 };

bool quick_run_is_url(const char *text) {
  return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* As a contract takes it: routes are added to it. False: what is wrong was told, without the URL, which may hold a password. */
static bool read_url(const char *given, char url[URL_MAX]) {
  struct endpoint endpoint;
  struct lynx_error error = {0};
  size_t n = strlen(given);
  const char *rest = given + (strncasecmp(given, "https", 5) == 0 ? 5 : 4);
  if (n + 8 >= URL_MAX) {
    (void)fprintf(stderr, "lynxbench run: the URL has %zu characters; accepted: up to %d\n", n, URL_MAX - 8);
    return false;
  }
  (void)snprintf(url, URL_MAX, "%s%s", rest == given + 5 ? "https" : "http", rest);
  for (n = strlen(url); n > 0 && url[n - 1] == '/'; n--) url[n - 1] = 0;
  if (n > 3 && strcmp(url + n - 3, "/v1") == 0) url[n - 3] = 0; /* as clients of OpenAI's are given it; here routes bring it along */
  if (strpbrk(url, "?#") == NULL && endpoint_parse(url, &endpoint, &error) == LYNX_OK) return true;
  (void)fprintf(stderr, "lynxbench run: the URL: %s; accepted: http://HOST:PORT, with a path where the server is below one\n",
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
    (void)fprintf(stderr, "lynxbench run: %s\nnext: is the server up, and is this its address?\n", error.message);
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
  if (model[0] == 0) (void)fprintf(stderr, "lynxbench run: its /v1/models names no model; say which with --model NAME\n");
  else if (*ret_ready == NULL)
    (void)fprintf(stderr, "lynxbench run: neither /v1/models nor /health nor / answers 200; name the route that does in a contract "
                          "(executor.ready_path; `lynxbench init` writes one)\n");
  return model[0] != 0 && *ret_ready != NULL ? EXIT_HOLDS : EXIT_EXECUTOR;
}

/* Three sessions in the time that was given: of each, a fifteenth of the whole to warm up and two ninths that count. What a slow answer
 * takes beyond its window is waited for. */
static bool divide(const char *text, char warm_up[32], char counted[32]) {
  int64_t whole_ns;
  if (!number_duration(text, strlen(text), &whole_ns) || whole_ns < (int64_t)SHORTEST_S * 1000000000 ||
      whole_ns > INT64_C(86400000000000)) {
    (void)fprintf(stderr, "lynxbench run: --for: found '%s'; accepted: a duration from %d s to 24 h, such as 1min\n", text, SHORTEST_S);
    return false;
  }
  (void)snprintf(warm_up, 32, "%lldms", (long long)(whole_ns / 15 / 1000000));
  (void)snprintf(counted, 32, "%lldms", (long long)(whole_ns * 2 / 9 / 1000000));
  return true;
}

static bool is_free(const char *path, const char *what) {
  struct stat info;
  bool there = lstat(path, &info) == 0;
  if (there)
    (void)fprintf(stderr, "lynxbench run: %s: %s, and is not overwritten; name another %s with --out FILE.lynx\n", path,
                  S_ISDIR(info.st_mode) ? "it is a folder" : "it exists", what);
  return !there;
}

int quick_run_write(const struct quick_run *quick, const char *bundle, const char *path) {
  char model[300] = "", url[URL_MAX], warm_up[32], counted[32], shown[300];
  const char *ready;
  struct buffer text;
  size_t n = strlen(bundle);
  if (!read_url(quick->url, url) || !divide(quick->duration != NULL ? quick->duration : "1min", warm_up, counted)) return EXIT_WRONG_INPUT;
  if (n == 0 || bundle[n - 1] == '/') {
    (void)fprintf(stderr, "lynxbench run: --out: found the folder '%s'; accepted: a file to write\n", bundle);
    return EXIT_WRONG_INPUT;
  }
  if (!is_free(bundle, "bundle") || !is_free(path, "bundle")) return EXIT_WRONG_INPUT;
  if (quick->model != NULL && (quick->model[0] == 0 || strlen(quick->model) >= sizeof model)) {
    (void)fprintf(stderr, "lynxbench run: --model: found a name of %zu characters; accepted: 1 to %zu\n", strlen(quick->model),
                  sizeof model - 1);
    return EXIT_WRONG_INPUT;
  }
  if (quick->model != NULL) (void)snprintf(model, sizeof model, "%s", quick->model);
  int code = ask_server(quick, url, &ready, model, sizeof model);
  if (code != EXIT_HOLDS) return code;
  struct first_contract first = first_contract_defaults(url, model);
  first.concurrency = "4";
  first.warm_up = warm_up;
  first.counted = counted;
  first.ready_path = ready;
  first.chat = quick->chat;
  buffer_init(&text, 1 << 20);
  code = !first_contract_write(&first, "run", &text) ? EXIT_WRONG_INPUT : !write_buffer(path, &text) ? EXIT_CONDITIONS : EXIT_HOLDS;
  buffer_release(&text);
  if (code == EXIT_HOLDS)
    (void)fprintf(stderr, "%s: the contract of this run: %s, 4 requests in flight, 3 sessions of %s; edit it for another\n", path,
                  text_sanitise(shown, sizeof shown, model, strlen(model)), counted);
  return code;
}
