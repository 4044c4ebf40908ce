#include "measure/service.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"
#include "base/root.h"
#include "base/secret.h"
#include "measure/environment.h"
#include "measure/inputs.h"
#include "measure/setup.h"

enum { CONTROL_BODY_MAX = 32 << 20, ARGUMENTS_MAX = 256 };
static const double ln2 = 0.69314718055994530942;

/* go_on: false gives it up; NULL. */
static enum lynx_status fetch_while(const struct service *service, const char *path, const char *json, int64_t timeout_ns,
                                    bool (*go_on)(void *context), void *context, struct buffer *body, int *ret_status,
                                    struct lynx_error *error) {
  char url[1200];
  endpoint_route(service->contract->executor.endpoint, path, url, sizeof url);
  const struct control_request request = {.url = url,
                                          .json_body = json,
                                          .bearer = service->bearer,
                                          .ca_file = service->contract->executor.ca_file,
                                          .timeout_ns = timeout_ns,
                                          .go_on = go_on,
                                          .context = context};
  return control_fetch(&request, body, ret_status, error);
}

static enum lynx_status fetch(const struct service *service, const char *path, const char *json, int64_t timeout_ns, struct buffer *body,
                              int *ret_status, struct lynx_error *error) {
  return fetch_while(service, path, json, timeout_ns, NULL, NULL, body, ret_status, error);
}

static enum lynx_status check_ready(const struct service *service, int64_t timeout_ns, struct lynx_error *error) {
  struct buffer body;
  int http_status = 0;
  const char *path = service->contract->executor.ready_path;
  buffer_init(&body, CONTROL_BODY_MAX);
  enum lynx_status status = fetch(service, path, NULL, timeout_ns, &body, &http_status, error);
  char found[120];
  if (status == LYNX_OK && http_status != 200)
    status = lynx_fail(error, LYNX_IO,
                       "%s%s answers %d, not 200 ('%s'); %sset executor.ready_path to a path that answers 200 once it can serve",
                       service->contract->executor.endpoint, path, http_status, text_sanitise(found, sizeof found, body.data, body.length),
                       http_status == 401 || http_status == 403 ? "name the variable that holds its key in workload.api_key_env, or " : "");
  buffer_release(&body);
  return status;
}

void service_log_tail(const struct service *service, char *text, size_t size) {
  const struct root root = {""};
  struct buffer log;
  buffer_init(&log, 16 << 20);
  text[0] = 0;
  if (service->log_path[0] != 0 && root_read(&root, service->log_path, &log, NULL) == LYNX_OK && log.length > 0) {
    size_t end = log.length;
    while (end > 0 && log.data[end - 1] == '\n') end--;
    size_t from = end > 400 ? end - 400 : 0;
    (void)secret_mask_bytes(log.data, log.length, service->bearer);
    text_sanitise(text, size, log.data + from, end - from);
  }
  buffer_release(&log);
}

static enum lynx_status wait_ready(struct service *service, const char *precision, struct lynx_error *error) {
  const struct contract_start *start = &service->contract->executor.start;
  int64_t begun = clock_now(&clock_system);
  char tail[500];
  const struct timespec step = {.tv_nsec = 50000000};
  for (;;) {
    if (check_ready(service, 2000000000, NULL) == LYNX_OK) return LYNX_OK;
    if (atomic_load(service->stop) != 0) return lynx_fail(error, LYNX_IO, "stopped while the executor was starting");
    if (!child_running(&service->child)) {
      service_log_tail(service, tail, sizeof tail);
      if (service->child.exit_code == start->unavailable_exit) return lynx_fail(error, LYNX_UNSUPPORTED, "%s: %s", precision, tail);
      return lynx_fail(error, LYNX_IO, "the executor ended with exit code %d before it was ready; it printed: %s", service->child.exit_code,
                       tail[0] != 0 ? tail : "nothing");
    }
    if (clock_now(&clock_system) - begun > start->ready_within_ns) {
      service_log_tail(service, tail, sizeof tail);
      return lynx_fail(error, LYNX_IO, "the executor was not ready within %.3g s (executor.start.ready_within); it printed: %s",
                       (double)start->ready_within_ns / 1e9, tail[0] != 0 ? tail : "nothing");
    }
    (void)nanosleep(&step, NULL);
  }
}

enum lynx_status service_start(struct service *service, const char *precision, const char *log_path, struct lynx_error *error) {
  const struct contract_start *start = &service->contract->executor.start;
  if (!contract_states(service->contract, "executor.start")) return check_ready(service, 10000000000, error);
  if (check_ready(service, 1000000000, NULL) == LYNX_OK)
    return lynx_fail(error, LYNX_INPUT,
                     "something already answers at %s, and the contract says how to start the executor: stop what runs there, or leave "
                     "executor.start out",
                     service->contract->executor.endpoint);
  struct arena arena = {0};
  const char *arguments[ARGUMENTS_MAX + 1] = {NULL};
  enum lynx_status status = LYNX_OK;
  if (start->command.n_items == 0 || start->command.n_items > ARGUMENTS_MAX)
    status = lynx_fail(error, LYNX_INPUT, "executor.start.command has %zu words; from 1 to %d are accepted", start->command.n_items,
                       ARGUMENTS_MAX);
  for (size_t i = 0; status == LYNX_OK && i < start->command.n_items; i++)
    arguments[i] = setup_argument(&arena, service->contract, start->command.items[i], precision);
  if (status == LYNX_OK) {
    (void)snprintf(service->log_path, sizeof service->log_path, "%s", log_path);
    (void)unlink(log_path); /* of the session before */
    const struct child_request request = {
        .arguments = arguments, .environment = environment_of_start(service->contract, &arena), .users = true, .output_path = log_path};
    status = child_start(&service->child, &request, error);
  }
  arena_release(&arena);
  if (status != LYNX_OK) return status;
  status = wait_ready(service, precision, error);
  if (status != LYNX_OK) service_stop(service);
  return status;
}

void service_executed(const struct service *service, struct buffer *ret_json) {
  struct buffer body;
  int http_status = 0;
  buffer_init(&body, CONTROL_BODY_MAX);
  if (fetch(service, "/v1/models", NULL, 10000000000, &body, &http_status, NULL) == LYNX_OK && http_status == 200) {
    json_t *root = json_parse(body.data, body.length, CONTROL_BODY_MAX, NULL);
    const json_t *executed = json_object_get(json_array_get(json_object_get(root, "data"), 0), "executed");
    char *text = json_is_object(executed) ? json_dumps(executed, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text != NULL) (void)buffer_text(ret_json, text); /* too long a text is then no statement */
    free(text);
    json_decref(root);
  }
  buffer_release(&body);
}

enum lynx_status service_alive(const struct service *service, struct lynx_error *error) {
  return check_ready(service, 2000000000, error);
}

static bool metrics_at(const struct service *service, const char *path, struct buffer *page) {
  int http_status = 0;
  buffer_clear(page);
  return fetch(service, path, NULL, 500000000, page, &http_status, NULL) == LYNX_OK && http_status == 200 && page->length > 0;
}

/* TensorRT-LLM gives its last iterations as JSON at /metrics, once to each who asks: it is asked there a single time. */
bool service_metrics(struct service *service, struct buffer *page) {
  static const char elsewhere[] = "/prometheus/metrics";
  if (service->metrics_elsewhere) return metrics_at(service, elsewhere, page);
  if (!metrics_at(service, "/metrics", page)) return false;
  if (page->data[0] != '[' && page->data[0] != '{') return true;
  service->metrics_elsewhere = true;
  return metrics_at(service, elsewhere, page);
}

enum lynx_status service_post(const struct service *service, const char *path, const char *json, int64_t timeout_ns,
                              bool (*go_on)(void *context), void *context, int *ret_http_status, struct lynx_error *error) {
  struct buffer body;
  buffer_init(&body, CONTROL_BODY_MAX);
  enum lynx_status status = fetch_while(service, path, json, timeout_ns, go_on, context, &body, ret_http_status, error);
  buffer_release(&body);
  return status;
}

/* --- accuracy --- */

static bool ask_window(const struct service *service, const char *text, size_t length, struct buffer *body, struct lynx_error *error) {
  struct buffer request;
  struct json_writer json;
  int http_status = 0;
  buffer_init(&request, CONTROL_BODY_MAX);
  json_begin_object(&json, &request);
  json_put_text(&json, "model", service->contract->workload.model);
  json_key(&json, "prompt");
  json_bytes(&json, text, length);
  json_put_int(&json, "max_tokens", 1);
  json_put_double(&json, "temperature", 0);
  json_put_bool(&json, "echo", true);
  json_put_int(&json, "logprobs", 1);
  json_close(&json);
  bool good = json_finish(&json) && fetch(service, "/v1/completions", request.data, 300000000000, body, &http_status, error) == LYNX_OK;
  if (good && http_status != 200) {
    char found[160];
    (void)lynx_fail(error, LYNX_UNSUPPORTED, "the server answers %d to a completion with echo and logprobs: %s", http_status,
                    text_sanitise(found, sizeof found, body->data, body->length));
    good = false;
  }
  buffer_release(&request);
  return good;
}

/* The prompt's tokens come first, the one generated token last. A first token without a probability is left out, with its bytes. */
static bool sum_window(const struct buffer *body, size_t length, double *ret_bits, int64_t *ret_bytes) {
  json_t *root = json_parse(body->data, body->length, CONTROL_BODY_MAX, NULL);
  const json_t *logprobs = json_object_get(json_array_get(json_object_get(root, "choices"), 0), "logprobs");
  const json_t *values = json_object_get(logprobs, "token_logprobs"), *tokens = json_object_get(logprobs, "tokens");
  size_t n = json_array_size(values);
  bool good = n >= 2 && json_array_size(tokens) == n;
  *ret_bits = 0;
  *ret_bytes = (int64_t)length;
  for (size_t i = 0; good && i + 1 < n; i++) {
    const json_t *value = json_array_get(values, i);
    if (json_is_number(value)) *ret_bits -= json_number_value(value) / ln2;
    else if (i == 0) *ret_bytes -= (int64_t)json_string_length(json_array_get(tokens, i));
    else good = false; /* a model that gives NaN must not score by leaving its worst tokens out */
  }
  json_decref(root);
  return good && isfinite(*ret_bits) && *ret_bytes > 0;
}

enum lynx_status service_accuracy(const struct service *service, service_accuracy_row *row, void *context, struct lynx_error *error) {
  const struct contract_accuracy *accuracy = &service->contract->accuracy;
  struct buffer text, body;
  enum lynx_status status = inputs_read_text(accuracy->text_file, &text, error);
  buffer_init(&body, CONTROL_BODY_MAX);
  size_t length = (size_t)accuracy->window_bytes;
  if (status == LYNX_OK && text.length < length * (size_t)accuracy->windows) {
    lynx_error_at(error, accuracy->text_file, 0, NULL);
    status = lynx_fail(error, LYNX_INPUT, "holds %zu bytes; accuracy.windows and window_bytes ask for %zu", text.length,
                       length * (size_t)accuracy->windows);
  }
  for (int64_t i = 0; i < accuracy->windows && status == LYNX_OK; i++) {
    double bits;
    int64_t bytes;
    buffer_clear(&body);
    if (atomic_load(service->stop) != 0) status = lynx_fail(error, LYNX_IO, "stopped by the user");
    else if (!ask_window(service, text.data + (size_t)i * length, length, &body, error))
      status = error != NULL && error->status != LYNX_OK ? error->status : LYNX_IO;
    else if (!sum_window(&body, length, &bits, &bytes))
      status = lynx_fail(
          error, LYNX_UNSUPPORTED,
          "the server gives no log-probabilities of the prompt (echo with logprobs): accuracy cannot be measured by teacher forcing");
    else status = row(context, i, bits, bytes);
  }
  buffer_release(&text);
  buffer_release(&body);
  return status;
}

void service_stop(struct service *service) {
  if (service->child.pid > 0) child_stop(&service->child, service->contract->executor.start.stop_within_ns);
}
