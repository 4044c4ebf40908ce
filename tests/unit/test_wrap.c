/* Lines of a page on a terminal: words move to the next line, commands stay whole. */
#include <string.h>

#include "report/text.h"
#include "tests/check.h"

static void check_wrapped(const char *text, int width, const char *want) {
  struct buffer out;
  buffer_init_shown(&out, 1 << 16);
  text_wrap(&out, 2, 2, width, text);
  CHECK_TEXT(out.data, want);
  buffer_release(&out);
}

int main(void) {
  struct arena arena = {0};
  check_wrapped("one two three", 9, "one two\n  three");
  check_wrapped("one  two", 40, "one  two");
  check_wrapped("a-word-that-is-longer b", 9, "a-word-that-is-longer\n  b");
  const char *step = text_kept(&arena, "lynxbench confirm run.lynx lock");
  check_wrapped(arena_printf(&arena, "to confirm: %s (slow it)", step), 40, "to confirm:\n  lynxbench confirm run.lynx lock (slow\n  it)");
  check_wrapped(arena_printf(&arena, "to confirm: %s (slow it)", step), 20, "to confirm:\n  lynxbench confirm run.lynx lock\n  (slow it)");
  check_wrapped("a \x1b]0;t\x07 \r\n\xff\xe2\x80\xa8 b", 40, "a ?]0;t? \\r\\n?? b"); /* what steers a terminal does not reach one */
  arena_release(&arena);
  return check_end();
}
