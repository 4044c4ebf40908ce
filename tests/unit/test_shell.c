/* What a shell makes of our words is what they were. */
#include "base/shell.h"

#include <stdio.h>
#include <string.h>

#include "tests/check.h"

static const char *through_shell(const char *word, char *ret, size_t size) {
  char command[9000];
  (void)snprintf(command, sizeof command, "printf %%s %s", shell_word(word));
  FILE *shell = popen(command, "r"); /* NOLINT(cert-env33-c): the words are this test's */
  size_t n = shell != NULL ? fread(ret, 1, size - 1, shell) : 0;
  ret[n] = 0;
  CHECK(shell != NULL && pclose(shell) == 0);
  return ret;
}

int main(void) {
  static const char *const words[] = {
      "plain/path-1.lynx", "", "two words", "it's", "'", "$(id)", "a;b", "`id`", "*", "~root", "#x", "a\nb", "\\", "é ü"};
  char text[9000], long_word[8100];
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) CHECK_TEXT(through_shell(words[i], text, sizeof text), words[i]);
  CHECK(shell_word(words[0]) == words[0]); /* as it is */
  /* One line may hold several. */
  const char *first = shell_word("a b");
  for (int i = 1; i < SHELL_WORDS; i++) (void)shell_word("c d");
  CHECK_TEXT(first, "'a b'");
  /* Too long: cut, and still one word. */
  memset(long_word, '\'', sizeof long_word - 1);
  long_word[sizeof long_word - 1] = 0;
  (void)through_shell(long_word, text, sizeof text);
  CHECK(text[0] != 0 && text[strspn(text, "'")] == 0);
  return check_end();
}
