/* base64: the vectors of RFC 4648, 10; both alphabets; and what is refused. */
#include "base/base64.h"
#include "tests/check.h"

static const struct {
  const char *plain, *encoded;
} vectors[] = {
    {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};

static const char *const refused[] = {"Z",                                /* no whole group */
                                      "Zg=",                              /* padding is missing */
                                      "Zh==",                             /* bits are left over */
                                      "Zm9=",                             /* likewise, with one padding */
                                      "Zg==Zg==",                         /* padding in the middle */
                                      "=g==",     "Z===", "Zm 9", "+_==", /* alphabets mixed */
                                      "-/=="};

int main(void) {
  struct buffer out;
  buffer_init(&out, 1000);
  for (size_t i = 0; i < LYNX_COUNT(vectors); i++) {
    buffer_clear(&out);
    CHECK(base64_encode(&out, vectors[i].plain, strlen(vectors[i].plain)));
    CHECK_TEXT(out.length > 0 ? out.data : "", vectors[i].encoded);
    buffer_clear(&out);
    CHECK(base64_decode(&out, vectors[i].encoded, strlen(vectors[i].encoded)));
    CHECK_TEXT(out.length > 0 ? out.data : "", vectors[i].plain);
  }
  for (size_t i = 0; i < LYNX_COUNT(refused); i++) CHECK(!base64_decode(&out, refused[i], strlen(refused[i])));
  buffer_clear(&out);
  CHECK(base64_decode(&out, "-_-_", 4) && memcmp(out.data, "\xfb\xff\xbf", 3) == 0);
  buffer_clear(&out);
  CHECK(base64_decode(&out, "+/+/", 4) && memcmp(out.data, "\xfb\xff\xbf", 3) == 0);
  struct buffer small;
  buffer_init(&small, 3);
  struct buffer none = {.limit = 64};
  CHECK(base64_encode(&none, "", 0) && none.length == 0 && none.data != NULL && none.data[0] == 0); /* who reads it as text reads nothing */
  buffer_release(&none);
  CHECK(!base64_encode(&small, "foo", 3) && small.overflowed);
  buffer_release(&small);
  buffer_release(&out);
  return check_end();
}
