/* drivers/openai.h: what OpenAI-compatible servers send and expect, as bytes; no socket.
 * Shapes   a request body per input; answers as event data (streamed) or one JSON body
 * Source   the completions and chat completions routes as served by vLLM, SGLang, llama.cpp and the OpenAI API; a chunk is not a
 *          token: tokens come from usage (per chunk where the server keeps it running, else the final one) */
#ifndef DRIVERS_OPENAI_H
#define DRIVERS_OPENAI_H

#include "load/driver.h"

/* What one event (or whole body) said. */
struct openai_event {
  bool is_json, is_done, carries_text, invalid_utf8, has_error, finished;
  bool has_reasoning, has_tool_call, is_blank; /* is_blank: all of its text */
  struct bytes content;                        /* the last piece of content, escaped as in the JSON; points into the data */
  uint32_t n_bytes;
  int64_t prompt_tokens, output_tokens, total_tokens, cached_tokens; /* -1: not said */
  char error[160];
};

void openai_read(struct openai_event *ret, const char *data, size_t length);

/* The path below the endpoint: "/v1/completions" or "/v1/chat/completions". */
const char *openai_path(const struct driver_options *options);
bool openai_body(const struct driver_options *options, const struct driver_input *input, struct buffer *ret);

#endif
