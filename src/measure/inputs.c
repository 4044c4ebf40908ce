#include "measure/inputs.h"

#include "base/random.h"
#include "base/root.h"

enum lynx_status inputs_read_text(const char *path, struct buffer *ret, struct lynx_error *error) {
  const struct root root = {""};
  buffer_init(ret, 64 << 20);
  return root_read(&root, path, ret, error);
}

/* Whole characters only. */
static struct driver_input cut(struct inputs *inputs, const struct buffer *text, size_t at, size_t length) {
  while (at < text->length && ((unsigned char)text->data[at] & 0xc0) == 0x80) at++;
  size_t end = at + length < text->length ? at + length : text->length;
  while (end > at && end < text->length && ((unsigned char)text->data[end] & 0xc0) == 0x80) end--;
  return (struct driver_input){arena_text(&inputs->arena, text->data + at, end - at), end - at};
}

static struct driver_input words(struct inputs *inputs, struct random_stream *random, size_t length) {
  static const char *const syllables[] = {"ka", "lo", "mi", "ne", "ra", "su", "ti", "vo", "en", "ar", "is", "un", "to", "pe", "da", "go"};
  char *text = arena_alloc(&inputs->arena, length + 4, 1);
  size_t n = 0;
  while (n < length) {
    for (uint64_t left = 1 + random_below(random, 3); left > 0 && n < length; left--) {
      const char *syllable = syllables[random_below(random, LYNX_COUNT(syllables))];
      text[n++] = syllable[0];
      text[n++] = syllable[1];
    }
    if (n < length) text[n++] = ' ';
  }
  return (struct driver_input){text, length};
}

enum lynx_status inputs_make(const struct contract *contract, struct inputs *ret, struct lynx_error *error) {
  const struct contract_prompts *prompts = &contract->workload.prompts;
  size_t length = (size_t)prompts->bytes;
  struct random_stream random;
  struct buffer text = {0};
  enum lynx_status status = LYNX_OK;
  *ret = (struct inputs){.n_items = (size_t)prompts->count};
  if (prompts->file != NULL) status = inputs_read_text(prompts->file, &text, error);
  if (status == LYNX_OK && prompts->file != NULL && text.length < length + 8) {
    lynx_error_at(error, prompts->file, 0, NULL);
    status = lynx_fail(error, LYNX_INPUT, "holds %zu bytes; workload.prompts.bytes asks for pieces of %zu", text.length, length);
  }
  if (status == LYNX_OK) {
    random_init(&random, (uint64_t)contract->method.seed, "prompts");
    ret->items = arena_alloc(&ret->arena, ret->n_items, sizeof *ret->items);
    ret->order = arena_alloc(&ret->arena, ret->n_items, sizeof *ret->order);
    for (size_t i = 0; i < ret->n_items; i++)
      ret->items[i] = prompts->file != NULL ? cut(ret, &text, random_below(&random, text.length - length), length)
                                            : words(ret, &random, length);
  }
  buffer_release(&text);
  return status;
}

void inputs_shuffle(struct inputs *inputs, uint64_t seed) {
  struct random_stream random;
  random_init(&random, seed, "input order");
  for (size_t i = 0; i < inputs->n_items; i++) inputs->order[i] = (uint32_t)i;
  for (size_t i = inputs->n_items; i > 1; i--) {
    size_t k = random_below(&random, i);
    uint32_t kept = inputs->order[i - 1];
    inputs->order[i - 1] = inputs->order[k];
    inputs->order[k] = kept;
  }
}

void inputs_release(struct inputs *inputs) {
  arena_release(&inputs->arena);
  *inputs = (struct inputs){0};
}
