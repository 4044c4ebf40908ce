/* Texts that are kept once: as many as were told apart, the same pointer each time, also after the set has grown. */
#include "base/text_set.h"

#include <stdio.h>

#include "tests/check.h"

enum { TEXTS = 1000, ROUNDS = 3 };

int main(void) {
  struct arena arena = {0};
  struct text_set set = {.slots = NULL};
  const char *kept[TEXTS];
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < TEXTS; i++) {
      char text[16];
      (void)snprintf(text, sizeof text, "%d", i);
      const char *found = text_set_keep(&set, &arena, text);
      if (round == 0) kept[i] = found;
      CHECK_TEXT(found, text);
      CHECK(found == kept[i] && found != text);
      CHECK_INT(text_set_place(&set, &arena, text), i);
    }
  CHECK_INT(set.n, TEXTS);
  CHECK_TEXT(text_set_keep(&set, &arena, ""), "");
  CHECK_INT(set.n, TEXTS + 1);
  text_set_release(&set);
  CHECK_INT(set.n, 0);
  arena_release(&arena);
  return check_end();
}
