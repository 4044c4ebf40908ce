#include "base/json.h"
#include "base/json_scan.h"
#include "drivers/dialect.h"
#include "drivers/openai.h"
#include "drivers/native.h"
#include "tests/check.h"

static struct piece read_text(const char *text) {
  struct piece e;
  openai_read(&e, text, strlen(text));
  return e;
}

static void events(void) {
  struct piece e = read_text(
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
  char text[16];
  CHECK_INT(json_scan_text(bytes_of("a\\\"\\n\\u00e4\\ud83d\\ude00b"), text, sizeof text), 10);
  CHECK_TEXT(text, "a\"\n\xc3\xa4\xf0\x9f\x98\x80"
                   "b");
  CHECK_INT(json_scan_text(bytes_of("0123456789\\u20ac"), text, 13), 10); /* cut at a character */
  CHECK_INT(json_scan_text(bytes_of("\\u12"), text, sizeof text), -1);
}

static void bodies(void) {
  struct driver_options o = {.model = "m\"1", .stream = true, .ignore_eos = true, .seed = 1};
  struct driver_input input = {.prompt = "hi\n", .length = 3, .output_tokens = 3};
  struct route route;
  struct buffer out;
  buffer_init(&out, 4096);
  CHECK(dialect_route(dialect_find("any"), ROUTE_COMPLETIONS, true, &route, NULL) == LYNX_OK);
  CHECK(route.body(dialect_find("any"), &o, &input, &out));
  CHECK_TEXT(out.data, "{\"model\":\"m\\\"1\",\"prompt\":\"hi\\n\",\"max_tokens\":3,\"temperature\":0,\"seed\":1,\"ignore_eos\":true,"
                       "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
  buffer_clear(&out);
  o.continuous_usage = true;
  CHECK(dialect_route(dialect_find("vllm"), ROUTE_CHAT, true, &route, NULL) == LYNX_OK);
  CHECK(route.body(dialect_find("vllm"), &o, &input, &out));
  CHECK_CONTAINS(out.data, "\"messages\":[{\"role\":\"user\",\"content\":\"hi\\n\"}]");
  CHECK_CONTAINS(out.data, "\"continuous_usage_stats\":true");
  CHECK_TEXT(route.path, "/v1/chat/completions");
  buffer_clear(&out);
  CHECK(route.body(dialect_find("openai"), &o, &input, &out)); /* it refuses what it does not know */
  CHECK_CONTAINS(out.data, "\"max_completion_tokens\":3");
  CHECK(strstr(out.data, "ignore_eos") == NULL && strstr(out.data, "continuous") == NULL);
  buffer_clear(&out);
  input.image = "data:image/png;base64,AAAA";
  CHECK(route.body(dialect_find("llamacpp"), &o, &input, &out));
  CHECK_CONTAINS(
      out.data, "[{\"type\":\"text\",\"text\":\"hi\\n\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}]");
  CHECK_CONTAINS(out.data, "\"cache_prompt\":false}");
  buffer_clear(&out);
  CHECK(dialect_route(dialect_find("ollama"), ROUTE_NATIVE_CHAT, true, &route, NULL) == LYNX_OK);
  CHECK(route.framing == FRAMING_LINES && route.body(dialect_find("ollama"), &o, &input, &out));
  CHECK_CONTAINS(out.data, "\"images\":[\"AAAA\"]");
  CHECK_CONTAINS(out.data, "\"options\":{\"num_predict\":3,");
  struct lynx_error error = {0};
  CHECK(dialect_route(dialect_find("vllm"), ROUTE_NATIVE, true, &route, &error) == LYNX_UNSUPPORTED);
  CHECK_CONTAINS(error.message, "workload.options.server is vllm");
  buffer_release(&out);
}

/* A row per route and server: every body is one JSON object. */
static void all_bodies(void) {
  struct driver_input input = {.prompt = "\"\\\x01", .length = 3, .output_tokens = 7};
  for (size_t d = 0; d < n_dialects; d++)
    for (int r = ROUTE_COMPLETIONS; r <= ROUTE_NATIVE_CHAT; r++)
      for (int stream = 0; stream < 2; stream++) {
        struct driver_options o = {.model = "m", .stream = stream, .ignore_eos = true, .continuous_usage = true, .seed = 3};
        struct route route;
        struct buffer out;
        if (dialect_route(&dialects[d], (enum request_route)r, stream, &route, NULL) != LYNX_OK) continue;
        buffer_init(&out, 4096);
        CHECK(route.body(&dialects[d], &o, &input, &out));
        json_t *root = json_parse(out.data, out.length, 4096, NULL);
        CHECK(json_is_object(root));
        CHECK(route.path[0] == '/');
        json_decref(root);
        buffer_release(&out);
      }
}

static void native_routes(void) {
  struct piece p;
#define READ(read, text) read(&p, text, strlen(text))
  READ(ollama_read, "{\"model\":\"m\",\"response\":\"A\",\"done\":false}");
  CHECK(p.is_json && p.carries_text && !p.is_done);
  CHECK_INT(p.n_bytes, 1);
  /* Go leaves out what is 0: no load_duration here */
  READ(ollama_read, "{\"response\":\"\",\"done\":true,\"done_reason\":\"length\",\"prompt_eval_count\":9,\"prompt_eval_duration\":5000000,"
                    "\"eval_count\":3,\"eval_duration\":70000000}");
  CHECK(p.is_done && p.finished && !p.carries_text);
  CHECK_INT(p.output_tokens, 3);
  CHECK_INT(p.prompt_tokens, 9);
  CHECK_INT(p.prefill_ns, 5000000);
  CHECK_INT(p.decode_ns, 70000000);
  CHECK_INT(p.load_ns, -1);
  READ(ollama_read, "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"hm\"},\"done\":false}");
  CHECK(p.carries_text && p.has_reasoning);
  READ(ollama_read, "{\"error\":\"model 'x' not found\"}");
  CHECK(p.has_error);
  CHECK_TEXT(p.error, "model 'x' not found");
  READ(tgi_read,
       "{\"index\":1,\"token\":{\"id\":5,\"text\":\" a\",\"logprob\":-0.1,\"special\":false},\"generated_text\":null,\"details\":null}");
  CHECK(p.carries_text && !p.finished);
  CHECK(p.is_one_token);
  READ(tgi_read,
       "{\"index\":2,\"token\":{\"id\":2,\"text\":\"</s>\",\"logprob\":-0.1,\"special\":true},\"generated_text\":\" a\",\"details\":"
       "{\"finish_reason\":\"eos_token\",\"generated_tokens\":2,\"input_length\":4,\"seed\":null}}");
  CHECK(p.finished && !p.carries_text); /* a special token is a token, and no text */
  CHECK(p.is_one_token);
  CHECK_INT(p.output_tokens, 2);
  CHECK_INT(p.prompt_tokens, 4);
  READ(tgi_read, "{\"generated_text\":\"ab\",\"details\":{\"generated_tokens\":2}}");
  CHECK(p.finished && p.carries_text);
  READ(tgi_read, "[{\"generated_text\":\"ab\"}]");
  CHECK(p.finished && p.carries_text);
  READ(tgi_read, "{\"error\":\"Model is overloaded\",\"error_type\":\"overloaded\"}");
  CHECK(p.has_error);
  READ(llamacpp_read, "{\"index\":0,\"content\":\"AB\",\"stop\":false,\"tokens_predicted\":2}");
  CHECK(p.carries_text && !p.finished);
  CHECK_INT(p.output_tokens, 2);
  READ(responses_read, "{\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"A\"}");
  CHECK(p.carries_text && !p.finished);
  READ(responses_read, "{\"delta\":\"A\",\"type\":\"response.reasoning_text.delta\"}"); /* the type may come last */
  CHECK(p.carries_text && p.has_reasoning && p.content.length == 0);
  READ(responses_read,
       "{\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[{\"content\":[{\"type\":"
       "\"output_text\",\"text\":\"A\"}]}],\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":8},"
       "\"output_tokens\":3,\"total_tokens\":12}}}");
  CHECK(p.finished && !p.carries_text); /* the whole text again is not another event */
  CHECK_INT(p.prompt_tokens, 9);
  CHECK_INT(p.output_tokens, 3);
  CHECK_INT(p.cached_tokens, 8);
  READ(responses_read,
       "{\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"no\"}}}");
  CHECK(p.has_error);
  CHECK_TEXT(p.error, "no");
  READ(responses_read, "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"output\":[{\"type\":\"message\","
                       "\"content\":[{\"type\":"
                       "\"output_text\",\"text\":\"AB\"}]}],\"usage\":{\"input_tokens\":9,\"output_tokens\":2,\"total_tokens\":11}}");
  CHECK(p.finished && p.carries_text && !p.has_error);
  CHECK_INT(p.n_bytes, 2);
  READ(openai_read,
       "{\"object\":\"list\",\"data\":[{\"index\":0,\"embedding\":[0.1,-2]}],\"usage\":{\"prompt_tokens\":4,\"total_tokens\":4}}");
  CHECK(p.has_embedding);
  CHECK_INT(p.prompt_tokens, 4);
  READ(openai_read, "{\"object\":\"list\",\"data\":[]}");
  CHECK(!p.has_embedding);
#undef READ
}

int main(void) {
  events();
  scanner();
  bodies();
  all_bodies();
  native_routes();
  return check_end();
}
