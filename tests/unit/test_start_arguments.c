#include <stdio.h>
#include <string.h>

#include "measure/run_record.h"
#include "tests/check.h"

/* What a start command becomes where an argument of it is set; words with blanks between. */
static void set(const char *before, const char *argument, const char *after) {
  struct run run = {.n_sent = 0};
  char words[300], text[600] = "", *rest = words;
  const char *items[32];
  size_t n = 0;
  (void)snprintf(words, sizeof words, "%s", before);
  for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) items[n++] = word;
  run.contract.executor.start.command = (struct text_list){.items = items, .n_items = n};
  run_set_argument(&run, argument);
  const struct text_list *command = &run.contract.executor.start.command;
  for (size_t i = 0; i < command->n_items; i++) {
    size_t length = strlen(text);
    (void)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " " : "", command->items[i]);
  }
  CHECK_TEXT(text, after);
  arena_release(&run.arena);
}

int main(void) {
  set("serve m --a 1 --b=2", "--a=5", "serve m --a=5 --b=2");
  set("serve m --a 1 --b=2", "--b=5", "serve m --a 1 --b=5");
  set("serve m --a 1", "--c=5", "serve m --a 1 --c=5");
  set("serve --a -1 --b", "--a=-2", "serve --a=-2 --b");
  set("serve --a --b 1", "--a=x", "serve --a=x --b 1"); /* a flag: the next word is an argument itself */
  set("serve --a --b 1", "--a", "serve --a --b 1");
  set("serve --b 1", "--a", "serve --b 1 --a");
  set("serve --aa 1", "--a=2", "serve --aa 1 --a=2");
  set("serve --b 1 -- --a 1", "--a=2", "serve --b 1 --a=2 -- --a 1"); /* behind "--" nothing is an argument */
  set("serve --a 1 --a 2", "--a=3", "serve --a=3 --a=3");
  set("serve --a", "--a=3", "serve --a=3");
  return check_end();
}
