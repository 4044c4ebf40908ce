#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/root.h"
#include "tests/check.h"

static void count_name(void *context, const char *name) {
  (void)name;
  ++*(int *)context;
}

int main(void) {
  char dir[] = "/tmp/lynx-root-XXXXXX", path[128], text[64];
  CHECK(mkdtemp(dir) != NULL);
  (void)snprintf(path, sizeof path, "%s/value", dir);
  FILE *f = fopen(path, "w");
  CHECK(f != NULL && fputs("one\ntwo\n", f) >= 0 && fclose(f) == 0);
  const struct root root = {dir};
  struct buffer b;
  struct lynx_error error = {0};
  buffer_init(&b, 100);
  CHECK_INT(root_read(&root, "/value", &b, &error), LYNX_OK);
  CHECK_TEXT(b.data, "one\ntwo\n");
  CHECK(root_read_line(&root, "/value", text, sizeof text));
  CHECK_TEXT(text, "one");
  CHECK_INT(root_read(&root, "/nothing", &b, &error), LYNX_NOT_FOUND);
  CHECK_TEXT(error.file, "/nothing");
  buffer_release(&b);
  buffer_init(&b, 3);
  CHECK_INT(root_read(&root, "/value", &b, NULL), LYNX_LIMIT);
  int n = 0;
  CHECK(root_list(&root, "/", 10, count_name, &n));
  CHECK_INT(n, 1);
  CHECK(!root_list(&root, "/none", 10, count_name, &n));
  buffer_release(&b);
  (void)unlink(path);
  (void)rmdir(dir);
  return check_end();
}
