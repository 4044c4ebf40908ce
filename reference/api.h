/* reference/api.h: the OpenAI routes as requests and answers, in bytes; no socket.
 *
 * reference is lynxbench-ref, the reference executor: a small real serving stack. It shares nothing with lynxbench but
 * src/base, so that the instrument and the standard it is held against cannot share a mistake. */
#ifndef REFERENCE_API_H
#define REFERENCE_API_H

#include "base/arena.h"
#include "base/buffer.h"

enum { API_BODY_MAX = 4 << 20, API_STOPS_MAX = 4 };

/* What was asked for. Text lives in the arena. */
struct api_request {
  bool chat, stream, include_usage, continuous_usage, ignore_eos, echo, logprobs;
  const char *prompt;
  size_t prompt_length;
  int64_t max_tokens, seed;
  double temperature;
  const char *stops[API_STOPS_MAX];
  size_t n_stops;
};

/* INPUT with a sentence for the answer's error object. */
enum lynx_status api_parse(const char *body, size_t length, bool chat, struct arena *arena, struct api_request *ret,
                           struct lynx_error *error) LYNX_MUST_CHECK;

struct api_token {
  const char *bytes;
  size_t length;
  double logprob;
  bool has_logprob;
};

struct api_usage {
  int64_t prompt_tokens, output_tokens;
};

/* One streamed event's JSON: text (already valid UTF-8), and with `finish` the reason. usage NULL: none. */
bool api_event(const struct api_request *request, const char *model, int64_t id, const char *text, size_t length,
               const struct api_token *token, const char *finish, const struct api_usage *usage, struct buffer *ret);
/* The closing event of include_usage. */
bool api_usage_event(const struct api_request *request, const char *model, int64_t id, const struct api_usage *usage, struct buffer *ret);
/* A whole answer. tokens: every token of it, for logprobs (prompt tokens first with echo). */
bool api_answer(const struct api_request *request, const char *model, int64_t id, const char *text, size_t length,
                const struct api_token *tokens, size_t n_tokens, const char *finish, const struct api_usage *usage, struct buffer *ret);
bool api_error(const char *message, const char *type, int code, struct buffer *ret);

#endif
