#include "base/typed_value.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

int typed_value_place(const char *words, const char *word) {
  size_t n = strlen(word);
  int place = 0;
  for (const char *p = words; n > 0 && p != NULL; place++) {
    size_t own = strcspn(p, ",");
    if (own == n && memcmp(p, word, n) == 0) return place;
    p = strchr(p, ',');
    if (p != NULL) p += 1 + strspn(p + 1, " ");
  }
  return -1;
}

bool typed_value_good(enum value_type type, double least, double most, const char *words, const char *text) {
  int64_t whole = 0;
  double value = 0;
  size_t n = strlen(text);
  bool good = true;
  switch (type) {
    case VALUE_TEXT: return true;
    case VALUE_CHOICE: return typed_value_place(words, text) >= 0;
    case VALUE_COUNT:
      good = number_int64(text, n, &whole);
      value = (double)whole;
      break;
    case VALUE_NUMBER: good = number_double(text, n, &value); break;
    case VALUE_SHARE: good = number_share(text, n, &value); break;
    case VALUE_DURATION:
      good = number_duration(text, n, &whole);
      value = (double)whole / 1e9;
      break;
  }
  return good && isfinite(value) && value >= least && value <= most;
}
