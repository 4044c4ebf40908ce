#include "cli/server_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "base/secret.h"
#include "cli/output.h"
#include "measure/setup.h"

enum { PAGE_MAX = 4 << 20, LOOK_S = 10, ANSWER_S = 20, LISTED_MAX = 8 };

bool server_is_url(const char *text) {
  return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

static bool read_url(const char *tool, const char *given, char url[SERVER_URL]) {
  struct endpoint endpoint;
  struct lynx_error error = {0};
  size_t n = strlen(given);
  const char *scheme = strncasecmp(given, "https:", 6) == 0 ? "https" : strncasecmp(given, "http:", 5) == 0 ? "http" : "";
  if (n + 8 >= SERVER_URL) {
    complain("lynxbench %s: the URL has %zu characters; accepted: up to %d\n", tool, n, SERVER_URL - 8);
    return false;
  }
  if (scheme[0] == 0 && strstr(given, "://") == NULL)
    (void)snprintf(url, SERVER_URL, "http://%s", given); /* as browsers and curl take it */
  else (void)snprintf(url, SERVER_URL, "%s%s", scheme, given + strlen(scheme));
  for (n = strlen(url); n > 0 && url[n - 1] == '/'; n--) url[n - 1] = 0;
  if (n > 3 && strcmp(url + n - 3, "/v1") == 0) url[n - 3] = 0; /* as clients of OpenAI's are given it; here routes bring it along */
  if (strpbrk(url, "?#") == NULL && endpoint_parse(url, &endpoint, &error) == LYNX_OK) return true;
  complain("lynxbench %s: the URL: %s; accepted: http://HOST:PORT, with a path where the server is below one\n", tool,
           error.message[0] != 0 ? error.message : "found '?' or '#'");
  return false;
}

bool server_access_read(const char *tool, const struct server_access *given, struct server_access *ret) {
  struct arena arena = {0}; /* of keys from files, which none is here */
  struct lynx_error error = {0};
  const struct contract named = {.workload = {.api_key_env = given->key_variable}};
  *ret = *given;
  if (!read_url(tool, given->given, ret->url)) return false;
  bool good = given->key_variable == NULL || setup_key(&named, NULL, &arena, &ret->key, &error) == LYNX_OK;
  if (!good) complain("lynxbench %s: --api-key-env: %s\n", tool, error.message);
  if (good && given->ca_file != NULL && access(given->ca_file, R_OK) != 0) {
    complain("lynxbench %s: --ca-file: %s: %s; accepted: a file of certificates (PEM)\n", tool, given->ca_file, strerror(errno));
    good = false;
  }
  arena_release(&arena);
  return good;
}

/* --- one question --- */

struct answer {
  enum lynx_status status; /* LYNX_OK: there is one, whatever it says */
  int code;
  int64_t took_ns;
  struct buffer page;
  bool foreign;    /* 200, and neither JSON nor a stream of it: a web page, by somebody else */
  char words[200]; /* the server's own, where it refused, or why there is none */
};

/* What a server writes back may hold the key that it was sent. */
static void take_words(struct answer *a, const char *key) {
  json_t *root = json_parse(a->page.data, a->page.length, PAGE_MAX, NULL), *error = json_object_get(root, "error");
  const char *text = json_is_string(error) ? json_string_value(error) : json_get_text(error, "message", "");
  if (text[0] == 0) text = json_get_text(root, "message", "");
  if (text[0] == 0) text = json_get_text(root, "detail", "");
  if (text[0] == 0 && root == NULL && a->page.data != NULL) text = a->page.data;
  char *whole = xalloc(strlen(text) + 1, 1); /* masked before it is cut */
  memcpy(whole, text, strlen(text));
  if (key != NULL) secret_redact(whole, key);
  (void)secret_mask(whole);
  (void)text_sanitise(a->words, sizeof a->words, whole, strnlen(whole, sizeof a->words - 1));
  free(whole);
  json_decref(root);
}

static bool is_foreign(const struct buffer *page) {
  json_t *root = json_parse(page->data, page->length, PAGE_MAX, NULL);
  bool object = json_is_object(root), stream = page->length > 5 && memcmp(page->data, "data:", 5) == 0;
  json_decref(root);
  return !object && !stream;
}

/* json_body NULL: a GET. */
static void ask(const struct server_access *server, const char *path, const char *json_body, int timeout_s, struct answer *ret) {
  char route[SERVER_URL + 200];
  struct lynx_error error = {0};
  const struct control_request request = {.url = route,
                                          .json_body = json_body,
                                          .bearer = server->key,
                                          .ca_file = server->ca_file,
                                          .timeout_ns = timeout_s * INT64_C(1000000000)};
  endpoint_route(server->url, path, route, sizeof route);
  *ret = (struct answer){.code = 0};
  buffer_init(&ret->page, PAGE_MAX);
  int64_t begun_ns = clock_now(&clock_system);
  ret->status = control_fetch(&request, &ret->page, &ret->code, &error);
  ret->took_ns = clock_now(&clock_system) - begun_ns;
  if (ret->status != LYNX_OK) (void)snprintf(ret->words, sizeof ret->words, "%.199s", error.message);
  else {
    ret->foreign = ret->code == 200 && is_foreign(&ret->page);
    if (ret->code != 200 || ret->foreign) take_words(ret, server->key);
  }
}

static void ask_for_tokens(const struct server_access *server, const struct server_look *look, int tokens, struct answer *ret) {
  static const char question[] = "Count the stars that you can see tonight.";
  struct buffer body;
  struct json_writer json;
  buffer_init(&body, 65536);
  json_begin_object(&json, &body);
  json_put_text(&json, "model", look->model);
  json_put_int(&json, "max_tokens", tokens);
  if (!look->ends_itself) json_put_bool(&json, "ignore_eos", true);
  if (look->chat) {
    json_key(&json, "messages");
    json_open_array(&json);
    json_open_object(&json);
    json_put_text(&json, "role", "user");
    json_put_text(&json, "content", question);
    json_close(&json);
    json_close(&json);
  } else json_put_text(&json, "prompt", question);
  json_close(&json);
  lynx_assert(json_finish(&json));
  ask(server, look->chat ? "/v1/chat/completions" : "/v1/completions", body.data, ANSWER_S, ret);
  buffer_release(&body);
}

int64_t server_time_answer(const struct server_access *server, const struct server_look *look, int tokens) {
  struct answer answer;
  ask_for_tokens(server, look, tokens, &answer);
  buffer_release(&answer.page);
  return answer.status == LYNX_OK && answer.code == 200 ? answer.took_ns : -1;
}

/* --- why it refuses, and what helps --- */

static bool wants_key(int code) {
  return code == 401 || code == 403;
}

/* What may be set for it here; "NAME": nothing that is known. */
static const char *likely_variable(void) {
  static const char *const names[] = {"OPENAI_API_KEY", "VLLM_API_KEY", "HF_TOKEN"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (getenv(names[i]) != NULL) return names[i];
  return "NAME";
}

/* Wherever such a name went, the key would go: into the contract, the bundle, onto the screen. */
static bool holds_key(const char *text, const char *key) {
  size_t n = strlen(text);
  char *copy = xalloc(n + 1, 1);
  memcpy(copy, text, n);
  if (key != NULL) secret_redact(copy, key);
  bool held = strcmp(secret_mask(copy), text) != 0;
  free(copy);
  return held;
}

/* "a, b, c", of the models that it lists. */
static void list_models(const json_t *models, const char *key, struct buffer *ret) {
  char shown[100];
  for (size_t i = 0; i < json_array_size(models) && i < LISTED_MAX; i++) {
    const char *id = json_get_text(json_array_get(models, i), "id", "");
    if (holds_key(id, key)) continue;
    (void)buffer_printf(ret, "%s%s", ret->length > 0 ? ", " : "", text_sanitise(shown, sizeof shown, id, strlen(id)));
  }
  if (json_array_size(models) > LISTED_MAX) (void)buffer_text(ret, ", ...");
}

static int refused(const char *tool, const struct server_access *server, const struct answer *a, const char *route, const json_t *models) {
  struct buffer listed;
  buffer_init(&listed, 8192);
  list_models(models, server->key, &listed);
  complain("lynxbench %s: %s answers with HTTP status %d%s%s%s%s\n", tool, route, a->code, a->foreign ? " and no JSON" : "",
           a->words[0] != 0 ? ": '" : "", a->words, a->words[0] != 0 ? "'" : "");
  if (wants_key(a->code) && server->key == NULL)
    complain("next: the same with --api-key-env %s: the variable that holds its key\n", likely_variable());
  else if (wants_key(a->code)) complain("next: is what %s holds its key?\n", server->key_variable);
  else if (listed.length > 0 && !a->foreign) complain("next: --model NAME; it lists: %s\n", listed.data);
  else
    complain("next: is it a server with the OpenAI routes, and is this its address? --model NAME names a model that it does not list; a "
             "contract (`lynxbench init`) may name other routes (workload.options.server)\n");
  buffer_release(&listed);
  return EXIT_EXECUTOR;
}

/* By what route it answers: completions, else chat; and if it takes ignore_eos. What no answer is refused for is found by the run. */
static int find_route(const char *tool, const struct server_access *server, bool chat, const json_t *models, struct server_look *ret) {
  struct answer a = {.status = LYNX_IO}, first = a;
  int code = EXIT_HOLDS;
  for (int i = chat ? 2 : 0; i < 4; i++) {
    ret->chat = i >= 2;
    ret->ends_itself = i % 2 == 1;
    ask_for_tokens(server, ret, 1, &a);
    buffer_release(&a.page);
    bool answered = a.status == LYNX_OK;
    if (i % 2 == 0 && (!answered || (a.code != 400 && a.code != 422))) i++; /* without ignore_eos it would be refused as well */
    if (!answered || (a.code == 200 && !a.foreign) || wants_key(a.code)) break;
    if (first.status != LYNX_OK || first.code == 404) first = a;
  }
  if (a.status == LYNX_OK && (a.code != 200 || a.foreign)) {
    if (first.status != LYNX_OK || wants_key(a.code) || (first.words[0] == 0 && a.words[0] != 0)) first = a;
    code = refused(tool, server, &first, chat ? "/v1/chat/completions" : "/v1/completions", models);
  }
  if (a.status != LYNX_OK || a.code != 200 || a.foreign) ret->chat = chat, ret->ends_itself = false;
  return code;
}

/* --- the whole --- */

static int unreachable(const char *tool, const struct server_access *server, const struct answer *a) {
  bool secret = strncmp(server->url, "https:", 6) == 0, certificate = strstr(a->words, "certificate") != NULL;
  complain("lynxbench %s: %s\nnext: %s\n", tool, a->words,
           secret && certificate ? "the same with --ca-file FILE: the certificates (PEM) of whoever signed the server's"
           : secret              ? "is the server up, and is this its address, or does it answer without TLS (http://)?"
                                 : "is the server up, and is this its address?");
  return EXIT_EXECUTOR;
}

/* A route that says that it is ready: with a model list, that one. */
static const char *find_ready(const struct server_access *server, int models_code) {
  static const char *const routes[] = {"/v1/models", "/health", "/"};
  const char *ready = models_code == 200 ? routes[0] : NULL;
  for (size_t i = 1; i < LYNX_COUNT(routes) && ready == NULL; i++) {
    struct answer a;
    ask(server, routes[i], NULL, LOOK_S, &a);
    if (a.status == LYNX_OK && a.code == 200) ready = routes[i];
    buffer_release(&a.page);
  }
  return ready;
}

/* Models: {"data": [{"id": ...}]} */
int server_look(const char *tool, const struct server_access *server, const char *model, bool chat, struct server_look *ret) {
  struct answer a;
  *ret = (struct server_look){.ready = NULL};
  ask(server, "/v1/models", NULL, LOOK_S, &a);
  json_t *root = a.status == LYNX_OK && a.code == 200 ? json_parse(a.page.data, a.page.length, PAGE_MAX, NULL) : NULL;
  const json_t *models = json_object_get(root, "data");
  const char *id = json_get_text(json_array_get(models, 0), "id", "");
  int code = EXIT_HOLDS;
  (void)snprintf(ret->model, sizeof ret->model, "%s", model != NULL ? model : strlen(id) < sizeof ret->model ? id : "");
  if (a.status != LYNX_OK) code = unreachable(tool, server, &a);
  else if (ret->model[0] == 0 && (a.code != 200 || a.foreign)) code = refused(tool, server, &a, "/v1/models", NULL);
  else if (ret->model[0] == 0) {
    complain("lynxbench %s: its /v1/models names no model; say which with --model NAME\n", tool);
    code = EXIT_EXECUTOR;
  } else if (model == NULL && holds_key(ret->model, server->key)) {
    complain("lynxbench %s: the model that its /v1/models names holds a key, such as the one that it was sent: nothing of it is "
             "recorded\nnext: --model NAME, where the server is one to be trusted\n",
             tool);
    code = EXIT_EXECUTOR;
  } else code = find_route(tool, server, chat, models, ret);
  if (code == EXIT_HOLDS && (ret->ready = find_ready(server, a.code)) == NULL) {
    complain("lynxbench %s: neither /v1/models nor /health nor / answers 200; name the route that does in a contract "
             "(executor.ready_path; `lynxbench init` writes one)\n",
             tool);
    code = EXIT_EXECUTOR;
  }
  json_decref(root);
  buffer_release(&a.page);
  return code;
}
