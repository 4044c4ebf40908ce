/* measure/prompt_tokens.h: texts of exactly so many tokens.
 * Two ways  the whole words of a tokenizer.json: each is a token of its own wherever the tokenizer splits at blanks (byte-level BPE,
 * WordPiece, Unigram do), so n of them are n tokens; or seeded words, which the server counts by its own route until they are as many
 * Limits    what a template adds (a beginning-of-text token, a chat's frame) is not counted: the server's usage tells it, and is recorded
 * Errors    INPUT: a file that is no tokenizer, or has too few whole words; UNSUPPORTED: the server has no route to count by */
#ifndef MEASURE_PROMPT_TOKENS_H
#define MEASURE_PROMPT_TOKENS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/random.h"

/* Words that are one token each, with the blank before them. */
struct word_list {
  struct arena arena;
  const char **words;
  size_t n_words;
  bool prepends; /* the tokenizer puts a blank before the text by itself */
};

enum { WORDS_LEAST = 16 };

enum lynx_status word_list_read(const char *json, size_t length, struct word_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;
void word_list_release(struct word_list *list);
/* n of them, by the stream. */
bool word_list_text(const struct word_list *list, struct random_stream *random, int64_t n, struct buffer *ret);

/* How many tokens a text has, by whoever knows. */
typedef enum lynx_status token_counter(void *context, const char *text, size_t length, int64_t *ret, struct lynx_error *error);
/* Grows and cuts seeded words until they are n tokens. INPUT if that is not reached in 64 counts. */
enum lynx_status prompt_tokens_fit(token_counter *count, void *context, struct random_stream *random, int64_t n, struct buffer *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;

/* A counter by a server's /tokenize, in the forms that vLLM, llama.cpp and TGI answer. */
struct server_tokenizer {
  const char *endpoint, *model, *bearer, *ca_file, *user_agent;
  int64_t timeout_ns; /* 0: 10 s */
};
token_counter prompt_tokens_by_server; /* context: struct server_tokenizer */

#endif
