#include "cli/quick_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/first_contract.h"
#include "cli/output.h"

enum { MODELS_MAX = 4 << 20, SHORTEST_S = 6 };

bool quick_run_is_url(const char *text) {
  return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

/* The first that the server lists: {"data": [{"id": ...}]}. */
static bool ask_model(const char *url, char *ret, size_t size) {
  char route[1200];
  struct buffer page;
  struct lynx_error error = {0};
  int code = 0;
  buffer_init(&page, MODELS_MAX);
  endpoint_route(url, "/v1/models", route, sizeof route);
  struct control_request request = {.url = route, .timeout_ns = 10000000000};
  bool good = control_fetch(&request, &page, &code, &error) == LYNX_OK;
  json_t *root = good && code == 200 ? json_parse(page.data, page.length, MODELS_MAX, NULL) : NULL;
  const char *id = json_get_text(json_array_get(json_object_get(root, "data"), 0), "id", "");
  (void)text_sanitise(ret, size, id, strlen(id));
  if (!good) (void)fprintf(stderr, "lynxbench run: %s: %s\nnext: is the server up, and is this its address?\n", route, error.message);
  else if (id[0] == 0) (void)fprintf(stderr, "lynxbench run: %s answers %d and names no model; say which with --model NAME\n", route, code);
  json_decref(root);
  buffer_release(&page);
  return good && ret[0] != 0;
}

/* Three sessions in the time that was given: of each, a fifteenth of the whole to warm up, two ninths that count, a twentieth to drain. */
static bool divide(const char *text, char warm_up[32], char counted[32], char drain[32]) {
  int64_t whole_ns;
  if (!number_duration(text, strlen(text), &whole_ns) || whole_ns < (int64_t)SHORTEST_S * 1000000000 ||
      whole_ns > INT64_C(86400000000000)) {
    (void)fprintf(stderr, "lynxbench run: --for: found '%s'; accepted: a duration from %d s to 24 h, such as 1min\n", text, SHORTEST_S);
    return false;
  }
  (void)snprintf(warm_up, 32, "%lldms", (long long)(whole_ns / 15 / 1000000));
  (void)snprintf(counted, 32, "%lldms", (long long)(whole_ns * 2 / 9 / 1000000));
  (void)snprintf(drain, 32, "%lldms", (long long)(whole_ns / 20 / 1000000));
  return true;
}

int quick_run_write(const struct quick_run *quick, const char *path) {
  char model[300], warm_up[32], counted[32], drain[32];
  struct buffer text;
  if (!divide(quick->duration != NULL ? quick->duration : "1min", warm_up, counted, drain)) return EXIT_WRONG_INPUT;
  if (access(path, F_OK) == 0) {
    (void)fprintf(stderr, "lynxbench run: %s exists, and is not overwritten; name another bundle with --out\n", path);
    return EXIT_WRONG_INPUT;
  }
  if (quick->model != NULL) (void)snprintf(model, sizeof model, "%s", quick->model);
  else if (!ask_model(quick->url, model, sizeof model)) return EXIT_EXECUTOR;
  struct first_contract first = first_contract_defaults(quick->url, model);
  first.concurrency = "4";
  first.warm_up = warm_up;
  first.counted = counted;
  first.drain = drain;
  first.chat = quick->chat;
  buffer_init(&text, 1 << 20);
  int code = !first_contract_write(&first, "run", &text) ? EXIT_WRONG_INPUT : !write_buffer(path, &text) ? EXIT_CONDITIONS : EXIT_HOLDS;
  buffer_release(&text);
  if (code == EXIT_HOLDS)
    (void)fprintf(stderr, "%s: the contract of this run: %s, 4 requests in flight, 3 sessions of %s; edit it for another\n", path, model,
                  counted);
  return code;
}
