#include "base/yaml.h"
#include "tests/check.h"

static void refused(const char *text, int line, const char *why) {
  struct arena arena = {0};
  struct lynx_error error = {0};
  struct yaml_node *root = NULL;
  CHECK(yaml_parse(text, strlen(text), &arena, &root, &error) != LYNX_OK);
  CHECK_CONTAINS(error.message, why);
  CHECK_INT(error.line, line);
  arena_release(&arena);
}

static void deep(void) {
  char text[256] = "";
  for (int i = 0; i < 40; i++) strcat(text, "[");
  struct arena arena = {0};
  struct lynx_error error = {0};
  struct yaml_node *root = NULL;
  CHECK_INT(yaml_parse(text, strlen(text), &arena, &root, &error), LYNX_LIMIT);
  arena_release(&arena);
}

int main(void) {
  struct arena arena = {0};
  struct lynx_error error = {0};
  struct yaml_node *root = NULL;
  static const char text[] = "a: 1\nb: {c: \"x\", d: [p, q]}\n";
  CHECK_INT(yaml_parse(text, sizeof text - 1, &arena, &root, &error), LYNX_OK);
  CHECK_INT(root->n_items, 2);
  CHECK_TEXT(yaml_get(root, "a")->text, "1");
  const struct yaml_node *b = yaml_get(root, "b");
  CHECK_INT(b->line, 2);
  CHECK(yaml_get(b, "c")->quoted);
  CHECK_INT(yaml_get(b, "d")->n_items, 2);
  arena_release(&arena);

  refused("a: &x [1]\nb: *x\n", 1, "anchor");
  refused("a: 1\nb: *x\n", 2, "alias");
  refused("a: !!int 1\n", 1, "tag");
  refused("a: 1\na: 2\n", 2, "twice");
  refused("a: 1\n---\nb: 2\n", 2, "second YAML document");
  refused("a: [1\n", 2, "not YAML");
  refused("", 1, "empty");
  refused("? [1]\n: 2\n", 1, "plain word");
  deep();
  return check_end();
}
