/* Files of prompts, of tensors, and tokenizers: no crash, and what is read is whole. The first byte says which. */

#include <string.h>

#include "drivers/tensor.h"
#include "measure/prompt_file.h"
#include "measure/prompt_tokens.h"
#include "measure/tokenizer_file.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void prompts(const char *text, size_t length, enum prompt_format format) {
  struct prompt_list list;
  if (prompt_file_parse(text, length, format, &list, NULL) == LYNX_OK) HOLDS(list.n_items > 0);
  for (size_t i = 0; i < list.n_items; i++) HOLDS(list.items[i].length > 0 && list.items[i].text[list.items[i].length] == 0);
  prompt_list_release(&list);
}

static void tensors(const char *text, size_t length) {
  struct arena arena = {0};
  struct tensor_set *sets = NULL;
  size_t n = 0;
  if (tensor_parse(text, length, &arena, &sets, &n, NULL) == LYNX_OK)
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; k < sets[i].n_items; k++) {
        const struct tensor *t = &sets[i].items[k];
        size_t bytes = tensor_type_bytes(t->type);
        for (size_t d = 0; d < t->n_dims; d++) bytes *= (size_t)t->dims[d];
        HOLDS(t->type == TENSOR_BYTES || bytes == t->data.length);
      }
  arena_release(&arena);
}

static void words(const char *text, size_t length) {
  struct word_list list;
  struct random_stream random;
  struct buffer out;
  random_init(&random, 1, "fuzz");
  buffer_init(&out, 4096);
  if (word_list_read(text, length, &list, NULL) == LYNX_OK) HOLDS(word_list_text(&list, &random, 5, &out) && out.length > 0);
  buffer_release(&out);
  word_list_release(&list);
}

/* A tokenizer.json, and after the last line end a text for it: a text of n bytes is n tokens at most, but for what is put before it. */
static void tokens(const char *text, size_t length) {
  const char *end = memrchr(text, '\n', length);
  struct tokenizer *t;
  int64_t n = 0;
  if (end == NULL || tokenizer_open(text, (size_t)(end - text), &t, NULL) != LYNX_OK) return;
  size_t rest = length - (size_t)(end - text) - 1;
  if (tokenizer_count(t, end + 1, rest, &n, NULL) == LYNX_OK) HOLDS(n >= 0);
  tokenizer_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const char *text = (const char *)data + 1;
  switch (data[0] % 6) {
    case 0: prompts(text, size - 1, PROMPTS_LINES); break;
    case 1: prompts(text, size - 1, PROMPTS_JSONL); break;
    case 2: prompts(text, size - 1, PROMPTS_SHAREGPT); break;
    case 3: tensors(text, size - 1); break;
    case 4: words(text, size - 1); break;
    default: tokens(text, size - 1);
  }
  return 0;
}
