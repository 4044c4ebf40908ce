/* Values of options: what is one, what is beyond its bounds, and which word of a choice it is. */
#include "base/typed_value.h"

#include "tests/check.h"

static bool good(enum value_type type, double least, double most, const char *text) {
  return typed_value_good(type, least, most, "auto, steps, device", text);
}

int main(void) {
  CHECK(good(VALUE_TEXT, 0, 0, "") && good(VALUE_TEXT, 0, 0, "anything"));
  CHECK(good(VALUE_COUNT, 1, 10, "1") && good(VALUE_COUNT, 1, 10, "10"));
  CHECK(!good(VALUE_COUNT, 1, 10, "0") && !good(VALUE_COUNT, 1, 10, "11") && !good(VALUE_COUNT, 1, 10, "1.5"));
  CHECK(!good(VALUE_COUNT, 1, 10, "") && !good(VALUE_COUNT, 1, 10, " 1") && !good(VALUE_COUNT, 1, 10, "1 ") &&
        !good(VALUE_COUNT, 1, 10, "1x"));
  CHECK(!good(VALUE_COUNT, 0, 1e300, "99999999999999999999")); /* more than a number of ours holds */
  CHECK(good(VALUE_COUNT, -5, 5, "-5") && !good(VALUE_COUNT, 0, 5, "-5"));
  CHECK(good(VALUE_NUMBER, 0.5, 99.9, "0.5") && good(VALUE_NUMBER, 0.5, 99.9, "99.9") && !good(VALUE_NUMBER, 0.5, 99.9, "99.91"));
  CHECK(!good(VALUE_NUMBER, 0, 1e308, "nan") && !good(VALUE_NUMBER, 0, 1e308, "inf") && !good(VALUE_NUMBER, 0, 1e308, "0x10"));
  CHECK(!good(VALUE_NUMBER, 0, 10, "5%"));
  CHECK(good(VALUE_SHARE, 0.001, 1, "0.05") && good(VALUE_SHARE, 0.001, 1, "5%") && good(VALUE_SHARE, 0.001, 1, "100%"));
  CHECK(!good(VALUE_SHARE, 0.001, 1, "101%") && !good(VALUE_SHARE, 0.001, 1, "0") && !good(VALUE_SHARE, 0.001, 1, "%"));
  CHECK(good(VALUE_DURATION, 10, 86400, "10s") && good(VALUE_DURATION, 10, 86400, "24h") && good(VALUE_DURATION, 1e-9, 1, "5us"));
  CHECK(!good(VALUE_DURATION, 10, 86400, "9999ms") && !good(VALUE_DURATION, 10, 86400, "25h") && !good(VALUE_DURATION, 10, 86400, "60"));
  CHECK(good(VALUE_CHOICE, 0, 0, "auto") && good(VALUE_CHOICE, 0, 0, "device"));
  CHECK(!good(VALUE_CHOICE, 0, 0, "") && !good(VALUE_CHOICE, 0, 0, "step") && !good(VALUE_CHOICE, 0, 0, "auto, steps"));
  CHECK_INT(typed_value_place("auto, steps, device", "steps"), 1);
  CHECK_INT(typed_value_place("auto, steps, device", "device"), 2);
  CHECK_INT(typed_value_place("auto", "aut"), -1);
  return check_end();
}
