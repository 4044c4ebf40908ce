#include "base/words.h"

#include <string.h>

int words_find(const char *const *words, int n_words, const char *text, size_t length) {
  int i = 0;
  while (i < n_words && !(strlen(words[i]) == length && memcmp(words[i], text, length) == 0)) i++;
  return i;
}

size_t words_distance(const char *typed, const char *word) {
  enum { LONGEST = 40 };
  size_t n = strlen(typed), m = strlen(word), row[LONGEST + 1];
  if (n > LONGEST || m > LONGEST) return LONGEST;
  if (n >= 3 && strncmp(typed, word, n) == 0) return 0;
  for (size_t j = 0; j <= m; j++) row[j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t above = row[j], best = diagonal + (typed[i - 1] != word[j - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
      diagonal = above;
    }
  }
  return row[m];
}
