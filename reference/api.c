#include "reference/api.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void append_message(struct buffer *text, const char *role, const json_t *content) {
  (void)buffer_printf(text, "%s: ", role);
  if (json_is_string(content)) (void)buffer_append(text, json_string_value(content), json_string_length(content));
  size_t i;
  json_t *part;
  json_array_foreach(content, i, part) { /* parts: only text is understood */
    const json_t *piece = json_object_get(part, "text");
    if (json_is_string(piece)) (void)buffer_append(text, json_string_value(piece), json_string_length(piece));
  }
  (void)buffer_append(text, "\n", 1);
}

static enum lynx_status take_prompt(const json_t *root, struct arena *arena, struct api_request *ret, struct lynx_error *error) {
  const json_t *prompt = json_object_get(root, ret->chat ? "messages" : "prompt");
  if (!ret->chat && json_is_array(prompt) && json_array_size(prompt) == 1) prompt = json_array_get(prompt, 0);
  if (!ret->chat) {
    if (!json_is_string(prompt)) return lynx_fail(error, LYNX_INPUT, "'prompt' must be one string");
    ret->prompt_length = json_string_length(prompt);
    ret->prompt = arena_text(arena, json_string_value(prompt), ret->prompt_length);
    return LYNX_OK;
  }
  if (!json_is_array(prompt) || json_array_size(prompt) == 0)
    return lynx_fail(error, LYNX_INPUT, "'messages' must be a list that is not empty");
  struct buffer text;
  buffer_init(&text, API_BODY_MAX);
  size_t i;
  json_t *message;
  json_array_foreach(prompt, i, message) append_message(&text, json_get_text(message, "role", "user"), json_object_get(message, "content"));
  (void)buffer_text(&text, "assistant: ");
  ret->prompt_length = text.length;
  ret->prompt = arena_text(arena, text.data, text.length);
  buffer_release(&text);
  return LYNX_OK;
}

static enum lynx_status take_stops(const json_t *root, struct arena *arena, struct api_request *ret, struct lynx_error *error) {
  const json_t *stop = json_object_get(root, "stop");
  if (json_is_string(stop) && json_string_length(stop) > 0) ret->stops[ret->n_stops++] = arena_copy(arena, json_string_value(stop));
  if (json_is_array(stop) && json_array_size(stop) > API_STOPS_MAX) return lynx_fail(error, LYNX_INPUT, "'stop' holds more than 4 strings");
  size_t i;
  json_t *item;
  json_array_foreach(stop, i, item) if (json_is_string(item) && json_string_length(item) > 0)
      ret->stops[ret->n_stops++] = arena_copy(arena, json_string_value(item));
  return LYNX_OK;
}

enum lynx_status api_parse(const char *body, size_t length, bool chat, struct arena *arena, struct api_request *ret,
                           struct lynx_error *error) {
  *ret = (struct api_request){.chat = chat};
  json_t *root = json_parse(body, length, API_BODY_MAX, error);
  if (root == NULL) return LYNX_INPUT;
  ret->stream = json_get_bool(root, "stream", false);
  ret->ignore_eos = json_get_bool(root, "ignore_eos", false);
  ret->echo = !chat && json_get_bool(root, "echo", false);
  ret->max_tokens = json_get_int(root, "max_tokens", json_get_int(root, "max_completion_tokens", 16));
  ret->seed = json_get_int(root, "seed", 0);
  ret->temperature = json_get_double(root, "temperature", 1);
  const json_t *logprobs = json_object_get(root, "logprobs");
  ret->logprobs = json_is_true(logprobs) || (json_is_integer(logprobs) && json_integer_value(logprobs) >= 0 && !chat);
  const json_t *options = json_object_get(root, "stream_options");
  ret->include_usage = json_get_bool(options, "include_usage", false);
  ret->continuous_usage = json_get_bool(options, "continuous_usage_stats", false);
  enum lynx_status status = take_prompt(root, arena, ret, error);
  if (status == LYNX_OK) status = take_stops(root, arena, ret, error);
  if (status == LYNX_OK && options != NULL && !ret->stream) status = lynx_fail(error, LYNX_INPUT, "'stream_options' needs 'stream': true");
  if (status == LYNX_OK && (ret->max_tokens < 0 || ret->max_tokens > 1000000))
    status = lynx_fail(error, LYNX_INPUT, "'max_tokens' must be from 0 to 1000000");
  if (status == LYNX_OK && !(ret->temperature >= 0 && ret->temperature <= 10))
    status = lynx_fail(error, LYNX_INPUT, "'temperature' must be from 0 to 10");
  if (status == LYNX_OK && json_get_int(root, "n", 1) != 1) status = lynx_fail(error, LYNX_INPUT, "only 'n': 1 is supported");
  json_decref(root);
  return status;
}

static void open_answer(struct json_writer *json, const struct api_request *request, const char *model, int64_t id, bool chunk) {
  char name[40];
  (void)snprintf(name, sizeof name, "%s-%lld", request->chat ? "chatcmpl" : "cmpl", (long long)id);
  json_open_object(json);
  json_put_text(json, "id", name);
  json_put_text(json, "object", request->chat ? (chunk ? "chat.completion.chunk" : "chat.completion") : "text_completion");
  json_put_int(json, "created", 0);
  json_put_text(json, "model", model);
}

static void put_usage(struct json_writer *json, const struct api_usage *usage) {
  json_key(json, "usage");
  if (usage == NULL) {
    json_nothing(json);
    return;
  }
  json_open_object(json);
  json_put_int(json, "prompt_tokens", usage->prompt_tokens);
  json_put_int(json, "completion_tokens", usage->output_tokens);
  json_put_int(json, "total_tokens", usage->prompt_tokens + usage->output_tokens);
  json_close(json);
}

static void put_logprobs(struct json_writer *json, const struct api_request *request, const struct api_token *tokens, size_t n_tokens) {
  json_key(json, "logprobs");
  if (!request->logprobs || n_tokens == 0) {
    json_nothing(json);
    return;
  }
  json_open_object(json);
  if (request->chat) {
    json_key(json, "content");
    json_open_array(json);
    for (size_t i = 0; i < n_tokens; i++) {
      json_open_object(json);
      json_key(json, "token");
      json_bytes(json, tokens[i].bytes, tokens[i].length);
      json_put_double(json, "logprob", tokens[i].logprob);
      json_key(json, "bytes");
      json_open_array(json);
      for (size_t k = 0; k < tokens[i].length; k++) json_int(json, (unsigned char)tokens[i].bytes[k]);
      json_close(json);
      json_key(json, "top_logprobs");
      json_open_array(json);
      json_close(json);
      json_close(json);
    }
    json_close(json);
  } else {
    json_key(json, "tokens");
    json_open_array(json);
    for (size_t i = 0; i < n_tokens; i++) json_bytes(json, tokens[i].bytes, tokens[i].length);
    json_close(json);
    json_key(json, "token_logprobs");
    json_open_array(json);
    for (size_t i = 0; i < n_tokens; i++)
      if (tokens[i].has_logprob) json_double(json, tokens[i].logprob);
      else json_nothing(json);
    json_close(json);
    json_key(json, "top_logprobs");
    json_nothing(json);
  }
  json_close(json);
}

bool api_event(const struct api_request *request, const char *model, int64_t id, const char *text, size_t length,
               const struct api_token *token, const char *finish, const struct api_usage *usage, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  open_answer(&json, request, model, id, true);
  json_key(&json, "choices");
  json_open_array(&json);
  json_open_object(&json);
  json_put_int(&json, "index", 0);
  if (request->chat) {
    json_key(&json, "delta");
    json_open_object(&json);
    if (token == NULL && finish == NULL) json_put_text(&json, "role", "assistant");
    if (finish == NULL) {
      json_key(&json, "content");
      json_bytes(&json, text, length);
    }
    json_close(&json);
  } else {
    json_key(&json, "text");
    json_bytes(&json, text, length);
  }
  put_logprobs(&json, request, token, token != NULL ? 1 : 0);
  json_put_text(&json, "finish_reason", finish);
  json_close(&json);
  json_close(&json);
  if (request->include_usage) put_usage(&json, request->continuous_usage ? usage : NULL);
  json_close(&json);
  return json_finish(&json);
}

bool api_usage_event(const struct api_request *request, const char *model, int64_t id, const struct api_usage *usage, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  open_answer(&json, request, model, id, true);
  json_key(&json, "choices");
  json_open_array(&json);
  json_close(&json);
  put_usage(&json, usage);
  json_close(&json);
  return json_finish(&json);
}

bool api_answer(const struct api_request *request, const char *model, int64_t id, const char *text, size_t length,
                const struct api_token *tokens, size_t n_tokens, const char *finish, const struct api_usage *usage, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  open_answer(&json, request, model, id, false);
  json_key(&json, "choices");
  json_open_array(&json);
  json_open_object(&json);
  json_put_int(&json, "index", 0);
  if (request->chat) {
    json_key(&json, "message");
    json_open_object(&json);
    json_put_text(&json, "role", "assistant");
    json_key(&json, "content");
    json_bytes(&json, text, length);
    json_close(&json);
  } else {
    json_key(&json, "text");
    json_bytes(&json, text, length);
  }
  put_logprobs(&json, request, tokens, n_tokens);
  json_put_text(&json, "finish_reason", finish);
  json_close(&json);
  json_close(&json);
  put_usage(&json, usage);
  json_close(&json);
  return json_finish(&json);
}

bool api_error(const char *message, const char *type, int code, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_key(&json, "error");
  json_open_object(&json);
  json_put_text(&json, "message", message);
  json_put_text(&json, "type", type);
  json_put_int(&json, "code", code);
  json_close(&json);
  json_close(&json);
  return json_finish(&json);
}
