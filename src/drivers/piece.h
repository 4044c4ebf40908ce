/* drivers/piece.h: what one piece of an answer said: an event's data, a line, or a whole body. */
#ifndef DRIVERS_PIECE_H
#define DRIVERS_PIECE_H

#include "base/buffer.h"

/* More than any answer has: what a server claims beyond these is not believed, so that sums cannot overflow. */
#define PIECE_TOKENS_MAX ((int64_t)1000000000)
#define PIECE_NS_MAX ((int64_t)1000000000000000)

/* What one piece of an answer said. */
struct piece {
  bool is_json, is_done, carries_text, invalid_utf8, has_error, finished;
  bool has_reasoning, has_tool_call, has_answer, is_blank; /* is_blank: nothing of its text can be seen */
  bool has_embedding;
  bool has_empty_text;  /* a place for text, and none in it: a token that decodes to nothing */
  struct bytes content; /* the last piece of content, escaped as in the JSON; points into the data */
  uint32_t n_bytes;
  bool is_one_token;                                                 /* by the route's own rule */
  int64_t prompt_tokens, output_tokens, total_tokens, cached_tokens; /* of the answer so far; -1: not said */
  int64_t load_ns, queue_ns, prefill_ns, decode_ns;                  /* as the server measured them; -1: not said */
  char error[160];
};

/* An empty piece; text that a piece carries; a duration in ns or ms, or -1. */
void piece_init(struct piece *piece);
void piece_add_text(struct piece *piece, struct bytes raw);
int64_t piece_count(struct bytes raw);       /* of tokens, at most PIECE_TOKENS_MAX, which no text bears out; -1: no count */
int64_t piece_nanoseconds(struct bytes raw); /* up to PIECE_NS_MAX, else -1 */
int64_t piece_milliseconds(struct bytes raw);

#endif
