#include "base/number.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "tests/check.h"

static void durations(void) {
  static const struct {
    const char *text;
    bool good;
    int64_t ns;
  } rows[] = {
      {"0s", true, 0},
      {"250us", true, 250000},
      {"200ms", true, 200000000},
      {"1.5s", true, 1500000000},
      {"0.1s", true, 100000000}, /* exactly, on every machine */
      {"2min", true, 120000000000},
      {"1h", true, 3600000000000},
      {"0.000000001s", true, 1},
      {"0.0000000001s", false, 0}, /* finer than a nanosecond */
      {"5", false, 0},             /* no unit */
      {"s", false, 0},             /* no number */
      {"1.s", false, 0},
      {"-1s", false, 0},
      {"1e3s", false, 0},
      {"1 s", false, 0},
      {"99999999999h", false, 0}, /* overflows */
  };
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    int64_t ns = 0;
    CHECK_INT(number_duration(rows[i].text, strlen(rows[i].text), &ns), rows[i].good);
    if (rows[i].good) CHECK_INT(ns, rows[i].ns);
  }
}

static void integers(void) {
  static const struct {
    const char *text;
    bool good;
    int64_t value;
  } rows[] = {{"0", true, 0},
              {"-7", true, -7},
              {"9223372036854775807", true, INT64_MAX},
              {"-9223372036854775808", true, INT64_MIN},
              {"9223372036854775808", false, 0},
              {"", false, 0},
              {"-", false, 0},
              {"1x", false, 0},
              {" 1", false, 0},
              {"99999999999999999999999", false, 0}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    int64_t value = 0;
    CHECK_INT(number_int64(rows[i].text, strlen(rows[i].text), &value), rows[i].good);
    if (rows[i].good) CHECK_INT(value, rows[i].value);
  }
}

static void doubles(void) {
  double value;
  CHECK(number_double("0.25", 4, &value) && value == 0.25);
  CHECK(!number_double("nan", 3, &value));
  CHECK(!number_double("0x1p3", 5, &value));
  CHECK(!number_double("1e999", 5, &value)); /* not finite */
  CHECK(!number_double("1.2.3", 5, &value));
}

/* Short decimals are read without the C library, to the same bits. */
static void doubles_as_the_library_reads_them(void) {
  static const char *const rows[] = {"0",
                                     "-0",
                                     "5.",
                                     ".5",
                                     "-.5",
                                     "007",
                                     "999999999999999",
                                     "9999999999999999",
                                     "0.000000000000001",
                                     "-0.0000000000000001",
                                     "2.2250738585072011e-308"};
  static const char *const none[] = {"", ".", "-", "-.", "+", "1-", "1..2", "--1", "1 "};
  struct random_stream random;
  char text[64];
  double value;
  for (size_t i = 0; i < LYNX_COUNT(rows); i++)
    CHECK(number_double(rows[i], strlen(rows[i]), &value) && value == strtod(rows[i], NULL) && signbit(value) == (rows[i][0] == '-'));
  for (size_t i = 0; i < LYNX_COUNT(none); i++) CHECK(!number_double(none[i], strlen(none[i]), &value));
  random_init(&random, 1, "decimals");
  size_t differ = 0;
  for (int round = 0; round < 20000; round++) {
    size_t n = 1 + (size_t)random_below(&random, 18), point = (size_t)random_below(&random, 2 * n), length = 0;
    if (random_below(&random, 4) == 0) text[length++] = '-';
    for (size_t i = 0; i < n; i++) {
      if (i == point) text[length++] = '.';
      text[length++] = (char)('0' + random_below(&random, 10));
    }
    text[length] = 0;
    differ += !number_double(text, length, &value) || value != strtod(text, NULL);
  }
  CHECK_INT(differ, 0);
}

static void texts(void) {
  char text[64];
  CHECK_TEXT(number_text(text, sizeof text, 0.1), "0.1");
  CHECK_TEXT(number_text(text, sizeof text, -0.0), "0");
  CHECK_TEXT(number_text(text, sizeof text, 1.0 / 3), "0.3333333333333333");
  CHECK_TEXT(number_grouped(text, sizeof text, 3630, 0), "3,630");
  CHECK_TEXT(number_grouped(text, sizeof text, -1234567.5, 1), "-1,234,567.5");
  CHECK_TEXT(number_grouped(text, sizeof text, 999, 0), "999");
  CHECK_TEXT(number_duration_text(text, sizeof text, 8571000), "8.571 ms");
  CHECK_NEAR(number_round(123456.789, 3), 123000, 0);
}

int main(void) {
  durations();
  integers();
  doubles();
  doubles_as_the_library_reads_them();
  texts();
  return check_end();
}
