/* measure/prompt_file.h: a file of prompts, read: lines, JSON lines, or ShareGPT's JSON. And which of them are asked.
 * Shapes   items[n_items], in the file's order
 * Errors   INPUT with the line (or the conversation) that is not as it should be; what has no prompt is passed over and counted
 * Memory   the list's arena */
#ifndef MEASURE_PROMPT_FILE_H
#define MEASURE_PROMPT_FILE_H

#include "contract/contract.h"

struct prompt {
  const char *text;
  size_t length;
  int64_t output_tokens; /* -1: not said */
  int64_t answer_bytes;  /* of the answer that follows it; -1: none */
  const char *image;     /* a path; NULL: none */
};

struct prompt_list {
  struct arena arena;
  struct prompt *items;
  size_t n_items, n_skipped, room;
};

enum lynx_status prompt_file_parse(const char *text, size_t length, enum prompt_format format, struct prompt_list *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
/* n of n_all places, none twice, by the seed: ret[n]. */
void prompt_sample(size_t n_all, size_t n, uint64_t seed, size_t *ret);
void prompt_list_release(struct prompt_list *list);

#endif
