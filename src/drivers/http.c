/* The http driver: servers of language models over HTTP/1.1, by the dialect that they speak (dialect.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "drivers/dialect.h"
#include "drivers/exchange.h"
#include "drivers/model_answer.h"

enum { HTTP_SERVER, HTTP_EXTRA };

static const struct driver_option http_options[] = {
    [HTTP_SERVER] = {.name = "server",
                     .kind = OPTION_CHOICE,
                     .fallback = "any",
                     .choices = "any, openai, vllm, sglang, tgi, llamacpp, ollama, transformers, trtllm",
                     .help = "the dialect: which members beyond the common ones it is sent, and what it says of itself",
                     .example = "vllm"},
    [HTTP_EXTRA] = {.name = "extra_body",
                    .kind = OPTION_TEXT,
                    .help = "a JSON object whose members are added to every request",
                    .example = "'{\"top_k\": 1}'"},
};

struct http_driver {
  struct driver_options options;
  const struct dialect *dialect;
  struct route route;
  struct answer_rules rules;
  struct exchange *exchange;
  json_t *extra_members;
  const char *extra; /* the members of extra_body, without the braces; NULL: none */
  struct arena arena;
  int64_t *asked; /* per input: max_tokens */
};

static void http_close(void *state) {
  struct http_driver *driver = state;
  if (driver == NULL) return;
  exchange_close(driver->exchange);
  json_decref(driver->extra_members);
  arena_release(&driver->arena);
  free(driver->asked);
  free(driver);
}

/* --- what an answer says --- */

static bool on_piece(void *context, struct answer *answer, struct bytes data, const char **ret_reason) {
  const struct http_driver *driver = context;
  struct completion event;
  if (!model_answer_piece(&driver->rules, answer, data, &event, ret_reason)) return false;
  if (event.kind == COMPLETION_EVENT) exchange_deliver(driver->exchange, answer, &event);
  return true;
}

static void on_end(void *context, struct answer *answer, struct bytes body) {
  const struct http_driver *driver = context;
  struct completion event;
  int64_t asked = driver->options.ignore_eos ? driver->asked[answer->input] : 0;
  model_answer_end(&driver->rules, answer, body, asked, &event);
  if (event.kind == COMPLETION_EVENT) exchange_deliver(driver->exchange, answer, &event);
}

/* --- the driver --- */

/* "{"top_k": 1}" → "\"top_k\":1" */
static enum lynx_status read_extra(struct http_driver *driver, const char *text, struct lynx_error *error) {
  struct lynx_error why = {0};
  json_t *extra = json_parse(text, strlen(text), 1 << 20, &why);
  enum lynx_status status = LYNX_OK;
  if (!json_is_object(extra))
    status = lynx_fail(error, LYNX_INPUT, "workload.options.extra_body: '%.60s' is not a JSON object, such as {\"top_k\": 1}", text);
  else if (json_object_size(extra) > 0) {
    char *dumped = json_dumps(extra, JSON_COMPACT | JSON_SORT_KEYS);
    if (dumped != NULL) driver->extra = arena_text(&driver->arena, dumped + 1, strlen(dumped) - 2);
    free(dumped);
  }
  driver->extra_members = status == LYNX_OK ? extra : NULL;
  if (status != LYNX_OK) json_decref(extra);
  return status;
}

/* What the contract states is not to be overridden behind its back. */
static enum lynx_status check_extra(const struct http_driver *driver, const struct buffer *body, struct lynx_error *error) {
  const char *name;
  json_t *value, *root = json_parse(body->data, body->length, EXCHANGE_BODY_MAX, NULL);
  enum lynx_status status = LYNX_OK;
  json_object_foreach(driver->extra_members, name, value) if (status == LYNX_OK && json_object_get(root, name) != NULL)
      status = lynx_fail(error, LYNX_INPUT,
                         "workload.options.extra_body: found '%.60s', which the request has already; leave it out, and set the "
                         "contract's own field where there is one",
                         name);
  json_decref(root);
  return status;
}

static enum lynx_status http_open(const struct driver_options *options, void **ret_state, struct lynx_error *error) {
  struct http_driver *driver = xalloc(1, sizeof *driver);
  driver->options = *options;
  const char *server = options->values != NULL ? options->values[HTTP_SERVER] : "any",
             *extra = options->values != NULL ? options->values[HTTP_EXTRA] : NULL;
  driver->dialect = dialect_find(server);
  lynx_assert(driver->dialect != NULL); /* the option's choices are the table's names */
  enum lynx_status status = dialect_route(driver->dialect, options->route, options->stream, &driver->route, error);
  if (!driver->route.streams) driver->options.stream = false;
  driver->rules = (struct answer_rules){.route = &driver->route,
                                        .embeddings = options->route == ROUTE_EMBEDDINGS,
                                        .times_in_head = driver->dialect->times_in_head,
                                        .running_usage = driver->route.running_usage ||
                                                         (options->continuous_usage && driver->dialect->continuous_usage)};
  if (status == LYNX_OK && extra != NULL) status = read_extra(driver, extra, error);
  struct exchange_reader reader = {.framing = driver->route.framing, .piece = on_piece, .judge = on_end};
  if (status == LYNX_OK) status = exchange_open(options, &reader, driver, &driver->exchange, error);
  if (status != LYNX_OK) {
    http_close(driver);
    return status;
  }
  *ret_state = driver;
  return LYNX_OK;
}

static enum lynx_status http_prepare(void *state, const struct driver_input *inputs, size_t n_inputs, struct lynx_error *error) {
  struct http_driver *driver = state;
  driver->asked = xalloc(n_inputs, sizeof *driver->asked);
  struct buffer body;
  buffer_init(&body, EXCHANGE_BODY_MAX);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < n_inputs && status == LYNX_OK; i++) {
    buffer_clear(&body);
    bool good = driver->route.body(driver->dialect, &driver->options, &inputs[i], &body);
    if (good && driver->extra != NULL && i == 0) status = check_extra(driver, &body, error);
    if (status != LYNX_OK) break;
    if (good && driver->extra != NULL) {
      body.length--; /* the closing brace */
      good = buffer_printf(&body, ",%s}", driver->extra);
    }
    struct exchange_post post = {.path = driver->route.path,
                                 .content_type = "application/json",
                                 .accept = driver->route.framing == FRAMING_EVENTS ? "text/event-stream" : "application/json",
                                 .body = {body.data, body.length}};
    if (!good) status = lynx_fail(error, LYNX_LIMIT, "input %zu makes a request of more than %d bytes", i, EXCHANGE_BODY_MAX);
    else status = exchange_add(driver->exchange, &post, error);
    driver->asked[i] = inputs[i].output_tokens;
  }
  buffer_release(&body);
  return status;
}

static enum driver_answer http_issue(void *state, uint32_t slot, size_t input) {
  exchange_issue(((struct http_driver *)state)->exchange, slot, input);
  return DRIVER_ACCEPTED;
}

static void http_reap(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  exchange_reap(((struct http_driver *)state)->exchange, deadline_ns, deliver, context);
}

static void http_cancel(void *state, uint32_t slot) {
  exchange_cancel(((struct http_driver *)state)->exchange, slot);
}

static enum lynx_status http_check(const struct driver_options *options, const char **ret_field, struct lynx_error *error) {
  struct route route;
  *ret_field = "workload.api";
  return dialect_route(dialect_find(options->values[0]), options->route, options->stream, &route, error);
}

/* The servers that it knows are a table of their own. */
static bool http_list(struct buffer *out) {
  bool good = buffer_text(out, "\n| server | ignore_eos | running usage | what it is sent, and says |\n|---|---|---|---|\n");
  for (size_t i = 0; i < n_dialects; i++)
    good = good && buffer_printf(out, "| `%s` | %s | %s | %s |\n", dialects[i].name, dialects[i].ignores_eos ? "yes" : "no",
                                 dialects[i].continuous_usage ? "yes" : "no", dialects[i].summary);
  return good;
}

const struct driver driver_http;
const struct driver driver_http = {
    .abi = DRIVER_ABI,
    .check = http_check,
    .list = http_list,
    .name = "http",
    .summary = "servers of language models over HTTP/1.1: completions, chat, responses, embeddings, and native routes",
    .sees =
        "first byte, first token, every token; load, queue, prefill and decode where the server reports its own times (llama.cpp, Ollama)",
    .options = http_options,
    .n_options = LYNX_COUNT(http_options),

    .open = http_open,
    .prepare = http_prepare,
    .issue = http_issue,
    .reap = http_reap,
    .cancel = http_cancel,
    .close = http_close,
};
