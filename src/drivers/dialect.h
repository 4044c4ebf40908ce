/* drivers/dialect.h: what the servers of language models send and expect, as bytes; no socket. A dialect is a server's way of speaking
 * the routes; a route is a path, a request body and the meaning of what comes back.
 * Shapes   a request body per input; answers as pieces: an event's data, a line, or a whole body
 * Source   the OpenAI API (completions, chat completions, responses, embeddings) as served by vLLM, SGLang, TGI, llama.cpp, Ollama and
 *          TensorRT-LLM; llama.cpp's, Ollama's and TGI's own routes as their documents describe them. docs/drivers.md says which of them
 *          were recorded from a running server, and of which version
 * Note     a chunk is not a token: tokens come from usage (per chunk where the server keeps it running, else the final one) */
#ifndef DRIVERS_DIALECT_H
#define DRIVERS_DIALECT_H

#include "drivers/exchange.h"

/* More than any answer has: what a server claims beyond these is not believed, so that sums cannot overflow. */
#define PIECE_TOKENS_MAX ((int64_t)1000000000)
#define PIECE_NS_MAX ((int64_t)1000000000000000)

/* What one piece of an answer said. */
struct piece {
  bool is_json, is_done, carries_text, invalid_utf8, has_error, finished;
  bool has_reasoning, has_tool_call, is_blank; /* is_blank: all of its text */
  bool has_embedding;
  bool has_empty_text;  /* a place for text, and none in it: a token that decodes to nothing */
  struct bytes content; /* the last piece of content, escaped as in the JSON; points into the data */
  uint32_t n_bytes;
  bool is_one_token;                                                 /* by the route's own rule */
  int64_t prompt_tokens, output_tokens, total_tokens, cached_tokens; /* of the answer so far; -1: not said */
  int64_t load_ns, queue_ns, prefill_ns, decode_ns;                  /* as the server measured them; -1: not said */
  char error[160];
};

struct dialect {
  const char *name;
  bool ignores_eos;        /* takes "ignore_eos" */
  bool times_in_head;      /* x-queue-time and x-inference-time are its own, in milliseconds */
  bool continuous_usage;   /* takes stream_options.continuous_usage_stats */
  const char *chat_tokens; /* the member that bounds a chat's answer */
  const char *extra;       /* members for every body: "\"cache_prompt\":false"; "" */
  const char *summary;
};

struct route {
  const char *path;            /* below the endpoint */
  enum answer_framing framing; /* of a streamed answer */
  bool streams;                /* can be asked for a stream */
  bool has_done;               /* a stream ends with [DONE] */
  bool running_usage;          /* every event says how many tokens there have been */
  bool (*body)(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input, struct buffer *ret);
  void (*read)(struct piece *ret, const char *data, size_t length);
};

/* The dialects by name ("any" is first), in the order in which documents list them. */
extern const struct dialect dialects[];
extern const size_t n_dialects;
const struct dialect *dialect_find(const char *name); /* NULL: there is none */

/* UNSUPPORTED: that server has no such route. */
enum lynx_status dialect_route(const struct dialect *dialect, enum request_route route, bool stream, struct route *ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;

/* drivers/openai.c */
void openai_read(struct piece *ret, const char *data, size_t length); /* completions, chat, embeddings */
void responses_read(struct piece *ret, const char *data, size_t length);
bool openai_completions_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                             struct buffer *ret);
bool openai_chat_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                      struct buffer *ret);
bool openai_responses_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                           struct buffer *ret);
bool openai_embeddings_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                            struct buffer *ret);

/* For the files of dialects: an empty piece; text that a piece carries; a duration in ns or ms, or -1. */
void piece_init(struct piece *piece);
void piece_add_text(struct piece *piece, struct bytes raw);
int64_t piece_count(struct bytes raw);       /* of tokens: up to PIECE_TOKENS_MAX, else -1 */
int64_t piece_nanoseconds(struct bytes raw); /* up to PIECE_NS_MAX, else -1 */
int64_t piece_milliseconds(struct bytes raw);

#endif
