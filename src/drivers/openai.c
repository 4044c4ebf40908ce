#include "drivers/openai.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/json_scan.h"

/* --- what comes back --- */

static void take_usage(struct piece *piece, const struct bytes *path, int depth, struct bytes raw) {
  int64_t value = piece_count(raw);
  if (value < 0) return;
  struct bytes last = path[depth - 1];
  if (depth == 2) {
    if (bytes_equal(last, "prompt_tokens") || bytes_equal(last, "input_tokens")) piece->prompt_tokens = value;
    else if (bytes_equal(last, "completion_tokens") || bytes_equal(last, "output_tokens")) piece->output_tokens = value;
    else if (bytes_equal(last, "total_tokens")) piece->total_tokens = value;
  } else if (depth == 3 && bytes_equal(last, "cached_tokens") &&
             (bytes_equal(path[1], "prompt_tokens_details") || bytes_equal(path[1], "input_tokens_details")))
    piece->cached_tokens = value;
}

/* llama.cpp adds its own times to the last chunk: "timings": {"prompt_ms": 12.5, "predicted_ms": 80.1, "cache_n": 0, ...} */
static void take_timings(struct piece *piece, struct bytes name, struct bytes raw) {
  if (bytes_equal(name, "prompt_ms")) piece->prefill_ns = piece_milliseconds(raw);
  else if (bytes_equal(name, "predicted_ms")) piece->decode_ns = piece_milliseconds(raw);
  else if (bytes_equal(name, "cache_n")) piece->cached_tokens = piece_count(raw);
}

static void take_error(struct piece *piece, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  piece->has_error = true;
  bool message = (depth == 1 || (depth == 2 && bytes_equal(path[1], "message"))) && kind == JSON_SCAN_STRING;
  if (message) text_sanitise(piece->error, sizeof piece->error, raw.ptr, raw.length);
}

static bool is_text_path(const struct bytes *path, int depth) {
  /* choices / (element) / text, or choices / (element) / delta|message / content|reasoning|tool_calls... */
  if (depth == 3) return bytes_equal(path[2], "text");
  if (depth < 4 || !(bytes_equal(path[2], "delta") || bytes_equal(path[2], "message"))) return false;
  if (depth == 4) return bytes_equal(path[3], "content") || bytes_equal(path[3], "reasoning") || bytes_equal(path[3], "reasoning_content");
  return bytes_equal(path[3], "tool_calls") && (bytes_equal(path[depth - 1], "arguments") || bytes_equal(path[depth - 1], "name"));
}

/* Words by which a server says that it gave the answer up. */
static bool gave_up(struct bytes reason) {
  static const char *const words[] = {"abort", "aborted", "cancelled", "canceled", "error", "failed", "timeout"};
  bool found = false;
  for (size_t i = 0; i < LYNX_COUNT(words); i++) found = found || bytes_equal(reason, words[i]);
  return found;
}

static void take_finish(struct piece *piece, struct bytes reason) {
  piece->finished = reason.length > 0;
  if (!gave_up(reason)) return;
  piece->has_error = true;
  (void)snprintf(piece->error, sizeof piece->error, "finish_reason: %.*s", (int)reason.length, reason.ptr);
}

static void take_content(struct piece *piece, struct bytes raw) {
  piece->content = raw;
  if (raw.length > 0) piece->has_answer = true;
}

static void take_choice(struct piece *piece, const struct bytes *path, int depth, struct bytes raw) {
  if (depth == 3 && bytes_equal(path[2], "finish_reason")) take_finish(piece, raw);
  else if (is_text_path(path, depth)) {
    bool reasoning = depth == 4 && !bytes_equal(path[3], "content"), tool = depth > 4;
    if (reasoning && raw.length > 0) piece->has_reasoning = true;
    if (tool && raw.length > 0) piece->has_tool_call = true;
    if (!reasoning && !tool) take_content(piece, raw);
    if (raw.length == 0) piece->has_empty_text = true;
    piece_add_text(piece, raw);
  }
}

static void visit(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct piece *piece = context;
  if (depth == 0) return;
  if (bytes_equal(path[0], "choices")) {
    if (kind == JSON_SCAN_STRING && depth >= 3) take_choice(piece, path, depth, raw);
  } else if (bytes_equal(path[0], "usage")) {
    if (kind == JSON_SCAN_NUMBER && depth > 1) take_usage(piece, path, depth, raw);
  } else if (bytes_equal(path[0], "error")) {
    if (kind != JSON_SCAN_NULL) take_error(piece, path, depth, kind, raw);
  } else if (depth == 1 && bytes_equal(path[0], "object") && kind == JSON_SCAN_STRING && bytes_equal(raw, "error")) {
    piece->has_error = true; /* an error without a member "error": {"object": "error", "message": "..."} */
  } else if (depth == 1 && bytes_equal(path[0], "message") && kind == JSON_SCAN_STRING) {
    if (piece->error[0] == 0) text_sanitise(piece->error, sizeof piece->error, raw.ptr, raw.length);
  } else if (bytes_equal(path[0], "timings")) {
    if (kind == JSON_SCAN_NUMBER && depth == 2) take_timings(piece, path[1], raw);
  } else if (bytes_equal(path[0], "data") && depth == 3 && bytes_equal(path[2], "embedding"))
    piece->has_embedding = kind == JSON_SCAN_ARRAY || (kind == JSON_SCAN_STRING && raw.length > 0);
}

void openai_read(struct piece *ret, const char *data, size_t length) {
  piece_init(ret);
  if (length == 6 && memcmp(data, "[DONE]", 6) == 0) ret->is_done = true;
  else ret->is_json = json_scan(data, length, visit, ret);
}

/* Responses: every event has a "type"; text comes as "delta" of response.output_text.delta, usage with response.completed. The type may
 * stand behind the delta, so both are kept until the end. */
struct response_event {
  struct piece *piece;
  struct bytes type, delta, message;
};

static void visit_response(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct response_event *event = context;
  struct piece *piece = event->piece;
  bool text = kind == JSON_SCAN_STRING;
  if (depth == 0) return;
  if (depth == 1 && text && bytes_equal(path[0], "type")) event->type = raw;
  else if (depth == 1 && text && bytes_equal(path[0], "delta")) event->delta = raw;
  else if (depth == 1 && text && bytes_equal(path[0], "message")) event->message = raw;
  else if (depth == 1 && text && bytes_equal(path[0], "status"))
    piece->finished = bytes_equal(raw, "completed") || bytes_equal(raw, "incomplete");
  else if (bytes_equal(path[0], "error") && kind != JSON_SCAN_NULL) take_error(piece, path, depth, kind, raw);
  else if (bytes_equal(path[0], "usage") && kind == JSON_SCAN_NUMBER && depth > 1) take_usage(piece, path, depth, raw);
  else if (depth > 2 && bytes_equal(path[0], "response")) {
    if (bytes_equal(path[1], "usage") && kind == JSON_SCAN_NUMBER) take_usage(piece, path + 1, depth - 1, raw);
    else if (bytes_equal(path[1], "error") && kind != JSON_SCAN_NULL) take_error(piece, path + 1, depth - 1, kind, raw);
  } else if (depth == 5 && text && bytes_equal(path[0], "output") && bytes_equal(path[2], "content") && bytes_equal(path[4], "text")) {
    take_content(piece, raw); /* output / (element) / content / (element) / text of an answer that was not streamed */
    piece_add_text(piece, raw);
  }
}

void responses_read(struct piece *ret, const char *data, size_t length) {
  struct response_event event = {.piece = ret};
  piece_init(ret);
  if (length == 6 && memcmp(data, "[DONE]", 6) == 0) {
    ret->is_done = true;
    return;
  }
  ret->is_json = json_scan(data, length, visit_response, &event);
  if (bytes_equal(event.type, "error")) {
    ret->has_error = true;
    if (ret->error[0] == 0)
      text_sanitise(ret->error, sizeof ret->error, event.message.ptr != NULL ? event.message.ptr : "", event.message.length);
  } else if (bytes_equal(event.type, "response.completed") || bytes_equal(event.type, "response.incomplete")) ret->finished = true;
  else if (event.delta.length == 0) return;
  else if (bytes_equal(event.type, "response.output_text.delta")) {
    take_content(ret, event.delta);
    piece_add_text(ret, event.delta);
  } else if (bytes_equal(event.type, "response.function_call_arguments.delta")) {
    ret->has_tool_call = true;
    piece_add_text(ret, event.delta);
  } else if (bytes_equal(event.type, "response.reasoning_text.delta") || bytes_equal(event.type, "response.reasoning_summary_text.delta")) {
    ret->has_reasoning = true;
    piece_add_text(ret, event.delta);
  }
}

/* --- what is asked --- */

static void put_extra(struct json_writer *json, const char *extra) {
  if (extra[0] == 0) return;
  (void)buffer_text(json->out, ","); /* every body has members before it */
  (void)buffer_text(json->out, extra);
}

static void put_common(struct json_writer *json, const struct dialect *dialect, const struct driver_options *options) {
  json_put_double(json, "temperature", options->temperature);
  if (options->seed >= 0) json_put_int(json, "seed", options->seed);
  if (options->ignore_eos && dialect->ignores_eos) json_put_bool(json, "ignore_eos", true);
  json_put_bool(json, "stream", options->stream);
  if (options->stream) {
    json_key(json, "stream_options");
    json_open_object(json);
    json_put_bool(json, "include_usage", true);
    if (options->continuous_usage && dialect->continuous_usage) json_put_bool(json, "continuous_usage_stats", true);
    json_close(json);
  }
  put_extra(json, dialect->extra);
}

bool openai_completions_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                             struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "model", options->model);
  json_key(&json, "prompt");
  json_bytes(&json, input->prompt, input->length);
  json_put_int(&json, "max_tokens", input->output_tokens);
  put_common(&json, dialect, options);
  json_close(&json);
  return json_finish(&json);
}

static void put_part(struct json_writer *json, const char *type, const char *key) {
  json_open_object(json);
  json_put_text(json, "type", type);
  json_key(json, key);
}

static void put_content(struct json_writer *json, const struct driver_input *input) {
  if (input->image == NULL) {
    json_bytes(json, input->prompt, input->length);
    return;
  }
  json_open_array(json);
  put_part(json, "text", "text");
  json_bytes(json, input->prompt, input->length);
  json_close(json);
  put_part(json, "image_url", "image_url");
  json_open_object(json);
  json_put_text(json, "url", input->image);
  json_close(json);
  json_close(json);
  json_close(json);
}

bool openai_chat_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                      struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "model", options->model);
  json_key(&json, "messages");
  json_open_array(&json);
  json_open_object(&json);
  json_put_text(&json, "role", "user");
  json_key(&json, "content");
  put_content(&json, input);
  json_close(&json);
  json_close(&json);
  json_put_int(&json, dialect->chat_tokens, input->output_tokens);
  put_common(&json, dialect, options);
  json_close(&json);
  return json_finish(&json);
}

bool openai_responses_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                           struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "model", options->model);
  json_key(&json, "input");
  json_bytes(&json, input->prompt, input->length);
  json_put_int(&json, "max_output_tokens", input->output_tokens);
  json_put_double(&json, "temperature", options->temperature);
  json_put_bool(&json, "stream", options->stream);
  json_put_bool(&json, "store", false); /* the server need not keep it */
  put_extra(&json, dialect->extra);
  json_close(&json);
  return json_finish(&json);
}

bool openai_embeddings_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                            struct buffer *ret) {
  (void)dialect;
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "model", options->model);
  json_key(&json, "input");
  json_bytes(&json, input->prompt, input->length);
  json_put_text(&json, "encoding_format", "float");
  json_close(&json);
  return json_finish(&json);
}
