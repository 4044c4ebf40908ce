#include "measure/tokenizer_file.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/root.h"
#include "tests/check.h"

/* {"tokenizer": .., "vectors": [[text, tokens], ..]}: the counts are those of Hugging Face's tokenizers (tests/peers/test_tokenizer.py). */
static void vectors(const char *path) {
  const struct root root = {""};
  struct buffer file;
  struct tokenizer *t;
  struct lynx_error error = {0};
  int64_t n;
  size_t i;
  json_t *pair;
  buffer_init(&file, 64 << 20);
  CHECK_INT(root_read(&root, path, &file, &error), LYNX_OK);
  json_t *all = json_parse(file.data, file.length, 64 << 20, &error);
  char *text = json_dumps(json_object_get(all, "tokenizer"), JSON_COMPACT);
  CHECK_TEXT(error.message, "");
  CHECK(text != NULL);
  if (text == NULL) return;
  CHECK_INT(tokenizer_open(text, strlen(text), &t, &error), LYNX_OK);
  CHECK_TEXT(error.message, "");
  if (t == NULL) return;
  json_array_foreach(json_object_get(all, "vectors"), i, pair) {
    const json_t *of = json_array_get(pair, 0);
    enum lynx_status status = tokenizer_count(t, json_string_value(of), json_string_length(of), &n, &error);
    if (status == LYNX_OK && n == json_integer_value(json_array_get(pair, 1))) continue;
    char *shown = json_dumps(of, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    printf("%s: %s is %lld tokens, should be %lld\n", path, shown, (long long)n, (long long)json_integer_value(json_array_get(pair, 1)));
    free(shown);
    CHECK(false);
  }
  CHECK(i > 50); /* as many as there are */
  tokenizer_close(t);
  free(text);
  json_decref(all);
  buffer_release(&file);
}

/* Every kind that is not known here is refused by its name, never counted by another's rules. */
static void refused(void) {
  static const struct {
    const char *text, *message;
    enum lynx_status status;
  } rows[] = {
      {"[]", "no model.vocab", LYNX_INPUT},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0.1]]}}", "no model.vocab", LYNX_INPUT},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":1}}}", "model.type is 'WordPiece'", LYNX_UNSUPPORTED},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":null}}", "model.merges is no list", LYNX_INPUT},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[]},\"pre_tokenizer\":\"x\"}", "pre_tokenizer is no object",
       LYNX_INPUT},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[\"ab\"]}}", "model.merges[0] is no pair", LYNX_INPUT},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[],\"end_of_word_suffix\":\"</w>\"}}", "end_of_word_suffix is '</w>'",
       LYNX_UNSUPPORTED},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[]},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}",
       "'BertPreTokenizer'", LYNX_UNSUPPORTED},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[]},\"normalizer\":{\"type\":\"Lowercase\"}}", "'Lowercase'",
       LYNX_UNSUPPORTED},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[]},\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\","
       "\"pattern\":{\"Regex\":\"(\"}}}",
       "a pattern is wrong", LYNX_INPUT},
  };
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    struct tokenizer *t;
    struct lynx_error error = {0};
    CHECK_INT(tokenizer_open(rows[i].text, strlen(rows[i].text), &t, &error), rows[i].status);
    CHECK_CONTAINS(error.message, rows[i].message);
  }
}

/* A pattern of nested repeats ends with an error, not after hours. */
static void patterns_end(void) {
  static const char json[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1},\"merges\":[]},"
                             "\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"(?:a|aa)+[xy]\"}}}";
  struct tokenizer *t;
  struct lynx_error error = {0};
  char text[200];
  int64_t n;
  memset(text, 'a', sizeof text);
  CHECK_INT(tokenizer_open(json, strlen(json), &t, &error), LYNX_OK);
  CHECK_INT(tokenizer_count(t, text, sizeof text, &n, &error), LYNX_LIMIT);
  CHECK_CONTAINS(error.message, "in reasonable time");
  tokenizer_close(t);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"gpt-2", "roberta", "llama-3", "qwen", "deepseek", "digits", "llama-2", "mistral", "gemma"};
  char path[4096];
  for (int i = 1; i < argc; i++) vectors(argv[i]);
  for (size_t i = 0; i < LYNX_COUNT(names) && argc == 1; i++) {
    snprintf(path, sizeof path, "%s/tokenizers/%s.json", RECORDED, names[i]);
    vectors(path);
  }
  refused();
  patterns_end();
  return check_end();
}
