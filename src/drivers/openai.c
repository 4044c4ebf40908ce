#include "drivers/openai.h"

#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "drivers/json_scan.h"

/* Blanks, also as they are written in JSON. */
static bool all_blank(struct bytes raw) {
  for (size_t i = 0; i < raw.length; i++) {
    bool escaped = raw.ptr[i] == '\\' && i + 1 < raw.length;
    if (escaped) i++;
    if (strchr(escaped ? "nrt" : " ", raw.ptr[i]) == NULL || raw.ptr[i] == 0) return false;
  }
  return true;
}

static void add_text(struct openai_event *event, struct bytes raw) {
  if (raw.length == 0) return;
  event->is_blank = (event->is_blank || !event->carries_text) && all_blank(raw);
  event->carries_text = true;
  int64_t n = json_scan_text_bytes(raw);
  if (n < 0) event->invalid_utf8 = true;
  event->n_bytes += (uint32_t)(n < 0 ? (int64_t)raw.length : n);
}

static void take_usage(struct openai_event *event, const struct bytes *path, int depth, struct bytes raw) {
  int64_t value;
  if (!number_int64(raw.ptr, raw.length, &value) || value < 0) return;
  if (depth == 2 && bytes_equal(path[1], "prompt_tokens")) event->prompt_tokens = value;
  else if (depth == 2 && bytes_equal(path[1], "completion_tokens")) event->output_tokens = value;
  else if (depth == 2 && bytes_equal(path[1], "total_tokens")) event->total_tokens = value;
  else if (depth == 3 && bytes_equal(path[1], "prompt_tokens_details") && bytes_equal(path[2], "cached_tokens"))
    event->cached_tokens = value;
}

static bool is_text_path(const struct bytes *path, int depth) {
  /* choices / (element) / text, or choices / (element) / delta|message / content|reasoning|tool_calls... */
  if (depth == 3) return bytes_equal(path[2], "text");
  if (depth < 4 || !(bytes_equal(path[2], "delta") || bytes_equal(path[2], "message"))) return false;
  if (depth == 4) return bytes_equal(path[3], "content") || bytes_equal(path[3], "reasoning") || bytes_equal(path[3], "reasoning_content");
  return bytes_equal(path[3], "tool_calls") && (bytes_equal(path[depth - 1], "arguments") || bytes_equal(path[depth - 1], "name"));
}

static void visit(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct openai_event *event = context;
  if (depth == 0) return;
  if (bytes_equal(path[0], "error") && kind != JSON_SCAN_NULL) {
    event->has_error = true;
    bool message = (depth == 1 || (depth == 2 && bytes_equal(path[1], "message"))) && kind == JSON_SCAN_STRING;
    if (message) text_sanitise(event->error, sizeof event->error, raw.ptr, raw.length);
  } else if (bytes_equal(path[0], "usage") && kind == JSON_SCAN_NUMBER) take_usage(event, path, depth, raw);
  else if (bytes_equal(path[0], "choices") && kind == JSON_SCAN_STRING && depth >= 3) {
    if (depth == 3 && bytes_equal(path[2], "finish_reason")) event->finished = raw.length > 0;
    else if (is_text_path(path, depth)) {
      bool reasoning = depth == 4 && !bytes_equal(path[3], "content"), tool = depth > 4;
      if (reasoning && raw.length > 0) event->has_reasoning = true;
      if (tool && raw.length > 0) event->has_tool_call = true;
      if (!reasoning && !tool) event->content = raw;
      add_text(event, raw);
    }
  }
}

void openai_read(struct openai_event *ret, const char *data, size_t length) {
  *ret = (struct openai_event){.prompt_tokens = -1, .output_tokens = -1, .total_tokens = -1, .cached_tokens = -1};
  if (length == 6 && memcmp(data, "[DONE]", 6) == 0) {
    ret->is_done = true;
    return;
  }
  ret->is_json = json_scan(data, length, visit, ret);
}

const char *openai_path(const struct driver_options *options) {
  return options->chat ? "/v1/chat/completions" : "/v1/completions";
}

bool openai_body(const struct driver_options *options, const struct driver_input *input, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  json_open_object(&json);
  json_put_text(&json, "model", options->model);
  if (options->chat) {
    json_key(&json, "messages");
    json_open_array(&json);
    json_open_object(&json);
    json_put_text(&json, "role", "user");
    json_key(&json, "content");
    json_bytes(&json, input->prompt, input->length);
    json_close(&json);
    json_close(&json);
  } else {
    json_key(&json, "prompt");
    json_bytes(&json, input->prompt, input->length);
  }
  json_put_int(&json, "max_tokens", input->output_tokens);
  json_put_double(&json, "temperature", options->temperature);
  if (options->seed >= 0) json_put_int(&json, "seed", options->seed);
  if (options->ignore_eos) json_put_bool(&json, "ignore_eos", true);
  json_put_bool(&json, "stream", options->stream);
  if (options->stream) {
    json_key(&json, "stream_options");
    json_open_object(&json);
    json_put_bool(&json, "include_usage", true);
    if (options->continuous_usage) json_put_bool(&json, "continuous_usage_stats", true);
    json_close(&json);
  }
  json_close(&json);
  return json_finish(&json);
}
