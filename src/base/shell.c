#include "base/shell.h"

#include <string.h>

enum { WORD_MAX = 8192 };

const char *shell_word(const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-", quote[] = "'\\''";
  static _Thread_local char words[SHELL_WORDS][WORD_MAX];
  static _Thread_local unsigned next;
  if (word[0] != 0 && word[strspn(word, plain)] == 0) return word;
  char *text = words[next++ % SHELL_WORDS];
  size_t n = 0;
  text[n++] = '\'';
  for (; *word != 0 && n + sizeof quote < WORD_MAX; word++) {
    if (*word != '\'') text[n++] = *word;
    else {
      memcpy(&text[n], quote, sizeof quote - 1);
      n += sizeof quote - 1;
    }
  }
  text[n++] = '\'';
  text[n] = 0;
  return text;
}
