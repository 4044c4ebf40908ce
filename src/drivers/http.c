/* The http driver: servers of language models over HTTP/1.1, by the dialect that they speak (dialect.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "drivers/dialect.h"

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

static void take_piece(struct http_driver *driver, struct exchange_answer *answer, const struct piece *piece) {
  struct answer_end *end = &answer->end;
  if (piece->has_error) {
    answer->failed = true;
    memcpy(end->reason, piece->error, sizeof end->reason);
    return;
  }
  if (piece->prompt_tokens >= 0) end->prompt_tokens = piece->prompt_tokens;
  if (piece->cached_tokens > 0) end->flags |= ANSWER_CACHED_PROMPT;
  if (piece->invalid_utf8) end->flags |= ANSWER_INVALID_UTF8;
  if (piece->has_reasoning) end->flags |= ANSWER_REASONING;
  if (piece->has_tool_call) end->flags |= ANSWER_TOOL_CALL;
  if (piece->finished || piece->has_embedding) answer->finished = true;
  uint32_t n_tokens = piece->carries_text || piece->is_one_token; /* until usage tells better; docs/method.md#tokens */
  if (piece->is_one_token) end->flags |= ANSWER_TOKENS_TOLD;
  if (piece->output_tokens >= 0) {
    end->output_tokens = piece->output_tokens;
    if (piece->total_tokens >= 0 && piece->prompt_tokens >= 0 && piece->total_tokens != piece->prompt_tokens + piece->output_tokens)
      end->flags |= ANSWER_USAGE_CONTRADICTS;
    if (driver->route.running_usage || (driver->options.continuous_usage && driver->dialect->continuous_usage)) {
      /* Asked for is not given: usage that comes only at the end is spread over the events, like any. */
      bool a_token = piece->carries_text || (piece->has_empty_text && !piece->finished);
      bool running = a_token || (end->flags & ANSWER_TOKENS_TOLD) != 0;
      int64_t more = piece->output_tokens - answer->tokens_before;
      if (running && more < 0) end->flags |= ANSWER_USAGE_CONTRADICTS;
      if (running) end->flags |= ANSWER_TOKENS_TOLD;
      n_tokens = running && more > 0 ? (uint32_t)more : 0;
      answer->tokens_before = piece->output_tokens;
    }
  }
  if (piece->carries_text && answer->n_text_events++ == 0 && piece->is_blank) end->flags |= ANSWER_BLANK_FIRST;
  answer->n_empty_events += piece->has_empty_text && !piece->carries_text;
  answer->text_bytes += piece->n_bytes;
  exchange_add_phase(answer, "load", -1, piece->load_ns);
  exchange_add_phase(answer, "queue", -1, piece->queue_ns);
  exchange_add_phase(answer, "prefill", -1, piece->prefill_ns);
  exchange_add_phase(answer, "decode", -1, piece->decode_ns);
  if (piece->carries_text || n_tokens > 0)
    exchange_deliver(driver->exchange, answer,
                     &(struct completion){.n_tokens = n_tokens,
                                          .n_bytes = piece->n_bytes,
                                          .carries_text = piece->carries_text,
                                          .carries_answer = piece->has_answer,
                                          .carries_tool_call = piece->has_tool_call,
                                          .content = piece->content});
}

static bool on_piece(void *context, struct exchange_answer *answer, struct bytes data, const char **ret_reason) {
  struct http_driver *driver = context;
  struct piece piece;
  driver->route.read(&piece, data.ptr, data.length);
  if (piece.is_done && !piece.is_json) {
    answer->done = true;
    return true;
  }
  *ret_reason = driver->route.framing == FRAMING_LINES ? "a line that is not JSON" : "an event that is not JSON";
  if (!piece.is_json) return false;
  take_piece(driver, answer, &piece);
  if (piece.is_done) answer->done = true;
  return true;
}

static void refuse(struct answer_end *end, enum outcome outcome, const char *what, struct bytes body) {
  char found[60];
  end->outcome = outcome;
  (void)snprintf(end->reason, sizeof end->reason, "%s; it begins '%s'", what, text_sanitise(found, sizeof found, body.ptr, body.length));
}

static void judge_whole(struct http_driver *driver, struct exchange_answer *answer, struct bytes body) {
  struct piece piece;
  bool wanted_pieces = driver->route.framing != FRAMING_WHOLE;
  driver->route.read(&piece, body.ptr, body.length);
  if (piece.has_error) {
    answer->end.outcome = OUTCOME_ERROR_IN_STREAM;
    memcpy(answer->end.reason, piece.error, sizeof answer->end.reason);
  } else if (wanted_pieces) refuse(&answer->end, OUTCOME_PROTOCOL, "200, but not an event stream", body);
  else if (!piece.is_json) refuse(&answer->end, OUTCOME_PROTOCOL, "200, but not JSON", body);
  else if (driver->options.route == ROUTE_EMBEDDINGS && !piece.has_embedding)
    refuse(&answer->end, OUTCOME_PROTOCOL, "200, but without an embedding", body);
  else take_piece(driver, answer, &piece);
}

static void judge_status(struct http_driver *driver, struct exchange_answer *answer, struct bytes body) {
  struct piece piece;
  driver->route.read(&piece, body.ptr, body.length);
  answer->end.outcome = OUTCOME_HTTP_STATUS;
  if (piece.has_error && piece.error[0] != 0) memcpy(answer->end.reason, piece.error, sizeof answer->end.reason);
  else text_sanitise(answer->end.reason, sizeof answer->end.reason, body.ptr, body.length);
}

static void on_end(void *context, struct exchange_answer *answer, struct bytes body) {
  struct http_driver *driver = context;
  struct answer_end *end = &answer->end;
  if (answer->http->status != 200) {
    judge_status(driver, answer, body);
    return;
  }
  if (driver->dialect->times_in_head) {
    exchange_add_phase(answer, "queue", -1, answer->http->queue_ns);
    exchange_add_phase(answer, "inference", -1, answer->http->inference_ns);
  }
  if (!answer->in_pieces) {
    judge_whole(driver, answer, body);
    if (end->outcome != OUTCOME_OK) return;
  } else if (answer->failed) {
    end->outcome = OUTCOME_ERROR_IN_STREAM;
    return;
  } else if (!answer->done && !answer->finished) {
    end->outcome = OUTCOME_NOT_FINISHED;
    (void)snprintf(end->reason, sizeof end->reason, "the stream ended without [DONE] or a finish reason");
    return;
  }
  /* [DONE] alone ends a stream, and says nothing of the answer: half of one ends so, too. */
  if (!answer->finished && end->output_tokens < 0) {
    bool empty = answer->n_text_events == 0;
    end->outcome = empty ? OUTCOME_PROTOCOL : OUTCOME_NOT_FINISHED;
    (void)snprintf(end->reason, sizeof end->reason, "200, but neither %susage, nor a reason to finish", empty ? "text, nor " : "");
    return;
  }
  if (answer->in_pieces && !answer->done && driver->route.has_done) end->flags |= ANSWER_NO_DONE;
  if (answer->in_pieces && end->output_tokens > answer->text_bytes && end->output_tokens <= answer->text_bytes + answer->n_empty_events)
    end->flags |= ANSWER_EMPTY_TOKENS;
  end->n_empty_events = answer->n_empty_events;
  if (driver->options.route == ROUTE_EMBEDDINGS) return;
  if (end->output_tokens < 0) end->flags |= ANSWER_NO_USAGE;
  if (end->output_tokens >= 0 && end->output_tokens < answer->n_text_events) end->flags |= ANSWER_USAGE_CONTRADICTS;
  if (driver->options.ignore_eos && end->output_tokens >= 0 && end->output_tokens < driver->asked[answer->input])
    end->flags |= ANSWER_SHORT;
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
