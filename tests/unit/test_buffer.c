#include "base/buffer.h"
#include "tests/check.h"

static void limits(void) {
  struct buffer b;
  buffer_init(&b, 10);
  CHECK(buffer_append(&b, "12345", 5));
  CHECK(!buffer_append(&b, "678901", 6)); /* 11 bytes: over the limit from birth */
  CHECK(b.overflowed);
  CHECK_TEXT(b.data, "12345");       /* as it was */
  CHECK(!buffer_append(&b, "1", 1)); /* an overflow stays */
  buffer_clear(&b);
  CHECK(buffer_printf(&b, "%d", 1234567890));
  buffer_drop_front(&b, 7);
  CHECK_TEXT(b.data, "890");
  buffer_release(&b);
}

static void sanitising(void) {
  static const struct {
    const char *from, *to;
  } rows[] = {
      {"plain", "plain"},
      {"a\033[31mred", "a?[31mred"}, /* no escape sequence reaches a terminal */
      {"tab\there", "tab?here"},
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"}, /* UTF-8 stays */
      {"\xff\xfe", "??"},                           /* never UTF-8 */
      {"\xc0\xaf", "??"},                           /* overlong */
      {"\xed\xa0\x80", "???"},                      /* a surrogate */
      {"\xc2\x9b"
       "31m",
       "?31m"}, /* the one-byte CSI of C1 */
      {"a\xe2\x80\xae"
       "b",
       "a?b"}, /* right-to-left override */
  };
  char out[64];
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) CHECK_TEXT(text_sanitise(out, sizeof out, rows[i].from, strlen(rows[i].from)), rows[i].to);
  CHECK_TEXT(text_sanitise(out, 4, "gr\xc3\xbc\xc3\x9f", 6), "gr"); /* cut at a character */
}

/* Rows of {text, secret, what is left}: whole, at the end where it was cut, too little to tell anything, none. */
static void redacting(void) {
  static const struct {
    const char *text, *secret, *left;
  } rows[] = {{"key sk-123456 is bad, sk-123456!", "sk-123456", "key ********* is bad, *********!"},
              {"invalid: sk-123", "sk-123456", "invalid: ******"},
              {"invalid: sk-", "sk-123456", "invalid: sk-"},
              {"sk-123456", "sk-123456", "*********"},
              {"nothing here", "sk-123456", "nothing here"},
              {"", "sk-123456", ""},
              {"as it was", "", "as it was"}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s", rows[i].text);
    text_redact(text, rows[i].secret);
    CHECK_TEXT(text, rows[i].left);
  }
  char text[] = "as it was";
  text_redact(text, NULL);
  CHECK_TEXT(text, "as it was");
}

int main(void) {
  redacting();
  limits();
  sanitising();
  return check_end();
}
