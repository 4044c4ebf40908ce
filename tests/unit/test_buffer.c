#include "base/buffer.h"

#include "base/secret.h"
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

/* As it was sent, in hexadecimal, in base64 by itself, within "user:KEY" and within "xKEY", in both alphabets, %-encoded, reversed. */
static void redacting_writings(void) {
  static const struct {
    const char *text, *left;
  } rows[] = {{"it was secret?>key1", "it was ************"},
              {"7365637265743f3e6b657931!", "************************!"},
              {"7365637265743F3E6B657931", "************************"},
              {"c2VjcmV0Pz5rZXkx", "****************"},
              {"dXNlcjpzZWNyZXQ/PmtleTE=", "dXNlcjp***************E="},
              {"eHNlY3JldD8-a2V5MQ==", "eH***************Q=="},
              {"%73%65%63%72%65%74%3f%3e%6b%65%79%31", "************************************"},
              {"of secret%3F%3Ekey1&", "of ****************&"},
              {"1yek>?terces", "************"},
              {"c2VjcmV0 alone", "c2VjcmV0 alone"}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s", rows[i].text);
    secret_redact(text, "secret?>key1");
    CHECK_TEXT(text, rows[i].left);
    (void)snprintf(text, sizeof text, "%s", rows[i].text);
    CHECK_INT(secret_mask_bytes(text, strlen(text), "secret?>key1"), i + 1 < LYNX_COUNT(rows));
  }
}

static void showing(void) {
  static const struct {
    const char *from, *to;
  } rows[] = {
      {"plain \\n", "plain \\n"},
      {"a\033[31mred", "a?[31mred"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"}, /* no line is forged */
      {"\x7f\xc2\x9b", "??"},
      {"a\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\xd8\x9c", "a????"}, /* override, isolate, line separator, Arabic letter mark */
      {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
      {"\xff\xed\xa0\x80", "????"},
  };
  char out[64];
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    CHECK_INT(text_format(out, sizeof out, "%s", rows[i].from), (int)strlen(rows[i].to));
    CHECK_TEXT(out, rows[i].to);
  }
  CHECK_INT(text_format(out, sizeof out, "%5.2f|%-6s|%6s|%.3s|%*d|%zu|%lld|%c|%%|%+g|%016llx", 3.14159, "gr\xc3\xbc", "\xc3\xbc", "abcdef",
                        4, 7, (size_t)9, -3LL, 'x', 0.5, 0xabcULL),
            61);
  CHECK_TEXT(out, " 3.14|gr\xc3\xbc   |     \xc3\xbc|abc|   7|9|-3|x|%|+0.5|0000000000000abc");
  (void)text_format(out, sizeof out, "%.3s|%.*s", "gr\xc3\xbc", 1, "\xc3\xbc"); /* cut through a character: it is left out */
  CHECK_TEXT(out, "gr|");
  (void)text_format(out, sizeof out, "%s%s", text_colors[TEXT_BAD], "\033[31m"); /* ours passes, a stranger's copy does not */
  CHECK_TEXT(out, "\033[31m?[31m");
  CHECK_INT(text_format(out, 4, "%s", "abcdef"), 6);
  CHECK_TEXT(out, "abc");
  struct buffer b;
  buffer_init_shown(&b, 100);
  CHECK(buffer_printf(&b, "%s", "a\nb"));
  CHECK_TEXT(b.data, "a\\nb");
  buffer_release(&b);
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
  redacting_writings();
  showing();
  redacting();
  limits();
  sanitising();
  return check_end();
}
