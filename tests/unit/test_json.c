#include "base/json.h"
#include "tests/check.h"

int main(void) {
  struct buffer out;
  struct json_writer json;
  buffer_init(&out, 4096);
  json_begin(&json, &out);
  json_open_object(&json);
  json_put_text(&json, "a", "q\"b\\n\n\x01");
  json_put_double(&json, "nan", NAN); /* JSON has none */
  json_key(&json, "list");
  json_open_array(&json);
  json_int(&json, INT64_MIN);
  json_bool(&json, true);
  json_double(&json, 0.1);
  json_bytes(&json, "\xff", 1); /* made valid */
  json_close(&json);
  json_close(&json);
  CHECK(json_finish(&json));
  CHECK_TEXT(out.data, "{\"a\":\"q\\\"b\\\\n\\n\\u0001\",\"nan\":null,\"list\":[-9223372036854775808,true,0.1,\"\xef\xbf\xbd\"]}");

  struct lynx_error error = {0};
  json_t *back = json_parse(out.data, out.length, 4096, &error);
  CHECK(back != NULL);
  CHECK_TEXT(json_get_text(back, "a", ""), "q\"b\\n\n\x01");
  json_decref(back);
  CHECK(json_parse("{\"a\":1,\"a\":2}", 13, 4096, &error) == NULL); /* a key twice */
  CHECK_CONTAINS(error.message, "duplicate");
  error = (struct lynx_error){0};
  CHECK(json_parse("[1]", 3, 2, &error) == NULL);
  CHECK_INT(error.status, LYNX_LIMIT);
  buffer_release(&out);
  return check_end();
}
