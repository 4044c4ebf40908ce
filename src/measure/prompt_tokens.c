#include "measure/prompt_tokens.h"

#include <string.h>

#include "base/control.h"
#include "base/endpoint.h"
#include "base/json.h"

enum {
  WORDS_MAX = 4096,
  WORD_BYTES_LEAST = 3,
  WORD_BYTES_MAX = 12,
  COUNTS_MAX = 64,
  FIRST_GUESS_BYTES = 6,
  PAGE_MAX = 64 << 20,
  TOKENIZER_MAX = 256 << 20
};

static bool is_word(const char *word) {
  size_t letters = strspn(word, "abcdefghijklmnopqrstuvwxyz");
  return word[letters] == 0 && letters >= WORD_BYTES_LEAST && letters <= WORD_BYTES_MAX;
}

/* "Ġword" (byte-level BPE) and "▁word" (SentencePiece): a blank and small letters; WordPiece marks what is no beginning ("##ing") instead.
 * Others may be split or joined. */
static const char *whole_word(const char *token, bool word_piece) {
  static const char *const marks[] = {"\xc4\xa0", "\xe2\x96\x81"};
  if (word_piece) return is_word(token) ? token : NULL;
  for (size_t i = 0; i < LYNX_COUNT(marks); i++) {
    size_t n = strlen(marks[i]);
    if (strncmp(token, marks[i], n) != 0) continue;
    return is_word(token + n) ? token + n : NULL;
  }
  return NULL;
}

static void add_word(struct word_list *list, const char *token, bool word_piece) {
  const char *word = token != NULL ? whole_word(token, word_piece) : NULL;
  if (word != NULL && list->n_words < WORDS_MAX) list->words[list->n_words++] = arena_printf(&list->arena, " %s", word);
}

enum lynx_status word_list_read(const char *text, size_t length, struct word_list *ret, struct lynx_error *error) {
  *ret = (struct word_list){0};
  json_t *root = json_parse(text, length, TOKENIZER_MAX, error);
  if (root == NULL) return LYNX_INPUT;
  const json_t *model = json_object_get(root, "model"), *vocabulary = json_object_get(model, "vocab");
  bool word_piece = strcmp(json_get_text(model, "type", ""), "WordPiece") == 0;
  const char *token;
  json_t *value;
  ret->words = arena_alloc(&ret->arena, WORDS_MAX, sizeof *ret->words);
  if (json_is_object(vocabulary)) /* BPE and WordPiece: by token */
    json_object_foreach((json_t *)(uintptr_t)vocabulary, token, value) add_word(ret, token, word_piece);
  for (size_t i = 0; json_is_array(vocabulary) && i < json_array_size(vocabulary); i++) /* Unigram: [token, score] */
    add_word(ret, json_string_value(json_array_get(json_array_get(vocabulary, i), 0)), word_piece);
  const json_t *normaliser = json_object_get(root, "normalizer"), *steps = json_object_get(normaliser, "normalizers");
  ret->prepends = strcmp(json_get_text(normaliser, "type", ""), "Prepend") == 0; /* as Llama 2's and Mistral's do */
  for (size_t i = 0; i < json_array_size(steps); i++)
    ret->prepends = ret->prepends || strcmp(json_get_text(json_array_get(steps, i), "type", ""), "Prepend") == 0;
  json_decref(root);
  if (ret->n_words >= WORDS_LEAST) return LYNX_OK;
  return lynx_fail(
      error, LYNX_INPUT,
      "%zu tokens of it are whole words with a blank before them, and %d are needed; it must be a tokenizer.json of byte-level BPE, "
      "SentencePiece or WordPiece",
      ret->n_words, WORDS_LEAST);
}

void word_list_release(struct word_list *list) {
  arena_release(&list->arena);
  *list = (struct word_list){0};
}

bool word_list_text(const struct word_list *list, struct random_stream *random, int64_t n, struct buffer *ret) {
  bool good = true;
  for (int64_t i = 0; i < n && good; i++)
    good = buffer_text(ret, list->words[random_below(random, list->n_words)] + (i == 0 && list->prepends ? 1 : 0));
  return good;
}

/* --- by counting --- */

static bool add_seeded_word(struct random_stream *random, struct buffer *text) {
  static const char *const words[] = {"time",   "people", "water",  "house",  "light",  "river",   "music",  "paper",
                                      "winter", "garden", "number", "letter", "table",  "window",  "market", "summer",
                                      "street", "mother", "father", "school", "friend", "morning", "story"};
  return buffer_printf(text, "%s%s", text->length > 0 ? " " : "", words[random_below(random, LYNX_COUNT(words))]);
}

static bool set_length(struct random_stream *random, struct buffer *text, size_t length) {
  bool good = true;
  while (text->length < length && good) good = add_seeded_word(random, text);
  if (!good) return false;
  text->length = length;
  text->data[length] = 0;
  return true;
}

/* The bytes that a token takes on average are learned as it goes: the text is made longer or shorter by as many as are missing or too much,
 * and near the end by a letter. */
enum lynx_status prompt_tokens_fit(token_counter *count, void *context, struct random_stream *random, int64_t n, struct buffer *ret,
                                   struct lynx_error *error) {
  int64_t found = 0;
  size_t length = (size_t)(n > 0 ? n : 1) * FIRST_GUESS_BYTES;
  for (int k = 0; k < COUNTS_MAX; k++) {
    if (!set_length(random, ret, length)) return lynx_fail(error, LYNX_LIMIT, "a prompt of %lld tokens is too long", (long long)n);
    enum lynx_status status = count(context, ret->data, ret->length, &found, error);
    if (status != LYNX_OK || found == n) return status;
    int64_t missing = n - found, bytes = found > 0 ? (int64_t)((double)missing * (double)length / (double)found) : missing;
    bool near = missing > -3 && missing < 3;
    if (bytes == 0 || near) bytes = missing > 0 ? 1 : -1;
    length = (int64_t)length + bytes > 1 ? (size_t)((int64_t)length + bytes) : 1;
    /* A letter less may be a token more: near the end the last words are drawn anew, so that no circle is walked for ever. */
    size_t again = near ? random_below(random, 24) + 1 : 0;
    if (ret->length > length) ret->length = length;
    ret->length -= again < ret->length ? again : ret->length;
  }
  return lynx_fail(
      error, LYNX_INPUT,
      "no text of exactly %lld tokens was found: the last had %lld (a tokenizer that adds tokens of its own cannot have fewer)",
      (long long)n, (long long)found);
}

/* vLLM: {"count":5,"tokens":[..]}; llama.cpp: {"tokens":[..]}; TGI: [{"id":1,..},..] */
static int64_t count_in(const json_t *root) {
  const json_t *count = json_object_get(root, "count"), *tokens = json_is_array(root) ? root : json_object_get(root, "tokens");
  if (json_is_integer(count)) return (int64_t)json_integer_value(count);
  return json_is_array(tokens) ? (int64_t)json_array_size(tokens) : -1;
}

enum lynx_status prompt_tokens_by_server(void *context, const char *text, size_t length, int64_t *ret, struct lynx_error *error) {
  const struct server_tokenizer *server = context;
  struct buffer body, page;
  struct json_writer json;
  char url[1200];
  int code = 0;
  buffer_init(&body, PAGE_MAX);
  buffer_init(&page, PAGE_MAX);
  json_begin_object(&json, &body);
  json_put_text(&json, "model", server->model);
  static const char *const names[] = {"prompt", "content", "inputs"}; /* each server takes its own and passes over the others */
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    json_key(&json, names[i]);
    json_bytes(&json, text, length);
  }
  json_put_bool(&json, "add_special_tokens", false);
  json_put_bool(&json, "add_special", false);
  json_close(&json);
  endpoint_route(server->endpoint, "/tokenize", url, sizeof url);
  struct control_request request = {.url = url,
                                    .json_body = body.data,
                                    .bearer = server->bearer,
                                    .ca_file = server->ca_file,
                                    .user_agent = server->user_agent,
                                    .timeout_ns = server->timeout_ns > 0 ? server->timeout_ns : 10000000000};
  enum lynx_status status = json_finish(&json) ? control_fetch(&request, &page, &code, error)
                                               : lynx_fail(error, LYNX_LIMIT, "a prompt of more than %d bytes", PAGE_MAX);
  json_t *root = status == LYNX_OK && code == 200 ? json_parse(page.data, page.length, PAGE_MAX, NULL) : NULL;
  *ret = count_in(root);
  if (status == LYNX_OK && *ret < 0) {
    char found[80];
    status = lynx_fail(error, LYNX_UNSUPPORTED,
                       "workload.prompts.tokenizer: server: %s answers %d and no list of tokens ('%s'); name a tokenizer.json instead", url,
                       code, text_sanitise(found, sizeof found, page.data, page.length));
  }
  json_decref(root);
  buffer_release(&body);
  buffer_release(&page);
  return status;
}
