/* Routes of their own: llama.cpp's /completion (an event stream), Ollama's /api/generate and /api/chat (a JSON object per line, all
 * times in nanoseconds), TGI's /generate and /generate_stream (an event per token, no [DONE]). */
#include "drivers/native.h"

#include "base/json.h"
#include "base/json_scan.h"

static void take_error(struct piece *piece, struct bytes raw) {
  piece->has_error = true;
  text_sanitise(piece->error, sizeof piece->error, raw.ptr, raw.length);
}

static void take_text(struct piece *piece, struct bytes raw) {
  piece->content = raw;
  if (raw.length > 0) piece->has_answer = true;
  piece_add_text(piece, raw);
}

/* --- llama.cpp: {"content":"A","stop":false,"tokens_predicted":1}, at the end with "stop":true and "timings"; a token whose text is not a
 * whole character yet has no event of its own --- */

static void visit_llamacpp(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct piece *piece = context;
  if (depth == 0) return;
  struct bytes last = path[depth - 1];
  if (depth == 1) {
    if (bytes_equal(last, "content") && kind == JSON_SCAN_STRING) take_text(piece, raw);
    else if (bytes_equal(last, "stop") && kind == JSON_SCAN_TRUE) piece->finished = true;
    else if (bytes_equal(last, "tokens_predicted")) piece->output_tokens = piece_count(raw);
    else if (bytes_equal(last, "tokens_evaluated")) piece->prompt_tokens = piece_count(raw);
    else if (bytes_equal(last, "error") && kind == JSON_SCAN_STRING) take_error(piece, raw);
  } else if (depth == 2 && bytes_equal(path[0], "timings")) {
    if (bytes_equal(last, "prompt_ms")) piece->prefill_ns = piece_milliseconds(raw);
    else if (bytes_equal(last, "predicted_ms")) piece->decode_ns = piece_milliseconds(raw);
    else if (bytes_equal(last, "cache_n")) piece->cached_tokens = piece_count(raw);
  } else if (depth == 2 && bytes_equal(path[0], "error") && bytes_equal(last, "message") && kind == JSON_SCAN_STRING)
    take_error(piece, raw);
}

void llamacpp_read(struct piece *ret, const char *data, size_t length) {
  piece_init(ret);
  ret->is_json = json_scan(data, length, visit_llamacpp, ret);
}

bool llamacpp_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                   struct buffer *ret) {
  (void)dialect;
  struct json_writer json;
  json_begin_object(&json, ret);
  json_key(&json, "prompt");
  json_bytes(&json, input->prompt, input->length);
  json_put_int(&json, "n_predict", input->output_tokens);
  json_put_double(&json, "temperature", options->temperature);
  if (options->seed >= 0) json_put_int(&json, "seed", options->seed);
  json_put_bool(&json, "ignore_eos", options->ignore_eos);
  json_put_bool(&json, "cache_prompt", false);
  json_put_bool(&json, "stream", options->stream);
  json_close(&json);
  return json_finish(&json);
}

/* --- Ollama: {"response":"A","done":false}, at the end {"done":true,"eval_count":..,"eval_duration":..}; a member that is 0 is left out
 * --- */

static void visit_ollama(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct piece *piece = context;
  if (depth == 0) return;
  struct bytes last = path[depth - 1];
  bool text = kind == JSON_SCAN_STRING;
  if (depth == 1) {
    if (text && bytes_equal(last, "response")) take_text(piece, raw);
    else if (text && bytes_equal(last, "thinking")) {
      piece->has_reasoning = piece->has_reasoning || raw.length > 0;
      piece_add_text(piece, raw);
    } else if (bytes_equal(last, "done") && kind == JSON_SCAN_TRUE) piece->finished = piece->is_done = true;
    else if (bytes_equal(last, "eval_count")) piece->output_tokens = piece_count(raw);
    else if (bytes_equal(last, "prompt_eval_count")) piece->prompt_tokens = piece_count(raw);
    else if (bytes_equal(last, "load_duration")) piece->load_ns = piece_nanoseconds(raw);
    else if (bytes_equal(last, "prompt_eval_duration")) piece->prefill_ns = piece_nanoseconds(raw);
    else if (bytes_equal(last, "eval_duration")) piece->decode_ns = piece_nanoseconds(raw);
    else if (text && bytes_equal(last, "error")) take_error(piece, raw);
  } else if (depth == 2 && text && bytes_equal(path[0], "message")) {
    if (bytes_equal(last, "content")) take_text(piece, raw);
    else if (bytes_equal(last, "thinking")) {
      piece->has_reasoning = piece->has_reasoning || raw.length > 0;
      piece_add_text(piece, raw);
    }
  }
}

void ollama_read(struct piece *ret, const char *data, size_t length) {
  piece_init(ret);
  ret->is_json = json_scan(data, length, visit_ollama, ret);
}

static bool ollama_rest(struct json_writer *json, const struct driver_options *options, const struct driver_input *input) {
  json_put_bool(json, "stream", options->stream);
  json_key(json, "options");
  json_open_object(json);
  json_put_int(json, "num_predict", input->output_tokens);
  json_put_double(json, "temperature", options->temperature);
  if (options->seed >= 0) json_put_int(json, "seed", options->seed);
  json_close(json);
  json_close(json);
  return json_finish(json);
}

/* Images are plain base64 there: what follows "base64," in a data URL. */
static void put_images(struct json_writer *json, const struct driver_input *input) {
  const char *comma = input->image != NULL ? strchr(input->image, ',') : NULL;
  if (comma == NULL) return;
  json_key(json, "images");
  json_open_array(json);
  json_text(json, comma + 1);
  json_close(json);
}

bool ollama_generate_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                          struct buffer *ret) {
  (void)dialect;
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "model", options->model);
  json_key(&json, "prompt");
  json_bytes(&json, input->prompt, input->length);
  json_put_bool(&json, "raw", true); /* the prompt as it stands, without the model's template, as other completions have it */
  put_images(&json, input);
  return ollama_rest(&json, options, input);
}

bool ollama_chat_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                      struct buffer *ret) {
  (void)dialect;
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "model", options->model);
  json_key(&json, "messages");
  json_open_array(&json);
  json_open_object(&json);
  json_put_text(&json, "role", "user");
  json_key(&json, "content");
  json_bytes(&json, input->prompt, input->length);
  put_images(&json, input);
  json_close(&json);
  json_close(&json);
  return ollama_rest(&json, options, input);
}

/* --- TGI: {"token":{"id":1,"text":"A","special":false},"generated_text":null,"details":null}; the last has both --- */

struct tgi_event {
  struct piece *piece;
  struct bytes text;
  bool streamed, special;
};

static void visit_tgi(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct tgi_event *event = context;
  struct piece *piece = event->piece;
  if (depth == 0) return;
  int at = path[0].ptr == NULL ? 1 : 0; /* /generate answers with an array of one where it stands in for a pipeline */
  if (depth <= at) return;
  struct bytes first = path[at], last = path[depth - 1];
  if (depth == at + 2 && bytes_equal(first, "token")) {
    event->streamed = true;
    if (bytes_equal(last, "text") && kind == JSON_SCAN_STRING) event->text = raw;
    else if (bytes_equal(last, "special") && kind == JSON_SCAN_TRUE) event->special = true;
  } else if (depth == at + 1 && bytes_equal(first, "generated_text") && kind == JSON_SCAN_STRING) {
    piece->finished = true;
    if (!event->streamed) event->text = raw;
  } else if (depth == at + 2 && bytes_equal(first, "details")) {
    if (bytes_equal(last, "generated_tokens")) piece->output_tokens = piece_count(raw);
    else if (bytes_equal(last, "input_length")) piece->prompt_tokens = piece_count(raw);
  } else if (depth == at + 1 && bytes_equal(first, "error") && kind == JSON_SCAN_STRING) take_error(piece, raw);
}

void tgi_read(struct piece *ret, const char *data, size_t length) {
  struct tgi_event event = {.piece = ret};
  piece_init(ret);
  ret->is_json = json_scan(data, length, visit_tgi, &event);
  if (event.streamed) ret->is_one_token = true;
  if (event.text.length > 0 && !event.special) take_text(ret, event.text);
}

bool tgi_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input, struct buffer *ret) {
  (void)dialect;
  struct json_writer json;
  json_begin_object(&json, ret);
  json_key(&json, "inputs");
  json_bytes(&json, input->prompt, input->length);
  json_key(&json, "parameters");
  json_open_object(&json);
  json_put_int(&json, "max_new_tokens", input->output_tokens);
  json_put_bool(&json, "details", true);
  json_put_bool(&json, "decoder_input_details", !options->stream); /* the prompt's length; refused in streams */
  json_put_bool(&json, "do_sample", options->temperature > 0);
  if (options->temperature > 0) json_put_double(&json, "temperature", options->temperature);
  if (options->seed >= 0) json_put_int(&json, "seed", options->seed);
  json_close(&json);
  json_close(&json);
  return json_finish(&json);
}
