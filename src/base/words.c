#include "base/words.h"

#include <string.h>

int words_find(const char *const *words, int n_words, const char *text, size_t length) {
  int i = 0;
  while (i < n_words && !(strlen(words[i]) == length && memcmp(words[i], text, length) == 0)) i++;
  return i;
}
