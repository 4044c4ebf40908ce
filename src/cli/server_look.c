#include "cli/server_look.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "cli/output.h"

enum { PAGE_MAX = 4 << 20 };

bool server_is_url(const char *text) {
  return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

bool server_url_read(const char *tool, const char *given, char url[SERVER_URL]) {
  struct endpoint endpoint;
  struct lynx_error error = {0};
  size_t n = strlen(given);
  const char *rest = given + (strncasecmp(given, "https", 5) == 0 ? 5 : 4);
  if (n + 8 >= SERVER_URL) {
    complain("lynxbench %s: the URL has %zu characters; accepted: up to %d\n", tool, n, SERVER_URL - 8);
    return false;
  }
  (void)snprintf(url, SERVER_URL, "%s%s", rest == given + 5 ? "https" : "http", rest);
  for (n = strlen(url); n > 0 && url[n - 1] == '/'; n--) url[n - 1] = 0;
  if (n > 3 && strcmp(url + n - 3, "/v1") == 0) url[n - 3] = 0; /* as clients of OpenAI's are given it; here routes bring it along */
  if (strpbrk(url, "?#") == NULL && endpoint_parse(url, &endpoint, &error) == LYNX_OK) return true;
  complain("lynxbench %s: the URL: %s; accepted: http://HOST:PORT, with a path where the server is below one\n", tool,
           error.message[0] != 0 ? error.message : "found '?' or '#'");
  return false;
}

static enum lynx_status ask(const char *url, const char *path, struct buffer *page, int *ret_code, struct lynx_error *error) {
  char route[SERVER_URL + 200];
  endpoint_route(url, path, route, sizeof route);
  buffer_clear(page);
  return control_fetch(&(struct control_request){.url = route, .timeout_ns = 10000000000}, page, ret_code, error);
}

/* Models: {"data": [{"id": ...}]} */
int server_look(const char *tool, const char *url, const char *model, struct server_look *ret) {
  static const char *const routes[] = {"/v1/models", "/health", "/"};
  struct buffer page;
  struct lynx_error error = {0};
  int code = 0;
  *ret = (struct server_look){.ready = NULL};
  buffer_init(&page, PAGE_MAX);
  enum lynx_status status = ask(url, routes[0], &page, &code, &error);
  if (status != LYNX_OK) {
    complain("lynxbench %s: %s\nnext: is the server up, and is this its address%s?\n", tool, error.message,
             strncmp(url, "https:", 6) == 0 ? ", or does it answer without TLS (http://)" : "");
    buffer_release(&page);
    return EXIT_EXECUTOR;
  }
  const int models = code;
  json_t *root = code == 200 ? json_parse(page.data, page.length, PAGE_MAX, NULL) : NULL;
  const char *id = json_get_text(json_array_get(json_object_get(root, "data"), 0), "id", "");
  (void)snprintf(ret->model, sizeof ret->model, "%s", model != NULL ? model : strlen(id) < sizeof ret->model ? id : "");
  json_decref(root);
  if (code == 200) ret->ready = routes[0];
  for (size_t i = 1; i < LYNX_COUNT(routes) && ret->ready == NULL; i++)
    if (ask(url, routes[i], &page, &code, &error) == LYNX_OK && code == 200) ret->ready = routes[i];
  buffer_release(&page);
  if (ret->model[0] == 0 && (models == 401 || models == 403))
    complain("lynxbench %s: its /v1/models wants a key (%d); name the model with --model NAME\n", tool, models);
  else if (ret->model[0] == 0 && models != 200)
    complain("lynxbench %s: its /v1/models answers with HTTP status %d: is it a server with the OpenAI routes? next: the right address, "
             "or --model NAME where it has no such list\n",
             tool, models);
  else if (ret->model[0] == 0) complain("lynxbench %s: its /v1/models names no model; say which with --model NAME\n", tool);
  else if (ret->ready == NULL)
    complain("lynxbench %s: neither /v1/models nor /health nor / answers 200; name the route that does in a contract "
             "(executor.ready_path; `lynxbench init` writes one)\n",
             tool);
  return ret->model[0] != 0 && ret->ready != NULL ? EXIT_HOLDS : EXIT_EXECUTOR;
}

int64_t server_time_answer(const char *url, const char *model, bool chat, int tokens) {
  char route[SERVER_URL + 200];
  struct buffer page, body;
  struct json_writer json;
  int code = 0;
  buffer_init(&page, PAGE_MAX);
  buffer_init(&body, 65536);
  json_begin(&json, &body);
  json_open_object(&json);
  json_put_text(&json, "model", model);
  json_put_int(&json, "max_tokens", tokens);
  json_put_bool(&json, "ignore_eos", true);
  if (chat) {
    json_key(&json, "messages");
    json_open_array(&json);
    json_open_object(&json);
    json_put_text(&json, "role", "user");
    json_put_text(&json, "content", "Count the stars that you can see tonight.");
    json_close(&json);
    json_close(&json);
  } else json_put_text(&json, "prompt", "Count the stars that you can see tonight.");
  json_close(&json);
  endpoint_route(url, chat ? "/v1/chat/completions" : "/v1/completions", route, sizeof route);
  int64_t begun_ns = clock_now(&clock_system), took_ns = -1;
  const struct control_request request = {.url = route, .json_body = body.data, .timeout_ns = 20000000000};
  if (json_finish(&json) && control_fetch(&request, &page, &code, NULL) == LYNX_OK && code == 200)
    took_ns = clock_now(&clock_system) - begun_ns;
  buffer_release(&page);
  buffer_release(&body);
  return took_ns;
}
