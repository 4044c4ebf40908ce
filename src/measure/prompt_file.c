#include "measure/prompt_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"

enum { JSON_MAX = 1 << 30, LINE_MAX_BYTES = 64 << 20 };

static void add(struct prompt_list *list, const struct prompt *prompt) {
  list->items = xroom(list->items, list->n_items, &list->room, sizeof *list->items);
  list->items[list->n_items] = *prompt;
  list->items[list->n_items++].text = arena_text(&list->arena, prompt->text, prompt->length);
}

static void add_line(struct prompt_list *list, const char *line, size_t length) {
  if (length > 0 && line[length - 1] == '\r') length--;
  if (length > 0) add(list, &(struct prompt){.text = line, .length = length, .output_tokens = -1, .answer_bytes = -1});
}

static enum lynx_status add_object(struct prompt_list *list, const char *line, size_t length, struct lynx_error *error) {
  struct lynx_error why = {0};
  json_t *root = json_parse(line, length, LINE_MAX_BYTES, &why);
  const json_t *prompt = json_object_get(root, "prompt"), *image = json_object_get(root, "image"),
               *n = json_object_get(root, "output_tokens");
  enum lynx_status status = LYNX_OK;
  if (root == NULL) status = lynx_fail(error, LYNX_INPUT, "not JSON: %s", why.message);
  else if (!json_is_string(prompt) || json_string_length(prompt) == 0)
    status = lynx_fail(error, LYNX_INPUT, "no text \"prompt\" in the object; write {\"prompt\": \"...\"}");
  else if (image != NULL && !json_is_string(image)) status = lynx_fail(error, LYNX_INPUT, "\"image\" is not the path of a file");
  else if (n != NULL && (!json_is_integer(n) || json_integer_value(n) < 1 || json_integer_value(n) > 1000000))
    status = lynx_fail(error, LYNX_INPUT, "\"output_tokens\" is not an integer from 1 to 1000000");
  else
    add(list, &(struct prompt){.text = json_string_value(prompt),
                               .length = json_string_length(prompt),
                               .output_tokens = n != NULL ? (int64_t)json_integer_value(n) : -1,
                               .answer_bytes = -1,
                               .image = image != NULL ? arena_copy(&list->arena, json_string_value(image)) : NULL});
  json_decref(root);
  return status;
}

static enum lynx_status parse_lines(const char *text, size_t length, bool objects, struct prompt_list *ret, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  int line = 0;
  for (size_t at = 0; at < length && status == LYNX_OK;) {
    const char *end = memchr(text + at, '\n', length - at);
    size_t n = end != NULL ? (size_t)(end - text) - at : length - at;
    line++;
    if (!objects) add_line(ret, text + at, n);
    else if (n > 0 && text[at] != '\r') {
      struct lynx_error why = {0};
      status = add_object(ret, text + at, n, &why);
      if (status != LYNX_OK) {
        lynx_error_at(error, NULL, line, NULL);
        (void)lynx_fail(error, status, "%s", why.message);
      }
    }
    at += n + 1;
  }
  return status;
}

/* "human" in the original, "user" in some copies; the answer is what follows. */
static bool is_human(const json_t *turn) {
  const char *from = json_get_text(turn, "from", json_get_text(turn, "role", ""));
  return strcmp(from, "human") == 0 || strcmp(from, "user") == 0;
}

static const json_t *said(const json_t *turn) {
  const json_t *value = json_object_get(turn, "value");
  return value != NULL ? value : json_object_get(turn, "content");
}

static bool add_conversation(struct prompt_list *list, const json_t *one) {
  const json_t *turns = json_object_get(one, "conversations");
  if (turns == NULL) turns = json_object_get(one, "conversation");
  for (size_t i = 0; i < json_array_size(turns); i++) {
    const json_t *turn = json_array_get(turns, i), *text = said(turn), *answer = said(json_array_get(turns, i + 1));
    if (!is_human(turn)) continue;
    if (!json_is_string(text) || json_string_length(text) == 0) return false;
    add(list, &(struct prompt){.text = json_string_value(text),
                               .length = json_string_length(text),
                               .output_tokens = -1,
                               .answer_bytes = json_is_string(answer) ? (int64_t)json_string_length(answer) : -1});
    return true;
  }
  return false;
}

static enum lynx_status parse_sharegpt(const char *text, size_t length, struct prompt_list *ret, struct lynx_error *error) {
  json_t *root = json_parse(text, length, JSON_MAX, error);
  if (root == NULL) return LYNX_INPUT;
  enum lynx_status status = LYNX_OK;
  if (!json_is_array(root)) status = lynx_fail(error, LYNX_INPUT, "not a list of conversations, as ShareGPT's file is");
  for (size_t i = 0; i < json_array_size(root); i++) ret->n_skipped += !add_conversation(ret, json_array_get(root, i));
  json_decref(root);
  return status;
}

enum lynx_status prompt_file_parse(const char *text, size_t length, enum prompt_format format, struct prompt_list *ret,
                                   struct lynx_error *error) {
  *ret = (struct prompt_list){0};
  enum lynx_status status = format == PROMPTS_SHAREGPT ? parse_sharegpt(text, length, ret, error)
                                                       : parse_lines(text, length, format == PROMPTS_JSONL, ret, error);
  if (status == LYNX_OK && ret->n_items == 0) {
    lynx_error_at(error, NULL, 0, NULL);
    status = lynx_fail(error, LYNX_INPUT, "no prompt in it");
  }
  return status;
}

void prompt_sample(size_t n_all, size_t n, uint64_t seed, size_t *ret) {
  struct random_stream random;
  lynx_assert(n <= n_all);
  size_t *places = xalloc(n_all + 1, sizeof *places);
  random_init(&random, seed, "which prompts");
  for (size_t i = 0; i < n_all; i++) places[i] = i;
  for (size_t i = 0; i < n; i++) { /* the first n of a shuffle */
    size_t k = i + random_below(&random, n_all - i), kept = places[i];
    places[i] = places[k];
    places[k] = kept;
    ret[i] = places[i];
  }
  free(places);
}

void prompt_list_release(struct prompt_list *list) {
  arena_release(&list->arena);
  free(list->items);
  *list = (struct prompt_list){0};
}
