#include <stdlib.h>
#include <unistd.h>

#include "measure/image.h"
#include "measure/prompt_file.h"
#include "measure/prompt_tokens.h"
#include "tests/check.h"

static void files(void) {
  static const struct {
    const char *text;
    enum prompt_format format;
    size_t n, n_skipped;
    int line; /* of the error */
    const char *first, *message;
  } rows[] = {
      {"one\r\n\ntwo\nthree", PROMPTS_LINES, 3, 0, 0, "one", NULL},
      {"\n\n", PROMPTS_LINES, 0, 0, 0, NULL, "no prompt in it"},
      {"{\"prompt\":\"a\\u00e4\",\"output_tokens\":5}\n\n{\"prompt\":\"b\",\"image\":\"x.png\",\"other\":1}\n", PROMPTS_JSONL, 2, 0, 0,
       "a\xc3\xa4", NULL},
      {"{\"prompt\":\"a\"}\n{\"prompt\":5}\n", PROMPTS_JSONL, 0, 0, 2, NULL, "no text \"prompt\""},
      {"{\"prompt\":\"a\"}\n{\"text\":\"b\"}\n", PROMPTS_JSONL, 0, 0, 2, NULL, "no text \"prompt\""},
      {"{\"prompt\":\"a\",\"output_tokens\":0}", PROMPTS_JSONL, 0, 0, 1, NULL, "an integer from 1"},
      {"{\"prompt\":\"a\",\"image\":[]}", PROMPTS_JSONL, 0, 0, 1, NULL, "\"image\" is not the path"},
      {"{\"prompt\":\"a\"", PROMPTS_JSONL, 0, 0, 1, NULL, "not JSON"},
      {"[{\"id\":\"1\",\"conversations\":[{\"from\":\"system\",\"value\":\"s\"},{\"from\":\"human\",\"value\":\"hello\"},{\"from\":\"gpt\","
       "\"value\":\"12345678\"}]},"
       "{\"conversations\":[]},{\"conversations\":[{\"from\":\"gpt\",\"value\":\"x\"}]},7,{\"conversations\":[{\"role\":\"user\","
       "\"content\":\"hi\"}]}]",
       PROMPTS_SHAREGPT, 2, 3, 0, "hello", NULL},
      {"{\"conversations\":[]}", PROMPTS_SHAREGPT, 0, 0, 0, NULL, "not a list"},
      {"[]", PROMPTS_SHAREGPT, 0, 0, 0, NULL, "no prompt in it"},
      {"[", PROMPTS_SHAREGPT, 0, 0, 1, NULL, ""},
  };
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    struct prompt_list list;
    struct lynx_error error = {0};
    enum lynx_status status = prompt_file_parse(rows[i].text, strlen(rows[i].text), rows[i].format, &list, &error);
    CHECK_INT(status, rows[i].message != NULL ? LYNX_INPUT : LYNX_OK);
    if (rows[i].message != NULL) {
      CHECK_CONTAINS(error.message, rows[i].message);
      CHECK_INT(error.line, rows[i].line);
    } else {
      CHECK_INT(list.n_items, rows[i].n);
      CHECK_INT(list.n_skipped, rows[i].n_skipped);
      CHECK_TEXT(list.items[0].text, rows[i].first);
    }
    if (rows[i].format == PROMPTS_SHAREGPT && rows[i].message == NULL) {
      CHECK_INT(list.items[0].answer_bytes, 8);
      CHECK_INT(list.items[1].answer_bytes, -1);
    }
    if (i == 2) {
      CHECK_INT(list.items[0].output_tokens, 5);
      CHECK_TEXT(list.items[1].image, "x.png");
    }
    prompt_list_release(&list);
  }
}

/* Without repetition, the same for the same seed, and evenly: each of 20 is among 5 of 20 a quarter of the time. */
static void sampling(void) {
  size_t counts[20] = {0}, ret[20], again[20];
  for (uint64_t seed = 0; seed < 4000; seed++) {
    bool seen[20] = {false};
    prompt_sample(20, 5, seed, ret);
    prompt_sample(20, 5, seed, again);
    for (int i = 0; i < 5; i++) {
      CHECK(ret[i] < 20 && !seen[ret[i]] && ret[i] == again[i]);
      seen[ret[i]] = true;
      counts[ret[i]]++;
    }
  }
  for (int i = 0; i < 20; i++) CHECK(counts[i] > 870 && counts[i] < 1130); /* 1000 +- 4.7 standard deviations */
  prompt_sample(20, 20, 1, ret);
  size_t sum = 0;
  for (int i = 0; i < 20; i++) sum += ret[i];
  CHECK_INT(sum, 190);
}

/* A tokenizer that knows a few words, splits others into letters, and begins every text with a token of its own. */
static enum lynx_status count_some(void *context, const char *text, size_t length, int64_t *ret, struct lynx_error *error) {
  (void)error;
  ++*(int *)context;
  *ret = 1;
  for (size_t at = 0; at < length;) {
    size_t n = strcspn(text + at, " ");
    if (n > length - at) n = length - at;
    bool known = n == 5 && (memcmp(text + at, "water", 5) == 0 || memcmp(text + at, "light", 5) == 0);
    *ret += known ? 1 : (int64_t)(n + 2) / 3;
    at += n + 1;
  }
  return LYNX_OK;
}

static void exact_lengths(void) {
  for (int64_t n = 2; n < 400; n = n * 3 / 2 + 1) {
    struct random_stream random;
    struct buffer text;
    struct lynx_error error = {0};
    int calls = 0;
    int64_t found;
    random_init(&random, (uint64_t)n, "test");
    buffer_init(&text, 1 << 20);
    CHECK_INT(prompt_tokens_fit(count_some, &calls, &random, n, &text, &error), LYNX_OK);
    CHECK(count_some(&calls, text.data, text.length, &found, &error) == LYNX_OK);
    CHECK_INT(found, n);
    CHECK(calls < 66);
    buffer_release(&text);
  }
  struct random_stream random;
  struct buffer text;
  struct lynx_error error = {0};
  int calls = 0;
  random_init(&random, 1, "test");
  buffer_init(&text, 1 << 20);
  CHECK_INT(prompt_tokens_fit(count_some, &calls, &random, 0, &text, &error), LYNX_INPUT); /* one more than it can do without */
  buffer_release(&text);
}

static void vocabularies(void) {
  static const struct {
    const char *before, *after, *mark;
    bool object;
  } rows[] = {{"{\"model\":{\"type\":\"BPE\",\"vocab\":{", "\"x\":1}}}", "\xc4\xa0", true},
              {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[", "[\"x\",0]]}}", "\xe2\x96\x81", false},
              {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{", "\"##ing\":1}}}", "", true}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    char words[4096] = "", json[8192];
    size_t n = 0;
    for (int k = 0; k < 20; k++)
      n += rows[i].object ? (size_t)snprintf(words + n, sizeof words - n, "\"%sword%c\":%d,", rows[i].mark, 'a' + k, k)
                          : (size_t)snprintf(words + n, sizeof words - n, "[\"%sword%c\",-%d],", rows[i].mark, 'a' + k, k);
    (void)snprintf(json, sizeof json, "%s%s%s", rows[i].before, words, rows[i].after);
    struct word_list list;
    struct lynx_error error = {0};
    CHECK_INT(word_list_read(json, strlen(json), &list, &error), LYNX_OK);
    CHECK_INT(list.n_words, 20);
    struct random_stream random;
    struct buffer text;
    random_init(&random, 1, "test");
    buffer_init(&text, 1 << 20);
    CHECK(word_list_text(&list, &random, 7, &text));
    int blanks = 0;
    for (size_t k = 0; k < text.length; k++) blanks += text.data[k] == ' ';
    CHECK_INT(blanks, 7);
    buffer_release(&text);
    word_list_release(&list);
  }
  static const char *const bad[] = {"", "[]", "{}", "{\"model\":{\"vocab\":{\"a\":1}}}", "{\"model\":5}"};
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) {
    struct word_list list;
    struct lynx_error error = {0};
    CHECK_INT(word_list_read(bad[i], strlen(bad[i]), &list, &error), LYNX_INPUT);
    word_list_release(&list);
  }
}

static void pictures(void) {
  struct buffer url, same, other, again;
  char path[] = "/tmp/lynx-image-XXXXXX";
  buffer_init(&url, 1 << 20), buffer_init(&same, 1 << 20), buffer_init(&other, 1 << 20), buffer_init(&again, 1 << 20);
  CHECK(image_noise_url(5, 3, 1, &url) && image_noise_url(5, 3, 1, &same) && image_noise_url(5, 3, 2, &other));
  CHECK_CONTAINS(url.data, "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAADCAIAAA");
  CHECK_TEXT(url.data, same.data);
  CHECK(strcmp(url.data, other.data) != 0);
  int fd = mkstemp(path);
  CHECK(fd >= 0 && write(fd, "\xff\xd8\xff\xe0 a JPEG by its head", 24) == 24);
  struct lynx_error error = {0};
  CHECK_INT(image_file_url(path, &again, &error), LYNX_OK);
  CHECK_TEXT(again.data, "data:image/jpeg;base64,/9j/4CBhIEpQRUcgYnkgaXRzIGhlYWQA");
  CHECK(pwrite(fd, "GIF9", 4, 0) == 4);
  buffer_clear(&again);
  CHECK_INT(image_file_url(path, &again, &error), LYNX_INPUT);
  CHECK_CONTAINS(error.message, "no PNG, JPEG, GIF or WebP");
  (void)close(fd);
  (void)unlink(path);
  buffer_release(&url), buffer_release(&same), buffer_release(&other), buffer_release(&again);
}

int main(void) {
  files();
  sampling();
  exact_lengths();
  vocabularies();
  pictures();
  return check_end();
}
