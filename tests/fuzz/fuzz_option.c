/* A value of an option: no crash; what is good lies within its bounds, and a word of a choice is found again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/typed_value.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says which type; a choice's words end at a byte 1. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  char *text = malloc(size);
  if (text == NULL) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  enum value_type type = (enum value_type)(data[0] % (VALUE_CHOICE + 1));
  char *word = strchr(text, 1);
  if (word != NULL) *word++ = 0;
  if (type == VALUE_CHOICE) {
    int place = typed_value_place(text, word != NULL ? word : "");
    HOLDS(place < 0 || strstr(text, word != NULL ? word : "") != NULL);
    HOLDS(typed_value_good(type, 0, 0, text, word != NULL ? word : "") == (place >= 0));
  } else {
    double value = NAN;
    bool good = typed_value_good(type, 2, 50, NULL, text);
    if (type == VALUE_NUMBER) HOLDS(good == (number_double(text, strlen(text), &value) && value >= 2 && value <= 50));
    HOLDS(type != VALUE_TEXT || good);
    HOLDS(!good || typed_value_good(type, 1, 60, NULL, text)); /* wider bounds take as much */
  }
  free(text);
  return 0;
}
