#include "base/json.h"
#include "drivers/json_scan.h"
#include "drivers/openai.h"
#include "tests/check.h"

static struct openai_event read_text(const char *text) {
  struct openai_event e;
  openai_read(&e, text, strlen(text));
  return e;
}

static void events(void) {
  struct openai_event e = read_text(
      "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}");
  CHECK(e.is_json && !e.carries_text && !e.finished); /* a role-only chunk is no first token */
  e = read_text("{\"choices\":[{\"delta\":{\"content\":\"A\"},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":9,\"completion_"
                "tokens\":1,\"total_tokens\":10}}");
  CHECK(e.carries_text);
  CHECK_INT(e.n_bytes, 1);
  CHECK_INT(e.output_tokens, 1);
  CHECK_INT(e.prompt_tokens, 9);
  e = read_text("{\"choices\":[{\"text\":\"\\u00e4\\n\",\"finish_reason\":\"length\"}],\"usage\":null}");
  CHECK(e.carries_text && e.finished);
  CHECK_INT(e.n_bytes, 3); /* two bytes of UTF-8 and a line end */
  CHECK_INT(e.output_tokens, -1);
  e = read_text("{\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}");
  CHECK(e.carries_text); /* reasoning is output too */
  e = read_text("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}");
  CHECK(e.carries_text);
  e = read_text("{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,\"total_tokens\":12,\"prompt_tokens_details\":{"
                "\"cached_tokens\":8}}}");
  CHECK(!e.carries_text);
  CHECK_INT(e.cached_tokens, 8);
  e = read_text("{\"error\":{\"message\":\"out of\\nmemory\",\"code\":500}}");
  CHECK(e.has_error);
  CHECK_CONTAINS(e.error, "out of");
  CHECK(read_text("{\"error\":null,\"choices\":[]}").has_error == false);
  CHECK(read_text("[DONE]").is_done);
  CHECK(!read_text("<html>").is_json);
  CHECK(!read_text("{\"choices\":[{\"text\":\"a\"}]} x").is_json); /* something after the value */
  e = read_text("{\"choices\":[{\"text\":\"\xff\"}]}");
  CHECK(e.invalid_utf8 && e.carries_text);
  CHECK_INT(read_text("{\"usage\":{\"completion_tokens\":-5}}").output_tokens, -1);
}

static void nothing(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  (void)path, (void)depth, (void)kind, (void)raw;
  ++*(int *)context;
}

static void scanner(void) {
  static const struct {
    const char *text;
    bool good;
  } rows[] = {{"{}", true},
              {" [1, 2.5e3, \"x\", null, true] ", true},
              {"\"a\\\"b\"", true},
              {"{\"a\":{\"b\":[{}]}}", true},
              {"{\"a\"}", false},
              {"[1,]", false},
              {"\"open", false},
              {"\"\\", false},
              {"{", false},
              {"", false},
              {"nul", false},
              {"\"a\nb\"", false},
              {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", false}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    int n = 0;
    CHECK_INT(json_scan(rows[i].text, strlen(rows[i].text), nothing, &n), rows[i].good);
  }
  CHECK_INT(json_scan_text_bytes(bytes_of("\\ud83d\\ude00")), 4); /* a surrogate pair is one character */
  CHECK_INT(json_scan_text_bytes(bytes_of("\\x")), -1);
}

static void bodies(void) {
  struct driver_options o = {.model = "m\"1", .stream = true, .ignore_eos = true, .seed = 1};
  struct driver_input input = {"hi\n", 3, 3};
  struct buffer out;
  buffer_init(&out, 4096);
  CHECK(openai_body(&o, &input, &out));
  CHECK_TEXT(out.data, "{\"model\":\"m\\\"1\",\"prompt\":\"hi\\n\",\"max_tokens\":3,\"temperature\":0,\"seed\":1,\"ignore_eos\":true,"
                       "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
  buffer_clear(&out);
  o.chat = o.continuous_usage = true;
  CHECK(openai_body(&o, &input, &out));
  CHECK_CONTAINS(out.data, "\"messages\":[{\"role\":\"user\",\"content\":\"hi\\n\"}]");
  CHECK_CONTAINS(out.data, "\"continuous_usage_stats\":true");
  CHECK_TEXT(openai_path(&o), "/v1/chat/completions");
  buffer_release(&out);
}

int main(void) {
  events();
  scanner();
  bodies();
  return check_end();
}
